/* loops.c: natural loops; trip counts by running the few instructions that decide. */
#include "analysis/loops.h"

#include "analysis/defs.h"
#include "base/bitset.h"
#include "base/vec.h"

#include <string.h>

enum { MAX_TRIPS = 65536, MAX_CONE = 32 };

/* -- loops -- */

static void
add_body(const struct cfg *g, struct loop *l, uint32_t latch)
{
    VEC(uint32_t) todo = {0};
    *vec_push(&todo) = latch;
    while (todo.n) {
        uint32_t v = todo.v[--todo.n];
        if (bitset_has(l->blocks, v))
            continue;
        bitset_add(l->blocks, v);
        for (uint32_t i = 0; i < g->block[v].npred; i++)
            *vec_push(&todo) = (uint32_t)g->block[v].pred[i];
    }
    vec_free(&todo);
}

/* -- trip counts -- */

/* The instructions that decide a loop's exit, in the order in which they run. */
struct cone {
    const struct cfg *g;
    const struct loops *all;
    const struct loop *l;
    const struct defs_writes *w;
    uint32_t inst[MAX_CONE];
    unsigned n;
    struct {
        int32_t reg;
        uint64_t value;
        bool known;
    } reg[MAX_CONE];
    unsigned nreg;
};

static int
reg_slot(struct cone *c, int32_t reg)
{
    for (unsigned i = 0; i < c->nreg; i++)
        if (c->reg[i].reg == reg)
            return (int)i;
    return -1;
}

static bool
is_constant(const struct ptx_inst *in)
{
    return in->op == PTX_OP_MOV && in->guard < 0 && in->ops[1].kind == PTX_OPD_IMM;
}

static bool
is_latch(const struct cfg *g, const struct loop *l, uint32_t v)
{
    for (uint32_t i = 0; i < g->block[v].nsucc; i++)
        if (g->block[v].succ[i] == (int32_t)l->header)
            return true;
    return false;
}

/* Runs in every iteration, once. */
static bool
runs_always(const struct loops *all, const struct loop *l, uint32_t block)
{
    const struct cfg *g = all->cfg;
    const struct cfg_block *h = &g->block[l->header];
    for (uint32_t i = 0; i < h->npred; i++)
        if (bitset_has(l->blocks, (size_t)h->pred[i]) &&
            !cfg_dominates(g, (int32_t)block, h->pred[i]))
            return false;
    return &all->loop[all->innermost[block]] == l;
}

/* Runs each time that the loop is come to from outside: dominates it, and stands in every loop
 * around it. */
static bool
runs_before(const struct loops *all, const struct loop *l, uint32_t block)
{
    const struct loop *around = NULL;
    for (uint32_t k = 0; k < all->n; k++) {
        const struct loop *o = &all->loop[k];
        if (o != l && bitset_has(o->blocks, l->header) && (!around || o->n < around->n))
            around = o;
    }
    return cfg_dominates(all->cfg, (int32_t)block, (int32_t)l->header) &&
           (!around || bitset_has(around->blocks, block));
}

/* Adds register reg and what it depends on in the loop; false: cannot be counted out. */
static bool
add_reg(struct cone *c, int32_t reg)
{
    if (reg_slot(c, reg) >= 0)
        return true;
    if (c->nreg == MAX_CONE)
        return false;
    const struct ptx_func *f = c->g->func;
    uint32_t inside = UINT32_MAX, outside = UINT32_MAX, nin = 0, nout = 0;
    uint32_t n;
    const uint32_t *written = defs_writes_of(c->w, reg, &n);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = written[k];
        if (bitset_has(c->l->blocks, c->g->block_of[i]))
            nin++, inside = i;
        else
            nout++, outside = i;
    }
    unsigned at = c->nreg++;
    c->reg[at].reg = reg;
    c->reg[at].known = nout == 1 && is_constant(&f->body.v[outside]) &&
                       (!nin || runs_before(c->all, c->l, c->g->block_of[outside]));
    if (c->reg[at].known)
        c->reg[at].value = f->body.v[outside].ops[1].imm;
    if (!nin)
        return c->reg[at].known;
    const struct ptx_inst *in = &f->body.v[inside];
    if (nin > 1 || in->guard >= 0 || c->n == MAX_CONE ||
        !runs_always(c->all, c->l, c->g->block_of[inside]))
        return false;
    c->inst[c->n++] = inside;
    for (unsigned i = 1; i < in->nops; i++)
        if (in->ops[i].kind == PTX_OPD_REG ? !add_reg(c, in->ops[i].reg)
                                           : in->ops[i].kind != PTX_OPD_IMM)
            return false;
    return true;
}

static uint64_t
clip(uint64_t v, unsigned type)
{
    unsigned bits = ptx_types[type].bytes * 8;
    if (bits >= 64)
        return v;
    v &= ((uint64_t)1 << bits) - 1;
    bool negative = ptx_types[type].kind == PTX_K_SINT && v >> (bits - 1) & 1;
    return negative ? v | ~(((uint64_t)1 << bits) - 1) : v;
}

static bool
operand(struct cone *c, const struct ptx_operand *o, unsigned type, uint64_t *v)
{
    int r = o->kind == PTX_OPD_REG ? reg_slot(c, o->reg) : -1;
    if (o->kind != PTX_OPD_IMM && (r < 0 || !c->reg[r].known))
        return false;
    *v = clip(o->kind == PTX_OPD_IMM ? o->imm : c->reg[r].value, type);
    return true;
}

static bool
compare(const struct ptx_inst *in, uint64_t a, uint64_t b, bool *result)
{
    bool sint = ptx_types[in->type[0]].kind == PTX_K_SINT;
    bool lt = sint ? (int64_t)a < (int64_t)b : a < b;
    switch (in->mod[PTX_MG_CMP]) {
    case PTX_CMP_EQ:
        *result = a == b;
        return true;
    case PTX_CMP_NE:
        *result = a != b;
        return true;
    case PTX_CMP_LT:
    case PTX_CMP_LO:
        *result = lt;
        return true;
    case PTX_CMP_LE:
    case PTX_CMP_LS:
        *result = lt || a == b;
        return true;
    case PTX_CMP_GT:
    case PTX_CMP_HI:
        *result = !lt && a != b;
        return true;
    case PTX_CMP_GE:
    case PTX_CMP_HS:
        *result = !lt;
        return true;
    default:
        return false;
    }
}

static bool
run_one(struct cone *c, const struct ptx_inst *in)
{
    uint64_t a, b = 0, v;
    unsigned type = in->type[0];
    bool shift = in->op == PTX_OP_SHL || in->op == PTX_OP_SHR;
    if (in->nops < 2 || in->nops > 3 || in->ops[0].kind != PTX_OPD_REG ||
        !operand(c, &in->ops[1], type, &a) ||
        (in->nops == 3 && !operand(c, &in->ops[2], shift ? PTX_U32 : type, &b)))
        return false;
    switch (in->op) {
    case PTX_OP_MOV:
        v = a;
        break;
    case PTX_OP_ADD:
        v = a + b;
        break;
    case PTX_OP_SUB:
        v = a - b;
        break;
    case PTX_OP_MUL:
        if (ptx_has(in, PTX_MG_PART) && strcmp(ptx_mods[in->mod[PTX_MG_PART]].text, "lo"))
            return false;
        v = a * b;
        break;
    case PTX_OP_SHL:
        v = b < 64 ? a << b : 0;
        break;
    case PTX_OP_SHR:
        b = b < 63 ? b : 63;
        v = ptx_types[type].kind == PTX_K_SINT ? (uint64_t)((int64_t)a >> b) : a >> b;
        break;
    default:
        return false;
    }
    int r = reg_slot(c, in->ops[0].reg);
    c->reg[r].value = clip(v, type);
    c->reg[r].known = true;
    return true;
}

static int
by_order(const struct cfg *g, uint32_t a, uint32_t b)
{
    int32_t x = g->block[g->block_of[a]].rpo, y = g->block[g->block_of[b]].rpo;
    return x != y ? x < y : a < b;
}

/* Counts how often block e, with the comparison `cmp` after its branch, stays. */
static uint64_t
count(struct cone *c, const struct ptx_inst *cmp, uint32_t cmp_at, bool stay_if)
{
    for (unsigned i = 1; i < c->n; i++) /* few: insertion sort into running order */
        for (unsigned k = i; k && by_order(c->g, c->inst[k], c->inst[k - 1]); k--) {
            uint32_t t = c->inst[k];
            c->inst[k] = c->inst[k - 1];
            c->inst[k - 1] = t;
        }
    for (uint64_t n = 1; n <= MAX_TRIPS; n++) {
        bool decided = false, result = false;
        for (unsigned i = 0; i <= c->n; i++) {
            if (!decided && (i == c->n || by_order(c->g, cmp_at, c->inst[i]))) {
                uint64_t a, b;
                decided = true;
                if (!operand(c, &cmp->ops[2], cmp->type[0], &a) ||
                    !operand(c, &cmp->ops[3], cmp->type[0], &b) ||
                    !compare(cmp, a, b, &result))
                    return 0;
            }
            if (i < c->n && !run_one(c, &c->g->func->body.v[c->inst[i]]))
                return 0;
        }
        if (result != stay_if)
            return n;
    }
    return 0;
}

/* How often block e runs until its end leaves the loop, 0 if that cannot be counted. */
static uint64_t
tests_by(const struct loops *all, const struct defs_writes *w, const struct loop *l,
         uint32_t e)
{
    const struct cfg *g = all->cfg;
    const struct cfg_block *b = &g->block[e];
    const struct ptx_func *f = g->func;
    const struct ptx_inst *br = &f->body.v[b->end - 1];
    int32_t label;
    if (b->nsucc != 2 || br->guard < 0 || cfg_targets(br, &label, 1) != 1 ||
        !runs_always(all, l, e))
        return 0;
    bool stay[2];
    for (int i = 0; i < 2; i++)
        stay[i] = b->succ[i] >= 0 && bitset_has(l->blocks, (size_t)b->succ[i]);
    if (stay[0] == stay[1])
        return 0;
    uint32_t at = UINT32_MAX, n;
    const uint32_t *written = defs_writes_of(w, br->guard, &n);
    for (uint32_t k = 0; k < n; k++)
        if (bitset_has(l->blocks, g->block_of[written[k]])) {
            if (at != UINT32_MAX)
                return 0;
            at = written[k];
        }
    const struct ptx_inst *cmp = at == UINT32_MAX ? NULL : &f->body.v[at];
    if (!cmp || cmp->op != PTX_OP_SETP || cmp->guard >= 0 || ptx_has(cmp, PTX_MG_BOOL) ||
        cmp->ops[0].kind != PTX_OPD_REG || cmp->ops[0].reg != br->guard ||
        !runs_always(all, l, g->block_of[at]))
        return 0;
    struct cone c = {.g = g, .all = all, .l = l, .w = w};
    for (unsigned i = 2; i < 4; i++)
        if (cmp->ops[i].kind == PTX_OPD_REG ? !add_reg(&c, cmp->ops[i].reg)
                                            : cmp->ops[i].kind != PTX_OPD_IMM)
            return 0;
    bool taken_stays = stay[0]; /* the branch's target is the first successor */
    return count(&c, cmp, at, br->guard_neg ? !taken_stays : taken_stays);
}

/* The first exit that is taken. */
static void
find_trips(const struct loops *all, const struct defs_writes *w, struct loop *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const uint32_t e = l->list[i];
        uint64_t n = tests_by(all, w, l, e);
        if (n && (!l->tests || n < l->tests))
            l->tests = n;
        /* A loop tested at its top enters the test once more than its body. */
        if (n > 1 && e == l->header && !is_latch(all->cfg, l, e))
            n--;
        if (n && (!l->trips || n < l->trips))
            l->trips = n;
    }
}

/* Lists of blocks, and each block's innermost loop: loops of different headers are disjoint
 * or within each other. */
static void
list_blocks(struct loops *l)
{
    const struct cfg *g = l->cfg;
    l->innermost = ARENA_ARRAY(&l->mem, uint32_t, g->n + 1);
    for (uint32_t v = 0; v < g->n; v++)
        l->innermost[v] = l->n;
    for (uint32_t k = 0; k < l->n; k++) {
        struct loop *p = &l->loop[k];
        for (size_t w = 0; w < BITSET_WORDS(g->n); w++)
            p->n += (uint32_t)bit_count(p->blocks[w]);
        p->list = ARENA_ARRAY(&l->mem, uint32_t, p->n);
        p->n = 0;
        for (size_t w = 0; w < BITSET_WORDS(g->n); w++)
            FOR_BITS(i, p->blocks[w])
            {
                uint32_t v = (uint32_t)(64 * w + i), in = l->innermost[v];
                p->list[p->n++] = v;
                if (in == l->n || bitset_has(l->loop[in].blocks, p->header))
                    l->innermost[v] = k;
            }
    }
}

struct loops *
loops_new(const struct cfg *g)
{
    struct loops *l = xcalloc(1, sizeof *l);
    l->cfg = g;
    l->loop = ARENA_ARRAY(&l->mem, struct loop, g->n + 1);
    uint32_t *of = xcalloc(g->n + 1, sizeof *of); /* loop of a header, + 1 */
    for (uint32_t r = 0; r < g->nrpo; r++) {
        uint32_t v = g->rpo[r];
        for (uint32_t i = 0; i < g->block[v].nsucc; i++) {
            int32_t h = g->block[v].succ[i];
            if (h < 0 || !cfg_dominates(g, h, (int32_t)v))
                continue;
            if (!of[h]) {
                struct loop *p = &l->loop[l->n++];
                of[h] = l->n;
                p->header = (uint32_t)h;
                p->blocks = bitset_new(&l->mem, g->n);
                bitset_add(p->blocks, (size_t)h);
            }
            add_body(g, &l->loop[of[h] - 1], v);
        }
    }
    free(of);
    list_blocks(l);
    struct defs_writes *w = defs_writes_new(g);
    for (uint32_t k = 0; k < l->n; k++)
        find_trips(l, w, &l->loop[k]);
    defs_writes_free(w);
    return l;
}

void
loops_free(struct loops *l)
{
    if (!l)
        return;
    arena_free(&l->mem);
    free(l);
}

void
loops_weights(const struct loops *l, uint64_t unknown, uint64_t *out)
{
    const uint64_t most = (uint64_t)1 << 40;
    for (uint32_t v = 0; v < l->cfg->n; v++)
        out[v] = 1;
    for (uint32_t k = 0; k < l->n; k++)
        for (uint32_t i = 0; i < l->loop[k].n; i++) {
            uint64_t *w = &out[l->loop[k].list[i]];
            *w *= l->loop[k].trips ? l->loop[k].trips : unknown;
            *w = *w < most ? *w : most;
        }
}
