/* regions.c: scratchpad access regions.
 *
 *   1  two data-flow problems over bytes: written before (forward), read after (backward)
 *   2  held[i], of each instruction: it touches the scratchpad, or some byte is both
 *   3  held is made wider until its borders stand within blocks of the flow graph that all
 *      threads of the grid (or of a block) run equally often: edges that meet have one
 *      state (a bundle), and a block that is not uniform is held as a whole, or not at all
 *
 *          if (tid < 8)        not uniform: the arm is held, so are the
 *              s[tid] = x;     edges into and out of it
 *          bar.sync;
 *          y = s[0];           last read
 *                         take stands before the branch, give after the read */
#include "analysis/regions.h"

#include "analysis/defuse.h"
#include "analysis/loops.h"
#include "base/bitset.h"

#include <stdarg.h>
#include <stdio.h>

enum { UNKNOWN_TRIPS = 10 };

struct find {
    struct regions *r;
    const struct cfg *g;
    const struct ptx_func *f;
    const struct scratch_use *use;
    const scratch_set *touch;
    const struct region_bytes *bytes;
    struct uniform *uni;
    enum uniform_level places;
    size_t n;                   /* cells: bytes */
    uint64_t **of_bit;          /* cells of each variable's bit */
    uint64_t **before, **after; /* at the start of each block; at its end */
    uint64_t *set;              /* scratch */
    bool *held;                 /* of each instruction */
    uint32_t *bundle; /* of the edges into block v: bundle[v]; out of it: bundle[n + v] */
    bool *full;       /* of each bundle: held */
    bool changed;
};

static uint32_t
line_of(const struct ptx_func *f, uint32_t i)
{
    while (i && !f->body.v[i].line)
        i--;
    return f->body.v[i].line;
}

/* The first reason stays. */
static bool __attribute__((format(printf, 3, 4)))
refuse(struct find *s, uint32_t inst, const char *format, ...)
{
    struct strbuf b = {0};
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (s->r->why)
        return false;
    s->r->line = line_of(s->f, inst);
    strbuf_printf(&b, "%s (line %u)", text, s->r->line);
    s->r->why = b.s;
    return false;
}

/* -- bytes -- */

uint64_t
regions_cells(const struct scratch_use *u, uint64_t dynamic)
{
    bool extern_arrays = u->var.n && u->var.v[u->var.n - 1].var->dynamic;
    return extern_arrays ? u->layout.dynamic_base + (dynamic ? dynamic : 1)
                         : u->layout.bytes;
}

static void
make_cells(struct find *s, uint64_t dynamic)
{
    const struct scratch_use *u = s->use;
    s->n = regions_cells(u, dynamic);
    s->of_bit = ARENA_ARRAY(&s->r->mem, uint64_t *, 64);
    for (unsigned b = 0; b < 64; b++)
        s->of_bit[b] = bitset_new(&s->r->mem, s->n + 1);
    for (size_t i = 0; i < u->var.n; i++) {
        const struct ptx_var *v = u->var.v[i].var;
        uint64_t end = v->dynamic ? s->n : u->var.v[i].at + v->size;
        for (uint64_t k = u->var.v[i].at; k < end; k++)
            bitset_add(s->of_bit[scratch_bit(u, i)], k);
    }
    s->set = bitset_new(&s->r->mem, s->n + 1);
}

/* set |= what instruction i may touch. */
static void
add_touched(const struct find *s, uint32_t i, uint64_t *set)
{
    if (!s->touch[i])
        return;
    if (s->bytes && s->bytes[i].may) {
        bitset_or(set, s->bytes[i].may, s->n);
        return;
    }
    FOR_BITS(b, s->touch[i])
    bitset_or(set, s->of_bit[b], s->n);
}

static bool
writes(const struct ptx_inst *in)
{
    /* an instruction that is neither (an asynchronous copy) may do both */
    unsigned flags = ptx_ops[in->op].flags;
    return flags & (PTX_STORE | PTX_ATOMIC) || !(flags & PTX_LOAD);
}

static bool
reads(const struct ptx_inst *in)
{
    unsigned flags = ptx_ops[in->op].flags;
    return flags & (PTX_LOAD | PTX_ATOMIC) || !(flags & PTX_STORE);
}

static void
step_forward(const struct find *s, uint32_t i, uint64_t *set)
{
    if (s->touch[i] && writes(&s->f->body.v[i]))
        add_touched(s, i, set);
}

static void
step_backward(const struct find *s, uint32_t i, uint64_t *set)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    if (!s->touch[i])
        return;
    /* threads of a block that do not all come here do not write all of it */
    if (s->bytes && s->bytes[i].must && !reads(in) &&
        s->uni->block[s->g->block_of[i]] < UNIFORM_NOT)
        for (size_t k = 0; k < BITSET_WORDS(s->n); k++)
            set[k] &= ~s->bytes[i].must[k];
    if (reads(in))
        add_touched(s, i, set);
}

/* set -= what is not read after block v, as all ways from there write it again. */
static void
drop_dead(const struct find *s, uint32_t v, uint64_t *set)
{
    const uint32_t last = s->g->block[v].end - 1;
    if (!s->bytes || !s->bytes[last].dead || s->uni->block[v] == UNIFORM_NOT)
        return;
    for (size_t k = 0; k < BITSET_WORDS(s->n); k++)
        set[k] &= ~s->bytes[last].dead[k];
}

static void
solve(struct find *s)
{
    const struct cfg *g = s->g;
    s->before = ARENA_ARRAY(&s->r->mem, uint64_t *, g->n + 1);
    s->after = ARENA_ARRAY(&s->r->mem, uint64_t *, g->n + 1);
    for (uint32_t v = 0; v < g->n; v++) {
        s->before[v] = bitset_new(&s->r->mem, s->n + 1);
        s->after[v] = bitset_new(&s->r->mem, s->n + 1);
    }
    const size_t bytes = BITSET_WORDS(s->n + 1) * sizeof *s->set;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < g->nrpo; k++) {
            const struct cfg_block *b = &g->block[g->rpo[k]];
            memcpy(s->set, s->before[g->rpo[k]], bytes);
            for (uint32_t i = b->first; i < b->end; i++)
                step_forward(s, i, s->set);
            for (uint32_t e = 0; e < b->nsucc; e++)
                if (b->succ[e] >= 0)
                    changed |= bitset_or(s->before[b->succ[e]], s->set, s->n);
        }
        for (uint32_t k = g->nrpo; k-- > 0;) {
            const struct cfg_block *b = &g->block[g->rpo[k]];
            memcpy(s->set, s->after[g->rpo[k]], bytes);
            drop_dead(s, g->rpo[k], s->set);
            for (uint32_t i = b->end; i-- > b->first;)
                step_backward(s, i, s->set);
            for (uint32_t e = 0; e < b->npred; e++)
                changed |= bitset_or(s->after[b->pred[e]], s->set, s->n);
        }
    }
    for (uint32_t v = 0; v < g->n; v++)
        drop_dead(s, v, s->after[v]);
}

static bool
meet(const uint64_t *a, const uint64_t *b, size_t n)
{
    for (size_t i = 0; i < BITSET_WORDS(n); i++)
        if (a[i] & b[i])
            return true;
    return false;
}

/* -- what is held -- */

static uint32_t
find_bundle(uint32_t *parent, uint32_t x)
{
    while (parent[x] != x)
        x = parent[x] = parent[parent[x]];
    return x;
}

/* Edges that leave one block are one bundle, and so are edges that enter one. */
static void
make_bundles(struct find *s)
{
    const struct cfg *g = s->g;
    s->bundle = ARENA_ARRAY(&s->r->mem, uint32_t, 2 * (size_t)g->n + 1);
    s->full = ARENA_ARRAY(&s->r->mem, bool, 2 * (size_t)g->n + 1);
    for (uint32_t v = 0; v < 2 * g->n; v++)
        s->bundle[v] = v;
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t e = 0; e < g->block[v].nsucc; e++)
            if (g->block[v].succ[e] >= 0)
                s->bundle[find_bundle(s->bundle, g->n + v)] =
                    find_bundle(s->bundle, (uint32_t)g->block[v].succ[e]);
    for (uint32_t v = 0; v < 2 * g->n; v++)
        s->bundle[v] = find_bundle(s->bundle, v);
}

static void
hold_first(struct find *s)
{
    const struct cfg *g = s->g;
    const size_t bytes = BITSET_WORDS(s->n + 1) * sizeof *s->set;
    s->held = ARENA_ARRAY(&s->r->mem, bool, s->f->body.n + 1);
    uint64_t *live = bitset_new(&s->r->mem, s->n + 1);
    for (uint32_t k = 0; k < g->nrpo; k++) {
        const uint32_t v = g->rpo[k];
        const struct cfg_block *b = &g->block[v];
        bool any = meet(s->before[v], s->after[v], s->n);
        for (uint32_t i = b->first; i < b->end; i++)
            any |= s->touch[i] != 0;
        if (!any)
            continue;
        memcpy(live, s->after[v], bytes);
        memcpy(s->set, s->before[v], bytes);
        for (uint32_t j = b->first; j < b->end; j++)
            step_forward(s, j, s->set);
        bool data = meet(s->set, live, s->n);
        s->full[s->bundle[g->n + v]] |= data;
        for (uint32_t i = b->end; i-- > b->first;) {
            if (s->touch[i]) { /* elsewhere neither set changes */
                step_backward(s, i, live);
                memcpy(s->set, s->before[v], bytes);
                for (uint32_t j = b->first; j < i; j++)
                    step_forward(s, j, s->set);
                data = meet(s->set, live, s->n);
            }
            s->held[i] = s->touch[i] || data;
        }
        s->full[s->bundle[v]] |= data;
    }
}

static void
fill(struct find *s, bool *b)
{
    s->changed |= !*b;
    *b = true;
}

static void
widen(struct find *s)
{
    const struct cfg *g = s->g;
    do {
        s->changed = false;
        for (uint32_t k = 0; k < g->nrpo; k++) {
            const uint32_t v = g->rpo[k];
            const struct cfg_block *b = &g->block[v];
            bool *in = &s->full[s->bundle[v]], *out = &s->full[s->bundle[g->n + v]];
            bool any = *in || *out;
            if (b->end == b->first) /* an empty body */
                continue;
            const struct ptx_inst *last = &s->f->body.v[b->end - 1];
            /* no place is between a branch and the edges that leave it */
            if (cfg_targets(last, NULL, 0) || ptx_ops[last->op].flags & PTX_ENDS) {
                if (s->held[b->end - 1])
                    fill(s, out);
                if (*out)
                    fill(s, &s->held[b->end - 1]);
            }
            for (uint32_t i = b->first; i < b->end; i++)
                any |= s->held[i];
            if (!any || s->uni->block[v] <= s->places)
                continue;
            fill(s, in);
            fill(s, out);
            for (uint32_t i = b->first; i < b->end; i++)
                fill(s, &s->held[i]);
        }
    } while (s->changed);
}

static void
close_gaps(struct find *s, unsigned gap)
{
    for (uint32_t v = 0; v < s->g->n; v++) {
        const struct cfg_block *b = &s->g->block[v];
        uint32_t start = UINT32_MAX; /* after a held instruction of this block */
        unsigned between = 0;
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &s->f->body.v[i];
            if (s->held[i]) {
                for (uint32_t j = start; j < i && between <= gap; j++)
                    s->held[j] = true;
                start = i + 1;
                between = 0;
            } else {
                between += !ptx_is_pseudo(in) && ptx_ops[in->op].unit != PTX_UNIT_BARRIER;
            }
        }
    }
}

/* -- what is refused -- */

/* Registers that hold what other blocks may have written. */
struct taint {
    uint64_t *reg;
    bool source, changed;
};

static void
taint_read(void *user, int32_t reg, bool write, bool partial)
{
    struct taint *t = user;
    (void)partial;
    t->source |= !write && bitset_has(t->reg, (size_t)reg);
}

static void
taint_write(void *user, int32_t reg, bool write, bool partial)
{
    struct taint *t = user;
    (void)partial;
    if (write && t->source && !bitset_has(t->reg, (size_t)reg)) {
        bitset_add(t->reg, (size_t)reg);
        t->changed = true;
    }
}

/* Does the instruction read global memory in the way in which blocks talk to each other?
 */
static bool
listens(const struct ptx_inst *in)
{
    const unsigned flags = ptx_ops[in->op].flags;
    enum ptx_space space = ptx_inst_space(in);
    if ((space != PTX_SPACE_GLOBAL && space != PTX_SPACE_NONE) ||
        !(flags & (PTX_LOAD | PTX_ATOMIC)))
        return false;
    return flags & PTX_ATOMIC || in->mod[PTX_MG_SEM];
}

static void
taint_registers(struct find *s, struct taint *t)
{
    t->reg = bitset_new(&s->r->mem, s->f->regs.n + 1);
    do {
        t->changed = false;
        for (size_t i = 0; i < s->f->body.n; i++) {
            const struct ptx_inst *in = &s->f->body.v[i];
            if (ptx_is_pseudo(in))
                continue;
            t->source = listens(in);
            defuse_each(in, taint_read, t);
            defuse_each(in, taint_write, t);
        }
    } while (t->changed);
}

/* A loop that goes on until another block writes something: blocks that take turns would
 * wait for each other for ever. */
static bool
no_waiting(struct find *s, const struct loops *l)
{
    struct taint t;
    taint_registers(s, &t);
    for (uint32_t k = 0; k < l->n; k++)
        for (uint32_t j = 0; j < l->loop[k].n; j++) {
            const struct cfg_block *b = &s->g->block[l->loop[k].list[j]];
            const struct ptx_inst *last = &s->f->body.v[b->end - 1];
            if (last->guard < 0 || !bitset_has(t.reg, (size_t)last->guard))
                continue;
            for (uint32_t e = 0; e < b->nsucc; e++)
                if (b->succ[e] < 0 || !bitset_has(l->loop[k].blocks, (size_t)b->succ[e]))
                    return refuse(s, b->end - 1,
                                  "a loop waits for memory that other blocks write");
        }
    return true;
}

static bool
check_code(struct find *s)
{
    for (uint32_t i = 0; i < s->f->body.n; i++) {
        const struct ptx_inst *in = &s->f->body.v[i];
        const uint32_t v = s->g->block_of[i];
        if (in->op == PTX_OP_CALL)
            return refuse(s, i, "it calls a function");
        if (ptx_inst_barrier(in) < 0 || s->g->block[v].rpo < 0)
            continue;
        if (s->uni->block[v] == UNIFORM_NOT)
            return refuse(s, i,
                          "not all threads of a block reach this barrier: they part in "
                          "line %u",
                          line_of(s->f, s->uni->cause[v]));
        if (in->guard >= 0 && s->uni->reg[in->guard] == UNIFORM_NOT)
            return refuse(s, i, "not all threads of a block take part in this barrier");
    }
    return s->g->block[0].npred == 0 ||
           refuse(s, 0, "the kernel's first instruction is in a loop");
}

static bool
check_exits(struct find *s)
{
    const struct cfg *g = s->g;
    for (uint32_t k = 0; k < g->nrpo; k++) {
        const uint32_t v = g->rpo[k];
        const struct cfg_block *b = &g->block[v];
        for (uint32_t e = 0; e < b->nsucc; e++)
            if (b->succ[e] == CFG_EXIT && s->full[s->bundle[g->n + v]]) {
                uint32_t cause =
                    s->uni->block[v] > s->places ? s->uni->cause[v] : b->end - 1;
                return refuse(s, cause,
                              "threads or blocks part here, and some leave the kernel "
                              "while others use the scratchpad");
            }
    }
    return true;
}

/* -- the result -- */

static void
note_points(struct find *s)
{
    const struct cfg *g = s->g;
    s->r->open = ARENA_ARRAY(&s->r->mem, bool, g->n + 1);
    for (uint32_t v = 0; v < g->n; v++) {
        const struct cfg_block *b = &g->block[v];
        bool now = s->r->open[v] = s->full[s->bundle[v]];
        if (b->rpo < 0)
            continue;
        for (uint32_t i = b->first; i < b->end; i++) {
            if (ptx_is_pseudo(&s->f->body.v[i]) || s->held[i] == now)
                continue;
            now = s->held[i];
            *vec_push(&s->r->point) = (struct region_point){i, v, now};
        }
        if (s->full[s->bundle[g->n + v]] != now)
            *vec_push(&s->r->point) = (struct region_point){b->end, v, !now};
    }
}

static void
touched_range(struct find *s, struct region *r, uint32_t i)
{
    memset(s->set, 0, BITSET_WORDS(s->n + 1) * sizeof *s->set);
    add_touched(s, i, s->set);
    for (size_t k = 0; k < s->n; k++)
        if (bitset_has(s->set, k)) {
            r->low = k < r->low ? k : r->low;
            r->high = k + 1 > r->high ? k + 1 : r->high;
        }
    r->vars |= s->touch[i];
    uint32_t line = line_of(s->f, i);
    r->from = !r->from || line < r->from ? line : r->from;
    r->to = line > r->to ? line : r->to;
}

/* Held code in the order of the body: a new region begins after each place where the
 * scratchpad is given up. */
static void
note_regions(struct find *s, const struct loops *l)
{
    uint64_t *weight = xcalloc(s->g->n + 1, sizeof *weight);
    loops_weights(l, UNKNOWN_TRIPS, weight);
    struct region *r = NULL;
    size_t next = 0;
    for (uint32_t i = 0; i < s->f->body.n; i++) {
        const uint32_t v = s->g->block_of[i];
        for (; next < s->r->point.n && s->r->point.v[next].at <= i; next++)
            if (!s->r->point.v[next].take)
                r = NULL;
        if (ptx_is_pseudo(&s->f->body.v[i]) || s->g->block[v].rpo < 0)
            continue;
        s->r->all += weight[v];
        s->r->inside += s->held[i] ? weight[v] : 0;
        if (!s->touch[i])
            continue;
        if (!r) {
            r = vec_push(&s->r->region);
            r->low = UINT64_MAX;
        }
        touched_range(s, r, i);
    }
    free(weight);
}

struct regions *
regions_new(const struct cfg *g, const struct scratch_use *use, enum uniform_level places,
            const struct region_bytes *bytes, uint64_t dynamic, unsigned gap)
{
    struct regions *r = xcalloc(1, sizeof *r);
    struct find s = {.r = r,
                     .g = g,
                     .f = g->func,
                     .use = use,
                     .places = places,
                     .touch = use->funcs.v[0].touch,
                     .bytes = bytes};
    struct loops *l = loops_new(g);
    s.uni = uniform_new(g);
    if (check_code(&s) && no_waiting(&s, l)) {
        make_cells(&s, dynamic);
        solve(&s);
        make_bundles(&s);
        hold_first(&s);
        widen(&s);
        close_gaps(&s, gap);
        if (check_exits(&s)) {
            note_points(&s);
            note_regions(&s, l);
            if (!r->region.n)
                r->why = xstrdup("it uses no scratchpad");
        }
    }
    uniform_free(s.uni);
    loops_free(l);
    return r;
}

void
regions_free(struct regions *r)
{
    if (!r)
        return;
    vec_free(&r->point);
    vec_free(&r->region);
    free(r->why);
    arena_free(&r->mem);
    free(r);
}
