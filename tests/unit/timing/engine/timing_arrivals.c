/* Requests on their way into slices that are simulated ahead of the crossbar: the same
 * pieces leave the delay lines in the same ticks as from slices that take packets in their
 * own ticks; in one thread, and with acceptance beside the slices in two. */
#include "base/splitmix.h"
#include "timing/engine/arrivals.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>

enum { SLICES = 3, INPUTS = 5, QUANTUM = 16, TICKS = QUANTUM * 1500, MOST = 4 * TICKS };

struct side {
    struct arena a;
    struct icnt *x;
    struct inbound in;
    struct arrivals arrivals;
    unsigned queue[SLICES], cap, most; /* pieces in the slices' queues */
    unsigned served;                   /* in 16 ticks */
    struct left {
        uint64_t tick;
        uint32_t token, slice;
    } * left;
    size_t nleft;
    uint64_t refused; /* ticks in which a packet waited */
    /* of the thread that has the slices */
    pthread_barrier_t step;
};

static const uint8_t half_of[INPUTS] = {0, 1, 0, 0, 1};

static void
start(struct side *s, bool ahead, bool alone, unsigned v)
{
    static const unsigned most[] = {60, 24, 200, 40}, cap[] = {6, 4, 12, 5};
    static const unsigned served[] = {12, 7, 16, 4};
    *s = (struct side){.cap = cap[v], .served = served[v]};
    s->x = icnt_new(&s->a, &(struct icnt_config){INPUTS, SLICES, 40, 64, 16, 6, 2, 1});
    s->in = (struct inbound){.requests = s->x,
                             .half_of = v & 1 ? half_of : NULL,
                             .slices = SLICES,
                             .unit = v < 2 ? 32 : 64,
                             .latency = {2 * QUANTUM + v, 2 * QUANTUM + 9},
                             .most = {most[v], v & 1 ? most[v] : 0},
                             .ahead = ahead};
    inbound_init(&s->in, &s->a);
    if (ahead) {
        arrivals_init(&s->arrivals, &s->a, &s->in);
        arrivals_alone(&s->arrivals, alone);
    }
    s->left = calloc(MOST, sizeof *s->left);
}

static void
end(struct side *s)
{
    free(s->left);
    arena_free(&s->a);
}

/* A tick of a slice: its queue loses a piece, or does not, and gets one. */
static void
slice_tick(struct side *s, unsigned i, uint64_t t)
{
    struct inbound_slice *b = &s->in.slice[i];
    s->queue[i] -= s->queue[i] && splitmix(t * 8 + i) % 16 < s->served;
    if (s->queue[i] < s->cap && inbound_ready(b) <= t) {
        const unsigned which =
            b->line[INBOUND_NEAR].front_at > t ? INBOUND_FAR : INBOUND_NEAR;
        const struct timed_packet *d = ring_front(&b->line[which].q);
        unsigned sectors = d->p.sectors;
        const unsigned first = sectors & -sectors;
        sectors &= ~(s->in.unit == 32 ? first : first & 3 ? 3u : 12u);
        s->left[s->nleft++] = (struct left){t, d->p.token, i};
        s->queue[i]++;
        inbound_leave(b, which, (uint8_t)sectors, t);
    }
    b->room = s->cap - s->queue[i] >= 4;
}

static void
send(struct side *s, uint64_t t)
{
    for (unsigned i = 0; i < INPUTS; i++) {
        const uint64_t h = splitmix(t * 8 + i + 7000000), busy = t / 500 % 4;
        const struct packet p = {.token = (uint32_t)(t * 8 + i),
                                 .sm = (uint16_t)i,
                                 .sectors = (uint8_t)(1 + (h >> 8) % 15)};
        if (h % 16 < 2 * busy && icnt_room(s->x, i, 1, t) == ROOM_YES)
            icnt_push(s->x, i, (unsigned)(h >> 20) % SLICES, 1, &p, 0, t);
    }
    icnt_step(s->x, t);
}

static void
in_own_ticks(struct side *s)
{
    for (uint64_t t = 1; t < TICKS; t++) {
        for (unsigned i = 0; i < SLICES; i++) {
            if (icnt_front_at(s->x, i) < t) {
                if (inbound_has_room(&s->in, &s->in.slice[i]))
                    inbound_receive(&s->in, i, t, t);
                else
                    s->refused++;
            }
            slice_tick(s, i, t);
        }
        send(s, t);
    }
}

static void
slices(struct side *s, uint64_t from)
{
    arrivals_begin(&s->arrivals, from + QUANTUM);
    for (uint64_t t = from + !from; t < from + QUANTUM; t++)
        for (unsigned i = 0; i < SLICES; i++) {
            inbound_tick(&s->in, &s->in.slice[i], t);
            slice_tick(s, i, t);
        }
    arrivals_end(&s->arrivals);
}

static void
crossbar(struct side *s, uint64_t from)
{
    for (uint64_t t = from + !from; t < from + QUANTUM; t++) {
        for (unsigned i = 0; i < SLICES; i++)
            if (icnt_front_at(s->x, i) < t)
                s->refused += !arrivals_accept(&s->arrivals, i, t, t);
        send(s, t);
    }
}

static void
ahead_alone(struct side *s)
{
    for (uint64_t from = 0; from < TICKS; from += QUANTUM) {
        slices(s, from);
        crossbar(s, from);
    }
}

static void *
slices_thread(void *user)
{
    struct side *s = user;
    for (uint64_t from = 0; from < TICKS; from += QUANTUM) {
        pthread_barrier_wait(&s->step);
        slices(s, from);
        pthread_barrier_wait(&s->step);
    }
    return NULL;
}

/* The crossbar is a quantum behind the slices. */
static void
ahead_beside(struct side *s)
{
    pthread_t other;
    pthread_barrier_init(&s->step, NULL, 2);
    assert_int_equal(pthread_create(&other, NULL, slices_thread, s), 0);
    for (uint64_t from = 0; from < TICKS; from += QUANTUM) {
        arrivals_swap(&s->arrivals);
        pthread_barrier_wait(&s->step);
        if (from)
            crossbar(s, from - QUANTUM);
        pthread_barrier_wait(&s->step);
        arrivals_publish(&s->arrivals);
        if (from / QUANTUM % 64 == 63)
            arrivals_settle(&s->arrivals); /* what is read between makes no difference */
    }
    crossbar(s, TICKS - QUANTUM);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&s->step);
}

static void
compare(bool alone)
{
    uint64_t refused = 0;
    for (unsigned v = 0; v < 4; v++) {
        struct side *own = aligned_alloc(64, (sizeof *own + 63) / 64 * 64);
        struct side *ahead = aligned_alloc(64, (sizeof *ahead + 63) / 64 * 64);
        start(own, false, false, v);
        start(ahead, true, alone, v);
        in_own_ticks(own);
        if (alone)
            ahead_alone(ahead);
        else
            ahead_beside(ahead);
        for (size_t i = 0; i < own->nleft && i < ahead->nleft; i++)
            if (memcmp(&own->left[i], &ahead->left[i], sizeof *own->left) != 0)
                fail_msg("%u: piece %zu in tick %llu, ahead in %llu", v, i,
                         (unsigned long long)own->left[i].tick,
                         (unsigned long long)ahead->left[i].tick);
        assert_int_equal(own->nleft, ahead->nleft);
        assert_true(own->nleft > 3000);
        assert_int_equal(own->refused, ahead->refused);
        refused += own->refused;
        end(own);
        end(ahead);
        free(own);
        free(ahead);
    }
    assert_true(refused > 1000);
}

static void
same_in_one_thread(void **state)
{
    (void)state;
    compare(true);
}

static void
same_in_two_threads(void **state)
{
    (void)state;
    compare(false);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_in_one_thread),
        cmocka_unit_test(same_in_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
