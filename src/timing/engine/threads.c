/* threads.c: quanta in host threads. A task is a partition's quantum, a node's, or the
 * replies of all. Threads balance them by work stealing (docs/architecture.md, "Threads").
 *
 * Where the memory system allows it, quanta overlap. Each quantum has the order partitions,
 * replies, nodes, serial phase. The partitions of the next quantum start as soon as the
 * replies of this one are done, possibly while its nodes still run. The serial phase of
 * this quantum runs in the first thread and overlaps the next partitions and replies. */
#include "base/bitset.h"
#include "timing/engine/run.h"

#include <stddef.h>
#include <string.h>

/* A double-ended queue of tasks of one kind: its own thread takes them from the front,
 * others steal from the back. */
struct tasks {
    _Atomic uint64_t span; /* first of these, and in the upper half the end */
    unsigned n;            /* all: for the thread that lists them */
    unsigned *task;
};

/* Tasks of a quantum for one host thread: a range of all nodes and partitions, in this
 * order. A task that stays with its thread has its state in that core's cache. Others steal
 * when they have no tasks left; where that repeats, the boundaries of the ranges move
 * (load balancing, with hysteresis LEAN). Partitions are last, since the first thread has
 * the serial phase of the quantum before (overlap_serial_phase). */
struct queue {
    _Alignas(64) struct tasks node, part;
    atomic_bool came;    /* its thread, in this round of the pool */
    atomic_bool in_node; /* its thread */
    atomic_uint helped;  /* tasks that others stole or waited for */
    unsigned end;        /* of the range */
    int lean;            /* quanta in which the next range was too long, less too short */
};
enum {
    LEFT_ALONE = 1, /* last tasks of a thread at work: faster there than by others */
    LEAN = 8,
    ROUND = 16,    /* quanta in a round of the pool, or a few more */
    WAIT = 4,      /* turns of a wait that counts for load balancing */
    LONG = 2048,   /* turns after which the pool looks for threads that do not run */
    LEAVE = 40000, /* turns after which a thread leaves the round */
};

/* Who opens the partitions' next quantum, that after the nodes' present. */
enum far {
    FAR_LAST,  /* the thread that ends this one, if at all */
    FAR_WAITS, /* any thread without tasks, as soon as the replies are done */
    FAR_OPENS, /* a thread does */
    FAR_OPEN,  /* it is open */
    FAR_STATES /* a power of two */
};

#define NO_TASK UINT32_MAX

/* -- tasks of host threads -- */

/* Takes a task, or NO_TASK. alone: so many are left to the queue's own thread. */
static unsigned
take(struct tasks *t, bool own, unsigned alone)
{
    uint64_t s = atomic_load_explicit(&t->span, memory_order_relaxed), less;
    uint32_t first, end;
    do {
        first = (uint32_t)s;
        end = (uint32_t)(s >> 32);
        if (first + alone >= end)
            return NO_TASK;
        less = own ? s + 1 : s - ((uint64_t)1 << 32);
    } while (!atomic_compare_exchange_weak_explicit(
        &t->span, &s, less, memory_order_acquire, memory_order_relaxed));
    return t->task[own ? first : end - 1];
}

/* Tasks are there to be taken. */
static void
offer(struct tasks *t)
{
    atomic_store_explicit(&t->span, (uint64_t)t->n << 32, memory_order_release);
}

static void
replies_task(struct run *r)
{
    memsys_replies(r->g->mem);
    atomic_store_explicit(&r->team.replied, true, memory_order_release);
    atomic_fetch_sub_explicit(&r->team.left, 1, memory_order_release);
}

/* Counts down the tasks that replies wait for. True: it was the last. */
static bool
replies_wait_less(struct run *r)
{
    return atomic_fetch_sub_explicit(&r->team.replies_wait, 1, memory_order_acq_rel) == 1;
}

static void
part_task(struct run *r, unsigned k)
{
    memsys_part(r->g->mem, k);
    /* The thread that finishes the last partition runs the replies. */
    if (replies_wait_less(r))
        replies_task(r);
}

/* The node has not stopped, and has a block that is sure to run on after the quantum,
 * whatever the serial phase does. */
static bool
node_has_block(const struct run *r, unsigned k)
{
    const struct node *n = &r->quantum.node[k];
    if (memory_refused(r->g->memory, k))
        return false;
    for (const struct sm *s = n->sm; s < n->end; s++)
        if (s->blocks)
            return true;
    return false;
}

static enum far
far_of(const struct run *r)
{
    return atomic_load_explicit(&r->team.far, memory_order_acquire) % FAR_STATES;
}

/* Number of the quantum, to tell it from others. */
static unsigned
quantum_of(const struct run *r)
{
    return atomic_load_explicit(&r->team.far, memory_order_relaxed) / FAR_STATES;
}

static void
set_far(struct run *r, unsigned quantum, enum far far)
{
    atomic_store_explicit(&r->team.far, quantum * FAR_STATES + far, memory_order_release);
}

static void
node_task(struct run *r, unsigned k, struct queue *own)
{
    const unsigned nth = quantum_of(r);
    atomic_store_explicit(&own->in_node, true, memory_order_relaxed);
    run_node(r, k);
    atomic_store_explicit(&own->in_node, false, memory_order_relaxed);
    if (atomic_load_explicit(&r->team.goes_on, memory_order_relaxed) != nth &&
        r->quantum.node[k].stop == STOP_NO && node_has_block(r, k))
        atomic_store_explicit(&r->team.goes_on, nth, memory_order_relaxed);
    atomic_fetch_sub_explicit(&r->team.left, 1, memory_order_release);
}

/* A task of another thread, or NO_TASK. */
static unsigned
take_others(struct run *r, unsigned thread, size_t kind, unsigned alone)
{
    for (unsigned i = 1; i < r->team.threads; i++) {
        struct queue *q = &r->team.queue[(thread + i) % r->team.threads];
        struct tasks *t = (struct tasks *)((char *)q + kind);
        bool came = atomic_load_explicit(&q->came, memory_order_relaxed);
        unsigned k = take(t, false, came ? alone : 0);
        if (k == NO_TASK)
            continue;
        atomic_fetch_add_explicit(&q->helped, 1, memory_order_relaxed);
        return k;
    }
    return NO_TASK;
}

static bool
do_part(struct run *r, unsigned k)
{
    if (k == NO_TASK)
        return false;
    part_task(r, k);
    return true;
}

static bool
do_node(struct run *r, unsigned k, unsigned thread)
{
    if (k == NO_TASK)
        return false;
    node_task(r, k, &r->team.queue[thread]);
    return true;
}

static bool
do_replies(struct run *r)
{
    if (!atomic_load_explicit(&r->team.replies_free, memory_order_relaxed) ||
        !atomic_exchange_explicit(&r->team.replies_free, false, memory_order_acq_rel))
        return false;
    replies_task(r);
    return true;
}

/* The partitions' next quantum is open already: then nodes go first, and the first thread
 * leaves partitions to others, since it runs the serial phase next. */
static bool
parts_ahead(const struct run *r)
{
    return far_of(r) >= FAR_OPENS;
}

/* A task of the thread's own; false: there is none. */
static bool
do_own(struct run *r, unsigned thread)
{
    struct queue *q = &r->team.queue[thread];
    const bool ahead = parts_ahead(r);
    return (!ahead && do_part(r, take(&q->part, true, 0))) ||
           do_node(r, take(&q->node, true, 0), thread) ||
           (ahead && thread && do_part(r, take(&q->part, true, 0)));
}

/* Steals a task; the last few stay with their thread. */
static bool
do_others(struct run *r, unsigned thread, unsigned parts, unsigned nodes)
{
    enum { PART = offsetof(struct queue, part), NODE = offsetof(struct queue, node) };
    const bool ahead = parts_ahead(r);
    return (!ahead && do_part(r, take_others(r, thread, PART, parts))) ||
           do_node(r, take_others(r, thread, NODE, nodes), thread) ||
           (ahead && thread && do_part(r, take_others(r, thread, PART, parts)));
}

static void
do_all(void *user, unsigned thread)
{
    struct run *r = user;
    atomic_store_explicit(&r->team.queue[thread].came, true, memory_order_relaxed);
    while (do_own(r, thread) || do_replies(r) || do_others(r, thread, LEFT_ALONE, 0))
        ;
}

/* Load balancing: moves boundaries of ranges that are too long or too short. */
static void
balance(struct run *r)
{
    for (struct queue *q = r->team.queue; q + 1 < r->team.queue + r->team.threads; q++) {
        unsigned from_it = atomic_load_explicit(&q->helped, memory_order_relaxed);
        unsigned from_next = atomic_load_explicit(&q[1].helped, memory_order_relaxed);
        if (!atomic_load_explicit(&q->came, memory_order_relaxed) ||
            !atomic_load_explicit(&q[1].came, memory_order_relaxed))
            continue;
        q->lean += (from_next > from_it) - (from_next < from_it);
        if (q->lean == LEAN) {
            q->end += q->end < q[1].end;
            q->lean = 0;
        } else if (q->lean == -LEAN) {
            q->end -= q->end > (q == r->team.queue ? 0 : q[-1].end);
            q->lean = 0;
        }
    }
    for (struct queue *q = r->team.queue; q < r->team.queue + r->team.threads; q++)
        atomic_store_explicit(&q->helped, 0, memory_order_relaxed);
}

/* No thread is in a round of the pool yet. */
static void
nobody_came(struct run *r)
{
    for (struct queue *q = r->team.queue; q < r->team.queue + r->team.threads; q++)
        atomic_store_explicit(&q->came, false, memory_order_relaxed);
}

/* Lists partitions with something to do as tasks. Returns their number. */
static unsigned
list_parts(struct run *r)
{
    unsigned k = r->quantum.nodes, n = 0;
    for (struct queue *q = r->team.queue; q < r->team.queue + r->team.threads; q++) {
        q->part.n = 0;
        for (; k < q->end; k++)
            if (bitset_has(r->g->facts.due, k - r->quantum.nodes))
                q->part.task[q->part.n++] = k - r->quantum.nodes;
        n += q->part.n;
    }
    return n;
}

static void
turn_round(struct tasks *t)
{
    for (unsigned i = 0, j = t->n; i + 1 < j; i++) {
        unsigned k = t->task[--j];
        t->task[j] = t->task[i];
        t->task[i] = k;
    }
}

/* The same of the nodes in the quantum. The last thread takes its own from the end on, so
 * two threads steal from each other where their ranges meet. */
static unsigned
list_nodes(struct run *r)
{
    const bool all = r->g->opt.no_skip;
    unsigned k = 0, n = 0;
    memset(r->quantum.ran, 0, BITSET_WORDS(r->quantum.nodes) * sizeof *r->quantum.ran);
    for (struct queue *q = r->team.queue; q < r->team.queue + r->team.threads; q++) {
        q->node.n = 0;
        for (; k < q->end && k < r->quantum.nodes; k++)
            if (all || r->quantum.next[k] < r->quantum.to) {
                q->node.task[q->node.n++] = k;
                bitset_add(r->quantum.ran, k);
            }
        n += q->node.n;
    }
    if (r->team.threads > 1)
        turn_round(&r->team.queue[r->team.threads - 1].node);
    return n;
}

static void
offer_parts(struct run *r, unsigned parts)
{
    atomic_store_explicit(&r->team.replied, false, memory_order_relaxed);
    atomic_store_explicit(&r->team.replies_wait, parts + 1, memory_order_relaxed);
    for (unsigned i = 0; i < r->team.threads; i++)
        offer(&r->team.queue[i].part);
}

static void
offer_nodes(struct run *r, unsigned nodes)
{
    atomic_fetch_add_explicit(&r->team.left, nodes, memory_order_relaxed);
    for (unsigned i = 0; i < r->team.threads; i++)
        offer(&r->team.queue[i].node);
}

/* Ports are ready for replies: with no partition to wait for, any thread may do them. */
static void
offer_replies(struct run *r)
{
    if (replies_wait_less(r))
        atomic_store_explicit(&r->team.replies_free, true, memory_order_release);
}

void
run_quantum(struct run *r)
{
    struct timing_gpu *g = r->g;
    const unsigned parts = list_parts(r), nodes = list_nodes(r);
    if (r->team.threads > 1 && parts + nodes > 2) {
        nobody_came(r);
        atomic_store_explicit(&r->team.left, 1, memory_order_relaxed); /* replies */
        offer_parts(r, parts);
        offer_replies(r);
        offer_nodes(r, nodes);
        pool_run(g->pool, do_all, r);
        balance(r);
    } else {
        for (struct queue *q = r->team.queue; q < r->team.queue + r->team.threads; q++)
            for (unsigned i = 0; i < q->part.n; i++)
                memsys_part(g->mem, q->part.task[i]);
        memsys_replies(g->mem);
        for (struct queue *q = r->team.queue; q < r->team.queue + r->team.threads; q++)
            for (unsigned i = 0; i < q->node.n; i++)
                run_node(r, q->node.task[i]);
    }
}

/* -- quanta that overlap -- */

/* A block is sure to run on after the quantum. */
static bool
block_goes_on(const struct run *r)
{
    for (unsigned k = 0; k < r->quantum.nodes; k++)
        if ((!bitset_has(r->quantum.ran, k) || r->quantum.node[k].stop == STOP_NO) &&
            node_has_block(r, k))
            return true;
    return false;
}

/* Nothing between this quantum and the next needs the partitions to wait: no counters are
 * read. */
static bool
may_go_on(const struct run *r)
{
    const struct timing_gpu *g = r->g;
    return r->team.threads > 1 && !g->opt.no_skip && !g->trace &&
           r->launch.next_sample >= r->quantum.to &&
           !(r->launch.plan.period && r->quantum.to >= r->launch.tick) &&
           !atomic_load_explicit(&r->team.faulty, memory_order_relaxed);
}

/* Opens the partitions' next quantum, if the memory system allows it. */
static bool
parts_go_on(struct run *r, bool nodes_done)
{
    const uint64_t from = r->quantum.to;
    if (!memsys_overlap(r->g->mem, from, run_memory_end(r, from, from), nodes_done))
        return false;
    offer_parts(r, list_parts(r));
    return true;
}

/* Whether the replies are done, and it is known that the launch goes on after this
 * quantum. */
static bool
early(const struct run *r)
{
    return far_of(r) == FAR_WAITS &&
           atomic_load_explicit(&r->team.replied, memory_order_acquire) &&
           atomic_load_explicit(&r->team.goes_on, memory_order_relaxed) == quantum_of(r);
}

/* It is for this thread to open the next. */
static bool
claim(struct run *r, unsigned far)
{
    return far % FAR_STATES == FAR_WAITS &&
           atomic_compare_exchange_strong(&r->team.far, &far,
                                          far + FAR_OPENS - FAR_WAITS);
}

/* The same by a thread without tasks, while nodes still run. */
static bool
parts_go_on_early(struct run *r)
{
    const unsigned far = atomic_load_explicit(&r->team.far, memory_order_acquire);
    if (!early(r) || !claim(r, far))
        return false;
    bool goes = may_go_on(r) && parts_go_on(r, false);
    set_far(r, far / FAR_STATES, goes ? FAR_OPEN : FAR_LAST);
    return goes;
}

/* After the nodes' quantum: whether its serial phase overlaps the partitions' next quantum,
 * which is open then. */
static bool
start_overlap(struct run *r)
{
    enum far far;
    for (unsigned i = 1; (far = far_of(r)) == FAR_WAITS || far == FAR_OPENS; i++) {
        if (claim(r, atomic_load(&r->team.far)))
            break;
        pool_relax(i);
    }
    if (far == FAR_OPEN)
        return true;
    bool goes = may_go_on(r) && block_goes_on(r) && parts_go_on(r, true);
    set_far(r, quantum_of(r), goes ? FAR_OPEN : FAR_LAST);
    return goes;
}

/* The serial phase of the quantum, and the nodes' tasks of the next. */
static bool
overlap_serial_phase(struct run *r)
{
    struct memsys *mem = r->g->mem;
    atomic_store_explicit(&r->team.left, 2, memory_order_relaxed); /* replies, and this */
    r->quantum.reach = memsys_next_quantum(mem, r->quantum.to);
    offer_replies(r);
    r->team.outcome = run_serial_phase(r);
    assert(r->team.outcome != OVER);
    if (r->team.outcome == GO_ON && !run_go_on(r))
        r->team.outcome = FAILED;
    if (r->team.outcome != GO_ON)
        return false;
    uint64_t from = r->quantum.to;
    r->quantum.to = run_quantum_end(r, from);
    r->quantum.from = from;
    memsys_open(mem, r->quantum.from, r->quantum.to, 0);
    balance(r);
    offer_nodes(r, list_nodes(r));
    set_far(r, quantum_of(r) + 1, FAR_WAITS);
    return true;
}

/* The nodes' quantum has ended. False: the round is over. */
static bool
next_quantum(struct run *r)
{
    if (!r->team.round_left)
        return false;
    r->team.no_overlap = !start_overlap(r);
    if (r->team.no_overlap || !overlap_serial_phase(r))
        return false;
    r->team.round_left--;
    atomic_fetch_sub_explicit(&r->team.left, 1, memory_order_relaxed);
    return true;
}

/* A thread without tasks waits until r->team.far is no longer `far`, or there is something
 * else to do. Waits for nodes are counted for load balancing. turns: of the wait. */
static void
wait_for_others(struct run *r, unsigned thread, unsigned far, unsigned *turns)
{
    while (++*turns < (thread ? LEAVE : LONG) &&
           atomic_load_explicit(&r->team.far, memory_order_relaxed) == far &&
           !atomic_load_explicit(&r->team.replies_free, memory_order_relaxed) &&
           !atomic_load_explicit(&r->team.round_over, memory_order_relaxed) &&
           (thread ? !early(r)
                   : atomic_load_explicit(&r->team.left, memory_order_relaxed))) {
        for (unsigned k = 0; *turns == WAIT && k < r->team.threads; k++)
            if (k != thread &&
                atomic_load_explicit(&r->team.queue[k].in_node, memory_order_relaxed))
                atomic_fetch_add_explicit(&r->team.queue[k].helped, 1,
                                          memory_order_relaxed);
        pool_relax(*turns);
    }
}

/* What a thread other than the first does next; false: nothing. All wait for the end of the
 * nodes' quantum, so nodes come first. But where partitions and replies take longer than
 * the serial phase (not busy: it was idle during one), those come first. */
static bool
do_next(struct run *r, unsigned thread, bool busy)
{
    if (do_replies(r) || do_own(r, thread))
        return true;
    if (busy)
        return parts_go_on_early(r) || do_others(r, thread, LEFT_ALONE, LEFT_ALONE);
    return do_others(r, thread, LEFT_ALONE, 0) || parts_go_on_early(r);
}

/* Tasks in a round of the pool. */
static void
work(struct run *r, unsigned thread)
{
    bool busy = true; /* it had a task during each serial phase of this round */
    unsigned turns = 0;
    while (!atomic_load_explicit(&r->team.round_over, memory_order_relaxed) &&
           turns < LEAVE) {
        const unsigned far = atomic_load_explicit(&r->team.far, memory_order_acquire);
        if (do_next(r, thread, busy))
            continue;
        busy &= far % FAR_STATES != FAR_OPEN;
        turns = 0;
        wait_for_others(r, thread, far, &turns);
    }
    atomic_store_explicit(&r->team.queue[thread].came, false, memory_order_relaxed);
}

/* The same in the first thread, which does the serial phases and keeps itself free for
 * them. */
static void
lead(struct run *r)
{
    for (unsigned turns = 0; turns < LONG;) {
        const unsigned far = atomic_load_explicit(&r->team.far, memory_order_acquire);
        if (!atomic_load_explicit(&r->team.left, memory_order_acquire)) {
            if (!next_quantum(r))
                break;
            turns = 0;
        } else if (do_replies(r) || do_own(r, 0) || do_others(r, 0, LEFT_ALONE, 0)) {
            turns = 0;
        } else {
            wait_for_others(r, 0, far, &turns);
        }
    }
    atomic_store_explicit(&r->team.round_over, true, memory_order_relaxed);
}

static void
do_round(void *user, unsigned thread)
{
    struct run *r = user;
    atomic_store_explicit(&r->team.queue[thread].came, true, memory_order_relaxed);
    if (thread)
        work(r, thread);
    else
        lead(r);
}

enum outcome
run_overlapped(struct run *r)
{
    r->team.outcome = GO_ON;
    if (!start_overlap(r))
        return GO_ON;
    atomic_store(&r->team.left, 0);
    while (r->team.outcome == GO_ON && !r->team.no_overlap) {
        nobody_came(r);
        atomic_store(&r->team.round_over, false);
        r->team.round_left = ROUND;
        pool_run(r->g->pool, do_round, r);
        if (r->team.outcome == GO_ON && !run_tell(r, ROUND))
            r->team.outcome = FAILED;
    }
    r->team.no_overlap = false;
    return r->team.outcome;
}

void
run_threads(struct run *r)
{
    struct arena *a = r->arena;
    r->team.queue = ARENA_ARRAY(a, struct queue, r->team.threads);
    for (unsigned i = 0; i < r->team.threads; i++) {
        struct queue *q = &r->team.queue[i];
        q->node.task = ARENA_ARRAY(a, unsigned, r->quantum.nodes);
        q->part.task = ARENA_ARRAY(a, unsigned, r->quantum.parts);
        q->end = (i + 1) * (r->quantum.parts + r->quantum.nodes) / r->team.threads;
    }
}
