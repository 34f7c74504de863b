/* pool.h: host threads for many short pieces of work.
 *
 * pool_run(p, f, user) calls f(user, i) once for every i < threads, each in a thread of
 * its own (0 in the caller's), and returns when all have returned. Threads wait for the
 * next call by spinning for some microseconds, then asleep, so that a short pause costs
 * little and a machine with fewer processors than threads still gets on. What the caller
 * wrote before is seen by all, and what they wrote is seen by the caller afterwards. */
#ifndef ALLOT_BASE_POOL_H
#define ALLOT_BASE_POOL_H

#include <stdbool.h>

struct pool;

/* NULL if the host gives no more threads. threads: the caller included, at least 1. */
struct pool *pool_new(unsigned threads);
void pool_free(struct pool *p); /* NULL is allowed */
void pool_run(struct pool *p, void (*f)(void *user, unsigned thread), void *user);

#endif
