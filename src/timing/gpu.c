/* gpu.c: the whole GPU over its launches: the loop over core cycles, block dispatch, the
 * jump over cycles in which nothing happens, limits, and the explanation of a simulation
 * that can never move again.
 *
 * A core cycle: the memory system advances; each SM takes one reply; SMs step; their
 * packets go out as far as there is room; blocks are dispatched. An SM that sleeps is not
 * stepped; when all sleep, time goes on to the first event of any SM or of the memory
 * system. With `no_skip` everything is stepped in every cycle; the counters are the same.
 */
#include "timing/timing.h"

#include "timing/dispatch.h"
#include "timing/memsys.h"

#include <string.h>
#include <time.h>

struct timing_gpu {
    struct machine *m;
    struct timing_options opt;
    const struct sched_policy *sched;
    const struct residency_policy *residency;
    const struct cta_order_policy *order;
    struct arena arena; /* load/store units */
    struct ldst **ldst;
    struct stat_sm *stats;
    struct memsys *mem;
    struct arena trace_arena;
    struct trace *trace; /* NULL: none */
    uint64_t now;        /* last core cycle done */
};

/* A launch under way. */
struct run {
    struct timing_gpu *g;
    struct exec_grid *grid;
    struct arena arena;
    struct sm_program prog;
    struct residency_plan plan;
    struct sm *sm;
    struct dispatch dispatch;
    uint64_t start, first_dispatch; /* cycles */
    uint64_t blocks, done;
    uint64_t inst_start;
    uint64_t next_sample;   /* cycle, NEVER: none */
    uint64_t next_channels; /* of the trace; the same */
    struct timespec shown;  /* when progress was last told */
    bool *out;              /* by SM: packets may be waiting */
};

/* -- life -- */

static bool
build_memory(struct timing_gpu *g, struct diag_sink *diag)
{
    g->mem = memsys_new(g->m, diag);
    if (!g->mem)
        return false;
    g->ldst = ARENA_ARRAY(&g->arena, struct ldst *, g->m->sm.count);
    g->stats = ARENA_ARRAY(&g->arena, struct stat_sm, g->m->sm.count);
    for (unsigned i = 0; i < g->m->sm.count; i++)
        g->ldst[i] = ldst_new(&g->arena, g->m, i, &g->stats[i]);
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
    g->m = machine_clone(m);
    if (o)
        g->opt = *o;
    if (g->opt.trace_limit)
        g->trace = trace_new(&g->trace_arena, g->m, g->opt.trace_from, g->opt.trace_to,
                             g->opt.trace_limit);
    if (find_policies(g, diag) && check_paths(g->m, diag) && build_memory(g, diag))
        return g;
    timing_gpu_free(g);
    return NULL;
}

void
timing_gpu_free(struct timing_gpu *g)
{
    if (!g)
        return;
    drop_memory(g);
    arena_free(&g->trace_arena);
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
    return &g->stats[i];
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
    case PTX_UNIT_MEM:
        return CLS_MEM;
    case PTX_UNIT_ALU:
        return m->unit.integer && st->latency <= PTX_LAT_INT_DIV ? CLS_INT : CLS_SP;
    default:
        return CLS_SP;
    }
}

static void
build_program(struct run *r)
{
    const struct machine *m = r->g->m;
    const struct exec_prog *p = r->grid->prog;
    const struct residency_policy *res = r->g->residency;
    struct sm_inst *inst = ARENA_ARRAY(&r->arena, struct sm_inst, p->ninst + 1);
    for (uint32_t i = 0; i < p->ninst; i++) {
        const struct exec_static *st = &p->st[i];
        struct sm_inst *in = &inst[i];
        in->nsrc = st->nsrc;
        in->ndst = st->ndst;
        memcpy(in->reg, st->src, sizeof *in->reg * st->nsrc);
        memcpy(in->reg + st->nsrc, st->dst, sizeof *in->reg * st->ndst);
        in->first_operand = st->guarded;
        in->cls = (uint8_t)class_of(m, st);
        in->latency = (uint16_t)m->latency[st->latency].cycles;
        in->interval = (uint16_t)m->latency[st->latency].interval;
        in->barrier = st->is_barrier;
        in->fence = st->is_fence;
        in->copy = st->copy;
        in->copy_n = st->copy_n;
        in->mem = in->cls == CLS_MEM;
        in->concern = in->mem && res->may_issue && res->concerns && res->concerns(st);
    }
    r->prog = (struct sm_program){.grid = r->grid,
                                  .inst = inst,
                                  .ninst = p->ninst,
                                  .nregs = p->nregs,
                                  .warps_per_cta = r->grid->warps_per_cta,
                                  .code_address = p->code_address};
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

/* -- the loop -- */

static void
send_packets(struct run *r, unsigned i, uint64_t now)
{
    struct ldst *l = r->g->ldst[i];
    struct packet *p;
    while ((p = ldst_out_front(l))) {
        if (!memsys_inject(r->g->mem, p))
            return;
        ldst_out_pop(l);
        if (r->sm[i].wake > now + 1)
            r->sm[i].wake = now + 1; /* it may have waited for the room */
    }
    r->out[i] = false;
}

static void
receive(struct run *r, uint64_t now)
{
    struct timing_gpu *g = r->g;
    const uint64_t *replies = memsys_replies(g->mem);
    for (unsigned v = 0; v < BITSET_WORDS(g->m->sm.count); v++)
        FOR_BITS(b, replies[v])
        {
            unsigned i = v * 64 + (unsigned)b;
            struct packet p;
            if (!ldst_can_receive(g->ldst[i]) || !memsys_eject(g->mem, i, &p))
                continue;
            ldst_receive(g->ldst[i], &p, now);
            r->sm[i].wake = now;
        }
}

/* One core cycle; false: a fault. */
static bool
step(struct run *r, uint64_t now)
{
    struct timing_gpu *g = r->g;
    bool all = g->opt.no_skip;
    memsys_step(g->mem, now);
    receive(r, now);
    for (unsigned i = 0; i < g->m->sm.count; i++) {
        struct sm *s = &r->sm[i];
        if (s->wake > now && !all)
            continue;
        uint64_t done = s->blocks_done;
        sm_cycle(s, now);
        if (s->fault)
            return false;
        r->done += s->blocks_done - done;
        r->out[i] = true;
    }
    for (unsigned i = 0; i < g->m->sm.count; i++)
        if (r->out[i])
            send_packets(r, i, now);
    if (r->dispatch.left && now >= r->first_dispatch)
        dispatch_cycle(&r->dispatch, r->sm, now);
    return true;
}

/* First cycle after `now` in which anything happens, or NEVER. */
static uint64_t
next_cycle(const struct run *r, uint64_t now)
{
    uint64_t next = NEVER;
    if (now < r->first_dispatch)
        next = r->first_dispatch;
    for (unsigned i = 0; i < r->g->m->sm.count; i++)
        if (r->sm[i].wake < next)
            next = r->sm[i].wake;
    if (next <= now + 1)
        return now + 1;
    uint64_t mem = memsys_next_event(r->g->mem, now);
    return mem < next ? mem : next;
}

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
stuck(const struct run *r, struct diag_sink *diag)
{
    struct strbuf b = {0};
    explain(r, &b);
    while (b.n && b.s[b.n - 1] == '\n')
        b.s[--b.n] = 0;
    diag_error(diag,
               "kernel '%s' is stuck at cycle %llu: %llu of %llu blocks have ended and "
               "nothing can ever move again. Who waits for what:\n%s",
               r->grid->prog->entry->name, (unsigned long long)(r->g->now - r->start),
               (unsigned long long)r->done, (unsigned long long)r->blocks,
               b.s ? b.s : "");
    strbuf_free(&b);
    r->grid->failure = ALLOT_STUCK;
    return false;
}

/* Limits and progress; false: the launch is over. */
static bool
go_on(struct run *r, uint64_t loops, struct diag_sink *diag)
{
    struct timing_gpu *g = r->g;
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
    if (g->opt.max_instructions &&
        r->grid->n_warp_inst - r->inst_start >= g->opt.max_instructions) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL,
                     "kernel '%s' stopped after %llu warp instructions, the "
                     "limit; %llu of %llu blocks had ended",
                     name, (unsigned long long)(r->grid->n_warp_inst - r->inst_start),
                     (unsigned long long)r->done, (unsigned long long)r->blocks);
        diag_hint(diag, d, "raise the limit if the kernel is only long");
        return false;
    }
    if (g->opt.progress && loops % 4096 == 0) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        double since = (double)(t.tv_sec - r->shown.tv_sec) +
                       1e-9 * (double)(t.tv_nsec - r->shown.tv_nsec);
        if (since >= 0.1) {
            r->shown = t;
            uint64_t inst = 0;
            for (unsigned i = 0; i < g->m->sm.count; i++)
                inst += g->stats[i].thread_instructions;
            if (!g->opt.progress(g->opt.user, cycles, inst, r->done, r->blocks))
                return diag_error(diag, "kernel '%s' interrupted after %llu cycles", name,
                                  (unsigned long long)cycles);
        }
    }
    return true;
}

/* Counters of the launch up to the end of cycle `now`, at which the memory system stands
 * or after which nothing has happened. */
static void
totals(struct run *r, uint64_t now, struct launch_stats *out)
{
    struct timing_gpu *g = r->g;
    struct stat_gpu s = {.cycles = now - r->start,
                         .blocks = r->blocks,
                         .resident_blocks = r->plan.blocks,
                         .baseline_blocks = r->plan.baseline,
                         .shared_pairs = r->plan.pairs};
    s.sm_cycles = s.cycles * g->m->sm.count;
    for (unsigned i = 0; i < g->m->sm.count; i++)
        sm_catch_up(&r->sm[i], now);
    memset(out, 0, sizeof *out);
    stats_add_gpu(out, &s);
    for (unsigned i = 0; i < g->m->sm.count; i++)
        stats_add_sm(out, &g->stats[i]);
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

enum { CHANNELS_EVERY = 64 /* cycles between readings of channels, at least */ };

static bool
loop(struct run *r, struct diag_sink *diag)
{
    struct timing_gpu *g = r->g;
    uint64_t now = g->now + 1;
    for (uint64_t loops = 1;; loops++) {
        if (r->next_channels < now) {
            trace_channels(g->trace, g->mem, r->next_channels);
            r->next_channels = now + CHANNELS_EVERY;
        }
        if (r->next_sample < now)
            take_samples(r, now);
        g->now = now;
        if (!step(r, now))
            return false;
        if (r->done == r->blocks)
            return true;
        uint64_t next = next_cycle(r, now);
        if (next == NEVER)
            return stuck(r, diag);
        if (!go_on(r, loops, diag)) {
            r->grid->failure = ALLOT_STOPPED;
            return false;
        }
        now = g->opt.no_skip ? now + 1 : next;
    }
}

/* Instruction lines that a warp asked for and no longer needs may still be on their way.
 */
static void
drain(struct run *r)
{
    struct timing_gpu *g = r->g;
    uint64_t now = g->now;
    for (;;) {
        bool idle = true;
        for (unsigned i = 0; i < g->m->sm.count; i++)
            idle &= ldst_idle(g->ldst[i]);
        if (idle || now - g->now > 1000000)
            break;
        now++;
        memsys_step(g->mem, now);
        receive(r, now);
        for (unsigned i = 0; i < g->m->sm.count; i++) {
            ldst_cycle(g->ldst[i], now);
            send_packets(r, i, now);
        }
    }
    g->now = now;
}

static bool
finish(struct run *r, struct launch_stats *out, struct diag_sink *diag)
{
    totals(r, r->g->now, out);
    if (r->g->trace) {
        trace_channels(r->g->trace, r->g->mem, r->g->now);
        trace_end(r->g->trace, r->g->now);
    }
    drain(r);
    return stats_check(out, diag);
}

bool
timing_launch(struct timing_gpu *g, struct exec_grid *grid, const struct occ_kernel *k,
              struct launch_stats *out, struct diag_sink *diag)
{
    struct run r = {.g = g, .grid = grid};
    grid->diag = diag;
    if (!exec_grid_check(grid, diag) || !plan_launch(&r, k, diag))
        return false;
    build_program(&r);
    r.blocks = (uint64_t)grid->grid.x * grid->grid.y * grid->grid.z;
    r.start = g->now;
    r.first_dispatch = g->now + g->m->gpu.launch_latency;
    r.inst_start = grid->n_warp_inst;
    if (g->trace)
        trace_begin(g->trace, g->now);
    r.next_channels = g->trace ? g->now + CHANNELS_EVERY : NEVER;
    r.next_sample = g->opt.sample_cycles ? g->now + g->opt.sample_cycles : NEVER;
    clock_gettime(CLOCK_MONOTONIC, &r.shown);
    grid->nsm = g->m->sm.count;
    grid->clock = &g->now;
    r.sm = ARENA_ARRAY(&r.arena, struct sm, g->m->sm.count);
    r.out = ARENA_ARRAY(&r.arena, bool, g->m->sm.count);
    memset(g->stats, 0, sizeof *g->stats * g->m->sm.count);
    memsys_begin(g->mem);
    memsys_no_skip(g->mem, g->opt.no_skip);
    uint32_t l1_ways = occ_l1_ways(g->m, k, r.plan.blocks);
    for (unsigned i = 0; i < g->m->sm.count; i++) {
        ldst_begin(g->ldst[i], g->now);
        ldst_set_l1_ways(g->ldst[i], l1_ways);
        ldst_no_skip(g->ldst[i], g->opt.no_skip);
        sm_init(&r.sm[i], &r.arena, g->m, g->sched, g->residency, &r.plan, &r.prog,
                g->ldst[i], &g->stats[i], i, g->now);
        r.sm[i].trace = g->trace ? &g->trace->sm[i] : NULL;
    }
    dispatch_init(&r.dispatch, &r.arena, g->m, g->order, r.blocks);
    if (r.first_dispatch == g->now)
        dispatch_cycle(&r.dispatch, r.sm, g->now);

    bool ok = loop(&r, diag);
    if (ok) {
        ok = finish(&r, out, diag);
    } else { /* operations are left in the middle: the memory side starts anew */
        if (g->trace)
            trace_end(g->trace, g->now);
        drop_memory(g);
        build_memory(g, diag);
    }
    for (unsigned i = 0; i < g->m->sm.count; i++)
        sm_free(&r.sm[i]);
    arena_free(&r.arena);
    grid->clock = NULL;
    return ok;
}
