/* Reads within a guard around allocations give 0 and are counted; all else stays a fault.
 */
#include "unit/kit/exec_kit.h"

enum { GUARD = 64, BYTES = 200 };

/* %d0: the second of three buffers, whose bytes are all 1; %d1: offset of the first
 * thread; r: what was read, xor of all words */
static void
load(struct kit *k, const char *code, int64_t offset)
{
    struct strbuf b = {0};
    strbuf_printf(&b,
                  PTX_HEAD
                  ".visible .entry k(.param .u64 out, .param .u64 p, .param .s64 o)\n"
                  "{\n.shared .align 16 .b8 s[1024]; .reg .u64 %%d<8>;\n"
                  ".reg .u32 %%r<12>; .reg .u16 %%h<2>; .reg .pred %%q<4>;\n"
                  "ld.param.u64 %%d5, [out]; ld.param.u64 %%d0, [p];\n"
                  "ld.param.u64 %%d1, [o]; add.u64 %%d0, %%d0, %%d1;\n"
                  "mov.u32 %%r0, %%tid.x; mul.wide.u32 %%d2, %%r0, 4;\n"
                  "add.u64 %%d5, %%d5, %%d2; mov.u32 %%r1, 9; mov.u32 %%r2, 0;\n"
                  "mov.u32 %%r3, 0; mov.u32 %%r4, 0; mov.u64 %%d3, 0;\n%s\n"
                  "st.global.u32 [%%d5], %%r1;\nret;\n}\n",
                  code);
    kit_load(k, b.s);
    dev_set_guard(k->mem, GUARD);
    uint64_t a[3];
    for (int i = 0; i < 3; i++) {
        a[i] = kit_buf(k, BYTES);
        assert_true(dev_set(k->mem, a[i], 1, BYTES));
    }
    uint64_t out = kit_out(k, 4096);
    assert_int_not_equal(out, 0);
    kit_param(k, 1, a[1]);
    kit_param(k, 2, (uint64_t)offset);
    strbuf_free(&b);
}

static enum exec_result
launch(struct kit *k, unsigned threads)
{
    return kit_launch(k, (struct exec_dim){1, 1, 1}, (struct exec_dim){threads, 1, 1});
}

static void
reads_are_zero(void **state)
{
    static const struct {
        const char *code;
        int64_t offset; /* of thread 0 */
        uint32_t value; /* that it reads; the other threads read inside */
    } t[] = {
        {"ld.global.u32 %r1, [%d0];", -4, 0},
        {"ld.global.u32 %r1, [%d0];", -GUARD, 0},
        {"ld.global.u32 %r1, [%d0];", BYTES, 0},
        {"ld.global.u32 %r1, [%d0];", BYTES + GUARD - 4, 0},
        {"ld.u32 %r1, [%d0];", BYTES, 0},
        {"ld.global.nc.u32 %r1, [%d0];", -4, 0},
        {"ld.volatile.global.u32 %r1, [%d0];", -4, 0},
        {"ld.global.u8 %r1, [%d0];", -1, 0},
        {"ld.global.s16 %r1, [%d0];", BYTES, 0},
        {"ld.global.u64 %d3, [%d0]; cvt.u32.u64 %r1, %d3;", BYTES, 0},
        {"ld.global.v2.u32 {%r2, %r1}, [%d0];", -8, 0},
        /* the last 8 bytes of 200 and 8 behind them */
        {"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0]; or.b32 %r1, %r1, %r4;", BYTES - 8,
         0x01010101},
        {"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0]; or.b32 %r1, %r3, %r4;", BYTES - 8,
         0},
        {"mov.u32 %r2, s; cp.async.ca.shared.global [%r2], [%d0], 16; "
         "cp.async.wait_all; ld.shared.u32 %r1, [s+8];",
         BYTES - 8, 0},
        {"mov.u32 %r2, s; cp.async.ca.shared.global [%r2], [%d0], 16; "
         "cp.async.wait_all; ld.shared.u32 %r1, [s+4];",
         BYTES - 8, 0x01010101},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct kit k;
        load(&k, t[i].code, t[i].offset);
        if (launch(&k, 1) != EXEC_OK)
            kit_fail(&k, t[i].code);
        uint64_t out;
        memcpy(&out, k.params, 8);
        assert_int_equal(kit_u32(&k, out, 0), t[i].value);
        assert_int_equal(k.g.guard.n, 1);
        assert_int_equal(k.g.guard.v[0].count, 1);
        vec_free(&k.g.guard);
        kit_free(&k);
    }
}

/* Stores are dropped, what of them lies inside is made; atomics give 0 besides. */
static void
writes_are_dropped(void **state)
{
    static const struct {
        const char *code;
        int64_t offset; /* of thread 0 */
        uint32_t value; /* what is left in %r1, 9 at first */
        uint32_t last;  /* the second buffer's last word */
    } t[] = {
        {"st.global.u32 [%d0], %r1;", -4, 9, 0x01010101},
        {"st.global.u32 [%d0], %r1;", -GUARD, 9, 0x01010101},
        {"st.u32 [%d0], %r1;", BYTES, 9, 0x01010101},
        {"st.volatile.global.u32 [%d0], %r1;", BYTES + GUARD - 4, 9, 0x01010101},
        {"st.global.u8 [%d0], %r1;", BYTES, 9, 0x01010101},
        {"st.global.u64 [%d0], %d3;", BYTES, 9, 0x01010101},
        {"st.global.v2.u32 [%d0], {%r1, %r1};", BYTES, 9, 0x01010101},
        {"st.global.v4.u32 [%d0], {%r2, %r1, %r1, %r1};", BYTES - 8, 9, 9},
        {"atom.global.add.u32 %r1, [%d0], 5;", BYTES, 0, 0x01010101},
        {"atom.global.exch.b64 %d3, [%d0], %d3; cvt.u32.u64 %r1, %d3;", -8, 0,
         0x01010101},
        {"atom.cas.b32 %r1, [%d0], 0, 7;", -4, 0, 0x01010101},
        {"red.global.add.u32 [%d0], 5;", -4, 9, 0x01010101},
        {"red.global.max.s32 [%d0], %r1;", BYTES + 4, 9, 0x01010101},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct kit k;
        load(&k, t[i].code, t[i].offset);
        if (launch(&k, 1) != EXEC_OK)
            kit_fail(&k, t[i].code);
        uint64_t out, p;
        memcpy(&out, k.params, 8);
        memcpy(&p, k.params + 8, 8);
        assert_int_equal(kit_u32(&k, out, 0), t[i].value);
        assert_int_equal(kit_u32(&k, p, 0), 0x01010101);
        assert_int_equal(kit_u32(&k, p, BYTES / 4 - 1), t[i].last);
        assert_int_equal(k.g.guard.n, 1);
        assert_int_equal(k.g.guard.v[0].count, 1);
        assert_true(k.g.guard.v[0].write);
        vec_free(&k.g.guard);
        kit_free(&k);
    }
}

/* The other lanes write. */
static void
some_lanes_write(void **state)
{
    static const char *const code[] = {
        "add.u64 %d0, %d0, %d2; st.global.u32 [%d0], %r1;",
        "add.u64 %d0, %d0, %d2; red.global.and.b32 [%d0], 0;"};
    for (int c = 0; c < 2; c++) {
        struct kit k;
        load(&k, code[c], -40);
        assert_int_equal(launch(&k, 70), EXEC_OK);
        uint64_t p;
        memcpy(&p, k.params + 8, 8);
        for (unsigned i = 0; i < BYTES / 4; i++)
            assert_int_equal(kit_u32(&k, p, i), c ? 0 : 9);
        assert_int_equal(k.g.guard.v[0].count, 20);
        vec_free(&k.g.guard);
        kit_free(&k);
    }
}

/* The other lanes read what is there. */
static void
some_lanes(void **state)
{
    struct kit k;
    load(&k, "add.u64 %d0, %d0, %d2; ld.global.u32 %r1, [%d0];", -40);
    assert_int_equal(launch(&k, 70), EXEC_OK);
    uint64_t out;
    memcpy(&out, k.params, 8);
    for (unsigned i = 0; i < 70; i++)
        assert_int_equal(kit_u32(&k, out, i), i < 10 || i >= 60 ? 0 : 0x01010101);
    assert_int_equal(k.g.guard.n, 1);
    assert_int_equal(k.g.guard.v[0].count, 20);
    assert_int_equal(k.g.guard.v[0].thread, 0);
    vec_free(&k.g.guard);
    kit_free(&k);
}

static void
tiles(void **state)
{
    struct kit k;
    load(
        &k,
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, "
        "%r7, %r8}, [%d0], 16; or.b32 %r1, %r1, %r8;",
        0);
    uint64_t p = kit_buf(&k, 496); /* of 512 */
    assert_true(dev_set(k.mem, p, 1, 496));
    kit_param(&k, 1, p);
    if (launch(&k, 32) != EXEC_OK)
        kit_fail(&k, "tile");
    uint64_t out;
    memcpy(&out, k.params, 8);
    assert_int_equal(kit_u32(&k, out, 0), 0x01010101);
    assert_int_equal(k.g.guard.v[0].count, 1);
    assert_int_equal(k.g.guard.v[0].addr, p + 496);
    vec_free(&k.g.guard);
    kit_free(&k);
}

static void
all_else_is_a_fault(void **state)
{
    static const struct {
        const char *code;
        int64_t offset;
    } t[] = {
        {"ld.global.u32 %r1, [%d0];", -GUARD - 4},
        {"ld.global.u32 %r1, [%d0];", BYTES + GUARD},
        {"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0];", BYTES + GUARD - 8},
        {"ld.global.u32 %r1, [%d0];", -2},
        {"st.global.u32 [%d0], %r1;", -GUARD - 4},
        {"st.u32 [%d0], %r1;", BYTES + GUARD},
        {"st.global.u32 [%d0], %r1;", -2},
        {"st.global.v4.u32 [%d0], {%r1, %r1, %r1, %r1};", BYTES + GUARD - 8},
        {"atom.global.add.u32 %r1, [%d0], 0;", BYTES + GUARD},
        {"red.global.add.u32 [%d0], 0;", -GUARD - 4},
        {"mov.u32 %r2, s; ld.shared.u32 %r1, [%r2+1024];", 0},
        {"mov.u64 %d0, 0; ld.global.u32 %r1, [%d0];", 0},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct kit k;
        load(&k, t[i].code, t[i].offset);
        assert_int_equal(launch(&k, 1), EXEC_FAULT);
        assert_int_equal(k.g.guard.n, 0);
        kit_free(&k);
    }
}

/* Without a guard these are faults, and allocations lie as close as ever. */
static void
off_by_default(void **state)
{
    struct kit k;
    load(&k, "ld.global.u32 %r1, [%d0];", BYTES);
    dev_set_guard(k.mem, 0);
    assert_int_equal(launch(&k, 1), EXEC_FAULT);
    kit_free(&k);
}

/* Allocations keep their distance through releases and reuse. */
static void
zones_between_allocations(void **state)
{
    enum { N = 40, CAPACITY = 1 << 16 };
    struct dev_mem *m = dev_mem_new(CAPACITY);
    uint64_t at[N] = {0}, size[N];
    uint32_t x = 1;
    dev_set_guard(m, 300);
    for (int round = 0; round < 20000; round++) {
        x = x * 1664525 + 1013904223;
        unsigned i = x >> 16 & 0xff;
        if (i >= N)
            continue;
        if (at[i]) {
            assert_true(dev_release(m, at[i]));
            at[i] = 0;
            continue;
        }
        size[i] = 1 + (x >> 8 & 0xfff);
        at[i] = dev_alloc(m, size[i]);
        for (unsigned j = 0; at[i] && j < N; j++) {
            if (j == i || !at[j])
                continue;
            assert_true(at[i] + size[i] + 300 <= at[j] || at[j] + size[j] + 300 <= at[i]);
        }
        if (at[i]) {
            assert_true(at[i] + size[i] <= DEV_GLOBAL_BASE + CAPACITY);
            assert_true(dev_guarded(m, at[i] - 300) && dev_guarded(m, at[i] + size[i]));
            assert_true(dev_guarded(m, at[i] + size[i] + 299));
        }
    }
    for (unsigned i = 0; i < N; i++)
        if (at[i])
            assert_true(dev_release(m, at[i]));
    assert_int_equal(dev_bytes_used(m), 0);
    assert_int_not_equal(dev_alloc(m, CAPACITY - 512), 0); /* nothing is lost */
    dev_mem_free(m);
}

static bool
tell_all(void *user, const char *kernel, const struct diag_loc *loc)
{
    assert_string_equal(kernel, "k");
    assert_int_equal(loc->line, *(unsigned *)user);
    return true;
}

static void
warnings(void **state)
{
    struct kit k;
    unsigned line = 13;
    load(&k, "add.u64 %d0, %d0, %d2; ld.global.u32 %r1, [%d0];", BYTES - 32);
    assert_int_equal(launch(&k, 20), EXEC_OK);
    exec_guard_warnings(&k.g, tell_all, &line);
    assert_int_equal(k.diag.errors, 0);
    assert_int_equal(k.diag.n, 1);
    assert_int_equal(k.diag.list[0]->level, DIAG_WARNING);
    assert_string_equal(
        k.diag.list[0]->message,
        "kernel 'k': 12 reads outside of allocations gave 0; the first is of block "
        "(0,0,0), thread (8,0,0): 4 bytes at 0x100002c8: nearest allocation: 200 bytes at "
        "0x10000200 (parameter 2, 'p'), which ends right before it");
    kit_free(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_are_zero),
        cmocka_unit_test(some_lanes),
        cmocka_unit_test(writes_are_dropped),
        cmocka_unit_test(some_lanes_write),
        cmocka_unit_test(tiles),
        cmocka_unit_test(all_else_is_a_fault),
        cmocka_unit_test(off_by_default),
        cmocka_unit_test(zones_between_allocations),
        cmocka_unit_test(warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
