/* timing_dispatch.c: when the dispatcher asks SMs again that got no block, with a mock policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "timing/engine/dispatch.h"

static uint64_t drained_from, ended_at, syncs_so_far;

static uint64_t
drained(void *state, uint64_t end)
{
    (void)state;
    ended_at = end;
    return drained_from;
}

static uint64_t
syncs(const void *state)
{
    (void)state;
    return syncs_so_far;
}

static uint64_t
again(const void *state, uint64_t now)
{
    (void)state;
    return now + 3;
}

static const struct cta_order_policy waves = {
    .drained = drained, .syncs = syncs, .again = again};
static const struct cta_order_policy plain = {0};

/* Two SMs, of which the second got none. */
static struct dispatch
some_got_none(const struct cta_order_policy *order, uint64_t *none)
{
    none[0] = 0;
    none[1] = 5;
    return (struct dispatch){.order = order,
                             .left = 9,
                             .again = NEVER,
                             .none = none,
                             .nsm = 2,
                             .any_none = true};
}

/* Whatever cycle the policy names, the first one too, SMs that got none are asked again; 0 is
 * no cycle. */
static void
drained_asks_all_again(void **state)
{
    (void)state;
    static const uint64_t from[] = {0, 1, 2, 70};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        uint64_t none[2];
        struct dispatch d = some_got_none(&waves, none);
        drained_from = from[i];
        assert_int_equal(dispatch_drained(&d, 60), from[i]);
        assert_int_equal(ended_at, 60);
        assert_int_equal(d.any_none, !from[i]);
        assert_int_equal(none[1], from[i] ? 0 : 5);
    }
    uint64_t none[2];
    struct dispatch d = some_got_none(&plain, none);
    assert_int_equal(dispatch_drained(&d, 60), 0);
    assert_true(d.any_none);
}

/* Not in the cycle before `again`, but in that one. */
static void
time_asks_all_again(void **state)
{
    (void)state;
    uint64_t none[2];
    struct dispatch d = some_got_none(&waves, none);
    d.again = 40;
    dispatch_time(&d, 39);
    assert_true(d.any_none);
    assert_int_equal(none[1], 5);
    dispatch_time(&d, 40);
    assert_false(d.any_none);
    assert_int_equal(none[1], 0);
}

/* The policy's time, while there are blocks. */
static void
again_is_looked_up(void **state)
{
    (void)state;
    uint64_t none[2];
    struct dispatch d = some_got_none(&waves, none);
    dispatch_look_ahead(&d, 10);
    assert_int_equal(d.again, 13);
    d.left = 0;
    dispatch_look_ahead(&d, 10);
    assert_true(d.again == NEVER);
    d = some_got_none(&plain, none);
    dispatch_look_ahead(&d, 10);
    assert_true(d.again == NEVER);
    assert_int_equal(dispatch_syncs(&d), 0);
    d = some_got_none(&waves, none);
    syncs_so_far = 4;
    assert_int_equal(dispatch_syncs(&d), 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drained_asks_all_again),
        cmocka_unit_test(time_asks_all_again),
        cmocka_unit_test(again_is_looked_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
