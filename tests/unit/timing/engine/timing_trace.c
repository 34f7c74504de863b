/* timing_trace.c: events of a trace: each block and each launch once, warps' states without gaps
 * while their block is there, and nothing from the cut on. */
#define RIG_MOCK_MEMORY
#include "unit/kit/timing_sm_rig.h"

#include "timing/trace.h"

enum { BLOCKS = 40, THREADS = 64, WARPS = 2, LAUNCHES = 3, SMS = 2 };

static const char text[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry k(.param .u64 buf)\n{\n.reg .u32 %r<4>;\n.reg .u64 %d<4>;\n"
    "ld.param.u64 %d0, [buf];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\n"
    "add.u64 %d0, %d0, %d1;\nld.global.u32 %r1, [%d0];\nadd.u32 %r1, %r1, 1;\nbar.sync 0;\n"
    "st.global.u32 [%d0], %r1;\nret;\n}\n";

struct traced {
    struct rig r;
    const struct trace *t;
    uint64_t cycles; /* of all launches */
};

static void
open_trace(struct traced *x, uint64_t limit)
{
    rig_load(&x->r, "gtx480", text, NULL);
    rig_set(&x->r, "sm.count", "2");
    rig_buf(&x->r, 0, 1 << 16);
    x->r.opt.trace_limit = limit;
    x->r.opt.trace_to = UINT64_MAX;
    x->cycles = 0;
    for (int i = 0; i < LAUNCHES; i++)
        x->cycles += rig_launch(&x->r, BLOCKS, THREADS).gpu.cycles;
    x->t = timing_trace(x->r.gpu);
    assert_non_null(x->t);
}

static uint64_t
events(const struct trace *t)
{
    uint64_t n = t->gpu.n;
    for (unsigned k = 0; k < t->nsm; k++)
        n += t->sm[k].events.n;
    return n;
}

/* Each block has one event a launch, in which its warps' states lie without gaps. */
static void
blocks_and_states(void **state)
{
    (void)state;
    struct traced x;
    open_trace(&x, UINT32_MAX);
    assert_true(x.t->cut == NEVER);
    assert_int_equal(x.t->nlaunch, LAUNCHES);
    unsigned seen[BLOCKS] = {0}, states[TRACE_NSTATES] = {0};
    assert_int_equal(x.t->nsm, SMS);
    for (unsigned k = 0; k < SMS; k++) {
        const struct trace_buffer *b = &x.t->sm[k].events;
        for (size_t i = 0; i < b->n; i++) {
            const struct trace_event *e = &b->v[i];
            assert_true(e->from < e->to);
            if (e->kind == TRACE_LEVEL)
                assert_in_range(e->track, 0, TRACE_NLEVELS - 1);
            if (e->kind == TRACE_WARP)
                states[e->value]++;
            if (e->kind != TRACE_BLOCK)
                continue;
            assert_true(e->value < BLOCKS);
            seen[e->value]++;
            uint64_t longest = 0; /* of its warps; the other one may end before */
            for (unsigned w = 0; w < WARPS; w++) {
                uint64_t covered = 0;
                for (size_t j = 0; j < b->n; j++) {
                    const struct trace_event *s = &b->v[j];
                    if (s->kind == TRACE_WARP && s->track == e->track * WARPS + w &&
                        s->from >= e->from && s->to <= e->to)
                        covered += s->to - s->from;
                }
                assert_in_range(covered, (e->to - e->from) / 2, e->to - e->from);
                longest = covered > longest ? covered : longest;
            }
            assert_in_range(longest, e->to - e->from - 2, e->to - e->from);
        }
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        assert_int_equal(seen[i], LAUNCHES);
    assert_int_equal(states[TRACE_NO_WARP], 0);
    assert_true(states[TRACE_READY] && states[TRACE_FETCH] && states[TRACE_ENDED]);
    rig_free(&x.r);
}

/* Events of launches follow each other and have their number. */
static void
launches_in_order(void **state)
{
    (void)state;
    struct traced x;
    open_trace(&x, UINT32_MAX);
    uint64_t n = 0, to = 0;
    for (size_t i = 0; i < x.t->gpu.n; i++) {
        const struct trace_event *e = &x.t->gpu.v[i];
        if (e->kind != TRACE_LAUNCH)
            continue;
        assert_int_equal(e->value, n);
        assert_int_equal(e->from, x.t->launch[n].start + 1);
        assert_string_equal(x.t->launch[n].kernel, "k");
        assert_true(e->from >= to);
        to = e->to;
        n++;
    }
    assert_int_equal(n, LAUNCHES);
    rig_free(&x.r);
}

/* With fewer events than there are, no more are kept, none begins from the cut on, and the launches
 * kept are those that begin before it. One more would be too much: the cut is the latest. */
static void
a_limit_cuts(void **state)
{
    (void)state;
    struct traced all;
    open_trace(&all, UINT32_MAX);
    const uint64_t total = events(all.t);
    for (uint64_t limit = total / 8; limit < total; limit += total / 8) {
        struct traced x;
        open_trace(&x, limit);
        assert_true(x.t->cut != NEVER);
        assert_true(events(x.t) <= limit);
        assert_int_equal(x.t->launches, LAUNCHES);
        size_t launches = 0;
        for (size_t i = 0; i < all.t->nlaunch; i++)
            launches += all.t->launch[i].start <= x.t->cut;
        assert_int_equal(x.t->nlaunch, launches);
        uint64_t before = 0, with = 0;
        for (unsigned k = 0; k <= SMS; k++) {
            const struct trace_buffer *b = k < SMS ? &x.t->sm[k].events : &x.t->gpu;
            const struct trace_buffer *a = k < SMS ? &all.t->sm[k].events : &all.t->gpu;
            for (size_t i = 0; i < b->n; i++)
                assert_true(b->v[i].from < x.t->cut);
            for (size_t i = 0; i < a->n; i++) {
                before += a->v[i].from < x.t->cut;
                with += a->v[i].from <= x.t->cut;
            }
        }
        assert_int_equal(events(x.t), before);
        assert_true(with > limit);
        rig_free(&x.r);
    }
    rig_free(&all.r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_states),
        cmocka_unit_test(launches_in_order),
        cmocka_unit_test(a_limit_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
