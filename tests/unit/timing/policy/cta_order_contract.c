/* cta_order_contract.c: what an order of blocks may do (timing/policy/policy.h): give an SM
 * none now, cap its blocks, follow the ends of blocks and the time; the same at any number
 * of host threads and any length of quanta. */
#include "unit/kit/timing_sm_rig.h"

enum { BLOCKS = 96, WAVE = 24, SMS = 15 };

/* Thread 0 of each block leaves when it began and ended; blocks are of different length. */
static const char text[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry k(.param .u64 buf)\n{\n"
    ".reg .pred %p<4>; .reg .u32 %r<24>; .reg .u64 %d<12>;\n"
    "mov.u64 %d5, %clock64; ld.param.u64 %d0, [buf]; mov.u32 %r1, %tid.x;\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n"
    "mul.wide.u32 %d1, %r4, 4; add.u64 %d1, %d0, %d1; and.b32 %r5, %r2, 7;\n"
    "add.u32 %r5, %r5, 2; mov.u32 %r9, 0;\n"
    "L: ld.global.cg.u32 %r6, [%d1+16384]; add.u32 %r9, %r9, %r6;\n"
    "st.global.u32 [%d1+16384], %r9; sub.u32 %r5, %r5, 1;\n"
    "setp.ne.u32 %p0, %r5, 0; @%p0 bra L;\n"
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra E; mul.wide.u32 %d2, %r2, 16;\n"
    "add.u64 %d2, %d0, %d2; mov.u64 %d6, %clock64; st.global.v2.u64 [%d2], {%d5, %d6};\n"
    "E: ret; }\n";

struct block {
    uint64_t begin, end;
};

struct outcome {
    struct launch_stats stats;
    struct block block[BLOCKS];
    uint64_t quanta;
    bool ok;
    char said[2048];
};

static uint64_t asked; /* calls of a policy's `next` */
static uint32_t grid_seen[3];
static unsigned resident_seen;

/* -- waves of blocks: the next begins sync_cycles after all of one have ended -- */

struct waves {
    uint64_t next, blocks, from;
    unsigned given, ended, sync;
};

static void
waves_init(void *state, struct arena *a, const struct cta_launch *l)
{
    struct waves *x = state;
    x->blocks = l->blocks;
    x->sync = l->machine->cta.sync_cycles;
    memcpy(grid_seen, l->grid, sizeof grid_seen);
    resident_seen = l->resident;
    assert_string_equal(l->kernel, "k");
}

static int64_t
waves_next(void *state, unsigned sm, uint64_t now)
{
    struct waves *x = state;
    asked++;
    if (now < x->from || x->given == WAVE || x->next == x->blocks)
        return -1;
    x->given++;
    return (int64_t)x->next++;
}

static void
waves_ended(void *state, unsigned sm, unsigned n, uint64_t now)
{
    struct waves *x = state;
    x->ended += n;
    assert_in_range(x->ended, 1, WAVE);
    if (x->ended < WAVE)
        return;
    x->given = x->ended = 0;
    x->from = now + x->sync;
}

static uint64_t
waves_again(const void *state, uint64_t now)
{
    const struct waves *x = state;
    return x->from > now ? x->from : NEVER;
}

static const struct cta_order_policy waves = {
    .name = "waves",
    .state_size = sizeof(struct waves),
    .init = waves_init,
    .next = waves_next,
    .ended = waves_ended,
    .again = waves_again,
};

/* -- one that gives nothing; one that caps the blocks of an SM -- */

static int64_t
nothing(void *state, unsigned sm, uint64_t now)
{
    return -1;
}

static const struct cta_order_policy never = {
    .name = "never",
    .state_size = sizeof(struct waves),
    .init = waves_init,
    .next = nothing,
};

static int64_t
in_order(void *state, unsigned sm, uint64_t now)
{
    struct waves *x = state;
    return (int64_t)x->next++;
}

static bool
fewer_than_two(const void *state, unsigned sm, unsigned resident, uint64_t now)
{
    return resident < 2;
}

static const struct cta_order_policy two = {
    .name = "two",
    .state_size = sizeof(struct waves),
    .init = waves_init,
    .next = in_order,
    .open = fewer_than_two,
};

static void
run(const struct cta_order_policy *p, unsigned threads, unsigned quantum, bool no_skip,
    const char *sync, struct outcome *o)
{
    struct rig r;
    rig_load(&r, "gtx480", text, NULL);
    rig_set(&r, "cta.sync_cycles", sync);
    r.opt.threads = threads;
    r.opt.quantum = quantum;
    r.opt.no_skip = no_skip;
    r.opt.max_cycles = 1000000;
    r.order = p;
    asked = 0;
    uint64_t buf = rig_buf(&r, 0, 1 << 18);
    memset(o, 0, sizeof *o);
    o->ok = rig_try(&r, BLOCKS, 64, &o->stats);
    o->quanta = timing_quanta(r.gpu);
    struct strbuf b = {0};
    diag_print(&r.diag, &b);
    snprintf(o->said, sizeof o->said, "%s", b.s ? b.s : "");
    strbuf_free(&b);
    assert_true(dev_read(r.mem, buf, o->block, sizeof o->block));
    rig_free(&r);
}

static uint64_t
first_begin(const struct outcome *o, unsigned wave)
{
    uint64_t first = UINT64_MAX;
    for (unsigned i = wave * WAVE; i < (wave + 1) * WAVE; i++)
        first = o->block[i].begin < first ? o->block[i].begin : first;
    return first;
}

static void
ends_and_times_lead_from_wave_to_wave(void **state)
{
    struct outcome o, later;
    run(&waves, 1, 0, false, "500", &o);
    assert_true(o.ok);
    assert_int_equal(grid_seen[0], BLOCKS);
    assert_int_equal(resident_seen, 8);
    for (unsigned w = 1; w < BLOCKS / WAVE; w++)
        for (unsigned i = 0; i < WAVE; i++)
            assert_true(first_begin(&o, w) >= o.block[(w - 1) * WAVE + i].end + 500);
    run(&waves, 1, 0, false, "913", &later);
    assert_int_equal(first_begin(&later, 1), first_begin(&o, 1) + 413);
}

/* Each SM is asked when it may have got a block, not in each cycle; and where no SM can get
 * one, quanta are as long as ever. */
static void
none_now_costs_no_short_quanta(void **state)
{
    struct outcome o, all;
    run(&waves, 1, 0, false, "500", &o);
    assert_true(o.stats.gpu.cycles > 4 * 500);
    /* A block, or none: at the start, at a wave's start, and when a block ends. */
    assert_in_range(asked, BLOCKS, 2 * BLOCKS + SMS * (BLOCKS / WAVE + 1));
    run(NULL, 1, 0, false, "500", &all);
    assert_true(all.quanta >= all.stats.gpu.cycles / 32);
    assert_true(o.quanta < o.stats.gpu.cycles / 8);
}

/* All blocks have ended and the next may start much later: that is no standstill. A policy
 * that gives none ever is, and is named. */
static void
none_now_is_not_stuck(void **state)
{
    struct outcome o;
    run(&waves, 1, 0, false, "20000", &o);
    assert_true(o.ok);
    assert_true(o.stats.gpu.cycles > 3 * 20000);
    run(&never, 1, 0, false, "70", &o);
    assert_false(o.ok);
    assert_non_null(strstr(o.said, "nothing can ever move again"));
    assert_non_null(strstr(o.said, "96 blocks have not started: cta.order 'never' gives "
                                   "none now"));
}

static void
an_order_caps_resident_blocks(void **state)
{
    struct outcome o;
    run(&two, 1, 0, false, "70", &o);
    uint32_t most = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint32_t n = 0;
        for (unsigned k = 0; k < BLOCKS; k++)
            n += o.block[k].begin <= o.block[i].begin &&
                 o.block[i].begin <= o.block[k].end;
        most = n > most ? n : most;
    }
    assert_int_equal(most, 2 * SMS);
}

static void
same_at_any_number_of_threads(void **state)
{
    static const struct {
        unsigned threads, quantum;
        bool no_skip;
    } runs[] = {{2, 0, false}, {3, 0, false}, {8, 0, false}, {1, 1, false},
                {1, 4, false}, {1, 1, true},  {2, 0, true}};
    static const char *const sync[] = {"0", "5", "40", "500"};
    for (int k = 0; k < 4; k++) {
        struct outcome one, o;
        run(&waves, 1, 0, false, sync[k], &one);
        const uint64_t calls = asked;
        assert_true(one.ok);
        for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
            run(&waves, runs[i].threads, runs[i].quantum, runs[i].no_skip, sync[k], &o);
            assert_memory_equal(o.block, one.block, sizeof o.block);
            assert_int_equal(asked, calls);
            for (int c = 0; c < STAT_COUNTERS; c++)
                if (stats_at(&o.stats, c) != stats_at(&one.stats, c))
                    fail_msg("case %d: counter %d differs in run %zu", k, c, i);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_and_times_lead_from_wave_to_wave),
        cmocka_unit_test(none_now_costs_no_short_quanta),
        cmocka_unit_test(none_now_is_not_stuck),
        cmocka_unit_test(an_order_caps_resident_blocks),
        cmocka_unit_test(same_at_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
