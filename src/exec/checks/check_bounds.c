/* check_bounds.c: accesses to scratchpad beyond a static variable. The decoder has put a gap
 * behind each (decode_layout.c), so that they meet no other variable. What lies outside of
 * the block's scratchpad, and of allocations of global memory, is a fault without this. */
#include "exec/checks/checks.h"

/* The first byte of n from addr on that no variable has, n: all have one. What is dynamic
 * is one storage, up to the end. */
static uint64_t
outside(const struct exec_prog *p, uint64_t addr, uint64_t n)
{
    const struct prog_priv *pp = p->priv;
    uint64_t i = 0;
    while (i < n && addr + i < p->dynamic_base) {
        uint64_t end = 0;
        for (size_t k = 0; k < pp->shared_vars.n && !end; k++) {
            const struct scratch_var *v = &pp->shared_vars.v[k];
            if (!v->var->dynamic && addr + i >= v->at && addr + i - v->at < v->var->size)
                end = v->at + v->var->size;
        }
        if (!end)
            return i;
        i = end - addr;
    }
    return n;
}

static void
access(void *user, struct exec_warp *w, const struct exec_step *s)
{
    const struct exec_prog *p = w->cta->grid->prog;
    const struct exec_access *x = &s->access;
    if (!((const struct prog_priv *)p->priv)->shared_gaps)
        return;
    FOR_BITS(lane, x->mask)
    {
        unsigned space = x->space ? x->space : x->lane_space[lane];
        if (space != PTX_SPACE_SHARED || !mem_lane_ok(w, space, x->addr[lane], x->bytes))
            continue;
        uint64_t good = outside(p, x->addr[lane], x->bytes);
        if (good == x->bytes)
            continue;
        struct finding *f = checks_found(user, CHECK_BOUNDS, x->store || x->atomic, w,
                                         (unsigned)lane, s->pc);
        f->space = PTX_SPACE_SHARED;
        f->addr = x->addr[lane] + good;
        f->bytes = (uint8_t)x->bytes;
        checks_settle(user);
    }
}

const struct exec_observer check_bounds = {.access = access};

/* The variable whose end lies before addr. */
static const struct scratch_var *
before(const struct prog_priv *pp, uint64_t addr)
{
    const struct scratch_var *best = NULL;
    for (size_t k = 0; k < pp->shared_vars.n; k++) {
        const struct scratch_var *v = &pp->shared_vars.v[k];
        if (!v->var->dynamic && v->at <= addr && (!best || v->at > best->at))
            best = v;
    }
    return best;
}

void
check_bounds_tell(const struct exec_checks *k, const struct finding *f)
{
    const struct exec_prog *p = k->g->prog;
    const struct scratch_var *v = before(p->priv, f->addr);
    struct diag_loc loc = exec_loc(p, f->pc);
    struct strbuf b = {0};
    checks_print_who(k->g, &f->who, &b);
    strbuf_printf(&b, " %s %u bytes of shared memory", f->kind ? "writes" : "reads",
                  f->bytes);
    if (v)
        strbuf_printf(&b, ", %llu bytes behind the end of '%s' (%llu bytes)",
                      (unsigned long long)(f->addr - v->at - v->var->size), v->var->name,
                      (unsigned long long)v->var->size);
    struct diag *d = diag_add(k->g->diag, DIAG_WARNING, &loc,
                              "out of bounds in kernel '%s': %s (%llu times)",
                              p->entry->name, b.s, (unsigned long long)f->count);
    diag_hint(k->g->diag, d, "on a card another variable lies there");
    strbuf_free(&b);
    exec_note_source(p, f->pc, k->g->diag);
}
