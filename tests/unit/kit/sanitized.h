/* sanitized.h: whether the test runs under ASan or TSan, which make it five to twenty times
 * slower. Long tests then take a sample of their cases: the release build runs them all. */
#ifndef TESTS_UNIT_SANITIZED_H
#define TESTS_UNIT_SANITIZED_H

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Whether case `i` of a long list is run: all of them, under sanitizers every sixth from `phase` on. Tests
 * of one list have different phases, so that each case is in one of them. Of the workloads' list: 0
 * exec_workloads, 1 unified_alloc, 2 and 5 multiplex_workloads, 3 passes_workloads, 4
 * vtb_workloads and persistent_workloads. */
static inline int
in_sample(unsigned long i, unsigned phase)
{
    return !SANITIZED || i % 6 == phase % 6;
}

#endif
