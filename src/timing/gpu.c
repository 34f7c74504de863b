/* gpu.c: the whole GPU over its launches: the loop over windows of core cycles, block
 * dispatch, the jump over cycles in which nothing happens, limits, and the explanation of
 * a simulation that can never move again.
 *
 * A window is so few core cycles long that what happens in it reaches nobody else before
 * its end (memsys.h). In a window each node - the SMs of one interconnect port - goes
 * through its cycles by itself, and each memory partition through its own, which may be
 * those of the next window; in any order, in as many host threads as there are. Then, in
 * one thread, the crossbars follow, accesses to global memory take effect (exec_log: in
 * the order of cycle, SM, and issue in the SM), and blocks are dispatched; other threads
 * go on with the partitions' next window meanwhile, where the memory system allows it. So
 * every thread count gives the same counters and memory.
 *
 * A node's cycle: each SM takes one reply; SMs step; their packets go out as far as there
 * is room. Where a node needs what others do in the window - whether there is room
 * before the crossbar, which block comes next - it stops and goes on when the crossbars
 * have come there. So windows do not change the result either: it is that of windows of
 * one cycle. While an SM has room for a block that has not started, they are one cycle
 * long. A node or partition that sleeps costs nothing; when all sleep, time goes on
 * to the first event of any of them. With `no_skip` everything is stepped in every cycle;
 * the counters are the same. */
#include "timing/timing.h"

#include "base/bitset.h"
#include "base/clock.h"
#include "base/inline.h"
#include "base/pool.h"
#include "timing/dispatch.h"
#include "timing/memsys.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

struct own_stats { /* a cache line of their own */
    _Alignas(64) struct stat_sm s;
};

struct timing_gpu {
    struct machine *m;
    struct timing_options opt;
    const struct sched_policy *sched;
    const struct residency_policy *residency;
    const struct cta_order_policy *order;
    struct arena arena;  /* load/store units */
    struct arena launch; /* of a launch: emptied at its end */
    struct ldst **ldst;
    struct own_stats *stats;
    struct memsys *mem;
    struct trace *trace; /* NULL: none */
    struct pool *pool;   /* NULL: one thread */
    uint64_t now;        /* last core cycle done */
};

/* Where a node stops in a window. */
enum stop {
    STOP_NO,    /* at its end */
    STOP_CYCLE, /* before cycle `at`: a packet may have found room before it */
    STOP_SEND,  /* in cycle `at`, with a packet for which there may be room */
    STOP_BLOCK, /* after cycle `at`: it has room for a block */
};

/* The SMs of one interconnect port. */
struct node {
    _Alignas(64) uint64_t next; /* first cycle with something to do, as of the window */
    uint64_t at, last;          /* last: cycle of the window it has done */
    uint64_t done, ended; /* blocks that ended in the window; cycle of the last one */
    uint64_t fault_at;    /* cycle, NEVER */
    struct sm *sm, *end;
    struct sm *sending, *faulty;
    uint8_t stop; /* enum stop */
};

struct own_log {
    _Alignas(64) struct exec_log log;
};

/* Tasks of one kind, of which some have not been taken yet: its own thread takes them
 * from the front, others from the back. */
struct tasks {
    _Atomic uint64_t span; /* first of these, and in the upper half the end */
    unsigned n;            /* all: for the thread that lists them */
    unsigned *task;
};

/* Tasks of a window for one host thread: a stretch of all nodes and partitions, in this
 * order. Others help when they have none left, and where that comes again and again the
 * stretches change: a task that stays with its thread finds its state in that processor's
 * cache. Partitions are last, since the first thread has what follows the window before
 * (go_beside). */
struct queue {
    _Alignas(64) struct tasks node, part;
    atomic_bool came;    /* its thread, in this round of the pool */
    atomic_bool in_node; /* its thread */
    atomic_uint helped;  /* tasks that others took or waited for */
    unsigned end;        /* of the stretch */
    int lean; /* windows in which the next stretch was too long, less too short */
};
enum {
    LEFT_ALONE = 1, /* last tasks of a thread at work: faster there than by others */
    LEAN = 8,
    ROUND = 16,    /* windows in a round of the pool, or a few more */
    WAIT = 4,      /* turns of a wait that is worth noting */
    BUSY = 32,     /* windows in which a thread had no time, and so has none */
    LONG = 2048,   /* turns after which the pool may find out what is the matter */
    LEAVE = 40000, /* turns after which a thread leaves the round */
};

/* Who opens the partitions' next window, that after the nodes' present. */
enum far {
    FAR_LAST,  /* the thread that ends this one, if at all */
    FAR_WAITS, /* any thread without tasks, as soon as the replies are done */
    FAR_OPENS, /* a thread does */
    FAR_OPEN,  /* it is there */
    FAR_STATES /* a power of two */
};

#define NO_TASK UINT32_MAX

enum outcome { GO_ON, OVER, FAILED };

/* A launch under way. */
struct run {
    struct timing_gpu *g;
    struct exec_grid *grid;
    const struct occ_kernel *kernel;
    struct arena *arena;
    struct sm_program prog;
    struct residency_plan plan;
    uint64_t tick; /* next call of the residency policy's tick, if it has a period */
    struct sm *sm;
    struct dispatch dispatch;
    uint64_t start, first_dispatch, end; /* cycles; end: of the last block so far */
    uint64_t blocks, done;
    uint64_t issued;        /* warp instructions, if there is a limit to them */
    uint64_t next_sample;   /* cycle, NEVER: none */
    uint64_t next_channels; /* of the trace; the same */
    double shown;           /* when progress was last told, seconds */

    unsigned window;   /* cycles */
    uint64_t from, to; /* the present one */
    unsigned nodes, parts, threads;
    struct node *node;
    uint64_t *next;      /* by node: first cycle with something to do */
    uint64_t *ran;       /* nodes that did something in this window */
    uint64_t *stopped;   /* of those: stop is not STOP_NO */
    uint64_t *takers;    /* SMs that may get a block */
    struct own_log *log; /* by SM; NULL: accesses take effect at once */
    struct sm **writers; /* SMs whose log is not empty, or that have a fault */
    unsigned nwriters;
    struct queue *queue; /* by thread */
    /* What threads without tasks look at. */
    _Alignas(64) atomic_uint far; /* enum far and, times FAR_STATES, the window's number:
                                   * changed when something new has been offered */
    atomic_uint goes_on;      /* window in which a block was seen that is sure to go on */
    atomic_bool replies_free; /* for whoever takes them */
    atomic_bool replied;      /* memsys_replies is done */
    atomic_bool round_over;   /* of the pool */
    /* Of the window: nodes, replies, and what follows the one before. */
    _Alignas(64) atomic_uint left;
    _Alignas(64)
        atomic_uint replies_wait;     /* for so many partitions and memsys_show_replies */
    _Alignas(64) unsigned round_left; /* windows of the round */
    bool apart;           /* what follows the window must not go on beside others */
    atomic_bool faulty;   /* an SM has a fault */
    uint64_t reach;       /* the window ends before, on account of the memory system */
    enum outcome outcome; /* of what followed the window before */
    uint64_t calls;       /* of tell */
    struct diag_sink *diag;
};

/* -- life -- */

static bool
build_memory(struct timing_gpu *g, struct diag_sink *diag)
{
    g->mem = memsys_new(g->m, diag);
    if (!g->mem)
        return false;
    g->ldst = ARENA_ARRAY(&g->arena, struct ldst *, g->m->sm.count);
    g->stats = ARENA_ARRAY(&g->arena, struct own_stats, g->m->sm.count);
    for (unsigned i = 0; i < g->m->sm.count; i++)
        g->ldst[i] = ldst_new(&g->arena, g->m, i, &g->stats[i].s);
    return true;
}

static void
drop_memory(struct timing_gpu *g)
{
    if (g->mem)
        memsys_free(g->mem);
    g->mem = NULL;
    arena_free(&g->arena);
}

#define UNKNOWN_POLICY(diag, path, value, at)                                            \
    do {                                                                                 \
        struct strbuf names_ = {0};                                                      \
        for (size_t i_ = 0; at(i_); i_++)                                                \
            strbuf_printf(&names_, "%s%s", i_ ? ", " : "", at(i_)->name);                \
        struct diag *d_ = diag_add(diag, DIAG_ERROR, NULL,                               \
                                   "%s: there is no policy '%s'", path, value);          \
        diag_hint(diag, d_, "there are: %s", names_.s);                                  \
        strbuf_free(&names_);                                                            \
    } while (0)

static bool
find_policies(struct timing_gpu *g, struct diag_sink *diag)
{
    const struct machine *m = g->m;
    g->sched = sched_find(m->sm.scheduler);
    g->residency = residency_find(m->residency.policy);
    g->order = cta_order_find(m->cta.order);
    if (!g->sched)
        UNKNOWN_POLICY(diag, "sm.scheduler", m->sm.scheduler, sched_at);
    if (!g->residency)
        UNKNOWN_POLICY(diag, "residency.policy", m->residency.policy, residency_at);
    if (!g->order)
        UNKNOWN_POLICY(diag, "cta.order", m->cta.order, cta_order_at);
    return g->sched && g->residency && g->order;
}

/* Every class of instruction must find its way through latch and collector. */
static bool
check_paths(const struct machine *m, struct diag_sink *diag)
{
    const struct {
        const char *name;
        uint32_t slots, units, ports, needed;
    } c[] = {
        {"sp", m->unit.slots_sp, m->collector.units_sp, m->collector.ports_sp, 1},
        {"sfu", m->unit.slots_sfu, m->collector.units_sfu, m->collector.ports_sfu, 1},
        {"dp", m->unit.slots_dp, m->collector.units_dp, m->collector.ports_dp,
         m->unit.dp},
        {"tensor", m->unit.slots_tensor, m->collector.units_tensor,
         m->collector.ports_tensor, m->unit.tensor},
        {"integer", m->unit.slots_integer, m->collector.units_integer,
         m->collector.ports_integer, m->unit.integer},
        {"mem", m->unit.slots_mem, m->collector.units_mem, m->collector.ports_mem, 1},
    };
    bool general = m->collector.units_general && m->collector.ports_general, ok = true;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        if (!c[i].needed)
            continue;
        if (!c[i].slots)
            ok = diag_error(diag, "unit.slots_%s is 0: such instructions cannot issue",
                            c[i].name);
        else if (!general && !(c[i].units && c[i].ports))
            ok = diag_error(diag,
                            "instructions of class %s have no operand collector: set "
                            "collector.units_%s and ports_%s, or units_general and "
                            "ports_general",
                            c[i].name, c[i].name, c[i].name);
    }
    return ok;
}

struct timing_gpu *
timing_gpu_new(const struct machine *m, const struct timing_options *o,
               struct diag_sink *diag)
{
    struct timing_gpu *g = xcalloc(1, sizeof *g);
    g->arena.huge = g->launch.huge = true;
    g->m = machine_clone(m);
    if (o)
        g->opt = *o;
    if (g->opt.trace_limit)
        g->trace =
            trace_new(g->m, g->opt.trace_from, g->opt.trace_to, g->opt.trace_limit);
    bool ok = find_policies(g, diag) && check_paths(g->m, diag) && build_memory(g, diag);
    if (ok && g->opt.threads > 1) {
        g->pool = pool_new(g->opt.threads);
        ok = g->pool || diag_error(diag, "the host gives no %u threads; ask for fewer",
                                   g->opt.threads);
    }
    if (ok)
        return g;
    timing_gpu_free(g);
    return NULL;
}

void
timing_gpu_free(struct timing_gpu *g)
{
    if (!g)
        return;
    pool_free(g->pool);
    drop_memory(g);
    arena_free(&g->launch);
    trace_free(g->trace);
    machine_free(g->m);
    free(g);
}

void
timing_host_copy(struct timing_gpu *g, uint64_t addr, uint64_t bytes)
{
    if (g->m->partition.prefill)
        memsys_prefill(g->mem, addr, bytes);
}

const struct trace *
timing_trace(const struct timing_gpu *g)
{
    return g->trace;
}

const struct stat_sm *
timing_sm_stats(const struct timing_gpu *g, unsigned i)
{
    return &g->stats[i].s;
}

/* -- a launch's program -- */

static enum sm_class
class_of(const struct machine *m, const struct exec_static *st)
{
    switch (st->unit) {
    case PTX_UNIT_SFU:
        return CLS_SFU;
    case PTX_UNIT_DP:
        return m->unit.dp ? CLS_DP : CLS_SFU;
    case PTX_UNIT_TENSOR: /* there is one: check_units */
        return CLS_TENSOR;
    case PTX_UNIT_MEM:
        return CLS_MEM;
    case PTX_UNIT_ALU:
        return m->unit.integer && st->latency <= PTX_LAT_INT_DIV ? CLS_INT : CLS_SP;
    default:
        return CLS_SP;
    }
}

/* latency.tensor is that of m16n8k16 with 16-bit factors; more work is so many of these
 * one behind the other, less work keeps the pipeline for a part of the interval. */
static void
scale_tensor(struct sm_inst *in, unsigned work)
{
    unsigned interval = (in->interval * work + 15) / 16;
    if (interval > in->interval)
        in->latency = (uint16_t)(in->latency + interval - in->interval);
    in->interval = (uint16_t)interval;
}

static void
build_program(struct run *r)
{
    const struct machine *m = r->g->m;
    const struct exec_prog *p = r->grid->prog;
    const struct residency_policy *res = r->g->residency;
    struct sm_inst *inst = ARENA_ARRAY(r->arena, struct sm_inst, p->ninst + 1);
    size_t nreg = 0;
    for (uint32_t i = 0; i < p->ninst; i++)
        nreg += (size_t)p->st[i].nsrc + p->st[i].ndst;
    uint16_t *reg = ARENA_ARRAY(r->arena, uint16_t, nreg + 1);
    for (uint32_t i = 0; i < p->ninst; i++) {
        const struct exec_static *st = &p->st[i];
        struct sm_inst *in = &inst[i];
        in->nsrc = st->nsrc;
        in->ndst = st->ndst;
        in->reg = reg;
        memcpy(reg, st->src, sizeof *reg * st->nsrc);
        memcpy(reg + st->nsrc, st->dst, sizeof *reg * st->ndst);
        reg += st->nsrc + st->ndst;
        in->first_operand = st->guarded;
        in->cls = (uint8_t)class_of(m, st);
        in->latency = (uint16_t)m->latency[st->latency].cycles;
        in->interval = (uint16_t)m->latency[st->latency].interval;
        if (in->cls == CLS_TENSOR)
            scale_tensor(in, st->work);
        in->barrier = st->is_barrier;
        in->fence = st->is_fence;
        in->nrows = st->nrows;
        for (unsigned k = 0; k < EXEC_ROWS; k++)
            in->rows[k] = st->rows[k < st->nrows ? k : 0];
        in->copy = st->copy;
        in->copy_n = st->copy_n;
        in->mem = in->cls == CLS_MEM;
        in->concern = res->may_issue && res->concerns && res->concerns(st, &r->plan);
    }
    r->prog = (struct sm_program){.grid = r->grid,
                                  .inst = inst,
                                  .ninst = p->ninst,
                                  .nregs = p->nregs,
                                  .warps_per_cta = r->grid->warps_per_cta,
                                  .code_address = p->code_address};
}

/* What the machine has no unit for is refused. */
static bool
check_units(const struct run *r, struct diag_sink *diag)
{
    const struct exec_prog *p = r->grid->prog;
    const struct ptx_module *m = p->entry->module;
    for (uint32_t i = 0; i < p->ninst && !r->g->m->unit.tensor; i++)
        if (p->st[i].unit == PTX_UNIT_TENSOR) {
            struct diag_loc loc = {m->file, m->text, p->st[i].line, p->st[i].col, 0};
            struct diag *d =
                diag_add(diag, DIAG_ERROR, &loc,
                         "kernel '%s': this machine has no tensor cores to run %s on",
                         p->entry->name, ptx_ops[p->st[i].op].mnemonic);
            diag_hint(diag, d,
                      "unit.tensor is 0; take a machine of compute capability 7.0 "
                      "or later, or run with --functional");
            return false;
        }
    return true;
}

static bool
plan_launch(struct run *r, const struct occ_kernel *k, struct diag_sink *diag)
{
    const struct machine *m = r->g->m;
    struct occ_kernel kernel = *k;
    if (m->residency.regs_per_thread)
        kernel.registers = m->residency.regs_per_thread;
    if (!r->g->residency->plan(m, &kernel, &r->plan, diag))
        return false;
    const struct ptx_func *f = r->grid->prog->entry;
    if (r->g->residency->physical && !f->registers &&
        r->plan.blocks != r->plan.baseline) {
        struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                                  "%s needs physical registers, kernel '%s' has virtual "
                                  "ones",
                                  r->g->residency->name, f->name);
        diag_hint(diag, d,
                  "run it with compiler.registers=allocated (--registers "
                  "allocated)");
        return false;
    }
    unsigned most =
        64 * m->sm.schedulers < SM_MAX_WARPS ? 64 * m->sm.schedulers : SM_MAX_WARPS;
    if (r->plan.blocks * r->grid->warps_per_cta > most)
        return diag_error(
            diag,
            "%u resident blocks of %u warps are more than the %u warps that %u "
            "schedulers can hold; lower sm.max_threads or raise sm.schedulers",
            r->plan.blocks, r->grid->warps_per_cta, most, m->sm.schedulers);
    return true;
}

/* -- a window: nodes and partitions -- */

/* False: there is no room for a packet. */
static bool
send_packets(struct memsys *mem, struct sm *s, uint64_t now)
{
    struct packet *p;
    while ((p = ldst_out_front(s->ldst))) {
        if (!memsys_inject(mem, p))
            return false;
        ldst_out_pop(s->ldst);
        if (s->wake > now + 1)
            s->wake = now + 1; /* it may have waited for the room */
    }
    return true;
}

/* The reply that the SM's port k shows; true: the SM has something to do with it. */
static bool
receive(struct memsys *mem, unsigned k, struct sm *s, uint64_t now)
{
    if (!ldst_can_receive(s->ldst))
        return false;
    bool busy = ldst_receive(s->ldst, memsys_reply(mem, k), now);
    memsys_reply_over(mem, k);
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
        atomic_store_explicit(&r->faulty, true, memory_order_relaxed);
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
    struct node *n = &r->node[k];
    const unsigned reply = memsys_port(g->mem, k, now);
    for (struct sm *s = n->sm, *end = end_of(n, one); s < end; s++) {
        if (s->id == reply && receive(g->mem, k, s, now))
            s->wake = now;
        if ((s->wake <= now || g->opt.no_skip) && !node_steps(r, n, s, now))
            return false;
    }
    return true;
}

/* Packets of cycle `now` go out, of SM s and those behind it; false: there may be room
 * for one. */
ALWAYS_INLINE bool
node_sends(struct run *r, unsigned k, struct sm *s, uint64_t now, bool one)
{
    struct memsys *mem = r->g->mem;
    for (struct sm *end = end_of(&r->node[k], one); s < end; s++) {
        const struct packet *p = ldst_out_front(s->ldst);
        if (p && !memsys_still_full(mem, k, p) && !send_packets(mem, s, now) &&
            memsys_unknown(mem, k)) {
            r->node[k].sending = s;
            return false;
        }
    }
    return true;
}

/* Whether an SM of the node has room for a block that has not started. */
static bool
wants_block(const struct run *r, const struct node *n, uint64_t now)
{
    if (!r->dispatch.left || now < r->first_dispatch)
        return false;
    for (const struct sm *s = n->sm; s < n->end; s++)
        if (sm_has_room(s))
            return true;
    return false;
}

/* First cycle after `now`, which is done, with something to do. */
ALWAYS_INLINE uint64_t
node_next(const struct run *r, unsigned k, uint64_t now, bool one)
{
    uint64_t next = memsys_port_sleep(r->g->mem, k);
    for (const struct sm *s = r->node[k].sm, *end = end_of(&r->node[k], one); s < end;
         s++)
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
    struct node *n = &r->node[k];
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
        if (where != STOP_BLOCK && now + 1 < r->to && wants_block(r, n, now)) {
            node_stops(n, STOP_BLOCK, now);
            return;
        }
        n->next = node_next(r, k, now, one);
        uint64_t next = all ? now + 1 : n->next;
        if (next >= r->to)
            return;
        if (next > now + 1 && memsys_may_have_room(r->g->mem, k, next - 1)) {
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

/* First part of a window: as far as the node gets by itself. */
static void
run_node(struct run *r, unsigned k)
{
    struct node *n = &r->node[k];
    uint64_t now = r->next[k];
    if (now < r->from || r->g->opt.no_skip)
        now = r->from;
    n->last = r->from - 1;
    if (now > r->from && memsys_may_have_room(r->g->mem, k, now - 1)) {
        n->stop = STOP_CYCLE;
        n->at = n->next = now;
        return;
    }
    node_goes_on(r, k, STOP_CYCLE, now);
}

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
run_replies(struct run *r)
{
    memsys_replies(r->g->mem);
    atomic_store_explicit(&r->replied, true, memory_order_release);
    atomic_fetch_sub_explicit(&r->left, 1, memory_order_release);
}

/* One less for which the replies wait: true: it was the last. */
static bool
replies_wait_less(struct run *r)
{
    return atomic_fetch_sub_explicit(&r->replies_wait, 1, memory_order_acq_rel) == 1;
}

static void
run_part(struct run *r, unsigned k)
{
    memsys_part(r->g->mem, k);
    /* Whoever does the last goes on with what they reply. */
    if (replies_wait_less(r))
        run_replies(r);
}

/* A block of the node, which has not stopped, is sure to go on after the window, whatever
 * follows of it. */
static bool
node_has_block(const struct run *r, unsigned k)
{
    const struct node *n = &r->node[k];
    if (memsys_refused(r->g->mem, k))
        return false;
    for (const struct sm *s = n->sm; s < n->end; s++)
        if (s->blocks)
            return true;
    return false;
}

static enum far
far_of(const struct run *r)
{
    return atomic_load_explicit(&r->far, memory_order_acquire) % FAR_STATES;
}

/* Number of the window, to tell it from others. */
static unsigned
window_of(const struct run *r)
{
    return atomic_load_explicit(&r->far, memory_order_relaxed) / FAR_STATES;
}

static void
set_far(struct run *r, unsigned window, enum far far)
{
    atomic_store_explicit(&r->far, window * FAR_STATES + far, memory_order_release);
}

static void
run_node_task(struct run *r, unsigned k, struct queue *own)
{
    const unsigned nth = window_of(r);
    atomic_store_explicit(&own->in_node, true, memory_order_relaxed);
    run_node(r, k);
    atomic_store_explicit(&own->in_node, false, memory_order_relaxed);
    if (atomic_load_explicit(&r->goes_on, memory_order_relaxed) != nth &&
        r->node[k].stop == STOP_NO && node_has_block(r, k))
        atomic_store_explicit(&r->goes_on, nth, memory_order_relaxed);
    atomic_fetch_sub_explicit(&r->left, 1, memory_order_release);
}

/* A task of another thread, or NO_TASK. */
static unsigned
take_others(struct run *r, unsigned thread, size_t kind, unsigned alone)
{
    for (unsigned i = 1; i < r->threads; i++) {
        struct queue *q = &r->queue[(thread + i) % r->threads];
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
    run_part(r, k);
    return true;
}

static bool
do_node(struct run *r, unsigned k, unsigned thread)
{
    if (k == NO_TASK)
        return false;
    run_node_task(r, k, &r->queue[thread]);
    return true;
}

static bool
do_replies(struct run *r)
{
    if (!atomic_load_explicit(&r->replies_free, memory_order_relaxed) ||
        !atomic_exchange_explicit(&r->replies_free, false, memory_order_acq_rel))
        return false;
    run_replies(r);
    return true;
}

/* Partitions are in the window after the nodes' already: then nodes go first, and the
 * first thread, with what follows them, does nothing else. */
static bool
parts_ahead(const struct run *r)
{
    return far_of(r) >= FAR_OPENS;
}

/* A task of the thread's own; false: there is none. */
static bool
do_own(struct run *r, unsigned thread)
{
    struct queue *q = &r->queue[thread];
    const bool ahead = parts_ahead(r);
    return (!ahead && do_part(r, take(&q->part, true, 0))) ||
           do_node(r, take(&q->node, true, 0), thread) ||
           (ahead && thread && do_part(r, take(&q->part, true, 0)));
}

/* A task of another's, to which so many last are left. */
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
run_queues(void *user, unsigned thread)
{
    struct run *r = user;
    atomic_store_explicit(&r->queue[thread].came, true, memory_order_relaxed);
    while (do_own(r, thread) || do_replies(r) || do_others(r, thread, LEFT_ALONE, 0))
        ;
}

/* Changes stretches that are too long or too short. */
static void
balance(struct run *r)
{
    for (struct queue *q = r->queue; q + 1 < r->queue + r->threads; q++) {
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
            q->end -= q->end > (q == r->queue ? 0 : q[-1].end);
            q->lean = 0;
        }
    }
    for (struct queue *q = r->queue; q < r->queue + r->threads; q++)
        atomic_store_explicit(&q->helped, 0, memory_order_relaxed);
}

/* Nobody is in a round of the pool. */
static void
nobody_came(struct run *r)
{
    for (struct queue *q = r->queue; q < r->queue + r->threads; q++)
        atomic_store_explicit(&q->came, false, memory_order_relaxed);
}

/* Partitions that have to do in what is open for them: tasks. Their number. */
static unsigned
list_parts(struct run *r)
{
    unsigned k = r->nodes, n = 0;
    for (struct queue *q = r->queue; q < r->queue + r->threads; q++) {
        q->part.n = 0;
        for (; k < q->end; k++)
            if (memsys_part_due(r->g->mem, k - r->nodes))
                q->part.task[q->part.n++] = k - r->nodes;
        n += q->part.n;
    }
    return n;
}

/* The same of the nodes in the window. The thread behind takes its own from the last on:
 * so those that two threads take from each other lie where their stretches meet. */
static unsigned
list_nodes(struct run *r)
{
    const bool all = r->g->opt.no_skip;
    unsigned k = 0, n = 0;
    memset(r->ran, 0, BITSET_WORDS(r->nodes) * sizeof *r->ran);
    for (struct queue *q = r->queue; q < r->queue + r->threads; q++) {
        unsigned *v = q->node.task, i = 0;
        for (; k < q->end && k < r->nodes; k++)
            if (all || r->next[k] < r->to) {
                v[i++] = k;
                bitset_add(r->ran, k);
            }
        q->node.n = i;
        n += i;
        for (unsigned j = 0; q + 1 == r->queue + r->threads && j + 1 < i; j++, i--) {
            unsigned last = v[i - 1];
            v[i - 1] = v[j];
            v[j] = last;
        }
    }
    return n;
}

static void
offer_parts(struct run *r, unsigned parts)
{
    atomic_store_explicit(&r->replied, false, memory_order_relaxed);
    atomic_store_explicit(&r->replies_wait, parts + 1, memory_order_relaxed);
    for (unsigned i = 0; i < r->threads; i++)
        offer(&r->queue[i].part);
}

static void
offer_nodes(struct run *r, unsigned nodes)
{
    atomic_fetch_add_explicit(&r->left, nodes, memory_order_relaxed);
    for (unsigned i = 0; i < r->threads; i++)
        offer(&r->queue[i].node);
}

/* Ports are ready for replies: with no partition to wait for, anybody may take them. */
static void
offer_replies(struct run *r)
{
    if (replies_wait_less(r))
        atomic_store_explicit(&r->replies_free, true, memory_order_release);
}

/* Nodes and partitions go through what is open for them. */
static void
run_window(struct run *r)
{
    struct timing_gpu *g = r->g;
    const unsigned parts = list_parts(r), nodes = list_nodes(r);
    set_far(r, window_of(r), FAR_LAST);
    atomic_store_explicit(&r->left, 1, memory_order_relaxed);
    if (r->threads > 1 && parts + nodes > 2) {
        nobody_came(r);
        offer_parts(r, parts);
        offer_replies(r);
        offer_nodes(r, nodes);
        pool_run(g->pool, run_queues, r);
        balance(r);
    } else {
        for (struct queue *q = r->queue; q < r->queue + r->threads; q++)
            for (unsigned i = 0; i < q->part.n; i++)
                memsys_part(g->mem, q->part.task[i]);
        memsys_replies(g->mem);
        for (struct queue *q = r->queue; q < r->queue + r->threads; q++)
            for (unsigned i = 0; i < q->node.n; i++)
                run_node(r, q->node.task[i]);
    }
    memsys_parts_done(g->mem);
}

/* -- a window: what all have in common -- */

/* Calls for every node k of set s, in order. */
#define FOR_NODES(k, r, s)                                                               \
    for (unsigned v_ = 0; v_ < BITSET_WORDS((r)->nodes); v_++)                           \
        for (uint64_t x_ = (s)[v_]; x_; x_ &= x_ - 1)                                    \
            for (unsigned k = v_ * 64 + (unsigned)bit_lowest(x_), once_ = 1; once_;      \
                 once_ = 0)

static void
go_on_from(struct run *r, unsigned k, enum stop where, uint64_t now)
{
    node_goes_on(r, k, where, now);
    if (r->node[k].stop != STOP_NO)
        bitset_add(r->stopped, k);
    else
        bitset_del(r->stopped, k);
}

/* A node without something to do has a packet for which there may be room after cycle
 * `now`. */
static void
room_came(struct run *r, unsigned k, uint64_t now)
{
    struct node *n = &r->node[k];
    if (!bitset_has(r->ran, k)) {
        bitset_add(r->ran, k);
        n->stop = STOP_NO;
        n->next = r->next[k];
        n->last = r->from - 1;
    }
    if (n->fault_at != NEVER || n->stop == STOP_SEND || n->stop == STOP_BLOCK)
        return; /* it will try again in a later cycle, and could not before */
    if (now > n->last) {
        memsys_port(r->g->mem, k, now);
        n->sending = n->sm;
        go_on_from(r, k, STOP_SEND, now);
    } else if (n->last + 1 < r->to && n->next > n->last + 1) {
        n->stop = STOP_CYCLE;
        n->at = n->last + 1;
        bitset_add(r->stopped, k);
    }
}

/* Blocks for the nodes that stopped after cycle `now` to get some. */
static void
give_blocks(struct run *r, uint64_t now)
{
    bool any = false;
    FOR_NODES(k, r, r->stopped)
    {
        const struct node *n = &r->node[k];
        if (n->stop != STOP_BLOCK || n->at != now)
            continue;
        any = true;
        for (const struct sm *s = n->sm; s < n->end; s++)
            bitset_add(r->takers, s->id);
    }
    if (!any)
        return;
    dispatch_cycle(&r->dispatch, r->sm, r->takers, now);
    memset(r->takers, 0, BITSET_WORDS(r->g->m->sm.count) * sizeof *r->takers);
    FOR_NODES(k, r, r->stopped)
    if (r->node[k].stop == STOP_BLOCK && r->node[k].at == now)
        go_on_from(r, k, STOP_BLOCK, now);
}

/* Second part of a window: the crossbars, cycle by cycle, and the nodes that stopped. */
static void
follow(struct run *r)
{
    memset(r->stopped, 0, BITSET_WORDS(r->nodes) * sizeof *r->stopped);
    bool any = false;
    FOR_NODES(k, r, r->ran)
    if (r->node[k].stop != STOP_NO) {
        bitset_add(r->stopped, k);
        any = true;
    }
    for (uint64_t now = r->from; now < r->to; now++) {
        const uint64_t *woken = memsys_cross(r->g->mem, now);
        FOR_NODES(k, r, woken)
        {
            room_came(r, k, now);
            any = true;
        }
        if (!any)
            continue;
        FOR_NODES(k, r, r->stopped)
        if (r->node[k].stop == STOP_SEND && r->node[k].at == now)
            go_on_from(r, k, STOP_SEND, now);
        give_blocks(r, now);
        FOR_NODES(k, r, r->stopped)
        if (r->node[k].stop == STOP_CYCLE && r->node[k].at == now + 1)
            go_on_from(r, k, STOP_CYCLE, now + 1);
    }
    memsys_close(r->g->mem);
}

/* Accesses of the window take effect, up to a fault. */
static void
apply_logs(struct run *r, const struct node *fault)
{
    for (uint64_t c = r->from; r->nwriters && c < r->to; c++)
        for (unsigned j = 0; j < r->nwriters; j++) {
            struct sm *s = r->writers[j];
            if (s->log->n)
                exec_log_apply(s->log, c);
            if (fault && fault->fault_at == c && fault->faulty == s)
                return;
        }
}

/* What the nodes did in the window comes together. Returns the first fault in the order
 * of cycle and SM; NULL: none. */
static const struct node *
end_window(struct run *r)
{
    struct timing_gpu *g = r->g;
    const struct node *fault = NULL;
    r->nwriters = 0;
    FOR_NODES(k, r, r->ran)
    {
        struct node *n = &r->node[k];
        r->next[k] = n->next;
        if (n->done) {
            r->done += n->done;
            n->done = 0;
            if (n->ended > r->end)
                r->end = n->ended;
        }
        if (n->fault_at != NEVER && (!fault || n->fault_at < fault->fault_at))
            fault = n;
        for (struct sm *s = n->sm; s < n->end; s++)
            if (s->log && (s->log->n || s->fault))
                r->writers[r->nwriters++] = s;
    }
    const uint64_t *noticed = memsys_noticed(g->mem);
    FOR_NODES(k, r, noticed)
    {
        uint64_t t = memsys_port_next(g->mem, k);
        if (t < r->next[k])
            r->next[k] = t;
    }
    apply_logs(r, fault);
    return fault;
}

/* Whether an SM has room for a block that has not started. */
static bool
room(const struct run *r)
{
    uint64_t resident = r->blocks - r->dispatch.left - r->done;
    return r->dispatch.left && resident < (uint64_t)r->plan.blocks * r->g->m->sm.count;
}

/* Sends blocks to SMs at the end of the window. */
static void
start_blocks(struct run *r, uint64_t now)
{
    uint64_t left = r->dispatch.left;
    if (now < r->first_dispatch || !room(r))
        return;
    dispatch_cycle(&r->dispatch, r->sm, NULL, now);
    for (unsigned i = 0; r->dispatch.left != left && i < r->g->m->sm.count; i++) {
        unsigned k = i / r->g->m->sm.per_cluster;
        if (r->sm[i].wake < r->next[k])
            r->next[k] = r->sm[i].wake;
    }
}

/* Before this cycle a limit to instructions cannot be passed by more than a cycle's. */
static uint64_t
limit_end(const struct run *r, uint64_t from)
{
    const struct machine *m = r->g->m;
    uint64_t limit = r->g->opt.max_instructions;
    uint64_t most = (uint64_t)m->sm.count * m->sm.schedulers * m->sm.issue_width;
    return limit ? from + later((limit - r->issued) / most, 1) : NEVER;
}

/* Where a window ends at the latest. */
static uint64_t
window_most(const struct run *r, uint64_t from)
{
    uint64_t to = from / r->window * r->window + r->window;
    return sooner(to, r->reach);
}

static uint64_t
window_end(const struct run *r, uint64_t from)
{
    uint64_t to = sooner(window_most(r, from), limit_end(r, from));
    uint64_t limit = r->g->opt.max_cycles;
    if (room(r) && from >= r->first_dispatch)
        to = from + 1;
    if (from <= r->first_dispatch && to > r->first_dispatch + 1)
        to = r->first_dispatch + 1;
    if (limit && to > r->start + limit + 1)
        to = r->start + limit + 1;
    if (r->plan.period && to > r->tick)
        to = r->tick;
    if (to > r->next_sample && from <= r->next_sample)
        to = r->next_sample + 1;
    if (to > r->next_channels && from <= r->next_channels)
        to = r->next_channels + 1;
    return to;
}

/* First cycle after those of the longest window in which `now` lies. */
static uint64_t
longest_end(const struct timing_gpu *g, uint64_t now)
{
    uint64_t w = memsys_window(g->mem);
    return now / w * w + w;
}

/* How far the memory side goes in a window from `from` to `end`. All is in the same cycle
 * where counters are looked at, and if windows of a cycle are asked for. */
static uint64_t
memory_end(const struct run *r, uint64_t from, uint64_t end)
{
    if (!memsys_ahead(r->g->mem) || r->g->opt.window == 1)
        return end;
    uint64_t to = longest_end(r->g, longest_end(r->g, from));
    if (to > r->next_sample && from <= r->next_sample)
        to = r->next_sample + 1;
    if (to > r->next_channels && from <= r->next_channels)
        to = r->next_channels + 1;
    return to;
}

/* First cycle from r->to on in which anything happens, or NEVER. */
static uint64_t
next_cycle(const struct run *r)
{
    uint64_t next = NEVER;
    if (r->to <= r->first_dispatch)
        next = r->first_dispatch;
    for (unsigned i = 0; i < r->nodes && next > r->to; i++)
        next = r->next[i] < next ? r->next[i] : next;
    for (unsigned i = 0; i < r->parts && next > r->to; i++) {
        uint64_t t = memsys_part_next(r->g->mem, i);
        next = t < next ? t : next;
    }
    if (next <= r->to)
        return r->to;
    uint64_t t = memsys_cross_next(r->g->mem);
    return t < next ? t : next;
}

/* -- how it ends -- */

static void
explain(const struct run *r, struct strbuf *out)
{
    unsigned said = 0;
    for (unsigned i = 0; i < r->g->m->sm.count; i++) {
        if (!r->sm[i].blocks && ldst_idle(r->g->ldst[i]))
            continue;
        if (said++ == 4) {
            strbuf_addz(out, "  ... and further SMs\n");
            break;
        }
        sm_explain(&r->sm[i], out);
    }
    if (!memsys_idle(r->g->mem)) {
        strbuf_addz(out, "  memory system: ");
        memsys_explain(r->g->mem, out);
        strbuf_addz(out, "\n");
    }
    if (r->dispatch.left)
        strbuf_printf(out, "  %llu blocks have not started\n",
                      (unsigned long long)r->dispatch.left);
}

static bool
stuck(const struct run *r)
{
    struct strbuf b = {0};
    explain(r, &b);
    while (b.n && b.s[b.n - 1] == '\n')
        b.s[--b.n] = 0;
    diag_error(r->diag,
               "kernel '%s' is stuck at cycle %llu: %llu of %llu blocks have ended and "
               "nothing can ever move again. Who waits for what:\n%s",
               r->grid->prog->entry->name, (unsigned long long)(r->g->now - r->start),
               (unsigned long long)r->done, (unsigned long long)r->blocks,
               b.s ? b.s : "");
    strbuf_free(&b);
    r->grid->failure = ALLOT_STUCK;
    return false;
}

/* False: the launch is over. */
static bool
within_limits(struct run *r)
{
    struct timing_gpu *g = r->g;
    struct diag_sink *diag = r->diag;
    uint64_t cycles = g->now - r->start;
    const char *name = r->grid->prog->entry->name;
    if (g->opt.max_cycles && cycles >= g->opt.max_cycles) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL,
                     "kernel '%s' stopped after %llu cycles, the limit; %llu of "
                     "%llu blocks had ended",
                     name, (unsigned long long)cycles, (unsigned long long)r->done,
                     (unsigned long long)r->blocks);
        diag_hint(diag, d, "raise the limit if the kernel is only long");
        return false;
    }
    r->issued = 0;
    for (unsigned i = 0; g->opt.max_instructions && i < g->m->sm.count; i++)
        r->issued += g->stats[i].s.warp_instructions;
    if (g->opt.max_instructions && r->issued >= g->opt.max_instructions) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL,
                     "kernel '%s' stopped after %llu warp instructions, the "
                     "limit; %llu of %llu blocks had ended",
                     name, (unsigned long long)r->issued, (unsigned long long)r->done,
                     (unsigned long long)r->blocks);
        diag_hint(diag, d, "raise the limit if the kernel is only long");
        return false;
    }
    return true;
}

static bool
go_on(struct run *r)
{
    if (within_limits(r))
        return true;
    r->grid->failure = ALLOT_STOPPED;
    return false;
}

enum { TELL_EVERY = 64 /* windows, or so, between looks at the time */ };

/* Progress, if it is time to tell it, every so many calls at most; false: the launch is
 * over. */
static bool
tell(struct run *r, unsigned every)
{
    struct timing_gpu *g = r->g;
    if (!g->opt.progress || ++r->calls % every)
        return true;
    double now = clock_seconds(CLOCK_MONOTONIC);
    if (now - r->shown < 0.1)
        return true;
    r->shown = now;
    const uint64_t cycles = g->now - r->start;
    uint64_t inst = 0;
    for (unsigned i = 0; i < g->m->sm.count; i++)
        inst += g->stats[i].s.thread_instructions;
    if (g->opt.progress(g->opt.user, cycles, inst, r->done, r->blocks))
        return true;
    diag_error(r->diag, "kernel '%s' interrupted after %llu cycles",
               r->grid->prog->entry->name, (unsigned long long)cycles);
    r->grid->failure = ALLOT_STOPPED;
    return false;
}

/* The residency policy's period has passed: windows end where it does. */
static void
tick(struct run *r, uint64_t now)
{
    sm_tick(r->sm, r->g->m->sm.count, now);
    r->tick = now + r->plan.period;
    for (unsigned i = 0; i < r->g->m->sm.count; i++) {
        unsigned k = i / r->g->m->sm.per_cluster;
        if (r->sm[i].wake < r->next[k])
            r->next[k] = r->sm[i].wake;
    }
}

/* Counters of the launch up to the end of cycle `now`, at which the memory system stands
 * or after which nothing has happened. */
static void
totals(struct run *r, uint64_t now, struct launch_stats *out)
{
    struct timing_gpu *g = r->g;
    struct stat_gpu s = {.cycles = now - r->start,
                         .blocks = r->blocks,
                         .threads = r->blocks * exec_block_threads(r->grid),
                         .resident_blocks = r->plan.blocks,
                         .baseline_blocks = r->plan.baseline,
                         .shared_pairs = r->plan.pairs,
                         .thread_registers = r->kernel->registers};
    s.sm_cycles = s.cycles * g->m->sm.count;
    for (unsigned i = 0; i < g->m->sm.count; i++)
        sm_catch_up(&r->sm[i], now);
    memset(out, 0, sizeof *out);
    stats_add_gpu(out, &s);
    for (unsigned i = 0; i < g->m->sm.count; i++)
        stats_add_sm(out, &g->stats[i].s);
    memsys_stats(g->mem, out);
}

/* Samples that fall before cycle `now`, the next to be stepped. */
static void
take_samples(struct run *r, uint64_t now)
{
    for (; r->next_sample < now; r->next_sample += r->g->opt.sample_cycles) {
        struct launch_stats s;
        if (r->next_sample > r->g->now) /* slept through: nothing happens in it */
            memsys_step(r->g->mem, r->next_sample);
        totals(r, r->next_sample, &s);
        r->g->opt.sample(r->g->opt.user, r->next_sample - r->start, &s);
    }
}

enum { CHANNELS_EVERY = 64 /* cycles of a launch between readings of channels */ };

/* A launch may end after cycle `now`, and the next start: where longest windows end,
 * whatever the windows are. */
static bool
between_launches(const struct timing_gpu *g, uint64_t now)
{
    unsigned w = memsys_window(g->mem);
    return (now + 1) % (w < 4 ? 4 : w) == 0;
}

/* The last cycle of a launch of which `now` is the first without blocks, as the memory
 * system counts it: where whatever is ahead then has come. */
static uint64_t
last_cycle(const struct timing_gpu *g, uint64_t now)
{
    if (memsys_ahead(g->mem))
        return longest_end(g, longest_end(g, now)) - 1;
    while (!between_launches(g, now))
        now++;
    return now;
}

/* The window [from, to): its nodes and partitions, these up to cycle `far`. */
static void
do_window(struct run *r, uint64_t from, uint64_t to, uint64_t far)
{
    r->from = from;
    r->to = to;
    memsys_open(r->g->mem, from, to);
    memsys_open_far(r->g->mem, from, far, r->threads > 1);
    run_window(r);
}

/* From the last block's end to the end of cycle `last`. */
static void
follow_alone(struct run *r, uint64_t last)
{
    struct timing_gpu *g = r->g;
    while (g->now < last) {
        uint64_t from = g->now + 1;
        r->reach = memsys_reach(g->mem, from);
        uint64_t to = sooner(window_most(r, from), last + 1);
        do_window(r, from, to, to);
        follow(r);
        g->now = r->to - 1;
        end_window(r);
    }
}

/* What follows the nodes of a window. */
static enum outcome
after_window(struct run *r)
{
    struct timing_gpu *g = r->g;
    follow(r);
    g->now = r->to - 1;
    const struct node *fault = end_window(r);
    if (fault) {
        diag_append(r->diag, &fault->faulty->diag);
        r->grid->failure = fault->faulty->failure;
        return FAILED;
    }
    if (g->trace)
        trace_bound(g->trace);
    if (r->done == r->blocks)
        return OVER;
    start_blocks(r, g->now);
    return GO_ON;
}

/* -- windows that overlap --
 *
 * Partitions, replies, nodes, and what follows a window are done in this order for each
 * window, but beside each other for windows one behind the other: partitions of the next
 * as soon as the replies of this one are done, and what follows this one beside them. */

/* A block goes on after the window, whatever follows of it. */
static bool
block_goes_on(const struct run *r)
{
    for (unsigned k = 0; k < r->nodes; k++)
        if ((!bitset_has(r->ran, k) || r->node[k].stop == STOP_NO) &&
            node_has_block(r, k))
            return true;
    return false;
}

/* Nothing that comes between windows needs the partitions where they are: no counters are
 * looked at. */
static bool
may_go_on(const struct run *r)
{
    const struct timing_gpu *g = r->g;
    return r->threads > 1 && !g->opt.no_skip && !g->trace && r->next_sample >= r->to &&
           !(r->plan.period && r->to >= r->tick) &&
           !atomic_load_explicit(&r->faulty, memory_order_relaxed);
}

/* Partitions go on to their next window. */
static void
parts_go_on(struct run *r)
{
    memsys_parts_go_on(r->g->mem, r->to, memory_end(r, r->to, r->to));
    offer_parts(r, list_parts(r));
}

/* Whether the replies are done, and it is known that the launch goes on after this
 * window. */
static bool
early(const struct run *r)
{
    return far_of(r) == FAR_WAITS &&
           atomic_load_explicit(&r->replied, memory_order_acquire) &&
           atomic_load_explicit(&r->goes_on, memory_order_relaxed) == window_of(r);
}

/* It is for this thread to open the next. */
static bool
claim(struct run *r, unsigned far)
{
    return far % FAR_STATES == FAR_WAITS &&
           atomic_compare_exchange_strong(&r->far, &far, far + FAR_OPENS - FAR_WAITS);
}

/* The same by a thread without tasks, before the nodes are through theirs. */
static bool
parts_go_on_early(struct run *r)
{
    const unsigned far = atomic_load_explicit(&r->far, memory_order_acquire);
    if (!early(r) || !claim(r, far))
        return false;
    bool goes = may_go_on(r) && memsys_may_go_on(r->g->mem, memory_end(r, r->to, r->to));
    if (goes)
        parts_go_on(r);
    set_far(r, far / FAR_STATES, goes ? FAR_OPEN : FAR_LAST);
    return goes;
}

/* After the nodes' window: whether what follows it goes beside the partitions' next,
 * which is open then. */
static bool
goes_beside(struct run *r)
{
    enum far far;
    for (unsigned i = 1; (far = far_of(r)) == FAR_WAITS || far == FAR_OPENS; i++) {
        if (claim(r, atomic_load(&r->far)))
            break;
        pool_relax(i);
    }
    if (far == FAR_OPEN)
        return true;
    bool goes = may_go_on(r) && block_goes_on(r) &&
                memsys_catch_up(r->g->mem, memory_end(r, r->to, r->to));
    if (goes)
        parts_go_on(r);
    set_far(r, window_of(r), goes ? FAR_OPEN : FAR_LAST);
    return goes;
}

/* What follows the window, and what the nodes have to do in the next. */
static bool
go_beside(struct run *r)
{
    struct memsys *mem = r->g->mem;
    atomic_store_explicit(&r->left, 2, memory_order_relaxed); /* replies, and this */
    r->reach = memsys_reach(mem, r->to);
    memsys_show_replies(mem);
    offer_replies(r);
    r->outcome = after_window(r);
    assert(r->outcome != OVER);
    if (r->outcome == GO_ON && !go_on(r))
        r->outcome = FAILED;
    if (r->outcome != GO_ON)
        return false;
    uint64_t from = r->to;
    r->to = window_end(r, from);
    r->from = from;
    memsys_open(mem, r->from, r->to);
    balance(r);
    offer_nodes(r, list_nodes(r));
    set_far(r, window_of(r) + 1, FAR_WAITS);
    return true;
}

/* The window is through: false: no other has begun. */
static bool
next_window(struct run *r)
{
    if (!r->round_left)
        return false;
    r->apart = !goes_beside(r);
    if (r->apart || !go_beside(r))
        return false;
    r->round_left--;
    atomic_fetch_sub_explicit(&r->left, 1, memory_order_relaxed);
    return true;
}

/* A thread without tasks waits for what it has seen of r->far to change; or for what else
 * it may do. Where it waits for nodes, that is noted. turns: of the wait. */
static void
wait_for_others(struct run *r, unsigned thread, unsigned far, unsigned *turns)
{
    while (++*turns < (thread ? LEAVE : LONG) &&
           atomic_load_explicit(&r->far, memory_order_relaxed) == far &&
           !atomic_load_explicit(&r->replies_free, memory_order_relaxed) &&
           !atomic_load_explicit(&r->round_over, memory_order_relaxed) &&
           (thread ? !early(r) : atomic_load_explicit(&r->left, memory_order_relaxed))) {
        for (unsigned k = 0; *turns == WAIT && k < r->threads; k++)
            if (k != thread &&
                atomic_load_explicit(&r->queue[k].in_node, memory_order_relaxed))
                atomic_fetch_add_explicit(&r->queue[k].helped, 1, memory_order_relaxed);
        pool_relax(*turns);
    }
}

/* What a thread that is not the first does next; false: nothing. The end of the nodes'
 * window is what all wait for. But where partitions and replies take longer than what
 * follows it, which is when they have nothing to wait for, these come first. */
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
    unsigned idle = 0; /* last window in which there was none beside what followed it */
    unsigned turns = 0;
    while (!atomic_load_explicit(&r->round_over, memory_order_relaxed) && turns < LEAVE) {
        const unsigned far = atomic_load_explicit(&r->far, memory_order_acquire);
        if (do_next(r, thread, far / FAR_STATES - idle > BUSY))
            continue;
        if (far % FAR_STATES == FAR_OPEN)
            idle = far / FAR_STATES;
        turns = 0;
        wait_for_others(r, thread, far, &turns);
    }
    atomic_store_explicit(&r->queue[thread].came, false, memory_order_relaxed);
}

/* The same in the first thread, and what follows each window; it keeps itself free for
 * that. */
static void
lead(struct run *r)
{
    for (unsigned turns = 0; turns < LONG;) {
        const unsigned far = atomic_load_explicit(&r->far, memory_order_acquire);
        if (!atomic_load_explicit(&r->left, memory_order_acquire)) {
            if (!next_window(r))
                break;
            turns = 0;
        } else if (do_replies(r) || do_own(r, 0) || do_others(r, 0, LEFT_ALONE, 0)) {
            turns = 0;
        } else {
            wait_for_others(r, 0, far, &turns);
        }
    }
    atomic_store_explicit(&r->round_over, true, memory_order_relaxed);
}

static void
run_round(void *user, unsigned thread)
{
    struct run *r = user;
    atomic_store_explicit(&r->queue[thread].came, true, memory_order_relaxed);
    if (thread)
        work(r, thread);
    else
        lead(r);
}

/* Windows from the one whose nodes have run to the next that must be followed alone. */
static enum outcome
run_beside(struct run *r)
{
    r->outcome = GO_ON;
    set_far(r, window_of(r), FAR_LAST);
    if (!goes_beside(r))
        return GO_ON;
    atomic_store(&r->left, 0);
    while (r->outcome == GO_ON && !r->apart) {
        nobody_came(r);
        atomic_store(&r->round_over, false);
        r->round_left = ROUND;
        pool_run(r->g->pool, run_round, r);
        if (r->outcome == GO_ON && !tell(r, TELL_EVERY / ROUND))
            r->outcome = FAILED;
    }
    r->apart = false;
    memsys_parts_done(r->g->mem);
    return r->outcome;
}

static bool
loop(struct run *r)
{
    struct timing_gpu *g = r->g;
    uint64_t from = g->now + 1;
    for (;;) {
        for (; r->next_channels < from; r->next_channels += CHANNELS_EVERY)
            trace_channels(g->trace, g->mem, r->next_channels);
        if (r->next_sample < from)
            take_samples(r, from);
        if (r->plan.period && from >= r->tick)
            tick(r, from);
        r->reach = memsys_reach(g->mem, from);
        uint64_t to = window_end(r, from);
        do_window(r, from, to, memory_end(r, from, to));
        enum outcome outcome = run_beside(r);
        if (outcome == GO_ON)
            outcome = after_window(r);
        if (outcome == FAILED)
            return false;
        if (outcome == OVER) {
            /* Counters of the memory system go to the end of a longest window. */
            follow_alone(r, last_cycle(g, g->now));
            return true;
        }
        uint64_t next = next_cycle(r);
        if (next == NEVER &&
            !(r->plan.period && sm_waits_for_tick(r->sm, g->m->sm.count)))
            return stuck(r);
        if (r->plan.period && next > r->tick)
            next = r->tick;
        if (!go_on(r) || !tell(r, TELL_EVERY))
            return false;
        if (g->opt.max_cycles && next > r->start + g->opt.max_cycles)
            next = r->start + g->opt.max_cycles; /* asleep when the limit comes */
        from = g->opt.no_skip ? r->to : next;
    }
}

/* Instruction lines that a warp asked for and no longer needs may still be on their way.
 * After them, the next launch starts in the same cycle whatever the windows were. */
static void
drain(struct run *r)
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
        memsys_step(g->mem, now);
        for (unsigned i = 0; i < g->m->sm.count; i++) {
            if (memsys_has_reply(g->mem, i))
                receive(g->mem, i / g->m->sm.per_cluster, &r->sm[i], now);
            ldst_cycle(g->ldst[i], now);
            send_packets(g->mem, &r->sm[i], now);
        }
    }
    g->now = now;
}

static bool
finish(struct run *r, struct launch_stats *out, struct diag_sink *diag)
{
    struct timing_gpu *g = r->g;
    for (unsigned i = 0; i < g->m->sm.count; i++)
        sm_end(&r->sm[i], r->end);
    totals(r, r->end, out);
    if (g->trace) {
        trace_channels(g->trace, g->mem, g->now);
        trace_end(g->trace, r->end, g->now);
    }
    drain(r);
    return stats_check(out, diag);
}

static void
plan_windows(struct run *r)
{
    struct timing_gpu *g = r->g;
    const struct machine *m = g->m;
    struct arena *a = r->arena;
    bool wait = !r->grid->prog->in_order;
    r->window = wait ? memsys_window(g->mem) : 1;
    if (g->opt.window && g->opt.window < r->window)
        r->window = g->opt.window;
    r->threads = wait && g->pool ? g->opt.threads : 1;
    r->nodes = (m->sm.count + m->sm.per_cluster - 1) / m->sm.per_cluster;
    r->parts = memsys_parts(g->mem);
    r->node = ARENA_ARRAY(a, struct node, r->nodes);
    r->next = ARENA_ARRAY(a, uint64_t, r->nodes);
    r->ran = bitset_new(a, r->nodes);
    r->stopped = bitset_new(a, r->nodes);
    r->takers = bitset_new(a, m->sm.count);
    for (unsigned i = 0; i < r->nodes; i++) {
        unsigned first = i * m->sm.per_cluster, end = first + m->sm.per_cluster;
        r->node[i].sm = r->sm + first;
        r->node[i].end = r->sm + (end < m->sm.count ? end : m->sm.count);
        r->node[i].fault_at = NEVER;
        r->node[i].next = r->next[i] = g->now + 1; /* to find out */
    }
    r->queue = ARENA_ARRAY(a, struct queue, r->threads);
    for (unsigned i = 0; i < r->threads; i++) {
        struct queue *q = &r->queue[i];
        q->node.task = ARENA_ARRAY(a, unsigned, r->nodes);
        q->part.task = ARENA_ARRAY(a, unsigned, r->parts);
        q->end = (i + 1) * (r->parts + r->nodes) / r->threads;
    }
    if (!wait)
        return;
    r->log = ARENA_ARRAY(a, struct own_log, m->sm.count);
    r->writers = ARENA_ARRAY(a, struct sm *, m->sm.count);
    for (unsigned i = 0; i < m->sm.count; i++)
        exec_log_init(&r->log[i].log, a,
                      r->window * m->sm.schedulers * m->sm.issue_width);
}

bool
timing_launch(struct timing_gpu *g, struct exec_grid *grid, const struct occ_kernel *k,
              struct launch_stats *out, struct diag_sink *diag)
{
    struct run r = {.g = g, .grid = grid, .kernel = k, .arena = &g->launch, .diag = diag};
    grid->diag = diag;
    if (!exec_grid_check(grid, diag) || !check_units(&r, diag) ||
        !plan_launch(&r, k, diag))
        return false;
    build_program(&r);
    r.blocks = (uint64_t)grid->grid.x * grid->grid.y * grid->grid.z;
    r.start = g->now;
    r.first_dispatch = g->now + g->m->gpu.launch_latency;
    r.tick = g->now + r.plan.period;
    bool traced = g->trace && g->now < g->trace->cut;
    if (g->trace)
        trace_begin(g->trace, grid->prog->entry->name, g->now);
    r.next_channels = traced ? g->now + CHANNELS_EVERY : NEVER;
    r.next_sample = g->opt.sample_cycles ? g->now + g->opt.sample_cycles : NEVER;
    r.shown = clock_seconds(CLOCK_MONOTONIC);
    grid->nsm = g->m->sm.count;
    r.sm = ARENA_ARRAY(r.arena, struct sm, g->m->sm.count);
    plan_windows(&r);
    memset(g->stats, 0, sizeof *g->stats * g->m->sm.count);
    memsys_begin(g->mem, r.threads > 1);
    memsys_no_skip(g->mem, g->opt.no_skip);
    uint32_t l1_ways = occ_l1_ways(g->m, k, r.plan.blocks);
    for (unsigned i = 0; i < g->m->sm.count; i++) {
        ldst_begin(g->ldst[i], g->now);
        ldst_set_l1_ways(g->ldst[i], l1_ways);
        ldst_no_skip(g->ldst[i], g->opt.no_skip);
        sm_init(&r.sm[i], r.arena, g->m, g->sched, g->residency, &r.plan, &r.prog,
                g->ldst[i], &g->stats[i].s, r.log ? &r.log[i].log : NULL, i, g->now);
        r.sm[i].trace = traced ? &g->trace->sm[i] : NULL;
        r.sm[i].every = traced || g->opt.no_skip;
    }
    dispatch_init(&r.dispatch, r.arena, g->m, g->order, r.blocks);
    start_blocks(&r, g->now);

    bool ok = loop(&r);
    grid->n_warp_inst = grid->n_thread_inst = 0;
    for (unsigned i = 0; i < g->m->sm.count; i++) {
        grid->n_warp_inst += g->stats[i].s.warp_instructions;
        grid->n_thread_inst += g->stats[i].s.thread_instructions;
    }
    if (ok) {
        ok = finish(&r, out, diag);
    } else { /* operations are left in the middle: the memory side starts anew */
        if (g->trace)
            trace_end(g->trace, g->now, g->now);
        drop_memory(g);
        build_memory(g, diag);
    }
    for (unsigned i = 0; i < g->m->sm.count; i++)
        sm_free(&r.sm[i]);
    arena_reset(r.arena);
    return ok;
}
