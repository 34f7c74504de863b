/* published.h: the kernels of papers/micro's experiments as cases beside the microbenchmarks:
 * "published/memory/read_l1/4x1024-2" is kernel read_l1 of memory.ptx in four blocks of 1024
 * threads, its number 2. Of two that differ in it the difference counts, as the experiments
 * have it. Each launch is a case of its own, once for all experiments that have it. */
#ifndef ALLOT_MICRO_PUBLISHED_H
#define ALLOT_MICRO_PUBLISHED_H

#include "micro/micro.h"

/* Adds them to m (micro_load), unless none begins with one of the n texts (n 0: all are
 * wanted), since reading them takes seconds; false and a diagnostic: a file cannot be read. No
 * file is no failure. */
bool published_add(struct micro_cases *m, const char *const *only, size_t n,
                   struct diag_sink *diag);

#endif
