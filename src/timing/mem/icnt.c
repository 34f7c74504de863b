/* icnt.c: one crossbar of the interconnect.
 *
 * An input-queued switch with one FIFO per input and no virtual channels, so there is
 * head-of-line blocking. Such a switch saturates near 2 - sqrt 2 = 58.6 % under uniform
 * traffic (Karol, Hluchyj, Morgan, IEEE Trans. Comm. 35(12), 1987). Every output has a
 * round-robin pointer over the inputs that moves past the winner, as in iSLIP with one
 * iteration (McKeown, IEEE/ACM Trans. Networking 7(2), 1999). With one FIFO per input,
 * iSLIP's accept phase has nothing to choose.
 *
 * A packet of F flits comes over its input link one flit a cycle. The switch makes
 * `speedup` steps a cycle. A head at the front of its FIFO is first granted the output
 * (`allocation` steps). Then its flits cross, one a step, as they arrive. Input and output
 * are free for the next head in the step after the tail has crossed. Behind the switch a
 * link carries one flit a cycle. An output is granted only when the whole packet has room
 * behind it (virtual cut-through: Kermani, Kleinrock, Computer Networks 3, 1979).
 *
 * Nothing is done per flit: when the output is granted, the step in which each flit moves
 * is known. The head is before the switch at cycle a, the output is granted in step g:
 *   flit j crosses in step max(g + allocation + j, speedup * (a + j)),
 *   and leaves on the output link as soon as that is free, one flit a cycle.
 * tests/unit/timing/mem/timing_icnt.c compares this with a switch that moves every flit.
 *
 * Cost of a cycle: the inputs whose head has not bid yet, and the outputs that are bid
 * for.
 *
 * Ports and switch are simulated up to different cycles. The buffers at both sides are
 * timed queues (timed_queue.h): what is pushed and popped carries its cycle, and counts
 * from that cycle on. A packet is drained from an input buffer, a flit a step, and taken
 * from an output buffer as a whole. Whether there is room before the switch may depend on
 * steps that are not made yet: then icnt_room is ROOM_UNKNOWN.
 * What belongs to one port (struct input, outlet, its byte of `pushed`) is changed by one
 * thread only between steps. A detached switch has its output buffers split, so that ports
 * may pop while it is stepped. It stops where pops unknown to it could matter. */
#include "timing/mem/icnt.h"
#include "base/inline.h"
#include "timing/mem/timed_queue.h"

#include <string.h>

struct input {
    struct timed_queue q; /* drained; time: steps of the switch */
    /* Packets of full_for flits or more have no room before cycle full_until; and have it
     * then, if that is sure. */
    uint64_t full_until;
    uint16_t full_for;
    bool full_sure;
    uint16_t out;       /* of the head of q */
    uint64_t link_free; /* cycle in which the next head may be before the switch */
    uint64_t bid_at;    /* step from which the head of q may bid */
};
static_assert(sizeof(struct input) == 128, "two lines");

struct output { /* the switch's side */
    _Alignas(64) struct tq_split split;
    uint64_t free_at;   /* step from which it can be given */
    uint64_t link_free; /* first cycle in which the output link has nothing to carry */
    uint16_t next;      /* round-robin pointer */
    uint16_t bids;
};
static_assert(sizeof(struct output) == 64, "one line");

#ifndef ICNT_STEPS /* tests take less, so that they get to the ends of it */
#define ICNT_STEPS 128
#endif
enum {
    STEPS = ICNT_STEPS
}; /* ahead of which heads that wait are sorted; a power of two */

struct icnt {
    struct icnt_config c;
    unsigned words;          /* of a bit set over inputs */
    unsigned before, behind; /* latency before and behind the switch */
    unsigned whole, turn;    /* allocation in cycles; step of a cycle from which it is one
                              * more */
    struct input *in;
    struct output *out;
    struct timed_queue *outlet; /* the port's side of an output; time: cycles */
    uint8_t *pushed;   /* by input: a head came since the last step, not yet in `idle` */
    uint64_t *granted; /* inputs that got an output since the caller last cleared them */
    uint64_t *idle;    /* inputs with a head that has not bid */
    uint64_t *ripe;    /* of those by step, modulo STEPS: which bid in it */
    uint64_t *bids;    /* outputs x inputs */
    uint64_t *asked;   /* outputs with bids */
    uint64_t *fresh;
    /* Changed in steps, while other threads read the above. */
    _Alignas(64) bool detached;
    uint64_t cycle;  /* first not stepped */
    uint64_t step;   /* first not made yet: of all that is due before, heads have bid */
    uint64_t far_at; /* least step of heads that are further ahead; NEVER: none */
    unsigned steps;  /* made of the cycle that was left in part */
    uint64_t *unpublished; /* outputs with such packets */
    unsigned heads;        /* inputs that have one, but for those in `pushed` */
};

struct icnt *
icnt_new(struct arena *a, const struct icnt_config *c)
{
    struct icnt *n = ARENA_NEW(a, struct icnt);
    n->c = *c;
    n->words = (unsigned)BITSET_WORDS(c->inputs);
    n->before = c->latency / 2;
    n->behind = c->latency - n->before;
    n->whole = c->allocation / c->speedup;
    n->turn = c->speedup - c->allocation % c->speedup;
    n->in = ARENA_ARRAY(a, struct input, c->inputs);
    n->out = ARENA_ARRAY(a, struct output, c->outputs);
    n->outlet = ARENA_ARRAY(a, struct timed_queue, c->outputs);
    for (unsigned i = 0; i < c->inputs; i++)
        timed_queue_init(&n->in[i].q, NULL, a, c->input_buffer);
    for (unsigned i = 0; i < c->outputs; i++)
        timed_queue_init(&n->outlet[i], &n->out[i].split, a, c->output_buffer);
    n->pushed = arena_alloc_aligned(a, (c->inputs + 63) / 64 * 64, 64);
    n->granted = bitset_new(a, c->inputs);
    n->idle = bitset_new(a, c->inputs);
    n->ripe = ARENA_ARRAY(a, uint64_t, (size_t)n->words * STEPS);
    n->far_at = NEVER;
    n->bids = ARENA_ARRAY(a, uint64_t, (size_t)n->words * c->outputs);
    n->asked = bitset_new(a, c->outputs);
    n->fresh = bitset_new(a, c->outputs);
    n->unpublished = bitset_new(a, c->outputs);
    return n;
}

void
icnt_skip(struct icnt *n, uint64_t cycle)
{
    n->cycle = cycle;
}

uint64_t
icnt_cycle(const struct icnt *n)
{
    return n->cycle;
}

static inline const struct timed_packet *
head_of(const struct icnt *n, unsigned in)
{
    return ring_front(&n->in[in].q.q);
}

/* Members from..to-1 that lie in word w of a bit set. */
static uint64_t
bits_between(unsigned w, unsigned from, unsigned to)
{
    unsigned lo = from > w * 64 ? from - w * 64 : 0, hi = to > w * 64 ? to - w * 64 : 0;
    hi = hi < 64 ? hi : 64;
    return lo < hi ? ~(uint64_t)0 >> (64 - (hi - lo)) << lo : 0;
}

/* First step from k on in which the head of an input can get its output: those that have
 * bid and lie before it in the output's turn come first, and each keeps the output until
 * its last flit has crossed. */
static uint64_t
grant_from(const struct icnt *n, unsigned in, uint64_t k)
{
    const struct input *p = &n->in[in];
    const struct output *o = &n->out[p->out];
    const uint64_t *bids = n->bids + (size_t)p->out * n->words;
    k = o->free_at > k ? o->free_at : k;
    for (unsigned w = 0; w < n->words; w++) {
        if (!bids[w])
            continue;
        uint64_t before = bits_between(w, o->next, in);
        if (in < o->next)
            before = bits_between(w, o->next, n->c.inputs) | bits_between(w, 0, in);
        FOR_BITS(b, bids[w] & before)
        k += n->c.allocation + head_of(n, w * 64 + (unsigned)b)->credits;
    }
    return p->bid_at > k ? p->bid_at : k;
}

/* It does not fit. No cycle before *from has room, whatever those not stepped yet bring;
 * true: that one has it. */
static bool
room_from(const struct icnt *n, unsigned in, unsigned flits, uint64_t *from)
{
    const struct credits *c = &n->in[in].q.credits;
    const unsigned s = n->c.speedup, cap = n->c.input_buffer;
    uint64_t k;
    const bool sure = credits_back_from(c, cap, flits, &k);
    if (!sure)
        k = credits_back_after(c, cap, flits,
                               grant_from(n, in, n->cycle * s) + n->c.allocation);
    *from = (k + s - 1) / s;
    return sure;
}

/* As far as was found out when room was last asked for. */
static inline bool
known_full(const struct input *i, unsigned flits, uint64_t cycle)
{
    return cycle < i->full_until && flits >= i->full_for;
}

/* It does without steps that are not made yet. */
static inline bool
fits(const struct icnt *n, const struct input *i, unsigned flits, uint64_t cycle)
{
    return credits_room(&i->q.credits, CREDITS_DRAINED, n->c.input_buffer, flits,
                        cycle * n->c.speedup) == ROOM_YES;
}

enum room
icnt_room(struct icnt *n, unsigned in, unsigned flits, uint64_t cycle)
{
    struct input *i = &n->in[in];
    if (known_full(i, flits, cycle))
        return ROOM_NO;
    if (fits(n, i, flits, cycle))
        return ROOM_YES;
    uint64_t from;
    const bool sure = room_from(n, in, flits, &from);
    if (from <= cycle)
        return ROOM_UNKNOWN;
    i->full_until = from;
    i->full_for = (uint16_t)flits;
    i->full_sure = sure;
    return ROOM_NO;
}

bool
icnt_may_have_room(const struct icnt *n, unsigned in, unsigned flits, uint64_t cycle)
{
    const struct input *i = &n->in[in];
    uint64_t from;
    if (known_full(i, flits, cycle))
        return false;
    if (fits(n, i, flits, cycle))
        return true;
    room_from(n, in, flits, &from);
    return from <= cycle;
}

uint64_t
icnt_room_at(const struct icnt *n, unsigned in)
{
    const struct input *i = &n->in[in];
    return i->full_until && i->full_sure ? i->full_until : NEVER;
}

void
icnt_push(struct icnt *n, unsigned in, unsigned out, unsigned flits,
          const struct packet *p, uint64_t local, uint64_t cycle)
{
    struct input *i = &n->in[in];
    const uint64_t at = max_u64(cycle + n->before, i->link_free);
    struct timed_packet *m = timed_queue_push(&i->q, &i->q.credits.used, at, flits);
    m->p = *p;
    m->local = local;
    m->out = (uint16_t)out;
    i->link_free = at + flits;
    __builtin_prefetch(m + 1, 1); /* mostly the next place; another thread had it */
    if (i->q.q.n == 1) {
        i->bid_at = max_u64(i->bid_at, at * n->c.speedup);
        i->out = (uint16_t)out;
        n->pushed[in] = 1;
    }
}

static bool
any_pushed(const struct icnt *n)
{
    uint64_t any = 0, v;
    for (unsigned i = 0; i < n->c.inputs; i += 8) {
        memcpy(&v, n->pushed + i, 8);
        any |= v;
    }
    return any;
}

/* A head waits for the step from which it may bid. */
static inline void
wait_to_bid(struct icnt *n, unsigned in)
{
    const uint64_t at = n->in[in].bid_at;
    bitset_add(n->idle, in);
    if (at >= n->step + STEPS - 1) /* one less: a step may be made again */
        n->far_at = min_u64(n->far_at, at);
    else
        bitset_add(n->ripe + max_u64(at, n->step) % STEPS * n->words, in);
}

/* Those that were too far ahead for the ring. */
NOINLINE static void
rescan_far(struct icnt *n)
{
    n->far_at = NEVER;
    for (unsigned w = 0; w < n->words; w++)
        FOR_BITS(b, n->idle[w])
    wait_to_bid(n, w * 64 + (unsigned)b);
}

/* What was pushed since the last step. */
static void
accept_pushed(struct icnt *n)
{
    if (!any_pushed(n))
        return;
    for (unsigned i = 0; i < n->c.inputs; i++)
        if (n->pushed[i]) {
            n->pushed[i] = 0;
            wait_to_bid(n, i);
            n->heads++;
        }
}

uint64_t *
icnt_granted(struct icnt *n)
{
    return n->granted;
}

/* First set bit at or after `from`, cyclically; the set is not empty. */
static unsigned
next_bit(const uint64_t *s, unsigned words, unsigned from)
{
    if (words == 1) /* mostly */
        return bit_in_turn(s[0], from);
    unsigned w = from / 64;
    uint64_t x = s[w] & (~(uint64_t)0 << (from % 64));
    while (!x) {
        w = w + 1 == words ? 0 : w + 1;
        x = s[w];
    }
    return w * 64 + (unsigned)bit_lowest(x);
}

/* Room behind the switch. */
static inline enum room
room_behind(struct icnt *n, unsigned out, unsigned flits, uint64_t cycle)
{
    return timed_queue_room(&n->outlet[out], &n->out[out].split, n->c.output_buffer,
                            flits, cycle, n->detached);
}

void
icnt_detach(struct icnt *n)
{
    for (unsigned i = 0; i < n->c.outputs; i++)
        timed_queue_split(&n->outlet[i], &n->out[i].split);
    n->detached = true;
}

void
icnt_attach(struct icnt *n)
{
    for (unsigned w = 0; w < BITSET_WORDS(n->c.outputs); w++) {
        FOR_BITS(b, n->unpublished[w])
        {
            const unsigned out = w * 64 + (unsigned)b;
            if (timed_queue_join(&n->outlet[out], &n->out[out].split))
                bitset_add(n->fresh, out);
        }
        n->unpublished[w] = 0;
    }
    n->detached = false;
}

/* The packet is on its way to its port. */
static inline void
push_behind(struct icnt *n, struct output *o, const struct timed_packet *m)
{
    struct timed_queue *l = &n->outlet[m->out];
    if (n->detached) {
        if (timed_queue_push_split(l, &o->split, m))
            bitset_add(n->unpublished, m->out);
    } else {
        if (l->front_at == NEVER)
            bitset_add(n->fresh, m->out);
        *timed_queue_push(l, &o->split.used, m->at, m->credits) = *m;
    }
}

/* Gives output `out` to input `in` in step k. cross: cycle of the step in which the first
 * flit crosses. */
static void
grant(struct icnt *n, unsigned in, unsigned out, uint64_t k, uint64_t cross)
{
    struct input *i = &n->in[in];
    struct output *o = &n->out[out];
    const unsigned s = n->c.speedup;
    struct timed_packet *m = ring_front(&i->q.q);
    const uint64_t arrives = m->at;
    const uint32_t flits = m->credits;
    /* step after that of the tail */
    const uint64_t end =
        max_u64(k + n->c.allocation + flits, s * (arrives + flits - 1) + 1);

    bitset_add(n->granted, in);
    m->at = max_u64(cross + n->behind, o->link_free) + flits - 1;
    o->link_free = m->at + 1;
    o->free_at = end;
    o->next = (uint16_t)(in + 1 == n->c.inputs ? 0 : in + 1);
    push_behind(n, o, m);

    m->at = arrives;
    timed_queue_drain(&i->q, k + n->c.allocation, s);
    i->full_until = 0;
    i->bid_at = end;
    if (i->q.q.n) {
        const struct timed_packet *next = ring_front(&i->q.q);
        i->bid_at = max_u64(i->bid_at, next->at * s);
        __builtin_prefetch(ring_at(&i->q.q, 1)); /* another thread wrote it */
        i->out = next->out;
        wait_to_bid(n, in);
    } else {
        n->heads--;
    }
}

/* Heads that may bid in step k do. */
static void
take_bids(struct icnt *n, uint64_t k)
{
    const unsigned words = n->words;
    uint64_t from = n->step;
    if (k >= from + STEPS - 1) { /* all that is in the ring is due */
        n->step = k + 2 - STEPS;
        from = k + 1 - STEPS;
    }
    if (k + STEPS / 2 >= n->far_at)
        rescan_far(n);
    n->step = k + 1;
    for (unsigned w = 0; w < words; w++) {
        if (!n->idle[w])
            continue;
        uint64_t *ripe = n->ripe + w, due = 0;
        for (uint64_t s = from; s <= k; s++) {
            due |= ripe[s % STEPS * words];
            ripe[s % STEPS * words] = 0;
        }
        n->idle[w] &= ~due;
        FOR_BITS(b, due)
        {
            const unsigned out = n->in[w * 64 + b].out;
            n->bids[(size_t)out * words + w] |= (uint64_t)1 << b;
            n->out[out].bids++;
            bitset_add(n->asked, out);
        }
    }
}

NOINLINE static bool
move_heads(struct icnt *n, uint64_t cycle)
{
    const unsigned words = n->words, owords = (unsigned)BITSET_WORDS(n->c.outputs);
    for (unsigned s = n->steps; s < n->c.speedup; s++) {
        const uint64_t k = cycle * n->c.speedup + s;
        /* cycle of step k + allocation */
        const uint64_t cross = cycle + n->whole + (s >= n->turn);
        take_bids(n, k);
        for (unsigned w = 0; w < owords; w++)
            FOR_BITS(b, n->asked[w])
            {
                unsigned out = w * 64 + (unsigned)b;
                struct output *o = &n->out[out];
                if (o->free_at > k)
                    continue;
                uint64_t *bids = n->bids + (size_t)out * words;
                unsigned in = next_bit(bids, words, o->next);
                const enum room room =
                    room_behind(n, out, head_of(n, in)->credits, cycle);
                if (room == ROOM_UNKNOWN) {
                    n->steps = s;
                    n->step = k; /* what is pushed meanwhile may bid in it */
                    return false;
                }
                if (room == ROOM_NO)
                    continue;
                bitset_del(bids, in);
                n->asked[w] &= ~((uint64_t) !--o->bids << b);
                grant(n, in, out, k, cross);
            }
    }
    n->steps = 0;
    return true;
}

bool
icnt_step(struct icnt *n, uint64_t cycle)
{
    accept_pushed(n);
    n->cycle = cycle;
    if (n->heads && !move_heads(n, cycle))
        return false;
    n->cycle = cycle + 1;
    return true;
}

uint64_t *
icnt_fresh(struct icnt *n)
{
    return n->fresh;
}

uint64_t
icnt_front_at(const struct icnt *n, unsigned out)
{
    return n->outlet[out].front_at;
}

const struct timed_packet *
icnt_front(const struct icnt *n, unsigned out)
{
    return timed_queue_front(&n->outlet[out]);
}

void
icnt_pop(struct icnt *n, unsigned out, uint64_t cycle)
{
    timed_queue_take(&n->outlet[out], cycle);
}

uint64_t
icnt_next(struct icnt *n)
{
    const uint64_t cycle = n->cycle;
    accept_pushed(n);
    if (!n->heads)
        return NEVER;
    uint64_t k = NEVER, from = cycle * n->c.speedup;
    for (unsigned w = 0; w < n->words; w++)
        FOR_BITS(b, n->idle[w])
        {
            uint64_t t = n->in[w * 64 + b].bid_at;
            if (t < k)
                k = t;
        }
    for (unsigned w = 0; w < BITSET_WORDS(n->c.outputs); w++)
        FOR_BITS(b, n->asked[w])
        {
            unsigned out = w * 64 + (unsigned)b;
            const struct output *o = &n->out[out];
            unsigned in = next_bit(n->bids + (size_t)out * n->words, n->words, o->next);
            if (o->free_at < k &&
                room_behind(n, out, head_of(n, in)->credits, cycle) == ROOM_YES)
                k = o->free_at;
        }
    if (k == NEVER)
        return NEVER;
    return (k < from ? from : k) / n->c.speedup;
}

bool
icnt_busy(const struct icnt *n)
{
    return n->heads || any_pushed(n);
}

void
icnt_each(const struct icnt *n, void (*f)(void *user, const struct timed_packet *m),
          void *user)
{
    for (unsigned i = 0; i < n->c.inputs; i++)
        for (uint32_t k = 0; k < n->in[i].q.q.n; k++)
            f(user, ring_at(&n->in[i].q.q, k));
    for (unsigned i = 0; i < n->c.outputs; i++)
        for (uint32_t k = n->outlet[i].taken; k < n->outlet[i].q.n; k++)
            f(user, ring_at(&n->outlet[i].q, k));
}

unsigned
icnt_waiting(const struct icnt *n, unsigned in)
{
    return n->in[in].q.q.n;
}

unsigned
icnt_arrived(const struct icnt *n, unsigned out)
{
    return timed_queue_waiting(&n->outlet[out]);
}
