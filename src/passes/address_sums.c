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
 * have one expression, it is computed in front of the first of them. What their own sums were
 * computed from is left to dead-code; it is looked into only if nothing else reads it. It does
 * not go through the extension of a 32-bit sum, which may have wrapped; ptxas does not either.
 * Expected O(instructions + n log n) for n such registers. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include <stdlib.h>

enum {
    CARD_OFFSET = 1 << 23, /* offsets of a card's accesses are 24 bits */
    MOST_DEPTH = 6         /* of an expression */
};

/* A register, or a sum or shift of two others by number. Numbers below the function's registers
 * are those. */
struct expression {
    enum ptx_op op; /* PTX_OP_ADD, PTX_OP_SHL: of a by the literal b */
    uint32_t a, b;
    int32_t next; /* of its slot in the table, -1: none */
};

struct value {
    uint32_t of; /* expression */
    int64_t n;   /* and this */
};

struct address {
    uint32_t block, at; /* where it is computed */
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
    int32_t *slot;
    size_t nslots;
    VEC(struct address) address;
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
    *vec_push(&s->made) = (struct expression){op, a, b, *slot};
    *slot = (int32_t)s->made.n - 1;
    return s->nregs + (uint32_t)*slot;
}

static bool
is_wide(const struct group *s, const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_REG && !o->neg && !o->comp &&
           ptx_type_bytes(s->f->regs.v[o->reg].type) == 8;
}

static struct value value_at(struct group *s, int32_t r, uint32_t at, int depth);

/* What instruction `def` gives its 64-bit destination, as instruction `at` behind it sees it; of -
 * UINT32_MAX: it is no sum or shift. */
static struct value
computed(struct group *s, uint32_t def, uint32_t at, int depth)
{
    const struct value none = {UINT32_MAX, 0};
    const struct ptx_inst *in = &s->f->body.v[def];
    int32_t base;
    int64_t n;
    uint64_t bits;
    if (rewrite_is_offset(s->f, in, &base, &n)) {
        if (!defs_reach(s->defs, base, at))
            return none;
        struct value v = value_at(s, base, at, depth);
        v.n = (int64_t)((uint64_t)v.n + (uint64_t)n);
        return v;
    }
    if (in->guard >= 0 || in->nops != 3 || in->mod[PTX_MG_CC] ||
        ptx_type_bytes(in->type[0]) != 8 || !is_wide(s, &in->ops[1]) ||
        !defs_reach(s->defs, in->ops[1].reg, at))
        return none;
    if (in->op == PTX_OP_SHL && rewrite_literal_bits(&in->ops[2], PTX_U32, &bits) &&
        bits < 32) {
        struct value v = value_at(s, in->ops[1].reg, at, depth);
        v.of = number_of(s, PTX_OP_SHL, v.of, (uint32_t)bits);
        v.n = (int64_t)((uint64_t)v.n << bits);
        return v;
    }
    if (in->op != PTX_OP_ADD || !is_wide(s, &in->ops[2]) ||
        !defs_reach(s->defs, in->ops[2].reg, at))
        return none;
    const struct value x = value_at(s, in->ops[1].reg, at, depth),
                       y = value_at(s, in->ops[2].reg, at, depth);
    return (struct value){number_of(s, PTX_OP_ADD, x.of, y.of),
                          (int64_t)((uint64_t)x.n + (uint64_t)y.n)};
}

/* Register r, which reaches instruction `at`, as an expression and a literal. */
static struct value
value_at(struct group *s, int32_t r, uint32_t at, int depth)
{
    const struct value self = {(uint32_t)r, 0};
    const uint32_t def = (uint32_t)s->defs->at[r];
    int32_t base;
    int64_t n;
    if (!depth ||
        (s->reads[r] != 1 && !rewrite_is_offset(s->f, &s->f->body.v[def], &base, &n)))
        return self;
    const struct value v = computed(s, def, at, depth - 1);
    return v.of == UINT32_MAX ? self : v;
}

/* -- addresses -- */

static void
note_accesses(struct group *s, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    for (unsigned k = 0; k < in->nops; k++) {
        const struct ptx_operand *o = &in->ops[k];
        if (o->kind != PTX_OPD_ADDR || o->reg < 0 || o->var || o->comp ||
            !defs_reach(s->defs, o->reg, i))
            continue;
        const bool first = !s->in_addresses[o->reg]++;
        s->least[o->reg] = first || o->off < s->least[o->reg] ? o->off : s->least[o->reg];
        s->most[o->reg] = first || o->off > s->most[o->reg] ? o->off : s->most[o->reg];
    }
}

/* Notes what instruction i computes if addresses only read it. */
static void
note_address(struct group *s, uint32_t block, uint32_t i)
{
    const struct ptx_inst *in = &s->f->body.v[i];
    if (ptx_is_pseudo(in) || !in->nops || !is_wide(s, &in->ops[0]) ||
        s->defs->at[in->ops[0].reg] != (int32_t)i)
        return;
    const int32_t d = in->ops[0].reg;
    if (!s->in_addresses[d] || s->reads[d] != s->in_addresses[d])
        return;
    const struct value v = computed(s, i, i, MOST_DEPTH);
    if (v.of != UINT32_MAX && v.of >= s->nregs && v.n > -CARD_OFFSET &&
        v.n < CARD_OFFSET && s->least[d] + v.n >= -CARD_OFFSET &&
        s->most[d] + v.n < CARD_OFFSET)
        *vec_push(&s->address) = (struct address){block, i, v};
}

static int
by_value(const void *p, const void *q)
{
    const struct address *x = p, *y = q;
    return x->block != y->block   ? (x->block < y->block ? -1 : 1)
           : x->is.of != y->is.of ? (x->is.of < y->is.of ? -1 : 1)
           : x->at != y->at       ? (x->at < y->at ? -1 : 1)
                                  : 0;
}

/* -- code -- */

/* Appends the code of expression e; its register. d: the one to use, -1: a new one. */
static int32_t
put_expression(struct group *s, uint32_t e, int32_t d, const struct ptx_inst *where)
{
    if (e < s->nregs)
        return (int32_t)e;
    const struct expression x = s->made.v[e - s->nregs];
    const int32_t a = put_expression(s, x.a, -1, where),
                  b = x.op == PTX_OP_ADD ? put_expression(s, x.b, -1, where) : -1;
    struct ptx_inst in = ptx_inst_new(s->f->module, x.op, 3);
    in.ntypes = 1;
    in.type[0] = x.op == PTX_OP_ADD ? PTX_S64 : PTX_B64;
    in.line = where->line;
    in.col = where->col;
    in.ops[0] = rewrite_register(d >= 0 ? d : ptx_reg_new(s->f, PTX_B64));
    in.ops[1] = rewrite_register(a);
    in.ops[2] = x.op == PTX_OP_ADD ? rewrite_register(b) : rewrite_literal(x.b);
    *vec_push(&s->to) = in;
    return in.ops[0].reg;
}

/* The first of those that are equal up to a literal is computed without, and the addresses of
 * all read it; how many are not computed any more. */
static uint32_t
share(struct group *s, uint32_t *first_of)
{
    uint32_t shared = 0;
    for (size_t i = 0, end; i < s->address.n; i = end) {
        const struct address *first = &s->address.v[i];
        const int32_t d = s->f->body.v[first->at].ops[0].reg;
        bool differ = false;
        for (end = i; end < s->address.n && s->address.v[end].block == first->block &&
                      s->address.v[end].is.of == first->is.of;
             end++)
            differ |= s->address.v[end].is.n != first->is.n;
        if (!differ)
            continue;
        first_of[first->at] = first->is.of + 1;
        shared += (uint32_t)(end - i - 1);
        for (size_t k = i; k < end; k++) {
            const int32_t r = s->f->body.v[s->address.v[k].at].ops[0].reg;
            s->base[r] = d;
            s->more[r] = s->address.v[k].is.n;
        }
    }
    return shared;
}

static void
write_code(struct group *s, const uint32_t *first_of)
{
    for (uint32_t i = 0; i < s->f->body.n; i++) {
        struct ptx_inst in = s->f->body.v[i];
        if (first_of[i]) {
            put_expression(s, first_of[i] - 1, in.ops[0].reg, &in);
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
    for (uint32_t v = 0; v < x->cfg->n; v++)
        for (uint32_t i = x->cfg->block[v].first; i < x->cfg->block[v].end; i++)
            note_address(&s, v, i);
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
    arena_free(&mem);
    return true;
}

const struct pass pass_address_sums = {
    .name = "address-sums",
    .meaning = "addresses that are equal up to a literal share a register",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
};
