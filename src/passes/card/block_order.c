/* block_order.c: blocks in the order in which ptxas lays them out.
 *
 * clang starts loops in their middle and puts arms after what follows them. ptxas lays blocks
 * out again: in reverse post-order, what a branch falls to before what it jumps to, loops
 * contiguous, their header first, and what they leave to after. So a block stands after
 * all that lead to it, but for back edges.
 *
 *     bra.uni HEAD;                       HEAD:
 *     LATCH: ..                               ..
 *         @%p1 bra OUT;                       @%p2 bra LATCH;
 *     HEAD: ..                     ->         ..
 *         @%p2 bra LATCH;                 LATCH: ..
 *         ..                                  @%p1 bra OUT;
 *         bra.uni LATCH;                      bra.uni HEAD;
 *     OUT: ..                             OUT: ..
 *
 * Blocks that fell to their neighbour jump to it; pass jumps takes out what is needless of
 * that. O(blocks log blocks + body), and what the loops cost. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/cfg.h"
#include "analysis/loops.h"
#include "base/bitset.h"
#include "ptx/loc.h"

struct layout {
    struct ptx_func *f;
    const struct cfg *g;
    const struct loops *loops;
    uint32_t *order, n; /* blocks, from the last */
    bool *seen;
    VEC(struct ptx_inst) body;
    struct arena mem;
};

/* -- order -- */

struct step {
    uint32_t block, next; /* of `to`, which it goes to */
    uint32_t *to, n;
};

static int
by_place(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static uint32_t
count_ways(const struct layout *x, const struct loop *l)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < l->n; k++)
        n += x->g->block[l->list[k]].nsucc;
    return n;
}

/* What a loop leaves to, from the last in the code. */
static uint32_t
add_exits(const struct layout *x, const struct loop *l, uint32_t *to)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        const struct cfg_block *b = &x->g->block[l->list[k]];
        for (uint32_t s = 0; s < b->nsucc; s++)
            if (b->succ[s] != CFG_EXIT && !bitset_has(l->blocks, (size_t)b->succ[s]))
                to[n++] = (uint32_t)b->succ[s];
    }
    qsort(to, n, sizeof *to, by_place);
    return n;
}

/* Goes to block v: first to what comes last in the order. */
static struct step
step_to(struct layout *x, uint32_t v)
{
    const struct cfg_block *b = &x->g->block[v];
    const uint32_t in = x->loops->innermost[v];
    const struct loop *l = in < x->loops->n ? &x->loops->loop[in] : NULL;
    struct step s = {.block = v};
    const uint32_t most = b->nsucc + (l && l->header == v ? count_ways(x, l) : 0);
    s.to = ARENA_ARRAY(&x->mem, uint32_t, most + 1);
    if (l && l->header == v)
        s.n = add_exits(x, l, s.to);
    for (uint32_t k = 0; k < b->nsucc; k++)
        if (b->succ[k] != CFG_EXIT)
            s.to[s.n++] = (uint32_t)b->succ[k];
    x->seen[v] = true;
    return s;
}

static void
find_order(struct layout *x)
{
    struct step *stack = ARENA_ARRAY(&x->mem, struct step, x->g->n + 1);
    uint32_t n = 0;
    stack[n++] = step_to(x, 0);
    while (n) {
        struct step *s = &stack[n - 1];
        while (s->next < s->n && x->seen[s->to[s->next]])
            s->next++;
        if (s->next < s->n)
            stack[n++] = step_to(x, s->to[s->next]);
        else
            x->order[x->n++] = stack[--n].block;
    }
}

/* -- code -- */

static const struct ptx_inst *
last_of(const struct layout *x, const struct cfg_block *b)
{
    for (uint32_t i = b->end; i-- > b->first;)
        if (!ptx_is_pseudo(&x->f->body.v[i]))
            return &x->f->body.v[i];
    return NULL;
}

/* Whether control runs on from block b to the next in the code. */
static bool
falls(const struct layout *x, const struct cfg_block *b)
{
    const struct ptx_inst *in = last_of(x, b);
    return !in || in->guard >= 0 ||
           (in->op != PTX_OP_BRA && !(ptx_ops[in->op].flags & PTX_ENDS));
}

static int32_t
label_of(struct layout *x, uint32_t v, int32_t *made)
{
    const struct cfg_block *b = &x->g->block[v];
    for (uint32_t i = b->first; i < b->end && ptx_is_pseudo(&x->f->body.v[i]); i++)
        if (x->f->body.v[i].op == PTX_OP_LABEL)
            return x->f->body.v[i].ops[0].label;
    if (made[v] < 0)
        made[v] = ptx_label_new(x->f);
    return made[v];
}

static struct ptx_inst
with_label(struct layout *x, enum ptx_op op, int32_t label)
{
    struct ptx_inst in = ptx_inst_new(x->f->module, op, 1);
    in.ops[0].kind = PTX_OPD_LABEL;
    in.ops[0].label = label;
    return in;
}

/* Does the k-th block from the last fall to what is no longer after it? */
static bool
falls_elsewhere(const struct layout *x, uint32_t k)
{
    return falls(x, &x->g->block[x->order[k]]) &&
           (!k || x->order[k - 1] != x->order[k] + 1);
}

/* The .loc directive that holds for the first instruction of each block and stands before
 * the block: its place + 1, 0: none. */
static uint32_t *
find_lines(struct layout *x)
{
    uint32_t *line = ARENA_ARRAY(&x->mem, uint32_t, x->g->n + 1);
    for (uint32_t v = 0, at = 0; v < x->g->n; v++) {
        bool begun = false;
        line[v] = at;
        for (uint32_t i = x->g->block[v].first; i < x->g->block[v].end; i++) {
            const struct ptx_inst *in = &x->f->body.v[i];
            at = ptx_is_loc(in) ? i + 1 : at;
            line[v] = begun || !ptx_is_loc(in) ? line[v] : 0;
            begun |= !ptx_is_pseudo(in);
        }
    }
    return line;
}

/* Prototypes and lists of call targets hold for the calls after them in the text: they go
 * first, wherever the blocks go. */
static bool
is_prototype(const struct ptx_inst *in)
{
    return in->op == PTX_OP_DIRECTIVE && !in->text;
}

static void
write_code(struct layout *x)
{
    int32_t *made = ARENA_ARRAY(&x->mem, int32_t, x->g->n + 1);
    const uint32_t *line = find_lines(x);
    for (uint32_t v = 0; v < x->g->n; v++)
        made[v] = -1;
    for (size_t i = 0; i < x->f->body.n; i++)
        if (is_prototype(&x->f->body.v[i]))
            *vec_push(&x->body) = x->f->body.v[i];
    for (uint32_t k = x->n; k-- > 0;) /* labels first: blocks before may need them */
        if (falls_elsewhere(x, k) && x->order[k] + 1 < x->g->n)
            label_of(x, x->order[k] + 1, made);
    for (uint32_t k = x->n; k-- > 0;) {
        const uint32_t v = x->order[k];
        const struct cfg_block *b = &x->g->block[v];
        if (made[v] >= 0)
            *vec_push(&x->body) = with_label(x, PTX_OP_LABEL, made[v]);
        if (line[v] && k + 1 < x->n && x->order[k + 1] + 1 != v)
            *vec_push(&x->body) = x->f->body.v[line[v] - 1];
        for (uint32_t i = b->first; i < b->end; i++)
            if (!is_prototype(&x->f->body.v[i]))
                *vec_push(&x->body) = x->f->body.v[i];
        if (falls_elsewhere(x, k))
            *vec_push(&x->body) =
                v + 1 < x->g->n ? with_label(x, PTX_OP_BRA, label_of(x, v + 1, made))
                                : ptx_inst_new(x->f->module, PTX_OP_RET, 0);
    }
    x->f->body.n = 0;
    for (size_t i = 0; i < x->body.n; i++)
        *vec_push(&x->f->body) = x->body.v[i];
    if (x->n < x->g->n) /* what nothing reaches has gone, with its labels */
        rewrite_drop_labels(x->f);
}

/* -- the function -- */

static bool
run(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    struct layout x = {.f = f, .g = facts->cfg};
    (void)diag;
    if (!x.g->n)
        return true;
    for (size_t i = 0; i < f->body.n; i++)
        if (f->body.v[i].op == PTX_OP_BRX)
            return true; /* its list of labels would have to go with it */
    struct loops *loops = loops_new(x.g);
    x.loops = loops;
    x.order = ARENA_ARRAY(&x.mem, uint32_t, x.g->n + 1);
    x.seen = ARENA_ARRAY(&x.mem, bool, x.g->n + 1);
    find_order(&x);
    bool moved = false;
    for (uint32_t k = 1; k < x.n; k++)
        moved |= x.order[k - 1] < x.order[k];
    if (moved) {
        write_code(&x);
        *changed = true;
        if (a->report)
            strbuf_printf(a->report, "%s: blocks laid out again\n", f->name);
    }
    loops_free(loops);
    vec_free(&x.body);
    arena_free(&x.mem);
    return true;
}

const struct pass pass_block_order = {
    .name = "block-order",
    .meaning = "lays blocks out in reverse post-order, each loop contiguous",
    .run_func = run,
    .needs = AN_CFG,
};
