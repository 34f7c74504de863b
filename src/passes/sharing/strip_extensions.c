/* strip_extensions.c: takes out the instructions that are none of the PTX ISA's
 * (PTX_EXTENSION), and the power states after operands, so that other assemblers read the
 * text. They only tell the hardware of a paper something; results do not depend on them,
 * but for scratchalloc and scratchfree, which are barriers too: bar.sync 0 takes their
 * place. */
#include "passes/rewrite.h"
#include "passes/pass.h"

static struct ptx_inst
plain_barrier(struct ptx_module *m, const struct ptx_inst *in)
{
    struct ptx_inst bar = ptx_inst_new(m, PTX_OP_BAR, 2);
    ptx_set_mod(m, &bar, PTX_MG_SYNC, PTX_SYNC_SYNC);
    bar.ops[0] = rewrite_literal(0);
    bar.guard = in->guard;
    bar.guard_neg = in->guard_neg;
    bar.line = in->line;
    return bar;
}

static bool
run(struct ptx_module *m, const struct pass_args *a, struct diag_sink *diag)
{
    (void)a;
    (void)diag;
    for (size_t k = 0; k < m->funcs.n; k++) {
        struct ptx_func *f = m->funcs.v[k];
        size_t n = 0;
        for (size_t i = 0; i < f->body.n; i++)
            if (f->body.v[i].op == PTX_OP_SALLOC || f->body.v[i].op == PTX_OP_SFREE)
                f->body.v[n++] = plain_barrier(f->module, &f->body.v[i]);
            else if (!(ptx_ops[f->body.v[i].op].flags & PTX_EXTENSION)) {
                f->body.v[n] = f->body.v[i];
                f->body.v[n++].power = 0;
            }
        f->body.n = n;
    }
    return true;
}

const struct pass pass_strip_extensions = {
    .name = "strip-extensions",
    .meaning = "takes out instructions that are not of the PTX ISA (relssp, scratchalloc), and power states",
    .run = run,
};
