/* jumps.c: takes out jumps over jumps, jumps to what follows, and labels that nothing names.
 *
 *     @%p1 bra L;                 @!%p1 bra HEAD;                 bra.uni L;
 *     bra.uni HEAD;         ->    L:                              L:           ->    L:
 *     L:
 *
 * clang ends loops the first way, so that they leave by the jump and not by its not being
 * taken; `unroll` looks for the second form. ptxas has neither in its code. Where the second
 * jump goes forward, what it goes to is what the branch falls to, and ptxas lays that out
 * first: with back=yes such jumps stay, for block-order. O(body). */
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
    const char *back = pass_arg(a, "back");
    if (strcmp(back, "yes") != 0 && strcmp(back, "no") != 0)
        return diag_error(diag, "pass jumps: back=%s: yes or no", back);
    const bool forward = !strcmp(back, "no");
    size_t labels = rewrite_drop_labels(f);
    struct arena mem = {0};
    uint64_t *dead = bitset_new(&mem, f->body.n + 1),
             *before = bitset_new(&mem, f->labels.n + 1); /* labels that stand before */
    size_t over = 0, next = 0;
    for (size_t i = 0; i < f->body.n; i++) {
        struct ptx_inst *in = &f->body.v[i], *to = in + 1;
        if (in->op == PTX_OP_LABEL)
            bitset_add(before, (size_t)in->ops[0].label);
        if (!is_jump(in))
            continue;
        if (follows(f, i, in->ops[0].label)) {
            bitset_add(dead, i);
            next++;
        } else if (in->guard >= 0 && i + 1 < f->body.n && is_jump(to) && to->guard < 0 &&
                   follows(f, i + 1, in->ops[0].label) &&
                   (forward || bitset_has(before, (size_t)to->ops[0].label))) {
            in->guard_neg = !in->guard_neg;
            in->ops[0].label = to->ops[0].label;
            bitset_add(dead, ++i);
            over++;
        }
    }
    rewrite_delete(f, dead);
    arena_free(&mem);
    labels += rewrite_drop_labels(f);
    *changed = over || next || labels;
    if (a->report && (over || next))
        strbuf_printf(a->report,
                      "%s: %zu jumps over jumps and %zu to what follows are gone\n",
                      f->name, over, next);
    return true;
}

static const struct pass_key keys[] = {
    {"back", "no", "yes: of jumps over jumps those only that go back"},
    {0},
};

const struct pass pass_jumps = {
    .name = "jumps",
    .meaning = "takes out jumps over jumps, jumps to what follows, and unused labels",
    .keys = keys,
    .run_func = run,
};
