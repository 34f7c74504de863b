/* merge_loads.c: adjacent loads from scratchpad become one of 64 or 128 bits, and those from
 * the constant bank one of 64; so do adjacent stores to scratchpad, as in ptxas' code.
 *
 *     ld.shared.f32 %f1, [%r1];         ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1];
 *     ld.shared.f32 %f2, [%r1+4];
 *     ld.shared.f32 %f3, [%r1+8];
 *     ld.shared.f32 %f4, [%r1+12];
 *
 * Loads of a basic block with the same base are merged where the first of them stands, if
 * nothing between them may write scratchpad, order accesses, or touch what they load, and if
 * the address is a multiple of the vector's size. That is proved by the trailing zeros of all
 * registers: assumed to be many, then lowered by each definition until nothing changes.
 * Variables of the scratchpad that a kernel declares itself are aligned to 16 bytes for it.
 * Those of the constant bank stay where they are: a module's stand there in the order of
 * their declarations. Constants at a fixed address are operands, not loads.
 *
 * Two or four halves become one load too, and pairs of words parts of four. Where only three of four
 * words are loaded, the fourth is loaded for nothing (ptxas, CUDA 13.0, small kernels); here only if
 * it is none after all that the program loads, which may lie after the block's scratchpad.
 *
 * Stores are merged where the last of them stands, if nothing between them may touch their bytes,
 * orders accesses, or writes what they read. What else reads their values does not matter: ptxas
 * moves values that then lie elsewhere, as register-allocate does. Zeros are literals, which take
 * no registers (RZ).
 *
 * Global memory is left as it is: its pointers come from the host, and ptxas knows nothing of
 * their alignment either. O(instructions x (SPAN + rounds)). */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/defuse.h"
#include "analysis/motion.h"
#include "base/bitset.h"

/* instructions from the first load to the last: further from each other they would only lengthen
 * lives; zeros that are distinguished; those of 16 bytes; elements of the longest vector */
enum {
    SPAN = 32,
    MOST_ZEROS = 6,
    VECTOR_ZEROS = 4,
    VECTOR_BYTES = 16,
    BANK_ZEROS = 3, /* of the constant bank's widest loads */
    BANK_BYTES = 8,
    MOST_ELEMENTS = 4
};

/* What is merged. */
enum kind { SCRATCH_LOADS, BANK_LOADS, SCRATCH_STORES, KINDS };

struct merge {
    struct ptx_func *f;
    const struct defs *defs;
    uint8_t *zeros; /* trailing zeros of each register's values, at least */
    bool lowered;
    uint64_t *touched;                                /* registers since the first load */
    VEC(int32_t) touches;                             /* the same as a list */
    uint64_t *dead;                                   /* instructions */
    size_t merged[KINDS], pairs[KINDS], quads[KINDS]; /* accesses, and their vectors */
};

/* -- alignment -- */

static unsigned
zeros_of(uint64_t value)
{
    unsigned n = 0;
    while (n < MOST_ZEROS && !(value >> n & 1))
        n++;
    return n;
}

static unsigned
least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Declared by the kernel, not laid out by the launch: its alignment can be raised. */
static bool
can_align(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_SHARED && !v->dynamic && v->size >= VECTOR_BYTES &&
           v->linkage != PTX_LINK_EXTERN;
}

/* A variable of the constant bank at a multiple of the widest load's bytes. */
static bool
is_aligned_in_bank(const struct ptx_module *m, const struct ptx_var *v)
{
    uint64_t end = 0;
    if (v->space != PTX_SPACE_CONST || v->linkage == PTX_LINK_EXTERN || m->parts.n)
        return false;
    for (size_t i = 0; i < m->vars.n; i++) {
        const struct ptx_var *w = m->vars.v[i];
        if (w->space != PTX_SPACE_CONST)
            continue;
        if (w->linkage == PTX_LINK_EXTERN) /* the bank is laid out later */
            return false;
        end = (end + w->align - 1) / w->align * w->align;
        if (w == v)
            return end % BANK_BYTES == 0;
        end += w->size ? w->size : 1;
    }
    return false;
}

static unsigned
zeros_of_var(const struct merge *m, const struct ptx_var *v)
{
    const unsigned zeros = zeros_of(v->align);
    if (can_align(v))
        return VECTOR_ZEROS;
    return zeros < BANK_ZEROS && is_aligned_in_bank(m->f->module, v) ? BANK_ZEROS : zeros;
}

static unsigned
zeros_of_operand(const struct merge *m, const struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_OPD_IMM:
        return zeros_of(o->imm);
    case PTX_OPD_REG:
        return o->comp || o->joined || m->f->regs.v[o->reg].vec ? 0 : m->zeros[o->reg];
    case PTX_OPD_SYM:
        return o->var ? least(zeros_of_var(m, o->var), zeros_of((uint64_t)o->off)) : 0;
    default:
        return 0;
    }
}

/* Of the value that an instruction gives its only register. */
static unsigned
zeros_of_result(const struct merge *m, const struct ptx_inst *in)
{
    unsigned z[4] = {0};
    for (unsigned i = 1; i < in->nops && i < 4; i++)
        z[i] = zeros_of_operand(m, &in->ops[i]);
    if (in->mod[PTX_MG_SAT])
        return 0;
    switch ((enum ptx_op)in->op) {
    case PTX_OP_MOV:
    case PTX_OP_NEG:
        return z[1];
    case PTX_OP_CVTII:
        return ptx_type_bytes(in->type[0]) >= 4 && ptx_type_bytes(in->type[1]) >= 4 ? z[1]
                                                                                    : 0;
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_SELP:
        return least(z[1], z[2]);
    case PTX_OP_AND:
        return z[1] > z[2] ? z[1] : z[2];
    case PTX_OP_SHL:
        return in->ops[2].kind == PTX_OPD_IMM && in->ops[2].imm < 32
                   ? least(z[1] + (unsigned)in->ops[2].imm, MOST_ZEROS)
                   : z[1];
    case PTX_OP_MUL:
    case PTX_OP_MULW:
        return in->mod[PTX_MG_PART] == PTX_PART_HI ? 0 : least(z[1] + z[2], MOST_ZEROS);
    case PTX_OP_MAD:
    case PTX_OP_MADW:
        return in->mod[PTX_MG_PART] == PTX_PART_HI ? 0 : least(z[1] + z[2], z[3]);
    default:
        return 0;
    }
}

static void
lower(struct merge *m, int32_t reg, unsigned zeros)
{
    m->lowered |= zeros < m->zeros[reg];
    m->zeros[reg] = (uint8_t)least(zeros, m->zeros[reg]);
}

static void
lower_written(void *user, int32_t reg, bool write, bool partial)
{
    (void)partial;
    if (write)
        lower(user, reg, 0);
}

static void
find_zeros(struct merge *m)
{
    memset(m->zeros, MOST_ZEROS, m->f->regs.n);
    do {
        m->lowered = false;
        for (size_t i = 0; i < m->f->body.n; i++) {
            const struct ptx_inst *in = &m->f->body.v[i];
            if (ptx_is_pseudo(in))
                continue;
            const unsigned zeros = zeros_of_result(m, in);
            if (zeros && in->ops[0].kind == PTX_OPD_REG)
                lower(m, in->ops[0].reg, zeros);
            else
                defuse_each(in, lower_written, m);
        }
    } while (m->lowered);
}

/* -- loads -- */

static bool
is_of_bank(const struct ptx_inst *in)
{
    return ptx_inst_space(in) == PTX_SPACE_CONST;
}

/* Two bytes of scratchpad as they are. */
static bool
is_half(const struct ptx_inst *in)
{
    return ptx_type_bytes(in->type[0]) == 2 && !is_of_bank(in);
}

static bool
is_register(const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_REG && !o->comp;
}

/* Two words of scratchpad. */
static bool
is_pair(const struct ptx_inst *in)
{
    const struct ptx_operand *o = &in->ops[0];
    return in->mod[PTX_MG_VEC] == PTX_VEC_V2 && ptx_type_bytes(in->type[0]) == 4 &&
           !is_of_bank(in) && o->kind == PTX_OPD_VEC && o->n == 2 &&
           is_register(&o->vec[0]) && is_register(&o->vec[1]);
}

/* What a plain load writes, element k. */
static const struct ptx_operand *
element_of(const struct ptx_inst *in, unsigned k)
{
    return in->ops[0].kind == PTX_OPD_VEC ? &in->ops[0].vec[k] : &in->ops[0];
}

static unsigned
elements_of(const struct ptx_inst *in)
{
    return in->ops[0].kind == PTX_OPD_VEC ? in->ops[0].n : 1;
}

static bool
is_plain_load(const struct ptx_func *f, const struct ptx_inst *in)
{
    return !ptx_is_pseudo(in) && in->op == PTX_OP_LD && in->guard < 0 &&
           (ptx_inst_space(in) == PTX_SPACE_SHARED ||
            (is_of_bank(in) && in->ops[1].reg >= 0)) &&
           motion_of(f, in) == (is_of_bank(in) ? MOTION_FREE : MOTION_LOAD) &&
           (is_register(&in->ops[0]) || is_pair(in)) && in->ops[1].kind == PTX_OPD_ADDR &&
           (ptx_type_bytes(in->type[0]) == 4 || ptx_type_bytes(in->type[0]) == 8 ||
            is_half(in));
}

/* Of the same width, and of registers as wide as what is loaded. */
static bool
is_beside(const struct merge *m, const struct ptx_inst *a, const struct ptx_inst *b)
{
    const unsigned bytes = ptx_type_bytes(a->type[0]);
    if (!is_plain_load(m->f, b) || is_of_bank(a) != is_of_bank(b) ||
        ptx_type_bytes(b->type[0]) != bytes || b->ops[1].reg != a->ops[1].reg ||
        b->ops[1].var != a->ops[1].var)
        return false;
    for (unsigned k = 0; k < elements_of(b); k++)
        if (ptx_type_bytes(m->f->regs.v[element_of(b, k)->reg].type) != bytes)
            return false;
    return true;
}

/* May nothing be loaded from scratchpad (bank: from the constant bank) before it that
 * stood after? */
static bool
stops(const struct ptx_func *f, const struct ptx_inst *in, bool bank)
{
    if (bank)
        return motion_of(f, in) == MOTION_FIXED && !ptx_is_pseudo(in);
    switch (motion_of(f, in)) {
    case MOTION_FIXED:
        return !ptx_is_pseudo(in);
    case MOTION_ACCESS:
        return true;
    case MOTION_STORE:
        return ptx_inst_space(in) != PTX_SPACE_GLOBAL &&
               ptx_inst_space(in) != PTX_SPACE_LOCAL &&
               ptx_inst_space(in) != PTX_SPACE_PARAM;
    case MOTION_LOAD:
        return in->op != PTX_OP_LD;
    default:
        return ptx_ops[in->op].flags & PTX_SIDE;
    }
}

static void
touch(void *user, int32_t reg, bool write, bool partial)
{
    struct merge *m = user;
    (void)write;
    (void)partial;
    if (bitset_has(m->touched, (size_t)reg))
        return;
    bitset_add(m->touched, (size_t)reg);
    *vec_push(&m->touches) = reg;
}

struct written {
    int32_t reg;
    bool is;
};

static void
see_write(void *user, int32_t reg, bool write, bool partial)
{
    struct written *w = user;
    (void)partial;
    w->is |= write && reg == w->reg;
}

/* Whether load j of n elements belongs at element k of the vector. */
static bool
fits(const struct merge *m, const struct ptx_inst *in, bool first, int64_t k, unsigned n,
     const uint32_t *place)
{
    if (k < 0 || k + elements_of(in) > n)
        return false;
    for (unsigned e = 0; e < elements_of(in); e++)
        if (place[k + e] != UINT32_MAX ||
            (!first && bitset_has(m->touched, (size_t)element_of(in, e)->reg)))
            return false;
    return true;
}

/* Places of a vector's loads from i on: place[k] is of the one that loads the word k elements
 * after the vector's begin. false: too few. Of four words the first three may lack one: that
 * is loaded too, and lies before one that the program loads. */
static bool
find_loads(struct merge *m, uint32_t i, uint32_t end, int64_t from, unsigned n,
           uint32_t *place)
{
    const struct ptx_inst *first = &m->f->body.v[i];
    const int64_t bytes = ptx_type_bytes(first->type[0]);
    struct written base = {.reg = first->ops[1].reg};
    unsigned found = 0;
    for (uint32_t k = 0; k < n; k++)
        place[k] = UINT32_MAX;
    for (uint32_t j = i; j < end && j - i < SPAN && !base.is; j++) {
        const struct ptx_inst *in = &m->f->body.v[j];
        if (stops(m->f, in, is_of_bank(first)))
            break;
        const int64_t at =
            in->op == PTX_OP_LD && in->nops > 1 ? in->ops[1].off - from : -1;
        if (is_beside(m, first, in) && !bitset_has(m->dead, j) && at % bytes == 0 &&
            fits(m, in, j == i, at / bytes, n, place)) {
            for (unsigned e = 0; e < elements_of(in); e++)
                place[at / bytes + e] = j;
            found += elements_of(in);
        }
        defuse_each(in, touch, m);
        if (base.reg >= 0)
            defuse_each(in, see_write, &base);
    }
    while (m->touches.n)
        bitset_del(m->touched, (size_t)m->touches.v[--m->touches.n]);
    return found == n || (bytes == 4 && n == 4 && found == 3 && place[3] != UINT32_MAX);
}

/* -- stores -- */

/* A literal, or what a register always holds. */
static bool
is_zero(const struct merge *m, const struct ptx_operand *o)
{
    const int32_t at = o->kind == PTX_OPD_REG ? m->defs->at[o->reg] : -1;
    const struct ptx_inst *in = at >= 0 ? &m->f->body.v[at] : NULL;
    if (in && in->op == PTX_OP_MOV && in->guard < 0)
        o = &in->ops[1];
    return o->kind == PTX_OPD_IMM && !o->imm;
}

static bool
is_plain_store(const struct merge *m, const struct ptx_inst *in)
{
    if (ptx_is_pseudo(in) || in->op != PTX_OP_ST ||
        ptx_inst_space(in) != PTX_SPACE_SHARED || in->mod[PTX_MG_VEC] ||
        motion_of(m->f, in) != MOTION_STORE || in->ops[0].kind != PTX_OPD_ADDR)
        return false;
    const struct ptx_operand *value = &in->ops[1];
    const unsigned bytes = ptx_type_bytes(in->type[0]);
    return (bytes == 4 || bytes == 8) &&
           (is_zero(m, value) ||
            (value->kind == PTX_OPD_REG && !value->comp &&
             ptx_type_bytes(m->f->regs.v[value->reg].type) == bytes));
}

static const struct ptx_operand *
address_of(const struct ptx_inst *in)
{
    if ((in->op != PTX_OP_LD && in->op != PTX_OP_ST) || in->nops < 2 ||
        ptx_inst_space(in) != PTX_SPACE_SHARED)
        return NULL;
    const struct ptx_operand *o = &in->ops[in->op == PTX_OP_ST ? 0 : 1];
    return o->kind == PTX_OPD_ADDR ? o : NULL;
}

/* May it touch scratchpad at another base? */
static bool
may_touch(const struct ptx_inst *in)
{
    switch (ptx_inst_space(in)) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_LOCAL:
    case PTX_SPACE_PARAM:
    case PTX_SPACE_CONST:
        return false;
    default:
        return ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE) && !ptx_is_texture(in);
    }
}

/* Does the instruction write the first store's base or guard, or a value of one found so far? */
static bool
writes_source(const struct merge *m, const struct ptx_inst *in,
              const struct ptx_inst *first, const uint32_t *place, unsigned n)
{
    struct written w = {.reg = first->ops[0].reg};
    if (w.reg >= 0)
        defuse_each(in, see_write, &w);
    w.reg = first->guard;
    if (w.reg >= 0)
        defuse_each(in, see_write, &w);
    for (unsigned k = 0; k < n; k++) {
        const struct ptx_operand *value =
            place[k] == UINT32_MAX ? NULL : &m->f->body.v[place[k]].ops[1];
        if (!value || value->kind != PTX_OPD_REG)
            continue;
        w.reg = value->reg;
        defuse_each(in, see_write, &w);
    }
    return w.is;
}

/* Places of the stores of a vector from i on; false: they are not all there, or cannot move to
 * the last. */
static bool
find_stores(const struct merge *m, uint32_t i, uint32_t end, int64_t from, unsigned n,
            uint32_t *place)
{
    const struct ptx_inst *first = &m->f->body.v[i];
    const struct ptx_operand *base = &first->ops[0];
    const int64_t bytes = ptx_type_bytes(first->type[0]);
    unsigned found = 0;
    for (unsigned k = 0; k < n; k++)
        place[k] = UINT32_MAX;
    for (uint32_t j = i; j < end && j - i < SPAN && found < n; j++) {
        const struct ptx_inst *in = &m->f->body.v[j];
        if (ptx_is_pseudo(in) || bitset_has(m->dead, j))
            continue;
        const struct ptx_operand *at = address_of(in);
        const bool same = at && at->reg == base->reg && at->var == base->var;
        const int64_t off = same ? at->off - from : 0;
        if (same && off > -VECTOR_BYTES && off < n * bytes) {
            if (!is_plain_store(m, in) || ptx_type_bytes(in->type[0]) != bytes ||
                in->guard != first->guard || in->guard_neg != first->guard_neg ||
                off < 0 || off % bytes || place[off / bytes] != UINT32_MAX)
                return false;
            place[off / bytes] = j;
            found++;
            continue;
        }
        const enum motion order = motion_of(m->f, in);
        if (order == MOTION_ACCESS || order == MOTION_FIXED || (!same && may_touch(in)) ||
            writes_source(m, in, first, place, n))
            return false;
    }
    return found == n;
}

/* -- vectors -- */

/* The operand that is the address is the other one. */
static unsigned
value_operand(const struct ptx_inst *in)
{
    return in->op == PTX_OP_ST ? 1 : 0;
}

static enum kind
kind_of(const struct ptx_inst *in)
{
    if (in->op == PTX_OP_ST)
        return SCRATCH_STORES;
    return is_of_bank(in) ? BANK_LOADS : SCRATCH_LOADS;
}

/* Puts the vector's load in place of the first, its store in place of the last. */
static void
merge(struct merge *m, const uint32_t *place, unsigned n, int64_t from)
{
    struct ptx_module *module = m->f->module;
    const enum kind kind = kind_of(&m->f->body.v[place[n - 1]]);
    const bool store = kind == SCRATCH_STORES;
    struct ptx_operand element[MOST_ELEMENTS];
    uint32_t at = store ? 0 : UINT32_MAX;
    bool mixed = false;
    for (unsigned k = 0; k < n; k++)
        if (place[k] != UINT32_MAX && (store ? place[k] > at : place[k] < at))
            at = place[k];
    const struct ptx_inst like = m->f->body.v[at];
    const unsigned bytes = ptx_type_bytes(like.type[0]), value = value_operand(&like);
    struct ptx_inst in = like;
    for (unsigned k = 0; k < n; k++) {
        if (place[k] == UINT32_MAX) { /* nobody reads it */
            element[k] = rewrite_register(ptx_reg_new(m->f, PTX_B32));
            mixed = true;
            continue;
        }
        const struct ptx_inst *part = &m->f->body.v[place[k]];
        if (store)
            element[k] = is_zero(m, &part->ops[value])
                             ? rewrite_literal_of((enum ptx_type)part->type[0], 0)
                             : part->ops[value];
        else
            element[k] = *element_of(part, k && place[k] == place[k - 1]);
        mixed |= part->type[0] != like.type[0];
        bitset_add(m->dead, place[k]);
        m->merged[kind] += !k || place[k] != place[k - 1];
    }
    in.ops = ptx_operands_dup(module, like.ops, like.nops);
    in.ops[value] = (struct ptx_operand){.kind = PTX_OPD_VEC, .n = (uint8_t)n, .reg = -1};
    in.ops[value].vec = ptx_operands_dup(module, element, n);
    in.ops[!value].off = from;
    if (mixed)
        in.type[0] = bytes == 8 ? PTX_B64 : bytes == 4 ? PTX_B32 : PTX_B16;
    ptx_set_mod(module, &in, PTX_MG_VEC, n == 4 ? PTX_VEC_V4 : PTX_VEC_V2);
    m->f->body.v[at] = in;
    bitset_del(m->dead, at);
    if (n * bytes == VECTOR_BYTES)
        m->quads[kind]++;
    else
        m->pairs[kind]++;
}

/* A vector of that many bytes that begins with or contains the access at i. */
static bool
try_merge(struct merge *m, uint32_t i, uint32_t end, unsigned vector)
{
    const struct ptx_inst *in = &m->f->body.v[i];
    const struct ptx_operand *at = &in->ops[!value_operand(in)];
    const unsigned bytes = ptx_type_bytes(in->type[0]), n = vector / bytes;
    unsigned zeros = at->reg >= 0 ? m->zeros[at->reg] : MOST_ZEROS;
    if (at->var)
        zeros = least(zeros, zeros_of_var(m, at->var));
    if (n < 2 || n > MOST_ELEMENTS || (n == 2 && in->mod[PTX_MG_VEC]) ||
        zeros < zeros_of(vector) || (is_of_bank(in) && vector > BANK_BYTES))
        return false;
    const int64_t from = at->off - ((at->off % vector) + vector) % vector;
    uint32_t place[MOST_ELEMENTS];
    if (in->op == PTX_OP_ST ? !find_stores(m, i, end, from, n, place)
                            : !find_loads(m, i, end, from, n, place))
        return false;
    merge(m, place, n, from);
    return true;
}

/* All loads, or all stores. */
static void
merge_all(struct merge *m, const struct cfg *g, bool stores)
{
    for (uint32_t b = 0; b < g->n; b++)
        for (uint32_t i = g->block[b].first, end = g->block[b].end; i < end; i++) {
            const struct ptx_inst *in = &m->f->body.v[i];
            if (!bitset_has(m->dead, i) &&
                (stores ? is_plain_store(m, in) : is_beside(m, in, in)) &&
                !try_merge(m, i, end, VECTOR_BYTES) &&
                !try_merge(m, i, end, VECTOR_BYTES / 2))
                try_merge(m, i, end, VECTOR_BYTES / 4);
        }
}

static void
align_vars(struct ptx_func *f)
{
    for (size_t i = 0; i < f->body.n; i++)
        for (unsigned k = 0; k < f->body.v[i].nops; k++) {
            const struct ptx_operand *o = &f->body.v[i].ops[k];
            if ((o->kind != PTX_OPD_SYM && o->kind != PTX_OPD_ADDR) || !o->var)
                continue;
            if (can_align(o->var) && o->var->align < VECTOR_BYTES)
                o->var->align = VECTOR_BYTES;
            if (o->var->align < BANK_BYTES && is_aligned_in_bank(f->module, o->var))
                o->var->align = BANK_BYTES;
        }
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)diag;
    struct arena mem = {0};
    struct merge m = {.f = f, .defs = x->defs};
    m.zeros = ARENA_ARRAY(&mem, uint8_t, f->regs.n + 1);
    m.touched = bitset_new(&mem, f->regs.n + f->body.n + 1); /* with those made here */
    m.dead = bitset_new(&mem, f->body.n + 1);
    find_zeros(&m);
    merge_all(&m, x->cfg, false);
    merge_all(&m, x->cfg, true);
    if (m.merged[SCRATCH_LOADS] || m.merged[BANK_LOADS] || m.merged[SCRATCH_STORES]) {
        rewrite_delete(f, m.dead);
        align_vars(f);
        *changed = true;
    }
    if (a->report && m.merged[SCRATCH_LOADS])
        strbuf_printf(
            a->report,
            "%s: %zu loads from scratchpad have become %zu of 64 bits or fewer and %zu of "
            "128\n",
            f->name, m.merged[SCRATCH_LOADS], m.pairs[SCRATCH_LOADS],
            m.quads[SCRATCH_LOADS]);
    if (a->report && m.merged[BANK_LOADS])
        strbuf_printf(a->report,
                      "%s: %zu loads of constants have become %zu of 64 bits\n", f->name,
                      m.merged[BANK_LOADS], m.pairs[BANK_LOADS]);
    if (a->report && m.merged[SCRATCH_STORES])
        strbuf_printf(a->report, "%s: %zu stores to scratchpad have become %zu\n",
                      f->name, m.merged[SCRATCH_STORES],
                      m.pairs[SCRATCH_STORES] + m.quads[SCRATCH_STORES]);
    vec_free(&m.touches);
    arena_free(&mem);
    return true;
}

const struct pass pass_merge_loads = {
    .name = "merge-loads",
    .meaning = "makes one load of 64 or 128 bits of adjacent ones from scratchpad, "
               "one of 64 of constants; so of stores to scratchpad",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
};
