/* exec_lop3.c: lop3 with a second result: p = (d != 0) BoolOp q (PTX ISA 9.0, 9.7.8.6).
 * It has one operand more than lane functions take; lop3 without is one of these. */
#include "exec/exec_int.h"
#include "exec/lanes/lanes_ops.h"

struct lop3_plan {
    uint32_t d, p, q; /* d, p: REF_NONE: not wanted */
    uint32_t s[3];
    uint8_t lut, op; /* op: enum ptx_mod of group BOOL */
    bool negate;
};

static enum exec_result
h_lop3(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
       struct exec_step *s)
{
    (void)s;
    const struct lop3_plan *x = in->plan;
    const uint32_t *a = row(w, x->s[0]), *b = row(w, x->s[1]), *c = row(w, x->s[2]);
    uint32_t q = *(const uint32_t *)row(w, x->q), holds = 0;
    FOR_BITS(i, mask)
    {
        uint32_t v = bits_lop3(a[i], b[i], c[i], x->lut);
        holds |= (uint32_t)(v != 0) << i;
        if (x->d != REF_NONE)
            ((uint32_t *)row(w, x->d))[i] = v;
    }
    if (x->negate)
        q = ~q;
    holds = x->op == PTX_BOOL_AND  ? holds & q
            : x->op == PTX_BOOL_OR ? holds | q
                                   : holds ^ q;
    if (x->p != REF_NONE) {
        uint32_t *p = row(w, x->p);
        *p = (*p & ~mask) | (holds & mask);
    }
    return EXEC_OK;
}

static bool
dec_lop3(struct decoder *d)
{
    const struct ptx_inst *in = d->in;
    if (in->op != PTX_OP_LOP3P)
        return decode_pure(d);
    struct lop3_plan *x = ARENA_NEW(&d->pp->mem, struct lop3_plan);
    const struct ptx_operand *o = in->ops;
    struct ptx_operand q = o[6];
    x->op = in->mod[PTX_MG_BOOL];
    x->d = o[0].kind == PTX_OPD_SINK ? REF_NONE : decode_operand(d, &o[0], PTX_B32);
    x->p = o[1].kind == PTX_OPD_SINK ? REF_NONE : decode_operand(d, &o[1], PTX_PRED);
    for (unsigned i = 0; i < 3; i++) {
        x->s[i] = decode_operand(d, &o[2 + i], PTX_B32);
        if (x->s[i] == REF_NONE)
            return false;
    }
    if (o[5].kind != PTX_OPD_IMM || o[5].imm > 255)
        return decode_refuse(d, "the look-up table is a constant from 0 to 255");
    if (x->op == PTX_BOOL_XOR)
        return decode_refuse(d, "the predicate is combined by .and or .or");
    x->lut = (uint8_t)o[5].imm;
    x->negate = q.kind == PTX_OPD_REG && q.neg;
    if (x->negate)
        q.neg = false;
    x->q = decode_operand(d, &q, PTX_PRED);
    d->out->plan = x;
    d->out->fn = h_lop3;
    d->out->form = FORM_PURE;
    return x->q != REF_NONE && (x->d != REF_NONE || o[0].kind == PTX_OPD_SINK) &&
           (x->p != REF_NONE || o[1].kind == PTX_OPD_SINK);
}

const struct decode_row decode_lop3[] = {{"lop3", dec_lop3}, {NULL, NULL}};
