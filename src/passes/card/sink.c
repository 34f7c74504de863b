/* sink.c: what is read on one side of a branch only is computed there, as by ptxas.
 *
 *     ld.global.f32 %f1, [%rd1];          @%p1 bra L;
 *     @%p1 bra L;                  ->     ld.global.f32 %f1, [%rd1];
 *     add.f32 %f2, %f1, %f3;              add.f32 %f2, %f1, %f3;
 *     ..                                  ..
 * L:                                  L:
 *
 * An ordinary computation or weak load whose result one definition alone writes goes to the
 * block that dominates all readers and is nearest to them, in the same innermost loop, if not
 * all ways from the definition lead there. Loads do not go over stores and atomics to their
 * space, nor over barriers, fences and calls. From the last instruction to the first, so that
 * what is computed from each other goes together. ptxas' code for small kernels (CUDA 13.0,
 * sm_80) sinks all kinds of instructions, whatever that does to registers, over any number of
 * branches, but for loads, whose way ends at the first store.
 *
 * O(instructions x depth of the dominators), and MOST_BETWEEN blocks for each load. */
#include "passes/pass.h"

#include "analysis/defuse.h"
#include "analysis/loops.h"
#include "analysis/motion.h"
#include "ptx/expansion.h"

enum { MOST_BETWEEN = 64, NOWHERE = -1 };

struct sinker {
    struct ptx_func *f;
    const struct cfg *g;
    const struct defs *defs;
    const struct loops *loops;
    int32_t *
        meet; /* of each register: the block that dominates all its readers; NOWHERE: none */
    bool *read;     /* of each register */
    uint32_t *into; /* of each instruction: block + 1 to whose begin it goes */
    uint32_t block; /* of the instruction looked at */
    int32_t to;     /* dominates all readers of it */
    uint32_t *stack;
    bool *seen; /* of each block, between two blocks */
    struct arena mem;
};

static int32_t
common_dominator(const struct cfg *g, int32_t a, int32_t b)
{
    while (a != b && a >= 0 && b >= 0)
        if (g->block[a].rpo > g->block[b].rpo)
            a = g->block[a].idom;
        else
            b = g->block[b].idom;
    return a == b ? a : NOWHERE;
}

static void
note_read(void *user, int32_t reg, bool write, bool partial)
{
    struct sinker *s = user;
    if (write && !partial)
        return;
    s->meet[reg] = !s->read[reg]
                       ? (int32_t)s->block
                       : common_dominator(s->g, s->meet[reg], (int32_t)s->block);
    s->read[reg] = true;
}

static bool
stops_in(const struct sinker *s, uint32_t first, uint32_t end,
         const struct ptx_inst *load)
{
    for (uint32_t i = first; i < end; i++)
        if (motion_stops_load(s->f, load, &s->f->body.v[i]))
            return true;
    return false;
}

/* Whether load i, of block `from`, may go to the begin of block `to`, which it dominates. */
static bool
memory_stays(struct sinker *s, uint32_t i, uint32_t from, uint32_t to)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    uint32_t n = 0, seen = 0;
    bool ok = !stops_in(s, i + 1, s->g->block[from].end, in);
    s->stack[n++] = to;
    for (uint32_t k = 0; k < n; k++) {
        const struct cfg_block *b = &s->g->block[s->stack[k]];
        ok &= !k || !stops_in(s, b->first, b->end, in);
        for (uint32_t e = 0; e < b->npred && ok; e++) {
            const uint32_t v = (uint32_t)b->pred[e];
            if (v == from || s->seen[v])
                continue;
            ok &= ++seen < MOST_BETWEEN;
            s->seen[v] = true;
            s->stack[n++] = v;
        }
    }
    for (uint32_t k = 1; k < n; k++)
        s->seen[s->stack[k]] = false;
    return ok;
}

static bool
may_sink(const struct sinker *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    const enum motion order = motion_of(s->f, in);
    return (order == MOTION_FREE || order == MOTION_LOAD) && in->guard < 0 &&
           !in->power && !in->mod[PTX_MG_CC] && !ptx_machine_branches(in) &&
           !(ptx_ops[in->op].flags & (PTX_CCIN | PTX_CROSSLANE | PTX_SIDE)) &&
           defs_single(s->defs, i);
}

static void
note_meet(void *user, int32_t reg, bool write, bool partial)
{
    struct sinker *s = user;
    (void)partial;
    if (write && s->read[reg])
        s->to =
            s->to == NOWHERE ? s->meet[reg] : common_dominator(s->g, s->to, s->meet[reg]);
}

/* Where instruction i of s->block goes; NOWHERE: it stays. */
static int32_t
find_place(struct sinker *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    const int32_t from = (int32_t)s->block;
    const struct cfg_block *b = s->g->block;
    s->to = NOWHERE;
    defuse_each(in, note_meet, s);
    int32_t to = s->to;
    if (to < 0 || !cfg_dominates(s->g, from, to))
        return NOWHERE; /* read where not all ways write it */
    for (; to != from; to = b[to].idom)
        if (s->loops->innermost[to] == s->loops->innermost[from] &&
            !cfg_postdominates(s->g, to, from) &&
            (motion_of(s->f, in) != MOTION_LOAD ||
             memory_stays(s, i, (uint32_t)from, (uint32_t)to)))
            break;
    return to == from ? NOWHERE : to;
}

/* -- code -- */

static void
write_code(struct sinker *s)
{
    const struct cfg *g = s->g;
    VEC(struct ptx_inst) to = {0};
    uint32_t *next = ARENA_ARRAY(&s->mem, uint32_t, s->f->body.n + 1);
    uint32_t *head = ARENA_ARRAY(&s->mem, uint32_t, g->n + 1);
    /* lists, what dominates first */
    for (uint32_t k = g->nrpo; k-- > 0;)
        for (uint32_t i = g->block[g->rpo[k]].end; i-- > g->block[g->rpo[k]].first;)
            if (s->into[i]) {
                next[i] = head[s->into[i] - 1];
                head[s->into[i] - 1] = i + 1;
            }
    for (uint32_t b = 0; b < g->n; b++) {
        bool begun = false;
        for (uint32_t i = g->block[b].first; i <= g->block[b].end; i++) {
            if (!begun && (i == g->block[b].end || !ptx_is_pseudo(&s->f->body.v[i]))) {
                for (uint32_t k = head[b]; k; k = next[k - 1])
                    *vec_push(&to) = s->f->body.v[k - 1];
                begun = true;
            }
            if (i < g->block[b].end && !s->into[i])
                *vec_push(&to) = s->f->body.v[i];
        }
    }
    vec_take(&s->f->body, &to);
}

/* -- the function -- */

static uint32_t
find_moves(struct sinker *s)
{
    uint32_t n = 0;
    for (uint32_t k = s->g->nrpo; k-- > 0;) {
        const uint32_t b = s->g->rpo[k];
        for (uint32_t i = s->g->block[b].end; i-- > s->g->block[b].first;) {
            const struct ptx_inst *in = &s->f->body.v[i];
            if (ptx_is_pseudo(in))
                continue;
            s->block = b;
            const int32_t to = may_sink(s, i) ? find_place(s, i) : NOWHERE;
            s->into[i] = to < 0 ? 0 : (uint32_t)to + 1;
            n += to >= 0;
            s->block = to < 0 ? b : (uint32_t)to;
            defuse_each(in, note_read, s);
        }
    }
    return n;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)diag;
    struct sinker s = {.f = f, .g = x->cfg, .defs = x->defs};
    struct loops *loops = loops_new(x->cfg);
    s.loops = loops;
    s.meet = ARENA_ARRAY(&s.mem, int32_t, f->regs.n + 1);
    s.read = ARENA_ARRAY(&s.mem, bool, f->regs.n + 1);
    s.into = ARENA_ARRAY(&s.mem, uint32_t, f->body.n + 1);
    s.stack = ARENA_ARRAY(&s.mem, uint32_t, x->cfg->n + 2);
    s.seen = ARENA_ARRAY(&s.mem, bool, x->cfg->n + 1);
    const uint32_t n = find_moves(&s);
    if (n) {
        write_code(&s);
        *changed = true;
        if (a->report)
            strbuf_printf(a->report, "%s: %u instructions go after branches\n", f->name,
                          n);
    }
    loops_free(loops);
    arena_free(&s.mem);
    return true;
}

const struct pass pass_sink = {
    .name = "sink",
    .meaning = "computes after a branch what is read on one side of it only",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
};
