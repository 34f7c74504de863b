/* post_schedule.c: list scheduling by the places of an allocation, as ptxas does after its own.
 *
 * ptxas orders twice: before it gives out registers (schedule.c) and after. What a register
 * held must be read before it is written again, so its second order depends on the places. Here
 * the registers are given out for a trial (ra_places); the order keeps to their places, and
 * the code stays in virtual registers. An allocation after finds as many again.
 *
 * From the begin of a region, of the instructions that all earlier ones allow, the one at the
 * begin of the longest path to the region's end goes next, of equal ones the first, but for
 *     - those that wait for a load,
 *     - accesses to scratchpad, while another access issues: others go between them. Loads
 *       from global memory do not let others between.
 * What leads to a load from beyond the SM waits for no ALU instruction either, others do: ptxas
 * fills the wait of an access to scratchpad for its address, but not that of a load from
 * global memory. Source: ptxas' code for small kernels and for the workloads (docs/registers.md).
 *
 * Operands (literals, parameters, constants; late_operands.c) stay before their readers
 * and take no places; nor do results that nobody reads. Cost: O(n log n) for n instructions, and an allocation. */
#include "passes/sched/schedule.h"
#include "passes/sched/schedule_int.h"

#include "base/pqueue.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "passes/regalloc/register_allocate_int.h"

#include "analysis/defuse.h"
#include "analysis/operands.h"
#include "analysis/uniform.h"
#include "analysis/fused.h"

struct post {
    struct sched s;
    struct pqueue ready, scratch, soon; /* by path; by the cycle they get ready */
    uint64_t *start;                    /* of each node: when its results let it */
    bool *far; /* of each node: it leads to a load from beyond the SM, or is one */
    uint64_t unit_free[SCHED_UNITS];
    uint64_t now;
    bool *operand; /* of each instruction of the body: it stays before its reader */
    uint32_t moved;
};

/* -- operands -- */

struct seen {
    int32_t reg;
    uint32_t reads;
};

static void
count_seen(void *user, int32_t r, bool write, bool partial)
{
    struct seen *x = user;
    (void)partial;
    x->reads += !write && r == x->reg;
}

/* The instruction after i in its block that is no operand and no .loc; end: none. */
static uint32_t
next_after(const struct post *p, uint32_t i, uint32_t end)
{
    do
        i++;
    while (i < end && (p->operand[i] || ptx_is_loc(&p->s.f->body.v[i])));
    return i;
}

/* Finds the operands: what takes no slot, comes from no register, and is read by the next
 * instruction only. */
static void
find_operands(struct post *p, const struct defs *defs, const uint32_t *reads)
{
    const struct ptx_func *f = p->s.f;
    for (uint32_t b = 0; b < p->s.live->cfg->n; b++) {
        const struct cfg_block *blk = &p->s.live->cfg->block[b];
        for (uint32_t i = blk->end; i-- > blk->first;) {
            const struct ptx_inst *in = &f->body.v[i];
            if (p->s.slots[i] || ptx_is_pseudo(in) || in->nops != 2 || in->guard >= 0 ||
                in->ops[0].kind != PTX_OPD_REG || in->ops[0].comp ||
                in->ops[1].kind == PTX_OPD_REG || in->ops[1].kind == PTX_OPD_VEC ||
                in->ops[1].reg >= 0)
                continue;
            struct seen x = {.reg = in->ops[0].reg};
            const uint32_t next = next_after(p, i, blk->end);
            if (next < blk->end && !schedule_is_barrier(&p->s, next))
                defuse_each(&f->body.v[next], count_seen, &x);
            p->operand[i] =
                defs->at[x.reg] == (int32_t)i && x.reads && x.reads == reads[x.reg];
        }
    }
}

/* -- the order of a region -- */

static void
make_ready(struct post *p, uint32_t i)
{
    const struct sched_node *x = &p->s.node.v[i];
    const uint64_t key = ((uint64_t)(INT32_MAX - x->height) << 24) + i;
    p->ready.key[i] = p->scratch.key[i] = key;
    p->soon.key[i] = x->ready;
    pqueue_add(&p->soon, i);
}

static uint32_t
take(struct post *p, struct pqueue *q, const char *why)
{
    const uint32_t candidates = p->ready.n + p->scratch.n + p->soon.n, i = pqueue_take(q);
    if (p->s.trace)
        schedule_trace(&p->s, i, p->now, candidates, UINT32_MAX, why);
    return i;
}

static uint32_t
pick(struct post *p)
{
    for (;;) {
        while (p->soon.n && p->soon.key[p->soon.v[0]] <= p->now) {
            uint32_t i = pqueue_take(&p->soon);
            bool scratch = schedule_is_scratch(&p->s, &p->s.node.v[i]);
            pqueue_add(scratch ? &p->scratch : &p->ready, i);
        }
        const uint64_t memory = p->unit_free[SCHED_UNIT_MEMORY];
        const bool can = p->scratch.n && memory <= p->now;
        if (p->ready.n &&
            (!can || p->ready.key[p->ready.v[0]] < p->scratch.key[p->scratch.v[0]]))
            return take(p, &p->ready, "longest path");
        if (can)
            return take(p, &p->scratch, "longest path, and the shared memory is free");
        uint64_t next = p->soon.n ? p->soon.key[p->soon.v[0]] : UINT64_MAX;
        p->now = p->scratch.n && memory < next ? memory : next;
    }
}

static void
issue(struct post *p, uint32_t i)
{
    struct sched *s = &p->s;
    const struct sched_node *x = &s->node.v[i];
    const bool load = ptx_ops[s->f->body.v[x->inst].op].flags & PTX_LOAD &&
                      !operands_constant(s->f, &s->f->body.v[x->inst]);
    uint64_t *unit = &p->unit_free[x->unit];
    p->now = p->start[i] > p->now ? p->start[i] : p->now;
    p->now = *unit > p->now ? *unit : p->now;
    *unit = p->now + x->busy;
    for (uint32_t e = x->first; e < schedule_edges_end(s, i); e++) {
        const struct sched_edge *to = &s->succ.v[e];
        struct sched_node *y = &s->node.v[to->to];
        const uint64_t at = p->now + (uint64_t)to->taken;
        p->start[to->to] = at > p->start[to->to] ? at : p->start[to->to];
        if ((load || !p->far[to->to]) && to->taken > 1 && at > y->ready)
            y->ready = at;
        if (!--y->waits)
            make_ready(p, to->to);
    }
    p->now += x->slots;
}

static bool
is_far(const struct sched *s, const struct sched_node *x)
{
    const struct ptx_inst *in = &s->f->body.v[x->inst];
    const enum ptx_space space = ptx_inst_space(in);
    return ptx_ops[in->op].flags & PTX_LOAD && !operands_constant(s->f, in) &&
           space != PTX_SPACE_SHARED && space != PTX_SPACE_CONST &&
           space != PTX_SPACE_PARAM;
}

static void
find_far(struct post *p)
{
    const struct sched *s = &p->s;
    for (uint32_t i = (uint32_t)s->node.n; i-- > 0;) {
        p->far[i] = is_far(s, &s->node.v[i]);
        for (uint32_t e = s->node.v[i].first; e < schedule_edges_end(s, i); e++)
            p->far[i] |= p->far[s->succ.v[e].to];
    }
}

static void
order_nodes(struct post *p, uint32_t *order)
{
    struct sched *s = &p->s;
    const uint32_t n = (uint32_t)s->node.n;
    p->ready = pqueue_new(&s->mem, n);
    p->scratch = pqueue_new(&s->mem, n);
    p->soon = pqueue_new(&s->mem, n);
    p->start = ARENA_ARRAY(&s->mem, uint64_t, n + 1);
    p->far = ARENA_ARRAY(&s->mem, bool, n + 1);
    find_far(p);
    p->now = 0;
    memset(p->unit_free, 0, sizeof p->unit_free);
    for (uint32_t i = 0; i < n; i++) {
        struct sched_node *x = &s->node.v[i];
        x->waits = schedule_edges_in_end(s, i) - x->first_in;
        x->ready = 0;
        if (!x->waits)
            make_ready(p, i);
    }
    for (uint32_t k = 0; k < n; k++) {
        order[k] = pick(p);
        p->moved += order[k] != k;
        issue(p, order[k]);
    }
}

/* Writes node x and its operands from place `at` on; returns the place after. */
static uint32_t
place_node(struct post *p, const struct sched_node *x, uint32_t at)
{
    uint32_t from = x->inst;
    for (uint32_t left = x->glued; left;)
        left -= p->operand[--from];
    for (uint32_t i = from; i <= x->inst; i++)
        if (!ptx_is_loc(&p->s.f->body.v[i]))
            p->s.order[at++] = i;
    return at;
}

static void
order_region(struct post *p, uint32_t first, uint32_t end)
{
    struct sched *s = &p->s;
    uint32_t glued = 0, at = first;
    for (uint32_t i = first; i < end; i++) {
        if (ptx_is_loc(&s->f->body.v[i]))
            continue;
        if (p->operand[i]) {
            glued++;
            continue;
        }
        schedule_add(s, i);
        s->node.v[s->node.n - 1].glued = glued;
        glued = 0;
    }
    const uint32_t n = (uint32_t)s->node.n;
    uint32_t *order = ARENA_ARRAY(&s->mem, uint32_t, n + 1);
    schedule_finish_graph(s, end);
    if (s->trace)
        schedule_trace_region(s, "by longest path");
    order_nodes(p, order);
    for (uint32_t k = 0; k < n; k++)
        at = place_node(p, &s->node.v[order[k]], at);
    for (uint32_t i = first; i < end; i++) /* .loc directives within go to the end */
        if (ptx_is_loc(&s->f->body.v[i]))
            s->order[at++] = i;
}

/* -- the function -- */

static void
order_blocks(struct post *p)
{
    const struct cfg *g = p->s.live->cfg;
    for (uint32_t b = 0; b < g->n; b++) {
        const struct cfg_block *blk = &g->block[b];
        for (uint32_t end = blk->end; g->block[b].rpo >= 0 && end > blk->first;) {
            const uint32_t first = schedule_region(&p->s, blk, end);
            if (first < end) {
                order_region(p, first, end);
                schedule_forget(&p->s);
            }
            end = first < end ? first : end - 1;
        }
    }
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    struct ra_spreading room;
    struct arena mem = {0};
    struct post p = {.s = {.f = f,
                           .live = x->live,
                           .carry = (uint32_t)f->regs.n,
                           .expanded = !strcmp(pass_arg(a, "expanded"), "yes")}};
    struct sched *s = &p.s;
    if (!ra_read_room(a, &room, diag) || !schedule_read_latencies(s, a, diag))
        return false;
    int32_t *place = ra_places(f, &room, &mem);
    if (!place) { /* registers would be spilled: an order by their places says nothing */
        arena_free(&mem);
        return true;
    }
    uint8_t *slots = ARENA_ARRAY(&mem, uint8_t, f->body.n + 1);
    fused_operations(x->live, slots, NULL);
    s->slots = slots;
    s->use = ARENA_ARRAY(&mem, struct sched_use, 2 * f->regs.n + 2 + RA_MAX_UNITS);
    s->order = ARENA_ARRAY(&mem, uint32_t, f->body.n + 1);
    s->operand = ARENA_ARRAY(&mem, bool, f->regs.n + 1);
    p.operand = ARENA_ARRAY(&mem, bool, f->body.n + 1);
    if (s->expanded)
        s->diverged = uniform_diverged(s->live->cfg, &mem);
    const uint32_t *reads = rewrite_count_reads(f, &mem);
    find_operands(&p, x->defs, reads);
    for (uint32_t i = 0; i < f->body.n; i++) {
        s->order[i] = i;
        if (p.operand[i])
            place[f->body.v[i].ops[0].reg] = RA_NONE;
    }
    for (size_t r = 0; r < f->regs.n; r++)
        if (!reads[r]) /* a card writes no register (RZ) */
            place[r] = RA_NONE;
    s->place = place;
    s->trace = schedule_traces(a);
    order_blocks(&p);
    if (p.moved) {
        schedule_reorder(f, s->order);
        *changed = true;
    }
    if (a->report && p.moved)
        strbuf_printf(a->report, "%s: %u instructions at other places of their blocks\n",
                      f->name, p.moved);
    schedule_free(s);
    arena_free(&mem);
    return true;
}

static const struct pass_key keys[] = {
    {"expanded", "no",
     "yes: instructions are several operations on a card; the machine's"},
    SCHEDULE_LATENCY_KEYS,
    RA_ROOM_KEYS,
    SCHEDULE_TRACE_KEY,
    {0}};

const struct pass pass_post_schedule = {
    .name = "post-schedule",
    .meaning =
        "orders instructions again, by the places that an allocation gives registers",
    .keys = keys,
    .run_func = run,
    .needs = AN_CFG | AN_DEFS | AN_LIVE,
};
