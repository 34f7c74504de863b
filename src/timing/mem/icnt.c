/* icnt.c: one crossbar of the interconnect.
 *
 * An input-queued switch with one FIFO per input (no virtual channels, so that a blocked
 * head blocks what is behind it: such a switch saturates near 2 - sqrt 2 = 58.6 % under
 * uniform traffic; Karol, Hluchyj, Morgan, IEEE Trans. Comm. 35(12), 1987). Every output
 * has a round-robin pointer over the inputs that moves past the winner, as in iSLIP with
 * one iteration (McKeown, IEEE/ACM Trans. Networking 7(2), 1999); with one FIFO per input
 * there is nothing for iSLIP's accept phase to choose.
 *
 * A packet of F flits comes over its input link one flit a cycle. The switch makes
 * `speedup` steps a cycle. A head at the front of its FIFO first gets the output
 * (`allocation` steps), then its flits cross, one a step, as they are there; the next
 * head may bid in the step after the tail has crossed, at the input as at the output. Out
 * of the switch a link carries one flit a cycle. An output is only given when the whole
 * packet has room behind it (virtual cut-through: Kermani, Kleinrock, Computer Networks
 * 3, 1979).
 *
 * Nothing is done per flit: with these rules the step in which each flit moves is known
 * when the output is given. Flit j of a packet whose head is before the switch at cycle a
 * and that is given its output in step g crosses in step max(g + allocation + j, speedup
 * * (a + j)), and leaves the output link at the earliest of one flit a cycle behind what
 * left before. tests/unit/timing/mem/timing_icnt.c holds this to a switch that moves every flit by
 * itself.
 *
 * Cost of a cycle: the inputs whose head has not bid yet, and the outputs that are bid
 * for.
 *
 * The switch may be stepped some cycles late (memsys.c, quanta): what is pushed and
 * popped meanwhile carries its cycle in `at`, and the switch heeds it from that cycle on.
 * Only room in an input buffer is as of the last cycle stepped; icnt_room_from tells from
 * when on the steps not made yet could make more, so that who asks can wait for them.
 * Between steps, what belongs to one port (struct input, struct outlet, its byte of
 * `pushed`) is changed only by the host thread that has the port. Set apart, the switch
 * is stepped by one thread while those that have the outlets pop, or before: it leaves
 * them alone, keeps what comes behind it to itself, and stops where pops not known to it
 * could make a difference. */
#include "timing/mem/icnt.h"
#include "base/inline.h"

#include <string.h>

/* What belongs to one port is one line of the host's cache. */
struct input {
    _Alignas(64) RING(struct icnt_msg) q;
    uint64_t link_free; /* cycle in which the next head may be before the switch */
    uint64_t bid_at;    /* step from which the head of q may bid */
    uint64_t cross,
        head; /* packet that is crossing: step of its first flit, cycle its head came */
    uint16_t crossing; /* its flits */
    uint16_t flits;    /* in q */
    uint16_t out;      /* of the head of q */
};
static_assert(sizeof(struct input) == 64, "one line");

struct output {                    /* the switch's side */
    _Alignas(64) uint64_t free_at; /* step from which it can be given */
    uint64_t link_free; /* first cycle in which the output link has nothing to carry */
    uint64_t front_at;  /* set apart: when its outlet's first packet comes or came */
    uint16_t flits;     /* behind the switch */
    uint16_t next;      /* round-robin pointer */
    uint16_t bids;
    /* Set apart: packets that its outlet does not see yet, behind those in its ring. */
    uint32_t unpublished, slots; /* how many; for how many there is place */
    uint32_t at, mask;           /* next of these places */
    struct icnt_msg *v;
};
static_assert(sizeof(struct output) == 64, "one line");

struct outlet { /* the port's side of an output */
    /* The first `popped` of q have gone; their room is free again from cycle `at` on. */
    _Alignas(64) RING(struct icnt_msg) q;
    uint64_t front_at;      /* of the first not popped; NEVER: none */
    uint64_t freed_at;      /* of the first popped; NEVER: none */
    uint16_t popped, flits; /* flits: of those popped */
};
static_assert(sizeof(struct outlet) == 64, "one line");

#ifndef ICNT_STEPS /* tests take less, so that they get to the ends of it */
#define ICNT_STEPS 128
#define ICNT_UNPUBLISHED 24
#endif
enum {
    STEPS = ICNT_STEPS, /* ahead of which heads that wait are sorted; a power of two */
    UNPUBLISHED =
        ICNT_UNPUBLISHED /* packets that mostly get into an outlet's ring at once */
};

struct icnt {
    struct icnt_config c;
    unsigned words;          /* of a bit set over inputs */
    unsigned before, behind; /* latency before and behind the switch */
    unsigned whole, turn;    /* allocation in cycles; step of a cycle from which it is one
                              * more */
    struct input *in;
    struct output *out;
    struct outlet *outlet;
    struct icnt_msg *overflow;
    uint8_t *pushed;   /* by input: a head came since the last step, not yet in `idle` */
    uint64_t *granted; /* inputs that got an output since the caller last cleared them */
    uint64_t *idle;    /* inputs with a head that has not bid */
    uint64_t *ripe;    /* of those by step, modulo STEPS: which bid in it */
    uint64_t *bids;    /* outputs x inputs */
    uint64_t *asked;   /* outputs with bids */
    uint64_t *fresh;
    /* Changed in steps, while other threads read the above. */
    _Alignas(64) bool detached;
    uint64_t step;   /* first not made yet: of all that is due before, heads have bid */
    uint64_t far_at; /* least step of heads that are further ahead; NEVER: none */
    unsigned steps;  /* made of the cycle that was left in part */
    unsigned noverflow;            /* packets that wait in `keep` for their outlets */
    uint64_t *unpublished_outputs; /* outputs with hidden packets */
    unsigned heads;                /* inputs that have one, but for those in `pushed` */
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
    n->outlet = ARENA_ARRAY(a, struct outlet, c->outputs);
    n->overflow = ARENA_SPARSE(a, struct icnt_msg, (size_t)c->outputs * c->output_buffer);
    for (unsigned i = 0; i < c->inputs; i++)
        ring_init(&n->in[i].q, a, c->input_buffer);
    for (unsigned i = 0; i < c->outputs; i++) {
        ring_init(&n->outlet[i].q, a, c->output_buffer);
        n->outlet[i].front_at = n->outlet[i].freed_at = NEVER;
    }
    n->pushed = arena_alloc_aligned(a, (c->inputs + 63) / 64 * 64, 64);
    n->granted = bitset_new(a, c->inputs);
    n->idle = bitset_new(a, c->inputs);
    n->ripe = ARENA_ARRAY(a, uint64_t, (size_t)n->words * STEPS);
    n->far_at = NEVER;
    n->bids = ARENA_ARRAY(a, uint64_t, (size_t)n->words * c->outputs);
    n->asked = bitset_new(a, c->outputs);
    n->fresh = bitset_new(a, c->outputs);
    n->unpublished_outputs = bitset_new(a, c->outputs);
    return n;
}

/* Flits of the crossing packet that are still in the input buffer before step k. */
static uint32_t
left_behind(const struct icnt *n, const struct input *in, uint64_t k)
{
    if (!in->crossing || k <= in->cross)
        return in->crossing;
    /* Flit j has gone if its step is < k: j < k - cross, and speedup * (head + j) < k. */
    uint64_t gone = k - in->cross;
    uint64_t here = (k + n->c.speedup - 1) / n->c.speedup;
    here = here > in->head ? here - in->head : 0;
    if (here < gone)
        gone = here;
    return gone >= in->crossing ? 0 : in->crossing - (uint32_t)gone;
}

bool
icnt_room(const struct icnt *n, unsigned in, unsigned flits, uint64_t cycle)
{
    const struct input *p = &n->in[in];
    uint32_t used = p->flits;
    if (ring_full(&p->q))
        return false;
    if (used + p->crossing + flits <= n->c.input_buffer)
        return true;
    used += left_behind(n, p, cycle * n->c.speedup);
    return !used || used + flits <= n->c.input_buffer;
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
        k += n->c.allocation + ring_front(&n->in[w * 64 + b].q)->flits;
    }
    return p->bid_at > k ? p->bid_at : k;
}

uint64_t
icnt_room_from(const struct icnt *n, unsigned in, unsigned flits, uint64_t stepped,
               bool *sure)
{
    const struct input *p = &n->in[in];
    const uint64_t s = n->c.speedup;
    /* As many flits may stay. */
    uint32_t stay = flits < n->c.input_buffer ? n->c.input_buffer - flits : 0;
    uint64_t k;
    *sure = p->flits <= stay;
    if (*sure) { /* flit j of what is crossing must have gone */
        uint64_t j = p->crossing - (stay - p->flits) - 1;
        k = p->cross + j > s * (p->head + j) ? p->cross + j : s * (p->head + j);
        k++;
    } else { /* at best a flit of the queue crosses in every step from the grant on */
        k = grant_from(n, in, stepped * s) + n->c.allocation + p->flits - stay;
    }
    return (k + s - 1) / s;
}

void
icnt_push(struct icnt *n, unsigned in, unsigned out, unsigned flits,
          const struct packet *p, uint64_t local, uint64_t cycle)
{
    struct input *i = &n->in[in];
    struct icnt_msg *m = ring_push(&i->q);
    m->p = *p;
    m->local = local;
    m->out = (uint16_t)out;
    m->flits = (uint16_t)flits;
    m->at = cycle + n->before;
    if (m->at < i->link_free)
        m->at = i->link_free;
    i->link_free = m->at + flits;
    i->flits = (uint16_t)(i->flits + flits);
    __builtin_prefetch(m + 1, 1); /* mostly the next place; another thread had it */
    if (i->q.n == 1) {
        uint64_t k = m->at * n->c.speedup;
        if (i->bid_at < k)
            i->bid_at = k;
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

/* Room of what had been popped by this cycle is free again. */
static inline void
return_credits(struct icnt *n, unsigned out, uint64_t cycle)
{
    struct outlet *l = &n->outlet[out];
    while (l->freed_at <= cycle) {
        const uint16_t flits = ring_front(&l->q)->flits;
        n->out[out].flits = (uint16_t)(n->out[out].flits - flits);
        l->flits = (uint16_t)(l->flits - flits);
        ring_pop(&l->q);
        l->freed_at = --l->popped ? ring_front(&l->q)->at : NEVER;
    }
}

static inline bool
fits(struct icnt *n, unsigned out, unsigned flits, uint64_t cycle)
{
    if (!n->detached)
        return_credits(n, out, cycle);
    const unsigned used = n->out[out].flits;
    return !used || used + flits <= n->c.output_buffer;
}

/* The packet is on its way to its outlet. */
static inline void
publish(struct icnt *n, const struct icnt_msg *m)
{
    struct outlet *l = &n->outlet[m->out];
    *ring_push(&l->q) = *m;
    if (l->front_at == NEVER) {
        l->front_at = m->at;
        bitset_add(n->fresh, m->out);
    }
}

void
icnt_detach(struct icnt *n)
{
    for (unsigned i = 0; i < n->c.outputs; i++) {
        struct output *o = &n->out[i];
        struct outlet *l = &n->outlet[i];
        if (l->popped) {
            o->flits = (uint16_t)(o->flits - l->flits);
            ring_drop(&l->q, l->popped);
            l->popped = l->flits = 0;
            l->freed_at = NEVER;
        }
        o->front_at = l->front_at;
        ring_reserve(&l->q, UNPUBLISHED);
        o->unpublished = 0;
        o->slots = l->q.span - l->q.n;
        o->v = l->q.v;
        o->at = ring_index(&l->q, l->q.n);
        o->mask = l->q.span - 1;
    }
    n->detached = true;
}

/* What has come through is to be seen by its outlet later. */
static inline void
push_unpublished(struct icnt *n, struct output *o, const struct icnt_msg *m)
{
    if (o->unpublished == o->slots) { /* and so do those that follow */
        n->overflow[n->noverflow++] = *m;
        return;
    }
    o->v[o->at] = *m;
    o->at = (o->at + 1) & o->mask;
    __builtin_prefetch(&o->v[o->at], 1); /* another thread had it */
    if (!o->unpublished++)
        bitset_add(n->unpublished_outputs, m->out);
}

void
icnt_attach(struct icnt *n)
{
    for (unsigned w = 0; w < BITSET_WORDS(n->c.outputs); w++) {
        FOR_BITS(b, n->unpublished_outputs[w])
        {
            unsigned out = w * 64 + (unsigned)b;
            struct outlet *l = &n->outlet[out];
            l->q.n += n->out[out].unpublished;
            assert(l->q.n <= l->q.cap);
            n->out[out].unpublished = 0;
            if (l->front_at == NEVER) {
                l->front_at = ring_at(&l->q, l->popped)->at;
                bitset_add(n->fresh, out);
            }
        }
        n->unpublished_outputs[w] = 0;
    }
    for (unsigned i = 0; i < n->noverflow; i++)
        publish(n, &n->overflow[i]);
    n->noverflow = 0;
    n->detached = false;
}

/* Gives output `out` to input `in` in step k. cross: cycle of the step in which the first
 * flit crosses. */
static void
grant(struct icnt *n, unsigned in, unsigned out, uint64_t k, uint64_t cross)
{
    struct input *i = &n->in[in];
    struct output *o = &n->out[out];
    const unsigned s = n->c.speedup;
    struct icnt_msg *m = ring_front(&i->q);
    uint32_t flits = m->flits;
    uint64_t end = k + n->c.allocation + flits; /* step after that of the tail */
    if (end < s * (m->at + flits - 1) + 1)
        end = s * (m->at + flits - 1) + 1;

    bitset_add(n->granted, in);
    i->cross = k + n->c.allocation;
    i->head = m->at;

    m->at = cross + n->behind;
    if (m->at < o->link_free)
        m->at = o->link_free;
    m->at += flits - 1;
    o->link_free = m->at + 1;
    o->flits = (uint16_t)(o->flits + flits);
    o->free_at = end;
    o->next = (uint16_t)(in + 1 == n->c.inputs ? 0 : in + 1);
    if (n->detached) {
        o->front_at = min_u64(o->front_at, m->at);
        push_unpublished(n, o, m);
    } else {
        publish(n, m);
    }

    i->crossing = (uint16_t)flits;
    i->flits = (uint16_t)(i->flits - flits);
    i->bid_at = end;
    ring_pop(&i->q);
    if (i->q.n) {
        const struct icnt_msg *next = ring_front(&i->q);
        i->bid_at = max_u64(i->bid_at, next->at * s);
        __builtin_prefetch(ring_at(&i->q, 1)); /* another thread wrote it */
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
                if (!fits(n, out, ring_front(&n->in[in].q)->flits, cycle)) {
                    if (n->detached &&
                        o->front_at < cycle) { /* and may have been popped */
                        n->steps = s;
                        n->step = k; /* what is pushed meanwhile may bid in it */
                        return false;
                    }
                    continue;
                }
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
    return !n->heads || move_heads(n, cycle);
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

const struct icnt_msg *
icnt_front(const struct icnt *n, unsigned out)
{
    const struct outlet *l = &n->outlet[out];
    return ring_at(&l->q, l->popped);
}

void
icnt_pop(struct icnt *n, unsigned out, uint64_t cycle)
{
    struct outlet *l = &n->outlet[out];
    assert(l->popped < l->q.n);
    struct icnt_msg *m = ring_at(&l->q, l->popped);
    m->at = cycle;
    l->flits = (uint16_t)(l->flits + m->flits);
    if (!l->popped++)
        l->freed_at = cycle;
    l->front_at = l->popped < l->q.n ? ring_at(&l->q, l->popped)->at : NEVER;
    __builtin_prefetch(ring_at(&l->q, l->popped + 1u)); /* another thread wrote it */
}

uint64_t
icnt_next(struct icnt *n, uint64_t cycle)
{
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
            if (o->free_at < k && fits(n, out, ring_front(&n->in[in].q)->flits, cycle))
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
icnt_each(const struct icnt *n, void (*f)(void *user, const struct icnt_msg *m),
          void *user)
{
    for (unsigned i = 0; i < n->c.inputs; i++)
        for (uint32_t k = 0; k < n->in[i].q.n; k++)
            f(user, ring_at(&n->in[i].q, k));
    for (unsigned i = 0; i < n->c.outputs; i++)
        for (uint32_t k = n->outlet[i].popped; k < n->outlet[i].q.n; k++)
            f(user, ring_at(&n->outlet[i].q, k));
}

unsigned
icnt_waiting(const struct icnt *n, unsigned in)
{
    return n->in[in].q.n;
}

unsigned
icnt_arrived(const struct icnt *n, unsigned out)
{
    return n->outlet[out].q.n - n->outlet[out].popped;
}
