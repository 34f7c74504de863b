/* exec_check.c: holds what the compiler believes of scratchpad accesses against what they
 * do: the variables of analysis/scratchpad.h, and the promise of relssp (000 section 6.3,
 * condition 1). */
#include "exec/exec_int.h"

struct exec_check {
    struct scratch_use *use;
    scratch_set *touch; /* by pc */
};

void
exec_check_analyses(struct exec_prog *p)
{
    const struct prog_priv *pp = p->priv;
    if (p->check)
        return;
    struct exec_check *k = xcalloc(1, sizeof *k);
    k->use = scratch_use_new(p->entry);
    k->touch = xcalloc(p->ninst + 1, sizeof *k->touch);
    for (size_t i = 0; i < pp->funcs.n; i++) {
        const struct func_info *fi = pp->funcs.v[i];
        const struct scratch_func *sf = NULL;
        for (size_t j = 0; j < k->use->funcs.n; j++)
            if (k->use->funcs.v[j].func == fi->f)
                sf = &k->use->funcs.v[j];
        for (size_t j = 0; sf && j < fi->f->body.n; j++)
            if (!ptx_is_pseudo(&fi->f->body.v[j]))
                k->touch[fi->pc_of[j]] = sf->touch[j];
    }
    p->check = k;
}

void
exec_check_free(struct exec_check *k)
{
    if (!k)
        return;
    scratch_use_free(k->use);
    free(k->touch);
    free(k);
}

/* Variable that holds the byte, -1: none (padding, or no variable at all). */
static int
variable_at(const struct scratch_use *u, uint64_t at)
{
    for (size_t i = 0; i < u->var.n; i++) {
        const struct scratch_var *v = &u->var.v[i];
        if (at >= v->at && (v->var->dynamic || at < v->at + v->var->size))
            return (int)i;
    }
    return -1;
}

static enum exec_result
blame(struct exec_warp *w, unsigned lane, uint64_t at, const char *what, const char *hint)
{
    const struct exec_prog *p = w->cta->grid->prog;
    int v = variable_at(p->check->use, at);
    return fault(w, &p->inst[w->pc], lane, hint, "access to scratchpad byte %llu (%s) %s",
                 (unsigned long long)at,
                 v < 0 ? "in no variable" : p->check->use->var.v[v].var->name, what);
}

enum exec_result
exec_check_access(struct exec_warp *w)
{
    const struct exec_grid *g = w->cta->grid;
    const struct exec_check *k = g->prog->check;
    struct exec_access a;
    const struct exec_inst *in = &g->prog->inst[w->pc];
    if (g->prog->st[w->pc].op == PTX_OP_RELSSP) {
        uint32_t again = w->active & w->released;
        if (in->flags & IF_GUARD) {
            uint32_t p = *(const uint32_t *)(w->regs + in->guard);
            again &= in->flags & IF_GUARD_NEG ? ~p : p;
        }
        return !again ? EXEC_OK
                      : fault(w, in, (unsigned)bit_lowest(again), NULL,
                              "relssp for the second time");
    }
    if (!exec_peek_access(w, &a))
        return EXEC_OK;
    FOR_BITS(lane, a.mask)
    {
        unsigned space = a.space ? a.space : a.lane_space[lane];
        if (space != PTX_SPACE_SHARED || a.addr[lane] >= w->cta->shared_bytes)
            continue; /* what lies outside is the executor's to refuse */
        int v = variable_at(k->use, a.addr[lane]);
        if (v < 0 || !(k->touch[w->pc] >> scratch_bit(k->use, (size_t)v) & 1))
            return blame(w, (unsigned)lane, a.addr[lane],
                         "is not what the analysis of addresses expects here",
                         "does the program make an address in one variable from "
                         "another's?");
        if (g->shared_from && w->released >> lane & 1 &&
            a.addr[lane] + a.bytes > g->shared_from)
            return blame(w, (unsigned)lane, a.addr[lane],
                         "after relssp gave up the shared part",
                         "was relssp placed for another threshold?");
    }
    return EXEC_OK;
}
