/* strip_extensions.c: takes out the instructions that are none of the PTX ISA's
 * (PTX_EXTENSION), and the power states behind operands, so that other assemblers read the text. They only tell the hardware of
 * a paper something; results do not depend on them. */
#include "passes/pass.h"

static bool
run(struct ptx_module *m, const struct pass_args *a, struct diag_sink *diag)
{
    (void)a;
    (void)diag;
    for (size_t k = 0; k < m->funcs.n; k++) {
        struct ptx_func *f = m->funcs.v[k];
        size_t n = 0;
        for (size_t i = 0; i < f->body.n; i++)
            if (!(ptx_ops[f->body.v[i].op].flags & PTX_EXTENSION)) {
                f->body.v[n] = f->body.v[i];
                f->body.v[n++].power = 0;
            }
        f->body.n = n;
    }
    return true;
}

const struct pass pass_strip_extensions = {
    .name = "strip-extensions",
    .meaning = "takes out instructions that are not of the PTX ISA (relssp), and power states",
    .run = run,
};
