/* timing_waits.c: the contract of waits.def: every row alone keeps a warp from being ready,
 * is the reason told of it, and is in the order of causes; what holds the warp comes before
 * what holds its instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "timing/sm/sm.h"

struct row {
    uint64_t *mask;
    enum sm_wait id;
    enum sm_cause cause;
    int holds;
};

/* The rows, with the masks of c. */
static unsigned
rows_of(struct sm_sched *c, struct row *rows)
{
    unsigned n = 0;
#define WAIT(id, cause, holds, ends, state, over, ...)                                   \
    rows[n++] = (struct row){&c->waits.id, WAIT_##id, CAUSE_##cause, SM_WAIT_##holds};
#include "timing/waits.def"
#undef WAIT
    return n;
}

static void
each_reason_alone_holds_its_warp(void **state)
{
    struct sm_sched c = {0};
    struct row rows[SM_NWAITS];
    assert_int_equal(rows_of(&c, rows), SM_NWAITS);
    for (unsigned i = 0; i < SM_NWAITS; i++) {
        *rows[i].mask = 4;
        assert_int_equal(sm_waits_any(&c), 4);
        assert_int_equal(sm_waits_warp(&c), rows[i].holds == SM_WAIT_WARP ? 4 : 0);
        assert_int_equal(sm_wait_of(&c, 4), rows[i].id);
        assert_int_equal(sm_wait_of(&c, 2), SM_NWAITS);
        *rows[i].mask = 0;
    }
}

static void
what_holds_the_warp_comes_first(void **state)
{
    struct sm_sched c = {0};
    struct row rows[SM_NWAITS];
    rows_of(&c, rows);
    for (unsigned i = 0; i < SM_NWAITS; i++)
        for (unsigned k = 0; k < SM_NWAITS; k++) {
            unsigned first = i < k ? i : k;
            if (rows[i].holds != rows[k].holds)
                first = rows[i].holds == SM_WAIT_WARP ? i : k;
            *rows[i].mask = 1;
            *rows[k].mask = 1;
            assert_int_equal(sm_wait_of(&c, 1), rows[first].id);
            *rows[i].mask = *rows[k].mask = 0;
        }
}

/* Where the first row that holds a warp is the cause of the slot, as the pages say. */
static void
rows_are_in_the_order_of_causes(void **state)
{
    struct sm_sched c = {0};
    struct row rows[SM_NWAITS];
    rows_of(&c, rows);
    for (unsigned i = 0; i < SM_NWAITS; i++) {
        assert_true(rows[i].cause > CAUSE_stall && rows[i].cause <= CAUSE_fetch);
        assert_true(i == 0 || rows[i - 1].cause <= rows[i].cause);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason_alone_holds_its_warp),
        cmocka_unit_test(what_holds_the_warp_comes_first),
        cmocka_unit_test(rows_are_in_the_order_of_causes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
