/* parameter_vectors.c: reads the elements of a vector of parameters one by one.
 *
 *     ld.param.v2.u32 {%r1, %r2}, [p+8];     becomes     ld.param.u32 %r1, [p+8];
 *                                                        ld.param.u32 %r2, [p+12];
 *
 * Compilers load structures that are passed by value so. In a card's code a parameter is an
 * operand (c[0x0][0x168]) wherever it is read, and takes no register; so it is here, by pass
 * late-operands, if one instruction reads one. */
#include "passes/pass.h"
#include "passes/rewrite.h"

/* Whether it reads a vector at a literal place of the kernel's parameters. */
static bool
is_vector(const struct ptx_func *f, const struct ptx_inst *in)
{
    return f->is_entry && in->op == PTX_OP_LD && ptx_inst_space(in) == PTX_SPACE_PARAM &&
           in->ops[0].kind == PTX_OPD_VEC && in->ops[1].kind == PTX_OPD_ADDR &&
           in->ops[1].reg < 0 && in->ops[1].var;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    VEC(struct ptx_inst) body = {0};
    size_t split = 0;
    (void)x;
    (void)diag;
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        if (ptx_is_pseudo(in) || !is_vector(f, in)) {
            *vec_push(&body) = *in;
            continue;
        }
        split++;
        for (unsigned k = 0; k < in->ops[0].n; k++) {
            if (in->ops[0].vec[k].kind != PTX_OPD_REG)
                continue; /* nobody wants it */
            struct ptx_inst *one = vec_push(&body);
            *one = *in;
            one->ops = ptx_operands_dup(f->module, in->ops, in->nops);
            ptx_set_mod(f->module, one, PTX_MG_VEC, PTX_NOMOD);
            one->ops[0] = in->ops[0].vec[k];
            one->ops[1].off += (int64_t)k * ptx_type_bytes(in->type[0]);
        }
    }
    if (split) {
        vec_take(&f->body, &body);
        *changed = true;
    } else
        vec_free(&body);
    if (a->report && split)
        strbuf_printf(a->report, "%s: %zu vectors of parameters\n", f->name, split);
    return true;
}

const struct pass pass_parameter_vectors = {
    .name = "parameter-vectors",
    .meaning = "reads the elements of a vector of parameters one by one",
    .run_func = run,
};
