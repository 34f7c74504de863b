/* schedule.c: list scheduling within basic blocks, so that loads issue early and what reads
 * them late, as ptxas orders them before it gives out registers.
 *
 * Each region of a block becomes a graph of dependences (schedule_graph.c), and is ordered from
 * its end within a number of registers (schedule_back.c). The order is kept if it stays within
 * the limit or within what the source needed. After an allocation the order is made again
 * (post_schedule.c), again as ptxas does. Cost: O(n log n) for n instructions. */
#include "passes/sched/schedule.h"
#include "passes/sched/schedule_int.h"

#include "passes/pass.h"
#include "passes/regalloc/register_allocate_int.h"

#include "analysis/defuse.h"
#include "analysis/uniform.h"
#include "analysis/fused.h"
#include "analysis/operands.h"
#include "ptx/expansion.h"

#include <stdlib.h>

enum { TRIES = 8 }; /* limits tried for a region */

/* An order of the region, and what it costs. */
struct result {
    uint32_t *order;
    uint64_t cycles;           /* of a warp alone, one instruction each */
    uint32_t peak;             /* most 32-bit registers live */
    uint32_t limit, by_source; /* of schedule_back that gave it */
};

/* -- orders -- */

/* Cycles of an order. */
static uint64_t
cycles_of(struct sched *s, const uint32_t *order)
{
    uint64_t now = 0, end = 0;
    for (size_t i = 0; i < s->node.n; i++)
        s->node.v[i].ready = 0;
    for (uint32_t k = 0; k < s->node.n; k++) {
        const struct sched_node *x = &s->node.v[order[k]];
        now = x->ready > now ? x->ready : now;
        end = now + (uint64_t)x->latency > end ? now + (uint64_t)x->latency : end;
        for (uint32_t e = x->first; e < schedule_edges_end(s, order[k]); e++) {
            struct sched_node *y = &s->node.v[s->succ.v[e].to];
            uint64_t at = now + (uint64_t)s->succ.v[e].latency;
            y->ready = at > y->ready ? at : y->ready;
        }
        now += !x->operand;
    }
    return end;
}

static void
measure(struct sched *s, struct result *out)
{
    out->cycles = cycles_of(s, out->order);
    out->peak = schedule_peak(s, out->order);
}

/* Sum over the loads from memory of the instructions from one to its first reader (to the
 * region's end where there is none). */
static uint64_t
distances(struct sched *s, const uint32_t *order, uint64_t *loads)
{
    uint32_t n = (uint32_t)s->node.n;
    uint32_t *place = ARENA_ARRAY(&s->mem, uint32_t, n + 1);
    uint64_t sum = 0;
    *loads = 0;
    for (uint32_t k = 0; k < n; k++)
        place[order[k]] = k;
    for (uint32_t i = 0; i < n; i++) {
        if (s->node.v[i].order != MOTION_LOAD)
            continue;
        uint32_t near = n, end = schedule_edges_end(s, i);
        for (uint32_t e = s->node.v[i].first; e < end; e++)
            if (s->succ.v[e].latency > 1 && place[s->succ.v[e].to] < near)
                near = place[s->succ.v[e].to];
        sum += near - place[i];
        ++*loads;
    }
    return sum;
}

/* -- regions -- */

/* An order within s->limit live registers, or within what order `was` needs; false: none was found.
 * What was started has to be ended, so it may take a lower limit to keep to one. */
static bool
within(struct sched *s, const struct result *was, struct result *out)
{
    const uint32_t most = was->peak > s->limit ? was->peak : s->limit;
    uint32_t limit = s->limit;
    for (int k = 0; k < TRIES; k++) {
        schedule_back(s, limit, was->order, out->order);
        measure(s, out);
        out->limit = limit;
        out->by_source = s->by_source;
        if (out->peak <= most)
            return true;
        if (limit <= out->peak - most)
            return false;
        limit -= out->peak - most;
    }
    return false;
}

struct ranked {
    int64_t depth;
    uint32_t node;
};

static int
by_depth(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    return a->depth != b->depth ? (a->depth > b->depth ? -1 : 1)
                                : (a->node > b->node ? -1 : a->node < b->node);
}

static void
rank_nodes(struct sched *s)
{
    const uint32_t n = (uint32_t)s->node.n;
    struct ranked *r = ARENA_ARRAY(&s->mem, struct ranked, n + 1);
    s->rank = ARENA_ARRAY(&s->mem, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        r[i] = (struct ranked){s->node.v[i].depth, i};
    qsort(r, n, sizeof *r, by_depth);
    for (uint32_t k = 0; k < n; k++)
        s->rank[r[k].node] = k;
}

/* Where the order by the longest path needs more than the limit: of those that go by the source's
 * order, too, the one that takes a warp alone least, if that is less than *out takes. Then
 * sums are formed one after the other, and each needs fewer of its operands at the same time. */
static bool
search_by_source(struct sched *s, const struct result *was, struct result *out,
                 bool found)
{
    if (found && !s->held) /* it is the longest path's */
        return true;
    const uint32_t most = was->peak > s->limit ? was->peak : s->limit;
    struct result r = {.order = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1)};
    schedule_back(s, UINT32_MAX, was->order, r.order);
    if (schedule_peak(s, r.order) <= most)
        return found;
    rank_nodes(s);
    for (s->by_source = 1; s->by_source <= SCHED_PARTS; s->by_source++)
        if (within(s, was, &r) && (!found || r.cycles < out->cycles)) {
            uint32_t *const free = out->order;
            *out = r;
            r.order = free;
            found = true;
        }
    s->by_source = 0;
    return found;
}

/* Another order that takes a warp alone no longer than order `was`; false: none was found. */
static bool
search(struct sched *s, const struct result *was, struct result *out)
{
    const size_t bytes = s->node.n * sizeof *out->order;
    const bool found = search_by_source(s, was, out, within(s, was, out));
    return found && out->cycles <= was->cycles && memcmp(out->order, was->order, bytes);
}

static uint32_t
live_units(const struct sched *s)
{
    uint32_t units = 0;
    for (uint32_t i = 0; i < s->set.n; i++)
        units += s->units[s->set.reg[i]];
    return units;
}

static uint32_t
live_predicates(const struct sched *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->set.n; i++)
        n += s->f->regs.v[s->set.reg[i]].type == PTX_PRED;
    return n;
}

/* The source's order, or the one that makes little live if that makes less live: then true. */
static bool
lower_pressure(struct sched *s, struct result *out)
{
    struct result least = {.order = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1)};
    for (uint32_t i = 0; i < s->node.n; i++)
        out->order[i] = i;
    measure(s, out);
    if (out->peak <= s->limit)
        return false;
    schedule_min_pressure(s, least.order);
    measure(s, &least);
    if (least.peak >= out->peak)
        return false;
    *out = least;
    return true;
}

/* Makes the order that was chosen a second time, and writes its choices down. found: what search
 * found; NULL: nothing, and the source's order stays, or that of least pressure. */
static void
trace_region(struct sched *s, const struct result *was, const struct result *found,
             bool lower)
{
    uint32_t *order = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1);
    schedule_trace_region(s, !found ? lower ? "in the order of minimum pressure"
                                            : "as they are: no order found is better"
                             : found->by_source
                                 ? "by longest path and place in the source"
                                 : "by longest path");
    if (!found)
        return;
    s->by_source = found->by_source;
    s->traced = true;
    schedule_back(s, found->limit, was->order, order);
    s->traced = false;
    s->by_source = 0;
}

/* Orders the region's nodes; s->end: registers live after it. */
static void
order_region(struct sched *s, uint32_t first, uint32_t end)
{
    uint32_t n = (uint32_t)s->node.n;
    struct result was = {.order = ARENA_ARRAY(&s->mem, uint32_t, n + 1)};
    struct result now = {.order = ARENA_ARRAY(&s->mem, uint32_t, n + 1)};
    uint32_t *source = ARENA_ARRAY(&s->mem, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        source[i] = i;
    const bool lower = lower_pressure(s, &was);
    const uint64_t cycles = lower ? cycles_of(s, source) : was.cycles;
    bool better = !s->as_it_is && search(s, &was, &now);
    if (s->trace)
        trace_region(s, &was, better ? &now : NULL, lower && !s->as_it_is);
    if (!better && lower && !s->as_it_is) {
        now = was;
        better = true;
    }
    if (better && s->given && !s->hold) {
        s->hold = true;
        s->filled |= schedule_peak(s, now.order) > s->limit;
        s->hold = false;
    }
    const uint32_t *order = better ? now.order : source;
    if (s->loads_of)
        schedule_note_loads(s, order, first);
    uint64_t loads;
    uint64_t far = distances(s, source, &loads);
    s->nloads += loads;
    s->far_before += far;
    s->far_after += better ? distances(s, order, &loads) : far;
    s->before += cycles;
    s->after += better ? now.cycles : cycles;
    s->changed += better;
    if (!better)
        return;
    for (uint32_t k = 0; k < n; k++) /* .loc directives within go to the end */
        s->order[first + k] = s->node.v[order[k]].inst;
    for (uint32_t i = first, k = first + n; i < end; i++)
        if (ptx_is_loc(&s->f->body.v[i]))
            s->order[k++] = i;
}

/* Notes what the region needs in the leaner of its orders. */
static void
measure_region(struct sched *s, uint32_t first, uint32_t end)
{
    struct result r = {.order = ARENA_ARRAY(&s->mem, uint32_t, s->node.n + 1)};
    (void)first;
    (void)end;
    s->limit = s->least; /* below that it does not matter */
    lower_pressure(s, &r);
    s->least = r.peak > s->least ? r.peak : s->least;
}

/* Goes back over instruction i, which stays; notes what it needs. */
static void
cross_barrier(struct sched *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    uint32_t most = live_units(s);
    live_step_back(in, &s->set);
    const uint32_t before = live_units(s);
    most = before > most ? before : most;
    most += s->expanded ? ptx_machine_registers(in) : 0;
    s->least = most > s->least ? most : s->least;
}

/* Walks the blocks, each from its end, region by region. s->set is live after the region while its
 * nodes are added, and before it when it is done. */
static void
each_region(struct sched *s, void (*done)(struct sched *, uint32_t first, uint32_t end))
{
    const struct cfg *g = s->live->cfg;
    for (uint32_t b = 0; b < g->n; b++) {
        const struct cfg_block *blk = &g->block[b];
        if (blk->rpo < 0)
            continue;
        live_set_end(s->live, b, &s->set);
        for (uint32_t end = blk->end; end > blk->first;) {
            const uint32_t first = schedule_region(s, blk, end);
            if (first == end) {
                cross_barrier(s, --end);
                continue;
            }
            for (uint32_t i = first; i < end; i++)
                if (!ptx_is_loc(&s->f->body.v[i]))
                    schedule_add(s, i);
            s->end = live_units(s);
            s->end_preds = live_predicates(s);
            schedule_finish_graph(s, end);
            done(s, first, end);
            for (uint32_t i = end; i-- > first;)
                live_step_back(&s->f->body.v[i], &s->set);
            schedule_forget(s);
            end = first;
        }
    }
}

/* -- the function -- */

/* Most registers with which as many warps fit as with what the function needs in the leaner
 * order of each region. Some are left to the allocator. */
static uint32_t
step_limit(struct sched *s)
{
    const struct register_room *given = s->given;
    uint32_t most = s->maxlive;
    s->least = register_room_for_values(register_step(s->f, 1, given));
    if (most > s->least && !s->as_it_is) {
        each_region(s, measure_region);
        most = s->least < most ? s->least : most;
    }
    const uint32_t step = register_room_for_values(register_step(s->f, most, given));
    return step > most ? step : most;
}

/* Reads the limit. given: room for what the machine gives. */
static bool
read_limit(struct sched *s, const struct pass_args *a, struct register_room *given,
           struct diag_sink *diag)
{
    const char *text = pass_arg(a, "registers");
    double n;
    if (!register_room_read(a, given, diag))
        return false;
    s->limit = UINT32_MAX;
    if (!strcmp(text, "step")) {
        s->given = given;
        s->limit = step_limit(s);
    } else if (!strcmp(text, "machine"))
        s->limit = register_room_for_values(given->most);
    else if (strcmp(text, "none") != 0) {
        if (!pass_arg_number(a, "registers", 1, 65535, &n, diag))
            return false;
        s->limit = (uint32_t)n;
    }
    return true;
}

static void
write_report(const struct sched *s, struct strbuf *report)
{
    if (!report || !s->nloads)
        return;
    strbuf_printf(report,
                  "%s: %u regions reordered, %llu -> %llu cycles of a warp alone, "
                  "%.1f -> %.1f instructions from a load to its first use, ",
                  s->f->name, s->changed, (unsigned long long)s->before,
                  (unsigned long long)s->after, (double)s->far_before / (double)s->nloads,
                  (double)s->far_after / (double)s->nloads);
    if (s->limit == UINT32_MAX)
        strbuf_addz(report, "no limit of registers\n");
    else
        strbuf_printf(report, "within %u live registers\n", s->limit);
    schedule_report_loads(s->loads_of, s->f, report);
}

/* The most registers that the source needs. */
static void
note_most(void *user, uint32_t inst, bool after, const struct live_set *set,
          uint32_t registers, uint32_t predicates)
{
    struct sched *s = user;
    (void)after;
    (void)set;
    (void)predicates;
    if (s->expanded)
        registers += ptx_machine_registers(&s->f->body.v[inst]);
    s->maxlive = registers > s->maxlive ? registers : s->maxlive;
}

/* Whether an allocation of the new order costs warps that the limit does not. */
static bool
costs_warps(const struct sched *s)
{
    struct ptx_func *copy = ra_snapshot(s->f);
    schedule_reorder(copy, s->order);
    const uint32_t needed = ra_needed(copy, s->operand);
    ra_snapshot_free(copy);
    return register_step(s->f, needed, s->given) >
           register_step(s->f, s->limit, s->given);
}

/* Orders all regions. Where an order keeps to the limit since registers take places between
 * another's last read and its next write, an allocation might find no such places, as values of 64
 * bits want aligned pairs: then all is ordered without. */
static void
order_regions(struct sched *s)
{
    const size_t loads = s->loads_of ? s->loads_of->load.n : 0;
    const size_t traced = s->trace ? s->trace->n : 0;
    each_region(s, order_region);
    if (!s->filled || !costs_warps(s))
        return;
    for (uint32_t i = 0; i < s->f->body.n; i++)
        s->order[i] = i;
    if (s->loads_of)
        s->loads_of->load.n = loads;
    if (s->trace)
        s->trace->n = traced;
    s->before = s->after = s->far_before = s->far_after = s->nloads = 0;
    s->changed = 0;
    s->hold = true;
    each_region(s, order_region);
}

/* What is done to a function. */
struct task {
    uint32_t limit; /* 0: as the pass's settings say */
    enum schedule_when when;
    struct schedule_loads *loads; /* NULL: they are not asked for */
};

/* Orders f, whose facts are x. */
static bool
order_function(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
               struct task t, bool *changed, struct diag_sink *diag)
{
    struct arena mem = {0};
    struct schedule_loads loads = {0};
    struct register_room given;
    struct sched s = {.f = f,
                      .live = x->live,
                      .carry = (uint32_t)f->regs.n,
                      .limit = t.limit,
                      .as_it_is = t.when != SCHEDULE_NOW,
                      .expanded = !strcmp(pass_arg(a, "expanded"), "yes"),
                      .loads_of = t.loads     ? t.loads
                                  : a->report ? &loads
                                              : NULL};
    s.trace = schedule_traces(a);
    if (s.loads_of)
        s.loads_of->ordered = t.when != SCHEDULE_NOT;
    s.set = live_set_new(&mem, x->live->nregs);
    s.use = ARENA_ARRAY(&mem, struct sched_use, f->regs.n + 1);
    s.units = ARENA_ARRAY(&mem, uint8_t, f->regs.n + 1);
    s.order = ARENA_ARRAY(&mem, uint32_t, f->body.n + 1);
    s.operand = !strcmp(pass_arg(a, "operands"), "late")
                    ? operands_late(f, x->defs, &mem)
                    : ARENA_ARRAY(&mem, bool, f->regs.n + 1);
    for (uint32_t i = 0; i < f->body.n; i++)
        s.order[i] = i;
    if (s.expanded) {
        uint8_t *slots = ARENA_ARRAY(&mem, uint8_t, f->body.n + 1);
        fused_operations(x->live, slots, NULL);
        s.slots = slots;
        s.diverged = uniform_diverged(x->cfg, &mem);
    }
    bool allocated = false;
    for (size_t r = 0; r < f->regs.n; r++) {
        allocated |= f->regs.v[r].place != 0;
        s.units[r] =
            s.operand[r] ? 0 : (uint8_t)((ptx_type_bytes(f->regs.v[r].type) + 3) / 4);
    }
    live_each_point_without(s.live, s.operand, note_most, &s);
    bool ok = !allocated;
    if (allocated) { /* names of physical registers overlap */
        struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                                  "schedule: the registers of %s are allocated", f->name);
        diag_hint(diag, d, "put register-allocate after it");
    }
    ok = ok && schedule_read_latencies(&s, a, diag) &&
         (t.limit || read_limit(&s, a, &given, diag));
    if (ok)
        order_regions(&s);
    if (ok && s.changed) {
        schedule_reorder(f, s.order);
        *changed = true;
    }
    if (ok)
        write_report(&s, a->report);
    vec_free(&loads.load);
    schedule_free(&s);
    arena_free(&mem);
    return ok;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    return order_function(f, x, a, (struct task){.when = SCHEDULE_NOW}, changed, diag);
}

/* The same of a function without facts, for another pass: nothing is reported. */
static bool
order_alone(struct ptx_func *f, const struct pass_args *a, struct task t,
            struct diag_sink *diag)
{
    struct pass_facts x = {.cfg = cfg_new(f)};
    struct pass_args quiet = *a;
    bool changed = false;
    x.live = live_new(x.cfg);
    x.defs = defs_new(x.cfg);
    quiet.report = NULL;
    bool ok = order_function(f, &x, &quiet, t, &changed, diag);
    defs_free(x.defs);
    live_free(x.live);
    cfg_free(x.cfg);
    return ok;
}

bool
schedule_within(struct ptx_func *f, const struct pass_args *a, uint32_t registers,
                struct diag_sink *diag)
{
    return order_alone(
        f, a,
        (struct task){.limit = register_room_for_values(registers), .when = SCHEDULE_NOW},
        diag);
}

bool
schedule_loads(struct ptx_func *f, const struct pass_args *a, enum schedule_when when,
               struct schedule_loads *out, struct diag_sink *diag)
{
    return order_alone(f, a, (struct task){.when = when, .loads = out}, diag);
}

static const struct pass_key keys[] = {
    {"registers", "step",
     "most 32-bit registers live at the same time: a number, none, machine: what it gives a thread, "
     "or step: as many as leave the warps of an SM what they are"},
    {"operands", "early",
     "late: parameters, constants and literals take no registers, since pass late-operands "
     "reads them where they are used; early: they take registers"},
    {"expanded", "no",
     "yes: what instructions need in between on a card takes registers; the machine's"},
    SCHEDULE_LATENCY_KEYS,
    REGISTER_ROOM_KEYS,
    SCHEDULE_TRACE_KEY,
    {0}};

const struct pass pass_schedule = {
    .name = "schedule",
    .meaning = "orders instructions so that loads issue early (list scheduling)",
    .keys = keys,
    .run_func = run,
    .needs = AN_CFG | AN_DEFS | AN_LIVE,
};
