/* memsys.c: the memory system's parts go through quanta (memsys.h).
 *
 * In a quantum each partition and each port takes its own ticks in the order of memory.h.
 * The crossbars take theirs after all others, by the times of packets and credits
 * (timed_queue.h). The result is that of stepping tick by tick under one of two conditions:
 *   - nothing passes a crossbar within a quantum;
 *   - longer quanta, partitions ahead: a request waits in a slice's delay line for longer
 *     than two quanta. So partitions and replies go through the next quantum before the
 *     requests of this one are known. They accept those later, as they would have at the
 *     time (arrivals.h). Ports know all replies of their quantum at its start.
 *
 * Room before a crossbar does depend on its ticks of the same quantum. Mostly the answer is
 * yes or no. A partition or port that gets ROOM_UNKNOWN waits in that tick for the
 * crossbars. Replies, and the partitions that wait for them, depend on ports only where an
 * output is full. So they overlap the ports until then (memsys_replies); if they stop there,
 * the ports' next quantum is shorter (memsys_next_quantum).
 *
 * Parts that sleep cost nothing; what a part counts over time it counts by subtraction. */
#include "timing/engine/memsys.h"
#include "timing/engine/arrivals.h"
#include "base/bitset.h"
#include "base/vec.h"

#include <string.h>

struct part {
    /* Read by the thread that accepts requests for it. */
    _Alignas(64) struct partition *p;
    struct outbound *out;
    struct arrivals arrivals; /* if ahead */
    /* Written in its quanta: a cache line of its own, to avoid false sharing. */
    _Alignas(64) const struct instant *instant; /* first not done yet; NULL: the first */
    bool waits;    /* before its interconnect tick outbound.waits_at, for the crossbars */
    bool ran;      /* since arrivals_publish */
    uint64_t next; /* core cycle with something to do, NEVER */
};

struct clock { /* of the domains of one frequency, which tick together */
    clk_time period;
    clk_time time;    /* of the first tick not done at the open quantum's end */
    unsigned domains; /* bit set */
};

/* How the clocks tick in a quantum of so many cycles with these times until their first
 * ticks in it, from the core's tick before (from the beginning: in the first quantum). */
struct pattern {
    unsigned cycles; /* 0: none */
    clk_time phase[CLK_DOMAINS];
    unsigned ticks[CLK_DOMAINS]; /* of each clock */
    VEC(struct instant) instants;
};
enum { PATTERN_BITS = 6 }; /* mostly few: clocks meet again after some quanta */

/* Core cycles [from, to) of one side: ports and requests, or partitions and replies. */
struct span {
    uint64_t from, to;
    uint64_t tick[CLK_DOMAINS]; /* first tick not done yet, at its start */
    struct clock clock[CLK_DOMAINS];
    struct pattern *pattern;
    struct partition_span ticks; /* of partitions: its ticks */
    uint64_t icnt_end, l2_end;   /* first ticks after it */
};

struct memsys {
    struct memory hw;
    struct arena arena;
    unsigned clocks; /* different ones */
    uint64_t now;    /* core cycle last stepped */
    bool no_skip;

    struct span near; /* the open quantum of ports and requests */
    /* That of partitions and replies: the same, or later cycles. */
    struct span *far, further;
    bool far_open, far_opened; /* opened: with the quantum of the ports */
    bool can_overlap, overlap; /* on this machine; until the quantum closes */
    bool threads;              /* partitions and ports go on in several */
    bool detached;             /* the reply crossbar (icnt_detach) */
    bool unpublished;          /* partitions have run since publish_parts */

    unsigned quantum;
    uint64_t *noticed; /* ports whose next event the crossbars have moved forward */
    uint64_t *woken;   /* ports that were refused and may have room now */
    uint64_t *granted; /* inputs of `requests` that got an output in this quantum */
    uint64_t *due;     /* partitions (memsys_facts) */
    struct part *part;
    uint64_t *port_next; /* core cycle in which ports in `noticed` have something to do */

    /* What requests and replies change, cache-line aligned to avoid false sharing: they
     * may go on in two threads. */
    /* first L2 tick not done of what partitions take, if ahead */
    _Alignas(64) uint64_t accepted;
    uint64_t *arrived; /* slices for which there are some, if those are ahead */
    uint64_t *wake;    /* by partition: core cycle in which what it took is due, NEVER */

    /* first tick of `replies` before which deferred replies have not been sent */
    _Alignas(64) uint64_t served;
    uint64_t *deferred; /* partitions that deferred replies or waited in this quantum */
    bool any_deferred;

    struct pattern pattern[1 << PATTERN_BITS]; /* found before, by a hash */
};

/* Ticks in which a packet is on its way behind the crossbars. */
static unsigned
ticks_behind(const struct memsys *ms)
{
    return ms->hw.m->icnt.latency - ms->hw.m->icnt.latency / 2;
}

/* The soonest use of a load's result after its issue bounds the quantum (gpu.c: what is
 * loaded is there at the quantum's end): two cycles and the latency of the L1. */
static unsigned
quantum_of_loads(const struct memsys *ms)
{
    unsigned w = MEMSYS_QUANTUM;
    while (w > ms->hw.m->l1d.latency + 2)
        w /= 2;
    return w;
}

/* A packet that gets its output in tick n of the interconnect is seen behind it in tick n +
 * behind + 1 at the soonest: not in a quantum of `w` cycles that begins with n. */
static bool
is_seen_later(const struct memsys *ms, unsigned w)
{
    const uint64_t num = ms->hw.clk.num[CLK_CORE][CLK_ICNT];
    const uint64_t den = ms->hw.clk.den[CLK_CORE][CLK_ICNT];
    /* ticks from the first of a quantum to the last that is seen in it */
    return (den == 1 ? w * num - 1 : (w * num + den - 1) / den) <= ticks_behind(ms);
}

/* Lookahead of the crossbars, at most `w` cycles. */
static unsigned
short_quantum(const struct memsys *ms, unsigned w)
{
    while (w > 1 && !is_seen_later(ms, w))
        w /= 2;
    return w;
}

/* L2 ticks of so many core cycles, at most. */
static uint64_t
l2_ticks(const struct memsys *ms, unsigned cycles)
{
    return clk_at_or_after(&ms->hw.clk, CLK_CORE, cycles, CLK_L2);
}

/* Partitions may be ahead of what they are asked, by less than the delay line is long:
 * then the crossbars do not bound a quantum, since what they bring in it is known at its
 * start. A partition is ahead by two such quanta at most (memsys_open). */
static unsigned
long_quantum(const struct memsys *ms, unsigned w)
{
    while (w > 1 && (l2_ticks(ms, 2 * w) > ms->hw.m->partition.rop_latency ||
                     l2_ticks(ms, 2 * w) > INBOUND_HISTORY))
        w /= 2;
    return w;
}

static void
find_clocks(struct memsys *ms, struct span *s)
{
    ms->clocks = 0;
    for (int d = 0; d < CLK_DOMAINS; d++) {
        unsigned i = 0;
        while (i < ms->clocks && s->clock[i].period != ms->hw.clk.period[d])
            i++;
        ms->clocks += i == ms->clocks;
        s->clock[i].period = ms->hw.clk.period[d];
        s->clock[i].domains |= 1u << d;
    }
}

static bool
is_ahead(const struct memsys *ms)
{
    return ms->far != &ms->near;
}

struct memsys *
memsys_new(const struct machine *m, struct memsys_facts *facts, struct diag_sink *diag)
{
    struct arena a = {.huge = true};
    struct memsys *ms = ARENA_NEW(&a, struct memsys);
    struct memory *hw = &ms->hw;
    hw->m = m;
    if (!memory_init(hw, &a, m, diag)) {
        arena_free(&a);
        return NULL;
    }
    find_clocks(ms, &ms->near);
    find_clocks(ms, &ms->further);
    const unsigned w = quantum_of_loads(ms);
    const unsigned level = short_quantum(ms, w), longer = long_quantum(ms, w);
    /* With cores slower than the crossbars' lookahead, a quantum could not even be a cycle. */
    const bool ahead = longer > level && is_seen_later(ms, 1);
    ms->quantum = ahead ? longer : level;
    ms->far = ahead ? &ms->further : &ms->near;
    /* By three if they overlap the serial phase, which accepts the first one's requests. */
    ms->can_overlap = ahead && l2_ticks(ms, 3 * ms->quantum) <= m->partition.rop_latency;
    ms->part = ARENA_ARRAY(&a, struct part, hw->channels);
    ms->wake = ARENA_ARRAY(&a, uint64_t, hw->channels);
    for (unsigned i = 0; i < hw->channels; i++) {
        ms->part[i].p = hw->partition[i];
        hw->ends[i].in->ahead = ahead;
        if (ahead)
            arrivals_init(&ms->part[i].arrivals, &a, hw->ends[i].in);
        ms->part[i].out = hw->ends[i].out;
        ms->part[i].next = ms->wake[i] = NEVER;
    }
    ms->port_next = ARENA_ARRAY(&a, uint64_t, hw->ports);
    ms->noticed = bitset_new(&a, hw->ports);
    ms->woken = bitset_new(&a, hw->ports);
    ms->granted = bitset_new(&a, hw->ports);
    ms->due = bitset_new(&a, hw->channels);
    ms->arrived = bitset_new(&a, hw->slices);
    ms->deferred = arena_alloc_aligned(&a, (BITSET_WORDS(hw->channels) + 7) / 8 * 64, 64);
    ms->arena = a;
    *facts = (struct memsys_facts){hw, ms->quantum, hw->channels, ahead, ms->due};
    return ms;
}

void
memsys_free(struct memsys *ms)
{
    if (!ms)
        return;
    for (unsigned i = 0; i < 1u << PATTERN_BITS; i++)
        vec_free(&ms->pattern[i].instants);
    struct arena a = ms->arena; /* ms itself lives in it */
    arena_free(&a);
}

/* -- quanta -- */

static void publish_replies(struct memsys *ms);

uint64_t
memsys_next_quantum(struct memsys *ms, uint64_t from)
{
    uint64_t to = from / ms->quantum * ms->quantum + ms->quantum;
    if (ms->overlap)
        publish_replies(ms);
    if (!is_ahead(ms))
        return to;
    /* What the reply crossbar has not done yet is seen behind it later. */
    uint64_t done = max_u64(icnt_cycle(ms->hw.replies),
                            clk_after(&ms->hw.clk, CLK_CORE, from - 1, CLK_ICNT));
    return min_u64(to,
                   clk_after(&ms->hw.clk, CLK_ICNT, done + ticks_behind(ms), CLK_CORE));
}

/* All core cycles before c count as done. */
static void
skip_to(struct memsys *ms, struct span *s, uint64_t c)
{
    if (s->tick[CLK_CORE] >= c)
        return;
    s->tick[CLK_CORE] = c;
    for (int d = CLK_CORE + 1; d < CLK_DOMAINS; d++)
        s->tick[d] = clk_after(&ms->hw.clk, CLK_CORE, c - 1, (enum clk_domain)d);
    for (unsigned i = 0; i < ms->clocks; i++) {
        struct clock *f = &s->clock[i];
        f->time = s->tick[bit_lowest(f->domains)] * f->period;
    }
}

/* What p->cycles and p->phase make of a quantum. */
static void
find_instants(const struct memsys *ms, struct pattern *p)
{
    const clk_time *period = ms->hw.clk.period;
    clk_time time[CLK_DOMAINS], end = p->phase[0] + (p->cycles - 1) * period[CLK_CORE];
    memcpy(time, p->phase, sizeof time);
    memset(p->ticks, 0, sizeof p->ticks);
    p->instants.n = 0;
    for (unsigned core = 0;;) {
        clk_time t = time[0];
        for (unsigned i = 1; i < ms->clocks; i++)
            t = time[i] < t ? time[i] : t;
        if (t > end)
            return;
        unsigned domains = 0;
        for (unsigned i = 0; i < ms->clocks; i++)
            if (time[i] == t) {
                domains |= ms->far->clock[i].domains;
                time[i] += ms->far->clock[i].period;
                p->ticks[i]++;
            }
        if (domains != 1u << CLK_CORE)
            *vec_push(&p->instants) = (struct instant){(uint8_t)core, (uint8_t)domains};
        core += domains >> CLK_CORE & 1;
    }
}

/* When the clocks tick in it. */
static struct pattern *
pattern_of(struct memsys *ms, const struct span *s)
{
    const clk_time base = (s->from - (s->from != 0)) * ms->hw.clk.period[CLK_CORE];
    const unsigned cycles = (unsigned)(s->to - s->from);
    clk_time phase[CLK_DOMAINS] = {0};
    uint64_t h = cycles;
    for (unsigned i = 0; i < ms->clocks; i++) {
        phase[i] = s->clock[i].time - base;
        h = h * 0x9e3779b97f4a7c15u + (uint64_t)phase[i];
    }
    struct pattern *p = &ms->pattern[h * 0x9e3779b97f4a7c15u >> (64 - PATTERN_BITS)];
    if (p->cycles != cycles || memcmp(p->phase, phase, sizeof phase) != 0) {
        p->cycles = cycles;
        memcpy(p->phase, phase, sizeof phase);
        find_instants(ms, p);
    }
    return p;
}

static void
open_span(struct memsys *ms, struct span *s, uint64_t from, uint64_t to)
{
    skip_to(ms, s, from);
    s->from = from;
    s->to = to;
    s->icnt_end = clk_after(&ms->hw.clk, CLK_CORE, to - 1, CLK_ICNT);
    s->l2_end = clk_after(&ms->hw.clk, CLK_CORE, to - 1, CLK_L2);
    if (s != ms->far)
        return;
    s->pattern = pattern_of(ms, s);
    const struct instant *first = s->pattern->instants.v;
    s->ticks = (struct partition_span){first,   first + s->pattern->instants.n,
                                       s->tick, s->icnt_end,
                                       s->from, ms->no_skip};
    for (unsigned i = 0; i < ms->clocks; i++)
        s->clock[i].time += s->pattern->ticks[i] * s->clock[i].period;
}

static void
close_span(struct memsys *ms, struct span *s)
{
    for (unsigned i = 0; i < ms->clocks; i++)
        FOR_BITS(d, s->clock[i].domains)
    s->tick[d] += s->pattern->ticks[i];
}

/* The ports' quantum. */
static void
open_ports(struct memsys *ms, uint64_t from, uint64_t to)
{
    const struct clk *k = &ms->hw.clk;
    struct core_ticks *ticks = &ms->hw.ticks;
    assert(from < to && to - from <= MEMSYS_QUANTUM);
    open_span(ms, &ms->near, from, to);
    memset(ms->noticed, 0, BITSET_WORDS(ms->hw.ports) * sizeof *ms->noticed);
    icnt_skip(ms->hw.requests, ms->near.tick[CLK_ICNT]);
    ms->accepted = ms->near.tick[CLK_L2];
    ticks->from = from;
    for (uint64_t c = from; c < to; c++) {
        ticks->at[c - from] = clk_at_or_after(k, CLK_CORE, c, CLK_ICNT);
        ticks->after[c - from] = clk_after(k, CLK_CORE, c, CLK_ICNT);
    }
}

/* Accepted requests wake their partitions from the next quantum on. */
static void
wake_parts(struct memsys *ms)
{
    for (unsigned i = 0; i < ms->hw.channels; i++) {
        struct part *part = &ms->part[i];
        uint64_t at = max_u64(ms->wake[i], ms->far->to);
        if (at < part->next)
            part->next = at;
    }
}

/* Those with something to do in their quantum. */
static void
find_due(struct memsys *ms)
{
    const bool ahead = is_ahead(ms);
    memset(ms->due, 0, BITSET_WORDS(ms->hw.channels) * sizeof *ms->due);
    for (unsigned i = 0; i < ms->hw.channels; i++) {
        if (!ms->no_skip && ms->part[i].next >= ms->far->to)
            continue;
        bitset_add(ms->due, i);
        if (ahead) { /* all that was accepted is put in */
            arrivals_swap(&ms->part[i].arrivals);
            ms->wake[i] = NEVER;
        }
    }
}

/* The partitions' quantum from where they are to `to`. */
static void
open_parts(struct memsys *ms, uint64_t from, uint64_t to)
{
    ms->far_open = ms->unpublished = true;
    if (is_ahead(ms))
        open_span(ms, ms->far, max_u64(from, ms->further.to), to);
    find_due(ms);
    ms->served = ms->far->tick[CLK_ICNT];
    icnt_skip(ms->hw.replies, ms->served);
}

/* The partitions' quantum that opens with the ports'. */
static void
open_far(struct memsys *ms, uint64_t from, uint64_t to, bool threads)
{
    const bool ahead = is_ahead(ms);
    ms->far_opened = !ms->far_open && (!ahead || to > ms->further.to);
    if (!ms->far_opened) {
        memset(ms->due, 0, BITSET_WORDS(ms->hw.channels) * sizeof *ms->due);
        return;
    }
    open_parts(ms, from, to);
    ms->detached = threads || ahead;
    if (ms->detached)
        icnt_detach(ms->hw.replies);
}

void
memsys_open(struct memsys *ms, uint64_t from, uint64_t to, uint64_t far)
{
    open_ports(ms, from, to);
    if (far)
        open_far(ms, from, far, ms->threads);
}

/* Credits of the partitions are published to the request crossbar. */
static void
publish_parts(struct memsys *ms)
{
    ms->unpublished = false;
    for (unsigned i = 0; i < ms->hw.channels; i++)
        if (ms->part[i].ran) {
            ms->part[i].ran = false;
            arrivals_publish(&ms->part[i].arrivals);
        }
}

static void
close_far(struct memsys *ms)
{
    close_span(ms, ms->far);
    ms->far_open = false;
    publish_parts(ms); /* that waited for replies */
}

/* -- partitions -- */

/* Up to the quantum's end, or to an L2 tick for which the crossbars must first have come
 * as far. */
static void
part_goes_on(struct memsys *ms, struct part *part)
{
    part->instant = partition_ticks(part->p, &ms->far->ticks, part->instant);
    part->waits = part->instant != ms->far->ticks.end;
    if (part->waits)
        return;
    part->next = partition_next(part->p, ms->far->to);
    part->ran = is_ahead(ms);
    if (is_ahead(ms))
        arrivals_end(&part->arrivals);
}

void
memsys_part(struct memsys *ms, unsigned i)
{
    struct part *part = &ms->part[i];
    if (is_ahead(ms))
        arrivals_begin(&part->arrivals, ms->far->l2_end);
    part->instant = NULL;
    part_goes_on(ms, part);
}

/* -- the crossbars, at the end of a quantum -- */

/* A partition has something to do in this L2 tick. */
static void
part_wakes(struct memsys *ms, struct part *part, uint64_t l2)
{
    uint64_t at = clk_at_or_after(&ms->hw.clk, CLK_L2, l2, CLK_CORE);
    part->next = min_u64(part->next, max_u64(at, ms->far->to));
}

/* What has arrived for partitions that are ahead goes to them, in one of their L2 ticks;
 * icnt: first tick of the crossbar not done. */
static void
accept_requests(struct memsys *ms, uint64_t l2, uint64_t icnt)
{
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.slices); w++)
        FOR_BITS(b, ms->arrived[w])
        {
            unsigned i = w * 64 + (unsigned)b;
            if (icnt_front_at(ms->hw.requests, i) >= icnt)
                continue;
            const unsigned k = ms->hw.part_of[i];
            uint64_t at = arrivals_accept(&ms->part[k].arrivals,
                                          i - k * ms->hw.map.slices, l2, icnt);
            if (!at)
                continue;
            at = clk_at_or_after(&ms->hw.clk, CLK_L2, at, CLK_CORE);
            ms->wake[k] = min_u64(ms->wake[k], at);
            if (icnt_front_at(ms->hw.requests, i) == NEVER)
                bitset_del(ms->arrived, i);
        }
}

static void
accept_until(struct memsys *ms, uint64_t l2, uint64_t icnt)
{
    for (; ms->accepted < l2; ms->accepted++)
        accept_requests(ms, ms->accepted, icnt);
}

static void
step_requests(struct memsys *ms, uint64_t tick)
{
    icnt_step(ms->hw.requests, tick);
    const bool ahead = is_ahead(ms);
    uint64_t *fresh = icnt_fresh(ms->hw.requests);
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.slices); w++) {
        if (ahead)
            ms->arrived[w] |= fresh[w];
        else
            FOR_BITS(b, fresh[w])
            {
                unsigned i = w * 64 + (unsigned)b;
                const unsigned k = ms->hw.part_of[i];
                struct part *part = &ms->part[k];
                part_wakes(ms, part,
                           partition_notice(part->p, i - k * ms->hw.map.slices));
            }
        fresh[w] = 0;
    }
}

/* Requests up to core cycle `now` of the quantum. */
static void
cross_requests(struct memsys *ms, uint64_t now)
{
    const uint64_t end = ms->hw.ticks.after[now - ms->near.from];
    const bool ahead = is_ahead(ms);
    for (uint64_t n = icnt_cycle(ms->hw.requests); n < end; n++) {
        if (ahead)
            accept_until(ms, clk_after(&ms->hw.clk, CLK_ICNT, n, CLK_L2), n);
        step_requests(ms, n);
    }
    if (ahead)
        accept_until(ms, clk_after(&ms->hw.clk, CLK_CORE, now, CLK_L2), end);
}

/* Before the reply crossbar's tick: deferred replies; partitions that waited for it to come
 * here. */
static void
send_deferred(struct memsys *ms, uint64_t tick)
{
    for (unsigned i = 0; tick == ms->far->tick[CLK_ICNT] && i < ms->hw.channels; i++)
        if (outbound_deferred(ms->part[i].out)) {
            bitset_add(ms->deferred, i);
            ms->any_deferred = true;
        }
    if (!ms->any_deferred)
        return;
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.channels); w++)
        FOR_BITS(b, ms->deferred[w])
        {
            struct part *part = &ms->part[w * 64 + (unsigned)b];
            if (part->waits && part->out->waits_at == tick)
                part_goes_on(ms, part);
            else
                outbound_follow(part->out, tick);
        }
}

/* After the last tick of the quantum. */
static void
end_deferred(struct memsys *ms)
{
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.channels); w++) {
        FOR_BITS(b, ms->deferred[w])
        {
            struct part *part = &ms->part[w * 64 + (unsigned)b];
            if (part->waits)
                part_goes_on(ms, part);
            else /* what has left may have made room */
                part->next = min_u64(part->next, partition_next(part->p, ms->far->to));
            outbound_follow(part->out, ms->far->icnt_end);
        }
        ms->deferred[w] = 0;
    }
    ms->any_deferred = false;
}

/* The port has something to do in cycle `at`. */
static void
notice(struct memsys *ms, unsigned i, uint64_t at)
{
    ms->port_next[i] = bitset_has(ms->noticed, i) ? min_u64(ms->port_next[i], at) : at;
    bitset_add(ms->noticed, i);
}

/* Ports that have something new behind the crossbar. */
static void
notice_replies(struct memsys *ms)
{
    uint64_t *fresh = icnt_fresh(ms->hw.replies);
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.ports); w++) {
        FOR_BITS(b, fresh[w])
        {
            const unsigned i = w * 64 + (unsigned)b;
            notice(ms, i, memory_port_next(&ms->hw, i, ms->near.to - 1));
        }
        fresh[w] = 0;
    }
}

/* Ports that have room before it. */
static void
notice_room(struct memsys *ms)
{
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.ports); w++) {
        FOR_BITS(b, ms->granted[w])
        if (memory_refused(&ms->hw, w * 64 + (unsigned)b))
            notice(ms, w * 64 + (unsigned)b, ms->near.to);
        ms->granted[w] = 0;
    }
}

/* The reply crossbar before tick `end`, and partitions that wait for it, as far as is
 * known. */
static void
cross_replies(struct memsys *ms, uint64_t end)
{
    for (uint64_t n = icnt_cycle(ms->hw.replies); n < end; n++) {
        if (ms->served == n) {
            ms->served++;
            send_deferred(ms, n);
        }
        if (!icnt_step(ms->hw.replies, n))
            return;
    }
    if (ms->any_deferred && end == ms->far->icnt_end)
        end_deferred(ms);
}

void
memsys_replies(struct memsys *ms)
{
    if (ms->detached && ms->far_opened)
        cross_replies(ms, ms->far->icnt_end);
}

/* Replies up to core cycle `now`, since it is known now what ports have ejected. */
static void
follow_replies(struct memsys *ms, uint64_t now)
{
    if (ms->unpublished)
        publish_parts(ms);
    icnt_attach(ms->hw.replies);
    if (!ms->far_open)
        return;
    cross_replies(ms,
                  min_u64(ms->hw.ticks.after[now - ms->near.from], ms->far->icnt_end));
    if (!is_ahead(ms) || !ms->any_deferred)
        return;
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.channels); w++)
        FOR_BITS(b, ms->deferred[w])
        { /* as far as they have come */
            arrivals_end(&ms->part[w * 64 + (unsigned)b].arrivals);
            arrivals_publish(&ms->part[w * 64 + (unsigned)b].arrivals);
        }
}

/* The rest of the replies, after the present quantum, as far as is known now. */
static void
close_replies(struct memsys *ms)
{
    if (ms->far_open && icnt_cycle(ms->hw.replies) < ms->far->icnt_end) {
        icnt_detach(ms->hw.replies);
        cross_replies(ms, ms->far->icnt_end);
        icnt_attach(ms->hw.replies);
    }
    if (ms->far_open && icnt_cycle(ms->hw.replies) == ms->far->icnt_end)
        close_far(ms);
    notice_replies(ms);
}

/* Whether the partitions' quantum up to cycle `to` may overlap the serial phase. */
static bool
may_go_on(const struct memsys *ms, uint64_t to)
{
    return ms->can_overlap && to > ms->further.to &&
           (!ms->far_open || icnt_cycle(ms->hw.replies) == ms->far->icnt_end);
}

/* The same when ports are through the quantum: first replies that waited for them follow
 * as far as need be. */
static bool
catch_up(struct memsys *ms, uint64_t to)
{
    if (!ms->can_overlap || to <= ms->further.to)
        return false;
    /* What was popped in the quantum counts for replies after it only. */
    if (ms->far_open && icnt_cycle(ms->hw.replies) < ms->near.icnt_end)
        return false;
    if (!may_go_on(ms, to)) {
        icnt_attach(ms->hw.replies);
        close_replies(ms);
    }
    return may_go_on(ms, to);
}

bool
memsys_overlap(struct memsys *ms, uint64_t from, uint64_t far, bool ports_done)
{
    if (!(ports_done ? catch_up(ms, far) : may_go_on(ms, far)))
        return false;
    if (ms->far_open)
        close_far(ms);
    else
        publish_parts(ms);
    wake_parts(ms);
    ms->far_opened = true;
    open_parts(ms, from, far);
    ms->detached = true;
    ms->overlap = true;
    return true;
}

/* What ports have ejected makes room in the reply crossbar, and they see what has come. */
static void
publish_replies(struct memsys *ms)
{
    icnt_attach(ms->hw.replies);
    notice_replies(ms);
    icnt_detach(ms->hw.replies);
}

const uint64_t *
memsys_cross(struct memsys *ms, uint64_t now)
{
    if (!ms->overlap)
        follow_replies(ms, now);
    cross_requests(ms, now);
    uint64_t *granted = icnt_granted(ms->hw.requests);
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.ports); w++) {
        ms->woken[w] = 0;
        FOR_BITS(b, granted[w])
        {
            const bool refused = memory_refused(&ms->hw, w * 64 + (unsigned)b);
            ms->woken[w] |= (uint64_t)refused << b;
        }
        ms->granted[w] |= granted[w];
        granted[w] = 0;
    }
    return ms->woken;
}

void
memsys_close(struct memsys *ms, uint64_t *next)
{
    memsys_cross(ms, ms->near.to - 1);
    if (!ms->overlap) {
        close_replies(ms);
        wake_parts(ms);
    }
    notice_room(ms);
    ms->now = ms->near.to - 1;
    ms->overlap = false;
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.ports); w++)
        FOR_BITS(b, ms->noticed[w])
        {
            const unsigned i = w * 64 + (unsigned)b;
            next[i] = min_u64(next[i], ms->port_next[i]);
        }
}

void
memsys_step(struct memsys *ms, uint64_t now)
{
    open_ports(ms, now, now + 1);
    open_far(ms, now, now + 1, false);
    for (unsigned i = 0; i < ms->hw.ports; i++)
        memory_port(&ms->hw, i, now);
    for (unsigned i = 0; i < ms->hw.channels; i++)
        if (bitset_has(ms->due, i))
            memsys_part(ms, i);
    memsys_close(ms, ms->port_next);
}

/* Core cycle in which something moves in the crossbars. */
static uint64_t
cross_next(const struct memsys *ms)
{
    for (unsigned w = 0; w < BITSET_WORDS(ms->hw.slices); w++)
        if (ms->arrived[w])
            return ms->near.to;
    uint64_t n = min_u64(icnt_next(ms->hw.requests), icnt_next(ms->hw.replies));
    n = clk_at_or_after(&ms->hw.clk, CLK_ICNT, n, CLK_CORE);
    return max_u64(n, ms->near.to);
}

uint64_t
memsys_next_event(const struct memsys *ms)
{
    uint64_t next = NEVER;
    for (unsigned i = 0; i < ms->hw.channels && next > ms->near.to; i++)
        next = min_u64(next, ms->part[i].next);
    if (next > ms->near.to)
        next = min_u64(next, cross_next(ms));
    return max_u64(next, ms->near.to);
}

/* -- state -- */

void
memsys_begin(struct memsys *ms, bool threads, bool no_skip)
{
    ms->no_skip = no_skip;
    ms->threads = threads;
    skip_to(ms, ms->far, ms->now + 1);
    for (unsigned i = 0; i < ms->hw.channels; i++)
        if (is_ahead(ms)) {
            arrivals_alone(&ms->part[i].arrivals, !threads);
            arrivals_settle(&ms->part[i].arrivals);
        }
    memory_begin(&ms->hw, ms->far->tick[CLK_L2], ms->far->tick[CLK_DRAM]);
}

void
memsys_stats(struct memsys *ms, struct launch_stats *out)
{
    skip_to(ms, ms->far, ms->now + 1);
    for (unsigned i = 0; is_ahead(ms) && i < ms->hw.channels; i++)
        arrivals_settle(&ms->part[i].arrivals);
    memory_stats(&ms->hw, ms->far->tick[CLK_L2], ms->far->tick[CLK_DRAM], out);
}
