/* Timed queue: the answers yes, no, not known yet against plain models that are simulated
 * in one order of time, for each way in which credits come back. Where the ends may be used
 * by two threads they are, too. */
#define TQ_UNPUBLISHED 3 /* so that packets overflow */
#include "base/splitmix.h"
#include "timing/mem/timed_queue.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>

/* -- packets are taken -- */

enum { TIMES = 20000, MOST = TIMES };

/* What the two ends do is a function of the time: the producer has a packet of some
 * credits, or none; the consumer takes one that is there, or does not. */
struct traffic {
    uint64_t seed;
    unsigned cap, quantum;
    unsigned
        delay; /* from the put to the time after which it is seen; not in the quantum */
    unsigned puts, takes; /* in 16 times */
};

static unsigned
wants_put(const struct traffic *f, uint64_t t)
{
    const uint64_t h = splitmix(t * 2 + f->seed), burst = splitmix(t / 300 + f->seed) % 3;
    return h % 16 < f->puts * burst ? 1 + (unsigned)(h >> 20) % 5 : 0;
}

static bool
wants_take(const struct traffic *f, uint64_t t)
{
    return splitmix(t * 2 + 1 + f->seed) % 16 < f->takes;
}

struct events { /* times of puts, of refusals, and of takes, in order */
    uint64_t put[MOST], refused[MOST], taken[MOST];
    unsigned nput, nrefused, ntaken;
};

/* All in the order of time: in each the consumer first, then the producer. */
static void
plain(const struct traffic *f, struct events *e)
{
    static struct {
        uint64_t at;
        unsigned credits;
    } q[MOST];
    unsigned used = 0;
    e->nput = e->nrefused = e->ntaken = 0;
    for (uint64_t t = 0; t < TIMES; t++) {
        if (e->ntaken < e->nput && q[e->ntaken].at < t && wants_take(f, t)) {
            used -= q[e->ntaken].credits;
            e->taken[e->ntaken++] = t;
        }
        const unsigned n = wants_put(f, t);
        if (!n)
            continue;
        if (used && used + n > f->cap) {
            e->refused[e->nrefused++] = t;
            continue;
        }
        used += n;
        q[e->nput].at = t + f->delay;
        q[e->nput].credits = n;
        e->put[e->nput++] = t;
    }
}

struct ends {
    const struct traffic *f;
    struct events e;
    struct timed_queue q;
    struct tq_split s;
    _Alignas(64) uint64_t put_at; /* next time of the producer */
    unsigned long unknown;
    bool split;
    _Alignas(64) uint64_t take_at; /* of the consumer */
    uint64_t to;
    pthread_barrier_t *step;
};

/* The producer up to time `to`, or to one for which the answer is not known. */
static void
producer(struct ends *x, uint64_t to)
{
    for (; x->put_at < to; x->put_at++) {
        const unsigned n = wants_put(x->f, x->put_at);
        if (!n)
            continue;
        const enum room room =
            timed_queue_room(&x->q, &x->s, x->f->cap, n, x->put_at, x->split);
        if (room == ROOM_UNKNOWN) {
            x->unknown++;
            return;
        }
        if (room == ROOM_NO) {
            x->e.refused[x->e.nrefused++] = x->put_at;
            continue;
        }
        const struct timed_packet m = {
            .p.token = x->e.nput, .at = x->put_at + x->f->delay, .credits = (uint16_t)n};
        if (x->split)
            timed_queue_push_split(&x->q, &x->s, &m);
        else
            *timed_queue_push(&x->q, &x->s.used, m.at, n) = m;
        x->e.put[x->e.nput++] = x->put_at;
    }
}

static void
consumer(struct ends *x, uint64_t to)
{
    for (; x->take_at < to; x->take_at++) {
        if (x->q.front_at >= x->take_at || !wants_take(x->f, x->take_at))
            continue;
        assert_int_equal(timed_queue_front(&x->q)->p.token, x->e.ntaken);
        timed_queue_take(&x->q, x->take_at);
        x->e.taken[x->e.ntaken++] = x->take_at;
    }
}

static void *
consumer_thread(void *user)
{
    struct ends *x = user;
    for (uint64_t to = x->f->quantum; to <= TIMES; to += x->f->quantum) {
        pthread_barrier_wait(x->step);
        consumer(x, to);
        pthread_barrier_wait(x->step);
    }
    return NULL;
}

/* In quanta: the two ends in any order, or beside each other; then what the producer did
 * not know. */
static void
in_quanta(struct ends *x, bool threads)
{
    struct arena a = {0};
    const struct traffic *f = x->f;
    timed_queue_init(&x->q, &x->s, &a, f->cap);
    pthread_barrier_t step;
    pthread_t other;
    if (threads) {
        pthread_barrier_init(&step, NULL, 2);
        x->step = &step;
        assert_int_equal(pthread_create(&other, NULL, consumer_thread, x), 0);
    }
    for (uint64_t to = f->quantum; to <= TIMES; to += f->quantum) {
        x->split = threads || splitmix(to) % 4;
        if (x->split)
            timed_queue_split(&x->q, &x->s);
        if (threads)
            pthread_barrier_wait(&step);
        const bool first = x->split && splitmix(to) % 2;
        if (first || threads)
            producer(x, to);
        if (threads)
            pthread_barrier_wait(&step);
        else
            consumer(x, to);
        if (!first && !threads)
            producer(x, to);
        if (x->split)
            timed_queue_join(&x->q, &x->s);
        x->split = false;
        producer(x, to);
        assert_int_equal(x->put_at, to);
    }
    if (threads) {
        pthread_join(other, NULL);
        pthread_barrier_destroy(&step);
    }
    arena_free(&a);
}

static void
same(const uint64_t *a, unsigned na, const uint64_t *b, unsigned nb)
{
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na * sizeof *a);
}

static void
same_events(const struct events *a, const struct events *b)
{
    same(a->put, a->nput, b->put, b->nput);
    same(a->refused, a->nrefused, b->refused, b->nrefused);
    same(a->taken, a->ntaken, b->taken, b->ntaken);
    assert_true(a->ntaken > 300);
}

static void
taken_as_in_one_order(bool threads)
{
    static const struct traffic traffic[] = {
        {1, 12, 8, 8, 5, 7},  {2, 8, 16, 16, 4, 3},   {3, 40, 32, 40, 8, 9},
        {4, 3, 4, 5, 8, 8},   {5, 64, 10, 10, 8, 4},  {6, 100, 2, 2, 7, 16},
        {7, 1, 16, 16, 3, 9}, {8, 200, 40, 40, 8, 2},
    };
    unsigned long unknown = 0, refused = 0;
    struct events *e = malloc(sizeof *e);
    struct ends *x = aligned_alloc(64, (sizeof *x + 63) / 64 * 64);
    for (size_t i = 0; i < sizeof traffic / sizeof *traffic; i++) {
        plain(&traffic[i], e);
        memset(x, 0, sizeof *x);
        x->f = &traffic[i];
        in_quanta(x, threads);
        same_events(e, &x->e);
        unknown += x->unknown;
        refused += e->nrefused;
    }
    assert_true(unknown > 500 && refused > 5000);
    free(x);
    free(e);
}

static void
taken(void **state)
{
    (void)state;
    taken_as_in_one_order(false);
}

static void
taken_in_two_threads(void **state)
{
    (void)state;
    taken_as_in_one_order(true);
}

/* A consumer that is ahead: what it takes after time t makes no room at t. */
static void
consumer_ahead(void **state)
{
    (void)state;
    struct arena a = {0};
    struct timed_queue q;
    struct tq_split s;
    timed_queue_init(&q, &s, &a, 8);
    for (uint64_t t = 0; t < 2; t++)
        timed_queue_push(&q, &s.used, t, 4);
    timed_queue_take(&q, 20);
    timed_queue_take(&q, 30);
    assert_int_equal(timed_queue_room(&q, &s, 8, 1, 19, false), ROOM_NO);
    assert_int_equal(timed_queue_room(&q, &s, 8, 4, 20, false), ROOM_YES);
    assert_int_equal(timed_queue_room(&q, &s, 8, 5, 29, false), ROOM_NO);
    assert_int_equal(timed_queue_room(&q, &s, 8, 9, 29, false), ROOM_NO);
    assert_int_equal(timed_queue_room(&q, &s, 8, 9, 30, false), ROOM_YES); /* empty */
    arena_free(&a);
}

/* -- packets are drained -- */

/* The times at which the credits of the packet drained last are back. */
struct back {
    uint64_t at[8];
    unsigned n;
};

static bool
fits_by_list(const struct back *b, unsigned queued, unsigned cap, unsigned n, uint64_t t)
{
    unsigned used = queued;
    for (unsigned i = 0; i < b->n; i++)
        used += b->at[i] >= t;
    return !used || used + n <= cap;
}

/* The table at the head of credits.h. */
static void
drained_by_hand(void **state)
{
    (void)state;
    struct arena a = {0};
    struct timed_queue q;
    timed_queue_init(&q, NULL, &a, 4);
    timed_queue_push(&q, &q.credits.used, 5, 3);
    timed_queue_drain(&q, 10, 2);
    static const unsigned out[] = {3, 2, 2, 1, 1, 0}; /* not back before 10, 11, ... */
    for (uint64_t t = 10; t < 16; t++)
        assert_int_equal(credits_draining(&q.credits, t), out[t - 10]);
    uint64_t from = 0;
    assert_int_equal(credits_room(&q.credits, CREDITS_DRAINED, 4, 3, 12), ROOM_UNKNOWN);
    assert_true(credits_back_from(&q.credits, 4, 3, &from));
    assert_int_equal(from, 13);
    arena_free(&a);
}

static enum room
room_drained(const struct timed_queue *q, unsigned cap, unsigned n, uint64_t t)
{
    return credits_room(&q->credits, CREDITS_DRAINED, cap, n, t);
}

static void
drained(void **state)
{
    (void)state;
    unsigned long sure = 0, bounds = 0;
    for (unsigned stride = 1; stride <= 3; stride++) {
        const unsigned cap = 12;
        struct arena a = {0};
        struct timed_queue q;
        struct back back = {0};
        unsigned queued = 0, put = 0, drains = 0;
        uint64_t last = 0, came = 0; /* back of all so far; of the next packet */
        timed_queue_init(&q, NULL, &a, cap);
        for (uint64_t t = 0; t < 30000; t++) {
            const uint64_t h = splitmix(t * 4 + stride);
            if (h % 3 == 0 && q.q.n && t > last) {
                const struct timed_packet *m = ring_front(&q.q);
                const uint64_t from = max_u64(t, m->at * stride);
                back.n = m->credits;
                queued -= m->credits;
                for (unsigned j = 0; j < back.n; j++)
                    back.at[j] = last = max_u64(from + j, stride * (m->at + j));
                timed_queue_drain(&q, from, stride);
                drains++;
            }
            const unsigned n = 1 + (h >> 8) % 8;
            for (uint64_t k = t; k < t + 20; k++)
                assert_int_equal(room_drained(&q, cap, n, k) == ROOM_YES,
                                 fits_by_list(&back, queued, cap, n, k));
            if (room_drained(&q, cap, n, t) == ROOM_YES) {
                came = max_u64(came, t / stride);
                timed_queue_push(&q, &q.credits.used, came, n);
                came += n;
                queued += n;
                put++;
                continue;
            }
            uint64_t from;
            if (credits_back_from(&q.credits, cap, n, &from)) {
                assert_true(from > t);
                assert_false(fits_by_list(&back, queued, cap, n, from - 1));
                assert_true(fits_by_list(&back, queued, cap, n, from));
                sure++;
                continue;
            }
            /* At best a credit is back in every time from `next` on. */
            const uint64_t next = max_u64(t, last) + 1 + h % 4;
            uint64_t k = next;
            for (unsigned used = queued; used && used + n > cap; used--)
                k++;
            from = credits_back_after(&q.credits, cap, n, next);
            assert_int_equal(from, k);
            bounds++;
        }
        assert_true(put > 1000 && drains > 1000);
        arena_free(&a);
    }
    assert_true(sure > 1000 && bounds > 1000);
}

/* -- credits are logged: the consumer is ahead -- */

/* In each tick the consumer lets one credit of the front go, or does not; then the producer
 * has a packet, or none. */
static void
plain_logged(const struct traffic *f, struct events *e)
{
    static struct {
        uint64_t at;
        unsigned credits;
    } q[MOST];
    unsigned used = 0, front = 0;
    e->nput = e->nrefused = e->ntaken = 0;
    for (uint64_t t = 0; t < TIMES; t++) {
        const unsigned n = wants_put(f, t);
        if (n && used && used + n > f->cap) {
            e->refused[e->nrefused++] = t;
        } else if (n) {
            used += n;
            q[e->nput].at = t + f->delay;
            q[e->nput].credits = n;
            e->put[e->nput++] = t;
        }
        if (front < e->nput && q[front].at < t && wants_take(f, t)) {
            used--;
            e->taken[e->ntaken++] = t;
            front += !--q[front].credits;
        }
    }
}

struct logged { /* the consumer is a quantum ahead of the producer */
    const struct traffic *f;
    struct events e;
    struct timed_queue q;
    _Alignas(64) struct credits snapshot; /* as the consumer was a quantum ago */
    uint32_t
        inflight[2]; /* credits of `arrived`, and of what came in one quantum before */
    RING(struct timed_packet) arrived;
    pthread_barrier_t step;
};

static void
leave_quantum(struct logged *x, uint64_t from)
{
    const uint64_t to = from + x->f->quantum;
    timed_queue_forget(&x->q, to - 1);
    for (uint64_t t = from; t < to; t++) {
        if (x->q.front_at < t && wants_take(x->f, t)) {
            timed_queue_leave(&x->q, t);
            x->e.taken[x->e.ntaken++] = t;
        }
        x->q.credits.back_at = t;
    }
}

static void
put_quantum(struct logged *x, uint64_t from)
{
    for (uint64_t t = from; t < from + x->f->quantum; t++) {
        const unsigned n = wants_put(x->f, t);
        struct credits c = x->snapshot;
        c.used += x->inflight[0] + x->inflight[1];
        const enum room room = credits_room(&c, CREDITS_LOGGED, x->f->cap, n, t);
        assert_true(room != ROOM_UNKNOWN);
        if (!n)
            continue;
        if (room == ROOM_NO) {
            x->e.refused[x->e.nrefused++] = t;
            continue;
        }
        *ring_push(&x->arrived) =
            (struct timed_packet){.at = t + x->f->delay, .credits = (uint16_t)n};
        x->inflight[0] += n;
        x->e.put[x->e.nput++] = t;
    }
}

static void *
leave_thread(void *user)
{
    struct logged *x = user;
    for (uint64_t from = 0; from < TIMES; from += x->f->quantum) {
        pthread_barrier_wait(&x->step);
        leave_quantum(x, from);
        pthread_barrier_wait(&x->step);
    }
    return NULL;
}

/* Neither is at work. */
static void
exchange(struct logged *x)
{
    x->snapshot = x->q.credits;
    x->inflight[1] = 0;
    for (; x->arrived.n; ring_pop(&x->arrived)) {
        const struct timed_packet *m = ring_front(&x->arrived);
        timed_queue_push(&x->q, &x->q.credits.used, m->at, m->credits);
    }
    x->inflight[1] = x->inflight[0];
    x->inflight[0] = 0;
}

static void
logged_in_quanta(struct logged *x, bool threads)
{
    struct arena a = {0};
    pthread_t other;
    timed_queue_init(&x->q, NULL, &a, MOST);
    ring_init(&x->arrived, &a, MOST);
    x->q.credits.back_at = 0;
    if (threads) {
        pthread_barrier_init(&x->step, NULL, 2);
        assert_int_equal(pthread_create(&other, NULL, leave_thread, x), 0);
    }
    for (uint64_t from = 0; from < TIMES; from += x->f->quantum) {
        if (threads)
            pthread_barrier_wait(&x->step);
        else
            leave_quantum(x, from);
        if (from)
            put_quantum(x, from - x->f->quantum);
        if (threads)
            pthread_barrier_wait(&x->step);
        exchange(x);
    }
    put_quantum(x, TIMES - x->f->quantum);
    if (threads) {
        pthread_join(other, NULL);
        pthread_barrier_destroy(&x->step);
    }
    arena_free(&a);
}

static void
logged_as_in_one_order(bool threads)
{
    /* At least two quanta in the queue; two quanta in the log. */
    static const struct traffic traffic[] = {
        {1, 60, 10, 20, 5, 12}, {2, 30, 16, 33, 4, 10}, {3, 90, 32, 64, 8, 15},
        {4, 9, 4, 8, 8, 12},    {5, 5, 20, 40, 8, 4},   {6, 200, 32, 99, 8, 16},
    };
    unsigned long refused = 0;
    struct events *e = malloc(sizeof *e);
    struct logged *x = aligned_alloc(64, (sizeof *x + 63) / 64 * 64);
    for (size_t i = 0; i < sizeof traffic / sizeof *traffic; i++) {
        assert_int_equal(TIMES % traffic[i].quantum, 0);
        plain_logged(&traffic[i], e);
        memset(x, 0, sizeof *x);
        x->f = &traffic[i];
        logged_in_quanta(x, threads);
        same_events(e, &x->e);
        refused += e->nrefused;
    }
    assert_true(refused > 5000);
    free(x);
    free(e);
}

static void
logged(void **state)
{
    (void)state;
    logged_as_in_one_order(false);
}

static void
logged_in_two_threads(void **state)
{
    (void)state;
    logged_as_in_one_order(true);
}

/* The example at the head of credits.h. */
static void
logged_by_hand(void **state)
{
    (void)state;
    struct arena a = {0};
    struct timed_queue q;
    timed_queue_init(&q, NULL, &a, 10);
    q.credits.back_at = 10;
    timed_queue_push(&q, &q.credits.used, 5, 8);
    timed_queue_leave(&q, 11);
    timed_queue_leave(&q, 12);
    q.credits.back_at = 12;
    static const enum room room[] = {ROOM_NO, ROOM_NO, ROOM_YES, ROOM_YES};
    for (uint64_t t = 11; t < 15; t++)
        assert_int_equal(credits_room(&q.credits, CREDITS_LOGGED, 10, 4, t),
                         room[t - 11]);
    assert_int_equal(credits_since(&q.credits, 11), 2);
    /* 64 ticks later the same places of the log are others. */
    timed_queue_forget(&q, 11 + CREDITS_TICKS);
    q.credits.back_at = 11 + CREDITS_TICKS;
    assert_int_equal(credits_since(&q.credits, 12), 1);
    timed_queue_forget(&q, 12 + CREDITS_TICKS);
    q.credits.back_at = 12 + CREDITS_TICKS;
    assert_int_equal(credits_since(&q.credits, 13), 0);
    arena_free(&a);
}

/* -- the consumer is behind -- */

/* The producer asks; what it does not know it asks again when the consumer has come there. */
static void
behind(void **state)
{
    (void)state;
    static const struct traffic f = {1, 7, 16, 3, 8, 6};
    struct events *e = malloc(sizeof *e), *x = calloc(1, sizeof *x);
    plain(&f, e);
    struct arena a = {0};
    struct timed_queue q;
    timed_queue_init(&q, NULL, &a, MOST);
    unsigned long unknown = 0;
    uint64_t put_at = 0, take_at = 0;
    while (put_at < TIMES) {
        q.credits.back_at = take_at; /* in each time the consumer is first */
        for (; put_at < TIMES; put_at++) {
            const unsigned n = wants_put(&f, put_at);
            if (!n)
                continue;
            const enum room room =
                credits_room(&q.credits, CREDITS_BEHIND, f.cap, n, put_at);
            if (room == ROOM_UNKNOWN)
                break;
            if (room == ROOM_NO)
                x->refused[x->nrefused++] = put_at;
            else {
                timed_queue_push(&q, &q.credits.used, put_at + f.delay, n);
                x->put[x->nput++] = put_at;
            }
        }
        unknown++;
        for (; take_at <= put_at && take_at < TIMES; take_at++)
            if (q.front_at < take_at && wants_take(&f, take_at)) {
                timed_queue_send(&q);
                x->taken[x->ntaken++] = take_at;
            }
    }
    same_events(e, x);
    assert_true(unknown > 500 && e->nrefused > 500);
    arena_free(&a);
    free(e);
    free(x);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken),          cmocka_unit_test(taken_in_two_threads),
        cmocka_unit_test(consumer_ahead), cmocka_unit_test(drained_by_hand),
        cmocka_unit_test(drained),        cmocka_unit_test(logged),
        cmocka_unit_test(behind),         cmocka_unit_test(logged_in_two_threads),
        cmocka_unit_test(logged_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
