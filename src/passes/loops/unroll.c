/* unroll.c: bodies of innermost loops are copied as ptxas copies them.
 *
 *     L: ld a, [p]; s += a                     all iterations of a loop with a constant count, or
 *        p += 4; i += 1                  ->    several in a row, and the rest:
 *        q = i < n; @q bra L
 *
 *     lim = n - 3; if n - 3 wraps or i >= lim, go to R     R: if i + 1 >= n, go to S
 *     M: p0 = p; i0 = i                                       two iterations; @!q bra END
 *        ld a1, [p0]; ld a2, [p0 + 4]; ... four iterations      S: one iteration; @q bra S
 *        p = p0 + 16; i = i0 + 4; if i < lim, go to M      END:
 *        @!q bra END
 *
 * So no iteration runs that did not before, whatever n and i are. A constant count that is too
 * large for straight code becomes a loop of u iterations after count mod u iterations. Registers get
 * new names in each copy (peel_copies.c). What steps by a constant is computed from its value
 * at the first of them, for constant-fold and address-fold to put into addresses.
 *
 * Which loops: one way back, at the end, which is also a way out, by a predicate, and the only
 * one unless all iterations are copied; contiguous code; no .pragma "nounroll" at the head (PTX
 * ISA, pragmas), no call, fence, or access to other lanes; no division or root that ptxas makes
 * a call of. What is compared at the end steps by a constant, and unknown counts need a bound
 * that does not change, and barriers then a count that all threads of a block share. Loops that
 * leave in their middle are turned first (unroll_rotate.c). How many iterations: read off
 * `ptxas -O3` of CUDA 13.0, over 1,900 loops of 2 to 160 fused multiply-adds, 1 to 32 loads, 2
 * to 10,000 iterations: PART_... below and unroll_size.c; docs/passes.md has the table.
 *
 * Outer loops follow where all loops within have become straight code. Cost: the body, and
 * what it becomes, times the depth of loops. */
#include "passes/loops/unroll_int.h"

#include "passes/rewrite.h"

#include "analysis/defs.h"
#include "analysis/defuse.h"
#include "ptx/expansion.h"

#include <string.h>

enum {
    /* ptxas', in operations, the counter's comparison included */
    PART_SIZE = 350, /* iterations of a copied loop and before it, times size, at most */
    PART_BODY = 72,  /* largest iteration of one */
    /* ours */
    MOST_SIZE = 8192, /* of straight code */
    MOST_BETWEEN = 4, /* blocks between the loop's that move after it */
    MOST_DEPTH = 4,   /* loops around loops that become straight code */
    KNOWN_DEPTH = 4,  /* definitions that are followed for a literal */
    TRACE_DEPTH = 64  /* ... for the number of a thread */
};

/* -- what steps by a constant -- */

unsigned
unroll_bytes(const struct ptx_func *f, int32_t r)
{
    const unsigned type = f->regs.v[r].type, kind = ptx_types[type].kind;
    return type == PTX_PRED || kind == PTX_K_FLT || kind == PTX_K_FORMAT
               ? 0
               : ptx_type_bytes(type);
}

/* Register r as body.v[i] reads it. */
static struct unroll_line
line_at(const struct unroll *u, int32_t r, uint32_t i)
{
    const struct peel *p = &u->p;
    const uint32_t block = p->g->block_of[i];
    const int32_t home = p->home[r];
    if (home == PEEL_ITERATION)
        return u->line[r];
    if (home == PEEL_KEEPS)
        return (struct unroll_line){.base = -1};
    const bool is_new = home == (int32_t)block
                            ? bitset_has(p->given, (size_t)r)
                            : cfg_dominates(p->g, home, (int32_t)block);
    return is_new ? u->line[r] : (struct unroll_line){.base = r};
}

/* The value that body.v[i] gives its destination. */
static struct unroll_line
line_of(const struct unroll *u, uint32_t i)
{
    const struct peel *p = &u->p;
    const struct ptx_inst *in = &p->f->body.v[i];
    const bool sub = in->op == PTX_OP_SUB, add = sub || in->op == PTX_OP_ADD;
    const struct unroll_line none = {.base = -1};
    if ((!add && in->op != PTX_OP_MOV) || in->guard >= 0 || in->nops != 2u + add ||
        in->ops[0].kind != PTX_OPD_REG || in->ops[1].kind != PTX_OPD_REG ||
        in->ops[0].comp || in->ops[1].comp || in->ops[1].neg ||
        p->defs[in->ops[0].reg] != 1 || in->mod[PTX_MG_SAT] || in->mod[PTX_MG_CC])
        return none;
    const unsigned bytes = unroll_bytes(p->f, in->ops[0].reg);
    uint64_t v = 0;
    if (bytes < 4 || bytes != unroll_bytes(p->f, in->ops[1].reg) ||
        bytes != ptx_type_bytes(in->type[0]) ||
        (add && !rewrite_literal_bits(&in->ops[2], in->type[0], &v)))
        return none;
    struct unroll_line l = line_at(u, in->ops[1].reg, i);
    l.off += sub ? 0 - v : v;
    return l;
}

int64_t
unroll_signed(const struct unroll *u, int32_t r, uint64_t v)
{
    return unroll_bytes(u->p.f, r) == 4 ? (int32_t)v : (int64_t)v;
}

/* How far a base steps in an iteration; 0: r is none. */
int64_t
unroll_step(const struct unroll *u, int32_t r)
{
    const bool is = u->p.home[r] >= 0 && u->line[r].base == r;
    return is ? unroll_signed(u, r, u->line[r].off) : 0;
}

static void
find_lines(struct unroll *u)
{
    struct peel *p = &u->p;
    u->nbased = 0;
    for (uint32_t k = 0; k < p->nwritten; k++) {
        u->line[p->written[k]].base = -1;
        bitset_del(p->given, p->written[k]);
    }
    for (uint32_t k = 0; k < p->n; k++) {
        const struct cfg_block *b = &p->g->block[p->order[k]];
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &p->f->body.v[i];
            if (ptx_is_pseudo(in))
                continue;
            const struct unroll_line l = line_of(u, i);
            if (l.base >= 0) {
                u->line[in->ops[0].reg] = l;
                u->defined[in->ops[0].reg] = i;
            }
            peel_note_given(p, in);
        }
    }
    for (uint32_t k = 0; k < p->nwritten; k++)
        if (unroll_step(u, (int32_t)p->written[k]))
            u->based[u->nbased++] = p->written[k];
    for (uint32_t k = 0; k < p->nwritten; k++) {
        struct unroll_line *l = &u->line[p->written[k]];
        if (l->base >= 0 && !unroll_step(u, l->base))
            l->base = -1;
    }
}

/* -- what becomes a literal -- */

static void
note_def(void *user, int32_t reg, bool write, bool partial)
{
    struct unroll *u = user;
    if (!write)
        return;
    u->ndefs[reg] += partial ? 2 : 1;
    u->defsum[reg] += u->at;
}

static bool known_inst(const struct unroll *u, const struct ptx_inst *in, int depth);

static bool
known_reg(const struct unroll *u, int32_t r, int depth)
{
    if (u->p.defs[r])
        return bitset_has(u->known, (size_t)r);
    return depth && u->ndefs[r] == 1 &&
           known_inst(u, &u->p.f->body.v[u->defsum[r]], depth - 1);
}

/* Whether the instruction computes from literals and addresses of variables alone. depth: so
 * many definitions before the loop are followed. */
static bool
known_inst(const struct unroll *u, const struct ptx_inst *in, int depth)
{
    if (in->guard >= 0 || !rewrite_is_pure(in))
        return false;
    for (unsigned k = 1; k < in->nops; k++) {
        const struct ptx_operand *o = &in->ops[k];
        if (o->kind == PTX_OPD_REG ? !known_reg(u, o->reg, depth)
                                   : o->kind == PTX_OPD_ADDR || o->kind == PTX_OPD_VEC)
            return false;
    }
    return true;
}

static void
find_known(struct unroll *u)
{
    const struct peel *p = &u->p;
    for (uint32_t k = 0; k < p->nwritten; k++)
        bitset_del(u->known, p->written[k]);
    for (uint32_t k = 0; k < u->nbased; k++) { /* the one definition before the loop */
        const uint32_t r = u->based[k];
        if (u->ndefs[r] == 2 &&
            known_inst(u, &p->f->body.v[u->defsum[r] - u->defined[r]], KNOWN_DEPTH))
            bitset_add(u->known, r);
    }
    for (uint32_t k = 0; k < p->n; k++) {
        const struct cfg_block *b = &p->g->block[p->order[k]];
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &p->f->body.v[i];
            if (!ptx_is_pseudo(in) && in->nops && in->ops[0].kind == PTX_OPD_REG &&
                p->defs[in->ops[0].reg] == 1 &&
                p->home[in->ops[0].reg] == PEEL_ITERATION &&
                known_inst(u, in, KNOWN_DEPTH))
                bitset_add(u->known, (size_t)in->ops[0].reg);
        }
    }
}

/* -- which loops -- */

/* Whether block v only jumps. */
static bool
only_jumps(const struct peel *p, uint32_t v)
{
    const struct cfg_block *b = &p->g->block[v];
    for (uint32_t i = b->first; i + 1 < b->end; i++)
        if (!ptx_is_pseudo(&p->f->body.v[i]))
            return false;
    return p->f->body.v[b->end - 1].op == PTX_OP_BRA && b->nsucc == 1;
}

/* A label of block v, -1: it has none. */
int32_t
unroll_label(const struct peel *p, uint32_t v)
{
    const struct ptx_inst *in = &p->f->body.v[p->g->block[v].first];
    return in->op == PTX_OP_LABEL ? in->ops[0].label : -1;
}

/* The block of the one way back; -1: there are several, or a block leaves in more ways than a
 * branch has. */
static int32_t
find_back(const struct unroll *u)
{
    const struct peel *p = &u->p;
    const struct loop *l = p->l;
    int32_t back = -1;
    for (uint32_t k = 0; k < l->n; k++) {
        const struct cfg_block *b = &p->g->block[l->list[k]];
        if (u->all->innermost[l->list[k]] != (uint32_t)(l - u->all->loop) || b->nsucc > 2)
            return -1;
        for (uint32_t e = 0; e < b->nsucc; e++) {
            const bool is = b->succ[e] == (int32_t)l->header;
            if (b->succ[e] < 0 || (is && back >= 0))
                return -1;
            back = is ? (int32_t)l->list[k] : back;
        }
    }
    return back;
}

/* Finds the block that goes back and leaves, or leaves before a jump back alone; and the
 * other blocks that leave, each for a label. */
static bool
find_ends(struct unroll *u)
{
    struct peel *p = &u->p;
    const struct loop *l = p->l;
    const int32_t back = find_back(u);
    if (back < 0)
        return false;
    const struct cfg_block *q = &p->g->block[back];
    p->back = (uint32_t)back;
    p->latch = q->nsucc == 1 && only_jumps(p, p->back) && q->npred == 1
                   ? (uint32_t)q->pred[0]
                   : p->back;
    unsigned out = 0;
    u->nside = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        const struct cfg_block *b = &p->g->block[l->list[k]];
        for (uint32_t e = 0; e < b->nsucc; e++) {
            const uint32_t to = (uint32_t)b->succ[e];
            if (peel_has(p, b->succ[e]))
                continue;
            if (l->list[k] == p->latch) {
                p->after = to;
                out++;
                continue;
            }
            if (u->nside == UNROLL_SIDE || unroll_label(p, to) < 0)
                return false;
            u->side[u->nside++] = to;
            p->label_of[to] = unroll_label(p, to);
        }
    }
    return out == 1;
}

/* Whether the blocks between the loop's that are none of it can stand after it. */
static bool
can_move(const struct unroll *u, uint32_t low, uint32_t high)
{
    const struct peel *p = &u->p;
    if (high - low + 1 - p->l->n > MOST_BETWEEN)
        return false;
    for (uint32_t v = low; v <= high; v++) {
        const uint32_t in = u->all->innermost[v];
        if (!peel_has(p, (int32_t)v) && in < u->all->n &&
            !bitset_has(u->all->loop[in].blocks, p->l->header))
            return false;
    }
    return true;
}

static bool
find_shape(struct unroll *u)
{
    struct peel *p = &u->p;
    const struct loop *l = p->l;
    const uint32_t low = l->list[0], high = l->list[l->n - 1];
    if (!find_ends(u) || !can_move(u, low, high))
        return false;
    const struct cfg_block *latch = &p->g->block[p->latch];
    u->branch = latch->end - 1;
    const struct ptx_inst *br = &p->f->body.v[u->branch];
    if (br->op != PTX_OP_BRA || br->guard < 0 || latch->nsucc != 2)
        return false;
    u->branch_back = latch->succ[0] == (int32_t)l->header;
    u->goes_on = br->guard_neg == (latch->succ[0] == (int32_t)p->after);
    for (u->next = low + 1; u->next <= high && peel_has(p, (int32_t)u->next);)
        u->next++;
    u->exit = unroll_label(p, p->after);
    return (u->exit >= 0 || p->after == u->next) && peel_is_reducible(p);
}

bool
unroll_can_copy(const struct ptx_inst *in)
{
    if (in->op == PTX_OP_DIRECTIVE) /* no nounroll, and what names labels or functions */
        return peel_is_line(in);
    if (ptx_is_pseudo(in))
        return true;
    const unsigned flags = ptx_ops[in->op].flags;
    const bool fence = flags & PTX_SIDE && ptx_ops[in->op].unit == PTX_UNIT_BARRIER;
    return !(flags & (PTX_CROSSLANE | PTX_ENDS | PTX_EXTENSION)) &&
           !ptx_machine_branches(in) && (!(flags & PTX_JUMP) || in->op == PTX_OP_BRA) &&
           (!fence || ptx_inst_barrier(in) >= 0);
}

static unsigned
negated(unsigned cmp)
{
    static const uint8_t pair[][2] = {{PTX_CMP_EQ, PTX_CMP_NE},
                                      {PTX_CMP_LT, PTX_CMP_GE},
                                      {PTX_CMP_LE, PTX_CMP_GT},
                                      {PTX_CMP_LO, PTX_CMP_HS},
                                      {PTX_CMP_LS, PTX_CMP_HI}};
    for (unsigned i = 0; i < sizeof pair / sizeof *pair; i++)
        for (unsigned k = 0; k < 2; k++)
            if (pair[i][k] == cmp)
                return pair[i][!k];
    return PTX_NOMOD;
}

static unsigned
swapped(unsigned cmp)
{
    static const uint8_t pair[][2] = {{PTX_CMP_LT, PTX_CMP_GT},
                                      {PTX_CMP_LE, PTX_CMP_GE},
                                      {PTX_CMP_LO, PTX_CMP_HI},
                                      {PTX_CMP_LS, PTX_CMP_HS}};
    for (unsigned i = 0; i < sizeof pair / sizeof *pair; i++)
        for (unsigned k = 0; k < 2; k++)
            if (pair[i][k] == cmp)
                return pair[i][!k];
    return cmp;
}

static bool
goes_up(unsigned cmp)
{
    return cmp == PTX_CMP_LT || cmp == PTX_CMP_LE || cmp == PTX_CMP_LO ||
           cmp == PTX_CMP_LS;
}

static bool
goes_down(unsigned cmp)
{
    return cmp == PTX_CMP_GT || cmp == PTX_CMP_GE || cmp == PTX_CMP_HI ||
           cmp == PTX_CMP_HS;
}

/* Operand k of the test as a value that steps. */
static bool
steps(struct unroll *u, const struct ptx_inst *test, uint32_t at, unsigned k)
{
    const struct ptx_operand *o = &test->ops[k];
    if (o->kind != PTX_OPD_REG || o->comp || o->neg || u->p.home[o->reg] == PEEL_KEEPS)
        return false;
    struct unroll_line l = u->line[o->reg];
    if (u->p.home[o->reg] >= 0) { /* the value before its step? */
        const int32_t home = u->p.home[o->reg], block = (int32_t)u->p.g->block_of[at];
        bool before = home != block && !cfg_dominates(u->p.g, home, block);
        for (uint32_t i = at; home == block && i < u->p.g->block[block].end; i++) {
            const struct ptx_inst *in = &u->p.f->body.v[i];
            before |= in->nops && defuse_is_dest(in, 0) &&
                      in->ops[0].kind == PTX_OPD_REG && in->ops[0].reg == o->reg;
        }
        if (before)
            l = (struct unroll_line){.base = unroll_step(u, o->reg) ? o->reg : -1};
    }
    u->x = l;
    return l.base >= 0 && unroll_bytes(u->p.f, l.base) == ptx_type_bytes(test->type[0]);
}

/* Finds what the loop counts: a value that steps by a constant, compared after its step. */
static bool
find_test(struct unroll *u)
{
    const struct peel *p = &u->p;
    const struct ptx_inst *br = &p->f->body.v[u->branch], *test = NULL;
    uint32_t at = 0;
    for (uint32_t k = 0; k < p->l->n && p->defs[br->guard] == 1 && !test; k++) {
        const struct cfg_block *b = &p->g->block[p->l->list[k]];
        for (uint32_t i = b->first; i < b->end && !test; i++) {
            const struct ptx_inst *in = &p->f->body.v[i];
            if (!ptx_is_pseudo(in) && in->nops && in->ops[0].kind == PTX_OPD_REG &&
                in->ops[0].reg == br->guard) {
                test = in;
                at = i;
            }
        }
    }
    if (!test || test->op != PTX_OP_SETP || test->guard >= 0 || test->mod[PTX_MG_BOOL] ||
        test->ops[1].kind != PTX_OPD_NONE || ptx_type_bytes(test->type[0]) < 4 ||
        !cfg_dominates(p->g, (int32_t)p->g->block_of[at], (int32_t)p->latch))
        return false;
    u->test = test;
    u->cmp = test->mod[PTX_MG_CMP];
    if (!u->goes_on)
        u->cmp = negated(u->cmp);
    unsigned other = 3;
    if (!steps(u, test, at, 2)) {
        if (!steps(u, test, at, 3))
            return false;
        other = 2;
        u->cmp = swapped(u->cmp);
    }
    u->bound = test->ops[other];
    if (u->bound.kind == PTX_OPD_REG
            ? p->defs[u->bound.reg] || u->bound.comp ||
                  unroll_bytes(p->f, u->bound.reg) != ptx_type_bytes(test->type[0])
            : u->bound.kind != PTX_OPD_IMM)
        return false;
    const int64_t step = unroll_step(u, u->x.base),
                  off = unroll_signed(u, u->x.base, u->x.off);
    if (step < -(1 << 24) || step > 1 << 24 || off < -(1 << 24) || off > 1 << 24)
        return false;
    return off == step &&
           (u->cmp == PTX_CMP_NE || (step > 0 ? goes_up(u->cmp) : goes_down(u->cmp)));
}

/* A literal bound less `off`; false: that wraps. */
bool
unroll_limit(const struct unroll *u, int64_t off, uint64_t *v)
{
    const unsigned bytes = ptx_type_bytes(u->test->type[0]);
    const bool is_signed = ptx_types[u->test->type[0]].kind == PTX_K_SINT;
    const uint64_t mask = bytes == 8 ? ~(uint64_t)0 : 0xffffffff;
    const uint64_t n = u->bound.imm & mask, limit = (n - (uint64_t)off) & mask,
                   flip = is_signed ? (mask >> 1) + 1 : 0;
    *v = is_signed && bytes == 4 ? (uint64_t)(int64_t)(int32_t)limit : limit;
    return off > 0 ? (limit ^ flip) < (n ^ flip) : (limit ^ flip) > (n ^ flip);
}

/* How far x goes in all but the last of `trips` iterations. */
int64_t
unroll_reach(const struct unroll *u, unsigned trips)
{
    return unroll_signed(u, u->x.base, u->x.off) +
           (int64_t)(trips - 2) * unroll_step(u, u->x.base);
}

static struct defs_writes *
writes_of(struct unroll *u)
{
    if (!u->writes)
        u->writes = defs_writes_new(u->p.g);
    return u->writes;
}

static const struct uniform *
uniform_of(struct unroll *u)
{
    if (!u->uniform)
        u->uniform = uniform_new(u->p.g);
    return u->uniform;
}

static bool
threads_agree(struct unroll *u)
{
    return uniform_of(u)->block[u->p.l->header] != UNIFORM_NOT;
}

/* A special register that differs in the threads of a block, like %tid. */
static bool
is_own_number(const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_SREG && o->sreg != PTX_SREG_CTAID &&
           o->sreg != PTX_SREG_NCTAID && o->sreg != PTX_SREG_NTID;
}

/* Whether operand o of a definition may have different values in the threads of a block, by what
 * it is computed from; which of its definitions runs is not asked. */
static bool
differs(struct unroll *u, const struct ptx_operand *o, int depth)
{
    if (o->kind == PTX_OPD_SREG)
        return is_own_number(o);
    if (o->kind != PTX_OPD_REG)
        return o->kind == PTX_OPD_VEC;
    if (bitset_has(u->traced, (size_t)o->reg))
        return false;
    if (!depth)
        return true;
    bitset_add(u->traced, (size_t)o->reg);
    uint32_t n;
    const uint32_t *at = defs_writes_of(writes_of(u), o->reg, &n);
    for (uint32_t k = 0; k < n; k++) {
        const struct ptx_inst *in = &u->p.f->body.v[at[k]];
        const bool parameter = in->op == PTX_OP_LD && !ptx_machine_operations(in);
        if (parameter)
            continue;
        if (!rewrite_is_pure(in) && in->op != PTX_OP_MOV)
            return true;
        for (unsigned i = 1; i < in->nops; i++)
            if (differs(u, &in->ops[i], depth - 1))
                return true;
    }
    return false;
}

/* Whether the counter starts at %tid or the like, as it is or copied. */
static bool
counts_from_own_number(struct unroll *u)
{
    uint32_t n;
    const uint32_t *at = defs_writes_of(writes_of(u), u->x.base, &n);
    for (uint32_t k = 0; k < n; k++) {
        const struct ptx_inst *in = &u->p.f->body.v[at[k]];
        for (int depth = 0; in->op == PTX_OP_MOV && in->ops[1].kind == PTX_OPD_REG &&
                            u->ndefs[in->ops[1].reg] == 1 && depth < KNOWN_DEPTH;
             depth++)
            in = &u->p.f->body.v[u->defsum[in->ops[1].reg]];
        if (in->op == PTX_OP_MOV && is_own_number(&in->ops[1]))
            return true;
    }
    return false;
}

/* Whether threads of a block may count from or to different numbers. */
static bool
counts_differ(struct unroll *u)
{
    struct ptx_operand x = {.kind = PTX_OPD_REG, .reg = u->x.base};
    memset(u->traced, 0, BITSET_WORDS(u->nregs + 1) * sizeof *u->traced);
    return differs(u, &x, TRACE_DEPTH) || differs(u, &u->bound, TRACE_DEPTH);
}

/* As counts_differ, but by analysis/uniform.h, which also asks which definition runs; and of the
 * counter's definitions only those before the loop. */
static bool
iterations_differ(struct unroll *u)
{
    const struct uniform *uniform = uniform_of(u);
    if (u->bound.kind == PTX_OPD_REG && uniform->reg[u->bound.reg] == UNIFORM_NOT)
        return true;
    uint32_t n;
    const uint32_t *at = defs_writes_of(writes_of(u), u->x.base, &n);
    for (uint32_t k = 0; k < n; k++) {
        const struct ptx_inst *in = &u->p.f->body.v[at[k]];
        if (peel_has(&u->p, (int32_t)u->p.g->block_of[at[k]]))
            continue;
        for (unsigned i = 1; i < in->nops; i++)
            if (is_own_number(&in->ops[i]) ||
                (in->ops[i].kind == PTX_OPD_REG &&
                 uniform->reg[in->ops[i].reg] == UNIFORM_NOT))
                return true;
    }
    return false;
}

/* u->trips, u->rest: iterations of a new loop, and before it, for `all` in all; false: none are
 * worth it. */
static bool
choose_part(struct unroll *u, uint64_t all, uint64_t size)
{
    if (size > PART_BODY || u->p.l->n > 1)
        return false;
    u->trips = PART_SIZE / (size ? size : 1);
    if (u->trips >= all)
        u->trips = all - 1;
    for (; u->trips > 1; u->trips--) {
        u->rest = all % u->trips;
        if ((u->trips + u->rest) * size <= PART_SIZE)
            return true;
    }
    return false;
}

/* Whether the bound is an operand in the code of a card: a literal, a parameter, a size of the
 * launch. */
static bool
bound_is_operand(const struct unroll *u)
{
    const struct ptx_func *f = u->p.f;
    return u->bound.kind == PTX_OPD_IMM ||
           (u->ndefs[u->bound.reg] == 1 &&
            !ptx_machine_operations(&f->body.v[u->defsum[u->bound.reg]]));
}

/* Whether as many iterations can run below a literal bound; or none can, since it is an unsigned
 * number of fewer steps, and ptxas copies them all the same (u->never). */
static bool
reaches_bound(struct unroll *u)
{
    uint64_t v;
    const int64_t far = unroll_reach(u, UNROLL_UNKNOWN_TRIPS);
    const bool can = unroll_limit(u, far, &v);
    u->never = !can && far > 0 && ptx_types[u->test->type[0]].kind != PTX_K_SINT;
    return can || u->never;
}

static bool
choose_unknown(struct unroll *u, const struct unroll_size *x)
{
    u->trips = UNROLL_UNKNOWN_TRIPS;
    return !u->nside && x->size <= unroll_unknown_size(x) && u->p.back == u->p.latch &&
           u->branch_back && !(x->barrier && u->p.l->n > 1) &&
           !(x->loads & x->fixed && counts_differ(u)) &&
           (!x->barrier || (bound_is_operand(u) && threads_agree(u))) &&
           (!x->atomic || (bound_is_operand(u) && !counts_from_own_number(u))) &&
           !(x->stores && (x->stores_in_arm ? x->on_loaded > 0 : x->on_loaded > 1) &&
             iterations_differ(u)) &&
           (u->bound.kind != PTX_OPD_IMM || u->cmp == PTX_CMP_NE || reaches_bound(u));
}

/* What is read where other branches leave for has one name in all copies. */
static void
keep_names(struct unroll *u)
{
    for (uint32_t k = 0; k < u->p.nwritten; k++)
        for (uint32_t e = 0; e < u->nside; e++)
            if (live_at_start(u->live, u->side[e], u->p.written[k]))
                u->p.home[u->p.written[k]] = PEEL_KEEPS;
}

static enum unroll_way
choose(struct unroll *u)
{
    struct peel *p = &u->p;
    struct unroll_size x;
    if (p->g->block[p->l->header].rpo < 0 || !find_shape(u))
        return UNROLL_NONE;
    peel_find_names(p, u->live, u->all);
    keep_names(u);
    peel_find_order(p);
    find_lines(u);
    find_known(u);
    if (!unroll_measure(u, &x) || !find_test(u))
        return UNROLL_NONE;
    const uint64_t all = p->l->tests;
    u->never = false;
    if (!all)
        return choose_unknown(u, &x) ? UNROLL_UNKNOWN : UNROLL_NONE;
    if (unroll_fits(all, &x) && all * x.size <= MOST_SIZE) {
        u->trips = all;
        return UNROLL_FULL;
    }
    return choose_part(u, all, x.size) ? UNROLL_PART : UNROLL_NONE;
}

static void
write_report(struct unroll *u, enum unroll_way way, const struct pass_args *a)
{
    const struct ptx_inst *br = &u->p.f->body.v[u->branch];
    way == UNROLL_FULL ? u->full++ : u->part++;
    if (!a->report)
        return;
    strbuf_printf(a->report, "%s: the loop that ends in line %u: ", u->p.f->name,
                  br->line);
    if (way == UNROLL_FULL)
        strbuf_printf(a->report, "all %llu iterations in a row\n",
                      (unsigned long long)u->trips);
    else if (way == UNROLL_PART)
        strbuf_printf(a->report, "%llu iterations in a row, %llu before\n",
                      (unsigned long long)u->trips, (unsigned long long)u->rest);
    else
        strbuf_printf(a->report, "%llu iterations in a row; then two, and one\n",
                      (unsigned long long)u->trips);
}

/* -- the function -- */

/* All innermost loops once. Returns whether a loop has become straight code. */
static bool
round_of(struct ptx_func *f, const struct pass_args *a, bool *changed)
{
    struct cfg *g = cfg_new(f);
    struct loops *all = loops_new(g);
    struct live *live = all->n ? live_new(g) : NULL;
    struct unroll u = {
        .p = {.f = f, .g = g, .edit = unroll_edit}, .live = live, .all = all};
    struct arena *mem = &u.p.mem;
    const size_t n = f->regs.n;
    uint32_t *loop_at = NULL;
    if (all->n) {
        u.p.user = &u;
        peel_start(&u.p);
        u.line = ARENA_ARRAY(mem, struct unroll_line, n + 1);
        u.start = ARENA_ARRAY(mem, int32_t, n + 1);
        u.based = ARENA_ARRAY(mem, uint32_t, n + 1);
        u.ndefs = ARENA_ARRAY(mem, uint32_t, n + 1);
        u.defsum = ARENA_ARRAY(mem, uint64_t, n + 1);
        u.defined = ARENA_ARRAY(mem, uint32_t, n + 1);
        u.known = bitset_new(mem, n + 1);
        u.nregs = n;
        u.address = bitset_new(mem, n + 1);
        u.traced = bitset_new(mem, n + 1);
        u.loaded = bitset_new(mem, n + 1);
        for (u.at = 0; u.at < f->body.n; u.at++)
            if (!ptx_is_pseudo(&f->body.v[u.at]))
                defuse_each(&f->body.v[u.at], note_def, &u);
        loop_at = ARENA_ARRAY(mem, uint32_t, g->n + 1);
        for (uint32_t k = 0; k < all->n;
             k++) { /* of loops that begin alike, the smallest */
            uint32_t *at = &loop_at[all->loop[k].list[0]];
            if (!*at || all->loop[k].n < all->loop[*at - 1].n)
                *at = k + 1;
        }
    }
    for (uint32_t v = 0; v < g->n && all->n; v++) {
        enum unroll_way way = UNROLL_NONE;
        if (loop_at[v]) {
            u.p.l = &all->loop[loop_at[v] - 1];
            u.rest = 0;
            way = choose(&u);
        }
        if (way != UNROLL_NONE) {
            unroll_put_loop(&u, way);
            write_report(&u, way, a);
            const uint32_t high = u.p.l->list[u.p.l->n - 1];
            for (; v < high; v++)
                if (!peel_has(&u.p, (int32_t)v))
                    unroll_put_between(&u, v);
            continue;
        }
        for (uint32_t i = g->block[v].first; i < g->block[v].end; i++)
            *vec_push(&u.p.to) = f->body.v[i];
    }
    if (u.full + u.part) {
        vec_take(&f->body, &u.p.to);
        *changed = true;
    } else {
        vec_free(&u.p.to);
    }
    uniform_free(u.uniform);
    defs_writes_free(u.writes);
    arena_free(mem);
    live_free(live);
    loops_free(all);
    cfg_free(g);
    return u.full;
}

static bool
run(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)facts;
    (void)diag;
    if (f->registers)
        return true;
    const uint32_t rotated = unroll_rotate(f);
    *changed = rotated;
    if (a->report && rotated)
        strbuf_printf(a->report,
                      "%s: %u loops that left in their middle leave at the end\n",
                      f->name, rotated);
    for (int depth = 0; depth < MOST_DEPTH && round_of(f, a, changed); depth++)
        ;
    return true;
}

const struct pass pass_unroll = {
    .name = "unroll",
    .meaning = "copies the bodies of loops as ptxas does",
    .run_func = run,
};
