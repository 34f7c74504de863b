/* Whole launches under the cycle model: skipping against stepping everything, scratchpad
 * sharing end to end, stuck simulations, limits. */
#include "unit/kit/timing_sm_rig.h"

#define HEAD ".version 6.0\n.target sm_30\n.address_size 64\n"

/* Each kernel: parameters buf, n; 1-D blocks. */
static const struct {
    const char *name, *text;
    unsigned grid, block, n;
} kernels[] = {
    {"stencil", /* scratchpad, barriers, divergence, loads and stores */
     HEAD
     ".visible .entry k(.param .u64 buf, .param .u32 n)\n{\n"
     ".reg .pred %p<3>; .reg .u32 %r<16>; .reg .u64 %d<4>;\n"
     ".shared .align 4 .b8 t[6144];\n"
     "ld.param.u64 %d0, [buf]; ld.param.u32 %r0, [n];\n"
     "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
     "mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %d1, %r4, 4; add.u64 %d0, %d0, %d1;\n"
     "shl.b32 %r5, %r1, 2; mov.u32 %r6, t; add.u32 %r5, %r5, %r6;\n"
     "ld.global.u32 %r7, [%d0];\n"
     "L: st.shared.u32 [%r5], %r7; bar.sync 0;\n"
     "and.b32 %r8, %r1, 31; setp.eq.u32 %p0, %r8, 31; mov.u32 %r9, 5;\n"
     "@%p0 bra E; ld.shared.u32 %r9, [%r5+4];\n"
     "E: add.u32 %r7, %r7, %r9; bar.sync 0;\n"
     "sub.u32 %r0, %r0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra L;\n"
     "st.global.u32 [%d0], %r7; ret; }\n",
     40, 192, 6},
    {"gather", /* scattered loads, atomics, SFU and f64 */
     HEAD ".visible .entry k(.param .u64 buf, .param .u32 n)\n{\n"
          ".reg .pred %p<3>; .reg .u32 %r<16>; .reg .u64 %d<6>; .reg .f32 %f<4>;\n"
          ".reg .f64 %g<4>;\n"
          "ld.param.u64 %d0, [buf]; ld.param.u32 %r0, [n];\n"
          "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
          "mad.lo.u32 %r4, %r2, %r3, %r1; mov.u64 %d3, %d0;\n"
          "L: mul.lo.u32 %r5, %r4, 2654435761; shr.u32 %r5, %r5, 16; and.b32 %r5, %r5, "
          "65535;\n"
          "mul.wide.u32 %d1, %r5, 4; add.u64 %d2, %d0, %d1; ld.global.u32 %r6, [%d2];\n"
          "cvt.rn.f32.u32 %f0, %r6; ex2.approx.f32 %f1, %f0; cvt.f64.f32 %g0, %f1;\n"
          "add.f64 %g1, %g0, %g0; cvt.rzi.u32.f64 %r7, %g1; add.u32 %r4, %r4, %r7;\n"
          "and.b32 %r8, %r1, 7; setp.eq.u32 %p0, %r8, 0;\n"
          "@%p0 red.global.add.u32 [%d3], 1; add.u32 %r4, %r4, 977;\n"
          "sub.u32 %r0, %r0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra L;\n"
          "membar.gl; mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %d0, %d1;\n"
          "st.global.u32 [%d2+65536], %r4; ret; }\n",
     25, 128, 3},
};

static struct launch_stats
run_kernel(size_t i, const char *machine, const char *scheduler, bool no_skip, bool share,
           unsigned launches)
{
    struct rig r;
    rig_load(&r, machine, kernels[i].text, NULL);
    rig_set(&r, "sm.scheduler", scheduler);
    if (share)
        rig_set(&r, "residency.policy", "scratchpad-sharing");
    /* two blocks and a half per SM without sharing, few SMs: several waves */
    rig_set(&r, "sm.scratchpad", "16384");
    rig_set(&r, "sm.count", "3");
    r.opt.no_skip = no_skip;
    rig_buf(&r, 0, 1 << 20);
    rig_param(&r, 1, kernels[i].n);
    struct launch_stats s;
    for (unsigned k = 0; k < launches; k++)
        s = rig_launch(&r, kernels[i].grid, kernels[i].block);
    rig_free(&r);
    return s;
}

static void
skipping_changes_no_counter(void **st)
{
    static const char *const machines[] = {"gtx480", "titan"};
    static const char *const scheds[] = {"lrr", "gto", "two-level", "owf"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (unsigned m = 0; m < 2; m++)
            for (unsigned c = 0; c < 4; c++)
                for (unsigned share = 0; share < 2; share++) {
                    unsigned n =
                        c == 0 ? 2 : 1; /* a second launch starts elsewhere in time */
                    struct launch_stats a =
                        run_kernel(i, machines[m], scheds[c], false, share, n);
                    struct launch_stats b =
                        run_kernel(i, machines[m], scheds[c], true, share, n);
                    assert_true(a.gpu.cycles > 0);
                    for (int k = 0; k < STAT_COUNTERS; k++)
                        if (stats_at(&a, k) != stats_at(&b, k)) {
                            struct allot_stat_info info = {0};
                            stats_info((size_t)k, &info);
                            fail_msg("%s on %s, %s%s: %s is %llu with and %llu without "
                                     "skipping",
                                     kernels[i].name, machines[m], scheds[c],
                                     share ? ", sharing" : "", info.id,
                                     (unsigned long long)stats_at(&a, k),
                                     (unsigned long long)stats_at(&b, k));
                        }
                }
}

/* -- scratchpad sharing, end to end -- */

/* Each thread writes its place in the low (private) and the high (shared) part of a 10 KB
 * array, and after a barrier reads its neighbour's, `n` times. */
static const char sharing_text[] = HEAD
    ".visible .entry k(.param .u64 buf, .param .u32 n)\n{\n"
    ".reg .pred %p<3>; .reg .u32 %r<16>; .reg .u64 %d<4>;\n"
    ".shared .align 4 .b8 t[10240];\n"
    "ld.param.u64 %d0, [buf]; ld.param.u32 %r0, [n];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
    "mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %d1, %r4, 4; add.u64 %d0, %d0, %d1;\n"
    "shl.b32 %r5, %r1, 2; mov.u32 %r6, t; add.u32 %r5, %r5, %r6;\n"
    "xor.b32 %r10, %r1, 1; shl.b32 %r10, %r10, 2; add.u32 %r10, %r10, %r6;\n"
    "mov.u32 %r7, %r4;\n"
    "st.shared.u32 [%r5], %r7; bar.sync 0; ld.shared.u32 %r8, [%r10];\n"
    "add.u32 %r7, %r7, %r8; bar.sync 0;\n"
    "L: st.shared.u32 [%r5+9216], %r7; bar.sync 0; ld.shared.u32 %r8, [%r10+9216];\n"
    "add.u32 %r7, %r7, %r8; bar.sync 0;\n"
    "sub.u32 %r0, %r0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra L;\n"
    "st.global.u32 [%d0], %r7; ret; }\n";
enum { SHARE_GRID = 100, SHARE_BLOCK = 128, SHARE_N = 20 };

static uint32_t
sharing_expected(uint32_t i)
{
    uint32_t a = i, b = i ^ 1;
    for (int k = 0; k < SHARE_N + 1; k++) {
        uint32_t s = a + b;
        a = b = s;
    }
    return a;
}

static struct launch_stats
run_sharing(const char *policy, const char *scheduler, const char *t)
{
    struct rig r;
    rig_load(&r, "gtx480", sharing_text, NULL);
    rig_set(&r, "sm.scheduler", scheduler);
    rig_set(&r, "residency.policy", policy);
    rig_set(&r, "residency.threshold", t);
    rig_set(&r, "sm.count", "4");
    uint64_t buf = rig_buf(&r, 0, SHARE_GRID * SHARE_BLOCK * 4);
    rig_param(&r, 1, SHARE_N);
    struct launch_stats s = rig_launch(&r, SHARE_GRID, SHARE_BLOCK);
    for (uint32_t i = 0; i < SHARE_GRID * SHARE_BLOCK; i++)
        assert_int_equal(rig_u32(&r, buf, i), sharing_expected(i));
    rig_free(&r);
    return s;
}

static void
sharing_runs_more_blocks_and_the_same_results(void **st)
{
    static const char *const scheds[] = {"lrr", "gto", "two-level", "owf"};
    for (unsigned c = 0; c < 4; c++) {
        struct launch_stats a = run_sharing("baseline", scheds[c], "0.1");
        struct launch_stats b = run_sharing("scratchpad-sharing", scheds[c], "0.1");
        /* 49152 / 10240 = 4.8: 4 blocks; S = min(4, 0.8 / 0.1) = 4 */
        assert_int_equal(a.gpu.resident_blocks, 4);
        assert_int_equal(b.gpu.baseline_blocks, 4);
        assert_int_equal(b.gpu.shared_pairs, 4);
        assert_int_equal(b.gpu.resident_blocks, 8);
        assert_int_equal(a.sm.share_locks + a.sm.issue_lock + a.sm.share_wait_cycles, 0);
        /* every block of a pair takes the lock once: here all blocks are of pairs */
        assert_int_equal(b.sm.share_locks, SHARE_GRID);
        assert_true(b.sm.share_handovers > 0);
        assert_true(b.sm.share_additional_blocks >= 16);
        assert_true(b.sm.share_wait_cycles > 0);
        assert_true(b.sm.share_unlocked_instructions >= 10u * 4 * SHARE_GRID);
        assert_int_equal(a.sm.warp_instructions, b.sm.warp_instructions);
    }
}

static void
threshold_one_shares_nothing(void **st)
{
    struct launch_stats a = run_sharing("baseline", "gto", "1");
    struct launch_stats b = run_sharing("scratchpad-sharing", "gto", "1");
    assert_int_equal(b.gpu.shared_pairs, 0);
    for (int k = 0; k < STAT_COUNTERS; k++)
        assert_int_equal(stats_at(&a, k), stats_at(&b, k));
}

static void
a_held_scheduler_counts_as_lock(void **st)
{
    /* One block fits, its partner waits at its first shared access until it ends. */
    struct rig r;
    rig_load(&r, "gtx480", sharing_text, NULL);
    rig_set(&r, "residency.policy", "scratchpad-sharing");
    rig_set(&r, "sm.scratchpad", "16384");
    rig_set(&r, "sm.count", "1");
    rig_buf(&r, 0, 4096);
    rig_param(&r, 1, 200);
    struct launch_stats s = rig_launch(&r, 2, 32); /* one warp a block: slots 0 and 1 */
    assert_int_equal(s.gpu.resident_blocks, 2);
    /* Warp 1 is alone in scheduler 1 and held for nearly all of block 0's time; then
     * block 1 runs alone. */
    assert_in_range(s.sm.issue_lock, s.gpu.cycles * 3 / 10, s.gpu.cycles * 6 / 10);
    assert_int_equal(s.sm.issue_lock, s.sm.share_wait_cycles);
    assert_int_equal(s.sm.share_refusals, 1);
    assert_int_equal(s.sm.share_handovers, 1);
    rig_free(&r);
}

/* -- ends that are no ends -- */

static char *
diag_text(struct rig *r)
{
    struct strbuf b = {0};
    diag_print(&r->diag, &b);
    return strbuf_take(&b);
}

static void
stuck_is_detected_and_explained(void **st)
{
    static const char text[] = HEAD
        ".visible .entry lonely(.param .u64 buf)\n{ .reg .pred %p<2>; .reg .u32 %r<2>;\n"
        "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32;\n"
        "@%p0 bar.sync 3, 64;\n"
        "@!%p0 bar.sync 4, 64;\n ret; }\n";
    for (int skip = 0; skip < 2; skip++) {
        struct rig r;
        struct launch_stats s;
        rig_load(&r, "gtx480", text, NULL);
        rig_buf(&r, 0, 64);
        r.opt.no_skip = skip;
        assert_false(rig_try(&r, 3, 64, &s));
        char *t = diag_text(&r);
        assert_non_null(strstr(t, "stuck"));
        assert_non_null(strstr(t, "lonely"));
        assert_non_null(strstr(t, "block (2,0,0)"));
        assert_non_null(strstr(t, "barrier 3"));
        assert_non_null(strstr(t, "barrier 4"));
        assert_null(strstr(t, "block (3,0,0)"));
        free(t);
        rig_free(&r);
    }
}

static const char endless[] =
    HEAD ".visible .entry spin(.param .u64 buf)\n{ L: bra L; }\n";

static bool
never_again(void *user, uint64_t cycles, uint64_t inst, uint64_t done, uint64_t blocks)
{
    ++*(unsigned *)user;
    assert_true(done == 0 && blocks == 2);
    return false;
}

static void
limits_end_a_launch(void **st)
{
    struct rig r;
    struct launch_stats s;
    char *t;
    rig_load(&r, "gtx480", endless, NULL);
    r.opt.max_cycles = 5000;
    assert_false(rig_try(&r, 1, 32, &s));
    t = diag_text(&r);
    assert_non_null(strstr(t, "5000 cycles, the limit"));
    free(t);
    rig_free(&r);

    rig_load(&r, "gtx480", endless, NULL);
    r.opt.max_instructions = 1000;
    assert_false(rig_try(&r, 1, 32, &s));
    assert_in_range(r.g.n_warp_inst, 1000, 1001);
    rig_free(&r);

    unsigned calls = 0;
    rig_load(&r, "gtx480", endless, NULL);
    r.opt.progress = never_again;
    r.opt.user = &calls;
    assert_false(rig_try(&r, 2, 32, &s));
    t = diag_text(&r);
    assert_non_null(strstr(t, "interrupted"));
    assert_int_equal(calls, 1);
    free(t);
    rig_free(&r);
}

static void
machines_that_cannot_run_are_refused(void **st)
{
    struct rig r;
    rig_load(&r, "gtx480", endless, NULL);
    r.m->sm.scheduler = "fair";
    assert_null(timing_gpu_new(r.m, &r.opt, &r.diag));
    char *t = diag_text(&r);
    assert_non_null(strstr(t, "'fair'"));
    assert_non_null(strstr(t, "two-level"));
    free(t);
    r.m->sm.scheduler = "gto";
    r.m->collector.units_mem = 0;
    assert_false(machine_check(r.m, &r.diag));
    t = diag_text(&r);
    assert_non_null(strstr(t, "collector.units_mem"));
    free(t);
    rig_free(&r);
}

static void
fault_ends_the_launch_and_leaves_a_usable_gpu(void **st)
{
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 buf)\n{ .reg .u64 %d<2>; .reg .u32 %r<2>;\n"
        "ld.param.u64 %d0, [buf]; ld.global.u32 %r0, [%d0]; st.global.u32 [%d0+4], %r0;"
        "ret; }\n";
    struct rig r;
    struct launch_stats s;
    rig_load(&r, "gtx480", text, NULL);
    rig_param(&r, 0, 0x20000000);
    assert_false(rig_try(&r, 20, 64, &s));
    assert_true(r.diag.errors > 0);
    r.diag.n = r.diag.errors = 0;
    rig_buf(&r, 0, 64);
    assert_true(rig_try(&r, 20, 64, &s));
    assert_int_equal(s.gpu.blocks, 20);
    rig_free(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skipping_changes_no_counter),
        cmocka_unit_test(sharing_runs_more_blocks_and_the_same_results),
        cmocka_unit_test(threshold_one_shares_nothing),
        cmocka_unit_test(a_held_scheduler_counts_as_lock),
        cmocka_unit_test(stuck_is_detected_and_explained),
        cmocka_unit_test(limits_end_a_launch),
        cmocka_unit_test(machines_that_cannot_run_are_refused),
        cmocka_unit_test(fault_ends_the_launch_and_leaves_a_usable_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
