/* schedule_loads.c: when the loads of a region start, when they could, and what keeps them.
 *
 * An order is replayed for a warp alone that issues one instruction a cycle. Where an
 * instruction waits for its operands, the cycles belong to the load whose result came last.
 * A load could start as soon as the longest path of dependences to it allows, as if issue
 * slots and registers were without limit. Followed back from it, that path ends at what
 * bounds the load: an access, a barrier, another load, or the region's start.
 *
 * Example (latency of a load 500):          issued at   could start   waits   late
 *     ld.global.f32 %f1, [%rd1];                    0             0     499      0
 *     add.f32       %f2, %f1, %f2;                500
 *     ld.global.f32 %f3, [%rd1+4];                501             0     499    499
 *     add.f32       %f2, %f3, %f2;               1001
 * The second load is late: the warp did nothing in 499 cycles in which it might have started.
 *
 * Cost: O(instructions + edges + loads x log instructions). */
#include "passes/sched/schedule_int.h"

#include "ptx/print.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_REPORTED = 8 };

/* The region in its order. */
struct replay {
    uint64_t *at;    /* of each node: cycle in which it issues */
    uint64_t *idle;  /* of each place: cycles without an instruction before it, summed */
    uint64_t *wait;  /* of each node: cycles that others waited for it alone */
    uint32_t *place; /* of each node */
    uint32_t *live;  /* of each place: registers live after it */
    uint32_t *use;   /* of each node: place of its first reader, UINT32_MAX: none */
    uint64_t *earliest; /* of each node: when it could start */
    int64_t *by;        /* ... and the edge of s->succ that says so, -1: none */
};

static bool
is_load(const struct sched *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[s->node.v[i].inst];
    enum ptx_space space = ptx_inst_space(in);
    return ptx_ops[in->op].flags & PTX_LOAD && space != PTX_SPACE_PARAM &&
           space != PTX_SPACE_CONST;
}

static void
find_earliest(const struct sched *s, struct replay *r)
{
    for (uint32_t i = 0; i < s->node.n; i++)
        r->by[i] = -1;
    for (uint32_t i = 0; i < s->node.n; i++) { /* edges go forward in the source */
        uint32_t end = schedule_edges_end(s, i);
        for (uint32_t e = s->node.v[i].first; e < end; e++) {
            uint32_t to = s->succ.v[e].to;
            uint64_t t = r->earliest[i] + (uint64_t)s->succ.v[e].latency;
            if (t > r->earliest[to] || r->by[to] < 0) {
                r->earliest[to] = t;
                r->by[to] = e;
            }
        }
    }
}

static void
play(struct sched *s, const uint32_t *order, struct replay *r)
{
    uint32_t n = (uint32_t)s->node.n;
    uint64_t *ready = ARENA_ARRAY(&s->mem, uint64_t, n + 1), now = 0, idle = 0;
    uint32_t *last = ARENA_ARRAY(&s->mem, uint32_t, n + 1); /* node that gave `ready` */
    schedule_back_start(s);
    for (uint32_t k = n; k-- > 0;) {
        r->live[k] = s->now_live;
        schedule_back_step(s, order[k]);
    }
    for (uint32_t k = 0; k < n; k++, now++) {
        uint32_t i = order[k], end = schedule_edges_end(s, i);
        if (ready[i] > now) {
            idle += ready[i] - now;
            r->wait[last[i]] += ready[i] - now;
            now = ready[i];
        }
        r->idle[k] = idle;
        r->at[i] = now;
        r->place[i] = k;
        r->use[i] = UINT32_MAX;
        for (uint32_t e = s->node.v[i].first; e < end; e++) {
            uint32_t to = s->succ.v[e].to;
            uint64_t t = now + (uint64_t)s->succ.v[e].latency;
            if (t > ready[to]) {
                ready[to] = t;
                last[to] = i;
            }
        }
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = s->node.v[i].first; e < schedule_edges_end(s, i); e++) {
            const struct sched_edge *x = &s->succ.v[e];
            if (x->why == SCHED_WHY_REGISTER && x->latency == s->node.v[i].latency &&
                r->place[x->to] < r->use[i])
                r->use[i] = r->place[x->to];
        }
}

/* Cycles from `from` to place k in which nothing issued; *first: the first place after. */
static uint64_t
idle_since(const struct replay *r, const uint32_t *order, uint64_t from, uint32_t k,
           uint32_t *first)
{
    uint32_t lo = 0, hi = k;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (r->at[order[mid]] < from)
            lo = mid + 1;
        else
            hi = mid;
    }
    *first = lo;
    uint64_t before = lo ? r->idle[lo - 1] : 0, gap = r->idle[lo] - before;
    uint64_t inside = r->at[order[lo]] - from; /* of the gap before place lo */
    return r->idle[k] - r->idle[lo] + (inside < gap ? inside : gap);
}

/* Line of the branch or label where a block begins. */
static uint32_t
line_near(const struct ptx_func *f, uint32_t i)
{
    for (uint32_t k = i; k < f->body.n && k < i + 4; k++)
        if (f->body.v[k].line && !ptx_is_loc(&f->body.v[k]))
            return f->body.v[k].line;
    return 0;
}

static void
bound_by_start(const struct sched *s, uint32_t first, struct schedule_load *l)
{
    const struct ptx_func *f = s->f;
    const struct cfg *g = s->live->cfg;
    const struct cfg_block *b = &g->block[g->block_of[first]];
    uint32_t k = first;
    while (k > b->first &&
           (ptx_is_loc(&f->body.v[k - 1]) || f->body.v[k - 1].op == PTX_OP_LABEL ||
            f->body.v[k - 1].op == PTX_OP_DIRECTIVE))
        k--;
    if (k > b->first) {
        l->bound = SCHEDULE_STAYS;
        l->bound_line = f->body.v[k - 1].line;
        return;
    }
    l->bound = g->block_of[first] ? SCHEDULE_BLOCK : SCHEDULE_KERNEL;
    l->bound_line = line_near(f, b->first);
}

static void
find_bound(const struct sched *s, const struct replay *r, uint32_t i, uint32_t first,
           struct schedule_load *l)
{
    for (;;) {
        int64_t by = r->by[i];
        if (by < 0) {
            bound_by_start(s, first, l);
            return;
        }
        const struct sched_edge *e = &s->succ.v[by];
        l->bound_line = s->f->body.v[s->node.v[e->from].inst].line;
        if (e->why != SCHED_WHY_REGISTER) {
            l->bound = e->why == SCHED_WHY_MEMORY ? SCHEDULE_MEMORY : SCHEDULE_FENCE;
            return;
        }
        if (is_load(s, e->from)) {
            l->bound = SCHEDULE_LOADED;
            return;
        }
        i = e->from;
    }
}

/* Why it starts at place k and not at `from`. */
static enum schedule_late
why_late(const struct sched *s, const struct replay *r, uint32_t i, uint32_t from)
{
    if (!s->loads_of->ordered)
        return SCHEDULE_ORDER;
    const struct ptx_inst *in = &s->f->body.v[s->node.v[i].inst];
    uint32_t units = 1;
    if (in->nops && in->ops[0].kind == PTX_OPD_REG)
        units = s->units[in->ops[0].reg];
    else if (in->nops && in->ops[0].kind == PTX_OPD_VEC)
        units = in->ops[0].n;
    for (uint32_t k = from; k < r->place[i]; k++)
        if (s->limit != UINT32_MAX && r->live[k] + units > s->limit)
            return SCHEDULE_PRESSURE;
    return SCHEDULE_NO_GAIN;
}

void
schedule_note_loads(struct sched *s, const uint32_t *order, uint32_t first)
{
    uint32_t n = (uint32_t)s->node.n;
    struct replay r = {.at = ARENA_ARRAY(&s->mem, uint64_t, n + 1),
                       .idle = ARENA_ARRAY(&s->mem, uint64_t, n + 1),
                       .wait = ARENA_ARRAY(&s->mem, uint64_t, n + 1),
                       .place = ARENA_ARRAY(&s->mem, uint32_t, n + 1),
                       .live = ARENA_ARRAY(&s->mem, uint32_t, n + 1),
                       .use = ARENA_ARRAY(&s->mem, uint32_t, n + 1),
                       .earliest = ARENA_ARRAY(&s->mem, uint64_t, n + 1),
                       .by = ARENA_ARRAY(&s->mem, int64_t, n + 1)};
    find_earliest(s, &r);
    play(s, order, &r);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_load(s, i))
            continue;
        struct schedule_load *l = vec_push(&s->loads_of->load);
        *l = (struct schedule_load){.inst = s->node.v[i].inst,
                                    .line = s->f->body.v[s->node.v[i].inst].line,
                                    .wait = r.wait[i]};
        uint32_t from, k = r.place[i];
        l->to_use = r.use[i] == UINT32_MAX ? 0 : r.use[i] - k;
        l->late = idle_since(&r, order, r.earliest[i], k, &from);
        l->why_late = l->late ? (uint8_t)why_late(s, &r, i, from) : SCHEDULE_NOT_LATE;
        find_bound(s, &r, i, first, l);
    }
}

/* -- words -- */

void
schedule_bound_words(const struct schedule_load *l, struct strbuf *out)
{
    static const char *const words[] = {
        [SCHEDULE_KERNEL] = "the kernel begins",
        [SCHEDULE_BLOCK] = "its basic block begins",
        [SCHEDULE_STAYS] = "a call or a read of a clock",
        [SCHEDULE_MEMORY] = "an access that may touch the same bytes",
        [SCHEDULE_FENCE] = "a barrier, fence, atomic or volatile access",
        [SCHEDULE_LOADED] = "a load that its address comes from"};
    strbuf_addz(out, words[l->bound]);
    if (l->bound_line && l->bound != SCHEDULE_KERNEL)
        strbuf_printf(out, " (line %u)", l->bound_line);
}

const char *
schedule_late_words(enum schedule_late why)
{
    static const char *const words[] = {
        [SCHEDULE_NOT_LATE] = "",
        [SCHEDULE_ORDER] = "by the order of the PTX; pass schedule moves it",
        [SCHEDULE_PRESSURE] = "for the limit of registers",
        [SCHEDULE_NO_GAIN] = "without loss: other instructions take as long"};
    return words[why];
}

static bool
loses(const struct schedule_load *l)
{
    return l->late && l->why_late != SCHEDULE_NO_GAIN;
}

static bool
is_reported(const struct schedule_load *l)
{
    return l->wait || loses(l);
}

static int
longest_first(const void *a, const void *b)
{
    const struct schedule_load *x = *(const struct schedule_load *const *)a,
                               *y = *(const struct schedule_load *const *)b;
    if (x->wait != y->wait)
        return x->wait < y->wait ? 1 : -1;
    if (x->late != y->late)
        return x->late < y->late ? 1 : -1;
    return (x->inst > y->inst) - (x->inst < y->inst);
}

void
schedule_report_loads(const struct schedule_loads *l, const struct ptx_func *f,
                      struct strbuf *report)
{
    const struct schedule_load **by = xmalloc((l->load.n + 1) * sizeof *by);
    size_t n = 0, late = 0;
    for (size_t i = 0; i < l->load.n; i++) {
        by[n++] = &l->load.v[i];
        late += loses(&l->load.v[i]);
    }
    qsort(by, n, sizeof *by, longest_first);
    strbuf_printf(report, "%s: %zu loads, %zu start later than they could\n", f->name, n,
                  late);
    for (size_t i = 0; i < n && i < MOST_REPORTED && is_reported(by[i]); i++) {
        strbuf_printf(report, "    line %u: %llu cycles waited for", by[i]->line,
                      (unsigned long long)by[i]->wait);
        if (by[i]->to_use)
            strbuf_printf(report, ", first use %u instructions later", by[i]->to_use);
        strbuf_addz(report, "; not before ");
        schedule_bound_words(by[i], report);
        if (loses(by[i]))
            strbuf_printf(report, "; %llu cycles late %s",
                          (unsigned long long)by[i]->late,
                          schedule_late_words(by[i]->why_late));
        strbuf_addz(report, "\n");
    }
    free(by);
}
