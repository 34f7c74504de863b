/* advise_limits.c: small kernels, each made to be limited by one thing, on the cycle model; every
 * row of limits.def is what one of them is limited by, or the reason of it. gtx480: 15 SMs of 2
 * schedulers, 48 warps, 16 KB of L1; warp w of a block is scheduler w mod 2's. */
#include "unit/kit/runtime_kit.h"

#include "advise/limits.h"
#include "runtime/runtime.h"

enum { BYTES = 8 << 20, NO_DETAIL = -1 };

#define HEAD                                                                             \
    ".version 6.0\n.target sm_30\n.address_size 64\n"                                    \
    ".visible .entry k(.param .u64 p)\n{\n"                                              \
    " .reg .pred %q<4>;\n .reg .b32 %r<32>;\n .reg .b64 %d<16>;\n"                       \
    " .local .align 4 .b8 own[512];\n"
/* %d1: the buffer, all 0; %r1: thread of the block, %r2: of the grid; %r3: 0, but nobody knows */
#define START                                                                            \
    " ld.param.u64 %d1, [p];\n cvta.to.global.u64 %d1, %d1;\n mov.u32 %r1, %tid.x;\n"    \
    " mov.u32 %r4, %ctaid.x;\n mov.u32 %r5, %ntid.x;\n mad.lo.u32 %r2, %r4, %r5, %r1;\n" \
    " ld.global.u32 %r3, [%d1];\n mov.u32 %r6, %r3;\n mov.u32 %r10, %r1;\n"              \
    " mov.u32 %r11, %r2;\n mov.u32 %r12, %r4;\n mov.u32 %r13, %r5;\n"
/* `times` trips of the body; %r6 counts. */
#define LOOP(times, body)                                                                \
    "loop:\n" body " add.u32 %r6, %r6, 1;\n setp.lt.u32 %q1, %r6, " #times ";\n"         \
    " @%q1 bra loop;\n"
#define END                                                                               \
    " xor.b32 %r10, %r10, %r3;\n xor.b32 %r10, %r10, %r11;\n xor.b32 %r12, %r12, %r13;\n" \
    " xor.b32 %r10, %r10, %r12;\n mul.wide.u32 %d2, %r2, 4;\n add.u64 %d2, %d1, %d2;\n"   \
    " st.global.u32 [%d2+4194304], %r10;\n ret;\n}\n"
#define TWICE(a) a a
#define EIGHT(a) TWICE(TWICE(TWICE(a)))

/* Four sums that do not wait for each other, and one that waits for itself. */
#define SUMS                                                                             \
    " add.u32 %r10, %r10, %r1;\n add.u32 %r11, %r11, %r2;\n xor.b32 %r12, %r12, %r6;\n"  \
    " sub.u32 %r13, %r13, %r2;\n"
#define CHAIN " mul.lo.u32 %r10, %r10, %r10;\n xor.b32 %r10, %r10, %r1;\n"
/* A load whose address waits for the one before: the trip's line of `mask` + 1 bytes, at steps
 * of `step` bytes and `between` bytes from block to block. */
#define CHASE(step, mask, between)                                                       \
    " mul.lo.u32 %r14, %r6, " #step ";\n mad.lo.u32 %r14, %r4, " #between ", %r14;\n"    \
    " and.b32 %r14, %r14, " #mask ";\n add.u32 %r14, %r14, %r3;\n"                       \
    " cvt.u64.u32 %d3, %r14;\n add.u64 %d3, %d1, %d3;\n ld.global.u32 %r3, [%d3];\n"
#define SHARED(bytes) " .shared .align 4 .b8 a[" #bytes "];\n"
/* Word `stride` * thread of the scratchpad. */
#define SHARED_AT(stride)                                                                \
    " mul.lo.u32 %r15, %r1, " #stride ";\n and.b32 %r15, %r15, 16383;\n"                 \
    " mov.u32 %r16, a;\n add.u32 %r16, %r16, %r15;\n"
/* Each lane a line of its own, each trip others. */
#define SCATTERED                                                                         \
    " and.b64 %d5, %d4, 4194303;\n add.u64 %d5, %d1, %d5;\n ld.global.u32 %r14, [%d5];\n" \
    " add.u32 %r10, %r10, %r14;\n add.u64 %d4, %d4, 1234048;\n"

static const struct {
    const char *name, *ptx;
    unsigned grid, block;
    const char *settings[6]; /* path, value, ... */
    enum limit_id cause;
    int detail;
} kernels[] = {
    {"issue", HEAD START LOOP(64, EIGHT(SUMS)) END, 90, 256, {0}, LIMIT_issue, NO_DETAIL},
    {"one lane of four",
     HEAD START " and.b32 %r7, %r1, 3;\n setp.ne.u32 %q2, %r7, 0;\n @%q2 bra out;\n" LOOP(
         64, EIGHT(SUMS)) "out:\n" END,
     90,
     256,
     {0},
     LIMIT_issue,
     LIMIT_divergence},
    {"chain",
     HEAD START LOOP(200, EIGHT(CHAIN)) END,
     15,
     64,
     {0},
     LIMIT_latency,
     LIMIT_occupancy},
    {"stream",
     HEAD START " mul.wide.u32 %d4, %r2, 4;\n add.u64 %d4, %d1, %d4;\n" EIGHT(
         " ld.global.u32 %r14, [%d4];\n add.u32 %r10, %r10, %r14;\n"
         " ld.global.u32 %r15, [%d4+184320];\n add.u32 %r11, %r11, %r15;\n"
         " add.u64 %d4, %d4, 368640;\n") END,
     180,
     256,
     {0},
     LIMIT_memory,
     LIMIT_bandwidth},
    {"chase in DRAM",
     HEAD START LOOP(200, CHASE(1024, 4194303, 262144)) END,
     15,
     64,
     {0},
     LIMIT_memory,
     LIMIT_dram},
    {"chase in L2",
     HEAD START LOOP(3000, CHASE(128, 65535, 0)) END,
     15,
     64,
     {0},
     LIMIT_memory,
     LIMIT_l2},
    {"chase in L1",
     HEAD START " mov.u64 %d3, %d1;\n" LOOP(
         100, EIGHT(" ld.global.u32 %r3, [%d3];\n cvt.u64.u32 %d4, %r3;\n"
                    " add.u64 %d3, %d1, %d4;\n")) END,
     15,
     64,
     {"l1d.latency", "200"},
     LIMIT_memory,
     LIMIT_l1},
    {"a column of the scratchpad",
     HEAD SHARED(16384) START SHARED_AT(128) LOOP(
         100, EIGHT(" ld.shared.u32 %r17, [%r16];\n add.u32 %r10, %r10, %r17;\n")) END,
     15,
     64,
     {0},
     LIMIT_memory,
     LIMIT_banks},
    {"scattered",
     HEAD START " mul.wide.u32 %d4, %r2, 128;\n" LOOP(20, SCATTERED) END,
     90,
     256,
     {0},
     LIMIT_units,
     LIMIT_contention},
    {"scattered, sectors",
     HEAD START " mul.wide.u32 %d4, %r2, 128;\n" LOOP(20, SCATTERED) END,
     90,
     256,
     {0},
     LIMIT_units,
     LIMIT_uncoalesced},
    {"array in local memory",
     HEAD START " mov.u64 %d6, own;\n" LOOP(
         100, " and.b32 %r14, %r10, 127;\n mul.wide.u32 %d7, %r14, 4;\n"
              " add.u64 %d7, %d6, %d7;\n st.local.u32 [%d7], %r6;\n"
              " ld.local.u32 %r15, [%d7];\n add.u32 %r10, %r10, %r15;\n") END,
     15,
     64,
     {0},
     LIMIT_memory,
     LIMIT_local},
    {"one counter",
     HEAD START LOOP(20, " atom.global.add.u32 %r14, [%d1+8], 1;\n"
                         " add.u32 %r10, %r10, %r14;\n") END,
     15,
     64,
     {0},
     LIMIT_memory,
     LIMIT_atomics},
    {"one warp works for eight",
     HEAD START " setp.ge.u32 %q2, %r1, 32;\n" LOOP(
         20, " @%q2 bra wait;\n" EIGHT(CHAIN) "wait:\n bar.sync 0;\n") END,
     15,
     256,
     {0},
     LIMIT_barrier,
     NO_DETAIL},
    {"one block",
     HEAD START LOOP(64, EIGHT(SUMS)) END,
     1,
     64,
     {0},
     LIMIT_blocks,
     NO_DETAIL},
    {"code that is run once",
     HEAD START EIGHT(EIGHT(EIGHT(SUMS))) END,
     15,
     64,
     {0},
     LIMIT_fetch,
     NO_DETAIL},
    {"busy divider",
     HEAD START LOOP(20, " cvt.rn.f32.u32 %r14, %r10;\n" EIGHT(
                             " sin.approx.f32 %r17, %r14;\n xor.b32 %r10, %r10, %r17;\n"
                             " cos.approx.f32 %r18, %r14;\n xor.b32 %r11, %r11, %r18;\n"))
         END,
     90,
     256,
     {0},
     LIMIT_units,
     NO_DETAIL},
    {"partner has the lock",
     HEAD SHARED(30000) START SHARED_AT(4) " st.shared.u32 [%r16+28000], %r1;\n" LOOP(
         100, EIGHT(CHAIN)) " ld.shared.u32 %r14, [%r16+28000];\n"
                            " add.u32 %r10, %r10, %r14;\n" END,
     60,
     64,
     {"residency.policy", "scratchpad-sharing", "sm.scheduler", "owf"},
     LIMIT_lock,
     NO_DETAIL},
    {"another has the scratchpad",
     HEAD SHARED(30000) START SHARED_AT(4) " st.shared.u32 [%r16+28000], %r1;\n" LOOP(
         100, EIGHT(CHAIN)) " ld.shared.u32 %r14, [%r16+28000];\n"
                            " add.u32 %r10, %r10, %r14;\n" END,
     60,
     64,
     {"residency.policy", "multiplexing", "compiler.passes", "multiplex-hw"},
     LIMIT_allocation,
     NO_DETAIL},
    {"sleepy registers",
     HEAD START LOOP(50, EIGHT(CHAIN)) END,
     15,
     64,
     {"regpower.policy", "sleep-reg", "regpower.wake_sleep", "60"},
     LIMIT_wakeup,
     NO_DETAIL},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void
limits(size_t i, struct limits *l)
{
    struct rt_kit k;
    const struct allot_options timing = {.max_cycles = 2000000};
    rt_open(&k, kernels[i].ptx, &timing);
    struct allot_machine *m = allot_machine_clone(k.m);
    for (size_t s = 0; s < 6 && kernels[i].settings[s]; s += 2)
        if (!allot_machine_set(m, kernels[i].settings[s], kernels[i].settings[s + 1],
                               k.d))
            rt_fail(&k, kernels[i].name);
    struct allot_device *dev = allot_device_new(m, &timing, k.d);
    if (!dev)
        rt_fail(&k, kernels[i].name);
    uint64_t p = allot_alloc(dev, BYTES, k.d);
    const void *args[] = {&p};
    const struct allot_launch launch = {.module = k.mod,
                                        .kernel = "k",
                                        .grid = {kernels[i].grid, 1, 1},
                                        .block = {kernels[i].block, 1, 1},
                                        .args = args,
                                        .nargs = 1};
    const struct allot_result *r = allot_launch(dev, &launch, k.d);
    if (!r)
        rt_fail(&k, kernels[i].name);
    struct launch_stats s = {0};
    struct allot_stat_info info;
    uint64_t v;
    for (size_t n = 0; allot_stat(n, &info); n++)
        if (!info.derived && allot_result_get(r, info.id, &v, NULL))
            stats_set(&s, info.id, v);
    limits_of(&s, m->m, l);
    allot_device_free(dev);
    allot_machine_free(m);
    rt_close(&k);
}

static void
show(const struct limits *l)
{
    for (enum limit_id i = 0; i < LIMITS; i++)
        print_message("  %-12s %.3f %s%s\n", limits_rows[i].id, l->value[i],
                      limits_hold(l, i) ? "holds" : "",
                      i == l->cause        ? ", the cause"
                      : limits_tells(l, i) ? ", reported"
                                           : "");
}

static void
each_kernel_is_limited_by_its_thing(void **st)
{
    int failed = 0;
    for (size_t i = 0; i < KERNELS; i++) {
        struct limits l;
        limits(i, &l);
        if (l.clear && l.cause == kernels[i].cause &&
            (kernels[i].detail == NO_DETAIL ||
             limits_tells(&l, (enum limit_id)kernels[i].detail)))
            continue;
        failed++;
        print_error(
            "%s: should be limited by %s%s%s\n", kernels[i].name,
            limits_rows[kernels[i].cause].id, kernels[i].detail == NO_DETAIL ? "" : ", ",
            kernels[i].detail == NO_DETAIL ? "" : limits_rows[kernels[i].detail].id);
        show(&l);
    }
    assert_int_equal(failed, 0);
    (void)st;
}

static void
each_row_has_its_kernel(void **st)
{
    for (enum limit_id i = 0; i < LIMITS; i++) {
        bool found = false;
        for (size_t k = 0; k < KERNELS; k++)
            found |= kernels[k].cause == i || kernels[k].detail == (int)i;
        if (i == LIMIT_tensor || i == LIMIT_registers)
            continue; /* instructions of sm_90: each_cause_of_a_slot_is_a_row */
        if (!found)
            fail_msg("no kernel is limited by %s", limits_rows[i].id);
    }
    (void)st;
}

/* Where all slots have one cause, that is what limits; no cause is forgotten. */
static void
each_cause_of_a_slot_is_a_row(void **st)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    const char *id, *word, *meaning;
    bool seen[LIMITS] = {0};
    assert_non_null(m);
    for (size_t i = 0; allot_issue_cause(i, &id, &word, &meaning); i++) {
        struct launch_stats s = {.sm = {.issue_slots = 10}};
        struct limits l;
        assert_true(stats_set(&s, id, 10));
        limits_of(&s, m->m, &l);
        if (!l.clear || l.value[l.cause] != 1 || seen[l.cause])
            fail_msg("%s has no row of its own", id);
        seen[l.cause] = true;
    }
    for (enum limit_id i = 0; i < LIMITS; i++)
        assert_true(seen[i] == !limits_rows[i].of);
    allot_machine_free(m);
    allot_diag_free(d);
    (void)st;
}

/* Rows by hand: 1000 slots of 2 schedulers. */
static void
the_largest_that_holds(void **st)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    struct launch_stats s = {.sm = {.issue_slots = 1000,
                                    .issue_used = 499,
                                    .issue_memory = 301,
                                    .issue_scoreboard = 200}};
    struct limits l;
    assert_non_null(m);
    limits_of(&s, m->m, &l);
    assert_true(l.clear);
    assert_int_equal(l.cause, LIMIT_memory); /* 0.499 is not half, though it is more */
    assert_true(limits_hold(&l, LIMIT_latency)); /* its threshold to the digit */
    assert_false(limits_tells(&l, LIMIT_dram));  /* no read at all: no number */
    s.sm.issue_used = 900;
    s.sm.issue_memory = 95;
    s.sm.issue_scoreboard = 5;
    limits_of(&s, m->m, &l);
    assert_int_equal(l.cause, LIMIT_issue);
    s.sm.warp_instructions = 100;
    s.sm.local_loads = 50;
    limits_of(&s, m->m, &l);
    assert_true(limits_hold(&l, LIMIT_local));
    assert_false(limits_tells(&l, LIMIT_local)); /* no reason of what limits it */
    s.sm.issue_used = 490;
    s.sm.issue_memory = 190;
    s.sm.issue_stall = 190;
    s.sm.issue_barrier = 130;
    limits_of(&s, m->m, &l);
    assert_false(l.clear); /* none holds: the largest */
    assert_int_equal(l.cause, LIMIT_issue);
    allot_machine_free(m);
    allot_diag_free(d);
    (void)st;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kernel_is_limited_by_its_thing),
        cmocka_unit_test(each_row_has_its_kernel),
        cmocka_unit_test(each_cause_of_a_slot_is_a_row),
        cmocka_unit_test(the_largest_that_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
