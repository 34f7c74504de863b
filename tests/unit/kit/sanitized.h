/* sanitized.h: whether the test runs under ASan or TSan, which make it five to twenty times
 * slower. Long tests then take a sample of their cases: the release build runs them all. */
#ifndef TESTS_UNIT_SANITIZED_H
#define TESTS_UNIT_SANITIZED_H

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Whether case `i` of a long list is run: all of them, under sanitizers every third from `phase` on. Tests
 * of one list have different phases, so that each case is in one of them. */
static inline int
in_sample(unsigned long i, unsigned phase)
{
    return !SANITIZED || i % 3 == phase % 3;
}

#endif
