/* constant_registers.c: constants that no instruction takes as an operand get a register.
 *
 *     mul.wide.u32, add of a parameter          mov.u32 %r7, 4;
 *     mad.wide.u32 %rd2, %r0, 4, %rd9;    ->    mad.wide.u32 %rd2, %r0, %r7, %rd9;
 *     ...                                       ...
 *     mad.wide.u32 %rd3, %r1, 4, %rd9;          mad.wide.u32 %rd3, %r1, %r7, %rd9;
 *
 * A card's instruction takes one literal or one word of the constant bank (analysis/operands.h).
 * ptxas moves the other to a register, once in each basic block that reads it. Parameters that
 * have to be in registers are read again in each block too, so that none lives between blocks.
 * It runs before `schedule`, which counts those registers. O(operands). */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/defs.h"
#include "analysis/defuse.h"
#include "analysis/operands.h"
#include "ptx/expansion.h"

/* A constant in a register of the block that is being rewritten. */
struct held {
    uint32_t block;    /* + 1; 0: never */
    int32_t from, reg; /* from: the register that holds it elsewhere, -1: a literal */
    uint64_t bits;     /* of the literal */
    uint8_t type;
};

struct rewriting {
    struct ptx_func *f;
    const bool *constant; /* of each register that was there before */
    const int32_t *def;
    uint32_t block;
    struct held *table;
    size_t mask;
    VEC(struct ptx_inst) body;
    size_t moves;
};

/* Where the constant is, or may go. */
static struct held *
find(struct rewriting *x, int32_t from, uint64_t bits, uint8_t type)
{
    uint64_t h =
        (bits ^ (uint64_t)(uint32_t)from << 32 ^ type) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = h >> 20;; i++) {
        struct held *t = &x->table[i & x->mask];
        if (t->block != x->block + 1 ||
            (t->from == from && t->bits == bits && t->type == type))
            return t;
    }
}

/* The register that holds operand o, of that type, in this block. */
static int32_t
register_of(struct rewriting *x, const struct ptx_operand *o, enum ptx_type type)
{
    const bool literal = o->kind != PTX_OPD_REG && o->kind != PTX_OPD_ADDR;
    const int32_t from = literal ? -1 : o->reg;
    struct held *t = find(x, from, literal ? (uint64_t)o->imm : 0, literal ? type : 0);
    if (t->block == x->block + 1)
        return t->reg;
    *t = (struct held){x->block + 1, from, -1, literal ? (uint64_t)o->imm : 0,
                       literal ? (uint8_t)type : 0};
    struct ptx_inst in;
    if (literal) {
        in = ptx_inst_new(x->f->module, PTX_OP_MOV, 2);
        in.ntypes = 1;
        in.type[0] = (uint8_t)type;
        in.ops[1] = *o;
    } else {
        const struct ptx_inst *def = &x->f->body.v[x->def[from]];
        in = *def;
        in.ops = ptx_operands_dup(x->f->module, def->ops, def->nops);
        type = x->f->regs.v[from].type;
    }
    t->reg = ptx_reg_new(x->f, type);
    in.ops[0] = (struct ptx_operand){.kind = PTX_OPD_REG, .reg = t->reg};
    *vec_push(&x->body) = in;
    x->moves++;
    return t->reg;
}

static void
rewrite_inst(struct rewriting *x, const struct ptx_inst *from)
{
    struct ptx_inst in = *from;
    uint64_t bits = ptx_is_pseudo(&in)
                        ? 0
                        : operands_in_registers(&in, operands_flagged, x->constant);
    if (bits)
        in.ops = ptx_operands_dup(x->f->module, from->ops, from->nops);
    for (unsigned k = 0; bits >> k && k < 64; k++) {
        struct ptx_operand *o = &in.ops[k];
        enum ptx_type type = rewrite_operand_type(&in, k);
        const bool literal = o->kind != PTX_OPD_REG && o->kind != PTX_OPD_ADDR;
        if (!(bits >> k & 1) || (literal && (type == PTX_NOTYPE || type == PTX_PRED)))
            continue;
        const int32_t reg =
            register_of(x, o, literal && ptx_type_bytes(type) == 1 ? PTX_B16 : type);
        if (literal)
            *o = (struct ptx_operand){.kind = PTX_OPD_REG, .reg = reg};
        else
            o->reg = reg;
    }
    *vec_push(&x->body) = in;
}

static void
count_read(void *user, int32_t reg, bool write, bool partial)
{
    uint32_t *reads = user;
    (void)partial;
    reads[reg] += !write;
}

/* Takes out definitions of constants that nothing reads any more. */
static void
drop_unread(struct rewriting *x, size_t nregs, struct arena *mem)
{
    uint32_t *reads = ARENA_ARRAY(mem, uint32_t, x->f->regs.n + 1);
    for (size_t i = 0; i < x->body.n; i++)
        defuse_each(&x->body.v[i], count_read, reads);
    size_t n = 0;
    for (size_t i = 0; i < x->body.n; i++) {
        const struct ptx_inst *in = &x->body.v[i];
        const bool mine = operands_constant(x->f, in) && (size_t)in->ops[0].reg < nregs &&
                          x->constant[in->ops[0].reg];
        if (!mine || reads[in->ops[0].reg])
            x->body.v[n++] = *in;
    }
    x->body.n = n;
}

static bool
run(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)diag;
    struct arena mem = {0};
    const size_t nregs = f->regs.n;
    struct rewriting x = {.f = f,
                          .constant = operands_constants(f, facts->defs, false, &mem),
                          .def = facts->defs->at,
                          .mask = 63};
    while (x.mask < 4 * f->body.n)
        x.mask = 2 * x.mask + 1;
    x.table = ARENA_ARRAY(&mem, struct held, x.mask + 1);
    vec_reserve(&x.body, f->body.n + 1);
    uint32_t quotients = 0;
    for (size_t i = 0; i < f->body.n; i++) {
        x.block = facts->cfg->block_of[i] + quotients;
        rewrite_inst(&x, &f->body.v[i]);
        quotients += !ptx_is_pseudo(&f->body.v[i]) && ptx_machine_branches(&f->body.v[i]);
    }
    if (x.moves) {
        drop_unread(&x, nregs, &mem);
        vec_take(&f->body, &x.body);
        *changed = true;
    } else {
        vec_free(&x.body);
    }
    if (a->report && x.moves)
        strbuf_printf(a->report, "%s: %zu constants are moved to registers\n", f->name,
                      x.moves);
    arena_free(&mem);
    return true;
}

const struct pass pass_constant_registers = {
    .name = "constant-registers",
    .meaning = "moves constants to registers where a card's instruction takes no operand",
    .run_func = run,
    .needs = AN_CFG | AN_DEFS,
};
