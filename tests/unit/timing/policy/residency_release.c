/* residency_release.c: release bits of threads (000 section 6.2): what the executor tells of
 * relssp and of threads that end, and when scratchpad sharing gives up the lock on it. */
#include "unit/kit/exec_kit.h"
#include "unit/kit/fenced.h"

#include "timing/policy/policy.h"
#include "timing/policy/residency/pairs.h"

/* Steps warps in the order given until all have ended; returns the number of the step at
 * which the block gives up the lock, 0: never. */
static unsigned
released_at(struct kit *k, unsigned threads, const uint8_t *order, unsigned n)
{
    k->g.grid = (struct exec_dim){1, 1, 1};
    k->g.block = (struct exec_dim){threads, 1, 1};
    k->g.warps_per_cta = (threads + 31) / 32;
    struct exec_cta *c = exec_cta_new(&k->g);
    exec_cta_start(c, 0);
    /* Two slots, a pair; the block is in slot 0 and has the lock. */
    const struct mechanism *m = &residency_find("scratchpad-sharing")->mechanism;
    const struct pairs_plan plan = {.blocks = 2, .pairs = 1, .warps = k->g.warps_per_cta};
    struct exec_cta *cta[2] = {c};
    uint8_t cls[2], asks[2];
    struct stat_sm stats = {0};
    struct sm_view v = {
        .nslots = 2, .cta = cta, .stats = &stats, .cls = cls, .asks = asks};
    void *state = fenced_new(m->state_size(&plan));
    m->init(state, &v, NULL, &plan);
    m->block_started(state, &v, &(struct sm_event){.slot = 0});
    struct exec_access touch = {.space = PTX_SPACE_SHARED, .bytes = 4, .mask = 1};
    assert_true(m->may_issue(state, &v, &(struct sm_event){.access = &touch}));
    unsigned at = 0;
    struct exec_step s;
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(c->warp[order[i]].state, EXEC_READY);
        assert_int_equal(exec_step(&c->warp[order[i]], &s), EXEC_OK);
        struct sm_event e = {.warp = order[i], .st = &k->p->st[s.pc], .lanes = s.mask};
        uint64_t before = stats.share_releases;
        if (ptx_ops[e.st->op].flags & PTX_EXTENSION)
            m->operation(state, &v, &e);
        e.lanes = s.ended;
        if (s.ended)
            m->threads_ended(state, &v, &e);
        if (stats.share_releases != before) {
            assert_int_equal(at, 0); /* told once */
            at = i + 1;
        }
    }
    fenced_free(state);
    assert_int_equal(c->live_warps, 0);
    exec_cta_free(c);
    return at;
}

#define ENTRY PTX_HEAD ".visible .entry k() {\n.reg .b32 %r<4>;\n.reg .pred %p<3>;\n"

static void
last_thread_releases(void **st)
{
    (void)st;
    struct kit k;
    kit_load(&k, ENTRY "relssp;\nadd.u32 %r1, %r1, 1;\nexit;\n}\n");
    /* 40 threads: the padding of the second warp is no thread. */
    assert_int_equal(released_at(&k, 40, (const uint8_t[]){0, 0, 1, 1, 1, 0}, 6), 3);
    assert_int_equal(released_at(&k, 32, (const uint8_t[]){0, 0, 0}, 3), 1);
    kit_free(&k);
}

static void
ended_threads_count(void **st)
{
    (void)st;
    struct kit k;
    /* Warp 0 ends without relssp; threads 40.. of warp 1 too, under a guard. */
    kit_load(&k, ENTRY "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n"
                       "setp.ge.u32 %p2, %r1, 40;\n@%p1 exit;\n@!%p2 relssp;\n"
                       "exit;\n}\n");
    /* Warp 1 executes relssp in its 5th step, but threads 40 to 63 end in its 6th. */
    assert_int_equal(
        released_at(&k, 64, (const uint8_t[]){1, 1, 1, 1, 1, 0, 0, 0, 0, 1}, 10), 0 + 10);
    /* The other way round warp 0's end is the last. */
    assert_int_equal(
        released_at(&k, 64, (const uint8_t[]){1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 10), 10);
    kit_free(&k);
    /* Nobody executes it: no release, the block only ends. */
    kit_load(&k, ENTRY "mov.u32 %r1, %tid.x;\nexit;\n}\n");
    assert_int_equal(released_at(&k, 33, (const uint8_t[]){0, 0, 1, 1}, 4), 0);
    kit_free(&k);
}

static void
twice_is_once(void **st)
{
    (void)st;
    struct kit k;
    kit_load(&k, ENTRY "relssp;\nrelssp;\nexit;\n}\n");
    assert_int_equal(released_at(&k, 64, (const uint8_t[]){0, 0, 1, 1, 0, 1}, 6), 3);
    kit_free(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_thread_releases),
        cmocka_unit_test(ended_threads_count),
        cmocka_unit_test(twice_is_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
