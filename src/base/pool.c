/* pool.c: see pool.h.
 *
 * `open` holds the number of the round that threads may join, 0 between rounds. A thread
 * first counts itself as active, then looks whether the round is still open; the caller
 * first closes it, then looks whether anybody is active. A thread that has spun in vain
 * sleeps on a condition variable, after saying so; whoever opens a round or is the last
 * to leave a closed one looks whether anybody sleeps. In each of these pairs both sides
 * change their own word before they read the other's, sequentially consistent, so that
 * one of them sees the other.
 *
 * A thread that the host stops in the middle of its work holds up all, and one that is
 * called and does not come has no processor; where that happens often there are not
 * enough processors, and the caller is faster alone. */
#include "base/pool.h"

#include "base/arena.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum {
    /* Nanoseconds. A wait is shorter than SPIN where all threads have a processor: what
     * the caller does between two rounds takes ten (15 SMs) to three hundred microseconds
     * (132), to wake a thread fifty. One that has not come after COME will not soon. */
    SPIN = 1000000,
    COME = 1000000,
    /* After a round for which a thread did not come, or whose end the caller had to sleep
     * for, it goes on alone for some rounds: at first so many, each time twice as many up
     * to a most, and half as many again after every so many good rounds. */
    ALONE_FIRST = 1,
    ALONE_MOST = 256,
    ALONE_GOOD = 16,
};

struct worker {
    pthread_t thread;
    struct pool *pool;
    unsigned index;
};

struct pool {
    _Alignas(64) atomic_uint open;
    _Alignas(64) atomic_uint active;   /* threads in the round, the caller not counted */
    _Alignas(64) atomic_uint joined;   /* threads that took part in the last round */
    _Alignas(64) atomic_uint sleepers; /* on `begun` */
    atomic_bool waiting;               /* the caller, on `ended` */
    atomic_bool quit;
    unsigned round, alone, penalty, good; /* the caller's own */
    uint64_t
        called; /* when threads were called that have not come yet; 0: all are here */
    void (*f)(void *user, unsigned thread);
    void *user;
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    unsigned workers; /* without the caller */
    struct worker *worker;
};

static inline void
relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

void
pool_relax(unsigned turn)
{
    if (turn % 1024 == 0)
        sched_yield(); /* there may be no processor for the other */
    relax();
}

static uint64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool
called(struct pool *p, unsigned last)
{
    unsigned o = atomic_load(&p->open);
    return (o && o != last) || atomic_load(&p->quit);
}

/* Waits for another round than `last` to be open, or the end. */
static void
await_round(struct pool *p, unsigned last)
{
    for (uint64_t end = now() + SPIN; now() < end;)
        for (int i = 0; i < 32; i++) {
            if (called(p, last))
                return;
            relax();
        }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (!called(p, last))
        pthread_cond_wait(&p->begun, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

/* False: nobody sleeps. */
static bool
wake_all(struct pool *p)
{
    if (!atomic_load(&p->sleepers))
        return false;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->begun);
    pthread_mutex_unlock(&p->lock);
    return true;
}

/* False: some were called long ago. */
static bool
call(struct pool *p)
{
    if (!wake_all(p)) {
        p->called = 0;
        return true;
    }
    uint64_t t = now();
    p->called = p->called ? p->called : t;
    return t - p->called < COME;
}

static void *
work(void *arg)
{
    struct worker *w = arg;
    struct pool *p = w->pool;
    for (unsigned last = 0;;) {
        await_round(p, last);
        if (atomic_load(&p->quit))
            return NULL;
        atomic_fetch_add(&p->active, 1);
        unsigned round = atomic_load(&p->open);
        if (round && round != last) {
            atomic_fetch_add(&p->joined, 1);
            p->f(p->user, w->index);
            last = round;
        }
        if (atomic_fetch_sub(&p->active, 1) == 1 && atomic_load(&p->waiting)) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->ended);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

/* False: not without sleep. */
static bool
await_end(struct pool *p)
{
    for (uint64_t end = now() + SPIN; now() < end;)
        for (int i = 0; i < 32; i++) {
            if (!atomic_load(&p->active))
                return true;
            relax();
        }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->waiting, true);
    while (atomic_load(&p->active))
        pthread_cond_wait(&p->ended, &p->lock);
    atomic_store(&p->waiting, false);
    pthread_mutex_unlock(&p->lock);
    return false;
}

struct pool *
pool_new(unsigned threads)
{
    struct pool *p = aligned_alloc(64, (sizeof *p + 63) / 64 * 64);
    if (!p)
        return NULL;
    *p = (struct pool){.worker = NULL};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->begun, NULL);
    pthread_cond_init(&p->ended, NULL);
    p->worker = xcalloc(threads, sizeof *p->worker);
    /* Signals are the caller's business. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (unsigned i = 1; i < threads; i++) {
        struct worker *w = &p->worker[p->workers];
        *w = (struct worker){.pool = p, .index = i};
        if (pthread_create(&w->thread, NULL, work, w))
            break;
        p->workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (p->workers + 1 == threads)
        return p;
    pool_free(p);
    return NULL;
}

void
pool_free(struct pool *p)
{
    if (!p)
        return;
    atomic_store(&p->quit, true);
    wake_all(p);
    for (unsigned i = 0; i < p->workers; i++)
        pthread_join(p->worker[i].thread, NULL);
    pthread_cond_destroy(&p->begun);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    free(p->worker);
    free(p);
}

/* One round; false: a thread did not come, or the caller had to sleep for its end. */
static bool
run_round(struct pool *p, void (*f)(void *user, unsigned thread), void *user)
{
    p->f = f;
    p->user = user;
    atomic_store(&p->joined, 0);
    p->round = p->round + 1 ? p->round + 1 : 1;
    atomic_store(&p->open, p->round);
    bool good = call(p);
    f(user, 0);
    atomic_store(&p->open, 0);
    good &= await_end(p);
    if (atomic_load(&p->joined) == p->workers)
        p->called = 0;
    return good;
}

void
pool_run_long(struct pool *p, void (*f)(void *user, unsigned thread), void *user)
{
    run_round(p, f, user);
}

void
pool_run(struct pool *p, void (*f)(void *user, unsigned thread), void *user)
{
    if (p->alone) {
        p->alone--;
        f(user, 0);
        return;
    }
    if (!run_round(p, f, user)) {
        p->penalty = p->penalty ? 2 * p->penalty : ALONE_FIRST;
        p->penalty = p->penalty > ALONE_MOST ? ALONE_MOST : p->penalty;
        p->alone = p->penalty;
        p->good = 0;
        p->called = 0;
    } else if (++p->good == ALONE_GOOD) {
        p->penalty /= 2;
        p->good = 0;
    }
}
