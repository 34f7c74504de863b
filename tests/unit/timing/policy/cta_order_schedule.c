/* cta_order_schedule.c: the order policy `schedule` (004 section 5): order and TLP of steps,
 * barriers where the TLP changes, cta.sync_cycles; the same at any number of host threads. */
#include "unit/kit/timing_sm_rig.h"

#include "timing/policy/schedule.h"

enum { BLOCKS = 120, MOST_STEPS = 8 };

/* Thread 0 of each block leaves its SM and when it began and ended; blocks are of different
 * length, all threads load lines of their own. */
static const char text[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry k(.param .u64 buf, .param .u32 n)\n{\n"
    ".reg .pred %p<4>; .reg .u32 %r<24>; .reg .u64 %d<12>;\n"
    "mov.u64 %d5, %clock64; ld.param.u64 %d0, [buf]; mov.u32 %r1, %tid.x;\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n"
    "mul.wide.u32 %d1, %r4, 4; add.u64 %d1, %d0, %d1; and.b32 %r5, %r2, 7;\n"
    "add.u32 %r5, %r5, 2; mov.u32 %r9, 0;\n"
    "L: ld.global.cg.u32 %r6, [%d1+16384]; add.u32 %r9, %r9, %r6;\n"
    "st.global.u32 [%d1+16384], %r9; sub.u32 %r5, %r5, 1;\n"
    "setp.ne.u32 %p0, %r5, 0; @%p0 bra L;\n"
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra E; mul.wide.u32 %d2, %r2, 32;\n"
    "add.u64 %d2, %d0, %d2; mov.u32 %r7, %smid; st.global.u32 [%d2+16], %r7;\n"
    "mov.u64 %d6, %clock64; st.global.v2.u64 [%d2], {%d5, %d6};\n"
    "E: ret; }\n";

struct block {
    uint64_t begin, end;
    uint32_t sm, pad[3];
};

struct outcome {
    struct launch_stats stats;
    struct block block[BLOCKS];
};

struct steps {
    struct cta_schedule s;
    uint32_t order[BLOCKS];
    struct cta_step step[MOST_STEPS];
};

/* Steps of n[i] blocks with TLP tlp[i] up to n[i] = 0; blocks in an order that is no
 * series: 37 i mod 120. */
static void
make(struct steps *t, const uint32_t (*n)[2])
{
    memset(t, 0, sizeof *t);
    t->s.order = t->order;
    t->s.step = t->step;
    for (; n[t->s.nsteps][0]; t->s.nsteps++) {
        t->step[t->s.nsteps] =
            (struct cta_step){t->s.blocks, n[t->s.nsteps][0], n[t->s.nsteps][1]};
        t->s.blocks += n[t->s.nsteps][0];
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        t->order[i] = 37 * i % BLOCKS;
    assert_int_equal(t->s.blocks, BLOCKS);
}

static const uint32_t three[][2] = {{10, 5}, {50, 25}, {60, 60}, {0, 0}};
static const uint32_t alike[][2] = {{30, 30}, {30, 30}, {30, 30}, {30, 30}, {0, 0}};
static const uint32_t single[][2] = {{1, 1}, {1, 2}, {1, 1}, {7, 7}, {110, 16}, {0, 0}};

static void
run(const struct steps *t, const char *machine, unsigned threads, unsigned quantum,
    bool no_skip, const char *sync, struct outcome *o)
{
    struct rig r;
    rig_load(&r, machine, text, NULL);
    rig_set(&r, "cta.order", "schedule");
    rig_set(&r, "cta.sync_cycles", sync);
    r.opt.threads = threads;
    r.opt.quantum = quantum;
    r.opt.no_skip = no_skip;
    r.opt.max_cycles = 1000000;
    r.schedule = t ? &t->s : NULL;
    uint64_t buf = rig_buf(&r, 0, 1 << 18);
    rig_param(&r, 1, 0);
    o->stats = rig_launch(&r, BLOCKS, 64);
    assert_true(dev_read(r.mem, buf, o->block, sizeof o->block));
    rig_free(&r);
}

/* Blocks of steps from..to that run at once, the most, on SM sm (-1: all). */
static uint32_t
most_at_once(const struct steps *t, const struct outcome *o, uint32_t from, uint32_t to,
             int sm)
{
    uint32_t most = 0;
    uint32_t a = t->step[from].first, b = t->step[to].first + t->step[to].n;
    for (uint32_t i = a; i < b; i++) {
        const struct block *x = &o->block[t->order[i]];
        uint32_t n = 0;
        for (uint32_t k = a; k < b; k++) {
            const struct block *y = &o->block[t->order[k]];
            n += y->begin <= x->begin && x->begin <= y->end &&
                 (sm < 0 || y->sm == (uint32_t)sm);
        }
        most = n > most && (sm < 0 || x->sm == (uint32_t)sm) ? n : most;
    }
    return most;
}

static uint64_t
first_begin(const struct steps *t, const struct outcome *o, uint32_t step)
{
    uint64_t at = UINT64_MAX;
    for (uint32_t i = 0; i < t->step[step].n; i++) {
        uint64_t b = o->block[t->order[t->step[step].first + i]].begin;
        at = b < at ? b : at;
    }
    return at;
}

static uint64_t
last_begin(const struct steps *t, const struct outcome *o, uint32_t step)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < t->step[step].n; i++) {
        uint64_t b = o->block[t->order[t->step[step].first + i]].begin;
        at = b > at ? b : at;
    }
    return at;
}

static uint64_t
last_end(const struct steps *t, const struct outcome *o, uint32_t step)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < t->step[step].n; i++) {
        uint64_t e = o->block[t->order[t->step[step].first + i]].end;
        at = e > at ? e : at;
    }
    return at;
}

/* A step's TLP holds over all SMs, evenly spread; it is reached. */
static void
a_step_has_its_tlp(void **state)
{
    struct steps t;
    struct outcome o;
    make(&t, three);
    run(&t, "gtx480", 1, 0, false, "70", &o);
    for (uint32_t i = 0; i < t.s.nsteps; i++) {
        uint32_t tlp = t.step[i].tlp;
        assert_in_range(most_at_once(&t, &o, i, i, -1), 1, tlp);
        for (int sm = 0; sm < 15; sm++)
            assert_in_range(most_at_once(&t, &o, i, i, sm), 0, (tlp + 14) / 15);
    }
    assert_int_equal(most_at_once(&t, &o, 0, 0, -1), 5);
    assert_int_equal(most_at_once(&t, &o, 1, 1, -1), 25);
    assert_int_equal(most_at_once(&t, &o, 2, 2, -1), 60);
    assert_int_equal(o.stats.gpu.schedule_syncs, 2);
}

/* Where the TLP changes, the next step's first block begins cta.sync_cycles after the last
 * block has ended: not before, and by just so many cycles later than with none. */
static void
a_change_of_tlp_is_a_barrier(void **state)
{
    static const char *const sync[] = {"0", "70", "500"};
    struct steps t;
    uint64_t without = 0;
    make(&t, three);
    for (int k = 0; k < 3; k++) {
        struct outcome o;
        uint64_t cycles = strtoull(sync[k], NULL, 10);
        run(&t, "gtx480", 1, 0, false, sync[k], &o);
        for (uint32_t i = 1; i < t.s.nsteps; i++)
            assert_true(first_begin(&t, &o, i) > last_end(&t, &o, i - 1) + cycles);
        without = k ? without : first_begin(&t, &o, 1);
        assert_int_equal(first_begin(&t, &o, 1), without + cycles);
    }
}

/* As CTA_BARRIER_SUSPEND has it, blocks go on where the TLP changes: the next step's first
 * block begins cta.sync_cycles after the last block of the step before has begun, not ended,
 * and both together keep to the larger TLP. (A block's first instruction waits for its fetch,
 * the first one of an SM longest: 100 cycles are more than that.) */
static void
a_change_of_tlp_suspends(void **state)
{
    static const char *const sync[] = {"70", "500"};
    static const uint32_t falling[][2] = {{60, 60}, {60, 8}, {0, 0}};
    struct steps t;
    struct outcome o;
    uint64_t first[2];
    make(&t, three);
    t.s.barriers = CTA_BARRIER_SUSPEND;
    for (int k = 0; k < 2; k++) {
        run(&t, "gtx480", 1, 0, false, sync[k], &o);
        first[k] = first_begin(&t, &o, 1);
        for (uint32_t i = 1; k && i < t.s.nsteps; i++)
            assert_true(first_begin(&t, &o, i) > last_begin(&t, &o, i - 1) + 400);
        assert_int_equal(o.stats.gpu.schedule_syncs, 2);
        assert_in_range(most_at_once(&t, &o, 0, 1, -1), 1, 25);
        assert_int_equal(most_at_once(&t, &o, 0, 2, -1), 60);
        if (!k) /* a block lasts longer than 70 cycles */
            assert_true(first[0] < last_end(&t, &o, 0));
    }
    assert_int_equal(first[1], first[0] + 430);
    make(&t, falling);
    t.s.barriers = CTA_BARRIER_SUSPEND;
    run(&t, "gtx480", 1, 0, false, "70", &o);
    assert_in_range(most_at_once(&t, &o, 1, 1, -1), 1, 8);
    assert_int_equal(o.stats.gpu.schedule_syncs, 1);
}

/* Steps of one TLP follow each other without one, unless each is to be a barrier. */
static void
steps_of_one_tlp_are_no_barriers(void **state)
{
    struct steps t;
    struct outcome o, p;
    make(&t, alike);
    run(&t, "gtx480", 1, 0, false, "70", &o);
    for (uint32_t i = 1; i < t.s.nsteps; i++)
        assert_true(first_begin(&t, &o, i) < last_end(&t, &o, i - 1));
    assert_in_range(most_at_once(&t, &o, 0, 3, -1), 29, 30);
    assert_int_equal(o.stats.gpu.schedule_syncs, 0);
    t.s.barriers = CTA_BARRIER_EVERY;
    run(&t, "gtx480", 1, 0, false, "70", &p);
    for (uint32_t i = 1; i < t.s.nsteps; i++)
        assert_true(first_begin(&t, &p, i) >= last_end(&t, &p, i - 1) + 70);
    assert_true(p.stats.gpu.cycles > o.stats.gpu.cycles);
    assert_int_equal(p.stats.gpu.schedule_syncs, 3);
}

/* More at once than the GPU holds: as many as it holds. Without a schedule: in order. */
static void
the_gpu_limits_a_large_tlp(void **state)
{
    static const uint32_t all[][2] = {{BLOCKS, 100000}, {0, 0}};
    struct steps t;
    struct outcome o, p;
    make(&t, all);
    for (uint32_t i = 0; i < BLOCKS; i++)
        t.order[i] = i;
    run(&t, "gtx480", 1, 0, false, "70", &o);
    run(NULL, "gtx480", 1, 0, false, "70", &p);
    assert_memory_equal(o.block, p.block, sizeof o.block);
    assert_int_equal(o.stats.gpu.cycles, p.stats.gpu.cycles);
}

static void
same_at_any_number_of_threads(void **state)
{
    static const struct {
        unsigned threads, quantum;
        bool no_skip;
    } runs[] = {{1, 0, false}, {2, 0, false}, {3, 0, false}, {8, 0, false},
                {1, 1, false}, {1, 4, false}, {1, 1, true},  {2, 0, true}};
    static const char *const sync[] = {"70", "0", "5", "33"};
    static const char *const machine[] = {"gtx480", "titan"};
    const uint32_t(*const shapes[])[2] = {three, alike, single};
    for (int k = 0; k < 24; k++) {
        struct steps t;
        struct outcome one, o;
        make(&t, shapes[k % 3]);
        t.s.barriers = k == 4   ? CTA_BARRIER_EVERY
                       : k < 12 ? CTA_BARRIER_CHANGE
                                : CTA_BARRIER_SUSPEND;
        run(&t, machine[k % 2], 1, 0, false, sync[k / 3 % 4], &one);
        for (size_t i = 1; i < sizeof runs / sizeof *runs; i++) {
            run(&t, machine[k % 2], runs[i].threads, runs[i].quantum, runs[i].no_skip,
                sync[k / 3 % 4], &o);
            assert_memory_equal(o.block, one.block, sizeof o.block);
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
        cmocka_unit_test(a_step_has_its_tlp),
        cmocka_unit_test(a_change_of_tlp_is_a_barrier),
        cmocka_unit_test(a_change_of_tlp_suspends),
        cmocka_unit_test(steps_of_one_tlp_are_no_barriers),
        cmocka_unit_test(the_gpu_limits_a_large_tlp),
        cmocka_unit_test(same_at_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
