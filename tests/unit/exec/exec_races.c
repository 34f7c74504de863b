/* Warps of a block in turns, and races between them. */
#include "unit/kit/exec_kit.h"

/* Two warps; warp 0 in %p0. %s0 = index of the thread, times 4. */
#define TWO                                                                              \
    ".shared .align 16 .b8 x[512];\n"                                                    \
    ".reg .b16 %h<4>; .reg .u32 %s<4>;\n"                                                \
    "setp.lt.u32 %p0, %r2, 32; shl.b32 %s0, %r2, 2;\n"

static bool
tell(void *user, const char *kernel, const struct diag_loc *loc)
{
    (void)user;
    (void)kernel;
    (void)loc;
    return true;
}

/* Runs with all blocks watched; NULL: nothing is said, else the beginning of the warning.
 */
static void
expect(const char *ptx, unsigned grid, unsigned block, const char *want)
{
    struct kit k;
    struct exec_races races = {.all = true};
    kit_load(&k, ptx);
    kit_out(&k, 4096);
    k.g.quantum = 32;
    k.g.races = &races;
    kit_run(&k, grid, block);
    exec_race_warning(&k.g, tell, NULL);
    struct strbuf b = {0};
    diag_print(&k.diag, &b);
    if (!want && b.n)
        fail_msg("a race where there is none:\n%s", b.s);
    if (want && (!b.n || strncmp(b.s, want, strlen(want)) != 0))
        fail_msg("expected:\n%s\ngot:\n%s", want, b.n ? b.s : "nothing");
    assert_int_equal(races.found, want != NULL);
    strbuf_free(&b);
    kit_free(&k);
}

static void
a_flag_in_shared_memory_is_seen(void **state)
{
    (void)state;
    /* warp 0 waits for warp 1, then warp 1 for warp 0 */
    static const char text[] = KERNEL(TWO "@!%p0 bra ONE;\n"
                                          "A: ld.volatile.shared.u32 %r4, [x];\n"
                                          "setp.eq.u32 %p1, %r4, 0; @%p1 bra A;\n"
                                          "st.volatile.shared.u32 [x+4], 7;\n"
                                          "bra END;\n"
                                          "ONE: st.volatile.shared.u32 [x], 5;\n"
                                          "B: ld.volatile.shared.u32 %r4, [x+4];\n"
                                          "setp.eq.u32 %p1, %r4, 0; @%p1 bra B;\n"
                                          "END: st.global.u32 [%d0], %r4;");
    for (unsigned quantum = 0; quantum < 40; quantum += 13) {
        struct kit k;
        kit_load(&k, text);
        uint64_t out = kit_out(&k, 256);
        k.g.quantum = quantum;
        kit_run(&k, 1, 64);
        for (unsigned t = 0; t < 64; t++)
            assert_int_equal(kit_u32(&k, out, t), t < 32 ? 5 : 7);
        kit_free(&k);
    }
}

static void
a_flag_in_global_memory_is_seen(void **state)
{
    (void)state;
    struct kit k;
    kit_load(&k, KERNEL(TWO "ld.param.u64 %d2, [out];\n"
                            "@!%p0 bra ONE;\n"
                            "A: ld.volatile.global.u32 %r4, [%d2];\n"
                            "setp.ne.u32 %p1, %r4, 9; @%p1 bra A;\n"
                            "bra END;\n"
                            "ONE: st.volatile.global.u32 [%d2], 9;\n"
                            "END: st.global.u32 [%d0+256], 1;"));
    uint64_t out = kit_out(&k, 1024);
    k.g.quantum = 32;
    kit_run(&k, 1, 64);
    assert_int_equal(kit_u32(&k, out, 64 + 63), 1);
    kit_free(&k);
}

/* Warp 0 counts in shared memory, warp 1 executes 14 instructions and looks. With a
 * quantum of q, warp 0 is as far as its turns before that let it be. */
static uint32_t
seen_after(unsigned quantum)
{
    struct kit k;
    kit_load(&k, KERNEL(TWO "@!%p0 bra ONE;\n"
                            "mov.u32 %r4, 0;\n"
                            "A: add.u32 %r4, %r4, 1;\n"
                            "st.volatile.shared.u32 [x], %r4;\n"
                            "setp.lt.u32 %p1, %r4, 100; @%p1 bra A;\n"
                            "bra END;\n"
                            "ONE: ld.volatile.shared.u32 %r5, [x];\n"
                            "st.global.u32 [%d0], %r5;\n"
                            "END:"));
    uint64_t out = kit_out(&k, 256);
    k.g.quantum = quantum;
    kit_run(&k, 1, 64);
    uint32_t v = kit_u32(&k, out, 63);
    kit_free(&k);
    return v;
}

static void
warps_take_turns(void **state)
{
    (void)state;
    /* 11 instructions up to ONE (and, in warp 0, to A: one more); 4 a turn of the loop.
     * The load is the 12th of its warp: warp 0 has executed 12 before it with a quantum
     * of 1, 16 with one of 16 - then it has counted once. */
    assert_int_equal(seen_after(1), 0);
    assert_int_equal(seen_after(16), 1);
    assert_int_equal(seen_after(32), 5);
    assert_int_equal(seen_after(64), 13);
    assert_int_equal(seen_after(0), 100);
}

static void
stored_then_loaded(void **state)
{
    (void)state;
    expect(KERNEL(TWO "cvta.to.global.u64 %d2, %d0;\n"
                      "mov.u32 %s1, x; add.u32 %s1, %s1, %s0;\n"
                      "st.shared.u32 [%s1], %t;\n"
                      "xor.b32 %s2, %s0, 128; mov.u32 %s1, x; add.u32 %s1, %s1, %s2;\n"
                      "ld.shared.u32 %r4, [%s1];\n"
                      "st.global.u32 [%d0], %r4;"),
           1, 64,
           "test.ptx:20:1: warning: kernel 'k', block (0,0,0): warp 0 reads and warp 1 "
           "writes shared memory, byte 128 (x), without a barrier between them\n"
           "    st.shared.u32 [%s1], %t;\n"
           "    ^\n"
           "    hint: which comes first differs from card to card, and here with "
           "functional.quantum; put a barrier between them, or use atomics\n"
           "test.ptx:22:1: note: the access of warp 0\n");
}

#define NEIGHBOUR(BETWEEN)                                                               \
    KERNEL(TWO "mov.u32 %s1, x; add.u32 %s1, %s1, %s0;\n"                                \
               "st.shared.u32 [%s1], %t;\n" BETWEEN                                      \
               "xor.b32 %s2, %s0, 128; mov.u32 %s1, x; add.u32 %s1, %s1, %s2;\n"         \
               "ld.shared.u32 %r4, [%s1];\n"                                             \
               "st.global.u32 [%d0], %r4;")

static void
a_barrier_orders(void **state)
{
    (void)state;
    expect(NEIGHBOUR("bar.sync 0;\n"), 4, 64, NULL);
    expect(NEIGHBOUR("bar.sync 1, 64;\n"), 4, 64, NULL);
    expect(NEIGHBOUR("bar.red.popc.u32 %r5, 0, %p0;\n"), 4, 64, NULL);
    /* One of a single warp, and none at all, do not. */
    expect(NEIGHBOUR("bar.warp.sync -1;\n"), 4, 64, "test.ptx:");
    expect(NEIGHBOUR("\n"), 4, 64, "test.ptx:");
}

/* What `first` does in warp 0 and `second` in warp 1, with %d2 = out. */
#define BOTH(FIRST, SECOND)                                                              \
    KERNEL(TWO "ld.param.u64 %d2, [out];\n"                                              \
               "@!%p0 bra ONE;\n" FIRST "bra END;\nONE:\n" SECOND "END:")

static void
in_global_memory(void **state)
{
    (void)state;
    expect(BOTH("st.global.u32 [%d2], 3;\n", "ld.global.u32 %r4, [%d2];\n"), 1, 64,
           "test.ptx:23:1: warning: kernel 'k', block (0,0,0): warp 0 writes and warp 1 "
           "reads global memory at 0x10000000 without a barrier between them\n");
    expect(BOTH("st.u32 [%d2+4], 3;\n", "st.u64 [%d2], 1;\n"), 1, 64,
           "test.ptx:23:1: warning: kernel 'k', block (0,0,0): warp 0 writes and warp 1 "
           "writes global memory at 0x10000004 without a barrier between them\n");
    expect(BOTH("ld.global.u32 %r4, [%d2];\n", "st.global.v4.u32 [%d2], {1, 2, 3, 4};\n"),
           1, 64, "test.ptx:23:1: warning:");
    /* The same block only. */
    expect(KERNEL("ld.param.u64 %d2, [out]; st.global.u32 [%d2], %r0;\n"), 4, 32, NULL);
}

static void
no_races(void **state)
{
    (void)state;
    /* two that read; the same value; neighbouring bytes; atomics; volatile */
    expect(BOTH("ld.shared.u32 %r4, [x];\n", "ld.shared.u32 %r5, [x];\n"), 1, 64, NULL);
    expect(BOTH("st.shared.u32 [x], 1;\n", "st.shared.u32 [x], 1;\n"), 1, 64, NULL);
    expect(BOTH("st.shared.u8 [x], %h0;\n", "mov.u16 %h1, 3; st.shared.u8 [x+1], %h1;\n"),
           1, 64, NULL);
    expect(BOTH("red.global.add.u32 [%d2], 1;\n", "red.global.add.u32 [%d2], 1;\n"), 1,
           64, NULL);
    expect(BOTH("st.volatile.shared.u32 [x], 1;\n", "ld.volatile.shared.u32 %r4, [x];\n"),
           1, 64, NULL);
    /* data behind a flag */
    expect(BOTH("st.shared.u32 [x+8], 4; membar.cta; st.volatile.shared.u32 [x], 1;\n",
                "A: ld.volatile.shared.u32 %r4, [x]; setp.eq.u32 %p1, %r4, 0; @%p1 bra "
                "A;\nld.shared.u32 %r5, [x+8];\n"),
           1, 64, NULL);
    /* one warp with itself */
    expect(NEIGHBOUR("\n"), 4, 32, NULL);
}

/* A race in block 256 only is found by the sample; one in block 1 only by `all`. */
static void
a_sample_of_blocks(void **state)
{
    (void)state;
    static const char text[] = KERNEL(TWO "ld.param.u32 %r6, [out+8];\n"
                                          "setp.ne.u32 %p2, %r0, %r6; @%p2 bra END;\n"
                                          "st.shared.u32 [x], %r2;\nEND:");
    for (int i = 0; i < 3; i++) {
        struct kit k;
        struct exec_races races = {.all = i == 2};
        char changed[sizeof text + 64];
        snprintf(changed, sizeof changed, "%s", text);
        char *at = strstr(changed, "(.param .u64 out)");
        memmove(at + strlen("(.param .u64 out, .param .u32 n)"), at + 17,
                strlen(at + 17) + 1);
        memcpy(at, "(.param .u64 out, .param .u32 n)", 32);
        at = strstr(changed, "[out+8]");
        memcpy(at, "[n]    ", 7);
        kit_load(&k, changed);
        kit_out(&k, 64);
        kit_param(&k, 1, i ? 1 : 256);
        k.g.quantum = 32;
        k.g.races = &races;
        kit_run(&k, 300, 64);
        assert_int_equal(k.g.race.found, i != 1);
        if (k.g.race.found)
            assert_int_equal(k.g.race.block, i ? 1 : 256);
        exec_race_warning(&k.g, tell, NULL);
        /* once for a kernel */
        k.g.race.found = false;
        kit_run(&k, 300, 64);
        assert_false(i != 1 && k.g.race.found);
        kit_free(&k);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flag_in_shared_memory_is_seen),
        cmocka_unit_test(a_flag_in_global_memory_is_seen),
        cmocka_unit_test(warps_take_turns),
        cmocka_unit_test(stored_then_loaded),
        cmocka_unit_test(a_barrier_orders),
        cmocka_unit_test(in_global_memory),
        cmocka_unit_test(no_races),
        cmocka_unit_test(a_sample_of_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
