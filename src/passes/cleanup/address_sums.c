/* address_sums.c: addresses of one block that are equal up to a literal share a register.
 *
 *     add.s64 %rd2, %rd1, 512;
 *     L: ...                                   L: ...
 *     add.s64 %rd5, %rd1, %rd4;                add.s64 %rd5, %rd1, %rd4;
 *     ld.global.u32 %r1, [%rd5];         ->    ld.global.u32 %r1, [%rd5];
 *     add.s64 %rd6, %rd2, %rd4;                ld.global.u32 %r2, [%rd5+512];
 *     ld.global.u32 %r2, [%rd6];
 *
 * nvcc takes such sums with literals out of loops, where each needs two registers; ptxas (CUDA
 * 13.0) takes the literals through sums and shifts of 64 bits into the addresses. So here: of a
 * register that only addresses read, the value without its literal is found as an expression
 * over registers with one definition each that reaches (analysis/defs.h). Where several of a block
 * have one expression, it is computed before the first of them. What their own sums were
 * computed from is left to dead-code; it is looked into only if nothing else reads it, or it is the
 * sum of a literal or of a scratchpad variable. It does not go through the extension of a 32-bit
 * sum, which may have wrapped; ptxas does not either. Addresses of scratchpad may have 32 bits, for
 * they wrap at 2^32 themselves.
 * Expected O(instructions + n log n) for n such registers. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include <stdlib.h>

enum {
    CARD_OFFSET = 1 << 23, /* offsets of a card's accesses are 24 bits */
    MOST_DEPTH = 6         /* of an expression */
};

/* A register, or a sum, shift or product of two others by number. Numbers below the function's
 * registers are those. */
struct expression {
    enum ptx_op op; /* PTX_OP_ADD; SHL, MUL: by the literal b; MOV: variable a, b bytes */
    uint32_t a, b;
    int32_t next; /* of its slot in the table, -1: none */
    int32_t held; /* a register that is this, -1: none */
};

struct value {
    uint32_t of; /* expression */
    int64_t n;   /* and this */
};

struct address {
    uint32_t at; /* where it is computed */
    struct value is;
};

struct group {
    struct ptx_func *f;
    const struct defs *defs;
    uint32_t nregs;
    uint32_t *reads, *in_addresses; /* of each register; those as a base that holds */
    int64_t *least, *most;          /* of each: offsets from it */
    int32_t *base; /* of each: the register that its addresses read for it, */
    int64_t *more; /* and what they add; base -1: itself */
    VEC(struct expression) made;
    VEC(struct ptx_var *) var; /* in scratchpad, whose addresses occur */
    int32_t *slot;
    size_t nslots;
    VEC(struct address) address;
    uint32_t at;             /* the instruction that is written */
    VEC(struct ptx_inst) to; /* the new body, while it is written */
};

/* -- expressions -- */

static uint32_t
number_of(struct group *s, enum ptx_op op, uint32_t a, uint32_t b)
{
    if (op == PTX_OP_ADD && a > b) {
        const uint32_t was = a;
        a = b;
        b = was;
    }
    const uint64_t h = ((uint64_t)a * 0x9e3779b97f4a7c15u ^ b) * 0xff51afd7ed558ccdu + op;
    int32_t *slot = &s->slot[h >> 32 & (s->nslots - 1)];
    for (int32_t k = *slot; k >= 0; k = s->made.v[k].next)
        if (s->made.v[k].op == op && s->made.v[k].a == a && s->made.v[k].b == b)
            return s->nregs + (uint32_t)k;
    *vec_push(&s->made) = (struct expression){op, a, b, *slot, -1};
    *slot = (int32_t)s->made.n - 1;
    return s->nregs + (uint32_t)*slot;
}

static unsigned
bytes_of(const struct group *s, int32_t r)
{
    return ptx_type_bytes(s->f->regs.v[r].type);
}

/* A register of that size that can be read where `at` is. */
static bool
is_source(const struct group *s, const struct ptx_operand *o, unsigned bytes, uint32_t at)
{
    return o->kind == PTX_OPD_REG && !o->neg && !o->comp &&
           bytes_of(s, o->reg) == bytes && defs_reach(s->defs, o->reg, at);
}

static uint32_t
number_of_var(struct group *s, struct ptx_var *v, unsigned bytes)
{
    size_t i = 0;
    while (i < s->var.n && s->var.v[i] != v)
        i++;
    if (i == s->var.n)
        *vec_push(&s->var) = v;
    return number_of(s, PTX_OP_MOV, (uint32_t)i, bytes);
}

static bool
is_var(const struct ptx_inst *in)
{
    return in->op == PTX_OP_MOV && in->guard < 0 && in->nops == 2 &&
           in->ops[1].kind == PTX_OPD_SYM && in->ops[1].var &&
           in->ops[1].var->space == PTX_SPACE_SHARED;
}

/* Sums that cost nothing where they are rematerialised: of a literal, of a variable. */
static bool
is_free(const struct group *s, const struct ptx_inst *in)
{
    int32_t base;
    int64_t n;
    if (is_var(in) || rewrite_is_offset(s->f, in, &base, &n))
        return true;
    for (unsigned k = 1; in->op == PTX_OP_ADD && k < 3; k++) {
        const struct ptx_operand *o = &in->ops[k];
        const int32_t def = o->kind == PTX_OPD_REG ? s->defs->at[o->reg] : DEFS_NONE;
        if (def >= 0 && is_var(&s->f->body.v[def]))
            return true;
    }
    return false;
}

static const struct value none = {UINT32_MAX, 0};

static struct value value_at(struct group *s, int32_t r, uint32_t at, int depth);

static struct value
sum(struct group *s, struct value x, struct value y)
{
    return (struct value){number_of(s, PTX_OP_ADD, x.of, y.of),
                          (int64_t)((uint64_t)x.n + (uint64_t)y.n)};
}

/* x by a literal: shifted, or a product. */
static struct value
scaled(struct group *s, struct value x, enum ptx_op op, uint64_t by)
{
    const uint64_t n = (uint64_t)x.n;
    return (struct value){number_of(s, op, x.of, (uint32_t)by),
                          (int64_t)(op == PTX_OP_SHL ? n << by : n * by)};
}

/* What instruction `def` gives its destination of 32 or 64 bits, as instruction `at` after it
 * sees it; of - UINT32_MAX: it is no sum, shift or product. */
static struct value
computed(struct group *s, uint32_t def, uint32_t at, int depth)
{
    const struct ptx_inst *in = &s->f->body.v[def];
    const unsigned bytes = ptx_type_bytes(in->type[0]);
    uint64_t bits;
    if (is_var(in))
        return (struct value){number_of_var(s, in->ops[1].var, bytes), in->ops[1].off};
    if (in->guard >= 0 || in->nops < 3 || in->mod[PTX_MG_CC] || in->mod[PTX_MG_SAT] ||
        (bytes != 8 && bytes != 4) || bytes_of(s, in->ops[0].reg) != bytes)
        return none;
    const bool product = (in->op == PTX_OP_MUL || in->op == PTX_OP_MAD) &&
                         in->mod[PTX_MG_PART] == PTX_PART_LO;
    if (!is_source(s, &in->ops[1], bytes, at))
        return none;
    if (in->op == PTX_OP_SHL) {
        if (!rewrite_literal_bits(&in->ops[2], PTX_U32, &bits) || bits >= 32)
            return none;
        return scaled(s, value_at(s, in->ops[1].reg, at, depth), PTX_OP_SHL, bits);
    }
    if (product) {
        if (!rewrite_literal_bits(&in->ops[2], in->type[0], &bits) || bits > INT32_MAX ||
            (in->nops == 4 && !is_source(s, &in->ops[3], bytes, at)))
            return none;
        const struct value x =
            scaled(s, value_at(s, in->ops[1].reg, at, depth), PTX_OP_MUL, bits);
        return in->nops == 4 ? sum(s, x, value_at(s, in->ops[3].reg, at, depth)) : x;
    }
    if (in->op != PTX_OP_ADD && in->op != PTX_OP_SUB)
        return none;
    if (rewrite_literal_bits(&in->ops[2], in->type[0], &bits)) {
        struct value v = value_at(s, in->ops[1].reg, at, depth);
        if (in->op == PTX_OP_SUB)
            bits = 0 - bits;
        v.n = (int64_t)((uint64_t)v.n + bits);
        return v;
    }
    if (in->op != PTX_OP_ADD || !is_source(s, &in->ops[2], bytes, at))
        return none;
    /* One by one: they number expressions, and C leaves the order of arguments open. */
    const struct value y = value_at(s, in->ops[2].reg, at, depth);
    return sum(s, value_at(s, in->ops[1].reg, at, depth), y);
}

/* Register r, which reaches instruction `at`, as an expression and a literal. */
static struct value
value_at(struct group *s, int32_t r, uint32_t at, int depth)
{
    const struct value self = {(uint32_t)r, 0};
    const uint32_t def = (uint32_t)s->defs->at[r];
    if (!depth)
        return self;
    const struct value v = computed(s, def, at, depth - 1);
    if (v.of == UINT32_MAX)
        return self;
    const bool exact = !v.n && v.of >= s->nregs;
    if (s->reads[r] != 1 && !exact && !is_free(s, &s->f->body.v[def]))
        return self;
    if (exact && s->made.v[v.of - s->nregs].held < 0)
        s->made.v[v.of - s->nregs].held = r;
    return v;
}

/* -- addresses -- */

static void
note_accesses(struct group *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    for (unsigned k = 0; k < in->nops; k++) {
        const struct ptx_operand *o = &in->ops[k];
        if (o->kind != PTX_OPD_ADDR || o->reg < 0 || o->var || o->comp ||
            !defs_reach(s->defs, o->reg, i) ||
            (bytes_of(s, o->reg) < 8 && ptx_inst_space(in) != PTX_SPACE_SHARED))
            continue;
        const bool first = !s->in_addresses[o->reg]++;
        s->least[o->reg] = first || o->off < s->least[o->reg] ? o->off : s->least[o->reg];
        s->most[o->reg] = first || o->off > s->most[o->reg] ? o->off : s->most[o->reg];
    }
}

/* Notes what instruction i computes if addresses only read it. */
static void
note_address(struct group *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    if (ptx_is_pseudo(in) || !in->nops || in->ops[0].kind != PTX_OPD_REG ||
        s->defs->at[in->ops[0].reg] != (int32_t)i)
        return;
    const int32_t d = in->ops[0].reg;
    if (!s->in_addresses[d] || s->reads[d] != s->in_addresses[d] || is_var(in))
        return;
    struct value v = computed(s, i, i, MOST_DEPTH);
    if (bytes_of(s, d) == 4)
        v.n = (int32_t)v.n;
    if (v.of != UINT32_MAX && v.of >= s->nregs && v.n > -CARD_OFFSET &&
        v.n < CARD_OFFSET && s->least[d] + v.n >= -CARD_OFFSET &&
        s->most[d] + v.n < CARD_OFFSET)
        *vec_push(&s->address) = (struct address){i, v};
}

static int
by_value(const void *p, const void *q)
{
    const struct address *x = p, *y = q;
    return x->is.of != y->is.of ? (x->is.of < y->is.of ? -1 : 1)
           : x->at != y->at     ? (x->at < y->at ? -1 : 1)
                                : 0;
}

/* -- code -- */

/* Appends the code of expression e, of 4 or 8 bytes; its register. d: the one to use, -1: a new
 * one. */
static int32_t
put_expression(struct group *s, uint32_t e, unsigned bytes, int32_t d,
               const struct ptx_inst *where)
{
    if (e < s->nregs)
        return (int32_t)e;
    const struct expression x = s->made.v[e - s->nregs];
    if (d < 0 && x.held >= 0 && defs_reach(s->defs, x.held, s->at))
        return x.held;
    const int32_t a = x.op == PTX_OP_MOV ? -1 : put_expression(s, x.a, bytes, -1, where),
                  b = x.op == PTX_OP_ADD ? put_expression(s, x.b, bytes, -1, where) : -1;
    const bool bits = x.op == PTX_OP_SHL || x.op == PTX_OP_MOV;
    struct ptx_inst in = ptx_inst_new(s->f->module, x.op, x.op == PTX_OP_MOV ? 2 : 3);
    in.ntypes = 1;
    in.type[0] = bytes == 8 ? (bits ? PTX_B64 : PTX_S64) : bits ? PTX_B32 : PTX_S32;
    in.line = where->line;
    in.col = where->col;
    in.ops[0] =
        rewrite_register(d >= 0 ? d : ptx_reg_new(s->f, bytes == 8 ? PTX_B64 : PTX_B32));
    if (x.op == PTX_OP_MOV) {
        in.ops[1].kind = PTX_OPD_SYM;
        in.ops[1].reg = -1;
        in.ops[1].var = s->var.v[x.a];
    } else {
        in.ops[1] = rewrite_register(a);
        in.ops[2] = x.op == PTX_OP_ADD ? rewrite_register(b) : rewrite_literal(x.b);
    }
    if (x.op == PTX_OP_MUL)
        ptx_set_mod(s->f->module, &in, PTX_MG_PART, PTX_PART_LO);
    *vec_push(&s->to) = in;
    return in.ops[0].reg;
}

/* May x read what is computed at `first`? */
static bool
follows(const struct group *s, const struct address *first, const struct address *x)
{
    return x->at > first->at &&
           defs_reach(s->defs, s->f->body.v[first->at].ops[0].reg, x->at);
}

/* Of those that are equal up to a literal, from i to end, each that no earlier one reaches is
 * computed without, and the addresses of those that it reaches read it; how many are not computed
 * any more. */
static uint32_t
share_group(struct group *s, size_t i, size_t end, uint32_t *first_of)
{
    uint32_t shared = 0;
    for (size_t k = i; k < end; k++) {
        const struct address *first = &s->address.v[k];
        const int32_t d = s->f->body.v[first->at].ops[0].reg;
        if (s->base[d] >= 0)
            continue;
        bool differ = false;
        for (size_t j = k; j < end; j++) {
            const struct address *x = &s->address.v[j];
            differ |= x->is.n != first->is.n &&
                      s->base[s->f->body.v[x->at].ops[0].reg] < 0 && follows(s, first, x);
        }
        if (!differ)
            continue;
        first_of[first->at] = first->is.of + 1;
        for (size_t j = k; j < end; j++) {
            const struct address *x = &s->address.v[j];
            const int32_t r = s->f->body.v[x->at].ops[0].reg;
            if (s->base[r] >= 0 || (j != k && !follows(s, first, x)))
                continue;
            s->base[r] = d;
            s->more[r] = x->is.n;
            shared += j != k;
        }
    }
    return shared;
}

static uint32_t
share(struct group *s, uint32_t *first_of)
{
    uint32_t shared = 0;
    for (size_t i = 0, end; i < s->address.n; i = end) {
        for (end = i;
             end < s->address.n && s->address.v[end].is.of == s->address.v[i].is.of;)
            end++;
        shared += share_group(s, i, end, first_of);
    }
    return shared;
}

static void
write_code(struct group *s, const uint32_t *first_of)
{
    for (uint32_t i = 0; i < s->f->body.n; i++) {
        struct ptx_inst in = s->f->body.v[i];
        s->at = i;
        if (first_of[i]) {
            put_expression(s, first_of[i] - 1, bytes_of(s, in.ops[0].reg), in.ops[0].reg,
                           &in);
            continue;
        }
        for (unsigned k = 0; k < in.nops; k++) {
            struct ptx_operand *o = &in.ops[k];
            if (o->kind == PTX_OPD_ADDR && o->reg >= 0 && s->base[o->reg] >= 0) {
                o->off += s->more[o->reg];
                o->reg = s->base[o->reg];
            }
        }
        *vec_push(&s->to) = in;
    }
    vec_take(&s->f->body, &s->to);
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)diag;
    struct arena mem = {0};
    struct group s = {
        .f = f, .defs = x->defs, .nregs = (uint32_t)f->regs.n, .nslots = 64};
    while (s.nslots < f->body.n)
        s.nslots *= 2;
    s.slot = ARENA_ARRAY(&mem, int32_t, s.nslots);
    for (size_t i = 0; i < s.nslots; i++)
        s.slot[i] = -1;
    s.reads = rewrite_count_reads(f, &mem);
    s.in_addresses = ARENA_ARRAY(&mem, uint32_t, s.nregs + 1);
    s.least = ARENA_ARRAY(&mem, int64_t, s.nregs + 1);
    s.most = ARENA_ARRAY(&mem, int64_t, s.nregs + 1);
    s.base = ARENA_ARRAY(&mem, int32_t, s.nregs + 1);
    s.more = ARENA_ARRAY(&mem, int64_t, s.nregs + 1);
    uint32_t *first_of = ARENA_ARRAY(&mem, uint32_t, f->body.n + 1);
    for (uint32_t r = 0; r < s.nregs; r++)
        s.base[r] = -1;
    for (uint32_t i = 0; i < f->body.n; i++)
        note_accesses(&s, i);
    for (uint32_t i = 0; i < f->body.n; i++)
        note_address(&s, i);
    if (s.address.n)
        qsort(s.address.v, s.address.n, sizeof *s.address.v, by_value);
    const uint32_t shared = share(&s, first_of);
    if (shared)
        write_code(&s, first_of);
    *changed = shared;
    if (a->report && shared)
        strbuf_printf(a->report, "%s: %u addresses are another and a literal\n", f->name,
                      shared);
    vec_free(&s.address);
    vec_free(&s.made);
    vec_free(&s.var);
    arena_free(&mem);
    return true;
}

const struct pass pass_address_sums = {
    .name = "address-sums",
    .meaning = "addresses that are equal up to a literal share a register",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
};
