/* fused.c: finds the pairs of ptx/fusions.def.
 *
 * Within a basic block each result is followed to those who read it. If there is one reader,
 * and the result is dead after it, the two may be a pair. Readers are visited in the order of
 * the code, and each takes what it can of the results that it reads:
 *
 *     shl.b32 %r3, %r1, 2;       0   a part of the addition
 *     add.s32 %r4, %r2, %r3;     1   LEA
 *     add.s32 %r5, %r4, %r1;     1   IADD3, or IMAD.IADD: LEA takes no third addend
 *
 * A sum that has taken one closes: it becomes no part of another. Logic is open until it has
 * three inputs. Cost: O(instructions x operands). */
#include "analysis/fused.h"

#include "analysis/defuse.h"
#include "analysis/operands.h"
#include "ptx/expansion.h"

enum when { ANY, LITERAL, WIDEN, CONTRACT, INPUTS, ADDRESS, LOW, MINUEND, EACH, ZERO };
enum { OWN = 0xff, FIRST = 0xfe, MOST_INPUTS = 3, NONE = -1, MANY = -2 };

struct fusion {
    uint16_t first, second, like;
    uint8_t first_bits, second_bits, when, operations;
};

static const struct fusion fusions[] = {
#define FUSION(first, bits, second, bits2, when, operations, like, what)                 \
    {PTX_OP_##first, PTX_OP_##second, FUSED_##like, bits, bits2, when, operations},
#define FUSED_NOPS PTX_NOPS
#define FUSED_SELF PTX_NOPS + 1
#include "ptx/fusions.def"
#undef FUSION
};

/* An instruction that may be a part of another. */
struct result {
    int32_t reader;             /* the only instruction that reads it; NONE, MANY */
    bool address;               /* all that read it are bases of scratchpad accesses */
    bool constant;              /* operands_constant */
    bool moved;                 /* a constant that somebody reads from a register */
    bool sums;                  /* all that read it are 64-bit sums, each once */
    uint16_t like;              /* op; PTX_NOPS: closed */
    uint8_t ninputs;            /* of logic */
    int32_t input[MOST_INPUTS]; /* registers; NONE: a literal */
};

struct fuser {
    const struct ptx_func *f;
    const struct live *live;
    uint32_t first; /* of the block */
    int32_t *def; /* of each register: instruction of the block that wrote it, or NONE */
    struct result *result; /* of each instruction */
    uint8_t *operations;
    uint8_t *more;       /* of each instruction: moves of its own literals */
    struct fused_as *as; /* or NULL */
    uint32_t at;
    VEC(uint32_t) touched; /* registers with a def */
};

static bool
is_scratchpad_base(const struct ptx_inst *in, int32_t reg)
{
    if ((in->op != PTX_OP_LD && in->op != PTX_OP_ST) ||
        ptx_inst_space(in) != PTX_SPACE_SHARED)
        return false;
    unsigned uses = 0, bases = 0;
    for (unsigned i = 0; i < in->nops; i++) {
        const struct ptx_operand *o = &in->ops[i];
        bases += o->kind == PTX_OPD_ADDR && o->reg == reg;
        uses += o->reg == reg && (o->kind == PTX_OPD_ADDR || o->kind == PTX_OPD_REG);
        for (unsigned k = 0; o->kind == PTX_OPD_VEC && k < o->n; k++)
            uses += o->vec[k].kind == PTX_OPD_REG && o->vec[k].reg == reg;
    }
    return bases && uses == bases && in->guard != reg;
}

static bool has_bits(const struct ptx_inst *in, unsigned bits);
static unsigned reads_of(const struct ptx_inst *in, int32_t reg, uint64_t dests);

/* A sum that takes a product, if it takes none yet. */
static bool
is_sum(const struct ptx_inst *in, int32_t reg)
{
    return in->op == PTX_OP_ADD && has_bits(in, 64) && in->guard != reg &&
           reads_of(in, reg, ptx_inst_dests(in)) == 1;
}

static void
note(void *user, int32_t reg, bool write, bool partial)
{
    struct fuser *x = user;
    int32_t d = x->def[reg];
    if (!write || partial) {
        if (d == NONE)
            return;
        struct result *r = &x->result[d];
        r->reader =
            r->reader == NONE || r->reader == (int32_t)x->at ? (int32_t)x->at : MANY;
        r->address &= is_scratchpad_base(&x->f->body.v[x->at], reg);
        r->sums &= is_sum(&x->f->body.v[x->at], reg);
        if (write) /* a guarded write keeps it for some lanes */
            r->reader = MANY, r->address = r->sums = false;
        return;
    }
    if (d == NONE)
        *vec_push(&x->touched) = (uint32_t)reg;
    x->def[reg] = (int32_t)x->at;
}

static bool
holds_constant(const void *user, int32_t reg)
{
    const struct fuser *x = user;
    return x->def[reg] != NONE && x->result[x->def[reg]].constant &&
           !operands_zero(&x->f->body.v[x->def[reg]]);
}

/* Constants that the instruction cannot have as operands: those in registers are moved there, a
 * literal of its own takes a move. */
static unsigned
move_constants(struct fuser *x, const struct ptx_inst *in)
{
    uint64_t bits = operands_in_registers(in, holds_constant, x);
    unsigned more = 0;
    for (unsigned k = 0; bits >> k && k < 64; k++) {
        if (!(bits >> k & 1))
            continue;
        const struct ptx_operand *o = &in->ops[k];
        if (o->kind == PTX_OPD_REG || o->kind == PTX_OPD_ADDR)
            x->result[x->def[o->reg]].moved = true;
        else
            more++;
    }
    return more;
}

/* Who reads what in the block. */
static void
find_readers(struct fuser *x, uint32_t b)
{
    const struct cfg_block *blk = &x->live->cfg->block[b];
    for (uint32_t i = blk->first; i < blk->end; i++) {
        x->at = i;
        const struct ptx_inst *in = &x->f->body.v[i];
        x->result[i] = (struct result){
            .reader = NONE, .address = true, .sums = true, .like = in->op};
        if (ptx_is_pseudo(in))
            continue;
        x->operations[i] = (uint8_t)ptx_machine_operations(in);
        x->result[i].constant = operands_constant(x->f, in);
        x->more[i] = (uint8_t)move_constants(x, in);
        if (x->as)
            x->as[i].part = ptx_ops[in->op].latency;
        defuse_each(in, note, x);
    }
    for (size_t i = 0; i < x->touched.n; i++) {
        uint32_t reg = x->touched.v[i];
        struct result *r = &x->result[x->def[reg]];
        if (live_at_end(x->live, b, reg))
            r->reader = MANY, r->address = r->sums = false, r->moved = r->constant;
        x->def[reg] = NONE;
    }
    x->touched.n = 0;
    for (uint32_t i = blk->first; i < blk->end; i++)
        if (x->result[i].moved) {
            x->operations[i] =
                (uint8_t)((ptx_type_bytes(x->f->body.v[i].type[0]) + 3) / 4);
            if (x->as)
                x->as[i].moved = true;
        }
}

static bool
is_literal(const struct ptx_operand *o)
{
    return o->kind == PTX_OPD_IMM;
}

static bool
has_bits(const struct ptx_inst *in, unsigned bits)
{
    return !bits || bits == 8 * ptx_type_bytes(in->type[0]);
}

static bool
add_input(struct result *r, int32_t reg)
{
    for (unsigned i = 0; i < r->ninputs; i++)
        if (r->input[i] == reg && reg != NONE)
            return true;
    if (r->ninputs == MOST_INPUTS)
        return false;
    r->input[r->ninputs++] = reg;
    return true;
}

static void
own_inputs(const struct ptx_inst *in, struct result *r)
{
    for (unsigned i = 1; i < in->nops && i < 3; i++)
        if (in->ops[i].kind != PTX_OPD_NONE)
            add_input(r, in->ops[i].kind == PTX_OPD_REG ? in->ops[i].reg : NONE);
}

/* Is it a comparison of that register with zero? */
static bool
is_zero_test(const struct ptx_inst *in, int32_t reg)
{
    const unsigned cmp = in->mod[PTX_MG_CMP];
    return in->op == PTX_OP_SETP && in->ops[1].kind == PTX_OPD_NONE &&
           in->ops[2].kind == PTX_OPD_REG && in->ops[2].reg == reg &&
           is_literal(&in->ops[3]) && in->ops[3].imm == 0 &&
           (cmp == PTX_CMP_EQ || cmp == PTX_CMP_NE) && !in->mod[PTX_MG_BOOL];
}

/* The inputs of the two, if those are few enough: then they become the second's. */
static bool
join_inputs(struct result *second, const struct result *first, int32_t between)
{
    struct result both = *second;
    both.ninputs = 0;
    for (unsigned i = 0; i < second->ninputs; i++)
        if (second->input[i] != between && !add_input(&both, second->input[i]))
            return false;
    for (unsigned i = 0; i < first->ninputs; i++)
        if (!add_input(&both, first->input[i]))
            return false;
    *second = both;
    return true;
}

static bool
allowed(struct fuser *x, const struct fusion *u, uint32_t a, uint32_t b)
{
    const struct ptx_inst *p = &x->f->body.v[a], *q = &x->f->body.v[b];
    const struct ptx_operand *by = p->nops > 2 ? &p->ops[2] : NULL;
    switch ((enum when)u->when) {
    case ANY:
    case EACH:
        return true;
    case LITERAL:
        return by && is_literal(by) && by->imm > 0 && by->imm < 32;
    case WIDEN:
        return ptx_type_bytes(p->type[1]) == 4 &&
               ptx_types[p->type[1]].kind == PTX_K_UINT;
    case CONTRACT:
        return !p->mod[PTX_MG_RND] && !q->mod[PTX_MG_RND] && !p->mod[PTX_MG_SAT] &&
               p->mod[PTX_MG_FTZ] == q->mod[PTX_MG_FTZ];
    case INPUTS:
        return join_inputs(&x->result[b], &x->result[a], p->ops[0].reg);
    case ADDRESS:
        return x->result[a].address && by && is_literal(by) && by->imm >= 2 &&
               by->imm <= 4;
    case LOW:
        return p->mod[PTX_MG_PART] == PTX_PART_LO;
    case MINUEND:
        return p->mod[PTX_MG_PART] == PTX_PART_LO &&
               (q->ops[1].reg == p->ops[0].reg || is_literal(&p->ops[1]) ||
                is_literal(&p->ops[2]));
    case ZERO:
        return is_zero_test(q, p->ops[0].reg);
    }
    return false;
}

/* Instruction b takes a, whose result it reads, if a row says so. */
static bool
take(struct fuser *x, uint32_t a, uint32_t b)
{
    const struct ptx_inst *p = &x->f->body.v[a], *q = &x->f->body.v[b];
    struct result *r = &x->result[a], *s = &x->result[b];
    bool alone = r->reader == (int32_t)b;
    const bool test = is_zero_test(q, p->ops[0].reg);
    if ((!alone && !r->address && !r->sums && !test) || s->like == PTX_NOPS ||
        (p->guard >= 0 && !p->full_def))
        return false;
    for (size_t i = 0; i < sizeof fusions / sizeof *fusions; i++) {
        const struct fusion *u = &fusions[i];
        if (u->first != r->like || u->second != q->op || s->like != q->op ||
            !has_bits(p, u->first_bits) || !has_bits(q, u->second_bits) ||
            (!alone && (u->when != ADDRESS || !r->address) &&
             (u->when != EACH || !r->sums) && u->when != ZERO) ||
            !allowed(x, u, a, b))
            continue;
        if (u->when == ZERO && !alone) { /* the first writes both */
            r->like = s->like = PTX_NOPS;
            x->operations[b] = 0;
            return true;
        }
        if (u->operations != OWN)
            x->operations[b] = u->operations == FIRST ? x->operations[a] : u->operations;
        if (u->operations != OWN && x->as)
            x->as[b].part = x->as[a].part;
        if (u->when == ADDRESS && x->as)
            x->as[b].scaled = true;
        if (u->like != FUSED_SELF)
            s->like = u->like;
        x->operations[a] = 0;
        return true;
    }
    return false;
}

/* How often an instruction reads a register, the guard separately. */
static unsigned
reads_of(const struct ptx_inst *in, int32_t reg, uint64_t dests)
{
    unsigned n = 0;
    for (unsigned i = 0; i < in->nops && i < 64; i++)
        n += !(dests >> i & 1) && in->ops[i].reg == reg &&
             (in->ops[i].kind == PTX_OPD_REG || in->ops[i].kind == PTX_OPD_ADDR);
    return n;
}

/* A product of which one reader takes no part has to be there for that one. */
static void
keep_product(struct fuser *x, uint32_t a)
{
    struct result *r = &x->result[a];
    if (r->like != PTX_OP_MULW || !r->sums)
        return;
    r->sums = false;
    x->operations[a] = (uint8_t)ptx_machine_operations(&x->f->body.v[a]);
}

static void
take_all(struct fuser *x, uint32_t b)
{
    const struct ptx_inst *in = &x->f->body.v[b];
    uint64_t dests = ptx_inst_dests(in);
    for (unsigned i = 0; i < in->nops && i < 64; i++) {
        const struct ptx_operand *o = &in->ops[i];
        if (dests >> i & 1 || o->reg < 0 ||
            (o->kind != PTX_OPD_REG && o->kind != PTX_OPD_ADDR))
            continue;
        int32_t a = x->def[o->reg];
        if (a != NONE && reads_of(in, o->reg, dests) == 1 && !take(x, (uint32_t)a, b))
            keep_product(x, (uint32_t)a);
    }
}

/* x << n | x >> 32 - n: SHF, a funnel shift of x with itself. */
static bool
take_rotation(struct fuser *x, uint32_t b)
{
    const struct ptx_inst *in = &x->f->body.v[b], *p[2];
    int32_t at[2];
    if ((in->op != PTX_OP_OR && in->op != PTX_OP_ADD && in->op != PTX_OP_XOR) ||
        !has_bits(in, 32))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const struct ptx_operand *o = &in->ops[i + 1];
        at[i] = o->kind == PTX_OPD_REG ? x->def[o->reg] : NONE;
        if (at[i] == NONE || x->result[at[i]].reader != (int32_t)b)
            return false;
        p[i] = &x->f->body.v[at[i]];
        if (p[i]->guard >= 0 || !has_bits(p[i], 32) ||
            (p[i]->op != PTX_OP_SHL && p[i]->op != PTX_OP_SHR) ||
            !is_literal(&p[i]->ops[2]))
            return false;
    }
    const struct ptx_inst *right = p[0]->op == PTX_OP_SHR ? p[0] : p[1];
    if (p[0]->op == p[1]->op || ptx_types[right->type[0]].kind == PTX_K_SINT ||
        !ptx_operand_same(&p[0]->ops[1], &p[1]->ops[1]) ||
        p[0]->ops[2].imm + p[1]->ops[2].imm != 32)
        return false;
    x->operations[at[0]] = x->operations[at[1]] = 0;
    x->result[b].like = PTX_NOPS;
    return true;
}

static void
define(void *user, int32_t reg, bool write, bool partial)
{
    struct fuser *x = user;
    if (!write)
        return;
    if (x->def[reg] == NONE)
        *vec_push(&x->touched) = (uint32_t)reg;
    x->def[reg] = (int32_t)x->at;
    (void)partial;
}

static void
fuse_block(struct fuser *x, uint32_t b)
{
    const struct cfg_block *blk = &x->live->cfg->block[b];
    find_readers(x, b);
    for (uint32_t i = blk->first; i < blk->end; i++) {
        const struct ptx_inst *in = &x->f->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        x->at = i;
        own_inputs(in, &x->result[i]);
        if (!take_rotation(x, i))
            take_all(x, i);
        defuse_each(in, define, x);
    }
    for (uint32_t i = blk->first; i < blk->end; i++)
        x->operations[i] = (uint8_t)(x->operations[i] + x->more[i]);
    for (size_t i = 0; i < x->touched.n; i++)
        x->def[x->touched.v[i]] = NONE;
    x->touched.n = 0;
}

void
fused_operations(const struct live *l, uint8_t *operations, struct fused_as *as)
{
    const struct cfg *g = l->cfg;
    struct arena mem = {0};
    struct fuser x = {.f = g->func, .live = l, .operations = operations, .as = as};
    memset(operations, 0, g->func->body.n);
    if (as)
        memset(as, 0, sizeof *as * g->func->body.n);
    x.def = ARENA_ARRAY(&mem, int32_t, g->func->regs.n + 1);
    x.result = ARENA_ARRAY(&mem, struct result, g->func->body.n + 1);
    x.more = ARENA_ARRAY(&mem, uint8_t, g->func->body.n + 1);
    for (size_t i = 0; i < g->func->regs.n; i++)
        x.def[i] = NONE;
    for (uint32_t b = 0; b < g->n; b++)
        fuse_block(&x, b);
    vec_free(&x.touched);
    arena_free(&mem);
}

/* -- loads that are operands -- */

enum { FROM_SCRATCHPAD = 1, FROM_CONSTANTS = 2 }; /* parameters are in scratchpad there */

/* Where such a load reads; 0: it is none. */
static unsigned
operand_source(const struct ptx_inst *in)
{
    if (in->op != PTX_OP_LD || in->guard >= 0 || in->ops[0].kind != PTX_OPD_REG ||
        ptx_type_bytes(in->type[0]) > 4)
        return 0;
    switch (ptx_inst_space(in)) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_PARAM:
        return FROM_SCRATCHPAD;
    case PTX_SPACE_CONST:
        return FROM_CONSTANTS;
    default:
        return 0;
    }
}

/* May the instruction have operands in memory? */
static bool
has_memory_operand(const struct ptx_inst *in)
{
    enum ptx_unit unit = ptx_ops[in->op].unit;
    return (unit == PTX_UNIT_ALU || unit == PTX_UNIT_SFU) && in->op != PTX_OP_MOV;
}

/* Is scratchpad the same at b as at a? */
static bool
scratchpad_stays(const struct ptx_func *f, uint32_t a, uint32_t b)
{
    for (uint32_t i = a + 1; i < b; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        enum ptx_unit unit = ptx_is_pseudo(in) ? PTX_UNIT_NONE : ptx_ops[in->op].unit;
        if (unit == PTX_UNIT_BARRIER || (unit == PTX_UNIT_MEM && in->op != PTX_OP_LD &&
                                         ptx_inst_space(in) == PTX_SPACE_SHARED))
            return false;
    }
    return true;
}

void
fused_operand_loads(const struct live *l, uint32_t *reader)
{
    const struct cfg *g = l->cfg;
    const struct ptx_func *f = g->func;
    struct arena mem = {0};
    uint8_t *taken = ARENA_ARRAY(&mem, uint8_t, f->body.n + 1);
    struct fuser x = {.f = f, .live = l};
    memset(reader, 0, sizeof *reader * f->body.n);
    x.operations = ARENA_ARRAY(&mem, uint8_t, f->body.n + 1);
    x.def = ARENA_ARRAY(&mem, int32_t, f->regs.n + 1);
    x.result = ARENA_ARRAY(&mem, struct result, f->body.n + 1);
    x.more = ARENA_ARRAY(&mem, uint8_t, f->body.n + 1);
    for (size_t i = 0; i < f->regs.n; i++)
        x.def[i] = NONE;
    for (uint32_t b = 0; b < g->n; b++) {
        find_readers(&x, b);
        for (uint32_t i = g->block[b].first; i < g->block[b].end; i++) {
            const struct ptx_inst *in = &f->body.v[i];
            unsigned from = ptx_is_pseudo(in) ? 0 : operand_source(in);
            int32_t by = x.result[i].reader;
            if (!from || by < 0 || !has_memory_operand(&f->body.v[by]) ||
                !scratchpad_stays(f, i, (uint32_t)by))
                continue;
            bool three =
                f->body.v[by].op == PTX_OP_MAD || f->body.v[by].op == PTX_OP_FMAF;
            if (three ? taken[by] & from : taken[by]) /* mad takes one of each */
                continue;
            taken[by] = (uint8_t)(taken[by] | from);
            reader[i] = (uint32_t)by;
        }
    }
    vec_free(&x.touched);
    arena_free(&mem);
}

struct address {
    const struct ptx_func *f;
    const struct ptx_operand *of;
    bool written;
};

static void
note_written(void *user, int32_t reg, bool write, bool partial)
{
    struct address *a = user;
    (void)partial;
    a->written |=
        write && ptx_reg_overlaps(&a->f->regs.v[reg], &a->f->regs.v[a->of->reg]);
}

bool
fused_address_lasts(const struct ptx_func *f, uint32_t load, uint32_t reader)
{
    struct address a = {.f = f, .of = &f->body.v[load].ops[1]};
    if (a.of->reg < 0)
        return true; /* none to read */
    for (uint32_t i = load + 1; i < reader; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in))
            continue;
        if (ptx_ops[in->op].flags & PTX_CROSSLANE)
            return false;
        defuse_each(in, note_written, &a);
    }
    return !a.written;
}
