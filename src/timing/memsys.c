/* memsys.c: everything beyond the SMs, put together: request crossbar, memory partitions,
 * reply crossbar, and the order in which their clocks tick.
 *
 * Ticks are taken in the order of their exact times (memsys_clock.h). At one instant:
 *   1. ports of the SMs show their next reply, and take one from their side of the reply
 *      crossbar, which is shown the cycle after (core clock)
 *   2. L2 replies go into the reply crossbar (interconnect)
 *   3. DRAM channels
 *   4. L2 slices, which first take a request from the request crossbar
 *   5. both crossbars
 * and then the SMs, outside. A core cycle c ends with the instant of tick c: step(c)
 * takes every tick after that of c - 1 up to and including it.
 *
 * Nothing is done for parts that sleep, and a whole step is one comparison while all do;
 * what a part counts over time it counts by subtraction. */
#include "timing/memsys.h"
#include "base/bitset.h"
#include "timing/partition.h"

#include <string.h>

struct port { /* of one SM, or of the SMs that share it */
    RING(struct packet) fifo;
};

struct memsys {
    struct arena mem;
    const struct machine *m;
    struct addrmap map;
    struct clk clk;
    uint64_t tick[CLK_DOMAINS];      /* first tick not done yet */
    clk_time tick_time[CLK_DOMAINS]; /* its time */
    uint64_t now;                    /* core cycle last stepped */
    uint64_t next;                   /* core cycle in which there is something to do */
    bool no_skip;

    unsigned ports, channels, slices; /* slices: all */
    struct icnt *requests, *replies;
    struct partition **partition;
    struct port *port;
    uint64_t *shown; /* SMs with a reply to take */
    uint64_t *again; /* ports whose front reply is shown with the next step */
    uint64_t *live;  /* ports with something in the reply crossbar's output */
    unsigned n_again, n_shown;

    struct stat_mem *stats; /* by slice */
    struct stat_mem own;
    uint64_t began_dram; /* DRAM tick at which the launch began */
};

struct memsys *
memsys_new(const struct machine *m, struct diag_sink *diag)
{
    struct arena mem = {0};
    struct memsys *ms = ARENA_NEW(&mem, struct memsys);
    ms->m = m;
    if (!addrmap_init(&ms->map, m, diag)) {
        arena_free(&mem);
        return NULL;
    }
    const double mhz[CLK_DOMAINS] = {m->clock.core, m->clock.icnt, m->clock.l2,
                                     m->clock.dram};
    clk_init(&ms->clk, mhz);
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
    ms->stats = ARENA_ARRAY(&mem, struct stat_mem, ms->slices);
    ms->partition = ARENA_ARRAY(&mem, struct partition *, ms->channels);
    struct partition_env env = {.m = m,
                                .map = &ms->map,
                                .clk = &ms->clk,
                                .requests = ms->requests,
                                .replies = ms->replies,
                                .tick = ms->tick};
    for (unsigned i = 0; i < ms->channels; i++) {
        ms->partition[i] =
            partition_new(&mem, &env, i, ms->stats + (size_t)i * ms->map.slices, diag);
        if (!ms->partition[i]) {
            arena_free(&mem);
            return NULL;
        }
    }
    ms->port = ARENA_ARRAY(&mem, struct port, ms->ports);
    for (unsigned i = 0; i < ms->ports; i++)
        ring_init(&ms->port[i].fifo, &mem, m->icnt.eject_buffer);
    ms->shown = bitset_new(&mem, m->sm.count);
    ms->again = bitset_new(&mem, ms->ports);
    ms->live = bitset_new(&mem, ms->ports);
    ms->mem = mem;
    return ms;
}

void
memsys_free(struct memsys *ms)
{
    if (!ms)
        return;
    struct arena mem = ms->mem; /* ms itself lives in it */
    arena_free(&mem);
}

void
memsys_no_skip(struct memsys *ms, bool on)
{
    ms->no_skip = on;
}

/* All core cycles before c count as done. */
static void
catch_up(struct memsys *ms, uint64_t c)
{
    if (ms->tick[CLK_CORE] >= c)
        return;
    for (int d = CLK_ICNT; d < CLK_DOMAINS; d++) {
        ms->tick[d] = clk_after(&ms->clk, CLK_CORE, c - 1, (enum clk_domain)d);
        ms->tick_time[d] = ms->tick[d] * ms->clk.period[d];
    }
    ms->tick[CLK_CORE] = c;
    ms->tick_time[CLK_CORE] = c * ms->clk.period[CLK_CORE];
}

/* -- the SMs' side -- */

bool
memsys_inject(struct memsys *ms, const struct packet *p)
{
    const struct machine *m = ms->m;
    catch_up(ms, ms->now + 1);
    unsigned in = m->sm.per_cluster == 1 ? p->sm : p->sm / m->sm.per_cluster;
    unsigned flits =
        icnt_flits(m->icnt.header + (p->kind == PKT_READ ? 0 : p->bytes), m->icnt.flit);
    if (!icnt_room(ms->requests, in, flits, ms->tick[CLK_ICNT]))
        return false;
    struct addr_place at = addrmap_slice(&ms->map, p->addr);
    icnt_push(ms->requests, in, at.slice, flits, p, at.local, ms->tick[CLK_ICNT]);
    struct stat_mem *s = &ms->stats[at.slice];
    s->icnt_requests++;
    s->icnt_request_flits += flits;
    s->replies_asked += partition_pieces(m, p);
    ms->next = 0;
    return true;
}

bool
memsys_has_reply(const struct memsys *ms, unsigned sm)
{
    return bitset_has(ms->shown, sm);
}

const uint64_t *
memsys_replies(const struct memsys *ms)
{
    return ms->shown;
}

static void
show_next(struct memsys *ms, unsigned port)
{
    bitset_add(ms->again, port);
    ms->n_again++;
}

bool
memsys_eject(struct memsys *ms, unsigned sm, struct packet *p)
{
    if (!bitset_has(ms->shown, sm))
        return false;
    unsigned i = sm / ms->m->sm.per_cluster;
    struct port *port = &ms->port[i];
    *p = *ring_front(&port->fifo);
    ring_pop(&port->fifo);
    bitset_del(ms->shown, sm);
    ms->n_shown--;
    if (port->fifo.n)
        show_next(ms, i);
    ms->next = 0; /* there may be room now for what waits in the crossbar */
    return true;
}

/* -- time -- */

static void
receive(struct memsys *ms, uint64_t now)
{
    for (unsigned w = 0; ms->n_again && w < BITSET_WORDS(ms->ports); w++) {
        FOR_BITS(b, ms->again[w])
        {
            bitset_add(ms->shown, ring_front(&ms->port[w * 64 + b].fifo)->sm);
            ms->n_shown++;
        }
        ms->again[w] = 0;
    }
    ms->n_again = 0;
    for (unsigned w = 0; w < BITSET_WORDS(ms->ports); w++)
        FOR_BITS(b, ms->live[w])
        {
            unsigned i = w * 64 + (unsigned)b;
            struct port *port = &ms->port[i];
            if (icnt_front_at(ms->replies, i) >= ms->tick[CLK_ICNT] ||
                ring_full(&port->fifo))
                continue;
            const struct packet *p = &icnt_front(ms->replies, i)->p;
            ms->own.replies_given++;
            ms->own.reply_latency += now - p->born;
            if (!port->fifo.n)
                show_next(ms, i);
            *ring_push(&port->fifo) = *p;
            icnt_pop(ms->replies, i);
            if (icnt_front_at(ms->replies, i) == NEVER)
                bitset_del(ms->live, i);
        }
}

static void
step_crossbars(struct memsys *ms)
{
    uint64_t cycle = ms->tick[CLK_ICNT];
    if (icnt_busy(ms->requests)) {
        icnt_step(ms->requests, cycle);
        uint64_t *fresh = icnt_fresh(ms->requests);
        for (unsigned w = 0; w < BITSET_WORDS(ms->slices); w++) {
            FOR_BITS(b, fresh[w])
            {
                unsigned i = w * 64 + (unsigned)b;
                partition_notice(ms->partition[i / ms->map.slices], i % ms->map.slices);
            }
            fresh[w] = 0;
        }
    }
    if (icnt_busy(ms->replies)) {
        icnt_step(ms->replies, cycle);
        uint64_t *fresh = icnt_fresh(ms->replies);
        for (unsigned w = 0; w < BITSET_WORDS(ms->ports); w++) {
            ms->live[w] |= fresh[w];
            fresh[w] = 0;
        }
    }
}

static inline void
advance(struct memsys *ms, enum clk_domain d)
{
    ms->tick[d]++;
    ms->tick_time[d] += ms->clk.period[d];
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* First core cycle after `now` in which there is something to do. */
static uint64_t
next_cycle(const struct memsys *ms, uint64_t now)
{
    const struct clk *k = &ms->clk;
    if (ms->n_again | ms->n_shown)
        return now + 1;
    uint64_t l2 = NEVER, dram = NEVER, icnt = NEVER, core = NEVER;
    for (unsigned i = 0; i < ms->channels; i++) {
        const struct partition *p = ms->partition[i];
        l2 = sooner(l2, partition_l2_at(p));
        dram = sooner(dram, partition_dram_at(p));
        if (partition_reply_due(p))
            icnt = ms->tick[CLK_ICNT];
    }
    if (l2 < ms->tick[CLK_L2])
        l2 = ms->tick[CLK_L2];
    if (dram < ms->tick[CLK_DRAM])
        dram = ms->tick[CLK_DRAM];
    core = sooner(core, clk_at_or_after(k, CLK_L2, l2, CLK_CORE));
    if (core <= now + 1)
        return now + 1;
    core = sooner(core, clk_at_or_after(k, CLK_DRAM, dram, CLK_CORE));
    if (core <= now + 1)
        return now + 1;
    icnt = sooner(icnt, icnt_next(ms->requests, ms->tick[CLK_ICNT]));
    icnt = sooner(icnt, icnt_next(ms->replies, ms->tick[CLK_ICNT]));
    core = sooner(core, clk_at_or_after(k, CLK_ICNT, icnt, CLK_CORE));
    for (unsigned w = 0; w < BITSET_WORDS(ms->ports); w++)
        FOR_BITS(b, ms->live[w])
        {
            unsigned i = w * 64 + (unsigned)b;
            if (!ring_full(&ms->port[i].fifo))
                core = sooner(core, clk_after(k, CLK_ICNT, icnt_front_at(ms->replies, i),
                                              CLK_CORE));
        }
    return core <= now ? now + 1 : core;
}

void
memsys_step(struct memsys *ms, uint64_t now)
{
    ms->now = now;
    if (now < ms->next && !ms->no_skip)
        return;
    catch_up(ms, now);
    const clk_time end = ms->tick_time[CLK_CORE];
    bool received = false;
    for (;;) {
        clk_time t = ms->tick_time[CLK_ICNT];
        if (ms->tick_time[CLK_L2] < t)
            t = ms->tick_time[CLK_L2];
        if (ms->tick_time[CLK_DRAM] < t)
            t = ms->tick_time[CLK_DRAM];
        if (t >= end && !received) {
            receive(ms, now);
            received = true;
        }
        if (t > end)
            break;
        bool icnt = ms->tick_time[CLK_ICNT] == t;
        if (icnt)
            for (unsigned i = 0; i < ms->channels; i++)
                if (partition_reply_due(ms->partition[i]))
                    partition_reply(ms->partition[i]);
        if (ms->tick_time[CLK_DRAM] == t) {
            uint64_t n = ms->tick[CLK_DRAM];
            for (unsigned i = 0; i < ms->channels; i++)
                if (partition_dram_at(ms->partition[i]) <= n || ms->no_skip)
                    partition_dram(ms->partition[i], n, now);
            advance(ms, CLK_DRAM);
        }
        if (ms->tick_time[CLK_L2] == t) {
            uint64_t n = ms->tick[CLK_L2];
            for (unsigned i = 0; i < ms->channels; i++)
                if (ms->no_skip)
                    partition_l2_all(ms->partition[i], n);
                else
                    partition_l2(ms->partition[i], n);
            advance(ms, CLK_L2);
        }
        if (icnt) {
            step_crossbars(ms);
            advance(ms, CLK_ICNT);
        }
    }
    advance(ms, CLK_CORE);
    ms->next = next_cycle(ms, now);
}

uint64_t
memsys_next_event(const struct memsys *ms, uint64_t now)
{
    return ms->next <= now ? now + 1 : ms->next;
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
        if (!partition_idle(ms->partition[i]))
            return false;
    return true;
}

static void
settle(struct memsys *ms)
{
    catch_up(ms, ms->now + 1);
    for (unsigned i = 0; i < ms->channels; i++)
        partition_settle(ms->partition[i], ms->tick[CLK_L2], ms->tick[CLK_DRAM] - 1);
}

struct owed {
    const struct machine *m;
    uint64_t n;
};

static void
count_request(void *user, const struct icnt_msg *msg)
{
    struct owed *o = user;
    o->n += partition_pieces(o->m, &msg->p);
}

static void
count_reply(void *user, const struct icnt_msg *msg)
{
    (void)msg;
    ((struct owed *)user)->n++;
}

/* Replies and bursts still to come, counted where they are. */
static void
under_way(const struct memsys *ms, uint64_t *replies, uint64_t *bursts)
{
    struct owed o = {ms->m, 0};
    icnt_each(ms->requests, count_request, &o);
    icnt_each(ms->replies, count_reply, &o);
    *bursts = 0;
    for (unsigned i = 0; i < ms->channels; i++) {
        o.n += partition_owed(ms->partition[i]);
        *bursts += partition_bursts(ms->partition[i]);
    }
    *replies = o.n;
}

void
memsys_begin(struct memsys *ms)
{
    settle(ms);
    memset(ms->stats, 0, ms->slices * sizeof *ms->stats);
    memset(&ms->own, 0, sizeof ms->own);
    under_way(ms, &ms->own.replies_begun, &ms->own.dram_begun);
    ms->began_dram = ms->tick[CLK_DRAM];
}

void
memsys_stats(const struct memsys *cms, struct launch_stats *out)
{
    struct memsys *ms =
        (struct memsys *)cms; /* brings counters up to date, changes nothing */
    settle(ms);
    struct stat_mem own = ms->own;
    under_way(ms, &own.replies_left, &own.dram_left);
    own.dram_cycles = (ms->tick[CLK_DRAM] - ms->began_dram) * ms->channels;
    stats_add_mem(out, &own);
    for (unsigned i = 0; i < ms->slices; i++)
        stats_add_mem(out, &ms->stats[i]);
}

void
memsys_channel_stats(const struct memsys *ms, unsigned channel, struct stat_mem *out)
{
    struct launch_stats t = {0};
    for (unsigned i = 0; i < ms->map.slices; i++)
        stats_add_mem(&t, &ms->stats[channel * ms->map.slices + i]);
    *out = t.mem;
}

void
memsys_prefill(struct memsys *ms, uint64_t addr, uint64_t bytes)
{
    if (!bytes || !ms->m->partition.l2_enabled)
        return;
    for (uint64_t a = addr / 32 * 32; a < addr + bytes; a += 32) {
        struct addr_place at = addrmap_slice(&ms->map, a);
        unsigned s = (unsigned)(at.local & (ms->m->l2.line - 1)) / 32;
        partition_prefill(ms->partition[at.slice / ms->map.slices],
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
        partition_explain(ms->partition[i], out);
}
