/* Crossbar: identical to a switch that moves every flit by itself; fair; saturates where
 * an input-queued switch does; holds packets back when the other side does not take them.
 */
#include "timing/mem/icnt.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed;

static uint32_t
rnd(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* -- a switch, flit by flit -- */
enum { PORTS = 130, MOST = 256 };

struct ref_packet {
    unsigned out, flits;
    uint32_t id;
    uint64_t entered; /* first cycle its head may use the input link */
    unsigned here;    /* flits before the switch */
    unsigned crossed, left;
};
struct ref_port {
    struct ref_packet q[MOST];
    unsigned head, n;
};
struct ref_flit {
    uint64_t ready; /* cycle from which it may use the output link */
    uint32_t id;
    bool tail;
};
struct ref {
    struct icnt_config c;
    struct ref_port in[PORTS];
    struct {
        int owner;      /* input, -1: free */
        unsigned delay; /* allocation steps still to go */
        unsigned next, reserved;
        struct ref_flit f[4 * MOST]; /* behind the switch */
        unsigned head, n;
        uint32_t out_id[MOST]; /* packets out, not popped */
        unsigned oh, on;
    } out[PORTS];
    bool busy[PORTS]; /* input owns an output */
};

static void
ref_cycle(struct ref *r, uint64_t cycle)
{
    /* input links: one flit */
    for (unsigned i = 0; i < r->c.inputs; i++) {
        struct ref_port *p = &r->in[i];
        for (unsigned j = 0; j < p->n; j++) {
            struct ref_packet *k = &p->q[(p->head + j) % MOST];
            if (k->here < k->flits) {
                if (cycle >= k->entered + r->c.latency / 2)
                    k->here++;
                break;
            }
        }
    }
    for (unsigned s = 0; s < r->c.speedup; s++) {
        /* give free outputs */
        bool moved_in[PORTS] = {0}, given[PORTS] = {0};
        for (unsigned o = 0; o < r->c.outputs; o++) {
            if (r->out[o].owner >= 0)
                continue;
            for (unsigned n = 0; n < r->c.inputs; n++) {
                unsigned i = (r->out[o].next + n) % r->c.inputs;
                struct ref_port *p = &r->in[i];
                struct ref_packet *k = &p->q[p->head];
                if (!p->n || r->busy[i] || !k->here || k->out != o)
                    continue;
                if (r->out[o].reserved &&
                    r->out[o].reserved + k->flits > r->c.output_buffer)
                    break;
                r->out[o].owner = (int)i;
                r->out[o].delay = r->c.allocation;
                r->out[o].next = (i + 1) % r->c.inputs;
                r->out[o].reserved += k->flits;
                r->busy[i] = true;
                given[o] = true;
                break;
            }
        }
        /* move one flit an output */
        bool freed[PORTS] = {0};
        for (unsigned o = 0; o < r->c.outputs; o++) {
            int i = r->out[o].owner;
            if (i < 0)
                continue;
            if (given[o] && r->c.allocation)
                continue; /* this step went to the allocation */
            if (r->out[o].delay > 1) {
                r->out[o].delay--;
                continue;
            }
            struct ref_port *p = &r->in[i];
            struct ref_packet *k = &p->q[p->head];
            if (k->crossed >= k->here || moved_in[i])
                continue;
            moved_in[i] = true;
            k->crossed++;
            bool tail = k->crossed == k->flits;
            r->out[o].f[(r->out[o].head + r->out[o].n++) % (4 * MOST)] =
                (struct ref_flit){cycle + (r->c.latency - r->c.latency / 2), k->id, tail};
            freed[o] = tail;
        }
        for (unsigned o = 0; o < r->c.outputs; o++)
            if (freed[o]) {
                struct ref_port *p = &r->in[r->out[o].owner];
                r->busy[r->out[o].owner] = false;
                r->out[o].owner = -1;
                p->head = (p->head + 1) % MOST;
                p->n--;
            }
    }
    /* output links: one flit */
    for (unsigned o = 0; o < r->c.outputs; o++)
        if (r->out[o].n && r->out[o].f[r->out[o].head].ready <= cycle) {
            struct ref_flit *f = &r->out[o].f[r->out[o].head];
            if (f->tail)
                r->out[o].out_id[(r->out[o].oh + r->out[o].on++) % MOST] = f->id;
            r->out[o].head = (r->out[o].head + 1) % (4 * MOST);
            r->out[o].n--;
        }
}

/* Flits in the input buffer: everything that has not crossed. */
static unsigned
ref_used(const struct ref *r, unsigned i)
{
    unsigned n = 0;
    for (unsigned j = 0; j < r->in[i].n; j++) {
        const struct ref_packet *k = &r->in[i].q[(r->in[i].head + j) % MOST];
        n += k->flits - k->crossed;
    }
    return n;
}

struct promise { /* what icnt_room said of an input and a later cycle */
    uint64_t at;
    unsigned flits; /* 0: none */
    enum room room;
    bool pushed; /* since: it took of the room */
};

/* Kept in that cycle. Then a new one is asked for. */
static void
keep_promise(struct icnt *n, struct promise *p, unsigned in, uint64_t cycle,
             unsigned *kept)
{
    if (p->flits && cycle < p->at)
        return;
    if (p->flits && !(p->room == ROOM_YES && p->pushed)) {
        assert_int_equal(icnt_room(n, in, p->flits, cycle), p->room);
        kept[p->room]++;
    }
    *p = (struct promise){.at = cycle + 1 + rnd(12), .flits = 1 + rnd(5)};
    p->room = icnt_room(n, in, p->flits, p->at);
    assert_int_equal(icnt_may_have_room(n, in, p->flits, p->at), p->room != ROOM_NO);
    if (p->room == ROOM_NO && icnt_room_at(n, in) != NEVER && rnd(2))
        *p = (struct promise){.at = icnt_room_at(n, in), .flits = 1, .room = ROOM_YES};
    if (p->room != ROOM_UNKNOWN)
        return;
    kept[ROOM_UNKNOWN]++;
    p->flits = 0;
}

static void
same_as_flits(void **state)
{
    (void)state;
    unsigned kept[3] = {0}; /* by answer */
    static struct icnt_config configs[] = {
        {4, 3, 40, 64, 64, 5, 2, 1}, {8, 8, 40, 16, 8, 5, 2, 1},
        {5, 7, 40, 6, 5, 1, 1, 1},   {8, 2, 40, 64, 12, 0, 3, 1},
        {3, 8, 40, 9, 64, 7, 2, 0},  {6, 6, 40, 30, 20, 4, 1, 0},
        {7, 5, 40, 64, 64, 3, 2, 2}, {4, 4, 40, 200, 64, 160, 2, 1}, /* far ahead */
        {130, 3, 40, 9, 8, 5, 2, 1}, /* several words of inputs */
    };
    for (size_t v = 0; v < sizeof configs / sizeof *configs; v++)
        for (int load = 0; load < 3; load++) {
            struct arena a = {0};
            struct icnt *n = icnt_new(&a, &configs[v]);
            struct ref *r = calloc(1, sizeof *r);
            r->c = configs[v];
            for (int o = 0; o < PORTS; o++)
                r->out[o].owner = -1;
            static unsigned flits_of[1 << 16];
            uint32_t id = 0, popped = 0;
            struct promise promise[PORTS] = {0};
            seed = 99 + v * 7 + (unsigned)load;
            for (uint64_t cycle = 0; cycle < 6000; cycle++) {
                icnt_skip(n, cycle);
                for (unsigned i = 0; i < r->c.inputs; i++)
                    keep_promise(n, &promise[i], i, cycle, kept);
                for (unsigned i = 0; i < r->c.inputs && cycle < 5000; i++) {
                    if (rnd(10) >= (load == 0 ? 2u : load == 1 ? 6u : 10u))
                        continue;
                    unsigned flits = 1 + rnd(5), out = rnd(r->c.outputs);
                    if (load == 2 && rnd(2))
                        out = 0; /* a hot spot */
                    unsigned used = ref_used(r, i);
                    bool room = !used || used + flits <= r->c.input_buffer;
                    assert_int_equal(icnt_room(n, i, flits, cycle),
                                     room ? ROOM_YES : ROOM_NO);
                    if (!room)
                        continue;
                    struct packet p = {.token = id};
                    icnt_push(n, i, out, flits, &p, 0, cycle);
                    promise[i].pushed = true;
                    struct ref_port *q = &r->in[i];
                    q->q[(q->head + q->n++) % MOST] = (struct ref_packet){
                        .out = out, .flits = flits, .id = id, .entered = cycle};
                    flits_of[id++] = flits;
                }
                uint64_t next = icnt_next(n);
                if (next <= cycle || rnd(2)) /* leaving out is allowed, stepping too */
                    icnt_step(n, cycle);
                ref_cycle(r, cycle);
                for (unsigned o = 0; o < r->c.outputs; o++) {
                    bool out =
                        icnt_front_at(n, o) <= cycle && icnt_front_at(n, o) != NEVER;
                    assert_int_equal(out, r->out[o].on != 0);
                    if (!out || (rnd(4) == 0 && cycle < 5000))
                        continue;
                    assert_int_equal(icnt_front(n, o)->p.token,
                                     r->out[o].out_id[r->out[o].oh]);
                    r->out[o].reserved -= flits_of[icnt_front(n, o)->p.token];
                    r->out[o].oh = (r->out[o].oh + 1) % MOST;
                    r->out[o].on--;
                    icnt_pop(n, o, cycle + 1);
                    popped++;
                }
            }
            assert_true(popped > 500);
            assert_int_equal(popped, id);
            free(r);
            arena_free(&a);
        }
    assert_true(kept[ROOM_NO] > 1000 && kept[ROOM_YES] > 1000);
    assert_true(kept[ROOM_UNKNOWN] > 1000);
}

/* In cycle t the same packets have come out of both; most of them are popped: how many.
 */
static unsigned
pop_same(struct icnt *whole, struct icnt *detached, const struct icnt_config *c,
         uint64_t t)
{
    unsigned popped = 0;
    for (unsigned o = 0; o < c->outputs; o++) {
        bool ripe = icnt_front_at(whole, o) < t;
        assert_int_equal(icnt_front_at(detached, o) < t, ripe);
        if (!ripe || rnd(5) == 0)
            continue;
        const struct packet *p = &icnt_front(whole, o)->p;
        assert_int_equal(icnt_front(detached, o)->p.token, p->token);
        assert_int_equal(icnt_front(detached, o)->p.addr, p->addr);
        icnt_pop(whole, o, t);
        icnt_pop(detached, o, t);
        popped++;
    }
    return popped;
}

/* The same traffic through a crossbar stepped cycle by cycle and through one that is set
 * apart for windows of three cycles: first its steps as far as they go, then what ports
 * do in the window, then the rest. Packets come out in the same cycles. */
static void
detached_is_the_same(void **state)
{
    (void)state;
    enum { QUANTUM = 3, CYCLES = 6000 };
    unsigned long known = 0, unknown = 0;
    static struct icnt_config configs[] = {
        {4, 3, 40, 64, 64, 6, 2, 1},  {8, 8, 40, 16, 8, 7, 2, 1},
        {5, 7, 40, 6, 5, 6, 1, 1},    {8, 2, 40, 64, 12, 8, 3, 1},
        {70, 3, 40, 64, 64, 6, 2, 1},
    };
    for (size_t v = 0; v < sizeof configs / sizeof *configs; v++) {
        const struct icnt_config *c = &configs[v];
        struct arena a = {0};
        struct icnt *whole = icnt_new(&a, c), *detached = icnt_new(&a, c);
        uint32_t id = 0;
        unsigned long popped = 0;
        seed = 7 + v;
        for (uint64_t from = 0; from < CYCLES; from += QUANTUM) {
            /* Pushes of a window come to the switch after it: latency / 2 cycles. */
            for (uint64_t t = from; t < from + QUANTUM; t++)
                for (unsigned i = 0; i < c->inputs && rnd(4); i++) {
                    unsigned flits = 1 + rnd(5), out = rnd(c->outputs);
                    enum room room = icnt_room(whole, i, flits, from);
                    assert_int_equal(icnt_room(detached, i, flits, from), room);
                    if (room != ROOM_YES)
                        continue;
                    struct packet p = {.token = id++};
                    icnt_push(whole, i, out, flits, &p, 0, t);
                    icnt_push(detached, i, out, flits, &p, 0, t);
                }
            icnt_detach(detached);
            uint64_t done = from;
            while (done < from + QUANTUM && icnt_step(detached, done))
                done++;
            known += done - from;
            unknown += from + QUANTUM - done;
            for (uint64_t t = from; t < from + QUANTUM; t++) {
                popped += pop_same(whole, detached, c, t);
                icnt_step(whole, t);
            }
            icnt_attach(detached);
            for (; done < from + QUANTUM; done++)
                assert_true(icnt_step(detached, done));
            for (unsigned o = 0; o < c->outputs; o++)
                assert_true(icnt_front_at(whole, o) == icnt_front_at(detached, o));
        }
        assert_true(popped > 500);
        arena_free(&a);
    }
    assert_true(known > 500 && unknown > 500);
}

/* What input i gets in cycle t: its flits, 0: nothing; *out: for which output. */
static unsigned
sent(const struct icnt_config *c, uint64_t t, unsigned i, unsigned *out)
{
    uint64_t h = (t * 64 + i) * 0x9e3779b97f4a7c15;
    *out = (unsigned)(h >> 40) % c->outputs;
    return (h >> 32) % 8 ? 0 : 1 + (unsigned)(h >> 50) % 5;
}

static void
send_quantum(struct icnt *n, const struct icnt_config *c, uint64_t from, uint64_t to)
{
    for (uint64_t t = from; t < to; t++)
        for (unsigned i = 0; i < c->inputs; i++) {
            unsigned out, flits = sent(c, t, i, &out);
            struct packet p = {.addr = t, .token = i};
            if (flits)
                icnt_push(n, i, out, flits, &p, 0, t);
        }
}

/* A crossbar that is set apart and goes through windows of twelve cycles before its ports
 * do, as far as it gets, gives the packets of one stepped cycle by cycle, in the same
 * cycles. Ports then go as far as it is known what they see: `behind` cycles after its
 * last. Inputs are long, so that all is sent. */
static void
ahead_of_pops(void **state)
{
    (void)state;
    enum { QUANTUM = 12, CYCLES = 6000 };
    unsigned long known = 0, unknown = 0;
    static struct icnt_config configs[] = {
        {4, 3, 40, 20000, 64, 6, 2, 1},   {8, 8, 40, 20000, 8, 7, 2, 1},
        {5, 7, 40, 20000, 5, 6, 1, 1},    {8, 6, 40, 20000, 12, 8, 3, 1},
        {70, 67, 40, 20000, 64, 8, 3, 1}, {6, 4, 40, 20000, 64, 150, 2, 1},
    };
    for (size_t v = 0; v < sizeof configs / sizeof *configs; v++) {
        const struct icnt_config *c = &configs[v];
        const unsigned behind = c->latency - c->latency / 2;
        struct arena a = {0};
        struct icnt *whole = icnt_new(&a, c), *detached = icnt_new(&a, c);
        unsigned long popped = 0;
        uint64_t at = 0, done = 0; /* of the ports; first step of `apart` not made */
        seed = 11 + v;
        for (uint64_t to = QUANTUM; to < CYCLES; to += QUANTUM) {
            send_quantum(detached, c, to - QUANTUM, to);
            while (at < to) {
                icnt_detach(detached);
                while (done < to && icnt_step(detached, done))
                    done++;
                icnt_attach(detached);
                known += done == to;
                unknown += done < to;
                for (uint64_t end = done + behind; at < to && at <= end; at++) {
                    send_quantum(whole, c, at, at + 1);
                    popped += pop_same(whole, detached, c, at);
                    icnt_step(whole, at);
                }
                while (done < at && icnt_step(detached, done))
                    done++;
                assert_true(done >= at);
            }
        }
        assert_true(popped > 500);
        arena_free(&a);
    }
    assert_true(known > 500 && unknown > 500);
}

/* 15 inputs that always want output 0: each gets its turn in order. */
static void
round_robin(void **state)
{
    (void)state;
    struct arena a = {0};
    struct icnt *n = icnt_new(&a, &(struct icnt_config){15, 12, 40, 64, 64, 5, 2, 1});
    unsigned got[15] = {0};
    uint32_t last = 0;
    for (uint64_t c = 0; c < 3000; c++) {
        for (unsigned i = 0; i < 15; i++)
            if (icnt_room(n, i, 1, c) == ROOM_YES)
                icnt_push(n, i, 0, 1, &(struct packet){.token = i}, 0, c);
        icnt_step(n, c);
        if (icnt_front_at(n, 0) <= c) {
            uint32_t t = icnt_front(n, 0)->p.token;
            if (c > 20)
                assert_int_equal(t, (last + 1) % 15);
            last = t;
            got[t]++;
            icnt_pop(n, 0, c + 1);
        }
    }
    for (int i = 0; i < 15; i++)
        assert_in_range(got[i], 2990 / 15, 3000 / 15);
    arena_free(&a);
}

/* Packets of one and of four flits through one pair of ports: with two switch steps a
 * cycle a packet takes 1 + F steps, but its links F cycles. */
static void
throughput_of_a_pair(void **state)
{
    (void)state;
    for (unsigned flits = 1; flits <= 4; flits += 3) {
        struct arena a = {0};
        struct icnt *n = icnt_new(&a, &(struct icnt_config){2, 2, 40, 64, 64, 5, 2, 1});
        unsigned got = 0;
        for (uint64_t c = 0; c < 4010; c++) {
            if (icnt_room(n, 0, flits, c) == ROOM_YES)
                icnt_push(n, 0, 1, flits, &(struct packet){0}, 0, c);
            icnt_step(n, c);
            if (icnt_front_at(n, 1) <= c) {
                icnt_pop(n, 1, c + 1);
                got += c >= 10;
            }
        }
        assert_in_range(got, 4000 / flits - 1, 4000 / flits);
        arena_free(&a);
    }
}

/* Unloaded: F flits pushed before cycle t are out after cycle t + latency + F - 1. */
static void
latency(void **state)
{
    (void)state;
    for (unsigned lat = 0; lat < 9; lat++)
        for (unsigned flits = 1; flits <= 5; flits++) {
            struct arena a = {0};
            struct icnt *n =
                icnt_new(&a, &(struct icnt_config){1, 1, 40, 64, 64, lat, 2, 1});
            icnt_push(n, 0, 0, flits, &(struct packet){0}, 0, 7);
            for (uint64_t c = 7; c < 40; c++)
                icnt_step(n, c);
            assert_int_equal(icnt_front_at(n, 0), 7 + lat + flits - 1);
            arena_free(&a);
        }
}

/* One FIFO an input, uniform single-flit traffic, one packet a cycle and port: the switch
 * saturates where head-of-line blocking says, 2 - sqrt 2 = 0.586 for many ports, a little
 * more for few (0.6 for 16; Karol, Hluchyj, Morgan 1987, table I: 0.6 at N = 8 is 0.618).
 */
static void
head_of_line(void **state)
{
    (void)state;
    struct arena a = {0};
    struct icnt *n = icnt_new(&a, &(struct icnt_config){64, 64, 40, 64, 64, 5, 2, 1});
    uint64_t got = 0;
    seed = 5;
    for (uint64_t c = 0; c < 4000; c++) {
        for (unsigned i = 0; i < 64; i++)
            if (icnt_room(n, i, 1, c) == ROOM_YES)
                icnt_push(n, i, rnd(64), 1, &(struct packet){0}, 0, c);
        icnt_step(n, c);
        for (unsigned o = 0; o < 64; o++)
            if (icnt_front_at(n, o) <= c) {
                icnt_pop(n, o, c + 1);
                got += c >= 1000;
            }
    }
    double rate = (double)got / 3000 / 64;
    assert_true(rate > 0.57 && rate < 0.61);
    arena_free(&a);
}

/* Nobody takes packets: output buffer and input buffer fill up, then the door is shut;
 * one taken packet lets one in. */
static void
back_pressure(void **state)
{
    (void)state;
    struct arena a = {0};
    struct icnt *n = icnt_new(&a, &(struct icnt_config){1, 1, 40, 8, 12, 5, 2, 1});
    unsigned in = 0;
    uint64_t c = 0;
    for (; c < 100; c++) {
        if (icnt_room(n, 0, 4, c) == ROOM_YES) {
            icnt_push(n, 0, 0, 4, &(struct packet){0}, 0, c);
            in++;
        }
        icnt_step(n, c);
    }
    assert_int_equal(in, 8 / 4 + 12 / 4);
    assert_true(icnt_next(n) == NEVER);
    assert_true(icnt_busy(n));
    icnt_pop(n, 0, c);
    assert_int_equal(icnt_next(n), c);
    icnt_step(n, c++);
    for (int k = 0; k < 4; k++)
        icnt_step(n, c++);
    assert_int_equal(icnt_room(n, 0, 4, c), ROOM_YES);
    arena_free(&a);
}

static void
flit_counts(void **state)
{
    (void)state;
    assert_int_equal(icnt_flits(0, 40), 1);
    assert_int_equal(icnt_flits(8, 40), 1);
    assert_int_equal(icnt_flits(40, 40), 1);
    assert_int_equal(icnt_flits(41, 40), 2);
    assert_int_equal(icnt_flits(136, 40), 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_flits),        cmocka_unit_test(detached_is_the_same),
        cmocka_unit_test(ahead_of_pops),        cmocka_unit_test(round_robin),
        cmocka_unit_test(throughput_of_a_pair), cmocka_unit_test(latency),
        cmocka_unit_test(head_of_line),         cmocka_unit_test(back_pressure),
        cmocka_unit_test(flit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
