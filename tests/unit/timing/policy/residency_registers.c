/* residency_registers.c: register sharing: the lock of a pair of warps, the rule about
 * barriers, ownership, dynamic warp execution; 001 Figure 2.8 as a kernel; skipping. */
#include "allot/allot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/kit/fenced.h"

#include "timing/policy/policy.h"
#include "timing/policy/residency/pairs.h"
#include "timing/policy/residency/warp_level_divergence.h"

enum { BLOCKS = 5, BASELINE = 3, PAIRS = 2, PRIVATE = 4, WARPS = 2 };
/* Slots: 0 shares nothing, 1 and 4 are a pair, 2 and 3 are one. */

struct bench {
    const struct mechanism *p;
    void *state;
    struct machine *m;
    struct stat_sm stats, first;
    struct exec_cta *cta[BLOCKS];
    struct exec_cta block[BLOCKS];
    uint8_t cls[BLOCKS], asks[BLOCKS];
    struct sm_view v;
    bool changed; /* by the last question or event */
};

static void
view(struct bench *b, unsigned nslots, unsigned sm)
{
    b->v = (struct sm_view){.nslots = nslots,
                            .cta = b->cta,
                            .stats = &b->stats,
                            .sm = sm,
                            .cls = b->cls,
                            .asks = b->asks};
}

static bool
ask(struct bench *b, unsigned slot, unsigned warp, const struct exec_static *st,
    const struct exec_access *a)
{
    struct sm_event e = {.slot = slot, .warp = warp, .st = st, .access = a};
    b->v.changed = false;
    bool ok = b->p->may_issue(b->state, &b->v, &e);
    b->changed = b->v.changed;
    return ok;
}

/* Whether who was refused asks again. */
static bool
period(struct bench *b)
{
    b->v.changed = false;
    b->p->period(b->state, &b->v, &(struct sm_event){.first = &b->first});
    return b->v.changed;
}

static void
launch(struct bench *b, unsigned slot)
{
    b->cta[slot] = &b->block[slot];
    b->block[slot].id += 10;
    b->p->block_started(b->state, &b->v, &(struct sm_event){.slot = slot});
}

static void
setup(struct bench *b, bool rule, bool dynamic)
{
    memset(b, 0, sizeof *b);
    b->m = machine_new();
    b->m->residency.barrier_rule = rule ? BARRIER_RULE_BLOCK : BARRIER_RULE_NONE;
    b->p = &residency_find("register-sharing")->mechanism;
    struct pairs_plan plan = {.blocks = BLOCKS,
                              .pairs = PAIRS,
                              .private_units = PRIVATE,
                              .warps = WARPS,
                              .dynamic = dynamic};
    b->state = fenced_new(b->p->state_size(&plan));
    view(b, BLOCKS, 1);
    b->p->init(b->state, &b->v, b->m, &plan);
    for (unsigned i = 0; i < BLOCKS; i++)
        launch(b, i);
}

static void
teardown(struct bench *b)
{
    fenced_free(b->state);
    machine_free(b->m);
}

/* Warp `warp` of a slot issues an instruction whose highest register is `reg`. */
static bool
use(struct bench *b, unsigned slot, unsigned warp, unsigned reg)
{
    const struct exec_operand o = {.place = (uint16_t)(reg + 1)};
    struct exec_static st = {.operand = &o, .noperands = 1};
    b->v.now++;
    return ask(b, slot, warp, &st, NULL);
}

static bool
load_from(struct bench *b, unsigned slot, unsigned warp, enum ptx_space space)
{
    const struct exec_operand o = {.place = 1};
    struct exec_static st = {.operand = &o,
                             .noperands = 1,
                             .unit = PTX_UNIT_MEM,
                             .is_load = true,
                             .space = space};
    return ask(b, slot, warp, &st, NULL);
}

static bool
load(struct bench *b, unsigned slot, unsigned warp)
{
    return load_from(b, slot, warp, PTX_SPACE_GLOBAL);
}

static bool
warp_end(struct bench *b, unsigned slot, unsigned warp)
{
    b->v.changed = false;
    b->p->warp_ended(b->state, &b->v, &(struct sm_event){.slot = slot, .warp = warp});
    return b->v.changed;
}

static void
end(struct bench *b, unsigned slot)
{
    for (unsigned w = 0; w < WARPS; w++)
        warp_end(b, slot, w);
    b->cta[slot] = NULL;
    b->p->block_ended(b->state, &b->v, &(struct sm_event){.slot = slot});
}

/* Who has got registers since the last time: the bit of a warp. */
static uint64_t
got(struct bench *b)
{
    uint64_t bits = b->v.got[0];
    b->v.got[0] = 0;
    return bits;
}

static uint64_t
bit_of(unsigned slot, unsigned warp)
{
    return (uint64_t)1 << (slot * WARPS + warp);
}

static void
lock_is_per_pair_of_warps(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, true, false);
    assert_true(use(&b, 0, 0, 200)); /* shares nothing */
    assert_true(use(&b, 1, 0, PRIVATE - 1));
    assert_int_equal(b.stats.share_locks, 0);
    assert_int_equal(got(&b), 0);
    assert_true(use(&b, 1, 0, PRIVATE)); /* takes the lock */
    assert_true(b.changed);
    assert_int_equal(got(&b), bit_of(1, 0)); /* and has the shared registers */
    assert_true(use(&b, 1, 0, PRIVATE));     /* has it */
    assert_int_equal(b.stats.share_locks, 1);
    assert_false(use(&b, 4, 0, PRIVATE)); /* the partner's warp 0 waits ... */
    assert_true(use(&b, 4, 0, PRIVATE - 1));
    assert_true(use(&b, 2, 0, PRIVATE)); /* ... other pairs do not */
    assert_int_equal(got(&b), bit_of(2, 0));
    assert_true(warp_end(&b, 1, 0));
    assert_true(use(&b, 4, 0, PRIVATE));
    assert_int_equal(got(&b), bit_of(4, 0));
    assert_int_equal(b.stats.share_handovers, 1);
    teardown(&b);
}

static void
barrier_rule(void **st)
{
    (void)st;
    for (int rule = 0; rule < 2; rule++) {
        struct bench b;
        setup(&b, rule, false);
        assert_true(use(&b, 1, 1, PRIVATE));
        assert_int_equal(use(&b, 4, 0, PRIVATE), !rule); /* 001 section 2.2.3 */
        assert_true(!rule || use(&b, 1, 0, PRIVATE));
        assert_true(warp_end(&b, 1, 1));
        if (rule) { /* (b): those that had one have ended */
            assert_false(use(&b, 4, 1, PRIVATE));
            assert_true(warp_end(&b, 1, 0));
            assert_true(use(&b, 4, 1, PRIVATE));
        }
        teardown(&b);
    }
}

/* 001 sections 2.3.3 and 2.5.1.6: a warp goes on as soon as the one it is paired with has
 * ended; the block owns when the partner block has. */
static void
rule_of_warps(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, true, false);
    b.m->residency.barrier_rule = BARRIER_RULE_WARP;
    struct pairs_plan plan = {
        .blocks = BLOCKS, .pairs = PAIRS, .private_units = PRIVATE, .warps = WARPS};
    b.p->init(b.state, &b.v, b.m, &plan);
    assert_true(use(&b, 1, 1, PRIVATE));  /* slot 1 owns */
    assert_false(use(&b, 4, 0, PRIVATE)); /* free, but its partner lives */
    assert_false(use(&b, 4, 1, PRIVATE));
    assert_true(warp_end(&b, 1, 1));
    assert_true(use(&b, 4, 1, PRIVATE));
    assert_int_equal(b.cls[1], WARP_OWNER);
    assert_int_equal(b.cls[4], WARP_NON_OWNER);
    assert_true(
        use(&b, 1, 0, PRIVATE)); /* the owner never waits, though 4 holds a lock */
    assert_false(use(&b, 4, 0, PRIVATE));
    end(&b, 1);
    assert_int_equal(b.cls[4], WARP_OWNER);
    launch(&b, 1);
    assert_false(use(&b, 1, 0, PRIVATE)); /* its partner has not asked yet, but will */
    assert_true(use(&b, 4, 0, PRIVATE));
    /* A warp that ended without a lock opens it too. */
    assert_true(use(&b, 2, 0, PRIVATE));
    assert_false(use(&b, 3, 1, PRIVATE));
    assert_true(warp_end(&b, 2, 1));
    assert_true(use(&b, 3, 1, PRIVATE));
    teardown(&b);
}

static void
ownership(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, true, false);
    assert_int_equal(b.cls[0], WARP_UNSHARED);
    assert_int_equal(b.cls[1], WARP_NON_OWNER); /* not decided */
    assert_true(use(&b, 4, 0, PRIVATE));
    assert_int_equal(b.cls[4], WARP_OWNER);
    assert_int_equal(b.cls[1], WARP_NON_OWNER);
    end(&b, 4); /* its partner becomes the owner, the new block does not */
    assert_int_equal(b.cls[1], WARP_OWNER);
    launch(&b, 4);
    assert_int_equal(b.cls[4], WARP_NON_OWNER);
    assert_int_equal(b.cls[1], WARP_OWNER);
    teardown(&b);
}

/* Waiting time of additional warps, 001 section 2.5.1.6. */
static void
progress(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, true, false);
    b.v.now = 100;
    assert_true(use(&b, 1, 0, PRIVATE)); /* 101 */
    b.v.now = 200;
    assert_false(use(&b, 4, 0, PRIVATE)); /* waits from 201 */
    b.v.now = 299;
    assert_false(use(&b, 4, 0, PRIVATE));
    b.v.now = 501;
    end(&b, 1); /* slot 4 owns from here: warps 0 and 1 had 501 cycles each */
    assert_int_equal(b.stats.share_additional_cycles, 2 * 501);
    assert_int_equal(b.stats.share_additional_waits, 300);
    assert_int_equal(b.stats.share_additional_warps, 2); /* 201 of 501, all of 501 */
    assert_int_equal(b.stats.share_additional_permille, 1000 * 201 / 501 + 1000);
    b.v.now = 900;
    end(&b, 4);
    assert_int_equal(b.stats.share_additional_warps, 2);
    assert_int_equal(b.stats.share_additional_cycles, 2 * 501);
    assert_int_equal(b.stats.share_warp_cycles_before, 101 + 501 + 900 + 900);
    teardown(&b);
}

static void
dynamic_warps(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, true, true);
    for (int i = 0; i < 20; i++)
        assert_true(load(&b, 4, 0)); /* probability 1 */
    for (int i = 0; i < 10; i++) {   /* more stalls than SM 0: down by 0.1 a period */
        b.stats.stall_cycles += 5;
        b.first.stall_cycles += 4;
        period(&b);
    }
    assert_int_equal(b.stats.share_dynamic_permille,
                     1000 + 900 + 800 + 700 + 600 + 500 + 400 + 300 + 200 + 100);
    assert_true(load(&b, 1, 0)); /* that of the block that was first goes */
    assert_true(load(&b, 0, 0));
    /* Probability 0: what may leave the SM is held back, what stays within goes. */
    assert_false(load(&b, 4, 0));
    assert_false(load(&b, 4, 0));
    assert_false(load_from(&b, 4, 0, PTX_SPACE_LOCAL));
    assert_false(load_from(&b, 4, 0, PTX_SPACE_TEX));
    assert_false(load_from(&b, 4, 0, PTX_SPACE_NONE)); /* a generic address */
    assert_true(load_from(&b, 4, 0, PTX_SPACE_PARAM));
    assert_true(load_from(&b, 4, 0, PTX_SPACE_CONST));
    assert_true(load_from(&b, 4, 0, PTX_SPACE_SHARED));
    assert_true(use(&b, 4, 0, PRIVATE - 1)); /* other instructions go */
    assert_int_equal(b.stats.share_dynamic_refusals, 1);
    assert_true(b.v.waits);
    for (int i = 0; i < 12; i++) { /* fewer: up, to 1 at most */
        b.first.stall_cycles += 9;
        assert_int_equal(period(&b), i == 0);
    }
    assert_true(load(&b, 4, 0));
    end(&b, 1);
    b.v.sm = 0; /* in SM 0 never, unless it owns */
    assert_true(load(&b, 4, 0));
    launch(&b, 1);
    assert_false(load(&b, 1, 0));
    teardown(&b);
}

/* However long an SM stalls more than SM 0, or less, one period of the other is a step.
 */
static void
dynamic_probability_stays_in_bounds(void **st)
{
    struct bench b;
    (void)st;
    setup(&b, true, true);
    static const struct {
        unsigned own, first, ticks,
            permille; /* stalls a period; at the last tick's start */
    } t[] = {{5, 4, 14, 0},    {0, 1, 1, 0},    {0, 1, 1, 100},
             {0, 1, 15, 1000}, {1, 0, 1, 1000}, {1, 0, 1, 900}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        uint64_t before = 0;
        for (unsigned k = 0; k < t[i].ticks; k++) {
            before = b.stats.share_dynamic_permille;
            b.stats.stall_cycles += t[i].own;
            b.first.stall_cycles += t[i].first;
            period(&b);
        }
        assert_int_equal(b.stats.share_dynamic_permille - before, t[i].permille);
    }
    teardown(&b);
}

/* -- 001 Figure 2.8 -- */

/* Of block b the warp of the other parity is held up, in private registers; then eight
 * values are live at once, beyond the private ones; then a barrier. */
static const char figure[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .pred %q<3>;\n.reg .b32 %a<9>;\n"
    ".reg .b32 %v<8>;\n.reg .b64 %rd<2>;\n"
    "mov.u32 %a1, %tid.x;\nshr.u32 %a1, %a1, 5;\nmov.u32 %a2, %ctaid.x;\n"
    "xor.b32 %a1, %a1, %a2;\nsetp.eq.u32 %q1, %a1, 0;\nmov.u32 %a3, 0;\n"
    "@%q1 bra $go;\n$l:\nadd.u32 %a3, %a3, 1;\nsetp.lt.u32 %q2, %a3, 500;\n"
    "@%q2 bra $l;\n$go:\nld.param.u64 %rd1, [p];\n"
    "ld.volatile.global.u32 %v0, [%rd1];\nld.volatile.global.u32 %v1, [%rd1+4];\n"
    "ld.volatile.global.u32 %v2, [%rd1+8];\nld.volatile.global.u32 %v3, [%rd1+12];\n"
    "ld.volatile.global.u32 %v4, [%rd1+16];\nld.volatile.global.u32 %v5, [%rd1+20];\n"
    "ld.volatile.global.u32 %v6, [%rd1+24];\nld.volatile.global.u32 %v7, [%rd1+28];\n"
    "bar.sync 0;\n"
    "add.u32 %v0, %v0, %v1;\nadd.u32 %v0, %v0, %v2;\nadd.u32 %v0, %v0, %v3;\n"
    "add.u32 %v0, %v0, %v4;\nadd.u32 %v0, %v0, %v5;\nadd.u32 %v0, %v0, %v6;\n"
    "add.u32 %v0, %v0, %v7;\nadd.u32 %v0, %v0, %a3;\n"
    "atom.global.add.u32 %v1, [%rd1+32], %v0;\nret;\n}\n";

struct outcome {
    bool ok;
    char why[4000];
    uint64_t cycles, waits, sum, resident, pairs, refusals;
};

static struct outcome
figure_2_8(const char *policy, const char *const (*set)[2], bool no_skip)
{
    struct outcome o = {0};
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("001-table2.3-registers", d);
    struct allot_module *k = allot_module_parse("figure2.8", figure, strlen(figure), d);
    const char *const base[][2] = {{"sm.count", "1"},
                                   {"sm.registers", "1152"},
                                   {"residency.threshold", "0.5"},
                                   {"residency.barrier_rule", "block"},
                                   {"residency.policy", policy},
                                   {"residency.regs_per_thread", "12"},
                                   {"compiler.late_passes", "reorder-registers"}};
    for (size_t i = 0; i < sizeof base / sizeof *base; i++)
        if (!allot_machine_set(m, base[i][0], base[i][1], d))
            fail_msg("%s", allot_diag_text(d));
    for (; set && (*set)[0]; set++)
        assert_true(allot_machine_set(m, (*set)[0], (*set)[1], d));
    struct allot_options opt = {.no_skip = no_skip, .max_cycles = 1000000};
    struct allot_device *dev = allot_device_new(m, &opt, d);
    if (!k || !dev)
        fail_msg("%s", allot_diag_text(d));
    uint64_t p = allot_alloc(dev, 64, d);
    const uint32_t ones[16] = {1, 1, 1, 1, 1, 1, 1, 1};
    uint32_t sum = 0;
    allot_write(dev, p, ones, sizeof ones, d);
    const void *args[] = {&p};
    struct allot_launch l = {.module = k,
                             .kernel = "k",
                             .grid = {6, 1, 1},
                             .block = {64, 1, 1},
                             .args = args,
                             .nargs = 1};
    const struct allot_result *r = allot_launch(dev, &l, d);
    o.ok = r != NULL;
    snprintf(o.why, sizeof o.why, "%s", allot_diag_text(d));
    if (r) {
        allot_result_get(r, "cycles", &o.cycles, NULL);
        allot_result_get(r, "share_wait_cycles", &o.waits, NULL);
        allot_result_get(r, "share_refusals", &o.refusals, NULL);
        allot_result_get(r, "resident_blocks", &o.resident, NULL);
        allot_result_get(r, "shared_pairs", &o.pairs, NULL);
        allot_read(dev, p + 32, &sum, 4, d);
        o.sum = sum;
    }
    allot_device_free(dev);
    allot_module_free(k);
    allot_machine_free(m);
    allot_diag_free(d);
    return o;
}

/* 6 blocks of 64 threads: 8 each, and 500 more of every thread that was held up. */
enum { SUM = 6 * 64 * 8 + 500 * 32 * 10 };

static void
deadlock_without_the_rule(void **st)
{
    (void)st;
    const char *const off[][2] = {{"residency.barrier_rule", "none"}, {NULL, NULL}};
    struct outcome with = figure_2_8("register-sharing", NULL, false);
    if (!with.ok)
        fail_msg("%s", with.why);
    assert_int_equal(with.resident, 2);
    assert_int_equal(with.pairs, 1);
    assert_int_equal(with.sum, SUM);
    assert_true(with.refusals > 0 && with.waits > 0);
    struct outcome without = figure_2_8("register-sharing", off, false);
    assert_false(without.ok);
    assert_non_null(strstr(without.why, "is stuck"));
    assert_non_null(strstr(without.why, "waits at barrier 0"));
    assert_non_null(strstr(without.why, "held by the lock of the shared resource"));
    assert_non_null(strstr(without.why, "shares registers from 6 on"));
    struct outcome stepped = figure_2_8("register-sharing", off, true);
    assert_true(!stepped.ok && strstr(stepped.why, "is stuck"));
    assert_true(figure_2_8("baseline", off, false).ok);
    const char *const warp[][2] = {{"residency.barrier_rule", "warp"}, {NULL, NULL}};
    for (int no_skip = 0; no_skip < 2; no_skip++) {
        struct outcome o = figure_2_8("register-sharing", warp, no_skip);
        if (!o.ok)
            fail_msg("%s", o.why);
        assert_int_equal(o.sum, SUM);
        assert_true(o.refusals > 0 && o.waits > 0);
    }
}

static void
skipping_changes_nothing(void **st)
{
    (void)st;
    const char *const dyn[][2] = {{"residency.dynamic_warps", "true"},
                                  {"residency.dynamic_period", "50"},
                                  {"residency.dynamic_start", "0.4"},
                                  {"sm.count", "2"},
                                  {NULL, NULL}};
    for (int k = 0; k < 2; k++) {
        struct outcome a = figure_2_8("register-sharing", k ? dyn : NULL, false),
                       b = figure_2_8("register-sharing", k ? dyn : NULL, true);
        if (!a.ok || !b.ok)
            fail_msg("%s%s", a.why, b.why);
        assert_int_equal(a.sum, SUM);
        assert_int_equal(a.cycles, b.cycles);
        assert_int_equal(a.waits, b.waits);
        assert_int_equal(a.refusals, b.refusals);
    }
}

/* Instructions that the policy must be asked about: those with a register above the private ones,
 * and with dynamic warps those that may leave the SM for their data. A prefetch has no data. */
static void
what_it_is_asked_about(void **st)
{
    (void)st;
    const struct mechanism *m = &residency_find("register-sharing")->mechanism;
    struct pairs_plan plan = {.blocks = BLOCKS, .pairs = PAIRS, .private_units = PRIVATE};
    static const struct exec_operand low = {.place = PRIVATE},
                                     high = {.place = PRIVATE + 1};
    static const struct {
        struct exec_static st;
        bool always, dynamic;
    } rows[] = {
        {{.operand = &low, .noperands = 1}, false, false},
        {{.operand = &high, .noperands = 1}, true, true},
        {{.unit = PTX_UNIT_MEM, .space = PTX_SPACE_GLOBAL, .is_load = true}, false, true},
        {{.unit = PTX_UNIT_MEM, .space = PTX_SPACE_LOCAL, .is_store = true}, false, true},
        {{.unit = PTX_UNIT_MEM, .space = PTX_SPACE_NONE, .is_atomic = true}, false, true},
        {{.unit = PTX_UNIT_MEM, .space = PTX_SPACE_TEX, .is_load = true}, false, true},
        {{.unit = PTX_UNIT_MEM, .space = PTX_SPACE_SHARED, .is_load = true},
         false,
         false},
        {{.unit = PTX_UNIT_MEM, .space = PTX_SPACE_CONST, .is_load = true}, false, false},
        {{.unit = PTX_UNIT_MEM, .space = PTX_SPACE_PARAM, .is_load = true}, false, false},
        {{.unit = PTX_UNIT_MEM, .space = PTX_SPACE_GLOBAL}, false, false},
        {{.unit = PTX_UNIT_ALU, .space = PTX_SPACE_GLOBAL, .is_load = true},
         false,
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plan.dynamic = false;
        assert_int_equal(m->concerns(&rows[i].st, &plan), rows[i].always);
        plan.dynamic = true;
        assert_int_equal(m->concerns(&rows[i].st, &plan), rows[i].dynamic);
    }
    plan.pairs = 0; /* nothing is shared */
    assert_false(m->concerns(&rows[1].st, &plan));
}

static void
wants_physical_registers(void **st)
{
    (void)st;
    const char *const virtual[][2] = {
        {"compiler.registers", "virtual"}, {"compiler.late_passes", ""}, {NULL, NULL}};
    struct outcome o = figure_2_8("register-sharing", virtual, false);
    assert_false(o.ok);
    assert_non_null(strstr(o.why, "needs physical registers"));
}

/* -- both resources -- */

enum { PAD = 32 };

static bool
both(struct bench *b, unsigned slot, unsigned warp, unsigned reg, int64_t addr)
{
    struct exec_access a = {
        .space = PTX_SPACE_SHARED, .bytes = 4, .load = true, .mask = 1};
    const struct exec_operand o = {.place = (uint16_t)(reg + 1)};
    struct exec_static st = {.operand = &o,
                             .noperands = 1,
                             .space = PTX_SPACE_SHARED,
                             .is_load = addr >= 0,
                             .unit = addr >= 0 ? PTX_UNIT_MEM : PTX_UNIT_ALU};
    a.addr[0] = (uint64_t)addr;
    b->v.now++;
    return ask(b, slot, warp, &st, addr >= 0 ? &a : NULL);
}

static void
both_locks_or_none(void **st)
{
    struct bench b = {0};
    (void)st;
    b.m = machine_new();
    b.p = &residency_find("register-scratchpad-sharing")->mechanism;
    struct pairs_plan plan = {.blocks = BLOCKS,
                              .pairs = PAIRS,
                              .private_units = PRIVATE,
                              .warps = WARPS,
                              .private_bytes = PAD,
                              .shares_scratchpad = true};
    b.state = fenced_new(b.p->state_size(&plan));
    view(&b, BLOCKS, 0);
    b.p->init(b.state, &b.v, b.m, &plan);
    for (unsigned i = 0; i < BLOCKS; i++)
        launch(&b, i);
    assert_int_equal(b.stats.share_additional_blocks, PAIRS);
    /* Slot 1 has the scratchpad: slot 4 gets neither that nor registers. */
    assert_true(both(&b, 1, 0, 0, PAD));
    assert_false(both(&b, 4, 0, 0, PAD));
    assert_false(both(&b, 4, 0, PRIVATE, -1));
    assert_true(both(&b, 4, 0, PRIVATE - 1, PAD - 4));
    assert_true(both(&b, 1, 1, PRIVATE, -1)); /* the holder gets all it wants */
    assert_true(both(&b, 1, 0, PRIVATE, PAD));
    assert_int_equal(b.cls[1], WARP_OWNER);
    assert_int_equal(b.cls[4], WARP_NON_OWNER);
    end(&b, 1);
    /* Slot 4 asked for the scratchpad and has it now; a new block in slot 1 waits. */
    launch(&b, 1);
    assert_true(both(&b, 4, 0, PRIVATE, -1));
    assert_false(both(&b, 1, 0, PRIVATE, -1));
    assert_false(both(&b, 1, 0, 0, PAD));
    /* Slot 2's warp has registers: the scratchpad is not for slot 3 either. */
    assert_true(both(&b, 2, 1, PRIVATE, -1));
    assert_false(both(&b, 3, 0, 0, PAD));
    assert_true(warp_end(&b, 2, 1));
    assert_true(both(&b, 3, 0, 0, PAD));
    assert_int_equal(b.cls[0], WARP_UNSHARED);
    teardown(&b);
}

/* A kernel limited by both: more blocks only if both are shared. */
static void
both_plan(void **st)
{
    (void)st;
    struct diag_sink diag = {0};
    struct machine *m = machine_load("001-table2.3-scratchpad", &diag);
    struct occ_kernel k = {.threads = 256, .registers = 36, .scratchpad = 4600};
    struct residency_plan p;
    const struct {
        const char *policy;
        unsigned blocks, pairs;
    } cases[] = {{"baseline", 3, 0},
                 {"register-sharing", 3, 0},
                 {"scratchpad-sharing", 3, 0},
                 {"register-scratchpad-sharing", 6, 3}};
    for (int i = 0; i < 4; i++) {
        assert_true(residency_find(cases[i].policy)->plan(m, &k, &p, &diag));
        assert_int_equal(p.blocks, cases[i].blocks);
        assert_int_equal(i ? pairs_count(&p) : 0, cases[i].pairs);
    }
    assert_int_equal(pairs_own(&p)->private_units, 3);
    assert_int_equal(pairs_own(&p)->private_bytes, 460);
    assert_true(p.shares_scratchpad);
    /* Registers to spare: only scratchpad is shared. */
    k.registers = 16;
    assert_true(residency_find("register-scratchpad-sharing")->plan(m, &k, &p, &diag));
    assert_int_equal(p.blocks, 6);
    assert_int_equal(pairs_own(&p)->private_units, UINT32_MAX);
    assert_true(p.shares_scratchpad);
    /* Scratchpad to spare: only registers are. */
    k = (struct occ_kernel){.threads = 256, .registers = 36, .scratchpad = 1000};
    assert_true(residency_find("register-scratchpad-sharing")->plan(m, &k, &p, &diag));
    assert_int_equal(p.blocks, 6);
    assert_int_equal(pairs_own(&p)->private_bytes, UINT32_MAX);
    assert_false(p.shares_scratchpad);
    machine_free(m);
    diag_free(&diag);
}

/* -- warp-level divergence -- */

static void
partial_block(void **st)
{
    struct bench b = {0};
    (void)st;
    b.p = &residency_find("warp-level-divergence")->mechanism;
    /* Two blocks of two warps have registers, and one warp of a third. */
    struct partial_plan plan = {.blocks = 3, .baseline = 2, .warps = WARPS, .tokens = 5};
    b.m = machine_new();
    b.state = fenced_new(b.p->state_size(&plan));
    view(&b, 4, 0);
    b.p->init(b.state, &b.v, b.m, &plan);
    for (unsigned i = 0; i < 3; i++)
        launch(&b, i);
    assert_true(use(&b, 0, 1, 0) && use(&b, 1, 1, 0) && use(&b, 2, 0, 0));
    assert_false(use(&b, 2, 1, 0));
    assert_int_equal(b.stats.share_additional_blocks, 1); /* the third */
    assert_false(b.asks[0]);
    assert_true(b.asks[2]);
    b.v.now = 50;
    assert_true(warp_end(&b, 0, 0)); /* its registers go to the third block */
    assert_true(use(&b, 2, 1, 0));
    assert_int_equal(b.stats.partial_wait_cycles, 50);
    assert_false(warp_end(&b, 0, 1)); /* nobody waits */
    b.cta[0] = NULL;
    b.p->block_ended(b.state, &b.v, &(struct sm_event){.slot = 0});
    launch(&b, 0); /* now this one is the partial block */
    assert_true(use(&b, 0, 0, 0));
    assert_false(use(&b, 0, 1, 0));
    assert_true(warp_end(&b, 2, 0));
    assert_true(use(&b, 0, 1, 0));
    teardown(&b);
}

/* Two blocks wait: a warp that ends gives its registers to the older of them. */
static void
registers_go_to_the_oldest(void **st)
{
    struct bench b = {0};
    (void)st;
    b.p = &residency_find("warp-level-divergence")->mechanism;
    struct partial_plan plan = {.blocks = 3, .baseline = 1, .warps = WARPS, .tokens = 3};
    b.m = machine_new();
    b.state = fenced_new(b.p->state_size(&plan));
    view(&b, 4, 0);
    b.p->init(b.state, &b.v, b.m, &plan);
    launch(&b, 2);
    launch(&b, 0); /* older than that of slot 1, though not than that of slot 2 */
    launch(&b, 1);
    assert_int_equal(got(&b), bit_of(2, 0) | bit_of(2, 1) | bit_of(0, 0));
    assert_true(use(&b, 0, 0, 0));
    assert_false(use(&b, 0, 1, 0) || use(&b, 1, 0, 0));
    assert_true(warp_end(&b, 2, 0));
    assert_int_equal(got(&b), bit_of(0, 1));
    assert_true(use(&b, 0, 1, 0));
    assert_false(use(&b, 1, 0, 0));
    assert_true(warp_end(&b, 2, 1));
    assert_true(use(&b, 1, 0, 0));
    teardown(&b);
}

static void
other_policies_run(void **st)
{
    (void)st;
    const char *const policies[] = {"warp-level-divergence",
                                    "register-scratchpad-sharing"};
    for (int i = 0; i < 2; i++) {
        struct outcome a = figure_2_8(policies[i], NULL, false),
                       b = figure_2_8(policies[i], NULL, true);
        if (!a.ok || !b.ok)
            fail_msg("%s%s", a.why, b.why);
        assert_int_equal(a.resident, 2);
        assert_int_equal(a.sum, SUM);
        assert_int_equal(a.cycles, b.cycles);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_is_per_pair_of_warps),
        cmocka_unit_test(barrier_rule),
        cmocka_unit_test(rule_of_warps),
        cmocka_unit_test(ownership),
        cmocka_unit_test(progress),
        cmocka_unit_test(dynamic_warps),
        cmocka_unit_test(dynamic_probability_stays_in_bounds),
        cmocka_unit_test(deadlock_without_the_rule),
        cmocka_unit_test(skipping_changes_nothing),
        cmocka_unit_test(what_it_is_asked_about),
        cmocka_unit_test(wants_physical_registers),
        cmocka_unit_test(both_locks_or_none),
        cmocka_unit_test(both_plan),
        cmocka_unit_test(partial_block),
        cmocka_unit_test(registers_go_to_the_oldest),
        cmocka_unit_test(other_policies_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
