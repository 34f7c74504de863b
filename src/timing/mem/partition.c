/* partition.c: one memory partition: L2 slices before a DRAM channel.
 *
 * The way of a request through a slice, one L2 cycle a step unless said otherwise:
 *   crossbar -> cut into sectors (lines if the L2 has none), each answered by itself
 *            -> delay line of rop_latency cycles
 *            -> queue
 *            -> L2: one access a cycle, its data port busy for bytes / l2.port cycles
 *            -> hit: queue of replies -> crossbar
 *            -> miss: MSHR, miss queue -> queue to the DRAM
 *               -> (DRAM clock, slices in turn) fixed delay -> controller -> return queue
 *               -> queue from the DRAM -> fill
 *               -> requests that waited, one a cycle -> queue of replies
 * A write is answered when the L2 has it. The L2 is as the machine file says; the usual
 * one writes back, takes lines without fetching, and fetches a partly written sector when
 * it is read. An atomic is a read whose data are written back into the line in the same
 * access (the operation's value was made at issue). Without an L2 everything goes to the
 * DRAM.
 *
 * Queues are finite; a full one holds what is before it. A slice or channel with nothing
 * to do sleeps until its own next event or its next input; what may unblock it wakes it.
 * Cost: constant a tick and slice.
 *
 * Requests come through delay lines (inbound.h), and replies leave through queues of their
 * own (outbound.h). Both know what to do where slices and crossbars are simulated up to
 * different times. */
#include "timing/mem/partition.h"
#include "base/inline.h"
#include "timing/mem/cache.h"

#include <string.h>

#define NONE UINT32_MAX

struct come { /* a fill that has come from the DRAM */
    uint32_t token;
    uint8_t sectors;
};

struct on_its_way {  /* to the controller */
    uint64_t ready;  /* core cycle in which it is there */
    uint16_t number; /* dram_take */
};

struct slice {
    struct cache *cache;
    struct stat_mem *stats;
    uint32_t number; /* over all channels: crossbar port */
    uint8_t index;   /* in the channel */
    bool stalled;    /* head of `in` was refused; nothing has changed since */
    uint64_t stalled_at;
    uint64_t port_free, fill_free;
    uint64_t at; /* L2 tick at which there is something to do */
    struct inbound_slice *inbound;
    struct outbound_slice *out;
    struct request *request; /* by number (outbound.h) */
    RING(uint32_t) in;
    RING(uint32_t) woken;           /* their data are there */
    uint32_t waiting, most_waiting; /* for data, or woken */
    uint32_t atomics;               /* of those */
    /* To the DRAM: misses and what is written back; the first `down` of them have got as
     * far as the queue to the channel. */
    RING(struct dram_req) miss;
    uint32_t down, down_cap, miss_cap;
    RING(struct come) up; /* from the DRAM */
};

struct partition {
    struct partition_env env;
    unsigned index, slices;
    unsigned unit;                      /* bytes answered as one piece */
    uint16_t port_ticks[9];             /* of an L2's data port, by sectors */
    unsigned room;                      /* free entries wanted before a packet is taken */
    unsigned burst_bits, sector_bursts; /* log2 of a burst's bytes; bursts of a sector */
    bool no_l2;
    struct slice *slice;
    struct dram *dram;
    struct inbound in;
    struct outbound out;

    _Alignas(64) uint64_t tick[CLK_DOMAINS]; /* first not done yet */
    RING(struct on_its_way) delay;
    uint64_t delay_ready; /* of its front; NEVER: empty */
    unsigned downs;       /* slices with something in `down`, as bits */
    unsigned turn;        /* slice looked at first */
    uint64_t reply_at;    /* the first after the L2 tick in progress */
    uint64_t dram_at;
};

static uint32_t
larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static unsigned
unit_of(const struct machine *m)
{
    if (!m->partition.l2_enabled)
        return 32;
    return m->l2.sector ? larger(m->l2.sector, 32) : m->l2.line;
}

static void
start_inbound(struct partition *p, struct arena *a, unsigned pieces)
{
    const struct machine *m = p->env.m;
    const unsigned rop = m->partition.rop_latency, far = m->partition.far_latency;
    const bool halves = m->partition.halves > 1;
    const uint32_t most = pieces * (rop + m->partition.queue_icnt_l2 + 1);
    p->in = (struct inbound){.requests = p->env.requests,
                             .half_of = p->env.half_of,
                             .first = p->index * p->slices,
                             .slices = p->slices,
                             .half = p->index * m->partition.halves / m->dram.channels,
                             .unit = p->unit,
                             .latency = {rop, rop + far},
                             .most = {most, halves ? most + pieces * far : 0}};
    inbound_init(&p->in, a);
}

/* Requests that may wait for data, or be woken. */
static uint32_t
most_waiting(const struct machine *m)
{
    const uint64_t n =
        m->partition.l2_enabled ? (uint64_t)m->l2.mshrs * m->l2.merge : 4096;
    return (uint32_t)min_u64(n, 4096);
}

/* Fills that may come, whatever else happens. */
static uint32_t
most_fills(const struct machine *m)
{
    return m->partition.l2_enabled ? larger(m->l2.mshrs, 8) : most_waiting(m);
}

static void
start_outbound(struct partition *p, struct arena *a, struct stat_mem *stats)
{
    const struct machine *m = p->env.m;
    const uint32_t in = m->partition.queue_icnt_l2, out = m->partition.queue_l2_icnt;
    p->out = (struct outbound){.replies = p->env.replies,
                               .clk = p->env.clk,
                               .port_of = p->env.port_of,
                               .stats = stats,
                               .first = p->index * p->slices,
                               .slices = p->slices,
                               .header = m->icnt.header,
                               .flit = m->icnt.flit,
                               .direct = out >= 4};
    outbound_init(&p->out, a, out, in + most_waiting(m) + out);
}

static void
start_slice(struct partition *p, struct arena *a, unsigned i, struct stat_mem *stats)
{
    const struct machine *m = p->env.m;
    struct slice *s = &p->slice[i];
    if (!p->no_l2)
        s->cache = CACHE_NEW(a, m->l2);
    if (!p->no_l2 && m->partition.near_copies)
        p->in.slice[i].copies = near_copies_new(a, m->l2.sets, m->l2.ways, m->l2.line);
    s->stats = stats;
    s->number = p->index * p->slices + i;
    s->index = (uint8_t)i;
    s->at = NEVER;
    s->inbound = &p->in.slice[i];
    s->out = &p->out.slice[i];
    s->out->wake = &s->at;
    s->request = s->out->request;
    ring_init(&s->in, a, m->partition.queue_icnt_l2);
    s->miss_cap = larger(m->l2.miss_queue, 2);
    s->down_cap = m->partition.queue_l2_dram;
    /* A fill does not wait for room for what it writes: data from the DRAM must be taken, or
     * the DRAM takes nothing. It is one of those that wait for data. */
    ring_init(&s->miss, a, s->miss_cap + s->down_cap + most_fills(m));
    ring_init(&s->up, a, m->partition.queue_dram_l2);
    s->most_waiting = most_waiting(m);
    ring_init(&s->woken, a, s->most_waiting);
}

struct partition *
partition_new(struct arena *a, const struct partition_env *env, unsigned index,
              struct stat_mem *stats, struct partition_ends *ends, struct diag_sink *diag)
{
    const struct machine *m = env->m;
    struct partition *p = ARENA_NEW(a, struct partition);
    p->env = *env;
    p->index = index;
    p->slices = m->partition.slices;
    p->no_l2 = !m->partition.l2_enabled;
    p->unit = unit_of(m);
    for (unsigned i = 0; i < 9; i++)
        p->port_ticks[i] =
            (uint16_t)(m->l2.port ? (32 * i + m->l2.port - 1) / m->l2.port : 1);
    unsigned pieces = p->unit >= 128 ? 1 : 128 / p->unit;
    p->burst_bits = (unsigned)__builtin_ctz(m->dram.burst); /* a power of two */
    p->sector_bursts = m->dram.burst < 32 ? 32 / m->dram.burst : 1;
    p->room = m->partition.queue_icnt_l2 < pieces ? m->partition.queue_icnt_l2 : pieces;
    start_inbound(p, a, pieces);
    start_outbound(p, a, stats);
    p->slice = ARENA_ARRAY(a, struct slice, p->slices);
    for (unsigned i = 0; i < p->slices; i++)
        start_slice(p, a, i, stats);
    p->dram = dram_new(a, m, stats, diag);
    if (!p->dram)
        return NULL;
    ring_init(&p->delay, a, dram_most_accepted(m));
    p->delay_ready = NEVER;
    p->dram_at = NEVER;
    *ends = (struct partition_ends){&p->in, &p->out};
    return p;
}

/* Sectors of a 128-byte block that form the piece with sector s. */
static uint8_t
piece_mask(unsigned unit, unsigned s)
{
    unsigned n = unit >= 128 ? 4 : unit / 32; /* a power of two */
    return (uint8_t)(((1u << n) - 1) << (s & -n));
}

/* -- the way in -- */

/* The next piece of the packet at the front leaves the delay line. */
static void
enter_queue(struct partition *p, struct slice *s, unsigned which, uint64_t now)
{
    const struct timed_packet *d = timed_queue_front(&s->inbound->line[which]);
    unsigned first = (unsigned)__builtin_ctz(d->p.sectors);
    uint8_t piece = d->p.sectors & piece_mask(p->unit, first);
    unsigned in_line = p->no_l2 ? 0 : (unsigned)(d->local & (p->env.m->l2.line - 1)) / 32;
    uint32_t number = freelist_take(&s->out->numbers);
    struct request *r = &s->request[number];
    *ring_push(&s->in) = number;
    r->p = d->p;
    r->p.addr = (d->p.addr & ~(uint64_t)127) + 32 * first;
    r->p.bytes = (uint16_t)(32 * __builtin_popcount(piece));
    r->p.sectors = piece;
    r->local = d->local + 32 * first;
    r->mask = (uint8_t)(piece << in_line);
    if (!p->no_l2)
        cache_soon(s->cache, r->local);
    inbound_leave(s->inbound, which, d->p.sectors & (uint8_t)~piece, now);
}

static bool
in_has_room(const struct partition *p, const struct slice *s)
{
    return s->in.cap - s->in.n >= p->room;
}

/* -- misses and fills -- */

static void
ask_dram(struct partition *p, struct slice *s, uint64_t local, uint8_t sectors,
         bool write, bool answered, uint32_t token)
{
    const struct machine *m = p->env.m;
    uint64_t line =
        p->no_l2 ? local & ~(uint64_t)127 : local & ~(uint64_t)(m->l2.line - 1);
    struct addr_dram at =
        addrmap_dram(p->env.map, s->index,
                     line + 32 * (unsigned)(sectors ? __builtin_ctz(sectors) : 0));
    uint64_t last = NEVER;
    unsigned bursts = 0;
    for (unsigned b = sectors; b; b &= b - 1) {
        uint64_t n = (line + 32 * (unsigned)__builtin_ctz(b)) >> p->burst_bits;
        bursts += n == last ? 0 : p->sector_bursts;
        last = n;
    }
    struct dram_req *r = ring_push(&s->miss);
    *r = (struct dram_req){.row = at.row,
                           .local = line,
                           .token = token,
                           .bank = (uint16_t)at.bank,
                           .bursts = (uint8_t)bursts,
                           .sectors = sectors,
                           .slice = s->index,
                           .write = write,
                           .answered = answered};
    s->stats->dram_asked += bursts;
    if (write)
        s->stats->l2_writeback_sectors += (unsigned)__builtin_popcount(sectors);
    else
        s->stats->l2_fetched_sectors += (unsigned)__builtin_popcount(sectors);
}

static uint32_t
miss_room(const struct slice *s)
{
    const uint32_t used = s->miss.n - s->down;
    return used < s->miss_cap ? s->miss_cap - used : 0;
}

static bool
down_full(const struct slice *s)
{
    return s->down == s->down_cap;
}

/* The first of the misses that have not got there can get into the channel's queue. */
static bool
can_go_down(const struct slice *s)
{
    return (s->miss.n != s->down) & !down_full(s);
}

static void
wake(void *user, uint32_t token)
{
    struct slice *s = user;
    if (token == NONE)
        return;
    *ring_push(&s->woken) = token;
    __builtin_prefetch(&s->request[token]);
}

/* Words of the L2 line that a write covers. */
static uint64_t
words_of(const struct partition *p, const struct request *r)
{
    uint64_t in_line = r->local & (p->env.m->l2.line - 1) & ~(uint64_t)127;
    return (r->p.byte_mask & packet_words(r->p.sectors)) << (in_line / 4);
}

static void
atomic_write(struct partition *p, struct slice *s, const struct request *r, uint64_t now)
{
    struct cache_eviction ev;
    cache_write_words(s->cache, r->local, r->mask, words_of(p, r), false, now, false,
                      &ev);
}

/* What the head of `in` was refused for may be there now. */
static void
go_on(struct slice *s, uint64_t now)
{
    if (!s->stalled)
        return;
    s->stats->l2_stall_cycles += now - s->stalled_at;
    s->stalled = false;
}

static void
fill(struct partition *p, struct slice *s, uint64_t now)
{
    const struct come *r = ring_front(&s->up);
    bool was_full = ring_full(&s->up);
    if (p->no_l2) {
        uint32_t token = r->token;
        const struct request *q = &s->request[token];
        if (q->p.kind == PKT_ATOMIC)
            ask_dram(p, s, q->local, q->mask, true, false, NONE);
        *ring_push(&s->woken) = token;
    } else {
        if (s->fill_free > now)
            return;
        uint32_t before = s->woken.n;
        struct cache_eviction ev;
        cache_fill_of(s->cache, r->token, r->sectors, wake, s, &ev);
        if (ev.any)
            ask_dram(p, s, ev.addr, ev.dirty_sectors, true, false, NONE);
        for (uint32_t i = before; s->atomics && i < s->woken.n; i++) {
            const struct request *q = &s->request[*ring_at(&s->woken, i)];
            if (q->p.kind == PKT_ATOMIC) {
                atomic_write(p, s, q, now);
                s->atomics--;
            }
        }
        s->fill_free = now + p->port_ticks[__builtin_popcount(r->sectors)];
    }
    ring_pop(&s->up);
    if (was_full)
        p->dram_at = 0;
    go_on(s, now);
}

/* -- the access -- */

/* It can go before the crossbar after L2 tick `ready`. */
static void
answer(struct partition *p, struct slice *s, uint32_t number, uint64_t now,
       uint64_t ready)
{
    outbound_answer(&p->out, s->index, number, now, ready, p->reply_at);
}

static void
stall(struct slice *s, uint64_t now)
{
    if (!s->stalled)
        s->stalled_at = now;
    s->stalled = true;
}

static inline uint64_t *
outcome_counter(struct stat_mem *t, bool write, enum cache_result r)
{
    static const uint16_t at[2][CACHE_NO_LINE] = {
        {[CACHE_HIT] = offsetof(struct stat_mem, l2_read_hits),
         [CACHE_HIT_PENDING] = offsetof(struct stat_mem, l2_read_pending),
         [CACHE_MISS] = offsetof(struct stat_mem, l2_read_misses),
         [CACHE_SECTOR_MISS] = offsetof(struct stat_mem, l2_read_misses)},
        {[CACHE_HIT] = offsetof(struct stat_mem, l2_write_hits),
         [CACHE_HIT_PENDING] = offsetof(struct stat_mem, l2_write_pending),
         [CACHE_MISS] = offsetof(struct stat_mem, l2_write_misses),
         [CACHE_SECTOR_MISS] = offsetof(struct stat_mem, l2_write_misses)},
    };
    return (uint64_t *)(void *)((char *)t + at[write][r]);
}

/* The request at the head of `in`; true: done with it. */
static bool
access_l2(struct partition *p, struct slice *s, uint64_t now)
{
    const struct machine *m = p->env.m;
    const uint32_t number = *ring_front(&s->in);
    const struct request *r = &s->request[number];
    if (p->no_l2) {
        if (s->waiting == s->most_waiting || !miss_room(s))
            return false;
        s->waiting++;
        ask_dram(p, s, r->local, r->mask, r->p.kind == PKT_WRITE, true, number);
        return true;
    }
    /* A miss may need two places: the fetch, and the eviction's write-back. */
    bool room = miss_room(s) >= 2;
    bool write = r->p.kind == PKT_WRITE, waits = false;
    struct cache_eviction ev;
    enum cache_result res;
    if (write) {
        res = cache_write_words(s->cache, r->local, r->mask, words_of(p, r), false, now,
                                room, &ev);
    } else {
        if (s->waiting == s->most_waiting)
            return false;
        res = cache_read(s->cache, r->local, r->mask, number, now, room, &ev);
        waits = res == CACHE_HIT_PENDING || res == CACHE_MISS || res == CACHE_SECTOR_MISS;
    }
    if (res >= CACHE_NO_LINE)
        return false;
    uint8_t asked = cache_asked(s->cache);
    if (asked)
        ask_dram(p, s, r->local, asked, false, true, cache_asked_of(s->cache));
    if (write && cache_sends(s->cache))
        ask_dram(p, s, r->local, r->mask, true, false, NONE);
    if (ev.any)
        ask_dram(p, s, ev.addr, ev.dirty_sectors, true, false, NONE);

    struct stat_mem *st = s->stats;
    st->l2_accesses++;
    st->l2_writes += write;
    st->l2_reads += !write;
    st->l2_atomics += r->p.kind == PKT_ATOMIC;
    ++*outcome_counter(st, write, res);

    unsigned moved = res == CACHE_HIT ? r->p.sectors : ev.any ? ev.dirty_sectors : 0;
    if (moved)
        s->port_free = now + p->port_ticks[__builtin_popcount(moved)];
    if (r->p.kind == PKT_ATOMIC)
        s->port_free = max_u64(s->port_free, now + m->partition.atomic_cycles);
    if (waits) {
        s->waiting++;
        s->atomics += r->p.kind == PKT_ATOMIC;
        return true;
    }
    if (r->p.kind == PKT_ATOMIC)
        atomic_write(p, s, r, now);
    answer(p, s, number, now, now + m->l2.latency - 1);
    return true;
}

/* -- L2 clock -- */

/* The tick at which the slice has something to do, after `now` was done. */
static uint64_t
next_event(const struct partition *p, const struct slice *s, uint64_t now)
{
    const bool out_room = !ring_full(&s->out->q.q);
    const bool soon = (out_room & (s->woken.n != 0)) | can_go_down(s);
    const bool reads = out_room & (s->in.n != 0) & !s->stalled & !down_full(s);
    uint64_t t = s->port_free | -(uint64_t)!reads;
    t = min_u64(t, inbound_ready(s->inbound) | -(uint64_t)ring_full(&s->in));
    t &= -(uint64_t)!soon;
    if (s->up.n) /* waits for the port */
        t = min_u64(t, s->fill_free);
    if (!p->in.ahead && t > now + 1 && inbound_has_room(&p->in, s->inbound)) {
        uint64_t u = icnt_front_at(p->env.requests, s->number);
        if (u != NEVER) {
            u = clk_after(p->env.clk, CLK_ICNT, u, CLK_L2);
            t = u < t ? u : t;
        }
    }
    return max_u64(t, now + 1);
}

NOINLINE static void
slice_tick(struct partition *p, struct slice *s, uint64_t now)
{
    struct inbound_slice *in = s->inbound;
    if (p->in.ahead)
        inbound_tick(&p->in, in, now);
    else if (icnt_front_at(p->env.requests, s->number) < p->tick[CLK_ICNT] &&
             inbound_has_room(&p->in, in))
        inbound_receive(&p->in, s->index, now, p->tick[CLK_ICNT]);
    if ((s->woken.n != 0) & !ring_full(&s->out->q.q)) {
        answer(p, s, *ring_front(&s->woken), now, now);
        if (s->waiting-- == s->most_waiting)
            go_on(s, now); /* the head of `in` may have waited for this */
        ring_pop(&s->woken);
    }
    if (s->up.n)
        fill(p, s, now);
    const unsigned goes = can_go_down(s);
    p->dram_at &= -(uint64_t) !(goes & !s->down);
    s->down += goes;
    p->downs |= goes << s->index;
    if (goes)
        go_on(s, now);
    if ((s->in.n != 0) & !s->stalled & !ring_full(&s->out->q.q) & !down_full(s) &
        (s->port_free <= now)) {
        if (access_l2(p, s, now))
            ring_pop(&s->in);
        else
            stall(s, now);
    }
    if (ring_full(&s->in)) {
        ;
    } else if (in->line[INBOUND_FAR].front_at <= now &&
               in->line[INBOUND_NEAR].front_at >= in->line[INBOUND_FAR].front_at) {
        enter_queue(p, s, INBOUND_FAR, now);
    } else if (in->line[INBOUND_NEAR].front_at <= now) {
        enter_queue(p, s, INBOUND_NEAR, now);
    }
    in->room = in_has_room(p, s);
    s->at = next_event(p, s, now);
}

uint64_t
partition_notice(struct partition *p, unsigned slice)
{
    struct slice *s = &p->slice[slice];
    uint64_t u = clk_after(p->env.clk, CLK_ICNT,
                           icnt_front_at(p->env.requests, s->number), CLK_L2);
    if (u < s->at)
        s->at = u;
    return u;
}

static uint64_t
l2_at(const struct partition *p)
{
    uint64_t t = NEVER;
    for (unsigned i = 0; i < p->slices; i++)
        t = min_u64(t, p->slice[i].at);
    return t;
}

/* -- DRAM clock -- */

static bool
down_room(const struct partition *p)
{
    return (int)!dram_full(p->dram) &
           (int)(p->delay.n + dram_pending(p->dram) < p->delay.cap);
}

/* The next slice in turn that has something for the channel gives it. */
static void
take_down(struct partition *p, uint64_t core)
{
    const unsigned i = bit_in_turn(p->downs, p->turn);
    struct slice *s = &p->slice[i];
    const uint64_t ready = core + p->env.m->dram.latency;
    *ring_push(&p->delay) =
        (struct on_its_way){ready, dram_take(p->dram, ring_front(&s->miss))};
    p->delay_ready = min_u64(p->delay_ready, ready);
    s->at &= -(uint64_t)!down_full(s);
    ring_pop(&s->miss);
    s->down--;
    p->downs ^= (unsigned)!s->down << i;
    p->turn = (i + 1) & -(unsigned)(i + 1 != p->slices);
}

static void
dram_clock(struct partition *p, uint64_t now, uint64_t core)
{
    struct dram *d = p->dram;
    const struct dram_req *r = dram_return_front(d);
    if (r && !ring_full(&p->slice[r->slice].up)) {
        struct slice *s = &p->slice[r->slice];
        *ring_push(&s->up) = (struct come){r->token, r->sectors};
        if (!p->no_l2)
            cache_fill_soon(s->cache, r->local, r->token);
        dram_return_pop(d);
        s->at = 0;
    }
    dram_tick(d, now);
    if (p->downs && down_room(p))
        take_down(p, core);
    if ((p->delay_ready <= core) & !dram_full(d)) {
        dram_push(d, ring_front(&p->delay)->number, now);
        ring_pop(&p->delay);
        p->delay_ready = p->delay.n ? ring_front(&p->delay)->ready : NEVER;
    }

    /* For what comes back or goes down the next tick, even if it has to wait then. */
    const bool soon = (int)dram_returns(d) | ((int)(p->downs != 0) & (int)down_room(p));
    uint64_t t = max_u64(dram_next(d, now) & -(uint64_t)!soon, now + 1);
    if (t > now + 1 && p->delay.n && !dram_full(d)) {
        uint64_t ready = p->delay_ready;
        uint64_t u = ready <= core ? now + 1
                                   : clk_after(p->env.clk, CLK_CORE, ready - 1, CLK_DRAM);
        t = u < t ? u : t;
    }
    p->dram_at = t;
}

/* -- all clocks -- */

static void
begin(struct partition *p, const struct partition_span *span)
{
    memcpy(p->tick, span->tick, sizeof p->tick);
    p->out.end = span->icnt_end;
    for (struct slice *s = p->slice; s < p->slice + p->slices; s++)
        if (!ring_full(&s->in)) /* as in next_event */
            s->at = min_u64(s->at, inbound_ready(s->inbound));
}

const struct instant *
partition_ticks(struct partition *p, const struct partition_span *span,
                const struct instant *t)
{
    enum { L2 = 1 << CLK_L2, DRAM = 1 << CLK_DRAM };
    const struct instant *const end = span->end;
    const bool all = span->all;
    uint64_t *tick = p->tick;
    if (!t) {
        begin(p, span);
        t = span->first;
    }
    if (outbound_deferred(&p->out) && icnt_cycle(p->env.replies) >= tick[CLK_ICNT])
        outbound_caught_up(&p->out);
    for (; t < end; t++) {
        const unsigned on = t->domains, icnt = on >> CLK_ICNT & 1;
        if (icnt & (p->out.busy != 0))
            outbound_send(&p->out, tick[CLK_ICNT], tick[CLK_L2]);
        if (p->out.deferred && on & L2 &&
            outbound_room(&p->out, tick[CLK_ICNT]) == ROOM_UNKNOWN) {
            p->out.waits_at = tick[CLK_ICNT];
            return t;
        }
        if (on & DRAM) {
            const uint64_t now = tick[CLK_DRAM]++;
            if (p->dram_at <= now || all)
                dram_clock(p, now, span->from + t->core);
        }
        if (on & L2) {
            const uint64_t now = tick[CLK_L2];
            p->reply_at = tick[CLK_ICNT] + icnt;
            for (unsigned i = 0; i < p->slices; i++)
                if (p->slice[i].at <= now || all)
                    slice_tick(p, &p->slice[i], now);
            tick[CLK_L2] = now + 1;
        }
        tick[CLK_ICNT] += icnt;
    }
    return end;
}

uint64_t
partition_next(const struct partition *p, uint64_t from)
{
    const struct clk *k = p->env.clk;
    const uint64_t l2 = l2_at(p), dram = p->dram_at, *tick = p->tick;
    uint64_t core = NEVER;
    if (p->out.busy)
        core = clk_at_or_after(k, CLK_ICNT, tick[CLK_ICNT], CLK_CORE);
    if (core > from && l2 != NEVER)
        core = min_u64(core,
                       clk_at_or_after(k, CLK_L2, max_u64(l2, tick[CLK_L2]), CLK_CORE));
    if (core > from && dram != NEVER)
        core = min_u64(
            core, clk_at_or_after(k, CLK_DRAM, max_u64(dram, tick[CLK_DRAM]), CLK_CORE));
    return max_u64(core, from);
}

/* -- the rest -- */

void
partition_prefill(struct partition *p, unsigned slice, uint64_t local, uint8_t sectors)
{
    struct slice *s = &p->slice[slice];
    struct cache_eviction ev;
    if (p->no_l2)
        return;
    enum cache_result r = cache_read(s->cache, local, sectors, NONE, 0, true, &ev);
    if (r == CACHE_MISS || r == CACHE_SECTOR_MISS)
        cache_fill(s->cache, local, cache_asked(s->cache), 0, wake, s, &ev);
}

static bool
idle(const struct partition *p)
{
    if (p->delay.n || dram_pending(p->dram))
        return false;
    for (unsigned i = 0; i < p->slices; i++) {
        const struct slice *s = &p->slice[i];
        if (inbound_waiting(s->inbound) | s->in.n | s->out->q.q.n | s->miss.n | s->up.n |
            s->waiting)
            return false;
    }
    return true;
}

struct partition_left
partition_left(const struct partition *p)
{
    struct partition_left left = {.bursts = dram_bursts(p->dram), .idle = idle(p)};
    for (uint32_t k = 0; k < p->delay.n; k++)
        left.bursts += dram_accepted(p->dram, ring_at(&p->delay, k)->number)->bursts;
    for (unsigned i = 0; i < p->slices; i++) {
        const struct slice *s = &p->slice[i];
        for (uint32_t k = 0; k < s->miss.n; k++)
            left.bursts += ring_at(&s->miss, k)->bursts;
        left.replies +=
            inbound_waiting(s->inbound) + s->in.n + s->out->q.q.n + s->waiting;
    }
    return left;
}

void
partition_settle(struct partition *p, uint64_t l2_now, uint64_t dram_now)
{
    dram_settle(p->dram, dram_now);
    for (unsigned i = 0; i < p->slices; i++) {
        struct slice *s = &p->slice[i];
        if (s->stalled && s->stalled_at < l2_now) {
            s->stats->l2_stall_cycles += l2_now - s->stalled_at;
            s->stalled_at = l2_now;
        }
    }
}

void
partition_explain(const struct partition *p, struct strbuf *out)
{
    if (idle(p))
        return;
    for (unsigned i = 0; i < p->slices; i++) {
        const struct slice *s = &p->slice[i];
        strbuf_printf(
            out,
            "L2 slice %u: %u in the delay line, %u before the L2%s, %u wait for "
            "data (%u woken; %u misses), %u+%u to the DRAM, %u from it, %u replies\n",
            s->number, inbound_waiting(s->inbound), s->in.n,
            s->stalled ? " (head held: no line, MSHR or room)" : "", s->waiting,
            s->woken.n, p->no_l2 ? 0 : cache_pending(s->cache), s->miss.n - s->down,
            s->down, s->up.n, s->out->q.q.n);
    }
    strbuf_printf(out, "DRAM channel %u: %u on the way; ", p->index, p->delay.n);
    dram_explain(p->dram, out);
    strbuf_addz(out, "\n");
}
