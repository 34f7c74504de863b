/* memsys.c: everything beyond the SMs, put together: request crossbar, memory partitions,
 * reply crossbar, and the order in which their clocks tick.
 *
 * Ticks are taken in the order of their exact times (clk.h). At one instant:
 *   1. ports of the SMs show their next reply, and take one from their side of the reply
 *      crossbar, which is shown the cycle after (core clock)
 *   2. L2 replies go into the reply crossbar (interconnect)
 *   3. DRAM channels
 *   4. L2 slices, which first take a request from the request crossbar
 *   5. both crossbars
 * and then the SMs, outside. A core cycle c ends with the instant of tick c: step(c)
 * takes every tick after that of c - 1 up to and including it.
 *
 * Time goes on in quanta (memsys.h): in one, each partition and each port takes its own
 * ticks in that order, and the crossbars take theirs when all others have, heeding the
 * ticks at which packets came and went (icnt.c). That is the same as tick by tick, if
 * nothing gets through a crossbar within a quantum; or, for longer quanta, if partitions
 * are ahead: a request waits in a slice's delay line for longer than two quanta, so
 * partitions can go through the next one, and replies too, before the requests of the
 * present one are known. Those they take later, as they would have at the time
 * (inbound_accept). Ports then know all replies of their quantum at its start.
 *
 * Room before a crossbar does depend on its ticks of the same quantum. Mostly there is
 * room enough whatever they do, or none; a partition or port for which that is not so
 * waits in that tick for the crossbars to be there. Replies and the partitions that wait
 * for them depend on ports only where an outlet is full, so they go on beside the ports,
 * as far as that (memsys_replies); what is missing then makes the next quantum of the
 * ports shorter (memsys_reach).
 *
 * Nothing is done for parts that sleep; what a part counts over time it counts by
 * subtraction. */
#include "timing/engine/memsys.h"
#include "base/bitset.h"
#include "base/inline.h"
#include "base/vec.h"
#include "timing/mem/partition.h"

#include <string.h>

struct port { /* of one SM, or of the SMs that share it */
    _Alignas(64) RING(struct packet) fifo;
    bool published;             /* the front reply can be taken */
    bool again;                 /* it is shown with the next step */
    bool refused;               /* a request found no room in cycle `now` */
    uint16_t wanted;            /* flits of the smallest that was refused */
    const struct packet *front; /* refused last */
    uint16_t front_flits;
    uint64_t now;  /* core cycle last stepped */
    uint64_t next; /* with something to do, NEVER */
    /* for the launch's counters */
    uint64_t requests, request_flits, asked, given, latency;
};

struct part {
    /* What it accepts may be found out in another thread. */
    _Alignas(64) struct partition *p;
    struct inbound *in;
    /* Changed in its quanta. */
    _Alignas(64) const struct instant *instant; /* first not done yet */
    bool waits;    /* before its interconnect tick, late, for the crossbars */
    bool ran;      /* since inbound_publish */
    uint64_t next; /* core cycle with something to do, NEVER */
    struct stat_mem stats;
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

/* Core cycles [from, to) as one side goes through them. */
struct span {
    uint64_t from, to;
    uint64_t tick[CLK_DOMAINS]; /* first tick not done yet, at its start */
    struct clock clock[CLK_DOMAINS];
    struct pattern *pattern;
    uint64_t icnt_end, l2_end; /* first ticks after it */
};

struct memsys {
    struct arena mem;
    const struct machine *m;
    struct addrmap map;
    struct clk clk;
    unsigned clocks; /* different ones */
    uint64_t now;    /* core cycle last stepped */
    bool no_skip;

    /* The open quantum of ports and requests; first interconnect tick not done at the
     * time of core cycle from + k, and after it. */
    struct span near;
    uint64_t icnt_at[MEMSYS_QUANTUM], icnt_after[MEMSYS_QUANTUM];
    /* That of partitions and replies: the same, or later cycles. */
    struct span *far, further;
    bool far_open, far_opened; /* opened: with the quantum of the ports */
    bool can_overlap, overlap; /* at all; now */
    bool detached;             /* replies from the ports */

    unsigned quantum;
    unsigned ports, channels, slices; /* slices: all */
    struct icnt *requests, *replies;
    uint64_t *noticed; /* ports whose next event is sooner on account of the crossbars */
    uint64_t *woken;   /* ports that were refused and may have room now */
    uint64_t *granted; /* inputs of `requests` that got an output in this quantum */
    struct part *part;
    struct port *port;
    uint16_t *port_of; /* by SM */
    uint16_t *part_of; /* by slice */

    struct stat_mem own; /* counted here, not by a partition */
    uint64_t began_dram; /* DRAM tick at which the launch began */

    /* What requests and replies change, each side in a line of the host's cache of its
     * own, since they may go on in two threads. */
    /* first L2 tick not done of what partitions take, if ahead */
    _Alignas(64) uint64_t accepted;
    uint64_t *arrived; /* slices for which there are some, if those are ahead */
    uint64_t *wake;    /* by partition: core cycle in which what it took is due, NEVER */

    /* first tick of `replies` for which deferred replies have not been looked at */
    _Alignas(64) uint64_t served;
    uint64_t *deferred; /* partitions that deferred replies or waited in this quantum */
    bool any_deferred;

    struct pattern pattern[1 << PATTERN_BITS]; /* found before, by a hash */
};

/* Ticks in which a packet is on its way behind the crossbars. */
static unsigned
ticks_behind(const struct memsys *ms)
{
    return ms->m->icnt.latency - ms->m->icnt.latency / 2;
}

/* The soonest use of a load's result after its issue bounds the quantum (gpu.c: what is
 * loaded is there at the quantum's end): two cycles and the latency of the L1. */
static unsigned
quantum_of_loads(const struct memsys *ms)
{
    unsigned w = MEMSYS_QUANTUM;
    while (w > ms->m->l1d.latency + 2)
        w /= 2;
    return w;
}

/* How long nothing passes the crossbars, at most `w` cycles: a packet that gets its
 * output in tick n of the interconnect is seen behind it in tick n + behind + 1 at the
 * soonest. */
static unsigned
short_quantum(const struct memsys *ms, unsigned w)
{
    const unsigned behind = ticks_behind(ms);
    const uint64_t num = ms->clk.num[CLK_CORE][CLK_ICNT];
    const uint64_t den = ms->clk.den[CLK_CORE][CLK_ICNT];
    /* ticks from the first of a quantum to the last that is seen in it */
    while (w > 1 && (den == 1 ? w * num - 1 : (w * num + den - 1) / den) > behind)
        w /= 2;
    return w;
}

/* L2 ticks of so many core cycles, at most. */
static uint64_t
l2_ticks(const struct memsys *ms, unsigned cycles)
{
    return clk_at_or_after(&ms->clk, CLK_CORE, cycles, CLK_L2);
}

/* Partitions may be ahead of what they are asked, by less than the delay line is long:
 * then the crossbars do not bound a quantum, since what they bring in it is known at its
 * start. A partition is ahead by two such quanta at most (memsys_open_far). */
static unsigned
long_quantum(const struct memsys *ms, unsigned w)
{
    while (w > 1 && (l2_ticks(ms, 2 * w) > ms->m->partition.rop_latency ||
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
        while (i < ms->clocks && s->clock[i].period != ms->clk.period[d])
            i++;
        ms->clocks += i == ms->clocks;
        s->clock[i].period = ms->clk.period[d];
        s->clock[i].domains |= 1u << d;
    }
}

struct memsys *
memsys_new(const struct machine *m, struct diag_sink *diag)
{
    struct arena mem = {.huge = true};
    struct memsys *ms = ARENA_NEW(&mem, struct memsys);
    ms->m = m;
    if (!addrmap_init(&ms->map, m, diag)) {
        arena_free(&mem);
        return NULL;
    }
    const double mhz[CLK_DOMAINS] = {m->clock.core, m->clock.icnt, m->clock.l2,
                                     m->clock.dram};
    clk_init(&ms->clk, mhz);
    find_clocks(ms, &ms->near);
    find_clocks(ms, &ms->further);
    const unsigned w = quantum_of_loads(ms);
    const unsigned level = short_quantum(ms, w), longer = long_quantum(ms, w);
    const bool ahead = longer > level;
    ms->quantum = ahead ? longer : level;
    ms->far = ahead ? &ms->further : &ms->near;
    /* By three while they go on before what is asked in the first has come. */
    ms->can_overlap = ahead && l2_ticks(ms, 3 * ms->quantum) <= m->partition.rop_latency;
    ms->ports = (m->sm.count + m->sm.per_cluster - 1) / m->sm.per_cluster;
    ms->channels = m->dram.channels;
    ms->slices = ms->map.subs;
    struct icnt_config c = {.inputs = ms->ports,
                            .outputs = ms->slices,
                            .flit = m->icnt.flit,
                            .input_buffer = m->icnt.input_buffer,
                            .output_buffer = m->icnt.output_buffer,
                            .latency = m->icnt.latency,
                            .speedup = m->icnt.speedup,
                            .allocation = m->icnt.allocation};
    ms->requests = icnt_new(&mem, &c);
    c.inputs = ms->slices;
    c.outputs = ms->ports;
    ms->replies = icnt_new(&mem, &c);
    ms->part = ARENA_ARRAY(&mem, struct part, ms->channels);
    uint8_t *half_of =
        m->partition.halves > 1 ? ARENA_ARRAY(&mem, uint8_t, m->sm.count) : NULL;
    ms->port_of = ARENA_ARRAY(&mem, uint16_t, m->sm.count);
    for (unsigned i = 0; i < m->sm.count; i++) {
        ms->port_of[i] = (uint16_t)(i / m->sm.per_cluster);
        if (half_of)
            half_of[i] = (uint8_t)(i * m->partition.halves / m->sm.count);
    }
    struct partition_env env = {.m = m,
                                .map = &ms->map,
                                .clk = &ms->clk,
                                .requests = ms->requests,
                                .replies = ms->replies,
                                .port_of = ms->port_of,
                                .half_of = half_of,
                                .ahead = ahead};
    for (unsigned i = 0; i < ms->channels; i++) {
        ms->part[i].p = partition_new(&mem, &env, i, &ms->part[i].stats, diag);
        if (!ms->part[i].p) {
            arena_free(&mem);
            return NULL;
        }
        ms->part[i].in = partition_inbound(ms->part[i].p);
        ms->part[i].next = NEVER;
    }
    ms->port = ARENA_ARRAY(&mem, struct port, ms->ports);
    for (unsigned i = 0; i < ms->ports; i++) {
        ring_init(&ms->port[i].fifo, &mem, m->icnt.eject_buffer);
        ms->port[i].next = NEVER;
    }
    ms->noticed = bitset_new(&mem, ms->ports);
    ms->woken = bitset_new(&mem, ms->ports);
    ms->granted = bitset_new(&mem, ms->ports);
    ms->part_of = ARENA_ARRAY(&mem, uint16_t, ms->slices);
    for (unsigned i = 0; i < ms->slices; i++)
        ms->part_of[i] = (uint16_t)(i / ms->map.slices);
    ms->arrived = bitset_new(&mem, ms->slices);
    ms->wake = ARENA_ARRAY(&mem, uint64_t, ms->channels);
    ms->deferred =
        arena_alloc_aligned(&mem, (BITSET_WORDS(ms->channels) + 7) / 8 * 64, 64);
    for (unsigned i = 0; i < ms->channels; i++)
        ms->wake[i] = NEVER;
    ms->mem = mem;
    return ms;
}

void
memsys_free(struct memsys *ms)
{
    if (!ms)
        return;
    for (unsigned i = 0; i < 1u << PATTERN_BITS; i++)
        vec_free(&ms->pattern[i].instants);
    struct arena mem = ms->mem; /* ms itself lives in it */
    arena_free(&mem);
}

void
memsys_no_skip(struct memsys *ms, bool on)
{
    ms->no_skip = on;
}

/* -- quanta -- */

unsigned
memsys_quantum(const struct memsys *ms)
{
    return ms->quantum;
}

bool
memsys_ahead(const struct memsys *ms)
{
    return ms->far != &ms->near;
}

uint64_t
memsys_reach(const struct memsys *ms, uint64_t from)
{
    uint64_t to = from / ms->quantum * ms->quantum + ms->quantum;
    if (!memsys_ahead(ms))
        return to;
    /* What the reply crossbar has not done yet is seen behind it later. */
    uint64_t done = max_u64(icnt_cycle(ms->replies),
                            clk_after(&ms->clk, CLK_CORE, from - 1, CLK_ICNT));
    return min_u64(to, clk_after(&ms->clk, CLK_ICNT, done + ticks_behind(ms), CLK_CORE));
}

/* All core cycles before c count as done. */
static void
skip_to(struct memsys *ms, struct span *s, uint64_t c)
{
    if (s->tick[CLK_CORE] >= c)
        return;
    s->tick[CLK_CORE] = c;
    for (int d = CLK_CORE + 1; d < CLK_DOMAINS; d++)
        s->tick[d] = clk_after(&ms->clk, CLK_CORE, c - 1, (enum clk_domain)d);
    for (unsigned i = 0; i < ms->clocks; i++) {
        struct clock *f = &s->clock[i];
        f->time = s->tick[bit_lowest(f->domains)] * f->period;
    }
}

/* What p->cycles and p->phase make of a quantum. */
static void
find_instants(const struct memsys *ms, struct pattern *p)
{
    const clk_time *period = ms->clk.period;
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
    const clk_time base = (s->from - (s->from != 0)) * ms->clk.period[CLK_CORE];
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
    s->icnt_end = clk_after(&ms->clk, CLK_CORE, to - 1, CLK_ICNT);
    s->l2_end = clk_after(&ms->clk, CLK_CORE, to - 1, CLK_L2);
    if (s != ms->far)
        return;
    s->pattern = pattern_of(ms, s);
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

void
memsys_open(struct memsys *ms, uint64_t from, uint64_t to)
{
    const struct clk *k = &ms->clk;
    assert(from < to && to - from <= MEMSYS_QUANTUM);
    open_span(ms, &ms->near, from, to);
    memset(ms->noticed, 0, BITSET_WORDS(ms->ports) * sizeof *ms->noticed);
    icnt_skip(ms->requests, ms->near.tick[CLK_ICNT]);
    ms->accepted = ms->near.tick[CLK_L2];
    for (uint64_t c = from; c < to; c++) {
        ms->icnt_at[c - from] = clk_at_or_after(k, CLK_CORE, c, CLK_ICNT);
        ms->icnt_after[c - from] = clk_after(k, CLK_CORE, c, CLK_ICNT);
    }
}

/* What has been taken for partitions concerns them from then on. */
static void
wake_parts(struct memsys *ms)
{
    for (unsigned i = 0; i < ms->channels; i++) {
        struct part *part = &ms->part[i];
        uint64_t at = max_u64(ms->wake[i], ms->far->to);
        if (at < part->next)
            part->next = at;
    }
}

/* The partitions' quantum from where they are to `to`. */
static void
open_parts(struct memsys *ms, uint64_t from, uint64_t to)
{
    const bool ahead = memsys_ahead(ms);
    ms->far_open = true;
    if (ahead)
        open_span(ms, ms->far, max_u64(from, ms->further.to), to);
    for (unsigned i = 0; ahead && i < ms->channels; i++)
        if (memsys_part_due(ms, i)) { /* it begins with all that was taken */
            inbound_swap(ms->part[i].in);
            ms->wake[i] = NEVER;
        }
    ms->served = ms->far->tick[CLK_ICNT];
    icnt_skip(ms->replies, ms->served);
}

void
memsys_open_far(struct memsys *ms, uint64_t from, uint64_t to, bool threads)
{
    const bool ahead = memsys_ahead(ms);
    ms->far_opened = !ms->far_open && (!ahead || to > ms->further.to);
    if (!ms->far_opened)
        return;
    open_parts(ms, from, to);
    ms->detached = threads || ahead;
    if (ms->detached)
        icnt_detach(ms->replies);
}

static void
publish_parts(struct memsys *ms)
{
    for (unsigned i = 0; i < ms->channels; i++)
        if (ms->part[i].ran) {
            ms->part[i].ran = false;
            inbound_publish(ms->part[i].in);
        }
}

static void
close_far(struct memsys *ms)
{
    close_span(ms, ms->far);
    ms->far_open = false;
    publish_parts(ms); /* that waited for replies */
}

/* -- ports -- */

/* First core cycle after `now` in which the port has something to do. */
static inline uint64_t
port_next(const struct memsys *ms, const struct port *port, uint64_t now)
{
    const unsigned i = (unsigned)(port - ms->port);
    const uint64_t full = -(uint64_t)ring_full(&port->fifo); /* NEVER, or 0 */
    uint64_t at = icnt_front_at(ms->replies, i) | full;
    at = clk_after(&ms->clk, CLK_ICNT, at, CLK_CORE);
    /* If it is not known when there is room, it comes when a packet gets its output. */
    const uint64_t room = port->refused ? icnt_room_at(ms->requests, i) : NEVER;
    if (room != NEVER)
        at = min_u64(at, clk_at_or_after(&ms->clk, CLK_ICNT, room - 1, CLK_CORE));
    return max_u64(at & -(uint64_t) !(port->again | port->published), now + 1);
}

uint64_t
memsys_port_sleep(struct memsys *ms, unsigned i)
{
    struct port *port = &ms->port[i];
    return port->next = port_next(ms, port, port->now);
}

uint64_t
memsys_port_next(const struct memsys *ms, unsigned i)
{
    return ms->port[i].next;
}

/* A reply comes from the crossbar. */
NOINLINE static void
port_accepts(struct memsys *ms, unsigned i, uint64_t now)
{
    struct port *port = &ms->port[i];
    const struct packet *p = &icnt_front(ms->replies, i)->p;
    port->given++;
    port->latency += now - p->born;
    port->again |= !port->fifo.n;
    *ring_push(&port->fifo) = *p;
    icnt_pop(ms->replies, i, ms->icnt_at[now - ms->near.from]);
}

unsigned
memsys_port(struct memsys *ms, unsigned i, uint64_t now)
{
    struct port *port = &ms->port[i];
    port->now = now;
    port->refused = false;
    port->published |= port->again;
    port->again = false;
    if (icnt_front_at(ms->replies, i) < ms->icnt_at[now - ms->near.from] &&
        !ring_full(&port->fifo))
        port_accepts(ms, i, now);
    return ring_front(&port->fifo)->sm | (MEMSYS_NO_SM & -(unsigned)!port->published);
}

static void
refuse(struct port *port, unsigned flits)
{
    if (!port->refused || flits < port->wanted)
        port->wanted = (uint16_t)flits;
    port->refused = true;
}

static unsigned
request_flits(const struct machine *m, const struct packet *p)
{
    return icnt_flits(m->icnt.header + (p->kind == PKT_READ ? 0 : p->bytes),
                      m->icnt.flit);
}

enum room
memsys_inject(struct memsys *ms, const struct packet *p)
{
    const struct machine *m = ms->m;
    unsigned in = ms->port_of[p->sm];
    struct port *port = &ms->port[in];
    uint64_t tick = ms->icnt_after[port->now - ms->near.from];
    unsigned flits = port->front == p ? port->front_flits : request_flits(m, p);
    const enum room room = icnt_room(ms->requests, in, flits, tick);
    if (room != ROOM_YES) {
        port->front = p;
        port->front_flits = (uint16_t)flits;
        if (room == ROOM_NO)
            refuse(port, flits);
        return room;
    }
    port->front = NULL;
    struct addr_place at = addrmap_slice(&ms->map, p->addr);
    icnt_push(ms->requests, in, at.slice, flits, p, at.local, tick);
    port->requests++;
    port->request_flits += flits;
    port->asked += partition_pieces(m, p);
    return ROOM_YES;
}

bool
memsys_refused(const struct memsys *ms, unsigned i)
{
    return ms->port[i].refused;
}

bool
memsys_may_have_room(const struct memsys *ms, unsigned i, uint64_t now)
{
    const struct port *port = &ms->port[i];
    uint64_t tick = ms->icnt_after[now - ms->near.from];
    return port->refused && icnt_cycle(ms->requests) < tick &&
           icnt_may_have_room(ms->requests, i, port->wanted, tick);
}

bool
memsys_has_reply(const struct memsys *ms, unsigned sm)
{
    const struct port *port = &ms->port[ms->port_of[sm]];
    return port->published && ring_front(&port->fifo)->sm == sm;
}

const struct packet *
memsys_reply(const struct memsys *ms, unsigned i)
{
    return ring_front(&ms->port[i].fifo);
}

void
memsys_reply_over(struct memsys *ms, unsigned i)
{
    struct port *port = &ms->port[i];
    ring_pop(&port->fifo);
    port->published = false;
    port->again = port->fifo.n != 0;
}

/* -- partitions -- */

unsigned
memsys_parts(const struct memsys *ms)
{
    return ms->channels;
}

uint64_t
memsys_part_next(const struct memsys *ms, unsigned i)
{
    return ms->part[i].next;
}

bool
memsys_part_due(const struct memsys *ms, unsigned i)
{
    return ms->far_opened && (ms->no_skip || ms->part[i].next < ms->far->to);
}

/* Up to the quantum's end, or to an L2 tick for which the crossbars must first have come
 * as far. */
static void
part_goes_on(struct memsys *ms, struct part *part)
{
    const struct instant *end =
        ms->far->pattern->instants.v + ms->far->pattern->instants.n;
    part->instant =
        partition_ticks(part->p, part->instant, end, ms->far->from, ms->no_skip);
    part->waits = part->instant != end;
    if (part->waits)
        return;
    part->next = partition_next(part->p, ms->far->to);
    part->ran = true;
    inbound_end(part->in);
}

void
memsys_part(struct memsys *ms, unsigned i)
{
    struct part *part = &ms->part[i];
    partition_begin(part->p, ms->far->tick, ms->far->l2_end, ms->far->icnt_end);
    part->instant = ms->far->pattern->instants.v;
    part_goes_on(ms, part);
}

/* -- the crossbars, at the end of a quantum -- */

/* A partition has something to do in this L2 tick. */
static void
part_wakes(struct memsys *ms, struct part *part, uint64_t l2)
{
    uint64_t at = clk_at_or_after(&ms->clk, CLK_L2, l2, CLK_CORE);
    part->next = min_u64(part->next, max_u64(at, ms->far->to));
}

/* What has arrived for partitions that are ahead goes to them, in one of their L2 ticks;
 * icnt: first tick of the crossbar not done. */
static void
accept_requests(struct memsys *ms, uint64_t l2, uint64_t icnt)
{
    for (unsigned w = 0; w < BITSET_WORDS(ms->slices); w++)
        FOR_BITS(b, ms->arrived[w])
        {
            unsigned i = w * 64 + (unsigned)b;
            if (icnt_front_at(ms->requests, i) >= icnt)
                continue;
            const unsigned k = ms->part_of[i];
            uint64_t at =
                inbound_accept(ms->part[k].in, i - k * ms->map.slices, l2, icnt);
            if (!at)
                continue;
            at = clk_at_or_after(&ms->clk, CLK_L2, at, CLK_CORE);
            ms->wake[k] = min_u64(ms->wake[k], at);
            if (icnt_front_at(ms->requests, i) == NEVER)
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
    icnt_step(ms->requests, tick);
    const bool ahead = memsys_ahead(ms);
    uint64_t *fresh = icnt_fresh(ms->requests);
    for (unsigned w = 0; w < BITSET_WORDS(ms->slices); w++) {
        if (ahead)
            ms->arrived[w] |= fresh[w];
        else
            FOR_BITS(b, fresh[w])
            {
                unsigned i = w * 64 + (unsigned)b;
                const unsigned k = ms->part_of[i];
                struct part *part = &ms->part[k];
                part_wakes(ms, part, partition_notice(part->p, i - k * ms->map.slices));
            }
        fresh[w] = 0;
    }
}

/* Requests up to core cycle `now` of the quantum. */
static void
cross_requests(struct memsys *ms, uint64_t now)
{
    const uint64_t end = ms->icnt_after[now - ms->near.from];
    const bool ahead = memsys_ahead(ms);
    for (uint64_t n = icnt_cycle(ms->requests); n < end; n++) {
        if (ahead)
            accept_until(ms, clk_after(&ms->clk, CLK_ICNT, n, CLK_L2), n);
        step_requests(ms, n);
    }
    if (ahead)
        accept_until(ms, clk_after(&ms->clk, CLK_CORE, now, CLK_L2), end);
}

/* Before the reply crossbar's tick: replies of late partitions; partitions that waited
 * for it to come here. */
static void
send_deferred(struct memsys *ms, uint64_t tick)
{
    for (unsigned i = 0; tick == ms->far->tick[CLK_ICNT] && i < ms->channels; i++)
        if (partition_deferred(ms->part[i].p)) {
            bitset_add(ms->deferred, i);
            ms->any_deferred = true;
        }
    if (!ms->any_deferred)
        return;
    for (unsigned w = 0; w < BITSET_WORDS(ms->channels); w++)
        FOR_BITS(b, ms->deferred[w])
        {
            struct part *part = &ms->part[w * 64 + (unsigned)b];
            if (part->waits && partition_icnt(part->p) == tick)
                part_goes_on(ms, part);
            else
                partition_follow(part->p, tick);
        }
}

/* After the last tick of the quantum. */
static void
end_deferred(struct memsys *ms)
{
    for (unsigned w = 0; w < BITSET_WORDS(ms->channels); w++) {
        FOR_BITS(b, ms->deferred[w])
        {
            struct part *part = &ms->part[w * 64 + (unsigned)b];
            if (part->waits)
                part_goes_on(ms, part);
            else /* what has left may have made room */
                part->next = min_u64(part->next, partition_next(part->p, ms->far->to));
            partition_follow(part->p, ms->far->icnt_end);
        }
        ms->deferred[w] = 0;
    }
    ms->any_deferred = false;
}

/* Ports that have something new behind the crossbar. */
static void
notice_replies(struct memsys *ms)
{
    uint64_t *fresh = icnt_fresh(ms->replies);
    for (unsigned w = 0; w < BITSET_WORDS(ms->ports); w++) {
        FOR_BITS(b, fresh[w])
        {
            struct port *port = &ms->port[w * 64 + (unsigned)b];
            port->next = min_u64(port->next, port_next(ms, port, ms->near.to - 1));
        }
        ms->noticed[w] |= fresh[w];
        fresh[w] = 0;
    }
}

/* Ports that have room before it. */
static void
notice_room(struct memsys *ms)
{
    for (unsigned w = 0; w < BITSET_WORDS(ms->ports); w++) {
        FOR_BITS(b, ms->granted[w])
        {
            struct port *port = &ms->port[w * 64 + (unsigned)b];
            if (port->refused) {
                port->next = ms->near.to;
                bitset_add(ms->noticed, w * 64 + (unsigned)b);
            }
        }
        ms->granted[w] = 0;
    }
}

/* The reply crossbar before tick `end`, and partitions that wait for it, as far as is
 * known. */
static void
cross_replies(struct memsys *ms, uint64_t end)
{
    for (uint64_t n = icnt_cycle(ms->replies); n < end; n++) {
        if (ms->served == n) {
            ms->served++;
            send_deferred(ms, n);
        }
        if (!icnt_step(ms->replies, n))
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

void
memsys_parts_done(struct memsys *ms)
{
    publish_parts(ms);
    ms->overlap = false;
}

/* Replies up to core cycle `now`, now that it is known what ports have taken. */
static void
follow_replies(struct memsys *ms, uint64_t now)
{
    icnt_attach(ms->replies);
    if (!ms->far_open)
        return;
    cross_replies(ms, min_u64(ms->icnt_after[now - ms->near.from], ms->far->icnt_end));
    for (unsigned w = 0; ms->any_deferred && w < BITSET_WORDS(ms->channels); w++)
        FOR_BITS(b, ms->deferred[w])
        { /* as far as they have come */
            inbound_end(ms->part[w * 64 + (unsigned)b].in);
            inbound_publish(ms->part[w * 64 + (unsigned)b].in);
        }
}

/* The rest of the replies, after the present quantum, as far as is known now. */
static void
close_replies(struct memsys *ms)
{
    if (ms->far_open && icnt_cycle(ms->replies) < ms->far->icnt_end) {
        icnt_detach(ms->replies);
        cross_replies(ms, ms->far->icnt_end);
        icnt_attach(ms->replies);
    }
    if (ms->far_open && icnt_cycle(ms->replies) == ms->far->icnt_end)
        close_far(ms);
    notice_replies(ms);
}

bool
memsys_may_go_on(const struct memsys *ms, uint64_t to)
{
    return ms->can_overlap && to > ms->further.to &&
           (!ms->far_open || icnt_cycle(ms->replies) == ms->far->icnt_end);
}

bool
memsys_catch_up(struct memsys *ms, uint64_t to)
{
    if (!ms->can_overlap || to <= ms->further.to)
        return false;
    /* What was popped in the quantum counts for replies after it only. */
    if (ms->far_open && icnt_cycle(ms->replies) < ms->near.icnt_end)
        return false;
    if (!memsys_may_go_on(ms, to)) {
        icnt_attach(ms->replies);
        close_replies(ms);
    }
    return memsys_may_go_on(ms, to);
}

void
memsys_parts_go_on(struct memsys *ms, uint64_t from, uint64_t to)
{
    assert(memsys_may_go_on(ms, to));
    if (ms->far_open)
        close_far(ms);
    else
        publish_parts(ms);
    wake_parts(ms);
    ms->far_opened = true;
    open_parts(ms, from, to);
    ms->detached = true;
    ms->overlap = true;
}

void
memsys_publish_replies(struct memsys *ms)
{
    icnt_attach(ms->replies);
    notice_replies(ms);
    icnt_detach(ms->replies);
}

const uint64_t *
memsys_cross(struct memsys *ms, uint64_t now)
{
    if (!ms->overlap)
        follow_replies(ms, now);
    cross_requests(ms, now);
    uint64_t *granted = icnt_granted(ms->requests);
    for (unsigned w = 0; w < BITSET_WORDS(ms->ports); w++) {
        ms->woken[w] = 0;
        FOR_BITS(b, granted[w])
        {
            struct port *port = &ms->port[w * 64 + (unsigned)b];
            ms->woken[w] |= (uint64_t)port->refused << b;
        }
        ms->granted[w] |= granted[w];
        granted[w] = 0;
    }
    return ms->woken;
}

void
memsys_close(struct memsys *ms)
{
    memsys_cross(ms, ms->near.to - 1);
    if (!ms->overlap) {
        close_replies(ms);
        wake_parts(ms);
    }
    notice_room(ms);
    ms->now = ms->near.to - 1;
}

void
memsys_step(struct memsys *ms, uint64_t now)
{
    memsys_open(ms, now, now + 1);
    memsys_open_far(ms, now, now + 1, false);
    for (unsigned i = 0; i < ms->ports; i++)
        memsys_port(ms, i, now);
    for (unsigned i = 0; i < ms->channels; i++)
        if (memsys_part_due(ms, i))
            memsys_part(ms, i);
    memsys_parts_done(ms);
    memsys_close(ms);
}

const uint64_t *
memsys_noticed(const struct memsys *ms)
{
    return ms->noticed;
}

uint64_t
memsys_cross_next(const struct memsys *ms)
{
    for (unsigned w = 0; w < BITSET_WORDS(ms->slices); w++)
        if (ms->arrived[w])
            return ms->near.to;
    uint64_t n = min_u64(icnt_next(ms->requests), icnt_next(ms->replies));
    n = clk_at_or_after(&ms->clk, CLK_ICNT, n, CLK_CORE);
    return max_u64(n, ms->near.to);
}

uint64_t
memsys_next_event(const struct memsys *ms, uint64_t now)
{
    uint64_t next = memsys_cross_next(ms);
    for (unsigned i = 0; i < ms->channels; i++)
        next = min_u64(next, ms->part[i].next);
    for (unsigned i = 0; i < ms->ports; i++)
        next = min_u64(next, port_next(ms, &ms->port[i], now));
    return next <= now ? now + 1 : next;
}

/* -- state -- */

bool
memsys_idle(const struct memsys *ms)
{
    if (icnt_busy(ms->requests) || icnt_busy(ms->replies))
        return false;
    for (unsigned i = 0; i < ms->ports; i++)
        if (ms->port[i].fifo.n || icnt_arrived(ms->replies, i))
            return false;
    for (unsigned i = 0; i < ms->slices; i++)
        if (icnt_arrived(ms->requests, i))
            return false;
    for (unsigned i = 0; i < ms->channels; i++)
        if (!partition_idle(ms->part[i].p))
            return false;
    return true;
}

static void
settle(struct memsys *ms)
{
    skip_to(ms, ms->far, ms->now + 1);
    for (unsigned i = 0; i < ms->channels; i++)
        partition_settle(ms->part[i].p, ms->far->tick[CLK_L2],
                         ms->far->tick[CLK_DRAM] - 1);
}

struct outstanding {
    const struct machine *m;
    uint64_t n;
};

static void
count_request(void *user, const struct timed_packet *msg)
{
    struct outstanding *o = user;
    o->n += partition_pieces(o->m, &msg->p);
}

static void
count_reply(void *user, const struct timed_packet *msg)
{
    (void)msg;
    ((struct outstanding *)user)->n++;
}

/* Replies and bursts still to come, counted where they are. */
static void
under_way(const struct memsys *ms, uint64_t *replies, uint64_t *bursts)
{
    struct outstanding o = {ms->m, 0};
    icnt_each(ms->requests, count_request, &o);
    icnt_each(ms->replies, count_reply, &o);
    *bursts = 0;
    for (unsigned i = 0; i < ms->channels; i++) {
        const struct partition_left left = partition_left(ms->part[i].p);
        o.n += left.replies;
        *bursts += left.bursts;
    }
    *replies = o.n;
}

void
memsys_begin(struct memsys *ms, bool threads)
{
    settle(ms);
    for (unsigned i = 0; i < ms->channels; i++) {
        inbound_alone(ms->part[i].in, !threads);
        ms->part[i].stats = (struct stat_mem){0};
    }
    memset(&ms->own, 0, sizeof ms->own);
    for (unsigned i = 0; i < ms->ports; i++) {
        struct port *p = &ms->port[i];
        p->requests = p->request_flits = p->asked = p->given = p->latency = 0;
    }
    under_way(ms, &ms->own.replies_begun, &ms->own.dram_begun);
    ms->began_dram = ms->far->tick[CLK_DRAM];
}

void
memsys_stats(const struct memsys *cms, struct launch_stats *out)
{
    struct memsys *ms =
        (struct memsys *)cms; /* brings counters up to date, changes nothing */
    settle(ms);
    struct stat_mem own = ms->own;
    for (unsigned i = 0; i < ms->ports; i++) {
        const struct port *p = &ms->port[i];
        own.icnt_requests += p->requests;
        own.icnt_request_flits += p->request_flits;
        own.replies_asked += p->asked;
        own.replies_given += p->given;
        own.reply_latency += p->latency;
    }
    under_way(ms, &own.replies_left, &own.dram_left);
    own.dram_cycles = (ms->far->tick[CLK_DRAM] - ms->began_dram) * ms->channels;
    stats_add_mem(out, &own);
    for (unsigned i = 0; i < ms->channels; i++)
        stats_add_mem(out, &ms->part[i].stats);
}

void
memsys_channel_stats(const struct memsys *ms, unsigned channel, struct stat_mem *out)
{
    *out = ms->part[channel].stats;
}

void
memsys_prefill(struct memsys *ms, uint64_t addr, uint64_t bytes)
{
    if (!bytes || !ms->m->partition.l2_enabled)
        return;
    for (uint64_t a = addr / 32 * 32; a < addr + bytes; a += 32) {
        struct addr_place at = addrmap_slice(&ms->map, a);
        unsigned s = (unsigned)(at.local & (ms->m->l2.line - 1)) / 32;
        partition_prefill(ms->part[at.slice / ms->map.slices].p,
                          at.slice % ms->map.slices, at.local, (uint8_t)(1u << s));
    }
}

void
memsys_explain(const struct memsys *ms, struct strbuf *out)
{
    if (memsys_idle(ms)) {
        strbuf_addz(out, "memory system: nothing under way\n");
        return;
    }
    for (unsigned i = 0; i < ms->ports; i++) {
        unsigned in = icnt_waiting(ms->requests, i), come = icnt_arrived(ms->replies, i);
        if (in | come | ms->port[i].fifo.n)
            strbuf_printf(
                out,
                "SM port %u: %u requests before the crossbar; %u replies behind it, "
                "%u at the port%s\n",
                i, in, come, ms->port[i].fifo.n,
                ms->port[i].fifo.n ? " (the SM does not take them)" : "");
    }
    for (unsigned i = 0; i < ms->slices; i++) {
        unsigned n = icnt_arrived(ms->requests, i), r = icnt_waiting(ms->replies, i);
        if (n | r)
            strbuf_printf(out,
                          "slice port %u: %u requests arrived, %u replies before the "
                          "crossbar\n",
                          i, n, r);
    }
    for (unsigned i = 0; i < ms->channels; i++)
        partition_explain(ms->part[i].p, out);
}
