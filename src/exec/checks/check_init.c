/* check_init.c: loads and atomics of memory that nobody has written: global memory since
 * it was allocated (by copies, fills, kernels; variables of modules are zero), scratchpad
 * since the block began, local memory since the thread did. Memory of the host that kernels may touch is not looked at.
 *
 * A bit for each byte says that it was written (written.h; block_checks.written). A byte is
 * told of once. */
#include "exec/checks/checks.h"

enum { LOAD, ATOMIC, COPY };

static bool
bit(const uint8_t *v, uint64_t i)
{
    return v[i / 8] >> i % 8 & 1;
}

/* Bytes from addr on that were written, of n. */
static uint64_t
written(const struct exec_warp *w, const struct block_checks *b, unsigned space,
        uint64_t addr, uint64_t n)
{
    if (space == PTX_SPACE_GLOBAL)
        return dev_written(w->cta->grid->mem, addr, n);
    uint64_t i = 0;
    while (i < n && bit(b->written, addr + i))
        i++;
    return i;
}

static void
write(const struct exec_warp *w, struct block_checks *b, unsigned space, uint64_t addr,
      uint64_t n)
{
    if (space == PTX_SPACE_GLOBAL)
        dev_mark_written(w->cta->grid->mem, addr, n);
    else
        for (uint64_t i = addr; i < addr + n; i++)
            b->written[i / 8] |= (uint8_t)(1 << i % 8);
}

static void
read(struct exec_checks *k, struct block_checks *b, const struct exec_warp *w,
     uint32_t pc, unsigned lane, unsigned kind, unsigned space, uint64_t addr, uint64_t n)
{
    uint64_t good = written(w, b, space, addr, n);
    if (good >= n)
        return;
    struct finding *f = checks_found(k, EXEC_CHECK_INIT, kind, w, lane, pc);
    f->space = (uint8_t)space;
    f->addr = addr + good;
    f->bytes = (uint8_t)n;
    checks_settle(k);
    write(w, b, space, addr, n);
}

/* Local memory, since the thread began: what a call leaves on its stack counts as written. */
static void
local(struct exec_checks *k, struct block_checks *b, const struct exec_warp *w,
      uint32_t pc, unsigned lane, const struct exec_access *x)
{
    uint32_t **v = &b->local[w->index].written, *n = &b->local[w->index].bytes;
    const uint64_t at = x->addr[lane], end = at + x->bytes;
    if (!mem_lane_ok(w, PTX_SPACE_LOCAL, at, x->bytes))
        return;
    if (end > *n) {
        *v = xrealloc(*v, w->local_bytes * sizeof **v);
        memset(*v + *n, 0, (w->local_bytes - *n) * sizeof **v);
        *n = w->local_bytes;
    }
    for (uint64_t i = at; x->load && i < end; i++)
        if (!((*v)[i] >> lane & 1)) {
            struct finding *f = checks_found(k, EXEC_CHECK_INIT, LOAD, w, lane, pc);
            f->space = PTX_SPACE_LOCAL;
            f->addr = i;
            f->bytes = (uint8_t)x->bytes;
            checks_settle(k);
            break;
        }
    for (uint64_t i = at; i < end; i++)
        (*v)[i] |= 1u << lane;
}

static void
access(void *user, struct exec_warp *w, const struct exec_step *s)
{
    struct exec_checks *k = user;
    struct block_checks *b = w->cta->priv;
    const struct exec_access *x = &s->access;
    /* an mbarrier is no atomic to look at: check_sync.c does */
    bool mbarrier = w->cta->grid->prog->st[s->pc].orders &&
                    x->space == PTX_SPACE_SHARED &&
                    exec_mbarrier_use(&w->cta->grid->prog->inst[s->pc]);
    FOR_BITS(lane, x->mask)
    {
        unsigned space = x->space ? x->space : x->lane_space[lane];
        if (space == PTX_SPACE_LOCAL)
            local(k, b, w, s->pc, (unsigned)lane, x);
        if ((space != PTX_SPACE_GLOBAL && space != PTX_SPACE_SHARED) ||
            !mem_lane_ok(w, space, x->addr[lane], 1))
            continue;
        if ((x->load || x->atomic) && !mbarrier)
            read(k, b, w, s->pc, (unsigned)lane,
                 x->async    ? COPY
                 : x->atomic ? ATOMIC
                             : LOAD,
                 space, x->addr[lane], x->bytes);
        if (x->store || x->atomic)
            write(w, b, space, x->addr[lane], x->bytes);
    }
    if (x->async)
        FOR_BITS(lane, (uint32_t)x->list[LANES])
    write(w, b, PTX_SPACE_SHARED, x->list[lane], x->bytes);
}

static void
block_start(void *user, struct exec_cta *c)
{
    struct block_checks *b = c->priv;
    (void)user;
    b->written = xcalloc((c->shared_bytes + 7) / 8 + 1, 1);
}

static void
block_end(void *user, struct exec_cta *c)
{
    struct block_checks *b = c->priv;
    (void)user;
    free(b->written);
    for (int i = 0; i < CHECK_WARPS; i++)
        free(b->local[i].written);
}

const struct exec_observer check_init = {
    .block_start = block_start, .block_end = block_end, .access = access};

void
check_init_tell(const struct exec_checks *k, const struct finding *f)
{
    static const char *const did[] = {
        [LOAD] = "reads", [ATOMIC] = "changes by an atomic", [COPY] = "copies"};
    struct diag_loc loc = exec_loc(k->g->prog, f->pc);
    struct strbuf b = {0};
    checks_print_who(k->g, &f->who, &b);
    strbuf_printf(&b, " %s %u bytes of ", did[f->kind], f->bytes);
    if (f->space == PTX_SPACE_LOCAL)
        strbuf_printf(&b, "local memory, byte %llu", (unsigned long long)f->addr);
    else
        exec_print_place(k->g, f->space, f->addr, &b);
    struct diag *d = diag_add(k->g->diag, DIAG_WARNING, &loc,
                              "uninitialised read in kernel '%s': %s, which nobody has "
                              "written (%llu times)",
                              k->g->prog->entry->name, b.s, (unsigned long long)f->count);
    diag_hint(k->g->diag, d, "%s",
              f->space == PTX_SPACE_LOCAL
                  ? "a thread's local variables hold anything at first: set them"
              : f->space == PTX_SPACE_SHARED
                  ? "a card's scratchpad holds what another block left there: write it "
                    "first, and let all threads meet"
                  : "memory that is allocated holds anything: copy to it or fill it, all "
                    "of it (sizes are in bytes)");
    strbuf_free(&b);
    exec_note_source(k->g->prog, f->pc, k->g->diag);
}
