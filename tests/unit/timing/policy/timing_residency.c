/* Scratchpad sharing as a pure state machine: pairs, lock, ownership, hand-over (001
 * sections 2.1-2.3). The machine is that of 001 Table 2.3 where plans are computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/kit/fenced.h"

#include "timing/policy/policy.h"
#include "timing/policy/residency/pairs.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 5, BASELINE = 3, PAIRS = 2, PRIVATE = 100 };
/* Slots: 0 shares nothing, 1 and 4 are a pair, 2 and 3 are one. */

struct bench {
    const struct mechanism *p;
    void *state;
    struct stat_sm stats;
    struct exec_cta *cta[BLOCKS];
    struct exec_cta some;
    uint8_t cls[BLOCKS], asks[BLOCKS];
    struct sm_view v;
    unsigned warp;
    bool changed; /* by the last question */
};

static void
setup_warps(struct bench *b, unsigned warps)
{
    memset(b, 0, sizeof *b);
    b->p = &residency_find("scratchpad-sharing")->mechanism;
    b->some.nthreads = 32 * warps;
    struct pairs_plan plan = {.blocks = BLOCKS,
                              .pairs = PAIRS,
                              .private_units = PRIVATE,
                              .warps = warps,
                              .progress = true};
    b->state = fenced_new(b->p->state_size(&plan));
    b->v = (struct sm_view){.nslots = BLOCKS,
                            .cta = b->cta,
                            .stats = &b->stats,
                            .cls = b->cls,
                            .asks = b->asks};
    b->p->init(b->state, &b->v, NULL, &plan);
    for (unsigned i = 0; i < BLOCKS; i++) {
        b->cta[i] = &b->some;
        b->p->block_started(b->state, &b->v, &(struct sm_event){.slot = i});
    }
}

static void
setup(struct bench *b)
{
    setup_warps(b, 1);
}

static bool
ask(struct bench *b, unsigned slot, const struct exec_static *st,
    const struct exec_access *a)
{
    struct sm_event e = {.slot = slot, .warp = b->warp, .st = st, .access = a};
    b->v.changed = false;
    bool ok = b->p->may_issue(b->state, &b->v, &e);
    b->changed = b->v.changed;
    return ok;
}

static bool
touch(struct bench *b, unsigned slot, uint64_t addr, unsigned bytes)
{
    struct exec_access a = {.space = PTX_SPACE_SHARED,
                            .bytes = (uint8_t)bytes,
                            .load = true,
                            .mask = 1u << 7};
    struct exec_static st = {.space = PTX_SPACE_SHARED, .is_load = true};
    a.addr[7] = addr;
    return ask(b, slot, &st, &a);
}

static void
end(struct bench *b, unsigned slot)
{
    b->cta[slot] = NULL;
    b->p->block_ended(b->state, &b->v, &(struct sm_event){.slot = slot});
}

static void
launch(struct bench *b, unsigned slot)
{
    b->cta[slot] = &b->some;
    b->p->block_started(b->state, &b->v, &(struct sm_event){.slot = slot});
}

static int
cls(struct bench *b, unsigned slot)
{
    return b->cls[slot];
}

/* All threads of the slot's block execute relssp. */
static void
release(struct bench *b, unsigned slot)
{
    const struct exec_static st = {.op = PTX_OP_RELSSP};
    for (unsigned w = 0; w * 32 < b->some.nthreads; w++)
        b->p->operation(
            b->state, &b->v,
            &(struct sm_event){.slot = slot, .warp = w, .lanes = ~0u, .st = &st});
}

static void
private_part_needs_no_lock(void **st)
{
    struct bench b;
    setup(&b);
    assert_true(touch(&b, 1, 0, 4));
    assert_true(touch(&b, 4, 96, 4)); /* the last private word */
    assert_int_equal(b.stats.share_locks, 0);
    assert_true(touch(&b, 4, 97, 4)); /* reaches into the shared part */
    assert_int_equal(b.stats.share_locks, 1);
    assert_false(touch(&b, 1, 100, 1));
    assert_true(touch(&b, 1, 99, 1));
    fenced_free(b.state);
}

static void
unshared_slots_never_wait(void **st)
{
    struct bench b;
    setup(&b);
    assert_true(touch(&b, 1, 500, 4));
    assert_true(touch(&b, 0, 500, 4));
    assert_int_equal(cls(&b, 0), WARP_UNSHARED);
    assert_false(b.asks[0]);
    fenced_free(b.state);
}

/* The first additional slot shares with the last of the baseline, the next with the one before
 * (001 figure 2.3; section 2.5.1.6). */
static void
pairs_are_separate(void **st)
{
    struct bench b;
    setup(&b);
    assert_true(touch(&b, 1, 500, 4));
    assert_true(touch(&b, 3, 500, 4)); /* the other pair's lock */
    assert_false(touch(&b, 4, 500, 4));
    assert_false(touch(&b, 2, 500, 4));
    fenced_free(b.state);
}

static void
first_come_first_served_and_held_to_the_end(void **st)
{
    struct bench b;
    setup(&b);
    assert_int_equal(cls(&b, 1), WARP_NON_OWNER); /* nobody owns yet */
    assert_int_equal(cls(&b, 4), WARP_NON_OWNER);
    assert_true(touch(&b, 4, 500, 4)); /* the additional block may be first */
    assert_true(b.changed);
    assert_int_equal(cls(&b, 4), WARP_OWNER);
    assert_int_equal(cls(&b, 1), WARP_NON_OWNER);
    for (int i = 0; i < 5; i++)
        assert_false(touch(&b, 1, 500, 4));
    assert_true(touch(&b, 4, 600, 4));
    assert_int_equal(b.stats.share_locks, 1);
    assert_int_equal(b.stats.share_refusals, 5);
    fenced_free(b.state);
}

static void
waiting_partner_gets_lock_and_ownership(void **st)
{
    struct bench b;
    setup(&b);
    touch(&b, 1, 500, 4);
    touch(&b, 4, 500, 4);
    end(&b, 1);
    assert_int_equal(cls(&b, 4), WARP_OWNER);
    assert_int_equal(b.stats.share_handovers, 1);
    launch(&b, 1); /* takes over the slot's sharing status */
    assert_int_equal(cls(&b, 1), WARP_NON_OWNER);
    assert_false(touch(&b, 1, 500, 4)); /* cannot overtake the one that waited */
    assert_true(touch(&b, 4, 500, 4));
    fenced_free(b.state);
}

static void
partner_that_did_not_wait_becomes_owner_without_lock(void **st)
{
    struct bench b;
    setup(&b);
    touch(&b, 1, 500, 4);
    end(&b, 1);
    launch(&b, 1);
    assert_int_equal(cls(&b, 4), WARP_OWNER);
    assert_int_equal(cls(&b, 1), WARP_NON_OWNER);
    assert_true(b.asks[4]);            /* must still take the lock */
    assert_true(touch(&b, 1, 500, 4)); /* first come */
    assert_int_equal(cls(&b, 1), WARP_OWNER);
    assert_int_equal(cls(&b, 4), WARP_NON_OWNER);
    fenced_free(b.state);
}

static void
end_of_the_waiter_leaves_the_lock_alone(void **st)
{
    struct bench b;
    setup(&b);
    touch(&b, 1, 500, 4);
    touch(&b, 4, 500, 4);
    end(&b, 4);
    launch(&b, 4);
    assert_int_equal(cls(&b, 1), WARP_OWNER);
    end(&b, 1); /* the new block of slot 4 has not asked: no hand-over */
    assert_int_equal(b.stats.share_handovers, 0);
    launch(&b, 1);
    assert_true(touch(&b, 1, 500, 4));
    fenced_free(b.state);
}

/* Random histories: some block of each pair can always go on, two never hold the lock. */
static void
no_deadlock_in_random_histories(void **st)
{
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        struct bench b;
        bool holds[BLOCKS] = {0};
        setup(&b);
        for (int i = 0; i < 500; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            unsigned slot = (unsigned)(seed >> 33) % BLOCKS,
                     what = (unsigned)(seed >> 60);
            unsigned other = 5 - slot;
            if (what < 12) {
                bool ok = touch(&b, slot, 500, 4);
                if (slot != 0) {
                    if (ok)
                        holds[slot] = true;
                    assert_false(holds[slot] && holds[other]);
                    assert_true(ok || b.cta[other]); /* waits only for one that lives */
                }
            } else {
                end(&b, slot);
                holds[slot] = false;
                if (slot != 0 && !b.asks[other])
                    holds[other] = true; /* handed over */
                launch(&b, slot);
            }
        }
        fenced_free(b.state);
    }
}

static void
generic_access_counts_lanes_in_scratchpad(void **st)
{
    struct bench b;
    setup(&b);
    touch(&b, 1, 500, 4);
    struct exec_static is = {.space = PTX_SPACE_NONE, .is_store = true};
    assert_true(b.p->concerns(&is, NULL));
    struct exec_access a = {
        .space = PTX_SPACE_NONE, .bytes = 4, .store = true, .mask = 3};
    a.lane_space[0] = PTX_SPACE_GLOBAL;
    a.addr[0] = 0x10000000;
    a.lane_space[1] = PTX_SPACE_SHARED;
    a.addr[1] = 8;
    assert_true(ask(&b, 4, &is, &a));
    a.addr[1] = 400;
    assert_false(ask(&b, 4, &is, &a));
    struct exec_static global = {.space = PTX_SPACE_GLOBAL, .is_load = true};
    assert_false(b.p->concerns(&global, NULL));
    fenced_free(b.state);
}

/* 001 figure 2.3: 35K units, blocks of 10K, t = 0.5: TB0 and TB1 share nothing, TB3
 * shares with TB2. */
static void
example_of_the_figure(void **st)
{
    struct machine *m = machine_new();
    struct diag_sink d = {0};
    m->sm.scratchpad = 35 * 1024;
    m->sm.max_blocks = 16;
    m->residency.threshold = 0.5;
    struct occ_kernel k = {32, 4, 10 * 1024, 0};
    struct residency_plan p;
    const struct residency_policy *r = residency_find("scratchpad-sharing");
    assert_true(r->plan(m, &k, &p, &d));
    assert_int_equal(p.blocks, 4);
    void *state = fenced_new(r->mechanism.state_size(p.own));
    uint8_t cls[4], asks[4];
    struct sm_view v = {.nslots = 4, .cls = cls, .asks = asks};
    r->mechanism.init(state, &v, m, p.own);
    assert_int_equal(cls[0], WARP_UNSHARED);
    assert_int_equal(cls[1], WARP_UNSHARED);
    assert_int_equal(cls[2], WARP_NON_OWNER);
    assert_int_equal(cls[3], WARP_NON_OWNER);
    fenced_free(state);
    machine_free(m);
    diag_free(&d);
}

/* 001 section 2.2.4: R units, blocks of Rtb, B = floor(R/Rtb), S = floor((R/Rtb - B)/t).
 */
static void
plan_follows_the_equations(void **st)
{
    struct machine *m = machine_new();
    struct diag_sink d = {0};
    m->sm.scratchpad = 36 * 1024;
    m->sm.max_blocks = 16;
    m->residency.threshold = 0.5;
    struct occ_kernel k = {32, 4, 10 * 1024, 0};
    struct residency_plan p;
    assert_true(residency_find("scratchpad-sharing")->plan(m, &k, &p, &d));
    assert_int_equal(p.baseline, 3);
    assert_int_equal(pairs_count(&p), 1); /* (3.6 - 3) / 0.5 */
    assert_int_equal(p.blocks, 4);
    assert_int_equal(pairs_own(&p)->private_units, 5 * 1024);
    m->residency.threshold = 0.1;
    assert_true(residency_find("scratchpad-sharing")->plan(m, &k, &p, &d));
    assert_int_equal(pairs_count(&p), 3); /* min(3, 6) */
    assert_int_equal(p.blocks, 6);
    assert_true(residency_find("baseline")->plan(m, &k, &p, &d));
    assert_int_equal(p.blocks, 3);
    assert_null(residency_find("baseline")->pairs);
    machine_free(m);
    diag_free(&d);
}

/* relssp by all threads gives the lock to the partner who waits, at once; the block is no
 * owner any more and must not come back (000 section 6.2). */
static void
release_before_the_end(void **st)
{
    (void)st;
    struct bench b;
    setup(&b);
    b.v.now = 10;
    assert_true(touch(&b, 1, PRIVATE, 4));
    b.v.now = 25;
    assert_false(touch(&b, 4, PRIVATE, 4));
    b.v.now = 40;
    release(&b, 1);
    assert_int_equal(b.stats.share_releases, 1);
    assert_int_equal(b.stats.share_handovers, 1);
    assert_int_equal(cls(&b, 4), WARP_OWNER);
    assert_int_equal(cls(&b, 1), WARP_NON_OWNER);
    assert_true(touch(&b, 4, PRIVATE, 4));
    assert_true(touch(&b, 1, 0, 4)); /* its private part is its own for ever */
    assert_null(b.v.fault);
    assert_false(touch(&b, 1, PRIVATE, 4));
    assert_non_null(b.v.fault);
    /* Time before, in and after the shared part adds up to the blocks' lives. */
    b.v.now = 70;
    end(&b, 1);
    b.v.now = 100;
    end(&b, 4);
    assert_int_equal(b.stats.share_cycles_before, 10 + 40);
    assert_int_equal(b.stats.share_cycles_in, (40 - 10) + (100 - 40));
    assert_int_equal(b.stats.share_cycles_after, 70 - 40);
    fenced_free(b.state);
}

static void
warp_end(struct bench *b, unsigned slot, unsigned warp)
{
    b->p->warp_ended(b->state, &b->v, &(struct sm_event){.slot = slot, .warp = warp});
}

/* Progress of additional warps (001 section 2.5.1.6): the part of their time until their
 * block owns, or they end, in which they did not wait. */
static void
progress_of_additional_warps(void **st)
{
    (void)st;
    struct bench b;
    setup_warps(&b, 2);
    const struct stat_sm *s = &b.stats;
    b.v.now = 10;
    assert_true(touch(&b, 1, PRIVATE, 4)); /* slot 1 was first: not additional */
    assert_int_equal(s->share_additional_warps, 0);
    b.v.now = 40;
    assert_false(touch(&b, 4, PRIVATE, 4)); /* warp 0 of slot 4 waits from 40 */
    b.v.now = 60;
    warp_end(&b, 4, 1); /* warp 1 never waited */
    assert_int_equal(s->share_additional_warps, 1);
    assert_int_equal(s->share_additional_permille, 1000);
    b.v.now = 70;
    b.warp = 0;
    assert_false(touch(&b, 4, PRIVATE, 4)); /* still the same wait */
    b.v.now = 100;
    warp_end(&b, 1, 0);
    warp_end(&b, 1, 1);
    end(&b, 1); /* slot 4 owns: warp 0 went on for 40 of 100 cycles */
    assert_int_equal(s->share_additional_warps, 2);
    assert_int_equal(s->share_additional_cycles, 60 + 100);
    assert_int_equal(s->share_additional_waits, 60);
    assert_int_equal(s->share_additional_permille, 1000 + 400);
    launch(&b, 1); /* additional now: it starts beside slot 4 */
    b.v.now = 150;
    warp_end(&b, 4, 0); /* an owner's */
    assert_int_equal(s->share_additional_warps, 2);
    end(&b, 4); /* slot 1 owns after 50 cycles, none waited for */
    assert_int_equal(s->share_additional_warps, 4);
    assert_int_equal(s->share_additional_cycles, 160 + 2 * 50);
    assert_int_equal(s->share_additional_permille, 1400 + 2 * 1000);
    /* An additional block that takes the lock first is the owner from then on. */
    b.v.now = 180;
    assert_true(touch(&b, 3, PRIVATE, 4));
    assert_int_equal(s->share_additional_warps, 6);
    assert_int_equal(s->share_additional_cycles, 260 + 2 * 180);
    fenced_free(b.state);
}

/* A block that never had the lock, or shares nothing, releases without effect. */
static void
release_of_nothing(void **st)
{
    (void)st;
    struct bench b;
    setup(&b);
    release(&b, 0);
    release(&b, 1);
    assert_int_equal(b.stats.share_releases, 0);
    assert_true(touch(&b, 4, PRIVATE, 4));
    release(&b, 4);
    assert_int_equal(b.stats.share_releases, 1);
    assert_int_equal(b.stats.share_handovers, 0);
    end(&b, 4);
    launch(&b, 4);
    assert_true(touch(&b, 4, PRIVATE, 4)); /* a new block starts afresh */
    fenced_free(b.state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_part_needs_no_lock),
        cmocka_unit_test(unshared_slots_never_wait),
        cmocka_unit_test(pairs_are_separate),
        cmocka_unit_test(first_come_first_served_and_held_to_the_end),
        cmocka_unit_test(waiting_partner_gets_lock_and_ownership),
        cmocka_unit_test(partner_that_did_not_wait_becomes_owner_without_lock),
        cmocka_unit_test(end_of_the_waiter_leaves_the_lock_alone),
        cmocka_unit_test(no_deadlock_in_random_histories),
        cmocka_unit_test(generic_access_counts_lanes_in_scratchpad),
        cmocka_unit_test(example_of_the_figure),
        cmocka_unit_test(plan_follows_the_equations),
        cmocka_unit_test(release_before_the_end),
        cmocka_unit_test(progress_of_additional_warps),
        cmocka_unit_test(release_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
