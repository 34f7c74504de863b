/* Addresses of 32 bits wrap at 2^32 and 64-bit registers are truncated to them, in every
 * kind of access: the same memory, registers and reported addresses as with the address
 * written plainly. */
#include "unit/kit/exec_kit.h"

enum { SHARED = 4096, OUT = 4096, STEPS = 64 };

/* How the address %a (an offset in its space) is written. */
static const struct form {
    const char *setup, *address;
} forms[] = {
    {"mov.u32 %w, %a;", "[%w]"}, /* the reference */
    {"add.u32 %w, %a, -64;", "[%w+64]"},
    {"add.u32 %w, %a, 64;", "[%w+-64]"},
    {"add.u32 %w, %a, -64; cvt.u64.u32 %d, %w;", "[%d+64]"},
    {"add.u32 %w, %a, -64; cvt.s64.s32 %d, %w;", "[%d+64]"},
    {"cvt.u64.u32 %d, %a; add.u64 %d, %d, 0x500000000;", "[%d]"},
};

/* @ stands for the address; step: bytes from lane to lane. */
static const struct access {
    unsigned step;
    const char *code;
} accesses[] = {
    {1, "ld.shared.u8 %r0, @;"},
    {2, "ld.shared.s16 %r0, @;"},
    {4, "ld.shared.u32 %r0, @;"},
    {12, "ld.shared.u32 %r0, @;"},
    {0, "ld.shared.u32 %r0, @;"},
    {8, "ld.shared.u64 %e0, @; cvt.u32.u64 %r0, %e0;"},
    {8, "ld.shared.v2.u32 {%r0, %r1}, @; xor.b32 %r0, %r0, %r1;"},
    {16, "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, @; xor.b32 %r0, %r0, %r3;"},
    {16, "ld.shared.v2.u64 {%e0, %e1}, @; xor.b64 %e0, %e0, %e1; cvt.u32.u64 %r0, %e0;"},
    {4, "@%p ld.shared.u32 %r0, @;"},
    {1, "st.shared.u8 @, %t;"},
    {4, "st.shared.u32 @, %t;"},
    {12, "st.shared.u32 @, %t;"},
    {4, "@%p st.shared.u32 @, %t;"},
    {8, "st.shared.u64 @, %out;"},
    {16, "st.shared.v4.u32 @, {%t, %t, %a, %a};"},
    {4, "atom.shared.add.u32 %r0, @, %t;"},
    {0, "red.shared.max.u32 @, %t;"},
    {8, "atom.shared.cas.b64 %e0, @, %out, %e1; cvt.u32.u64 %r0, %e0;"},
    {16, "mov.b128 %q0, {%out, %out}; atom.shared.exch.b128 %q1, @, %q0; "
         "mov.b128 {%e0, %e1}, %q1; cvt.u32.u64 %r0, %e0;"},
    {4, "cp.async.ca.shared.global @, [%out], 4;"},
    {16, "cp.async.cg.shared.global @, [%out], 16;"},
    {16, "cp.async.ca.shared.global @, [%out], 16, 3;"},
    {8, "mbarrier.init.shared.b64 @, 3; mbarrier.arrive.shared.b64 %e0, @; "
        "mbarrier.test_wait.shared.b64 %p, @, %e0; mbarrier.inval.shared.b64 @;"},
    {16, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, @; "
         "xor.b32 %r0, %r0, %r3;"},
    {16, "stmatrix.sync.aligned.m8n8.x4.shared.b16 @, {%t, %t, %a, %a};"},
    {0, "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
        "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, @, 24; xor.b32 %r0, %r0, %r3;"},
    {0, "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 @, {%t, %t, %a, %a}, 24;"},
    {4, "st.local.u32 @, %t; ld.local.u32 %r0, @; ld.local.u32 %r1, [%a]; "
        "xor.b32 %r0, %r0, %r1;"},
    {8, "st.local.v2.u32 @, {%t, %a}; ld.local.u64 %e0, @; cvt.u32.u64 %r0, %e0;"},
    {0, "ld.const.u32 %r0, @;"},
    {4, "ld.const.u32 %r0, @;"},
    {8, "ld.const.v2.u32 {%r0, %r1}, @; xor.b32 %r0, %r0, %r1;"},
    {4, "ld.param.u32 %r0, @;"},
};

struct seen {
    uint8_t shared[SHARED], out[OUT];
    struct exec_access access[STEPS];
    size_t n;
};

static void
write_kernel(struct strbuf *b, const struct access *a, const struct form *f)
{
    strbuf_addz(b,
                ".version 8.4\n.target sm_90\n.address_size 64\n"
                ".const .align 16 .b8 c[1024] = {1,2,3,4,5,6,7,8,9,10,11,12,13,14};\n"
                ".visible .entry k(.param .u64 out, .param .align 16 .b8 p[512])\n{\n"
                ".shared .align 128 .b8 s[4096]; .local .align 16 .b8 l[1024];\n"
                ".reg .b32 %t, %a, %w, %r<8>; .reg .b64 %out, %d, %e<2>;\n"
                ".reg .b128 %q<2>; .reg .pred %p;\n"
                "ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; setp.gt.u32 %p, %t, 6;\n"
                "mov.u32 %r0, 0; mov.u64 %e1, 7;\n");
    strbuf_printf(b, "mul.lo.u32 %%a, %%t, %u;\n%s\n", a->step, f->setup);
    for (const char *p = a->code; *p; p++)
        if (*p == '@' && p[1] != '%')
            strbuf_addz(b, f->address);
        else
            strbuf_add(b, p, 1);
    strbuf_addz(
        b, "\nmad.wide.u32 %d, %t, 4, %out; st.global.u32 [%d+1024], %r0;\nret;\n}\n");
}

static void
observe(const struct access *a, const struct form *f, struct seen *out)
{
    struct strbuf text = {0};
    struct kit k;
    struct exec_step s;
    memset(&s, 0, sizeof s);
    memset(out, 0, sizeof *out);
    write_kernel(&text, a, f);
    kit_load(&k, text.s);
    uint64_t buf = kit_out(&k, OUT);
    for (unsigned i = 0; i < 1024; i++) {
        uint8_t v = (uint8_t)(i * 37 + 11);
        assert_true(dev_write(k.mem, buf + i, &v, 1));
        if (i < 512)
            k.params[16 + i] = v;
    }
    k.g.grid = (struct exec_dim){1, 1, 1};
    k.g.block = (struct exec_dim){32, 1, 1};
    struct exec_cta *c = exec_cta_new(&k.g);
    exec_cta_start(c, 0);
    for (unsigned i = 0; i < SHARED; i++)
        c->shared[i] = (uint8_t)(i * 29 + 5);
    while (c->live_warps) {
        struct exec_access peeked;
        bool peek = exec_peek_access(&c->warp[0], &peeked);
        if (exec_step(&c->warp[0], &s) != EXEC_OK)
            kit_fail(&k, text.s);
        assert_int_equal(peek, s.has_access);
        if (!s.has_access)
            continue;
        if (!s.access.async) /* of a copy, what is peeked at is where it goes to */
            assert_memory_equal(peeked.addr, s.access.addr, sizeof peeked.addr);
        assert_true(out->n < STEPS);
        struct exec_access *seen = &out->access[out->n++];
        *seen = s.access;
        FOR_BITS(i, s.access.mask)
        if (s.access.async)
            seen->addr[i] = s.access.list[i];
    }
    memcpy(out->shared, c->shared, SHARED);
    assert_true(dev_read(k.mem, buf, out->out, OUT));
    exec_cta_free(c);
    kit_free(&k);
    strbuf_free(&text);
}

static void
every_access_wraps(void **state)
{
    (void)state;
    static struct seen want, got;
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        observe(&accesses[i], &forms[0], &want);
        for (size_t f = 1; f < sizeof forms / sizeof *forms; f++) {
            observe(&accesses[i], &forms[f], &got);
            assert_int_equal(got.n, want.n);
            assert_memory_equal(got.shared, want.shared, SHARED);
            assert_memory_equal(got.out, want.out, OUT);
            for (size_t k = 0; k < want.n; k++) {
                const struct exec_access *a = &got.access[k], *b = &want.access[k];
                assert_int_equal(a->space, b->space);
                assert_int_equal(a->mask, b->mask);
                assert_memory_equal(a->addr, b->addr, sizeof a->addr);
            }
        }
    }
}

/* A generic address has 64 bits: below its window and back again is inside; 2^32 above it
 * is not. */
static void
generic_addresses_have_64_bits(void **state)
{
    (void)state;
    static const char text[] =
        PTX_HEAD ".visible .entry k(.param .u64 out, .param .u64 more)\n{\n"
                 ".shared .align 4 .b8 s[256]; .reg .b64 %d<4>; .reg .b32 %r<4>;\n"
                 "ld.param.u64 %d0, [out]; ld.param.u64 %d3, [more];\n"
                 "mov.u64 %d1, s; cvta.shared.u64 %d1, %d1; add.u64 %d1, %d1, %d3;\n"
                 "st.shared.u32 [s+4], 77; sub.u64 %d1, %d1, 64;\n"
                 "ld.u32 %r0, [%d1+68];\n"
                 "cvta.to.shared.u64 %d2, %d1; ld.shared.u32 %r1, [%d2+68];\n"
                 "add.u32 %r0, %r0, %r1; st.global.u32 [%d0], %r0;\nret;\n}\n";
    struct kit k;
    kit_load(&k, text);
    uint64_t out = kit_out(&k, 4);
    kit_param(&k, 1, 0);
    kit_run(&k, 1, 1);
    assert_int_equal(kit_u32(&k, out, 0), 154);
    kit_param(&k, 1, (uint64_t)1 << 32);
    assert_int_equal(
        kit_launch(&k, (struct exec_dim){1, 1, 1}, (struct exec_dim){1, 1, 1}),
        EXEC_FAULT);
    assert_non_null(strstr(k.diag.list[0]->message,
                           "global load of 4 bytes at 0x101000004 "
                           "is out of bounds"));
    kit_free(&k);
}

/* Without .address_size 64 global and generic addresses have 32 bits as well. */
static void
modules_with_32_bit_addresses(void **state)
{
    (void)state;
    static const char *const code[] = {
        "ld.global.u32 %r1, [%a+0x70000000];", "ld.u32 %r1, [%a+0x70000000];",
        "atom.global.add.u32 %r1, [%a+0x70000000], 0;",
        "mov.u32 %r1, 5; st.global.u32 [%a+0x70000000], %r1;",
        "mov.u32 %r1, 5; st.u32 [%a+0x70000000], %r1;"};
    for (size_t i = 0; i < sizeof code / sizeof *code; i++) {
        struct strbuf b = {0};
        struct kit k;
        strbuf_printf(&b,
                      PTX_HEAD32 ".visible .entry k(.param .u32 out)\n{\n"
                                 ".reg .b32 %%o, %%a, %%r<4>;\nld.param.u32 %%o, [out];\n"
                                 "mov.u32 %%r0, %%tid.x; mad.lo.u32 %%o, %%r0, 4, %%o;\n"
                                 "add.u32 %%a, %%o, 0x90000000;\n%s\n"
                                 "st.global.u32 [%%o+128], %%r1;\nret;\n}\n",
                      code[i]);
        kit_load(&k, b.s);
        uint64_t out = kit_out(&k, 256);
        for (uint32_t t = 0; t < 32; t++) {
            uint32_t v = t * t + 9;
            dev_write(k.mem, out + 4 * t, &v, 4);
        }
        kit_run(&k, 1, 32);
        for (unsigned t = 0; t < 32; t++) {
            assert_int_equal(kit_u32(&k, out, 32 + t), i < 3 ? t * t + 9 : 5);
            assert_int_equal(kit_u32(&k, out, t), i < 3 ? t * t + 9 : 5);
        }
        kit_free(&k);
        strbuf_free(&b);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_access_wraps),
        cmocka_unit_test(generic_addresses_have_64_bits),
        cmocka_unit_test(modules_with_32_bit_addresses),
    };
    return KIT_RUN_VARIANTS(tests);
}
