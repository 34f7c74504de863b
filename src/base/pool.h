/* pool.h: host threads for many short pieces of work.
 *
 * pool_run(p, f, user) calls f(user, 0) in the caller's thread and f(user, i) in every
 * other thread i that comes before the caller is through, and returns when all these
 * calls have. So f takes pieces of a common stock until there are none left, and threads
 * that the host does not run at the moment (on a machine with more to do than
 * processors) are not waited for. Between calls threads spin for some microseconds, then
 * sleep. What the caller wrote before is seen by all, and what they wrote is seen by the
 * caller afterwards. */
#ifndef ALLOT_BASE_POOL_H
#define ALLOT_BASE_POOL_H

#include <stdbool.h>

struct pool;

/* NULL if the host gives no more threads. threads: the caller included, at least 1. */
struct pool *pool_new(unsigned threads);
void pool_free(struct pool *p); /* NULL is allowed */
void pool_run(struct pool *p, void (*f)(void *user, unsigned thread), void *user);
/* The same for work of many milliseconds: threads are called whatever became of the last
 * calls. pool_run lets the caller go on alone for some rounds where threads were late. */
void pool_run_long(struct pool *p, void (*f)(void *user, unsigned thread), void *user);

/* In f, between looks at what another thread is about to do; turn: of how many looks, or
 * so. */
void pool_relax(unsigned turn);

#endif
