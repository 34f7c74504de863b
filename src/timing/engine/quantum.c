/* quantum.c: a quantum of core cycles: the nodes' part, and its serial phase.
 *
 * A node's cycle: each SM ejects one reply; SMs step; their packets are injected as far as
 * there is room. A node may need what others do in the quantum: whether there is room
 * before the crossbar, or which block comes next. Then it stops, and the serial phase
 * resumes it in that cycle, when the crossbars are there. So the result is that of quanta
 * of one cycle, whatever their length. While a block that has not started fits an SM,
 * quanta are one cycle long. A node or partition that sleeps costs nothing. When all sleep,
 * time jumps to the earliest event. With `no_skip` everything is stepped in every cycle;
 * the counters are the same. */
#include "base/bitset.h"
#include "base/inline.h"
#include "timing/engine/run.h"

#include <string.h>

/* -- a quantum: nodes and partitions -- */

/* As far as there is room: the answer for the first packet that does not go, or yes. */
static enum room
send_packets(struct memory *mem, struct sm *s, uint64_t now)
{
    const struct packet *p;
    while ((p = ldst_out_front(s->ldst))) {
        const enum room room = memory_inject(mem, p);
        if (room != ROOM_YES)
            return room;
        ldst_out_pop(s->ldst);
        if (s->wake > now + 1)
            s->wake = now + 1; /* it may have waited for the room */
    }
    return ROOM_YES;
}

/* The reply that the SM's port k shows; true: the SM has something to do with it. */
static bool
receive(struct memory *mem, unsigned k, struct sm *s, uint64_t now)
{
    if (!ldst_can_receive(s->ldst))
        return false;
    bool busy = ldst_receive(s->ldst, memory_reply(mem, k), now);
    memory_reply_over(mem, k);
    return busy;
}

/* End of the SMs of a node. one: there is one in each, as the compiler is to know. */
ALWAYS_INLINE struct sm *
end_of(const struct node *n, bool one)
{
    return one ? n->sm + 1 : n->end;
}

/* A cycle of an SM of the node; false: a fault. */
NOINLINE static bool
node_steps(struct run *r, struct node *n, struct sm *s, uint64_t now)
{
    uint64_t done = s->blocks_done;
    sm_cycle(s, now);
    if (s->fault) {
        n->fault_at = now;
        n->faulty = s;
        atomic_store_explicit(&r->team.faulty, true, memory_order_relaxed);
        return false;
    }
    if (s->blocks_done != done) {
        n->done += s->blocks_done - done;
        n->ended = now;
    }
    return true;
}

/* One cycle of the SMs of node k; false: a fault. */
ALWAYS_INLINE bool
node_cycle(struct run *r, unsigned k, uint64_t now, bool one)
{
    struct timing_gpu *g = r->g;
    struct node *n = &r->quantum.node[k];
    const unsigned reply = memory_port(g->memory, k, now);
    for (struct sm *s = n->sm, *end = end_of(n, one); s < end; s++) {
        if (s->id == reply && receive(g->memory, k, s, now))
            s->wake = now;
        if ((s->wake <= now || g->opt.no_skip) && !node_steps(r, n, s, now))
            return false;
    }
    return true;
}

/* Packets of cycle `now` go out, of SM s and those behind it; false: for one it is not
 * known yet whether there is room. */
ALWAYS_INLINE bool
node_sends(struct run *r, unsigned k, struct sm *s, uint64_t now, bool one)
{
    struct memory *mem = r->g->memory;
    for (struct sm *end = end_of(&r->quantum.node[k], one); s < end; s++) {
        if (ldst_out_front(s->ldst) && send_packets(mem, s, now) == ROOM_UNKNOWN) {
            r->quantum.node[k].sending = s;
            return false;
        }
    }
    return true;
}

/* Whether an SM of the node has room for a block that has not started, or the order of
 * blocks waits for one that has ended. */
static bool
wants_block(const struct run *r, const struct node *n, uint64_t now)
{
    const struct dispatch *d = &r->launch.dispatch;
    if (!d->left)
        return false;
    for (const struct sm *s = n->sm; s < n->end; s++)
        if ((now >= r->launch.first_dispatch && dispatch_wants(d, s, now)) ||
            dispatch_tells(d, s))
            return true;
    return false;
}

/* First cycle after `now`, which is done, with something to do. */
ALWAYS_INLINE uint64_t
node_next(const struct run *r, unsigned k, uint64_t now, bool one)
{
    uint64_t next = memory_port_next(r->g->memory, k, now);
    for (const struct sm *s = r->quantum.node[k].sm,
                         *end = end_of(&r->quantum.node[k], one);
         s < end; s++)
        next = s->wake < next ? s->wake : next;
    return next > now ? next : now + 1;
}

static void
node_stops(struct node *n, enum stop why, uint64_t at)
{
    n->stop = (uint8_t)why;
    n->at = at;
}

ALWAYS_INLINE void
node_goes(struct run *r, unsigned k, enum stop where, uint64_t now, bool one)
{
    struct node *n = &r->quantum.node[k];
    const bool all = r->g->opt.no_skip;
    n->stop = STOP_NO;
    for (;; where = STOP_CYCLE) {
        if (where == STOP_CYCLE) {
            if (!node_cycle(r, k, now, one))
                return;
        }
        if (where != STOP_BLOCK &&
            !node_sends(r, k, where == STOP_CYCLE ? n->sm : n->sending, now, one)) {
            node_stops(n, STOP_SEND, now);
            return;
        }
        n->last = now;
        if (where != STOP_BLOCK && now + 1 < r->quantum.to && wants_block(r, n, now)) {
            node_stops(n, STOP_BLOCK, now);
            return;
        }
        n->next = node_next(r, k, now, one);
        uint64_t next = all ? now + 1 : n->next;
        if (next >= r->quantum.to)
            return;
        if (next > now + 1 && memory_may_have_room(r->g->memory, k, next - 1)) {
            node_stops(n, STOP_CYCLE, next);
            return;
        }
        now = next;
    }
}

/* The node goes on: STOP_CYCLE: with cycle `now`; STOP_SEND: with the packets of cycle
 * `now`; STOP_BLOCK: after that cycle. */
static void
node_goes_on(struct run *r, unsigned k, enum stop where, uint64_t now)
{
    if (r->g->m->sm.per_cluster == 1)
        node_goes(r, k, where, now, true);
    else
        node_goes(r, k, where, now, false);
}

void
run_node(struct run *r, unsigned k)
{
    struct node *n = &r->quantum.node[k];
    uint64_t now = r->quantum.next[k];
    if (now < r->quantum.from || r->g->opt.no_skip)
        now = r->quantum.from;
    n->last = r->quantum.from - 1;
    if (now > r->quantum.from && memory_may_have_room(r->g->memory, k, now - 1)) {
        n->stop = STOP_CYCLE;
        n->at = n->next = now;
        return;
    }
    node_goes_on(r, k, STOP_CYCLE, now);
}

/* -- a quantum: the serial phase -- */

/* Calls for every node k of set s, in order. */
#define FOR_NODES(k, r, s)                                                               \
    for (unsigned v_ = 0; v_ < BITSET_WORDS((r)->quantum.nodes); v_++)                   \
        for (uint64_t x_ = (s)[v_]; x_; x_ &= x_ - 1)                                    \
            for (unsigned k = v_ * 64 + (unsigned)bit_lowest(x_), once_ = 1; once_;      \
                 once_ = 0)

static void
go_on_from(struct run *r, unsigned k, enum stop where, uint64_t now)
{
    node_goes_on(r, k, where, now);
    if (r->quantum.node[k].stop != STOP_NO)
        bitset_add(r->quantum.stopped, k);
    else
        bitset_del(r->quantum.stopped, k);
}

/* A node without something to do has a packet for which there may be room after cycle
 * `now`. */
static void
room_came(struct run *r, unsigned k, uint64_t now)
{
    struct node *n = &r->quantum.node[k];
    if (!bitset_has(r->quantum.ran, k)) {
        bitset_add(r->quantum.ran, k);
        n->stop = STOP_NO;
        n->next = r->quantum.next[k];
        n->last = r->quantum.from - 1;
    }
    if (n->fault_at != NEVER || n->stop == STOP_SEND || n->stop == STOP_BLOCK)
        return; /* it will try again in a later cycle, and could not before */
    if (now > n->last) {
        memory_port(r->g->memory, k, now);
        n->sending = n->sm;
        go_on_from(r, k, STOP_SEND, now);
    } else if (n->last + 1 < r->quantum.to && n->next > n->last + 1) {
        n->stop = STOP_CYCLE;
        n->at = n->last + 1;
        bitset_add(r->quantum.stopped, k);
    }
}

/* Blocks for the nodes that stopped after cycle `now` to get some. */
static void
give_blocks(struct run *r, uint64_t now)
{
    bool any = false;
    FOR_NODES(k, r, r->quantum.stopped)
    {
        const struct node *n = &r->quantum.node[k];
        if (n->stop != STOP_BLOCK || n->at != now)
            continue;
        any = true;
        for (const struct sm *s = n->sm; s < n->end; s++)
            bitset_add(r->quantum.takers, s->id);
    }
    if (!any)
        return;
    dispatch_ended(&r->launch.dispatch, r->sm, r->quantum.takers, now);
    if (now >= r->launch.first_dispatch)
        dispatch_cycle(&r->launch.dispatch, r->sm, r->quantum.takers, now);
    memset(r->quantum.takers, 0,
           BITSET_WORDS(r->g->m->sm.count) * sizeof *r->quantum.takers);
    FOR_NODES(k, r, r->quantum.stopped)
    if (r->quantum.node[k].stop == STOP_BLOCK && r->quantum.node[k].at == now)
        go_on_from(r, k, STOP_BLOCK, now);
}

/* The serial phase: the crossbars, cycle by cycle, and the nodes that stopped. */
static void
follow(struct run *r)
{
    memset(r->quantum.stopped, 0,
           BITSET_WORDS(r->quantum.nodes) * sizeof *r->quantum.stopped);
    bool any = false;
    FOR_NODES(k, r, r->quantum.ran)
    if (r->quantum.node[k].stop != STOP_NO) {
        bitset_add(r->quantum.stopped, k);
        any = true;
    }
    for (uint64_t now = r->quantum.from; now < r->quantum.to; now++) {
        const uint64_t *woken = memsys_cross(r->g->mem, now);
        FOR_NODES(k, r, woken)
        {
            room_came(r, k, now);
            any = true;
        }
        if (!any)
            continue;
        FOR_NODES(k, r, r->quantum.stopped)
        if (r->quantum.node[k].stop == STOP_SEND && r->quantum.node[k].at == now)
            go_on_from(r, k, STOP_SEND, now);
        give_blocks(r, now);
        FOR_NODES(k, r, r->quantum.stopped)
        if (r->quantum.node[k].stop == STOP_CYCLE && r->quantum.node[k].at == now + 1)
            go_on_from(r, k, STOP_CYCLE, now + 1);
    }
    FOR_NODES(k, r, r->quantum.ran)
    r->quantum.next[k] = r->quantum.node[k].next;
    memsys_close(r->g->mem, r->quantum.next);
}

/* Accesses of the quantum take effect, up to a fault. */
static void
apply_logs(struct run *r, const struct node *fault)
{
    for (uint64_t c = r->quantum.from; r->quantum.nwriters && c < r->quantum.to; c++)
        for (unsigned j = 0; j < r->quantum.nwriters; j++) {
            struct sm *s = r->quantum.writers[j];
            if (s->log->n)
                exec_log_apply(s->log, c);
            if (fault && fault->fault_at == c && fault->faulty == s)
                return;
        }
}

/* Merges the nodes' results of the quantum. Returns the first fault in the order of cycle
 * and SM; NULL: none. */
static const struct node *
end_quantum(struct run *r)
{
    const struct node *fault = NULL;
    r->quantum.nwriters = 0;
    FOR_NODES(k, r, r->quantum.ran)
    {
        struct node *n = &r->quantum.node[k];
        if (n->done) {
            r->launch.done += n->done;
            n->done = 0;
            if (n->ended > r->launch.end)
                r->launch.end = n->ended;
        }
        if (n->fault_at != NEVER && (!fault || n->fault_at < fault->fault_at))
            fault = n;
        for (struct sm *s = n->sm; s < n->end; s++)
            if (s->log && (s->log->n || s->fault))
                r->quantum.writers[r->quantum.nwriters++] = s;
    }
    apply_logs(r, fault);
    return fault;
}

static uint64_t
resident(const struct run *r)
{
    return r->launch.blocks - r->launch.dispatch.left - r->launch.done;
}

/* Whether an SM has room for a block that has not started, in cycle `now`. */
static bool
room(const struct run *r, uint64_t now)
{
    const struct dispatch *d = &r->launch.dispatch;
    if (!d->left || resident(r) == (uint64_t)r->launch.plan.blocks * r->g->m->sm.count)
        return false;
    bool any = !d->order->open && !d->any_none;
    for (unsigned i = 0; !any && i < r->g->m->sm.count; i++)
        any = dispatch_wants(d, &r->sm[i], now);
    return any;
}

void
run_start_blocks(struct run *r, uint64_t now)
{
    struct dispatch *d = &r->launch.dispatch;
    const uint64_t left = d->left;
    if (now >= r->launch.first_dispatch) {
        dispatch_time(d, now);
        if (room(r, now))
            dispatch_cycle(d, r->sm, NULL, now);
    }
    dispatch_look_ahead(d, now);
    for (unsigned i = 0; d->left != left && i < r->g->m->sm.count; i++) {
        unsigned k = i / r->g->m->sm.per_cluster;
        if (r->sm[i].wake < r->quantum.next[k])
            r->quantum.next[k] = r->sm[i].wake;
    }
}

/* Before this cycle a limit to instructions cannot be passed by more than a cycle's. */
static uint64_t
limit_end(const struct run *r, uint64_t from)
{
    const struct machine *m = r->g->m;
    uint64_t limit = r->g->opt.max_instructions;
    uint64_t most = (uint64_t)m->sm.count * m->sm.schedulers * m->sm.issue_width;
    return limit ? from + max_u64((limit - r->launch.issued) / most, 1) : NEVER;
}

/* Where a quantum ends at the latest. */
static uint64_t
quantum_limit(const struct run *r, uint64_t from)
{
    uint64_t to = from / r->quantum.most * r->quantum.most + r->quantum.most;
    return min_u64(to, r->quantum.reach);
}

uint64_t
run_quantum_end(const struct run *r, uint64_t from)
{
    uint64_t to = min_u64(quantum_limit(r, from), limit_end(r, from));
    uint64_t limit = r->g->opt.max_cycles;
    if (from >= r->launch.first_dispatch && room(r, from))
        to = from + 1;
    if (from <= r->launch.dispatch.again && to - 1 > r->launch.dispatch.again)
        to = r->launch.dispatch.again + 1;
    if (from <= r->launch.first_dispatch && to > r->launch.first_dispatch + 1)
        to = r->launch.first_dispatch + 1;
    if (limit && to > r->launch.start + limit + 1)
        to = r->launch.start + limit + 1;
    if (r->launch.plan.period && to > r->launch.tick)
        to = r->launch.tick;
    if (to > r->launch.next_sample && from <= r->launch.next_sample)
        to = r->launch.next_sample + 1;
    if (to > r->launch.next_channels && from <= r->launch.next_channels)
        to = r->launch.next_channels + 1;
    return to;
}

/* First cycle after those of the longest quantum in which `now` lies. */
static uint64_t
longest_end(const struct timing_gpu *g, uint64_t now)
{
    uint64_t w = g->facts.quantum;
    return now / w * w + w;
}

/* Where counters are read, and with quanta of one cycle (timing_options.quantum), all parts
 * stop at the same cycle. */
uint64_t
run_memory_end(const struct run *r, uint64_t from, uint64_t end)
{
    if (!r->g->facts.ahead || r->g->opt.quantum == 1)
        return end;
    uint64_t to = longest_end(r->g, longest_end(r->g, from));
    if (to > r->launch.next_sample && from <= r->launch.next_sample)
        to = r->launch.next_sample + 1;
    if (to > r->launch.next_channels && from <= r->launch.next_channels)
        to = r->launch.next_channels + 1;
    return to;
}

uint64_t
run_next_cycle(const struct run *r)
{
    uint64_t next = NEVER;
    if (r->quantum.to <= r->launch.first_dispatch)
        next = r->launch.first_dispatch;
    next = min_u64(next, max_u64(r->launch.dispatch.again, r->quantum.to));
    for (unsigned i = 0; i < r->quantum.nodes && next > r->quantum.to; i++)
        next = r->quantum.next[i] < next ? r->quantum.next[i] : next;
    if (next <= r->quantum.to)
        return r->quantum.to;
    return min_u64(next, memsys_next_event(r->g->mem));
}

/* -- quanta and launches -- */

/* A launch may end after cycle `now`, and the next start: where longest quanta end,
 * whatever the quanta are. */
static bool
between_launches(const struct timing_gpu *g, uint64_t now)
{
    unsigned w = g->facts.quantum;
    return (now + 1) % (w < 4 ? 4 : w) == 0;
}

/* The last cycle of a launch of which `now` is the first without blocks, as the memory
 * system counts it: where whatever is ahead then has come. */
static uint64_t
last_cycle(const struct timing_gpu *g, uint64_t now)
{
    if (g->facts.ahead)
        return longest_end(g, longest_end(g, now)) - 1;
    while (!between_launches(g, now))
        now++;
    return now;
}

void
run_do(struct run *r, uint64_t from, uint64_t to, uint64_t far)
{
    r->quantum.from = from;
    r->quantum.to = to;
    memsys_open(r->g->mem, from, to, far);
    run_quantum(r);
}

void
run_follow_alone(struct run *r)
{
    struct timing_gpu *g = r->g;
    const uint64_t last = last_cycle(g, g->now);
    while (g->now < last) {
        uint64_t from = g->now + 1;
        r->quantum.reach = memsys_next_quantum(g->mem, from);
        uint64_t to = min_u64(quantum_limit(r, from), last + 1);
        run_do(r, from, to, to);
        follow(r);
        g->now = r->quantum.to - 1;
        run_beat(g, g->now);
        end_quantum(r);
    }
}

enum outcome
run_serial_phase(struct run *r)
{
    struct timing_gpu *g = r->g;
    follow(r);
    g->quanta++;
    g->now = r->quantum.to - 1;
    run_beat(g, g->now);
    const struct node *fault = end_quantum(r);
    if (fault) {
        diag_append(r->diag, &fault->faulty->diag);
        r->launch.grid->failure = fault->faulty->failure;
        return FAILED;
    }
    if (g->trace)
        trace_bound(g->trace);
    if (r->launch.done == r->launch.blocks)
        return OVER;
    dispatch_ended(&r->launch.dispatch, r->sm, NULL, g->now);
    if (!resident(r)) {
        uint64_t from = dispatch_drained(&r->launch.dispatch, r->launch.end);
        r->launch.first_dispatch = max_u64(from, r->launch.first_dispatch);
    }
    run_start_blocks(r, g->now);
    return GO_ON;
}

void
run_drain(struct run *r)
{
    struct timing_gpu *g = r->g;
    uint64_t now = g->now;
    for (;;) {
        bool idle = true;
        for (unsigned i = 0; i < g->m->sm.count; i++)
            idle &= ldst_idle(g->ldst[i]);
        if ((idle && between_launches(g, now)) || now - g->now > 1000000)
            break;
        now++;
        run_beat(g, now);
        memsys_step(g->mem, now);
        for (unsigned i = 0; i < g->m->sm.count; i++) {
            const unsigned port = i / g->m->sm.per_cluster;
            const struct packet *p = memory_reply(g->memory, port);
            if (p && p->sm == i)
                receive(g->memory, port, &r->sm[i], now);
            ldst_cycle(g->ldst[i], now);
            send_packets(g->memory, &r->sm[i], now);
        }
    }
    g->now = now;
}
