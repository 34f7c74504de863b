/* Quick records (src/exec/threaded/threaded.c) against exec_step: a program that is held against the
 * analyses runs by exec_step, another one by quick records. Memory, counts and faults must be equal,
 * wherever turns end and however many lanes are active. */
#include "unit/kit/exec_kit.h"

enum { OUT_BYTES = 1 << 16 };

struct outcome {
    enum exec_result result;
    uint64_t warp, thread;
    struct strbuf said;
    uint8_t memory[OUT_BYTES];
};

static void
run(const char *text, bool quick, unsigned quantum, unsigned threads, struct outcome *o)
{
    struct kit k;
    kit_load(&k, text);
    uint64_t out = kit_out(&k, OUT_BYTES);
    for (unsigned i = 0; i < OUT_BYTES / 4; i++) {
        uint32_t v = i * 2654435761u;
        assert_true(dev_write(k.mem, out + 4 * i, &v, 4));
    }
    k.g.quantum = quantum;
    if (!quick)
        exec_check_analyses(k.p);
    o->result =
        kit_launch(&k, (struct exec_dim){2, 1, 1}, (struct exec_dim){threads, 1, 1});
    o->warp = k.g.n_warp_inst;
    o->thread = k.g.n_thread_inst;
    o->said = (struct strbuf){0};
    diag_print(&k.diag, &o->said);
    assert_true(dev_read(k.mem, out, o->memory, OUT_BYTES));
    kit_free(&k);
}

/* The same both ways; how it ends. */
static enum exec_result
compare(const char *text)
{
    static const unsigned quanta[] = {0, 1, 2, 3, 5, 8, 32}, threads[] = {32, 40, 128, 7};
    static struct outcome a, b;
    for (unsigned q = 0; q < sizeof quanta / sizeof *quanta; q++)
        for (unsigned t = 0; t < sizeof threads / sizeof *threads; t++) {
            run(text, false, quanta[q], threads[t], &a);
            run(text, true, quanta[q], threads[t], &b);
            assert_int_equal(a.result, b.result);
            assert_string_equal(a.said.s ? a.said.s : "", b.said.s ? b.said.s : "");
            assert_int_equal(a.warp, b.warp);
            assert_int_equal(a.thread, b.thread);
            assert_memory_equal(a.memory, b.memory, OUT_BYTES);
            strbuf_free(&a.said);
            strbuf_free(&b.said);
        }
    return a.result;
}

/* Results go to [%d0 + 1024 * k]: 256 threads, 4 bytes each. */
#define PUT(k, reg) "st.global.u32 [%d0+" #k "], " reg ";\n"

static void
arithmetic(void **state)
{
    (void)state;
    static const char text[] = KERNEL(
        ".reg .f32 %f<8>; .reg .f64 %e<8>; .reg .u64 %x<8>; .reg .u16 %h<4>;\n"
        "ld.global.u32 %r3, [%d0]; ld.global.u32 %r4, [%d0+4096];\n"
        "add.u32 %r5, %r3, %r4; add.u32 %r6, %r3, 77; sub.u32 %r7, 5, %r3;\n"
        "mul.lo.u32 %r8, %r3, %r4; mad.lo.u32 %r9, %r3, 12, %r4;\n"
        "mad.lo.u32 %r10, %r3, %r4, 9; mul.hi.u32 %r11, %r3, %r4;\n"
        "shl.b32 %r12, %r3, 3; shr.u32 %r13, %r4, %l; and.b32 %r14, %r3, 0xff;\n"
        "setp.lt.u32 %p0, %r3, %r4; setp.ge.s32 %p1, %r3, 0; setp.gt.s32 %p2, 3, %r4;\n"
        "setp.ne.and.u32 %p3, %r3, %r4, %p1;\n"
        "selp.u32 %r15, %r3, 4, %p0; selp.u32 %r16, 1, 0, %p1; selp.u32 %r17, %r3, %r4, %p3;\n"
        "cvt.u64.u32 %x0, %r3; cvt.s64.s32 %x1, %r4; add.u64 %x2, %x0, %x1;\n"
        "mul.wide.u32 %x3, %r3, 4; mad.wide.u32 %x4, %r3, %r4, %x2; shl.b64 %x5, %x4, 2;\n"
        "xor.b64 %x5, %x5, %x3; cvt.u32.u64 %r18, %x5;\n"
        "cvt.rn.f32.u32 %f0, %r3; mov.f32 %f1, 0f3f800000; fma.rn.f32 %f2, %f0, %f1, %f0;\n"
        "div.rn.f32 %f3, %f2, %f0; mul.f32 %f4, %f3, 0f40400000; setp.lt.f32 %p4, %f4, %f3;\n"
        "cvt.rzi.s32.f32 %r19, %f4; cvt.f64.f32 %e0, %f4; mul.f64 %e1, %e0, %e0;\n"
        "add.rm.f64 %e2, %e1, %e0; cvt.rn.f32.f64 %f5, %e2; mov.b32 %r20, %f5;\n"
        "cvt.u16.u32 %h0, %r3; add.u16 %h1, %h0, 3; cvt.u32.u16 %r21, %h1;\n"
        "@%p0 add.u32 %r5, %r5, 1; @!%p1 mov.u32 %r6, 0; @%p2 mov.u32 %r7, %r3;\n"
        "mov.u32 %r22, %r21; mov.u64 %x6, %x5; mov.u32 %r23, 99; popc.b32 %r24, %r3;\n"
        "@%p4 add.u32 %r24, %r24, %r20;\n" PUT(1024, "%r5") PUT(2048, "%r6")
            PUT(3072, "%r7") PUT(5120, "%r8") PUT(6144, "%r9") PUT(7168, "%r10")
                PUT(8192, "%r11") PUT(9216, "%r12") PUT(10240, "%r13") PUT(11264, "%r14")
                    PUT(12288, "%r15") PUT(13312, "%r16") PUT(14336, "%r17")
                        PUT(15360, "%r18") PUT(16384, "%r19") PUT(17408, "%r20")
                            PUT(18432, "%r22") PUT(19456, "%r23") PUT(20480, "%r24"));
    assert_int_equal(compare(text), EXEC_OK);
}

/* Addresses in scratchpad that are neighbours, one, in two halves, and any. */
static void
shared_memory(void **state)
{
    (void)state;
    static const char *const bases[] = {"shl.b32 %r3, %r2, 2;",
                                        "mov.u32 %r3, 64;",
                                        "and.b32 %r3, %r2, 15; shl.b32 %r3, %r3, 2;",
                                        "xor.b32 %r3, %r2, 5; shl.b32 %r3, %r3, 2;",
                                        "shr.u32 %r3, %r2, 4; shl.b32 %r3, %r3, 2;",
                                        "shl.b32 %r3, %r2, 3;",
                                        "shl.b32 %r3, %r2, 4;"};
    for (unsigned i = 0; i < sizeof bases / sizeof *bases; i++) {
        struct strbuf b = {0};
        kit_text(
            &b,
            KERNEL(
                ".shared .align 16 .b8 x[4096]; .reg .u64 %x<8>; .reg .u32 %s<4>;\n"
                "$s\n"
                "mov.u32 %s0, x; add.u32 %r4, %s0, %r3; cvt.u64.u32 %x0, %r4;\n"
                "shl.b32 %s1, %r2, 4; add.u32 %s1, %s1, %s0;\n"
                "ld.global.u32 %r5, [%d0]; not.b32 %r6, %r5;\n"
                "st.shared.v4.u32 [%s1], {%r5, %r6, %r2, %l};\n"
                "bar.sync 0;\n"
                "ld.shared.u32 %r7, [%r4]; ld.shared.u32 %r8, [%x0+8];\n"
                "ld.shared.u32 %r9, [%r4+1024];\n"
                "and.b32 %r10, %r4, 0xfffffff0;\n"
                "ld.shared.v2.u32 {%r11, %r12}, [%r10];\n"
                "ld.shared.v4.u32 {%r13, %r14, %r15, %r16}, [%r10+32];\n"
                "ld.shared.u64 %x1, [%r10+8]; cvt.u32.u64 %r17, %x1;\n"
                "ld.shared.u8 %r18, [%r4+1];\n"
                "bar.sync 0;\n"
                "st.shared.u32 [%r4], %r5; st.shared.u32 [%x0+2048], %r6;\n"
                "bar.sync 0;\n"
                "atom.shared.add.u32 %r19, [%r4], %r2; red.shared.max.s32 [x+8], %r5;\n"
                "atom.shared.cas.b32 %r20, [x+4], %l, %r5;\n"
                "bar.sync 0;\n"
                "ld.shared.u32 %r21, [%s1]; ld.shared.u32 %r22, [%s1+4];\n"
                "st.shared.u64 [%s1+8], %x1; st.shared.v2.u32 [%s1], {%r5, %r2};\n"
                "ld.shared.u32 %r23, [%s1+4]; ld.shared.u32 %r24, [%s1+8];\n"
                "ld.shared.u32 %r25, [%s1+2060];\n"),
            bases[i]);
        /* all registers out */
        size_t end = b.n;
        while (end && strncmp(b.s + end, "\nret;", 5) != 0)
            end--;
        struct strbuf t = {0};
        strbuf_add(&t, b.s, end);
        for (unsigned r = 7; r <= 25; r++)
            strbuf_printf(&t, "\nst.global.u32 [%%d0+%u], %%r%u;", 1024 * (r - 6), r);
        strbuf_addz(&t, b.s + end);
        assert_int_equal(compare(t.s), EXEC_OK);
        strbuf_free(&b);
        strbuf_free(&t);
    }
}

static void
global_memory(void **state)
{
    (void)state;
    static const char *const bases[] = {"mov.u32 %r3, %t;", "mov.u32 %r3, 3;",
                                        "and.b32 %r3, %t, 15;", "xor.b32 %r3, %t, 9;",
                                        "shl.b32 %r3, %t, 1;"};
    for (unsigned i = 0; i < sizeof bases / sizeof *bases; i++) {
        struct strbuf t = {0};
        kit_text(
            &t,
            KERNEL(
                ".reg .u64 %x<8>;\n$s\n"
                "ld.param.u64 %x0, [out]; mul.wide.u32 %x1, %r3, 16; add.u64 %x1, %x1, %x0;\n"
                "mul.wide.u32 %x2, %r3, 4; add.u64 %x2, %x2, %x0;\n"
                "mul.wide.u32 %x3, %r3, 8; add.u64 %x3, %x3, %x0;\n"
                "ld.global.u32 %r4, [%x2+4]; ld.global.u64 %x4, [%x3+8];\n"
                "ld.global.v2.u32 {%r5, %r6}, [%x3];\n"
                "ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%x1];\n"
                "add.u32 %r4, %r4, %r5; xor.b32 %r4, %r4, %r6; add.u32 %r4, %r4, %r10;\n"
                "st.global.u32 [%x2+16384], %r4; st.global.u64 [%x3+20480], %x4;\n"
                "st.global.v2.u32 [%x3+28672], {%r4, %r7};\n"
                "st.global.v4.u32 [%x1+36864], {%r8, %r9, %r4, %r10};\n"),
            bases[i]);
        assert_int_equal(compare(t.s), EXEC_OK);
        strbuf_free(&t);
    }
}

/* Loops of lanes that leave at different times, jumps of all lanes, jumps to itself. */
static void
control(void **state)
{
    (void)state;
    static const char text[] = KERNEL(
        "and.b32 %r3, %l, 7; mov.u32 %r4, 0; mov.u32 %r5, 0;\n"
        "LOOP: add.u32 %r4, %r4, 3; add.u32 %r5, %r5, %r4;\n"
        "setp.ge.u32 %p0, %r4, %r3; @%p0 bra OUT;\n"
        "setp.eq.u32 %p1, %r5, 3; @!%p1 bra LOOP; add.u32 %r5, %r5, 100; bra LOOP;\n"
        "OUT: mov.u32 %r6, 0;\n"
        "EVEN: add.u32 %r6, %r6, 1; shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;\n"
        "vote.sync.ballot.b32 %r8, %p1, -1; add.u32 %r5, %r5, %r8;\n"
        "setp.lt.u32 %p2, %r6, 9; @%p2 bra EVEN;\n"
        "setp.gt.u32 %p3, %l, 11; @%p3 bra FAR; add.u32 %r5, %r5, 7; bra NEAR;\n"
        "FAR: add.u32 %r5, %r5, 9; @%p0 add.u32 %r5, %r5, %l;\n"
        "NEAR: bar.sync 0;\n"
        "setp.eq.u32 %p4, %l, 3; @%p4 exit;\n"
        "add.u32 %r5, %r5, %r7;\n"
        "{ .reg .u32 %k; mov.u32 %k, %l; TOP: sub.u32 %k, %k, 1; setp.gt.s32 %p5, %k, 0;\n"
        "@%p5 bra TOP; }\n" PUT(1024, "%r5") PUT(2048, "%r6") PUT(3072, "%r7"));
    assert_int_equal(compare(text), EXEC_OK);
}

/* A fault stops at the same instruction, with the same counts. */
static void
faults(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "ld.shared.u32 %r6, [%r5+4090];",
        "ld.shared.u32 %r6, [%r4+2];",
        "st.shared.u32 [%r5+80], %r3;",
        "mul.wide.u32 %d2, %r5, 4096; add.u64 %d2, %d2, %d0; ld.global.u32 %r6, [%d2];",
        "add.u64 %d2, %d0, 1; @%p0 st.global.u32 [%d2], %r3;",
        "setp.gt.u32 %p1, %l, 4; @%p1 ld.shared.u32 %r6, [%r5+8000];"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct strbuf t = {0};
        kit_text(&t,
                 KERNEL(".shared .align 16 .b8 x[4096];\n"
                        "mov.u32 %r3, 0; shl.b32 %r4, %r2, 2; mov.u32 %r5, %r4;\n"
                        "MORE: ld.shared.u32 %r6, [%r4]; add.u32 %r3, %r3, 1;\n"
                        "setp.gt.u32 %p0, %r3, 5; @!%p0 bra MORE;\n"
                        "add.u32 %r5, %r4, 4000;\n$s\n"
                        "st.global.u32 [%d0], %r6;"),
                 bad[i]);
        assert_int_equal(compare(t.s), EXEC_FAULT);
        strbuf_free(&t);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),    cmocka_unit_test(shared_memory),
        cmocka_unit_test(global_memory), cmocka_unit_test(control),
        cmocka_unit_test(faults),
    };
    return KIT_RUN_VARIANTS(tests);
}
