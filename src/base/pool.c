/* pool.c: see pool.h.
 *
 * One counter starts a round, one says how many have not finished it. A thread that has
 * spun in vain sleeps on a condition variable; whoever moves a counter looks whether
 * anybody sleeps. Both sides change their own word before they look at the other's
 * (sequentially consistent), so that no wake-up is lost. */
#include "base/pool.h"

#include "base/arena.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SPINS = 4000 };

struct worker {
    pthread_t thread;
    struct pool *pool;
    unsigned index;
};

struct pool {
    _Alignas(64) atomic_uint round;    /* rounds begun */
    _Alignas(64) atomic_uint left;     /* workers that are not through with the round */
    _Alignas(64) atomic_uint sleepers; /* on `begun` */
    atomic_bool waiting;               /* the caller, on `ended` */
    atomic_bool quit;
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

/* Waits until the round is not `last` any more. */
static void
await_round(struct pool *p, unsigned last)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&p->round) != last)
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->round) == last)
        pthread_cond_wait(&p->begun, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *
work(void *arg)
{
    struct worker *w = arg;
    struct pool *p = w->pool;
    for (unsigned round = 0;; round++) {
        await_round(p, round);
        if (atomic_load(&p->quit))
            return NULL;
        p->f(p->user, w->index);
        if (atomic_fetch_sub(&p->left, 1) == 1 && atomic_load(&p->waiting)) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->ended);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

static void
begin(struct pool *p)
{
    atomic_store(&p->left, p->workers);
    atomic_fetch_add(&p->round, 1);
    if (atomic_load(&p->sleepers)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->begun);
        pthread_mutex_unlock(&p->lock);
    }
}

static void
await_end(struct pool *p)
{
    for (int i = 0; i < SPINS; i++) {
        if (!atomic_load(&p->left))
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->waiting, true);
    while (atomic_load(&p->left))
        pthread_cond_wait(&p->ended, &p->lock);
    atomic_store(&p->waiting, false);
    pthread_mutex_unlock(&p->lock);
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
    begin(p);
    for (unsigned i = 0; i < p->workers; i++)
        pthread_join(p->worker[i].thread, NULL);
    pthread_cond_destroy(&p->begun);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    free(p->worker);
    free(p);
}

void
pool_run(struct pool *p, void (*f)(void *user, unsigned thread), void *user)
{
    p->f = f;
    p->user = user;
    if (p->workers)
        begin(p);
    f(user, 0);
    if (p->workers)
        await_end(p);
}
