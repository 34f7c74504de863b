/* timing_events.c: the contract of mechanisms (timing/policy/mechanism.h): what they are told
 * and when, what they may refuse, timers, and several of them at once. Each test runs with
 * skipping and without: the events are the same. */
#define RIG_MOCK_MEMORY
#include "unit/kit/timing_sm_rig.h"

static const char text[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<5>;\n"
                           ".reg .pred %q<2>;\n.reg .b64 %rd<3>;\n"
                           "mov.u32 %r1, %tid.x;\n"       /* 0 */
                           "setp.lt.u32 %q1, %r1, 40;\n"  /* 1 */
                           "add.u32 %r2, %r1, %r1;\n"     /* 2 */
                           "@%q1 relssp;\n"               /* 3 */
                           "@!%q1 exit;\n"                /* 4 */
                           "ld.param.u64 %rd1, [p];\n"    /* 5 */
                           "st.global.u32 [%rd1], %r2;\n" /* 6 */
                           "exit;\n}\n";                  /* 7 */
enum { NINST = 8, RELSSP = 3, STORE = 6, MAX = 512 };

/* A mechanism that keeps a record of what it was told. */
struct record {
    enum sm_event_id id;
    struct sm_event e;
    uint64_t now;
    unsigned reads; /* operands that the instruction reads */
};
static struct record seen[MAX];
static unsigned nseen;

static unsigned
reads_of(const struct sm_event *e)
{
    unsigned n = 0;
    for (unsigned i = 0; e->st && i < e->st->noperands; i++)
        n += e->st->operand[i].role == EXEC_READS;
    return n;
}

#define EVENT(id_, when, holds)                                                          \
    static void told_##id_(void *state, struct sm_view *v, const struct sm_event *e)     \
    {                                                                                    \
        assert_true(nseen < MAX);                                                        \
        seen[nseen++] = (struct record){SM_EVENT_##id_, *e, v->now, reads_of(e)};        \
    }
#include "timing/sm_events.def"
#undef EVENT

static const struct mechanism spy = {
#define EVENT(id, when, holds) .id = told_##id,
#include "timing/sm_events.def"
#undef EVENT
};

/* A mechanism that refuses warp `warp` until its timer comes, and blocks before `from`. */
struct gate {
    unsigned warp;
    uint64_t until, from;
};
struct gate_state {
    struct gate plan;
    bool open, blocks;
    unsigned refused;
};

static size_t
gate_size(const void *plan)
{
    return sizeof(struct gate_state);
}

static void
gate_init(void *state, struct sm_view *v, const struct machine *m, const void *plan)
{
    struct gate_state *g = state;
    g->plan = *(const struct gate *)plan;
    g->blocks = !g->plan.from;
    if (!g->blocks)
        v->timer = g->plan.from;
}

static void
gate_timer(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct gate_state *g = state;
    if (v->now < g->plan.from)
        fail_msg("timer at %llu", (unsigned long long)v->now);
    g->blocks = true;
    if (v->now >= g->plan.until)
        g->open = v->changed = true;
}

static bool
gate_issue(void *state, struct sm_view *v, const struct sm_event *e)
{
    struct gate_state *g = state;
    if (g->open || e->warp != g->plan.warp || v->now >= g->plan.until)
        return true;
    assert_int_equal(g->refused++, 0); /* not asked again before anything has changed */
    v->timer = g->plan.until;
    return false;
}

static bool
gate_start(const void *state, const struct sm_view *v)
{
    return ((const struct gate_state *)state)->blocks;
}

static const struct mechanism gate = {.wait = WAIT_lock,
                                      .state_size = gate_size,
                                      .init = gate_init,
                                      .timer = gate_timer,
                                      .may_issue = gate_issue,
                                      .may_start = gate_start};

static struct launch_stats
run_with(const char *text, const char *operand_loads, const struct mechanism_use *use,
         unsigned n, bool no_skip)
{
    struct rig r;
    struct timing_plan plan;
    struct launch_stats s;
    rig_load(&r, "gtx480", text, NULL);
    rig_set(&r, "sm.operand_loads", operand_loads);
    r.opt.no_skip = no_skip;
    rig_buf(&r, 0, 4096);
    r.gpu = timing_gpu_new(r.m, &r.opt, &r.diag);
    r.g.grid = (struct exec_dim){1, 1, 1};
    r.g.block = (struct exec_dim){64, 1, 1};
    r.g.warps_per_cta = 2;
    struct occ_kernel k = {64, 8, 0, 0};
    assert_true(timing_plan(r.m, r.p->entry, &k, &plan, &r.diag));
    for (unsigned i = 0; i < n; i++)
        plan.mechanism[plan.nmechanisms++] = use[i];
    nseen = 0;
    if (!timing_launch(r.gpu, &r.g, &plan, &s, &r.diag))
        rig_fail(&r, "launch");
    while (nseen && seen[nseen - 1].id == SM_EVENT_counted)
        nseen--; /* at its end, whatever happened in it */
    rig_free(&r);
    return s;
}

static struct launch_stats
run_text(const char *text, const struct mechanism_use *use, unsigned n, bool no_skip)
{
    return run_with(text, "false", use, n, no_skip);
}

static struct launch_stats
run(const struct mechanism_use *use, unsigned n, bool no_skip)
{
    return run_text(text, use, n, no_skip);
}

/* Index of the event of that warp and pc (-1: any); fails if there is not exactly one. */
static unsigned
only(enum sm_event_id id, int warp, int pc)
{
    unsigned at = MAX;
    for (unsigned i = 0; i < nseen; i++)
        if (seen[i].id == id && (warp < 0 || seen[i].e.warp == (unsigned)warp) &&
            (pc < 0 || seen[i].e.pc == (unsigned)pc)) {
            assert_int_equal(at, MAX);
            at = i;
        }
    assert_int_not_equal(at, MAX);
    return at;
}

static unsigned
count(enum sm_event_id id)
{
    unsigned n = 0;
    for (unsigned i = 0; i < nseen; i++)
        n += seen[i].id == id;
    return n;
}

static void
told_in_order(void **state)
{
    for (int no_skip = 0; no_skip < 2; no_skip++) {
        struct launch_stats s =
            run(&(struct mechanism_use){.mechanism = &spy}, 1, no_skip);
        assert_int_equal(only(SM_EVENT_block_started, -1, -1), 0);
        assert_int_equal(only(SM_EVENT_block_ended, -1, -1), nseen - 1);
        assert_int_equal(count(SM_EVENT_issued), s.sm.warp_instructions);
        assert_int_equal(count(SM_EVENT_period) + count(SM_EVENT_timer), 0);
        for (int w = 0; w < 2; w++) {
            unsigned last = only(SM_EVENT_warp_started, w, -1);
            for (int pc = 0; pc < NINST; pc++) {
                unsigned issued = only(SM_EVENT_issued, w, pc);
                assert_true(issued > last);
                last = issued;
                unsigned read = only(SM_EVENT_operands_read, w, pc);
                assert_true(seen[read].now > seen[issued].now);
                if (pc == STORE)
                    continue;
                unsigned back = only(SM_EVENT_written_back, w, pc);
                assert_true(seen[back].now > seen[read].now);
            }
            assert_true(only(SM_EVENT_warp_ended, w, -1) > last);
        }
        assert_int_equal(count(SM_EVENT_written_back), 2 * (NINST - 1));
    }
}

/* Lanes of the operation and of the ends: 40 threads execute relssp, the others end first. */
static void
lanes_are_told(void **state)
{
    run(&(struct mechanism_use){.mechanism = &spy}, 1, false);
    assert_int_equal(seen[only(SM_EVENT_operation, 0, -1)].e.lanes, 0xffffffff);
    assert_int_equal(seen[only(SM_EVENT_operation, 1, -1)].e.lanes, 0xff);
    assert_int_equal(seen[only(SM_EVENT_threads_ended, 0, -1)].e.lanes, 0xffffffff);
    unsigned n = 0;
    for (unsigned i = 0; i < nseen; i++)
        if (seen[i].id == SM_EVENT_threads_ended && seen[i].e.warp == 1)
            assert_int_equal(seen[i].e.lanes, n++ ? 0xff : 0xffffff00);
    assert_int_equal(n, 2);
}

/* A refused warp issues in the very cycle for which the mechanism has set its timer, though
 * the SM sleeps until then; of two that refuse, the later. */
static void
timers_wake_the_sm(void **state)
{
    const struct gate a = {.warp = 1, .until = 5000}, b = {.warp = 1, .until = 7001};
    for (int no_skip = 0; no_skip < 2; no_skip++) {
        struct launch_stats one =
            run((struct mechanism_use[]){{.mechanism = &gate, .plan = &a},
                                         {.mechanism = &spy}},
                2, no_skip);
        assert_int_equal(seen[only(SM_EVENT_issued, 1, 0)].now, 5000);
        assert_true(seen[only(SM_EVENT_issued, 0, 0)].now < 2000);
        assert_true(one.sm.issue_lock > 3000);
        run((struct mechanism_use[]){{.mechanism = &gate, .plan = &b},
                                     {.mechanism = &spy},
                                     {.mechanism = &gate, .plan = &a}},
            3, no_skip);
        assert_int_equal(seen[only(SM_EVENT_issued, 1, 0)].now, 7001);
    }
}

/* No block starts while a mechanism does not want one. */
static void
blocks_wait_for_the_mechanism(void **state)
{
    const struct gate g = {.warp = 9, .from = 3000};
    for (int no_skip = 0; no_skip < 2; no_skip++) {
        run((struct mechanism_use[]){{.mechanism = &gate, .plan = &g},
                                     {.mechanism = &spy}},
            2, no_skip);
        assert_int_equal(seen[only(SM_EVENT_block_started, -1, -1)].now, 3000);
    }
}

static const char reads[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                            ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<6>;\n"
                            "mov.u32 %r1, 1;\nmov.u32 %r2, 2;\n"
                            "add.u32 %r3, %r1, %r1;\n" /* 2 */
                            "sub.u32 %r4, %r1, 5;\n"   /* 3: reads %r1 too */
                            "add.u32 %r5, %r2, 7;\n"   /* 4 */
                            "mov.u32 %r2, 3;\n"        /* 5: writes what 4 reads */
                            "exit;\n}\n";

/* A mechanism that wants reads tracked: nobody reads or writes a register before it has been
 * read by the instruction before (RAR, WAR). Without, instructions do not wait for that. */
static void
reads_are_tracked(void **state)
{
    struct mechanism tracks = spy;
    for (int on = 0; on < 2; on++)
        for (int no_skip = 0; no_skip < 2; no_skip++) {
            tracks.reads = on;
            run_text(reads, &(struct mechanism_use){.mechanism = &tracks}, 1, no_skip);
            for (int w = 0; w < 2; w++)
                for (int pc = 2; pc <= 4; pc += 2)
                    assert_int_equal(seen[only(SM_EVENT_issued, w, pc + 1)].now >=
                                         seen[only(SM_EVENT_operands_read, w, pc)].now,
                                     on);
        }
}

static const char operands[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                               ".visible .entry k(.param .u64 p)\n{\n"
                               ".reg .b32 %r<6>;\n.shared .align 4 .b8 m[64];\n"
                               "mov.u32 %r1, m;\nmov.u32 %r2, 4;\n"
                               "ld.shared.u32 %r3, [%r1];\n" /* 2: an operand of 3 */
                               "add.u32 %r4, %r3, %r2;\n"
                               "mov.u32 %r1, 3;\n"           /* 4: writes the address */
                               "ld.shared.u32 %r3, [%r2];\n" /* 5: an operand of 7 */
                               "mov.u32 %r2, 5;\n"           /* 6: writes its address */
                               "add.u32 %r5, %r3, %r4;\n"
                               "exit;\n}\n";

/* A load that is an operand is no instruction of the warp's buffer. Its reader reads its
 * address, and who writes that waits for it; if it has been written before, the load does. */
static void
readers_read_addresses(void **state)
{
    struct mechanism tracks = spy;
    tracks.reads = true;
    for (int no_skip = 0; no_skip < 2; no_skip++) {
        run_with(operands, "true", &(struct mechanism_use){.mechanism = &tracks}, 1,
                 no_skip);
        for (int w = 0; w < 2; w++) {
            uint64_t read = seen[only(SM_EVENT_operands_read, w, 3)].now;
            assert_true(seen[only(SM_EVENT_issued, w, 4)].now >= read);
            assert_int_equal(seen[only(SM_EVENT_issued, w, 2)].reads, 0);
            assert_int_equal(seen[only(SM_EVENT_issued, w, 3)].reads, 2);
            assert_int_equal(seen[only(SM_EVENT_issued, w, 5)].reads, 1);
            assert_int_equal(seen[only(SM_EVENT_issued, w, 7)].reads, 1);
            for (unsigned i = 0; i < nseen; i++)
                assert_false(seen[i].id == SM_EVENT_decoded &&
                             (seen[i].e.pc == 2 || seen[i].e.pc == 5));
        }
        run_text(operands, &(struct mechanism_use){.mechanism = &tracks}, 1, no_skip);
        assert_int_equal(seen[only(SM_EVENT_issued, 0, 2)].reads, 1);
        assert_int_equal(seen[only(SM_EVENT_issued, 0, 3)].reads, 2);
    }
}

/* A mechanism that writes all that its view lets it write, whatever it is told of; the first
 * events come in cycle 0. (registers_got is what `got` leads to.) `jams`: its timer wakes the
 * SM for ever, and no warp may issue. */
static bool jams;

static void
write_all(struct sm_view *v, bool got)
{
    v->again[0] = v->again[1] = ~(uint64_t)0 >> 32;
    v->changed = true;
    for (unsigned i = 0; i < v->nslots; i++)
        v->cls[i] = WARP_OWNER, v->asks[i] = 1;
    if (got)
        v->got[0] = 3;
    v->timer = v->now + 7;
}
#define EVENT(id_, when, holds)                                                          \
    static void writes_in_##id_(void *state, struct sm_view *v,                          \
                                const struct sm_event *e)                                \
    {                                                                                    \
        write_all(v, SM_EVENT_##id_ == SM_EVENT_warp_started && v->cta[0]);              \
    }
#include "timing/sm_events.def"
#undef EVENT

static bool
restless_issue(void *state, struct sm_view *v, const struct sm_event *e)
{
    v->timer = v->now + 7;
    return !jams;
}

static const struct mechanism restless = {
    .wait = WAIT_lock,
    .may_issue = restless_issue,
#define EVENT(id, when, holds) .id = writes_in_##id,
#include "timing/sm_events.def"
#undef EVENT
};

/* Every cycle is accounted for once (stats_check), and nothing else changes. */
static void
views_may_be_written_in_every_event(void **state)
{
    for (int no_skip = 0; no_skip < 2; no_skip++) {
        struct launch_stats a = run(NULL, 0, no_skip),
                            b = run(&(struct mechanism_use){.mechanism = &restless}, 1,
                                    no_skip);
        assert_int_equal(a.gpu.cycles, b.gpu.cycles);
        assert_int_equal(a.sm.warp_instructions, b.sm.warp_instructions);
        assert_int_equal(a.sm.issue_slots, b.sm.issue_slots);
    }
}

/* Something moves in every few cycles, but no warp issues: told, with who waits for what. */
static void
nothing_issued_is_stuck(void **state)
{
    struct rig r;
    struct timing_plan plan;
    struct launch_stats s;
    jams = true;
    rig_load(&r, "gtx480", text, NULL);
    rig_set(&r, "sm.count", "1");
    rig_buf(&r, 0, 4096);
    r.gpu = timing_gpu_new(r.m, &r.opt, &r.diag);
    r.g.grid = (struct exec_dim){1, 1, 1};
    r.g.block = (struct exec_dim){64, 1, 1};
    r.g.warps_per_cta = 2;
    struct occ_kernel k = {64, 8, 0, 0};
    assert_true(timing_plan(r.m, r.p->entry, &k, &plan, &r.diag));
    plan.mechanism[plan.nmechanisms++] = (struct mechanism_use){.mechanism = &restless};
    assert_false(timing_launch(r.gpu, &r.g, &plan, &s, &r.diag));
    assert_int_equal(r.g.failure, ALLOT_STUCK);
    struct strbuf b = {0};
    diag_print(&r.diag, &b);
    assert_non_null(strstr(b.s, "no warp has issued an instruction for 100"));
    assert_non_null(strstr(b.s, "warp 0: line"));
    strbuf_free(&b);
    jams = false;
    rig_free(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_in_order),
        cmocka_unit_test(lanes_are_told),
        cmocka_unit_test(timers_wake_the_sm),
        cmocka_unit_test(blocks_wait_for_the_mechanism),
        cmocka_unit_test(views_may_be_written_in_every_event),
        cmocka_unit_test(nothing_issued_is_stuck),
        cmocka_unit_test(reads_are_tracked),
        cmocka_unit_test(readers_read_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
