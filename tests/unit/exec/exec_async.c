/* cp.async and mbarriers: what they do, and that copies are asynchronous in time. */
#include "unit/kit/runtime_kit.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define PARAMS ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"
#define START                                                                            \
    ".shared .align 16 .b8 sh[8192]; .reg .u64 %d<8>; .reg .u32 %r<16>; .reg .pred "     \
    "%p<4>;\n"                                                                           \
    "ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; ld.param.u32 %r15, [n];\n"         \
    "mov.u32 %r0, %tid.x; mov.u32 %r1, sh;\n"

/* -- copies -- */

/* Each thread copies `size` bytes from in + tid * size to sh + tid * 16, in one of the
 * forms, and stores its 16 bytes. */
static void
copies(unsigned size, const char *form, const char *operands, int what)
{
    char text[4096];
    snprintf(text, sizeof text,
             "%smul.lo.u32 %%r11, %%r0, %u; rem.u32 %%r5, %%r0, %u;\n%s"
             "cp.async.%s [%%r3], [%%d2], %u%s;\n%s",
             HEAD PARAMS START, size, size + 1,
             "cvt.u64.u32 %d2, %r11; add.u64 %d2, %d0, %d2;\n"
             "shl.b32 %r2, %r0, 4; add.u32 %r3, %r1, %r2;\n"
             "mov.u32 %r4, 0x11111111; st.shared.v4.u32 [%r3], {%r4, %r4, %r4, %r4};\n"
             "and.b32 %r6, %r0, 1; setp.eq.u32 %p1, %r6, 1;\n",
             form, size, operands,
             "cp.async.commit_group; cp.async.wait_group 0;\n"
             "mul.wide.u32 %d3, %r0, 16; add.u64 %d3, %d1, %d3;\n"
             "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r3];\n"
             "st.global.v4.u32 [%d3], {%r7, %r8, %r9, %r10}; ret; }\n");
    static const struct allot_options timed = {.max_cycles = 1000000};
    for (int t = 0; t < 2; t++) {
        struct rt_kit k;
        rt_open(&k, text, t ? &timed : NULL);
        uint8_t in[1024], out[1024], want[1024];
        for (int i = 0; i < 1024; i++)
            in[i] = (uint8_t)(i * 89 + 3);
        uint64_t a = allot_alloc(k.dev, 1024, k.d), b = allot_alloc(k.dev, 1024, k.d);
        assert_true(allot_write(k.dev, a, in, sizeof in, k.d));
        rt_run(&k, 1, 64, 3, (uint64_t[]){a, b, 0});
        assert_true(allot_read(k.dev, b, out, sizeof out, k.d));
        memset(want, 0x11, sizeof want);
        for (unsigned i = 0; i < 64; i++) {
            unsigned n = what == 1 ? i % (size + 1) : what == 2 && i % 2 ? 0 : size;
            memset(want + 16 * i, 0, size);
            memcpy(want + 16 * i, in + size * i, n);
        }
        assert_memory_equal(out, want, sizeof out);
        rt_close(&k);
    }
}

static void
every_form_copies(void **state)
{
    static const unsigned sizes[] = {4, 8, 16};
    for (int i = 0; i < 3; i++) {
        copies(sizes[i], "ca.shared.global", "", 0);
        copies(sizes[i], "ca.shared::cta.global.L2::128B", "", 0);
        copies(sizes[i], "ca.shared.global", ", %r5", 1);
        copies(sizes[i], "ca.shared.global", ", %p1", 2);
        copies(sizes[i], "ca.shared.global.L2::cache_hint", ", %d1", 0);
        copies(sizes[i], "ca.shared.global.L2::cache_hint", ", %r5, %d1", 1);
    }
    copies(16, "cg.shared.global", "", 0);
    copies(16, "cg.shared.global.L2::256B", ", %r5", 1);
}

static void
bad_copies_are_faults(void **state)
{
    struct rt_kit k;
    rt_open(&k,
            HEAD PARAMS START "shl.b32 %r2, %r15, 0; add.u32 %r1, %r1, %r2;\n"
                              "cp.async.ca.shared.global [%r1], [%d0], 8, %r15; ret; }\n",
            NULL);
    uint64_t a = allot_alloc(k.dev, 64, k.d);
    assert_null(rt_try(&k, 1, 1, 3, (uint64_t[]){a, a, 4}));
    rt_told(&k, "shared store of 8 bytes at 0x4 is misaligned");
    assert_null(rt_try(&k, 1, 1, 3, (uint64_t[]){a, a, 8192}));
    rt_told(&k, "shared store of 8 bytes at 0x2000 is out of bounds");
    assert_null(rt_try(&k, 1, 1, 3, (uint64_t[]){a, a, 16}));
    rt_told(&k, "cp.async of 8 bytes with a source of 16 bytes");
    rt_run(&k, 1, 1, 3, (uint64_t[]){0, a, 0}); /* reads nothing: the address is free */
    assert_null(rt_try(&k, 1, 1, 3, (uint64_t[]){a + 64, a, 8}));
    rt_told(&k, "global load of 8 bytes");
    rt_close(&k);
}

/* -- mbarriers -- */

/* A block of 4 warps: warps 1 to 3 arrive, warp 0 waits; turn after turn. Each warp adds
 * to a word before it arrives, warp 0 copies the word out after it waited. */
static void
mbarriers_order_warps(void **state)
{
    static const char *const waits[] = {
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r5;\n",
        "mbarrier.test_wait.parity.b64 %p1, [%d4], %r5;\n",
        "mbarrier.test_wait.acquire.cta.b64 %p1, [%d4], %d5;\n"};
    static const struct allot_options timed = {.max_cycles = 4000000};
    for (int v = 0; v < 3; v++)
        for (int t = 0; t < 2; t++) {
            char text[4096];
            snprintf(text, sizeof text, "%s%s%s",
                     HEAD PARAMS START
                     "cvt.u64.u32 %d4, %r1; cvta.shared.u64 %d4, %d4;\n"
                     "setp.ne.u32 %p0, %r0, 0; shr.u32 %r2, %r0, 5;\n"
                     "@%p0 bra B; mbarrier.init.shared.b64 [%r1], 128; "
                     "mbarrier.init.shared.b64 [%r1+16], 32;\n"
                     "mov.u32 %r3, 0; st.shared.u32 [%r1+8], %r3;\n"
                     "B: bar.sync 0; mov.u32 %r4, 0; mov.u32 %r5, 0;\n"
                     "setp.eq.u32 %p2, %r2, 0;\n"
                     "L: @%p2 bra W;\n" /* producers: wait for the last turn's reader */
                     "setp.eq.u32 %p3, %r4, 0; @%p3 bra G; xor.b32 %r6, %r5, 1;\n"
                     "V: mbarrier.test_wait.parity.shared.b64 %p1, [%r1+16], %r6;\n"
                     "@!%p1 bra V;\n"
                     "G: atom.shared.add.u32 %r7, [%r1+8], %r2;\n"
                     "mbarrier.arrive.shared.b64 %d6, [%r1]; bra N;\n"
                     "W: mbarrier.arrive.shared.b64 %d5, [%r1];\n"
                     "S: ",
                     waits[v],
                     "@!%p1 bra S;\n"
                     "ld.shared.u32 %r8, [%r1+8]; setp.ne.u32 %p3, %r0, 0; @%p3 bra M;\n"
                     "mul.wide.u32 %d2, %r4, 4; add.u64 %d2, %d1, %d2;\n"
                     "st.global.u32 [%d2], %r8;\n"
                     "M: mbarrier.arrive.shared.b64 _, [%r1+16];\n"
                     "N: xor.b32 %r5, %r5, 1; add.u32 %r4, %r4, 1;\n"
                     "setp.lt.u32 %p3, %r4, %r15; @%p3 bra L; ret; }\n");
            struct rt_kit k;
            rt_open(&k, text, t ? &timed : NULL);
            uint64_t out = allot_alloc(k.dev, 64, k.d);
            rt_run(&k, 1, 128, 3, (uint64_t[]){0, out, 10});
            uint32_t got[10];
            assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
            for (uint32_t i = 0; i < 10; i++)
                assert_int_equal(got[i], (i + 1) * 32 * (1 + 2 + 3));
            rt_close(&k);
        }
}

/* Counts in one thread, against the ISA's rules by hand. */
static void
mbarrier_counts(void **state)
{
    struct rt_kit k;
    rt_open(&k,
            HEAD PARAMS START
            "mbarrier.init.shared.b64 [%r1], 3;\n"
            "mbarrier.arrive.noComplete.shared.b64 %d2, [%r1], 2;\n"
            "mbarrier.pending_count.b64 %r2, %d2;\n" /* 3: before the arrival */
            "mbarrier.test_wait.shared.b64 %p0, [%r1], %d2; selp.u32 %r3, 1, 0, %p0;\n"
            "mbarrier.arrive_drop.shared.b64 %d3, [%r1];\n" /* ends it; 2 from now on */
            "mbarrier.test_wait.shared.b64 %p0, [%r1], %d2; selp.u32 %r4, 1, 0, %p0;\n"
            "mbarrier.arrive.shared.b64 %d4, [%r1];\n"
            "mbarrier.pending_count.b64 %r5, %d4;\n"               /* 2 */
            "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;\n" /* 0 and 64 bytes */
            "mbarrier.test_wait.parity.shared.b64 %p0, [%r1], 1; selp.u32 %r6, 1, 0, "
            "%p0;\n"
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 64;\n"
            "mbarrier.test_wait.parity.shared.b64 %p0, [%r1], 1; selp.u32 %r7, 1, 0, "
            "%p0;\n"
            "mbarrier.inval.shared.b64 [%r1];\n"
            "st.global.v2.u32 [%d1], {%r2, %r3}; st.global.v2.u32 [%d1+8], {%r4, %r5};\n"
            "st.global.v2.u32 [%d1+16], {%r6, %r7}; setp.ne.u32 %p1, %r15, 0;\n"
            "@%p1 mbarrier.arrive.shared.b64 %d4, [%r1]; ret; }\n",
            NULL);
    uint64_t out = allot_alloc(k.dev, 64, k.d);
    rt_run(&k, 1, 1, 3, (uint64_t[]){0, out, 0});
    uint32_t got[6];
    static const uint32_t want[6] = {3, 0, 1, 2, 0, 1};
    assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
    assert_memory_equal(got, want, sizeof want);
    assert_null(rt_try(&k, 1, 1, 3, (uint64_t[]){0, out, 1}));
    rt_told(&k, "1 arrivals at an mbarrier that expects 0 more");
    rt_close(&k);
}

/* -- time -- */

/* Clocks that `body` takes in its third turn (code is in the cache then, data are not:
 * %r3 is where in the scratchpad, %d2 where in memory, %r9 the turn's parity). */
static uint32_t
clocks_of(const char *body, uint64_t *copies_made)
{
    static const struct allot_options timed = {.max_cycles = 1000000};
    char text[8192];
    snprintf(text, sizeof text, "%s%s%s",
             HEAD PARAMS START
             "setp.ne.u32 %p1, %r0, 0; mov.u32 %r5, 0; mov.u32 %r9, 0; mov.u32 %r8, 0;\n"
             "@!%p1 mbarrier.init.shared.b64 [%r1+8128], 32; bar.sync 0;\n"
             "mul.wide.u32 %d2, %r0, 16; add.u64 %d2, %d0, %d2; shl.b32 %r2, %r0, 4;\n"
             "add.u32 %r3, %r1, %r2;\n"
             "T: membar.gl; mov.u32 %r10, %clock;\n",
             body,
             "mov.u32 %r11, %clock; sub.u32 %r11, %r11, %r10; add.u64 %d2, %d2, 4096;\n"
             "xor.b32 %r9, %r9, 1; add.u32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 3;\n"
             "@%p2 bra T; cp.async.wait_all; st.global.u32 [%d1], %r11; ret; }\n");
    struct rt_kit k;
    rt_open(&k, text, &timed);
    uint64_t in = allot_alloc(k.dev, 65536, k.d), out = allot_alloc(k.dev, 64, k.d);
    const struct allot_result *r = rt_try(&k, 1, 32, 3, (uint64_t[]){in, out, 100});
    if (!r)
        rt_fail(&k, "launch");
    uint32_t c;
    assert_true(allot_read(k.dev, out, &c, 4, k.d));
    assert_true(allot_result_get(r, "async_copies", copies_made, NULL));
    rt_close(&k);
    return c;
}

#define COPY(offset) "cp.async.cg.shared.global [%r3+" offset "], [%d2+" offset "], 16;\n"
#define WORK                                                                             \
    "mov.u32 %r4, 0; L: add.u32 %r4, %r4, 1; mul.lo.u32 %r5, %r4, 3;\n"                  \
    "setp.lt.u32 %p0, %r4, %r15; @%p0 bra L;\n"
#define ALL "cp.async.wait_all;\n"

static void
copies_overlap_with_work(void **state)
{
    uint64_t n;
    uint32_t work = clocks_of(WORK, &n);
    assert_int_equal(n, 0);
    uint32_t copy = clocks_of(COPY("0") ALL, &n);
    assert_int_equal(n, 3);
    uint32_t first = clocks_of(COPY("0") ALL WORK, &n),
             overlap = clocks_of(COPY("0") WORK ALL, &n),
             never = clocks_of(COPY("0") WORK, &n);
    assert_true(work > 600);
    assert_in_range(copy, 250, 500); /* the wait holds until they are there */
    assert_in_range(first, work + copy - 40, work + copy + 40);
    assert_in_range(overlap, work, work + 40);
    assert_in_range(never, work, work + 40);
}

/* wait_group n waits for all but the last n groups. */
static void
groups_are_waited_for_in_order(void **state)
{
    uint64_t n;
#define TWO(wait)                                                                        \
    COPY("0") "cp.async.commit_group;\n" WORK COPY("512") "cp.async.commit_group;\n" wait
    uint32_t work = clocks_of(WORK, &n), none = clocks_of(TWO(""), &n),
             one = clocks_of(TWO("cp.async.wait_group 1;\n"), &n),
             two = clocks_of(TWO("cp.async.wait_group 2;\n"), &n),
             all = clocks_of(TWO("cp.async.wait_group 0;\n"), &n);
    assert_int_equal(n, 6);
    assert_in_range(none, work, work + 60);
    assert_in_range(one, work, work + 60);
    assert_in_range(two, work, work + 60);
    assert_in_range(all, work + 200, work + 500);
}

/* An arrival that stands for copies comes when they have come. */
static void
arrivals_follow_their_copies(void **state)
{
#define ARRIVE "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1+8128];\n"
#define UNTIL                                                                            \
    "W: mbarrier.test_wait.parity.shared.b64 %p0, [%r1+8128], %r9; @!%p0 bra W;\n"
    uint64_t n;
    uint32_t without = clocks_of(ARRIVE UNTIL, &n),
             with = clocks_of(COPY("0") ARRIVE UNTIL, &n),
             later = clocks_of(COPY("0") ARRIVE WORK UNTIL, &n),
             work = clocks_of(WORK, &n);
    assert_in_range(without, 1, 150);
    assert_in_range(with, 250, 550);
    assert_in_range(later, work, work + 150); /* nothing holds the warp meanwhile */
    /* without .noinc the arrival counts itself: another 32 must come */
    uint32_t own =
        clocks_of(COPY("0") "cp.async.mbarrier.arrive.shared.b64 [%r1+8128];\n"
                            "mbarrier.arrive.shared.b64 _, [%r1+8128];\n" UNTIL,
                  &n);
    assert_in_range(own, 250, 600);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_copies),
        cmocka_unit_test(bad_copies_are_faults),
        cmocka_unit_test(mbarriers_order_warps),
        cmocka_unit_test(mbarrier_counts),
        cmocka_unit_test(copies_overlap_with_work),
        cmocka_unit_test(groups_are_waited_for_in_order),
        cmocka_unit_test(arrivals_follow_their_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
