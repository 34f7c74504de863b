/* Order in which each scheduling policy picks warps, as pure functions of what it is
 * shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "timing/policy/policy.h"

#include <stdlib.h>
#include <string.h>

struct bench {
    const struct sched_policy *p;
    void *state;
    struct machine *m;
    struct sched_view v;
    uint32_t id[64];
    uint8_t cls[64];
};

static void
setup(struct bench *b, const char *name, unsigned n)
{
    memset(b, 0, sizeof *b);
    b->p = sched_find(name);
    assert_non_null(b->p);
    b->m = machine_new();
    b->m->sm.two_level_active = 2;
    b->state = calloc(1, b->p->state_size + 1);
    for (unsigned i = 0; i < 64; i++) {
        b->id[i] = i;
        b->cls[i] = WARP_UNSHARED;
    }
    b->v =
        (struct sched_view){.n = n, .dynamic_id = b->id, .cls = b->cls, .machine = b->m};
    if (b->p->init)
        b->p->init(b->state, n, b->m);
    for (unsigned i = 0; i < n; i++)
        if (b->p->warp)
            b->p->warp(b->state, &b->v, (int)i, true);
}

static void
teardown(struct bench *b)
{
    free(b->state);
    machine_free(b->m);
}

static int
pick(struct bench *b, uint64_t ready)
{
    int first = b->p->pick(b->state, &b->v, ready);
    assert_int_equal(first,
                     b->p->pick(b->state, &b->v, ready)); /* a pick changes nothing */
    assert_true(ready >> first & 1);
    return first;
}

static int
issue(struct bench *b, uint64_t ready, bool slow)
{
    int i = pick(b, ready);
    if (b->p->issued)
        b->p->issued(b->state, &b->v, i, 1, slow);
    return i;
}

static void
lrr_goes_round(void **st)
{
    struct bench b;
    setup(&b, "lrr", 64);
    assert_int_equal(issue(&b, 0xf, false), 0);
    assert_int_equal(issue(&b, 0xf, false), 1);
    assert_int_equal(issue(&b, 0x9, false), 3); /* 2 is not ready: passed over */
    assert_int_equal(issue(&b, 0xf, false), 0);
    assert_int_equal(issue(&b, 1ull << 63 | 1, false), 63);
    assert_int_equal(issue(&b, 1ull << 63 | 1, false), 0);
    teardown(&b);
}

static void
lrr_keeps_its_place_when_nothing_issues(void **st)
{
    struct bench b;
    setup(&b, "lrr", 8);
    issue(&b, 0xff, false);
    assert_int_equal(pick(&b, 0xff), 1); /* refused, say */
    assert_int_equal(pick(&b, 0xfd), 2);
    assert_int_equal(issue(&b, 0xff, false), 1);
    teardown(&b);
}

static void
gto_is_greedy_then_oldest(void **st)
{
    struct bench b;
    setup(&b, "gto", 8);
    b.id[5] = 0;
    b.id[0] = 100;
    assert_int_equal(issue(&b, 0xff, false), 5); /* the oldest */
    assert_int_equal(issue(&b, 0xff, false), 5); /* greedy */
    assert_int_equal(issue(&b, 0x81, false), 7); /* not ready: the oldest of the others */
    assert_int_equal(issue(&b, 0xff, false), 7); /* greedy, though 5 is older */
    assert_int_equal(issue(&b, 0x03, false), 1); /* 0 is young */
    assert_int_equal(issue(&b, 0x01, false), 0);
    assert_int_equal(issue(&b, 0xff, false), 0); /* greedy, though all are older */
    teardown(&b);
}

static void
owf_orders_by_class_then_age(void **st)
{
    struct bench b;
    setup(&b, "owf", 8);
    b.cls[0] = WARP_NON_OWNER;
    b.cls[6] = b.cls[7] = WARP_OWNER;
    b.id[7] = 3;
    b.id[6] = 50;
    assert_int_equal(issue(&b, 0xff, false), 7); /* owners first, the older of them */
    assert_int_equal(issue(&b, 0x7f, false),
                     6); /* the younger owner, before older others */
    assert_int_equal(issue(&b, 0x3f, false),
                     1); /* unshared before the oldest non-owner */
    assert_int_equal(issue(&b, 0x01, false), 0);
    teardown(&b);
}

static void
owf_without_sharing_is_by_age(void **st)
{
    struct bench b;
    setup(&b, "owf", 8);
    for (unsigned i = 0; i < 8; i++)
        b.id[i] = 10 - i;
    assert_int_equal(issue(&b, 0xff, false), 7);
    assert_int_equal(issue(&b, 0x7f, false), 6);
    assert_int_equal(issue(&b, 0xff, false), 7); /* not greedy */
    teardown(&b);
}

static void
two_level_stays_in_the_active_set(void **st)
{
    struct bench b;
    setup(&b, "two-level", 6); /* active: 0 and 1 */
    assert_int_equal(issue(&b, 0x3f, false), 0);
    assert_int_equal(issue(&b, 0x3f, false), 1);
    assert_int_equal(issue(&b, 0x3f, false), 0);
    assert_int_equal(issue(&b, 0x3d, false), 0); /* 1 not ready: 0 again, not 2 */
    teardown(&b);
}

static void
two_level_swaps_on_memory(void **st)
{
    struct bench b;
    setup(&b, "two-level", 4);
    assert_int_equal(issue(&b, 0xf, true), 0); /* leaves; 2 comes in: active 1, 2 */
    assert_int_equal(issue(&b, 0xf, false), 1);
    assert_int_equal(issue(&b, 0xf, false), 2);
    assert_int_equal(issue(&b, 0xf, true), 1); /* leaves; 3 comes before 0 */
    assert_int_equal(issue(&b, 0xf, false), 2);
    assert_int_equal(issue(&b, 0xf, false), 3);
    assert_int_equal(issue(&b, 0xf, false), 2);
    teardown(&b);
}

static void
two_level_takes_a_pending_warp_when_no_active_one_is_ready(void **st)
{
    struct bench b;
    setup(&b, "two-level", 4);
    assert_int_equal(issue(&b, 0xf, false), 0);
    assert_int_equal(issue(&b, 0xc, false),
                     2); /* queue order: 2 before 3; 1 leaves for it */
    assert_int_equal(issue(&b, 0xf, false), 0);
    assert_int_equal(issue(&b, 0xf, false), 2);
    teardown(&b);
}

static void
two_level_fills_the_place_of_an_ended_warp(void **st)
{
    struct bench b;
    setup(&b, "two-level", 4);
    b.p->warp(b.state, &b.v, 0, false);
    assert_int_equal(issue(&b, 0xe, false), 1);
    assert_int_equal(issue(&b, 0xe, false), 2);
    assert_int_equal(issue(&b, 0xe, false), 1);
    teardown(&b);
}

static void
registries_find_by_name(void **st)
{
    static const char *const names[] = {"lrr", "gto", "two-level", "owf"};
    for (unsigned i = 0; i < 4; i++)
        assert_string_equal(sched_find(names[i])->name, names[i]);
    assert_null(sched_find("greedy"));
    size_t n = 0;
    while (sched_at(n))
        n++;
    assert_true(n >= 4);
    assert_non_null(residency_find("baseline"));
    assert_non_null(residency_find("scratchpad-sharing"));
    assert_non_null(cta_order_find("round-robin"));
}

static void
round_robin_gives_blocks_in_order(void **st)
{
    const struct cta_order_policy *p = cta_order_find("round-robin");
    void *state = calloc(1, p->state_size);
    const struct cta_launch l = {.blocks = 3};
    p->init(state, NULL, &l);
    assert_int_equal(p->next(state, 4, 9), 0);
    assert_int_equal(p->next(state, 1, 9), 1);
    assert_int_equal(p->next(state, 4, 9), 2);
    assert_int_equal(p->next(state, 0, 9), -1);
    free(state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lrr_goes_round),
        cmocka_unit_test(lrr_keeps_its_place_when_nothing_issues),
        cmocka_unit_test(gto_is_greedy_then_oldest),
        cmocka_unit_test(owf_orders_by_class_then_age),
        cmocka_unit_test(owf_without_sharing_is_by_age),
        cmocka_unit_test(two_level_stays_in_the_active_set),
        cmocka_unit_test(two_level_swaps_on_memory),
        cmocka_unit_test(two_level_takes_a_pending_warp_when_no_active_one_is_ready),
        cmocka_unit_test(two_level_fills_the_place_of_an_ended_warp),
        cmocka_unit_test(registries_find_by_name),
        cmocka_unit_test(round_robin_gives_blocks_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
