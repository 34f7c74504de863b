/* skip.h: cmocka tests that need a tool which may not be installed. A program with a test
 * that was skipped, and none that failed, ends with 77: ctest counts it as skipped, not
 * as passed. */
#ifndef TESTS_UNIT_SKIP_H
#define TESTS_UNIT_SKIP_H

#include <stdbool.h>
#include <stdio.h>

enum { SKIPPED = 77 };
static bool test_skipped;

/* Ends the test after saying why; NEEDS: which command is missing (tools/check-skips
 * reads it); PART: the rest of the test goes on. */
#define SKIP_BECAUSE(why)                                                                \
    do {                                                                                 \
        test_skipped = true;                                                             \
        (void)printf("SKIP: %s\n", why);                                                 \
        skip();                                                                          \
    } while (0)
#define SKIP_NEEDS(tool) SKIP_BECAUSE("needs " tool)
#define SKIP_PART(tool) (test_skipped = true, (void)printf("SKIP: needs %s\n", tool))

static inline int
skip_status(int failed)
{
    return !failed && test_skipped ? SKIPPED : failed;
}

#endif
