/* gpu.c: the whole GPU over its launches: a launch's plan, the loop over quanta
 * (run.h), event skipping between them, samples, limits, and the explanation of a simulation
 * that is stuck. */
#include "timing/engine/run.h"
#include "timing/policy/replacement/replacement.h"

#include "base/clock.h"
#include "timing/policy/regpower/regpower.h"
#include "timing/sm/sm_program.h"

#include <string.h>

/* -- life -- */

static bool
build_memory(struct timing_gpu *g, struct diag_sink *diag)
{
    g->mem = memsys_new(g->m, &g->facts, diag);
    if (!g->mem)
        return false;
    g->memory = g->facts.memory;
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
    const bool order = cta_order_find(m->cta.order) != NULL;
    if (!g->sched)
        UNKNOWN_POLICY(diag, "sm.scheduler", m->sm.scheduler, sched_at);
    if (!g->residency)
        UNKNOWN_POLICY(diag, "residency.policy", m->residency.policy, residency_at);
    if (!order)
        UNKNOWN_POLICY(diag, "cta.order", m->cta.order, cta_order_at);
    const char *const paths[] = {"l1d.replacement", "l1i.replacement", "l1c.replacement",
                                 "l2.replacement"};
    const char *const names[] = {m->l1d.replacement, m->l1i.replacement,
                                 m->l1c.replacement, m->l2.replacement};
    bool caches = true;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!replacement_find(names[i])) {
            UNKNOWN_POLICY(diag, paths[i], names[i], replacement_at);
            caches = false;
        }
    return g->sched && g->residency && order && caches;
}

struct timing_gpu *
timing_gpu_new(const struct machine *m, const struct timing_options *o,
               struct diag_sink *diag)
{
    struct timing_gpu *g = xcalloc(1, sizeof *g);
    g->arena.huge = g->launch.huge = true;
    g->m = machine_clone(m);
    g->last_sm = m->sm.count - 1;
    if (o)
        g->opt = *o;
    if (g->opt.trace_limit)
        g->trace =
            trace_new(g->m, g->opt.trace_from, g->opt.trace_to, g->opt.trace_limit);
    bool ok = find_policies(g, diag) && build_memory(g, diag);
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
    free(g->lines);
    machine_free(g->m);
    free(g);
}

void
timing_host_copy(struct timing_gpu *g, uint64_t addr, uint64_t bytes)
{
    if (g->m->partition.prefill)
        memory_prefill(g->memory, addr, bytes);
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

const struct line_counts *
timing_lines(const struct timing_gpu *g)
{
    return g->lines;
}

uint64_t
timing_quanta(const struct timing_gpu *g)
{
    return g->quanta;
}

/* -- a launch -- */

/* The mechanisms at work in the SMs: the residency policy's, if it does anything there, and
 * the plan's. */
static void
build_setup(struct run *r, const struct timing_plan *plan)
{
    struct sm_setup *s = &r->launch.setup;
    const struct mechanism *m = &r->g->residency->mechanism;
    s->blocks = r->launch.plan.blocks;
    if (m->state_size)
        s->mechanism[s->nmechanisms++] =
            (struct mechanism_use){.mechanism = m, .plan = r->launch.plan.own};
    for (unsigned i = 0; i < plan->nmechanisms; i++)
        s->mechanism[s->nmechanisms++] = plan->mechanism[i];
    if (plan->registers.mechanism)
        s->mechanism[s->nmechanisms++] = plan->registers;
    else
        s->always_on = (uint32_t)regpower_file(r->g->m);
}

/* They learn of the program, as the SMs have it. */
static void
prepare_mechanisms(struct run *r)
{
    struct sm_setup *s = &r->launch.setup;
    for (unsigned k = 0; k < s->nmechanisms; k++) {
        struct mechanism_use *u = &s->mechanism[k];
        if (u->mechanism->prepare)
            u->code =
                u->mechanism->prepare(r->arena, r->launch.prog.st, r->launch.prog.ninst,
                                      r->g->m, mechanism_plan(u));
    }
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
    if (!memory_idle(r->g->memory)) {
        strbuf_addz(out, "  memory system: ");
        memory_explain(r->g->memory, out);
        strbuf_addz(out, "\n");
    }
    if (r->launch.dispatch.left)
        strbuf_printf(out, "  %llu blocks have not started%s%s%s\n",
                      (unsigned long long)r->launch.dispatch.left,
                      r->launch.dispatch.any_none ? ": cta.order '" : "",
                      r->launch.dispatch.any_none ? r->launch.dispatch.order->name : "",
                      r->launch.dispatch.any_none ? "' gives none now" : "");
}

/* One warp that has not ended, the first of them in the order of SMs, best one at a
 * barrier; NULL: there is none. */
static const struct exec_warp *
some_warp(const struct run *r)
{
    const struct exec_warp *at = NULL;
    for (unsigned i = 0; i < r->g->m->sm.count; i++)
        for (unsigned k = 0; k < r->launch.plan.blocks; k++) {
            const struct exec_cta *c = r->sm[i].cta[k];
            for (uint32_t j = 0; c && j < c->nwarps; j++) {
                const struct exec_warp *w = &c->warp[j];
                if (w->state != EXEC_DONE &&
                    (!at || (w->state == EXEC_BARRIER && at->state != EXEC_BARRIER)))
                    at = w;
            }
        }
    return at;
}

/* An error that ends the launch, placed where one warp is, which the message goes on to
 * name. */
static struct diag *
say_where(const struct run *r, const char *text, const char *more)
{
    const struct exec_warp *at = some_warp(r);
    struct diag_loc loc = {0};
    struct strbuf b = {0};
    strbuf_addz(&b, text);
    uint32_t pc = 0;
    if (at) {
        pc = at->state == EXEC_BARRIER ? at->barrier_pc : at->pc;
        loc = exec_loc(r->launch.grid->prog, pc);
        strbuf_printf(&b, "; block (%u,%u,%u) warp %u was here", at->cta->ctaid.x,
                      at->cta->ctaid.y, at->cta->ctaid.z, at->index);
    }
    strbuf_addz(&b, more);
    struct diag *d = diag_add(r->diag, DIAG_ERROR, at ? &loc : NULL, "%s", b.s);
    if (at)
        exec_note_source(r->launch.grid->prog, pc, r->diag);
    strbuf_free(&b);
    return d;
}

/* idle: cycles since the last instruction was issued; 0: nothing has an event left. */
static bool
stuck(const struct run *r, uint64_t idle)
{
    struct strbuf b = {0}, text = {0};
    strbuf_addz(&b, ". Who waits for what:\n");
    explain(r, &b);
    while (b.n && b.s[b.n - 1] == '\n')
        b.s[--b.n] = 0;
    strbuf_printf(
        &text, "kernel '%s' is stuck at cycle %llu: %llu of %llu blocks have ended and ",
        r->launch.grid->prog->entry->name,
        (unsigned long long)(r->g->now - r->launch.start),
        (unsigned long long)r->launch.done, (unsigned long long)r->launch.blocks);
    if (idle)
        strbuf_printf(&text, "no warp has issued an instruction for %llu cycles",
                      (unsigned long long)idle);
    else
        strbuf_addz(&text, "nothing can ever move again");
    say_where(r, text.s, b.s);
    strbuf_free(&text);
    strbuf_free(&b);
    r->launch.grid->failure = ALLOT_STUCK;
    return false;
}

/* Says that the launch has come to a limit; false. */
static bool
over_limit(const struct run *r, uint64_t n, const char *what)
{
    struct strbuf b = {0};
    strbuf_printf(&b,
                  "kernel '%s' stopped after %llu %s, the limit; %llu of %llu blocks had "
                  "ended",
                  r->launch.grid->prog->entry->name, (unsigned long long)n, what,
                  (unsigned long long)r->launch.done,
                  (unsigned long long)r->launch.blocks);
    struct diag *d = say_where(r, b.s, "");
    diag_hint(r->diag, d, "raise the limit if the kernel is only long");
    strbuf_free(&b);
    return false;
}

/* False: the launch is over. */
static bool
within_limits(struct run *r)
{
    struct timing_gpu *g = r->g;
    uint64_t cycles = g->now - r->launch.start;
    if (g->opt.max_cycles && cycles >= g->opt.max_cycles)
        return over_limit(r, cycles, "cycles");
    r->launch.issued = 0;
    for (unsigned i = 0; g->opt.max_instructions && i < g->m->sm.count; i++)
        r->launch.issued += g->stats[i].s.warp_instructions;
    if (g->opt.max_instructions && r->launch.issued >= g->opt.max_instructions)
        return over_limit(r, r->launch.issued, "warp instructions");
    return true;
}

bool
run_go_on(struct run *r)
{
    if (within_limits(r))
        return true;
    r->launch.grid->failure = ALLOT_STOPPED;
    return false;
}

const struct exec_warp *
timing_at(const struct timing_gpu *g)
{
    return g->at;
}

uint64_t
timing_beat(const struct timing_gpu *g)
{
    return atomic_load_explicit(&g->beat, memory_order_relaxed);
}

void
timing_explain(const struct timing_gpu *g, struct strbuf *out)
{
    if (g->running)
        explain(g->running, out);
}

/* How long a launch may issue nothing: far longer than full queues of the slowest DRAM take to
 * empty, in cycles of the slowest clock. */
static uint64_t
patience(const struct machine *m)
{
    enum { TICKS = 10000000 };
    double slowest = m->clock.core;
    const double others[] = {m->clock.icnt, m->clock.l2, m->clock.dram};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        slowest = others[i] < slowest ? others[i] : slowest;
    return (uint64_t)(TICKS * (m->clock.core / slowest)) + m->gpu.launch_latency +
           m->cta.sync_cycles + m->residency.dynamic_period;
}

/* Whether the warps get on, whatever else moves: packets, refreshes, timers. */
static bool
gets_on(struct run *r)
{
    const struct timing_gpu *g = r->g;
    uint64_t n = 0;
    for (unsigned i = 0; i < g->m->sm.count; i++)
        n += g->stats[i].s.warp_instructions + g->stats[i].s.blocks_run;
    if (n != r->launch.moved) {
        r->launch.moved = n;
        r->launch.moved_at = g->now;
    }
    return g->now - r->launch.moved_at <= r->launch.patience;
}

enum { TELL_EVERY = 64 /* quanta, or so, between looks at the time */ };

bool
run_tell(struct run *r, unsigned quanta)
{
    struct timing_gpu *g = r->g;
    r->launch.untold += quanta;
    if (r->launch.untold < TELL_EVERY)
        return true;
    r->launch.untold = 0;
    if (!gets_on(r))
        return stuck(r, g->now - r->launch.moved_at);
    if (!g->opt.progress)
        return true;
    double now = clock_seconds(CLOCK_MONOTONIC);
    if (now - r->launch.progress_shown < 0.1)
        return true;
    r->launch.progress_shown = now;
    const uint64_t cycles = g->now - r->launch.start;
    uint64_t inst = 0;
    for (unsigned i = 0; i < g->m->sm.count; i++)
        inst += g->stats[i].s.thread_instructions;
    g->at = some_warp(r);
    bool on =
        g->opt.progress(g->opt.user, cycles, inst, r->launch.done, r->launch.blocks);
    g->at = NULL;
    if (on)
        return true;
    struct strbuf b = {0};
    strbuf_printf(&b,
                  "kernel '%s' interrupted after %llu cycles (%llu thread instructions, "
                  "IPC %.2f), %llu of %llu blocks had ended",
                  r->launch.grid->prog->entry->name, (unsigned long long)cycles,
                  (unsigned long long)inst, cycles ? (double)inst / (double)cycles : 0,
                  (unsigned long long)r->launch.done,
                  (unsigned long long)r->launch.blocks);
    say_where(r, b.s, "");
    strbuf_free(&b);
    r->launch.grid->failure = ALLOT_STOPPED;
    return false;
}

/* The plan's period has passed: quanta end where it does. */
static void
tick(struct run *r, uint64_t now)
{
    sm_period(r->sm, r->g->m->sm.count, now);
    r->launch.tick = now + r->launch.plan.period;
    for (unsigned i = 0; i < r->g->m->sm.count; i++) {
        unsigned k = i / r->g->m->sm.per_cluster;
        if (r->sm[i].wake < r->quantum.next[k])
            r->quantum.next[k] = r->sm[i].wake;
    }
}

/* Counters of the launch up to the end of cycle `now`, at which the memory system stands
 * or after which nothing has happened. */
static void
totals(struct run *r, uint64_t now, struct launch_stats *out)
{
    struct timing_gpu *g = r->g;
    struct stat_gpu s = {.cycles = now - r->launch.start,
                         .blocks = r->launch.blocks,
                         .threads = r->launch.blocks * exec_block_threads(r->launch.grid),
                         .resident_blocks = r->launch.plan.blocks,
                         .baseline_blocks = r->launch.plan.baseline,
                         .shared_pairs = residency_pairs(r->g->m, &r->launch.plan),
                         .thread_registers = r->launch.kernel->registers,
                         .block_scratchpad = exec_block_scratchpad(r->launch.grid),
                         .schedule_syncs = dispatch_syncs(&r->launch.dispatch)};
    s.sm_cycles = s.cycles * g->m->sm.count;
    s.register_cycles = s.sm_cycles * regpower_file(g->m);
    for (unsigned i = 0; i < g->m->sm.count; i++)
        sm_counted(&r->sm[i], now);
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
    for (; r->launch.next_sample < now;
         r->launch.next_sample += r->g->opt.sample_cycles) {
        struct launch_stats s;
        if (r->launch.next_sample > r->g->now) /* slept through: nothing happens in it */
            memsys_step(r->g->mem, r->launch.next_sample);
        totals(r, r->launch.next_sample, &s);
        r->g->opt.sample(r->g->opt.user, r->launch.next_sample - r->launch.start, &s);
    }
}

enum { CHANNELS_EVERY = 64 /* cycles of a launch between readings of channels */ };

static bool
loop(struct run *r)
{
    struct timing_gpu *g = r->g;
    uint64_t from = g->now + 1;
    for (;;) {
        for (; r->launch.next_channels < from; r->launch.next_channels += CHANNELS_EVERY)
            trace_channels(g->trace, g->memory, r->launch.next_channels);
        if (r->launch.next_sample < from)
            take_samples(r, from);
        if (r->launch.plan.period && from >= r->launch.tick)
            tick(r, from);
        r->quantum.reach = memsys_next_quantum(g->mem, from);
        uint64_t to = run_quantum_end(r, from);
        run_do(r, from, to, run_memory_end(r, from, to));
        enum outcome outcome = run_overlapped(r);
        if (outcome == GO_ON)
            outcome = run_serial_phase(r);
        if (outcome == FAILED)
            return false;
        if (outcome == OVER) {
            /* Counters of the memory system go to the end of a longest quantum. */
            run_follow_alone(r);
            return true;
        }
        uint64_t next = run_next_cycle(r);
        if (next == NEVER &&
            !(r->launch.plan.period && sm_waits_for_period(r->sm, g->m->sm.count)))
            return stuck(r, 0);
        if (r->launch.plan.period && next > r->launch.tick)
            next = r->launch.tick;
        if (!run_go_on(r) || !run_tell(r, 1))
            return false;
        if (g->opt.max_cycles && next > r->launch.start + g->opt.max_cycles)
            next = r->launch.start + g->opt.max_cycles; /* asleep when the limit comes */
        from = g->opt.no_skip ? r->quantum.to : next;
    }
}

/* Sums the counters by instruction over SMs. False and a diagnostic if those of some kind are
 * not the launch's. */
static bool
sum_lines(struct run *r, const struct launch_stats *all, struct diag_sink *diag)
{
    struct timing_gpu *g = r->g;
    const size_t n = (size_t)r->launch.prog.ninst + 1;
    struct line_counts sum = {0};
    bool ok = true;
    free(g->lines);
    g->lines = xcalloc(n, sizeof *g->lines);
    for (unsigned i = 0; i < g->m->sm.count; i++)
        for (size_t k = 0; k < n; k++)
            for (unsigned c = 0; c < LINE_COUNTS; c++) {
                g->lines[k].v[c] += r->sm[i].lines->at[k].v[c];
                sum.v[c] += r->sm[i].lines->at[k].v[c];
            }
    for (unsigned c = 0; c < LINE_COUNTS; c++) {
        uint64_t want;
        memcpy(&want, (const char *)&all->sm + stats_line_offset(c), sizeof want);
        if (sum.v[c] != want)
            ok = diag_error(
                diag,
                "kernel %s: %s of its instructions are %llu in sum, of the launch "
                "%llu; this is a fault of allot",
                r->launch.grid->prog->entry->name, stats_line_id(c),
                (unsigned long long)sum.v[c], (unsigned long long)want);
    }
    return ok;
}

static bool
finish(struct run *r, struct launch_stats *out, struct diag_sink *diag)
{
    struct timing_gpu *g = r->g;
    for (unsigned i = 0; i < g->m->sm.count; i++)
        sm_end(&r->sm[i], r->launch.end);
    totals(r, r->launch.end, out);
    if (g->trace) {
        trace_channels(g->trace, g->memory, g->now);
        trace_end(g->trace, r->launch.end, g->now);
    }
    bool ok = !g->opt.lines || sum_lines(r, out, diag);
    run_drain(r);
    return stats_check(out, diag) && ok;
}

static void
plan_quanta(struct run *r, const struct cta_order_policy *order)
{
    struct timing_gpu *g = r->g;
    const struct machine *m = g->m;
    struct arena *a = r->arena;
    bool wait = !r->launch.grid->prog->in_order;
    r->quantum.most = wait ? g->facts.quantum : 1;
    if (g->opt.quantum && g->opt.quantum < r->quantum.most)
        r->quantum.most = g->opt.quantum;
    /* Blocks may start so many cycles after others have ended. */
    while ((order->drained || order->again) && r->quantum.most > 1 &&
           r->quantum.most > m->cta.sync_cycles)
        r->quantum.most /= 2;
    r->team.threads = wait && g->pool ? g->opt.threads : 1;
    r->quantum.nodes = (m->sm.count + m->sm.per_cluster - 1) / m->sm.per_cluster;
    r->quantum.parts = g->facts.parts;
    r->quantum.node = ARENA_ARRAY(a, struct node, r->quantum.nodes);
    r->quantum.next = ARENA_ARRAY(a, uint64_t, r->quantum.nodes);
    r->quantum.ran = bitset_new(a, r->quantum.nodes);
    r->quantum.stopped = bitset_new(a, r->quantum.nodes);
    r->quantum.takers = bitset_new(a, m->sm.count);
    for (unsigned i = 0; i < r->quantum.nodes; i++) {
        unsigned first = i * m->sm.per_cluster, end = first + m->sm.per_cluster;
        r->quantum.node[i].sm = r->sm + first;
        r->quantum.node[i].end = r->sm + (end < m->sm.count ? end : m->sm.count);
        r->quantum.node[i].fault_at = NEVER;
        r->quantum.node[i].next = r->quantum.next[i] = g->now + 1; /* to find out */
    }
    run_threads(r);
    if (!wait)
        return;
    r->quantum.log = ARENA_ARRAY(a, struct own_log, m->sm.count);
    r->quantum.writers = ARENA_ARRAY(a, struct sm *, m->sm.count);
    for (unsigned i = 0; i < m->sm.count; i++)
        exec_log_init(&r->quantum.log[i].log, a,
                      r->quantum.most * m->sm.schedulers * m->sm.issue_width);
}

bool
timing_launch(struct timing_gpu *g, struct exec_grid *grid,
              const struct timing_plan *plan, struct launch_stats *out,
              struct diag_sink *diag)
{
    struct run r = {
        .g = g,
        .arena = &g->launch,
        .diag = diag,
        .launch = {.grid = grid, .kernel = &plan->demand, .plan = plan->residency}};
    grid->diag = diag;
    if (!exec_grid_check(grid, diag) || !sm_program_check(g->m, grid->prog, diag))
        return false;
    build_setup(&r, plan);
    r.launch.prog = sm_program_make(g->m, grid, &r.launch.setup, r.arena);
    r.launch.prog.thread_registers = occ_thread_registers(g->m, plan->demand.registers);
    prepare_mechanisms(&r);
    r.launch.blocks = (uint64_t)grid->grid.x * grid->grid.y * grid->grid.z;
    r.launch.start = g->now;
    r.launch.first_dispatch = g->now + g->m->gpu.launch_latency;
    r.launch.tick = g->now + r.launch.plan.period;
    r.launch.moved_at = g->now;
    r.launch.patience = patience(g->m);
    bool traced = g->trace && g->now < g->trace->cut;
    if (g->trace)
        trace_begin(g->trace, grid->prog->entry->name, g->now);
    r.launch.next_channels = traced ? g->now + CHANNELS_EVERY : NEVER;
    r.launch.next_sample = g->opt.sample_cycles ? g->now + g->opt.sample_cycles : NEVER;
    r.launch.progress_shown = clock_seconds(CLOCK_MONOTONIC);
    grid->nsm = g->m->sm.count;
    r.sm = ARENA_ARRAY(r.arena, struct sm, g->m->sm.count);
    plan_quanta(&r, plan->order);
    g->quanta = 0;
    memset(g->stats, 0, sizeof *g->stats * g->m->sm.count);
    memsys_begin(g->mem, r.team.threads > 1, g->opt.no_skip);
    for (unsigned i = 0; i < g->m->sm.count; i++) {
        ldst_begin(g->ldst[i], g->now);
        ldst_set_l1_ways(g->ldst[i], plan->l1_ways);
        ldst_no_skip(g->ldst[i], g->opt.no_skip);
        sm_init(&r.sm[i], r.arena, g->m, g->sched, &r.launch.setup, &r.launch.prog,
                g->ldst[i], &g->stats[i].s, r.quantum.log ? &r.quantum.log[i].log : NULL,
                i, g->now);
        r.sm[i].trace = traced ? &g->trace->sm[i] : NULL;
        r.sm[i].every = traced || g->opt.no_skip;
        if (g->opt.lines)
            r.sm[i].lines = sm_lines_new(r.arena, r.launch.prog.ninst, ldst_operations());
        ldst_count_lines(g->ldst[i], r.sm[i].lines);
    }
    const struct cta_launch l = {.machine = g->m,
                                 .kernel = grid->prog->entry->name,
                                 .grid = {grid->grid.x, grid->grid.y, grid->grid.z},
                                 .blocks = r.launch.blocks,
                                 .resident = r.launch.plan.blocks,
                                 .schedule = plan->schedule};
    dispatch_init(&r.launch.dispatch, r.arena, plan->order, &l, g->last_sm);
    run_start_blocks(&r, g->now);

    g->running = &r;
    bool ok = loop(&r);
    g->last_sm = r.launch.dispatch.last;
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
    g->running = NULL;
    for (unsigned i = 0; i < g->m->sm.count; i++)
        sm_free(&r.sm[i]);
    arena_reset(r.arena);
    return ok;
}
