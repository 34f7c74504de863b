/* mul24.c: products of 24 bits as today's cards compute them.
 *
 *     mul24.lo.s32 %r1, %r2, 799;          bfe.s32 %r9, %r2, 0, 24;
 *     mul24.lo.s32 %r3, %r2, 401;    ->    mul.lo.s32 %r1, %r9, 799;
 *                                          bfe.s32 %r8, %r2, 0, 24;
 *                                          mul.lo.s32 %r3, %r8, 401;
 *
 * Such a card has no multiplier for them: ptxas extends the factors (SGXT; PRMT or LOP3 without
 * sign), literals when it compiles, and multiplies (IMAD). common-subexpressions then leaves one
 * extension of a factor that several products have, as ptxas does. O(instructions). */
#include "passes/pass.h"
#include "passes/rewrite.h"

enum { BITS = 24, MASK = (1 << BITS) - 1 };

struct body {
    VEC(struct ptx_inst) v;
};

/* The factor's low 24 bits: of a literal here, else by an instruction before. */
static void
extend(struct ptx_func *f, struct body *to, const struct ptx_inst *in,
       struct ptx_operand *o)
{
    const enum ptx_type type = in->type[0];
    const bool is_signed = ptx_types[type].kind == PTX_K_SINT;
    uint64_t bits;
    if (rewrite_literal_bits(o, type, &bits)) {
        bits &= MASK;
        if (is_signed && bits >> (BITS - 1))
            bits |= ~(uint64_t)MASK;
        *o = rewrite_literal_of(type, bits & UINT32_MAX);
        return;
    }
    struct ptx_inst e =
        ptx_inst_new(f->module, is_signed ? PTX_OP_BFE : PTX_OP_AND, is_signed ? 4 : 3);
    e.ntypes = 1;
    e.type[0] = (uint8_t)(is_signed ? type : PTX_B32);
    e.line = in->line;
    e.col = in->col;
    e.ops[0] = in->ops[0];
    e.ops[0].reg = ptx_reg_new(f, f->regs.v[in->ops[0].reg].type);
    e.ops[1] = *o;
    if (is_signed) {
        e.ops[2] = rewrite_literal(0);
        e.ops[3] = rewrite_literal(BITS);
    } else {
        e.ops[2] = rewrite_literal(MASK);
    }
    *o = e.ops[0];
    *vec_push(&to->v) = e;
}

static bool
is_product(const struct ptx_inst *in)
{
    return (in->op == PTX_OP_MUL24 || in->op == PTX_OP_MAD24) &&
           in->mod[PTX_MG_PART] == PTX_PART_LO && in->ops[0].kind == PTX_OPD_REG &&
           !in->ops[0].comp && !in->mod[PTX_MG_SAT];
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)x;
    (void)diag;
    struct body to = {0};
    size_t n = 0;
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst in = f->body.v[i];
        if (is_product(&in)) {
            in.op = in.op == PTX_OP_MUL24 ? PTX_OP_MUL : PTX_OP_MAD;
            extend(f, &to, &in, &in.ops[1]);
            extend(f, &to, &in, &in.ops[2]);
            n++;
        }
        *vec_push(&to.v) = in;
    }
    vec_take(&f->body, &to.v);
    *changed = n;
    if (a->report && n)
        strbuf_printf(a->report, "%s: %zu products of 24 bits by extension and product\n",
                      f->name, n);
    return true;
}

const struct pass pass_mul24 = {
    .name = "mul24",
    .meaning = "computes products of 24 bits by extensions and a product",
    .run_func = run,
};
