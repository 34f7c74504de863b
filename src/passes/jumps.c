/* jumps.c: takes out jumps over jumps, jumps to what follows, and labels that nothing names.
 *
 *     @%p1 bra L;                 @!%p1 bra HEAD;                 bra.uni L;
 *     bra.uni HEAD;         ->    L:                              L:           ->    L:
 *     L:
 *
 * clang ends loops the first way, so that they leave by the jump and not by its not being
 * taken; `unroll` looks for the second form. ptxas has neither in its code. O(body). */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "base/bitset.h"

/* Is a label of that number between here and the next instruction? */
static bool
follows(const struct ptx_func *f, size_t i, int32_t label)
{
    for (size_t k = i + 1; k < f->body.n && ptx_is_pseudo(&f->body.v[k]); k++)
        if (f->body.v[k].op == PTX_OP_LABEL && f->body.v[k].ops[0].label == label)
            return true;
    return false;
}

static bool
is_jump(const struct ptx_inst *in)
{
    return in->op == PTX_OP_BRA && in->nops && in->ops[0].kind == PTX_OPD_LABEL;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    (void)x;
    (void)diag;
    struct arena mem = {0};
    uint64_t *dead = bitset_new(&mem, f->body.n + 1);
    size_t over = 0, next = 0;
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst *in = &f->body.v[i], *to = in + 1;
        if (!is_jump(in))
            continue;
        if (follows(f, i, in->ops[0].label)) {
            bitset_add(dead, i);
            next++;
        } else if (in->guard >= 0 && i + 1 < f->body.n && is_jump(to) && to->guard < 0 &&
                   follows(f, i + 1, in->ops[0].label)) {
            in->guard_neg = !in->guard_neg;
            in->ops[0].label = to->ops[0].label;
            bitset_add(dead, ++i);
            over++;
        }
    }
    rewrite_delete(f, dead);
    arena_free(&mem);
    const size_t labels = rewrite_drop_labels(f);
    *changed = over || next || labels;
    if (a->report && (over || next))
        strbuf_printf(a->report,
                      "%s: %zu jumps over jumps and %zu to what follows are gone\n",
                      f->name, over, next);
    return true;
}

const struct pass pass_jumps = {
    .name = "jumps",
    .meaning = "takes out jumps over jumps, jumps to what follows, and unused labels",
    .run_func = run,
};
