/* unroll_size.c: bounds of loops that become straight code, each at its last size and one above,
 * worked out by hand from unroll_size.c. That ptxas has them too: unit/unroll. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "passes/loops/unroll_int.h"

/* iterations * (size - 2 - 9 - 4 * literal), the last two where there is a literal, is at most
 * min(165 + 105 * sqrt(iterations), 1280) + 16 * sqrt(iterations) * folded. */
static void
the_largest_turn_that_fits(void **state)
{
    (void)state;
    static const struct {
        uint64_t turns, literal, folded, size;
    } rows[] = {
        {1, 0, 0, 272},  /* 270 of 270 */
        {4, 0, 0, 95},   /* 4 * 93 of 375 */
        {9, 0, 0, 55},   /* 9 * 53 = 477 of 480 */
        {100, 0, 0, 14}, /* 100 * 12 of 1215 */
        {112, 0, 0, 13}, /* 112 * 11 = 1232 of 1276.2 */
        {128, 0, 0, 12}, /* 128 * 10 of 1280, without that of 1352.9 */
        {256, 0, 0, 7},  /* 256 * 5 of 1280 */
        {1, 1, 0, 285},  /* 2 + 13 less */
        {1, 5, 0, 301},  /* 2 + 29 less */
        {1, 0, 1, 288},  /* 16 more */
        {16, 0, 3, 50},  /* 16 * 48 = 768 of 585 + 192 = 777 */
        {256, 0, 2, 9},  /* 256 * 7 = 1792 of 1280 + 512 */
        {1280, 0, 0, 3}, /* an iteration counts at least once */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct unroll_size x = {
            .size = rows[i].size, .literal = rows[i].literal, .folded = rows[i].folded};
        if (!unroll_fits(rows[i].turns, &x))
            fail_msg("row %zu does not fit", i);
        x.size++;
        if (unroll_fits(rows[i].turns, &x))
            fail_msg("row %zu fits with one more", i);
    }
    const struct unroll_size small = {.size = 1};
    assert_true(unroll_fits(1280, &small));
    assert_false(unroll_fits(1281, &small));
}

/* 19 and 5 more for each load from scratchpad, up to 97; at least 47 with a load from memory. */
static void
the_largest_turn_of_an_unknown_number(void **state)
{
    (void)state;
    static const struct {
        uint64_t scratch;
        bool memory;
        uint64_t size;
    } rows[] = {{0, false, 19},  {1, false, 24}, {5, true, 47},   {6, true, 49},
                {0, true, 47},   {5, false, 44}, {15, false, 94}, {16, false, 97},
                {17, false, 97}, {16, true, 97}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct unroll_size x = {.scratch = rows[i].scratch,
                                      .memory = rows[i].memory};
        assert_int_equal(unroll_unknown_size(&x), rows[i].size);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_turn_that_fits),
        cmocka_unit_test(the_largest_turn_of_an_unknown_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
