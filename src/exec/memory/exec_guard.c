/* exec_guard.c: accesses a little outside an allocation (dev_set_guard): bytes within so
 * many of a live one are read as 0, and what is stored there is dropped; each is warned of,
 * once for each instruction. Bytes that lie in another allocation are that one's, as on a
 * card. An atomic that is not whole inside is dropped and gives 0. Global memory only; those
 * of 128 bits stay refused.
 *
 * Blocks keep their own account, which goes to the grid when they are freed. Of an
 * instruction's accesses the one of the lowest block and thread is told, so that the warning
 * does not depend on the order of execution. */
#include "exec/ops/exec_mem.h"

#include <stdlib.h>

/* A read's place in the order of blocks and threads. */
static bool
earlier(const struct guard_read *a, const struct guard_read *b)
{
    return a->block != b->block ? a->block < b->block : a->thread < b->thread;
}

void
guard_add(struct guard_reads *all, const struct guard_read *r)
{
    for (size_t i = 0; i < all->n; i++) {
        struct guard_read *x = &all->v[i];
        if (x->pc != r->pc)
            continue;
        uint64_t count = x->count + r->count;
        if (earlier(r, x))
            *x = *r;
        x->count = count;
        return;
    }
    *vec_push(all) = *r;
}

/* Whether the address is that of a byte which may be read. */
static bool
live(const struct dev_mem *m, uint64_t addr)
{
    struct dev_range r;
    return dev_find(m, addr, &r) && !r.dead;
}

bool
guard_lanes(struct exec_warp *w, const struct exec_inst *in, uint32_t mask,
            const struct exec_access *x, unsigned bytes, uint32_t *zone)
{
    struct exec_cta *c = w->cta;
    const struct dev_mem *m = c->grid->mem;
    *zone = 0;
    if (!dev_guard(m))
        return false;
    FOR_BITS(i, mask)
    {
        unsigned space = x->space == PTX_SPACE_NONE ? x->lane_space[i] : x->space;
        if (in->kind != MEM_LOAD &&
            (space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM))
            return false; /* nobody writes there */
        if (mem_lane_ok(w, space, x->addr[i], bytes))
            continue;
        if (space != PTX_SPACE_GLOBAL || x->addr[i] % (bytes < 16 ? bytes : 16))
            return false;
        for (unsigned k = 0; k < bytes; k++)
            if (live(m, x->addr[i] + k))
                continue;
            else if (dev_guarded(m, x->addr[i] + k))
                *zone |= 1u << i;
            else
                return false;
    }
    FOR_BITS(i, *zone)
    {
        struct guard_read r = {.pc = exec_inst_pc(w, in),
                               .block = c->id,
                               .thread = w->index * LANES + (uint32_t)i,
                               .bytes = bytes,
                               .addr = x->addr[i],
                               .count = 1,
                               .write = in->kind != MEM_LOAD};
        guard_add(&c->ex->guard, &r);
    }
    return true;
}

void
guard_copy(struct dev_mem *m, uint64_t addr, void *dst, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        ((uint8_t *)dst)[k] = live(m, addr + k) ? *dev_host(m, addr + k) : 0;
}

void
guard_store(struct dev_mem *m, uint64_t addr, const void *src, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        if (live(m, addr + k))
            *dev_host(m, addr + k) = ((const uint8_t *)src)[k];
}

static int
by_pc(const void *a, const void *b)
{
    const struct guard_read *x = a, *y = b;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

void
exec_guard_warnings(struct exec_grid *g,
                    bool (*tell)(void *user, const char *kernel,
                                 const struct diag_loc *loc),
                    void *user)
{
    const struct exec_prog *p = g->prog;
    struct exec_dim b = g->block;
    if (g->guard.n)
        qsort(g->guard.v, g->guard.n, sizeof *g->guard.v, by_pc);
    for (size_t i = 0; i < g->guard.n; i++) {
        const struct guard_read *r = &g->guard.v[i];
        struct diag_loc loc = exec_loc(p, r->pc);
        if (!tell(user, p->entry->name, &loc))
            continue;
        const struct exec_dim at = exec_block_place(g, r->block);
        struct strbuf near = {0};
        exec_fault_near(g, r->addr, r->bytes, &near);
        diag_add(g->diag, DIAG_WARNING, &loc,
                 "kernel '%s': %llu %s; the first is of block (%u,%u,%u), thread "
                 "(%u,%u,%u): %u bytes at 0x%llx: %s",
                 p->entry->name, (unsigned long long)r->count,
                 r->write ? "writes outside of allocations were dropped"
                          : "reads outside of allocations gave 0",
                 at.x, at.y, at.z, r->thread % b.x, r->thread / b.x % b.y,
                 r->thread / b.x / b.y, r->bytes, (unsigned long long)r->addr, near.s);
        exec_note_source(p, r->pc, g->diag);
        strbuf_free(&near);
    }
    vec_free(&g->guard);
}
