/* memory.c: ports of the SMs, crossbars and memory partitions put together, and what is
 * counted of them. */
#include "timing/mem/memory.h"
#include "base/inline.h"

#include <string.h>

static void
make_clocks(const struct machine *m, struct clk *clk)
{
    const double mhz[CLK_DOMAINS] = {m->clock.core, m->clock.icnt, m->clock.l2,
                                     m->clock.dram};
    clk_init(clk, mhz);
}

static void
make_crossbars(struct memory *mem, struct arena *a)
{
    const struct machine *m = mem->m;
    struct icnt_config c = {.inputs = mem->ports,
                            .outputs = mem->slices,
                            .flit = m->icnt.flit,
                            .input_buffer = m->icnt.input_buffer,
                            .output_buffer = m->icnt.output_buffer,
                            .latency = m->icnt.latency,
                            .speedup = m->icnt.speedup,
                            .allocation = m->icnt.allocation};
    mem->requests = icnt_new(a, &c);
    c.inputs = mem->slices;
    c.outputs = mem->ports;
    mem->replies = icnt_new(a, &c);
}

static bool
make_partitions(struct memory *mem, struct arena *a, struct diag_sink *diag)
{
    const struct machine *m = mem->m;
    uint8_t *half_of =
        m->partition.halves > 1 ? ARENA_ARRAY(a, uint8_t, m->sm.count) : NULL;
    for (unsigned i = 0; half_of && i < m->sm.count; i++)
        half_of[i] = (uint8_t)(i * m->partition.halves / m->sm.count);
    const struct partition_env env = {.m = m,
                                      .map = &mem->map,
                                      .clk = &mem->clk,
                                      .requests = mem->requests,
                                      .replies = mem->replies,
                                      .port_of = mem->port_of,
                                      .half_of = half_of};
    mem->stats = ARENA_ARRAY(a, struct channel_stats, mem->channels);
    mem->partition = ARENA_ARRAY(a, struct partition *, mem->channels);
    mem->ends = ARENA_ARRAY(a, struct partition_ends, mem->channels);
    for (unsigned i = 0; i < mem->channels; i++) {
        mem->partition[i] =
            partition_new(a, &env, i, &mem->stats[i].s, &mem->ends[i], diag);
        if (!mem->partition[i])
            return false;
    }
    mem->part_of = ARENA_ARRAY(a, uint16_t, mem->slices);
    for (unsigned i = 0; i < mem->slices; i++)
        mem->part_of[i] = (uint16_t)(i / mem->map.slices);
    return true;
}

bool
memory_init(struct memory *mem, struct arena *a, const struct machine *m,
            struct diag_sink *diag)
{
    mem->m = m;
    if (!addrmap_init(&mem->map, m, diag))
        return false;
    make_clocks(m, &mem->clk);
    mem->ports = (m->sm.count + m->sm.per_cluster - 1) / m->sm.per_cluster;
    mem->channels = m->dram.channels;
    mem->slices = mem->map.subs;
    mem->port_of = ARENA_ARRAY(a, uint16_t, m->sm.count);
    for (unsigned i = 0; i < m->sm.count; i++)
        mem->port_of[i] = (uint16_t)(i / m->sm.per_cluster);
    mem->port = ARENA_ARRAY(a, struct port, mem->ports);
    for (unsigned i = 0; i < mem->ports; i++)
        ring_init(&mem->port[i].fifo, a, m->icnt.eject_buffer);
    make_crossbars(mem, a);
    return make_partitions(mem, a, diag);
}

/* -- ports -- */

uint64_t
memory_port_next(const struct memory *mem, unsigned i, uint64_t now)
{
    const struct port *port = &mem->port[i];
    const uint64_t full = -(uint64_t)ring_full(&port->fifo); /* NEVER, or 0 */
    uint64_t at = icnt_front_at(mem->replies, i) | full;
    at = clk_after(&mem->clk, CLK_ICNT, at, CLK_CORE);
    /* If it is not known when there is room, it comes when a packet gets its output. */
    const uint64_t room = port->refused ? icnt_room_at(mem->requests, i) : NEVER;
    if (room != NEVER)
        at = min_u64(at, clk_at_or_after(&mem->clk, CLK_ICNT, room - 1, CLK_CORE));
    return max_u64(at & -(uint64_t) !(port->again | port->published), now + 1);
}

/* A reply comes from the crossbar. */
NOINLINE static void
port_accepts(struct memory *mem, unsigned i, uint64_t now, uint64_t at)
{
    struct port *port = &mem->port[i];
    const struct packet *p = &icnt_front(mem->replies, i)->p;
    port->given++;
    port->latency += now - p->born;
    port->again |= !port->fifo.n;
    *ring_push(&port->fifo) = *p;
    icnt_pop(mem->replies, i, at);
}

unsigned
memory_port(struct memory *mem, unsigned i, uint64_t now)
{
    struct port *port = &mem->port[i];
    const uint64_t at = mem->ticks.at[now - mem->ticks.from];
    port->now = now;
    port->tick = mem->ticks.after[now - mem->ticks.from];
    port->refused = false;
    port->published |= port->again;
    port->again = false;
    if (icnt_front_at(mem->replies, i) < at && !ring_full(&port->fifo))
        port_accepts(mem, i, now, at);
    return ring_front(&port->fifo)->sm | (MEMORY_NO_SM & -(unsigned)!port->published);
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
memory_inject(struct memory *mem, const struct packet *p)
{
    const struct machine *m = mem->m;
    unsigned in = mem->port_of[p->sm];
    struct port *port = &mem->port[in];
    unsigned flits = port->front == p ? port->front_flits : request_flits(m, p);
    const enum room room = icnt_room(mem->requests, in, flits, port->tick);
    if (room != ROOM_YES) {
        port->front = p;
        port->front_flits = (uint16_t)flits;
        if (room == ROOM_NO)
            refuse(port, flits);
        return room;
    }
    port->front = NULL;
    struct addr_place at = addrmap_slice(&mem->map, p->addr);
    icnt_push(mem->requests, in, at.slice, flits, p, at.local, port->tick);
    port->requests++;
    port->request_flits += flits;
    port->asked += inbound_pieces(mem->ends->in->unit, inbound_sectors(p));
    return ROOM_YES;
}

bool
memory_refused(const struct memory *mem, unsigned i)
{
    return mem->port[i].refused;
}

bool
memory_may_have_room(const struct memory *mem, unsigned i, uint64_t now)
{
    const struct port *port = &mem->port[i];
    const uint64_t tick = mem->ticks.after[now - mem->ticks.from];
    return port->refused && icnt_cycle(mem->requests) < tick &&
           icnt_may_have_room(mem->requests, i, port->wanted, tick);
}

const struct packet *
memory_reply(const struct memory *mem, unsigned i)
{
    const struct port *port = &mem->port[i];
    return port->published ? ring_front(&port->fifo) : NULL;
}

void
memory_reply_over(struct memory *mem, unsigned i)
{
    struct port *port = &mem->port[i];
    ring_pop(&port->fifo);
    port->published = false;
    port->again = port->fifo.n != 0;
}

/* -- the whole -- */

bool
memory_idle(const struct memory *mem)
{
    if (icnt_busy(mem->requests) || icnt_busy(mem->replies))
        return false;
    for (unsigned i = 0; i < mem->ports; i++)
        if (mem->port[i].fifo.n || icnt_arrived(mem->replies, i))
            return false;
    for (unsigned i = 0; i < mem->slices; i++)
        if (icnt_arrived(mem->requests, i))
            return false;
    for (unsigned i = 0; i < mem->channels; i++)
        if (!partition_left(mem->partition[i]).idle)
            return false;
    return true;
}

static void
settle(struct memory *mem, uint64_t l2, uint64_t dram)
{
    for (unsigned i = 0; i < mem->channels; i++)
        partition_settle(mem->partition[i], l2, dram - 1);
}

struct outstanding {
    unsigned unit; /* bytes answered as one piece */
    uint64_t n;
};

static void
count_request(void *user, const struct timed_packet *msg)
{
    struct outstanding *o = user;
    o->n += inbound_pieces(o->unit, inbound_sectors(&msg->p));
}

static void
count_reply(void *user, const struct timed_packet *msg)
{
    (void)msg;
    ((struct outstanding *)user)->n++;
}

/* Replies and bursts still to come, counted where they are. */
static void
under_way(const struct memory *mem, uint64_t *replies, uint64_t *bursts)
{
    struct outstanding o = {mem->ends->in->unit, 0};
    icnt_each(mem->requests, count_request, &o);
    icnt_each(mem->replies, count_reply, &o);
    *bursts = 0;
    for (unsigned i = 0; i < mem->channels; i++) {
        const struct partition_left left = partition_left(mem->partition[i]);
        o.n += left.replies;
        *bursts += left.bursts;
    }
    *replies = o.n;
}

void
memory_begin(struct memory *mem, uint64_t l2, uint64_t dram)
{
    settle(mem, l2, dram);
    for (unsigned i = 0; i < mem->channels; i++)
        mem->stats[i].s = (struct stat_mem){0};
    memset(&mem->own, 0, sizeof mem->own);
    for (unsigned i = 0; i < mem->ports; i++) {
        struct port *p = &mem->port[i];
        p->requests = p->request_flits = p->asked = p->given = p->latency = 0;
    }
    under_way(mem, &mem->own.replies_begun, &mem->own.dram_begun);
    mem->began_dram = dram;
}

void
memory_stats(struct memory *mem, uint64_t l2, uint64_t dram, struct launch_stats *out)
{
    settle(mem, l2, dram);
    struct stat_mem own = mem->own;
    for (unsigned i = 0; i < mem->ports; i++) {
        const struct port *p = &mem->port[i];
        own.icnt_requests += p->requests;
        own.icnt_request_flits += p->request_flits;
        own.replies_asked += p->asked;
        own.replies_given += p->given;
        own.reply_latency += p->latency;
    }
    under_way(mem, &own.replies_left, &own.dram_left);
    own.dram_cycles = (dram - mem->began_dram) * mem->channels;
    stats_add_mem(out, &own);
    for (unsigned i = 0; i < mem->channels; i++)
        stats_add_mem(out, &mem->stats[i].s);
}

const struct stat_mem *
memory_channel_stats(const struct memory *mem, unsigned channel)
{
    return &mem->stats[channel].s;
}

void
memory_prefill(struct memory *mem, uint64_t addr, uint64_t bytes)
{
    if (!bytes || !mem->m->partition.l2_enabled)
        return;
    for (uint64_t a = addr / 32 * 32; a < addr + bytes; a += 32) {
        struct addr_place at = addrmap_slice(&mem->map, a);
        unsigned s = (unsigned)(at.local & (mem->m->l2.line - 1)) / 32;
        partition_prefill(mem->partition[at.slice / mem->map.slices],
                          at.slice % mem->map.slices, at.local, (uint8_t)(1u << s));
    }
}

void
memory_explain(const struct memory *mem, struct strbuf *out)
{
    if (memory_idle(mem)) {
        strbuf_addz(out, "memory system: nothing under way\n");
        return;
    }
    for (unsigned i = 0; i < mem->ports; i++) {
        unsigned in = icnt_waiting(mem->requests, i),
                 come = icnt_arrived(mem->replies, i);
        if (in | come | mem->port[i].fifo.n)
            strbuf_printf(
                out,
                "SM port %u: %u requests before the crossbar; %u replies behind it, "
                "%u at the port%s\n",
                i, in, come, mem->port[i].fifo.n,
                mem->port[i].fifo.n ? " (the SM does not take them)" : "");
    }
    for (unsigned i = 0; i < mem->slices; i++) {
        unsigned n = icnt_arrived(mem->requests, i), r = icnt_waiting(mem->replies, i);
        if (n | r)
            strbuf_printf(out,
                          "slice port %u: %u requests arrived, %u replies before the "
                          "crossbar\n",
                          i, n, r);
    }
    for (unsigned i = 0; i < mem->channels; i++)
        partition_explain(mem->partition[i], out);
}
