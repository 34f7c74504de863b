/* Replies on their way out of slices that are simulated ahead of the crossbar: the same
 * replies come through it in the same ticks as when all goes tick by tick. */
#include "base/splitmix.h"
#include "timing/mem/outbound.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

enum { SLICES = 4, OUTPUTS = 3, QUANTUM = 16, TICKS = QUANTUM * 1500, MOST = 3 * TICKS };

struct side {
    struct arena a;
    struct icnt *x;
    struct clk clk;
    struct stat_mem stats;
    struct outbound out;
    uint64_t wake[SLICES];
    uint64_t tick; /* of the slices: first not done */
    struct came {
        uint64_t tick;
        uint32_t token, out;
    } * came;
    size_t ncame;
    unsigned long deferred, stopped, full;
};

static const uint16_t port_of[8] = {0, 1, 2, 0, 1, 2, 0, 0};

static void
start(struct side *s, unsigned v)
{
    static const unsigned cap[] = {8, 2, 4, 12}, buffer[] = {10, 20, 6, 64};
    *s = (struct side){0};
    clk_init(&s->clk, (const double[CLK_DOMAINS]){100, 100, 100, 100});
    s->x = icnt_new(&s->a, &(struct icnt_config){SLICES, OUTPUTS, 32, buffer[v], 8, 40,
                                                 1 + v % 2, 1});
    s->out = (struct outbound){.replies = s->x,
                               .clk = &s->clk,
                               .port_of = port_of,
                               .stats = &s->stats,
                               .slices = SLICES,
                               .header = 8,
                               .flit = 32,
                               .direct = cap[v] >= 4,
                               .end = TICKS};
    outbound_init(&s->out, &s->a, cap[v], cap[v] + 2);
    for (unsigned i = 0; i < SLICES; i++)
        s->out.slice[i].wake = &s->wake[i];
    s->came = calloc(MOST, sizeof *s->came);
}

/* What the L2 does in a tick: in each slice two replies at most, as far as there is room;
 * one of them is ready later. A slice whose queue is full sleeps until it has room. */
static void
slices_tick(struct side *s, uint64_t t)
{
    for (unsigned i = 0; i < SLICES; i++)
        for (unsigned k = 0; k < 2; k++) {
            struct outbound_slice *o = &s->out.slice[i];
            const uint64_t h = splitmix(t * 16 + i * 2 + k), busy = t / 400 % 3;
            if (h % 16 >= 4 * busy || s->wake[i] > t)
                continue;
            if (ring_full(&o->q.q)) {
                s->full++;
                s->wake[i] = NEVER;
                continue;
            }
            const uint32_t number = freelist_take(&o->numbers);
            o->request[number].p =
                (struct packet){.token = (uint32_t)(t * 16 + i * 2 + k),
                                .sm = (uint16_t)((h >> 20) % 8),
                                .kind = h >> 30 & 1 ? PKT_READ : PKT_WRITE,
                                .bytes = (uint16_t)(32 * (1 + (h >> 32) % 4))};
            outbound_answer(&s->out, i, number, t, t + k * (h >> 40) % 3, t + 1);
        }
}

/* The crossbar's tick, and who takes what comes through. */
static void
crossbar_tick(struct side *s, uint64_t t)
{
    for (unsigned o = 0; o < OUTPUTS; o++)
        if (icnt_front_at(s->x, o) < t && splitmix(t * 4 + o + 9000000) % 8) {
            s->came[s->ncame++] = (struct came){t, icnt_front(s->x, o)->p.token, o};
            icnt_pop(s->x, o, t);
        }
    assert_true(icnt_step(s->x, t));
}

/* Up to tick `to`; or to one that depends on whether replies have left. */
static void
slices_to(struct side *s, uint64_t to)
{
    for (; s->tick < to; s->tick++) {
        outbound_send(&s->out, s->tick, s->tick);
        if (outbound_room(&s->out, s->tick) == ROOM_UNKNOWN) {
            s->stopped++;
            return;
        }
        slices_tick(s, s->tick);
    }
}

static void
tick_by_tick(struct side *s)
{
    while (s->tick < TICKS) {
        const uint64_t t = s->tick;
        slices_to(s, t + 1);
        assert_false(outbound_deferred(&s->out)); /* all is known */
        crossbar_tick(s, t);
    }
}

static void
in_quanta(struct side *s)
{
    for (uint64_t from = 0; from < TICKS; from += QUANTUM) {
        s->out.end = from + QUANTUM;
        slices_to(s, from + QUANTUM);
        s->deferred += outbound_deferred(&s->out);
        for (uint64_t t = from; t < from + QUANTUM; t++) {
            if (s->tick == t) {
                outbound_caught_up(&s->out);
                slices_to(s, from + QUANTUM);
            } else {
                outbound_follow(&s->out, t);
            }
            crossbar_tick(s, t);
        }
        outbound_follow(&s->out, from + QUANTUM);
        assert_false(outbound_deferred(&s->out));
        assert_true(s->tick == from + QUANTUM);
    }
}

static void
same_ahead(void **state)
{
    (void)state;
    unsigned long deferred = 0, stopped = 0, full = 0;
    for (unsigned v = 0; v < 4; v++) {
        struct side *a = aligned_alloc(64, (sizeof *a + 63) / 64 * 64);
        struct side *b = aligned_alloc(64, (sizeof *b + 63) / 64 * 64);
        start(a, v);
        start(b, v);
        tick_by_tick(a);
        in_quanta(b);
        for (size_t i = 0; i < a->ncame && i < b->ncame; i++)
            if (memcmp(&a->came[i], &b->came[i], sizeof *a->came) != 0)
                fail_msg("%u: reply %zu: tick %llu, token %x; ahead tick %llu, token %x",
                         v, i, (unsigned long long)a->came[i].tick, a->came[i].token,
                         (unsigned long long)b->came[i].tick, b->came[i].token);
        assert_int_equal(a->ncame, b->ncame);
        assert_true(a->ncame > 3000);
        assert_int_equal(a->full, b->full);
        assert_int_equal(a->stopped, 0);
        assert_memory_equal(&a->stats, &b->stats, sizeof a->stats);
        deferred += b->deferred;
        stopped += b->stopped;
        full += a->full;
        struct side *both[] = {a, b};
        for (int k = 0; k < 2; k++) {
            free(both[k]->came);
            arena_free(&both[k]->a);
            free(both[k]);
        }
    }
    assert_true(deferred > 200 && stopped > 200 && full > 500);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
