/* exec_check.c: holds what the compiler believes of scratchpad accesses against what they
 * do: the variables of analysis/scratchpad.h, and the promise of relssp (000 section 6.3,
 * condition 1), what scratchalloc and scratchfree enclose (003 section 5), and power states:
 * a register that is switched off loses its value. */
#include "exec/exec_int.h"
#include "exec/observer.h"

#include <stdio.h>
#include <string.h>

/* A register that an instruction switches off: its rows in a warp, in a list by pc. */
struct off_row {
    uint32_t at, bytes;
    uint32_t next; /* index + 1 */
};

struct exec_check {
    struct scratch_use *use;
    scratch_set *touch; /* by pc */
    uint32_t *off;      /* by pc: first of its off_row, + 1; 0: none */
    VEC(struct off_row) rows;
    uint32_t shared_from; /* exec_check_promise */
    uint32_t depth;       /* of a virtual block; 0: there are none */
};

/* Registers of one place of the register file have rows of their own here: all of them
 * lose their value. */
static void
note_off(struct exec_check *k, const struct func_info *fi, const struct ptx_inst *in,
         uint32_t pc)
{
    int32_t reg[PTX_POWER_REGS];
    unsigned n = in->power ? ptx_power_regs(in, reg) : 0;
    for (unsigned i = 0; i < n; i++) {
        bool is_dest = i == 0 && ptx_inst_dests(in);
        /* A source that is written too has the state of the destination at the end. */
        if ((in->power >> 2 * i & 3) != PTX_POWER_OFF ||
            (!is_dest && reg[i] == reg[0] && ptx_inst_dests(in)))
            continue;
        for (size_t r = 0; r < fi->f->regs.n; r++) {
            const struct ptx_reg *x = &fi->f->regs.v[r];
            unsigned bytes = ptx_type_bytes(x->type);
            if (!ptx_reg_overlaps(&fi->f->regs.v[reg[i]], x))
                continue;
            *vec_push(&k->rows) = (struct off_row){
                fi->reg_ref[r],
                x->type == PTX_PRED ? 4
                                    : (bytes + 3) / 4 * (x->vec ? x->vec : 1) * ROW_BYTES,
                k->off[pc]};
            k->off[pc] = (uint32_t)k->rows.n;
        }
    }
}

/* Destroys the registers that the instruction has switched off. */
static void
switch_off(void *user, struct exec_warp *w, const struct exec_step *s)
{
    const struct exec_check *k = user;
    if (!s->mask && s->jumped)
        return; /* put off for other lanes */
    for (uint32_t i = k->off[s->pc]; i; i = k->rows.v[i - 1].next)
        memset(w->regs + k->rows.v[i - 1].at, 0xa5, k->rows.v[i - 1].bytes);
}

void
exec_check_analyses(struct exec_prog *p)
{
    const struct prog_priv *pp = p->priv;
    if (p->check)
        return;
    struct exec_check *k = xcalloc(1, sizeof *k);
    k->use = scratch_use_new(p->entry);
    k->depth = exec_turns_depth(p->entry);
    k->touch = xcalloc(p->ninst + 1, sizeof *k->touch);
    k->off = xcalloc(p->ninst + 1, sizeof *k->off);
    for (size_t i = 0; i < pp->funcs.n; i++) {
        const struct func_info *fi = pp->funcs.v[i];
        const struct scratch_func *sf = NULL;
        for (size_t j = 0; j < k->use->funcs.n; j++)
            if (k->use->funcs.v[j].func == fi->f)
                sf = &k->use->funcs.v[j];
        for (size_t j = 0; j < fi->f->body.n; j++)
            if (!ptx_is_pseudo(&fi->f->body.v[j]))
                note_off(k, fi, &fi->f->body.v[j], fi->pc_of[j]);
        for (size_t j = 0; sf && j < fi->f->body.n; j++)
            if (!ptx_is_pseudo(&fi->f->body.v[j]))
                k->touch[fi->pc_of[j]] = sf->touch[j];
    }
    p->check = k;
}

void
exec_check_promise(const struct exec_prog *p, uint32_t shared_from)
{
    if (p->check)
        p->check->shared_from = shared_from;
}

void
exec_check_free(struct exec_check *k)
{
    if (!k)
        return;
    scratch_use_free(k->use);
    free(k->touch);
    free(k->off);
    vec_free(&k->rows);
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
    return exec_fault(w, &p->inst[w->pc], lane, hint,
                      "access to scratchpad byte %llu (%s) %s", (unsigned long long)at,
                      v < 0 ? "in no variable" : p->check->use->var.v[v].var->name, what);
}

void
exec_check_taken(struct exec_cta *c)
{
    const struct exec_prog *p = c->grid->prog;
    memset(c->shared + p->alloc_from, 0xa5, p->alloc_bytes);
}

/* Does the instruction at w->pc keep the promises? */
static enum exec_result
keeps_promises(void *user, struct exec_warp *w)
{
    const struct exec_grid *g = w->cta->grid;
    const struct exec_check *k = user;
    struct exec_access a;
    const struct exec_inst *in = &g->prog->inst[w->pc];
    if (g->prog->st[w->pc].op == PTX_OP_RELSSP) {
        uint32_t again = w->active & w->released;
        if (in->flags & IF_GUARD) {
            uint32_t p = *(const uint32_t *)(w->regs + in->guard);
            again &= in->flags & IF_GUARD_NEG ? ~p : p;
        }
        return !again ? EXEC_OK
                      : exec_fault(w, in, (unsigned)bit_lowest(again), NULL,
                                   "relssp for the second time");
    }
    if (!exec_peek_access(w, &a))
        return EXEC_OK;
    FOR_BITS(lane, a.mask)
    {
        unsigned space = a.space ? a.space : a.lane_space[lane];
        if (space != PTX_SPACE_SHARED || a.addr[lane] >= w->cta->shared_bytes)
            continue; /* what lies outside is the executor's to refuse */
        if (exec_not_held(w->cta, &a, (unsigned)lane))
            return blame(w, (unsigned)lane, a.addr[lane],
                         "outside of what the block holds",
                         "it lies in the part that scratchalloc takes");
        int v = variable_at(k->use, a.addr[lane]);
        if (v < 0 || !(k->touch[w->pc] >> scratch_bit(k->use, (size_t)v) & 1))
            return blame(w, (unsigned)lane, a.addr[lane],
                         "is not what the analysis of addresses expects here",
                         "does the program make an address in one variable from "
                         "another's?");
        int other = k->depth ? exec_turns_access(w, &a, (unsigned)lane, k->depth) : -1;
        if (other >= 0) {
            char what[80];
            snprintf(what, sizeof what, "finds it overwritten by virtual block %d",
                     other);
            return blame(w, (unsigned)lane, a.addr[lane], what,
                         "did that one not wait for its turn?");
        }
        if (k->shared_from && w->released >> lane & 1 &&
            a.addr[lane] + a.bytes > k->shared_from)
            return blame(w, (unsigned)lane, a.addr[lane],
                         "after relssp gave up the shared part",
                         "was relssp placed for another threshold?");
    }
    return EXEC_OK;
}

/* Nothing of its scratchpad is anybody's yet. */
static void
block_start(void *user, struct exec_cta *c)
{
    const struct exec_check *k = user;
    if (k->depth)
        exec_turns_start(c);
}

void
exec_check_watch(struct exec_grid *g)
{
    static const struct exec_observer on = {
        .block_start = block_start, .before = keeps_promises, .step = switch_off};
    if (g->prog->check)
        exec_observe(g, &on, g->prog->check);
}
