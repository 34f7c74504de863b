/* literal_moves.c: writes literals the way nvopencc did, the compiler of CUDA 2 to 4.0.
 *
 * nvopencc gave an instruction a literal only where the machine of its days had room for one
 * (additions, shifts, logic, low products). Any other literal was moved to a register right
 * before its use, once for each use:
 *
 *     mul.f32 %f2, %f1, 0f40400000;   becomes   mov.f32 %f9, 0f40400000;
 *                                               mul.f32 %f2, %f1, %f9;
 *
 * A simulator that runs PTX as it stands executes, fetches and counts these moves. The
 * operands concerned: of floating-point arithmetic, comparisons, 24-bit products and high
 * halves of products; the value of a store; what an integer is subtracted from.
 * Source: PTX of the CUDA SDK's dct8x8, histogram256 and marchingCubes by nvopencc 3.1 in
 * Ocelot's tests (github.com/gtcasl/gpuocelot, ptx/sdk2.2, ptx/sdk3.0). */
#include "passes/pass.h"
#include "passes/rewrite.h"

/* Whether nvopencc would not have left a literal as source `index` of the instruction. */
static bool
needs_register(const struct ptx_inst *in, unsigned index)
{
    char letter = rewrite_letter(in, index);
    enum ptx_type type = rewrite_operand_type(in, index);
    if ((letter != 'a' && letter != 'S') || in->op == PTX_OP_MOV)
        return false;
    if (ptx_types[type].kind == PTX_K_FLT)
        return type == PTX_F32 || type == PTX_F64;
    switch (in->op) {
    case PTX_OP_ST:
    case PTX_OP_SETP:
    case PTX_OP_MUL24:
    case PTX_OP_MAD24:
        return true;
    case PTX_OP_MUL:
        return in->mod[PTX_MG_PART] == PTX_PART_HI;
    case PTX_OP_SUB:
        return index == 1;
    default:
        return false;
    }
}

/* The type of a register that holds a literal of that type. */
static enum ptx_type
register_type(enum ptx_type type)
{
    unsigned bytes = ptx_type_bytes(type);
    return ptx_types[type].kind == PTX_K_FLT ? type
           : bytes == 8                      ? PTX_B64
           : bytes == 4                      ? PTX_B32
                                             : PTX_B16;
}

struct edit {
    struct ptx_func *f;
    VEC(struct ptx_inst) body; /* the new one */
    size_t moved;
};

/* Appends a mov of literal o, as a source of that type of `in`, to a fresh register; o
 * becomes the register. */
static void
move(struct edit *e, const struct ptx_inst *in, struct ptx_operand *o, enum ptx_type type)
{
    uint64_t bits;
    if (!rewrite_literal_bits(o, type, &bits))
        return;
    struct ptx_inst mov = ptx_inst_new(e->f->module, PTX_OP_MOV, 2);
    mov.ntypes = 1;
    mov.type[0] = (uint8_t)register_type(type);
    mov.guard = in->guard;
    mov.guard_neg = in->guard_neg;
    mov.line = in->line;
    mov.col = in->col;
    mov.ops[1] = *o;
    o->kind = PTX_OPD_REG;
    o->reg = ptx_reg_new(e->f, register_type(type));
    mov.ops[0] = *o;
    *vec_push(&e->body) = mov;
    e->moved++;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    struct edit e = {.f = f};
    (void)x;
    (void)diag;
    vec_reserve(&e.body, f->body.n);
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst in = f->body.v[i];
        for (unsigned k = 0; k < in.nops; k++) {
            enum ptx_type type = rewrite_operand_type(&in, k);
            struct ptx_operand *o = &in.ops[k];
            if (!needs_register(&in, k))
                continue;
            if (o->kind == PTX_OPD_VEC)
                for (unsigned j = 0; j < o->n; j++)
                    move(&e, &in, &o->vec[j], type);
            else
                move(&e, &in, o, type);
        }
        *vec_push(&e.body) = in;
    }
    vec_take(&f->body, &e.body);
    *changed = e.moved > 0;
    if (a->report && e.moved)
        strbuf_printf(a->report, "%s: %zu literals moved to registers\n", f->name,
                      e.moved);
    return true;
}

const struct pass pass_literal_moves = {
    .name = "literal-moves",
    .meaning = "literals go through registers, as nvopencc (CUDA 2 to 4.0) wrote them",
    .run_func = run,
};
