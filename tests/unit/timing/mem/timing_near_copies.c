/* Copies of lines in another part of the chip: sets, ways, sectors, age. */
#include "timing/mem/near_copies.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { SETS = 4, WAYS = 6 }; /* of the slice: three copies a set */

static bool
reads(struct near_copies *c, unsigned block)
{
    return near_copies_read(c, UINT64_C(128) * block, 1, 100, 50);
}

/* Half of the ways; the one that was read longest ago leaves; other sets are their own. */
static void
oldest_of_a_set_leaves(void **state)
{
    (void)state;
    struct arena a = {0};
    struct near_copies *c = near_copies_new(&a, SETS, WAYS, 128);
    for (unsigned i = 0; i < 3; i++)
        assert_false(reads(c, i * SETS));
    for (unsigned i = 0; i < 3; i++)
        assert_true(reads(c, i * SETS));
    assert_false(reads(c, 1));
    assert_true(reads(c, 0));
    assert_false(reads(c, 3 * SETS)); /* in place of block SETS */
    assert_true(reads(c, 0));
    assert_true(reads(c, 2 * SETS));
    assert_true(reads(c, 1));
    assert_false(reads(c, SETS));
    arena_free(&a);
}

/* From the tick in which the data are there on; a new sector is waited for with the line. */
static void
there_when_the_data_are(void **state)
{
    (void)state;
    struct arena a = {0};
    struct near_copies *c = near_copies_new(&a, SETS, WAYS, 128);
    assert_false(near_copies_read(c, 0, 3, 10, 60));
    assert_false(near_copies_read(c, 0, 3, 59, 99));
    assert_true(near_copies_read(c, 32, 2, 60, 99)); /* the same line */
    assert_false(near_copies_read(c, 0, 4, 70, 120));
    assert_false(near_copies_read(c, 0, 4, 119, 999));
    assert_true(near_copies_read(c, 0, 7, 120, 999));
    near_copies_drop(c, 64);
    assert_false(near_copies_read(c, 0, 1, 200, 300));
    near_copies_drop(c, 1 << 20); /* not there */
    arena_free(&a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oldest_of_a_set_leaves),
        cmocka_unit_test(there_when_the_data_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
