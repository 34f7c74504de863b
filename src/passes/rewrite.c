/* rewrite.c: helpers of the passes on single instructions. */
#include "passes/rewrite.h"

#include "analysis/defuse.h"
#include "base/bitset.h"

static const char *
token(const struct ptx_inst *in, unsigned index)
{
    const char *p = ptx_ops[in->op].operands;
    while (index--) {
        while (*p && *p != ',' && *p != '|')
            p++;
        if (!*p)
            return p;
        p++;
    }
    return p;
}

char
rewrite_letter(const struct ptx_inst *in, unsigned index)
{
    return *token(in, index);
}

enum ptx_type
rewrite_operand_type(const struct ptx_inst *in, unsigned index)
{
    const char *t = token(in, index);
    bool typed = *t && t[1] >= '0' && t[1] <= '9';
    if (*t == 'U' || *t == 'u' || (*t == 'r' && !typed))
        return PTX_B32;
    if (*t == 'P' || *t == 'p')
        return PTX_PRED;
    if (!typed || !strchr("daDASVr", *t))
        return PTX_NOTYPE;
    unsigned k = (unsigned)(t[1] - '0');
    enum ptx_type type = k < in->ntypes ? in->type[k] : PTX_NOTYPE;
    if (t[2] != 'w')
        return type;
    bool is_signed = ptx_types[type].kind == PTX_K_SINT;
    switch (ptx_type_bytes(type)) {
    case 2:
        return is_signed ? PTX_S32 : PTX_U32;
    case 4:
        return is_signed ? PTX_S64 : PTX_U64;
    default:
        return PTX_NOTYPE;
    }
}

bool
rewrite_sources(struct ptx_inst *in,
                bool (*fn)(void *, struct ptx_inst *, struct ptx_operand *, unsigned,
                           bool),
                void *user)
{
    bool changed = false;
    if (in->op == PTX_OP_CALL)
        return false;
    for (unsigned i = 0; i < in->nops; i++) {
        struct ptx_operand *o = &in->ops[i];
        if (o->kind == PTX_OPD_ADDR && o->reg >= 0)
            changed |= fn(user, in, o, i, false);
        if (defuse_is_dest(in, i))
            continue;
        if (o->kind == PTX_OPD_REG)
            changed |= fn(user, in, o, i, false);
        for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
            if (o->vec[k].kind == PTX_OPD_REG)
                changed |= fn(user, in, &o->vec[k], i, true);
    }
    return changed;
}

void
rewrite_as_mov(struct ptx_func *f, struct ptx_inst *in, const struct ptx_operand *src)
{
    unsigned type = f->regs.v[in->ops[0].reg].type;
    struct ptx_operand dst = in->ops[0];
    struct ptx_inst mov =
        ptx_inst_new(f->module, type == PTX_PRED ? PTX_OP_MOVP : PTX_OP_MOV, 2);
    mov.ntypes = 1;
    unsigned bytes = ptx_type_bytes(type);
    mov.type[0] = (uint8_t)(type == PTX_PRED ? PTX_PRED
                            : bytes == 8     ? PTX_B64
                            : bytes == 4     ? PTX_B32
                                             : PTX_B16);
    mov.guard = in->guard;
    mov.guard_neg = in->guard_neg;
    mov.line = in->line;
    mov.col = in->col;
    mov.ops[0] = dst;
    mov.ops[1] = *src;
    *in = mov;
}

struct ptx_operand
rewrite_literal(uint64_t value)
{
    return (struct ptx_operand){
        .kind = PTX_OPD_IMM, .imm = value, .reg = -1, .label = -1};
}

bool
rewrite_takes_literal(const struct ptx_inst *in, unsigned index)
{
    enum ptx_type type = rewrite_operand_type(in, index);
    char letter = rewrite_letter(in, index);
    switch (in->op) { /* these are folded whole, or stay */
    case PTX_OP_CVTII:
    case PTX_OP_CVTIF:
    case PTX_OP_CVTFI:
    case PTX_OP_CVTFF:
    case PTX_OP_CVTA:
    case PTX_OP_ISSPACEP:
    case PTX_OP_MOV:
    case PTX_OP_MOVP:
        return false;
    default:
        break;
    }
    /* Halves, alone or in pairs, and pairs of bytes cannot be written as literals. */
    unsigned kind = ptx_types[type].kind;
    bool written = kind == PTX_K_FLT      ? type == PTX_F32 || type == PTX_F64
                   : kind == PTX_K_FORMAT ? ptx_type_bytes(type) >= 4
                                          : type != PTX_PRED && type != PTX_NOTYPE;
    return rewrite_is_pure(in) && (letter == 'a' || letter == 'u') && written;
}

struct ptx_operand
rewrite_literal_of(enum ptx_type type, uint64_t bits)
{
    unsigned kind = ptx_types[type].kind, width = ptx_type_bytes(type);
    struct ptx_operand o = rewrite_literal(bits);
    if (kind == PTX_K_FLT)
        o.kind = width == 4 ? PTX_OPD_F32 : PTX_OPD_F64;
    else if (kind == PTX_K_SINT && width < 8) /* as it would be written */
        o.imm = (uint64_t)((int64_t)(bits << (64 - 8 * width)) >> (64 - 8 * width));
    return o;
}

bool
rewrite_literal_bits(const struct ptx_operand *o, enum ptx_type type, uint64_t *bits)
{
    unsigned bytes = ptx_type_bytes(type);
    bool flt = ptx_types[type].kind == PTX_K_FLT;
    *bits = o->imm;
    if (type == PTX_PRED) {
        *bits = o->imm != 0;
        return o->kind == PTX_OPD_IMM && !o->neg;
    }
    if (o->neg || (o->kind == PTX_OPD_IMM   ? flt
                   : o->kind == PTX_OPD_F32 ? bytes != 4
                   : o->kind == PTX_OPD_F64 ? type != PTX_F64
                                            : true))
        return false;
    if (bytes < 8)
        *bits &= ((uint64_t)1 << 8 * bytes) - 1;
    return true;
}

bool
rewrite_type_fits(enum ptx_type from, enum ptx_type to)
{
    unsigned a = ptx_types[from].kind, b = ptx_types[to].kind;
    bool ia = a == PTX_K_UINT || a == PTX_K_SINT, ib = b == PTX_K_UINT || b == PTX_K_SINT;
    return ptx_type_bytes(from) == ptx_type_bytes(to) &&
           (from == to || b == PTX_K_BITS || (ia && ib)) &&
           (from == PTX_PRED) == (to == PTX_PRED);
}

void
rewrite_delete(struct ptx_func *f, const uint64_t *dead)
{
    size_t n = 0;
    for (size_t i = 0; i < f->body.n; i++)
        if (!bitset_has(dead, i))
            f->body.v[n++] = f->body.v[i];
    f->body.n = n;
}

struct ptx_operand
rewrite_register(int32_t r)
{
    return (struct ptx_operand){.kind = PTX_OPD_REG, .reg = r, .label = -1};
}

static void
count_read(void *user, int32_t r, bool write, bool partial)
{
    uint32_t *reads = user;
    (void)partial;
    reads[r] += !write;
}

uint32_t *
rewrite_count_reads(const struct ptx_func *f, struct arena *mem)
{
    uint32_t *reads = ARENA_ARRAY(mem, uint32_t, f->regs.n + 1);
    for (size_t i = 0; i < f->body.n; i++)
        defuse_each(&f->body.v[i], count_read, reads);
    return reads;
}

bool
rewrite_is_offset(const struct ptx_func *f, const struct ptx_inst *in, int32_t *base,
                  int64_t *n)
{
    uint64_t v;
    if ((in->op != PTX_OP_ADD && in->op != PTX_OP_SUB) || in->guard >= 0 ||
        in->nops != 3 || ptx_type_bytes(in->type[0]) != 8 ||
        in->ops[1].kind != PTX_OPD_REG || in->ops[1].neg || in->ops[1].comp ||
        ptx_type_bytes(f->regs.v[in->ops[1].reg].type) != 8 ||
        !rewrite_literal_bits(&in->ops[2], in->type[0], &v))
        return false;
    *base = in->ops[1].reg;
    *n = in->op == PTX_OP_ADD ? (int64_t)v : (int64_t)(0 - v);
    return true;
}

bool
rewrite_is_pure(const struct ptx_inst *in)
{
    const struct ptx_op_info *info = &ptx_ops[in->op];
    if (!(info->flags & PTX_PURE) || info->flags & PTX_CCIN || in->mod[PTX_MG_CC] ||
        !in->nops || in->ops[0].kind != PTX_OPD_REG || in->ops[0].comp)
        return false;
    for (unsigned i = 1; i < in->nops; i++)
        if (in->ops[i].kind == PTX_OPD_SREG ||
            (defuse_is_dest(in, i) && in->ops[i].kind != PTX_OPD_NONE))
            return false;
    return true;
}

/* One lane's row, as the lane functions want it. */
union row {
    _Alignas(64) uint32_t w[LANES];
    uint64_t d[LANES];
};

static void
fill(union row *r, enum ptx_type type, uint64_t bits)
{
    if (type != PTX_PRED && ptx_type_bytes(type) == 8)
        r->d[0] = bits;
    else
        r->w[0] = (uint32_t)bits;
}

bool
rewrite_plan(const struct ptx_func *f, const struct ptx_inst *in,
             struct rewrite_plan *plan)
{
    enum ptx_type type = rewrite_operand_type(in, 0);
    unsigned width = ptx_type_bytes(type);
    *plan = (struct rewrite_plan){.type = (uint8_t)type};
    if (type == PTX_NOTYPE || width == 1 ||
        width != ptx_type_bytes(f->regs.v[in->ops[0].reg].type))
        return false;
    for (unsigned i = 1; i < in->nops; i++) {
        if (rewrite_letter(in, i) == 'P')
            continue; /* a second destination that was left out */
        enum ptx_type t = rewrite_operand_type(in, i);
        if (plan->n == 4 || t == PTX_NOTYPE || ptx_type_bytes(t) == 1)
            return false;
        plan->source[plan->n] = (uint8_t)i;
        plan->source_type[plan->n++] = (uint8_t)t;
    }
    lane_init();
    plan->fn = lane_select(in, &plan->aux);
    return plan->fn;
}

bool
rewrite_evaluate(const struct rewrite_plan *plan, const struct ptx_inst *in,
                 bool (*source)(void *user, const struct ptx_operand *o,
                                enum ptx_type type, uint64_t *bits),
                 void *user, uint64_t *bits)
{
    const enum ptx_type type = plan->type;
    const unsigned width = ptx_type_bytes(type);
    union row s[4] = {0}, d = {0};
    for (unsigned k = 0; k < plan->n; k++) {
        const struct ptx_operand *o = &in->ops[plan->source[k]];
        uint64_t value = 0;
        if (o->kind != PTX_OPD_NONE && !source(user, o, plan->source_type[k], &value))
            return false;
        fill(&s[k], plan->source_type[k], value);
    }
    void *const dst[2] = {&d, NULL};
    const void *const src[4] = {&s[0], &s[1], &s[2], &s[3]};
    plan->fn(dst, src, 1, plan->aux);
    *bits = type == PTX_PRED ? d.w[0] & 1 : width == 8 ? d.d[0] : d.w[0];
    if (width == 2)
        *bits &= 0xffff;
    return true;
}

bool
rewrite_numbers_warps(const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_SREG &&
           (o->sreg == PTX_SREG_WARPID || o->sreg == PTX_SREG_NWARPID ||
            o->sreg >= PTX_SREG_TOTAL_SMEM_SIZE);
}

bool
rewrite_reads_word(const struct ptx_inst *in)
{
    return in->op == PTX_OP_MOV && in->ntypes == 1 && ptx_type_bytes(in->type[0]) == 4 &&
           in->ops[0].kind == PTX_OPD_REG;
}

bool
rewrite_source_bits(const struct ptx_func *f, const struct ptx_operand *o,
                    enum ptx_type type,
                    bool (*known)(const void *user, int32_t reg, uint64_t *bits),
                    const void *user, uint64_t *bits)
{
    if (o->kind != PTX_OPD_REG)
        return rewrite_literal_bits(o, type, bits);
    if (o->comp || !known(user, o->reg, bits))
        return false;
    if (type == PTX_PRED) {
        *bits = *bits != (uint64_t)o->neg;
        return true;
    }
    return !o->neg && ptx_type_bytes(f->regs.v[o->reg].type) == ptx_type_bytes(type);
}

/* -- names -- */

static bool
has_name(const struct ptx_func *f, const char *name)
{
    for (size_t i = 0; i < f->vars.n; i++)
        if (!strcmp(f->vars.v[i]->name, name))
            return true;
    for (size_t i = 0; i < f->params.n; i++)
        if (!strcmp(f->params.v[i]->name, name))
            return true;
    for (size_t i = 0; i < f->rets.n; i++)
        if (!strcmp(f->rets.v[i]->name, name))
            return true;
    return false;
}

/* everywhere: in any of its functions too. */
static bool
module_has_name(const struct ptx_module *m, const char *name, bool everywhere)
{
    for (size_t i = 0; i < m->vars.n; i++)
        if (!strcmp(m->vars.v[i]->name, name))
            return true;
    for (size_t i = 0; i < m->funcs.n; i++)
        if (!strcmp(m->funcs.v[i]->name, name) ||
            (everywhere && has_name(m->funcs.v[i], name)))
            return true;
    return false;
}

const char *
rewrite_new_name(const struct ptx_func *f, const char *name, bool everywhere)
{
    const char *is = name;
    for (unsigned n = 1; has_name(f, is) || module_has_name(f->module, is, everywhere);
         n++)
        is = arena_printf(&f->module->mem, "%s_%u", name, n);
    return is;
}

/* -- labels -- */

/* Calls fn for each label that an operand names. */
static void
each_label(struct ptx_operand *o, void (*fn)(int32_t *number, int32_t *label),
           int32_t *number)
{
    if (o->kind == PTX_OPD_LABEL)
        fn(number, &o->label);
    for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
        each_label(&o->vec[k], fn, number);
}

static void
note_label(int32_t *number, int32_t *label)
{
    number[*label] = 0;
}

static void
renumber(int32_t *number, int32_t *label)
{
    *label = number[*label];
}

size_t
rewrite_drop_labels(struct ptx_func *f)
{
    struct arena mem = {0};
    int32_t *number = ARENA_ARRAY(&mem, int32_t, f->labels.n + 1);
    uint64_t *gone = bitset_new(&mem, f->body.n + 1);
    size_t dropped = 0;
    memset(number, 0xff, f->labels.n * sizeof *number);
    for (size_t i = 0; i < f->body.n; i++)
        for (unsigned k = 0; f->body.v[i].op != PTX_OP_LABEL && k < f->body.v[i].nops;
             k++)
            each_label(&f->body.v[i].ops[k], note_label, number);
    size_t n = 0;
    for (size_t l = 0; l < f->labels.n; l++) {
        if (number[l] < 0)
            continue;
        number[l] = (int32_t)n;
        f->labels.v[n++] = f->labels.v[l];
    }
    f->labels.n = n;
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (in->op == PTX_OP_LABEL && number[in->ops[0].label] < 0)
            bitset_add(gone, i), dropped++;
        else
            for (unsigned k = 0; k < in->nops; k++)
                each_label(&in->ops[k], renumber, number);
    }
    if (dropped)
        rewrite_delete(f, gone);
    arena_free(&mem);
    return dropped;
}
