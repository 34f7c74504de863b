/* exec.c: resident blocks, the step function and the plain loop over a grid.
 *
 * exec_step does what all instructions share (guard, counts, reconvergence) and calls the
 * record's handler. A path of a diverged warp ends where its pc reaches its reconvergence
 * point (the immediate post-dominator of the branch); see exec_control.c. */
#include "exec/ops/exec_mem.h"
#include "exec/observer.h"

#include <stdlib.h>
#include <string.h>

enum {
    STACK_MIN = 68,          /* leaves are disjoint (<= 32), joins nested (<= 32) */
    QUANTUM_MOST = 2048,     /* of a warp, where exec_grid.quantum sets no limit */
    ASK_EVERY = 1 << 16,     /* instructions between two calls of keep_going, */
    ASK_BLOCKS = 1 << 8,     /* and blocks */
    TURN = 1 << 22,          /* instructions of a block before others are begun */
    TURN_TOGETHER = 1 << 15, /* of one of several that wait for each other */
    MAX_RUNNING = 1 << 14,   /* blocks at once */
    /* Times that warps which wait for phases of mbarriers are let go, with nothing else that
     * can move: a turn's, and those after which they wait for ever. Other blocks have been
     * begun by then, which may set what the loop around the wait looks at. */
    WAIT_TURN = 1 << 14,
    PATIENCE = 8 * WAIT_TURN,
};

static size_t
align_up(size_t n, size_t a)
{
    return (n + a - 1) / a * a;
}

/* Allocations have come or gone since the range caches were filled. */
static void
forget_ranges(struct exec_cta *c)
{
    const struct prog_priv *pp = c->grid->prog->priv;
    for (uint32_t i = 0; i < pp->nslots + 1; i++)
        c->ex->range[i] = (struct mem_range){1, 0};
    c->ex->generation = dev_generation(c->grid->mem);
}

/* Zeros, aligned to a host cache line. */
static void *
lines(size_t bytes)
{
    void *v = aligned_alloc(64, align_up(bytes, 64) + 64);
    if (!v)
        abort(); /* out of memory, like xmalloc */
    return memset(v, 0, bytes);
}

struct exec_cta *
exec_cta_new(struct exec_grid *g)
{
    const struct exec_prog *p = g->prog;
    const struct prog_priv *pp = p->priv;
    struct exec_cta *c = lines(sizeof *c);
    c->grid = g;
    c->clock = g->clock;
    c->diag = g->diag;
    c->nthreads = (uint32_t)exec_block_threads(g);
    c->nwarps = (c->nthreads + LANES - 1) / LANES;
    c->shared_bytes = exec_block_scratchpad(g);
    c->warp = lines(c->nwarps * sizeof *c->warp);
    c->ex = xcalloc(1, sizeof *c->ex);
    c->ex->range = xcalloc(pp->nslots + 1, sizeof *c->ex->range);
    forget_ranges(c);
    c->ex->rows = lines(align_up(p->row_bytes, 64) * c->nwarps);
    c->shared = lines(c->shared_bytes);
    for (uint32_t i = 0; i < c->nwarps; i++) {
        struct exec_warp *w = &c->warp[i];
        w->index = i;
        w->cta = c;
        w->regs = c->ex->rows + align_up(p->row_bytes, 64) * i;
        w->consts = pp->consts;
        w->stack_cap = STACK_MIN;
        w->stack = xcalloc(w->stack_cap, sizeof *w->stack);
        w->local_bytes = p->local_bytes;
        if (pp->has_alloca) {
            w->tops_cap = 4;
            w->tops = xcalloc(LANES * w->tops_cap, sizeof *w->tops);
        }
        if (w->local_bytes)
            w->local = xcalloc(w->local_bytes / 4, ROW_BYTES);
        w->state = EXEC_DONE;
    }
    return c;
}

void
exec_cta_free(struct exec_cta *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->nwarps; i++) {
        struct exec_warp *w = &c->warp[i];
        for (uint32_t k = 0; k < w->depth; k++)
            free(w->frame[k].saved);
        free(w->stack);
        free(w->frame);
        free(w->local);
        free(w->tops);
    }
    for (size_t i = 0; i < c->ex->guard.n; i++)
        guard_add(&c->grid->guard, &c->ex->guard.v[i]);
    vec_free(&c->ex->guard);
    members_hand_over(c, c->grid);
    free(c->ex->range);
    free(c->ex->owner);
    exec_cluster_free(c->ex->alone);
    vec_free(&c->ex->jobs);
    vec_free(&c->ex->spans);
    free(c->ex->rows);
    free(c->ex);
    free(c->shared);
    free(c->warp);
    free(c);
}

static void
fill32(void *dst, uint32_t v)
{
    uint32_t *d = dst;
    for (int i = 0; i < LANES; i++)
        d[i] = v;
}

static void
fill64(void *dst, uint64_t v)
{
    uint64_t *d = dst;
    for (int i = 0; i < LANES; i++)
        d[i] = v;
}

static uint32_t
dim_of(struct exec_dim d, unsigned comp)
{
    return comp == 0 ? d.x : comp == 1 ? d.y : comp == 2 ? d.z : 0;
}

static uint32_t
cluster_dim(const struct exec_grid *g, unsigned comp)
{
    return g->cluster.x && comp < 3 ? dim_of(g->cluster, comp) : 1;
}

/* Thread indices of a warp's lanes; threads are numbered x fastest. Lanes beyond the
 * block's threads get the numbers that follow, and never execute. */
static void
fill_tid(const struct exec_cta *c, const struct exec_warp *w, unsigned comp, uint32_t *d)
{
    struct exec_dim b = c->grid->block;
    uint32_t t = w->index * LANES, x = t % b.x, y = t / b.x % b.y, z = t / b.x / b.y;
    for (int i = 0; i < LANES; i++) {
        d[i] = comp == 0 ? x : comp == 1 ? y : comp == 2 ? z : 0;
        if (++x == b.x) {
            x = 0;
            if (++y == b.y) {
                y = 0;
                z++;
            }
        }
    }
}

static void
fill_sreg(const struct exec_cta *c, const struct exec_warp *w, const struct sreg_row *r)
{
    const struct exec_grid *g = c->grid;
    uint8_t *d = w->regs + r->ref;
    switch (r->sreg) {
    case PTX_SREG_TID:
        fill_tid(c, w, r->comp, (uint32_t *)d);
        break;
    case PTX_SREG_NTID:
        fill32(d, dim_of(g->block, r->comp));
        break;
    case PTX_SREG_CTAID:
        fill32(d, dim_of(c->ctaid, r->comp));
        break;
    case PTX_SREG_NCTAID:
        fill32(d, dim_of(g->grid, r->comp));
        break;
    case PTX_SREG_WARPID:
        fill32(d, w->index);
        break;
    case PTX_SREG_NWARPID:
        fill32(d, c->nwarps);
        break;
    case PTX_SREG_SMID:
        fill32(d, c->sm);
        break;
    case PTX_SREG_NSMID:
        fill32(d, g->nsm ? g->nsm : 1);
        break;
    case PTX_SREG_GRIDID:
        fill64(d, g->grid_id);
        break;
    case PTX_SREG_ENVREG:
        fill32(d, r->comp == 1   ? (uint32_t)(g->workspace >> 32)
                  : r->comp == 2 ? (uint32_t)g->workspace
                                 : 0);
        break;
    case PTX_SREG_TOTAL_SMEM_SIZE:
        fill32(d, c->shared_bytes);
        break;
    case PTX_SREG_DYNAMIC_SMEM_SIZE:
        fill32(d, g->dynamic_shared);
        break;
    /* Without clusters a block is one, as the ISA says. */
    case PTX_SREG_CLUSTERID:
        fill32(d, dim_of(c->ctaid, r->comp) / cluster_dim(g, r->comp));
        break;
    case PTX_SREG_NCLUSTERID:
        fill32(d, dim_of(g->grid, r->comp) / cluster_dim(g, r->comp));
        break;
    case PTX_SREG_CLUSTER_CTAID:
        fill32(d, dim_of(c->ctaid, r->comp) % cluster_dim(g, r->comp));
        break;
    case PTX_SREG_CLUSTER_NCTAID:
        fill32(d, r->comp < 3 ? cluster_dim(g, r->comp) : 0);
        break;
    case PTX_SREG_CLUSTER_CTARANK:
        fill32(d, c->rank);
        break;
    case PTX_SREG_CLUSTER_NCTARANK:
        fill32(d, exec_cluster_blocks(g));
        break;
    case PTX_SREG_IS_EXPLICIT_CLUSTER: /* a predicate: a mask of lanes */
        fill32(d, exec_explicit_cluster(g) ? FULL_MASK : 0);
        break;
    case PTX_SREG_AGGR_SMEM_SIZE: /* nothing of it is reserved */
        fill32(d, c->shared_bytes);
        break;
    default: /* the rest is 0, or constant for all warps: decode.c */
        fill32(d, 0);
        break;
    }
}

/* Does it differ from block to block? Nothing but a call's fresh rows overwrites them. */
static bool
differs(const struct sreg_row *r)
{
    return r->sreg == PTX_SREG_CTAID || r->sreg == PTX_SREG_CLUSTERID ||
           r->sreg == PTX_SREG_CLUSTER_CTAID || r->sreg == PTX_SREG_CLUSTER_CTARANK ||
           r->sreg == PTX_SREG_SMID;
}

static struct exec_dim
place_in(uint32_t i, struct exec_dim d)
{
    return (struct exec_dim){i % d.x, i / d.x % d.y, i / d.x / d.y};
}

struct exec_dim
exec_block_place(const struct exec_grid *g, uint32_t id)
{
    const uint32_t n = exec_cluster_blocks(g);
    if (n == 1)
        return place_in(id, g->grid);
    const struct exec_dim d = g->cluster;
    const struct exec_dim k = place_in(
        id / n, (struct exec_dim){g->grid.x / d.x, g->grid.y / d.y, g->grid.z / d.z});
    const struct exec_dim b = place_in(id % n, d);
    return (struct exec_dim){k.x * d.x + b.x, k.y * d.y + b.y, k.z * d.z + b.z};
}

void
exec_cta_start(struct exec_cta *c, uint32_t id)
{
    struct exec_grid *g = c->grid;
    const struct exec_prog *p = g->prog;
    const struct prog_priv *pp = p->priv;
    c->id = id;
    c->ctaid = exec_block_place(g, id);
    c->rank = id % exec_cluster_blocks(g);
    c->cluster = NULL;
    c->live_warps = c->nwarps;
    memset(c->shared, 0, c->shared_bytes);
    memset(c->ex->bar, 0, sizeof c->ex->bar);
    c->holds = false;
    if (dev_generation(g->mem) != c->ex->generation)
        forget_ranges(c);
    bool fresh = !c->ex->started || pp->has_calls;
    c->ex->started = true;
    for (uint32_t i = 0; i < c->nwarps; i++) {
        struct exec_warp *w = &c->warp[i];
        uint32_t left = c->nthreads - i * LANES;
        w->pc = 0;
        w->rpc = EXEC_NO_PC;
        w->active = left >= LANES ? FULL_MASK : (1u << left) - 1;
        w->released = 0;
        w->state = EXEC_READY;
        w->sp = 0;
        w->barrier = 0;
        w->came = w->due = 0;
        w->all_came = false;
        w->local_base = 0;
        while (w->depth)
            free(w->frame[--w->depth].saved);
        if (pp->has_calls) /* callees' registers too: all rows */
            memset(w->regs, 0, p->row_bytes);
        for (size_t k = 0; k < pp->zero_rows.n; k++) {
            const struct zero_row *z = &pp->zero_rows.v[k];
            memset(w->regs + z->ref, 0, z->bytes);
        }
        for (size_t k = 0; k < pp->sregs.n; k++)
            if (fresh || differs(&pp->sregs.v[k]))
                fill_sreg(c, w, &pp->sregs.v[k]);
        if (w->local)
            memset(w->local, 0, (size_t)w->local_bytes * LANES);
        for (unsigned k = 0; w->tops && k < LANES; k++)
            w->tops[k] = p->local_bytes;
    }
}

enum exec_result
exec_step(struct exec_warp *w, struct exec_step *s)
{
    struct exec_cta *c = w->cta;
    uint32_t pc = w->pc, active = w->active, mask = active;
    const struct exec_inst *in = &c->grid->prog->inst[pc];
    if (in->flags & IF_GUARD) {
        uint32_t p = *(const uint32_t *)(w->regs + in->guard);
        mask &= in->flags & IF_GUARD_NEG ? ~p : p;
    }
    s->pc = pc;
    s->active = active;
    s->mask = mask;
    s->access.async = false;
    s->access.remote = 0;
    s->njobs = 0;
    s->jumped = s->has_access = s->warp_done = s->cta_done = false;
    s->ended = 0;
    s->woken = 0;
    w->pc = pc + 1;
    c->n_warp_inst++;
    c->n_thread_inst += lanes_in(mask);
    if (mask) {
        enum exec_result r = in->fn(w, in, mask, s);
        if (__builtin_expect(r != EXEC_OK, 0)) {
            w->pc = pc;
            return r;
        }
    }
    if (w->pc == w->rpc && w->state != EXEC_DONE)
        simt_reconverge(w, s);
    return EXEC_OK;
}

/* -- the whole grid without timing -- */

const struct exec_warp *
exec_some_warp(const struct exec_cta *c)
{
    const struct exec_warp *w = NULL;
    for (uint32_t i = c->nwarps; i-- > 0;)
        if (c->warp[i].state != EXEC_DONE &&
            (!w || c->warp[i].state == EXEC_READY || w->state != EXEC_READY))
            w = &c->warp[i];
    return w;
}

static enum exec_result
over_limit(struct exec_grid *g, const struct exec_cta *c)
{
    const struct exec_warp *w = exec_some_warp(c);
    w = w ? w : &c->warp[0];
    struct diag_loc loc = exec_loc(g->prog, w->pc);
    struct diag *d = diag_add(
        g->diag, DIAG_ERROR, &loc,
        "kernel '%s' stopped after %llu warp instructions, the limit; block (%u,%u,%u) "
        "warp %u was here",
        g->prog->entry->name, (unsigned long long)g->n_warp_inst, c->ctaid.x, c->ctaid.y,
        c->ctaid.z, w->index);
    diag_hint(
        g->diag, d,
        "raise the limit if the kernel is only long; if it waits for another block or "
        "diverged thread, it never ends");
    exec_note_source(g->prog, w->pc, g->diag);
    g->failure = ALLOT_STOPPED;
    return EXEC_FAULT;
}

/* One block of several: the first that has warps left. */
static enum exec_result
stuck(struct exec_grid *g, struct exec_cta *const *cta, uint32_t n)
{
    struct strbuf b = {0};
    uint32_t first = 0;
    while (first + 1 < n && !cta[first]->live_warps)
        first++;
    const struct exec_cta *c = cta[first];
    exec_explain_cta(c, &b);
    for (uint32_t k = first + 1; k < n; k++)
        if (cta[k]->live_warps) {
            strbuf_printf(&b, "; block (%u,%u,%u): ", cta[k]->ctaid.x, cta[k]->ctaid.y,
                          cta[k]->ctaid.z);
            exec_explain_cta(cta[k], &b);
        }
    uint32_t pc = 0;
    for (uint32_t i = c->nwarps; i-- > 0;)
        if (c->warp[i].state == EXEC_BARRIER || c->warp[i].state == EXEC_MBARRIER)
            pc = c->warp[i].barrier_pc;
    struct diag_loc loc = exec_loc(g->prog, pc);
    diag_add(g->diag, DIAG_ERROR, &loc,
             "kernel '%s': block (%u,%u,%u) waits at barriers for ever: %s",
             g->prog->entry->name, c->ctaid.x, c->ctaid.y, c->ctaid.z, b.s ? b.s : "");
    exec_note_source(g->prog, pc, g->diag);
    strbuf_free(&b);
    g->failure = ALLOT_STUCK;
    return EXEC_FAULT;
}

/* Asks the caller whether to go on; false after saying that it was interrupted. */
static bool
go_on(struct exec_grid *g, uint64_t done)
{
    g->ask_at = g->n_warp_inst + ASK_EVERY;
    uint64_t blocks = (uint64_t)g->grid.x * g->grid.y * g->grid.z;
    done *= exec_cluster_blocks(g);
    if (!g->keep_going || g->keep_going(g->user, done, blocks))
        return true;
    const struct exec_warp *w = g->at ? exec_some_warp(g->at) : NULL;
    struct diag_loc loc = {0};
    struct strbuf b = {0};
    uint32_t pc = w && w->state == EXEC_BARRIER ? w->barrier_pc : w ? w->pc : 0;
    if (w) {
        loc = exec_loc(g->prog, pc);
        strbuf_printf(&b, "; block (%u,%u,%u) warp %u was here", w->cta->ctaid.x,
                      w->cta->ctaid.y, w->cta->ctaid.z, w->index);
    }
    diag_add(g->diag, DIAG_ERROR, w ? &loc : NULL,
             "kernel '%s' interrupted after %llu warp instructions, %llu of %llu "
             "blocks had ended%s",
             g->prog->entry->name, (unsigned long long)g->n_warp_inst,
             (unsigned long long)done, (unsigned long long)blocks, b.n ? b.s : "");
    if (w)
        exec_note_source(g->prog, pc, g->diag);
    strbuf_free(&b);
    return false;
}

/* The block's counts go over to the grid. */
static void
tally(struct exec_grid *g, struct exec_cta *c)
{
    g->n_warp_inst += c->n_warp_inst;
    g->n_thread_inst += c->n_thread_inst;
    c->n_warp_inst = c->n_thread_inst = 0;
}

/* Runs a warp for at most n instructions with all that may be looked at on the way: what
 * quick_turn does otherwise. */
static enum exec_result
run_warp_seen(struct exec_warp *w, struct exec_step *s, uint64_t n,
              const struct exec_watch *own)
{
    enum exec_result r;
    do {
        r = observer_step(w, s, own);
    } while (r == EXEC_OK && w->state == EXEC_READY && --n);
    return r;
}

static enum exec_result
run_warp(struct exec_warp *w, struct exec_step *s, uint64_t n,
         const struct exec_watch *own)
{
    struct exec_cta *c = w->cta;
    if (c->grid->nwatch || (own && own->on->wants(own->user, 0)))
        return run_warp_seen(w, s, n, own);
    uint64_t before = c->n_warp_inst;
    enum exec_result r = quick_turn(w, s, n);
    if (own)
        own->on->wants(own->user, c->n_warp_inst - before);
    return r;
}

/* Blocks that run together: the block, or those of its cluster. */
static struct exec_cta *const *
together(struct exec_cta *const *c, uint32_t *n)
{
    const struct exec_cluster *k = (*c)->cluster;
    *n = k ? k->n : 1;
    return k ? k->cta : c;
}

bool
exec_unit_lives(const struct exec_cta *c)
{
    for (uint32_t i = 0; c->cluster && i < c->cluster->n; i++)
        if (c->cluster->cta[i]->live_warps)
            return true;
    return c->live_warps;
}

/* A turn of each warp of the block that can run. *moved: there was one. */
static enum exec_result
turns(struct exec_grid *g, struct exec_cta *c, struct exec_step *s, uint64_t quantum,
      const struct exec_watch *own, bool *moved)
{
    for (uint32_t i = 0; i < c->nwarps; i++) {
        struct exec_warp *w = &c->warp[i];
        if (w->state == EXEC_MBARRIER)
            exec_mbarrier_resume(w, false);
        if (w->state != EXEC_READY)
            continue;
        *moved = true;
        uint64_t n = quantum;
        if (g->limit) {
            uint64_t so_far = g->n_warp_inst + c->n_warp_inst;
            if (so_far >= g->limit) {
                tally(g, c);
                return over_limit(g, c);
            }
            if (g->limit - so_far < n)
                n = g->limit - so_far;
        }
        enum exec_result r = run_warp(w, s, n, own);
        if (r != EXEC_OK) {
            tally(g, c);
            g->failure = c->failure;
            return r;
        }
    }
    tally(g, c);
    return EXEC_OK;
}

/* No warp of these blocks can run. If some wait for phases of mbarriers, their time is over;
 * false: none does, or they have been let go so often, with nothing happening to any of the
 * mbarriers, that they wait for ever. *turn: it is time for other blocks. */
static bool
time_is_over(struct exec_cta *const *cta, uint32_t n, struct exec_patience *p, bool *turn)
{
    uint64_t changes = 0;
    for (uint32_t k = 0; k < n; k++)
        changes += cta[k]->mbarrier_changes;
    p->times = changes == p->changes ? p->times + 1 : 0;
    p->changes = changes;
    *turn = p->times % WAIT_TURN == WAIT_TURN - 1;
    bool any = false;
    for (uint32_t k = 0; k < n && p->times < PATIENCE; k++)
        for (uint32_t i = 0; i < cta[k]->nwarps; i++)
            if (cta[k]->warp[i].state == EXEC_MBARRIER) {
                exec_mbarrier_resume(&cta[k]->warp[i], true);
                any = true;
            }
    return any;
}

/* Lets the block, or its cluster, run until it ends, or for about `turn` instructions. own:
 * NULL, or a watch of this block. */
static enum exec_result
run_cta(struct exec_grid *g, struct exec_cta *c, struct exec_step *s, uint64_t done,
        uint64_t turn, const struct exec_watch *own)
{
    uint64_t until = g->n_warp_inst + turn;
    g->at = c;
    uint64_t quantum = g->quantum ? g->quantum : QUANTUM_MOST;
    uint32_t n;
    struct exec_cta *const *cta = together(&c, &n);
    for (uint32_t k = 0; k < n; k++)
        quick_start(cta[k]);
    bool over = false;
    while (exec_unit_lives(c) && g->n_warp_inst < until && !over) {
        bool moved = false;
        if (g->n_warp_inst >= g->ask_at && !go_on(g, done))
            return EXEC_FAULT;
        for (uint32_t k = 0; k < n; k++) {
            enum exec_result r = turns(g, cta[k], s, quantum, own, &moved);
            if (r != EXEC_OK)
                return r;
        }
        if (!moved && !time_is_over(cta, n, &c->patience, &over))
            return stuck(g, cta, n);
    }
    return EXEC_OK;
}

struct exec_cta *
exec_unit_new(struct exec_grid *g, struct exec_log *log)
{
    struct exec_cta *c = exec_cta_new(g);
    const uint32_t n = exec_cluster_blocks(g);
    c->log = log;
    c->unit = n > 1 ? exec_cluster_new(n) : NULL;
    for (uint32_t i = 0; c->unit && i < n; i++) {
        c->unit->cta[i] = i ? exec_cta_new(g) : c;
        c->unit->cta[i]->log = log;
    }
    return c;
}

void
exec_unit_free(struct exec_cta *c)
{
    struct exec_cluster *k = c ? c->unit : NULL;
    for (uint32_t i = 1; k && i < k->n; i++)
        exec_cta_free(k->cta[i]);
    exec_cluster_free(k);
    exec_cta_free(c);
}

void
exec_unit_start(struct exec_cta *c, uint32_t id)
{
    struct exec_cluster *k = c->unit;
    exec_cta_start(c, k ? id * k->n : id);
    for (uint32_t i = 1; k && i < k->n; i++)
        exec_cta_start(k->cta[i], id * k->n + i);
    exec_cluster_start(k);
    c->patience = (struct exec_patience){0};
}

bool
exec_run_block(struct exec_grid *g, struct exec_cta *c, uint32_t id, struct exec_step *s,
               bool watching, struct race_watch **watch)
{
    exec_unit_start(c, id);
    bool watched = watching && races_wanted(g, id);
    if (watched)
        *watch = race_watch_block(*watch, c);
    const struct exec_watch own = {&race_watch_observer, *watch};
    enum exec_result r = run_cta(g, c, s, 0, TURN, watched ? &own : NULL);
    if (watched)
        race_watch_end(*watch, g);
    return r == EXEC_OK && !exec_unit_lives(c);
}

/* A grid under way in this thread. */
struct run {
    struct exec_grid *g;
    struct exec_cta **c; /* cap of them, the first `running` with blocks under way; of
                          * clusters their first blocks */
    uint32_t cap, want, running;
    uint64_t blocks, next, done; /* of the grid; not begun yet; ended. Or clusters */
    struct race_watch *watch;
    bool watching;
    struct exec_step step;
};

static void
start_next(struct run *r, uint32_t i)
{
    if (!r->c[i])
        r->c[i] = exec_unit_new(r->g, NULL);
    if (r->next % ASK_BLOCKS == 0)
        r->g->ask_at = 0; /* blocks that are long to start and have little to do */
    exec_unit_start(r->c[i], (uint32_t)r->next++);
    uint32_t n;
    struct exec_cta *const *cta = together(&r->c[i], &n);
    for (uint32_t k = 0; k < n; k++)
        observer_block_start(cta[k]);
}

static void
unit_ends(struct exec_cta *c)
{
    uint32_t n;
    struct exec_cta *const *cta = together(&c, &n);
    for (uint32_t k = 0; k < n; k++)
        observer_block_end(cta[k]);
}

/* Runs the blocks below `end`, in turns. There is one, and it ends in its first turn,
 * unless blocks wait for each other: then, each time all have had a turn and none has
 * ended, twice as many are begun, at most the grid's or MAX_RUNNING, and it goes on to
 * the grid's end. Blocks of a cooperative launch all begin at once. */
static enum exec_result
run_in_turns(struct run *r, uint64_t end)
{
    while (r->done < end) {
        while (r->running < r->want && r->next < end)
            start_next(r, r->running++);
        bool ended = false;
        for (uint32_t i = 0; i < r->running;) {
            struct exec_cta *c = r->c[i];
            if (r->watching && !race_watched(r->watch) && races_wanted(r->g, c->id))
                r->watch = race_watch_block(r->watch, c);
            bool watched = race_watched(r->watch) == c;
            const struct exec_watch own = {&race_watch_observer, r->watch};
            enum exec_result e =
                run_cta(r->g, c, &r->step, r->done, r->running > 1 ? TURN_TOGETHER : TURN,
                        watched ? &own : NULL);
            if (e != EXEC_OK)
                return e;
            if (exec_unit_lives(c)) {
                i++;
                continue;
            }
            if (watched)
                race_watch_end(r->watch, r->g);
            unit_ends(c);
            r->done++;
            ended = true;
            if (r->next < end) { /* its storage goes to the next block */
                start_next(r, i++);
                continue;
            }
            r->running--;
            memmove(&r->c[i], &r->c[i + 1], (r->running - i) * sizeof *r->c);
            r->c[r->running] = c;
        }
        if (!ended) {
            r->want = r->want < r->cap / 2 ? 2 * r->want : r->cap;
            end = r->blocks;
        }
    }
    return EXEC_OK;
}

/* Runs waves of blocks in several host threads, and in this one what cannot be. */
static enum exec_result
run_in_waves(struct run *r)
{
    struct exec_grid *g = r->g;
    enum exec_result e = run_in_turns(r, 1); /* how long is a block? */
    while (e == EXEC_OK && r->done < r->blocks && r->want == 1) {
        g->at = NULL;
        if (g->n_warp_inst >= g->ask_at && !go_on(g, r->done))
            return EXEC_FAULT;
        uint64_t n = exec_team_wave(g, r->done, r->blocks);
        r->done += n;
        r->next += n;
        if (!n)
            e = run_in_turns(r, exec_team_in_turn(g, r->done, r->blocks));
    }
    return e == EXEC_OK ? run_in_turns(r, r->blocks) : e;
}

enum exec_result
exec_run_grid(struct exec_grid *g)
{
    if (!exec_grid_check(g, g->diag))
        return EXEC_FAULT;
    uint64_t n = (uint64_t)g->grid.x * g->grid.y * g->grid.z / exec_cluster_blocks(g);
    struct run r = {.g = g,
                    .cap = n < MAX_RUNNING ? (uint32_t)n : MAX_RUNNING,
                    .blocks = n,
                    .watching = races_begin(g)};
    r.c = xcalloc(r.cap, sizeof *r.c);
    r.want = g->cooperative ? r.cap : 1;
    g->ask_at = 0;
    g->failure = ALLOT_OK;
    exec_check_watch(g);
    observer_launch_start(g);
    bool waves = !g->nwatch && exec_team_begin(g, r.watching);
    enum exec_result e = waves ? run_in_waves(&r) : run_in_turns(&r, n);
    if (waves)
        exec_team_end(g);
    race_watch_end(r.watch, g);
    race_watch_free(r.watch);
    races_end(g);
    for (uint32_t i = 0; i < r.running; i++) /* a fault came before their ends */
        unit_ends(r.c[i]);
    observer_launch_end(g);
    for (uint32_t i = 0; i < r.cap; i++)
        exec_unit_free(r.c[i]);
    free(r.c);
    return e;
}

/* What of clusters does not depend on the machine. */
static void
check_cluster(const struct exec_grid *g, const struct diag_loc *loc,
              struct diag_sink *diag)
{
    const struct ptx_func *f = g->prog->entry;
    const struct exec_dim c = g->cluster, n = g->grid;
    const uint32_t *own = f->cluster;
    const uint64_t blocks = (uint64_t)c.x * c.y * c.z;
    if (!c.x && !c.y && !c.z) {
        if (f->explicit_cluster)
            diag_hint(diag,
                      diag_add(diag, DIAG_ERROR, loc,
                               "kernel '%s' must be launched in clusters "
                               "(.explicitcluster), and neither the launch nor its head "
                               "says of what size",
                               f->name),
                      "add .reqnctapercluster to its head, or launch it with a size");
        return;
    }
    if (own[0] && (own[0] != c.x || own[1] != c.y || own[2] != c.z))
        diag_add(diag, DIAG_ERROR, loc,
                 "launch of kernel '%s': clusters of (%u,%u,%u) blocks, but "
                 ".reqnctapercluster demands (%u,%u,%u)",
                 f->name, c.x, c.y, c.z, own[0], own[1], own[2]);
    else if (!blocks || blocks > EXEC_CLUSTER_BLOCKS)
        diag_add(
            diag, DIAG_ERROR, loc,
            "launch of kernel '%s': clusters of (%u,%u,%u) blocks; a cluster has 1 to "
            "%d blocks",
            f->name, c.x, c.y, c.z, EXEC_CLUSTER_BLOCKS);
    else if (n.x % c.x || n.y % c.y || n.z % c.z)
        diag_add(diag, DIAG_ERROR, loc,
                 "launch of kernel '%s': the grid (%u,%u,%u) cannot be divided into "
                 "clusters of (%u,%u,%u) blocks",
                 f->name, n.x, n.y, n.z, c.x, c.y, c.z);
    else if (f->max_cluster && blocks > f->max_cluster)
        diag_add(diag, DIAG_ERROR, loc,
                 "launch of kernel '%s': clusters of %llu blocks, but .maxclusterrank "
                 "allows %u",
                 f->name, (unsigned long long)blocks, f->max_cluster);
    else if (blocks > 1 && exec_block_scratchpad(g) > DEV_RANK)
        diag_add(
            diag, DIAG_ERROR, loc,
            "launch of kernel '%s': %u bytes of scratchpad; in clusters a block has at "
            "most %u",
            f->name, exec_block_scratchpad(g), DEV_RANK);
}

bool
exec_grid_check(const struct exec_grid *g, struct diag_sink *diag)
{
    const struct exec_prog *p = g->prog;
    const struct ptx_func *f = p->entry;
    struct ptx_module *m = f->module;
    struct diag_loc loc = {m->file, m->text, f->line, f->col, 0};
    size_t before = diag->errors;
    const struct exec_dim b = g->block, n = g->grid;
    uint64_t threads = exec_block_threads(g);
    if (!n.x || !n.y || !n.z)
        diag_add(diag, DIAG_ERROR, &loc,
                 "launch of kernel '%s': the grid (%u,%u,%u) is empty", f->name, n.x, n.y,
                 n.z);
    else if (n.x > 0x7fffffffu || n.y > 65535 || n.z > 65535 ||
             (uint64_t)n.x * n.y * n.z > UINT32_MAX)
        diag_hint(diag,
                  diag_add(diag, DIAG_ERROR, &loc,
                           "launch of kernel '%s': the grid (%u,%u,%u) is larger than "
                           "(2147483647,65535,65535) or has more than 4294967295 blocks",
                           f->name, n.x, n.y, n.z),
                  "put most blocks into x, or let each do more");
    if (!threads)
        diag_add(diag, DIAG_ERROR, &loc,
                 "launch of kernel '%s': the block (%u,%u,%u) is empty", f->name, b.x,
                 b.y, b.z);
    else if (b.x > 1024 || b.y > 1024 || b.z > 64 || threads > 1024)
        diag_hint(
            diag,
            diag_add(diag, DIAG_ERROR, &loc,
                     "launch of kernel '%s': the block (%u,%u,%u) of %llu threads is "
                     "larger than (1024,1024,64) or has more than 1024 threads",
                     f->name, b.x, b.y, b.z, (unsigned long long)threads),
            "launch more and smaller blocks");
    uint64_t max = f->maxntid[0]
                       ? (uint64_t)f->maxntid[0] * (f->maxntid[1] ? f->maxntid[1] : 1) *
                             (f->maxntid[2] ? f->maxntid[2] : 1)
                       : 0;
    if (max && threads > max)
        diag_add(diag, DIAG_ERROR, &loc,
                 "launch of kernel '%s': %llu threads a block, but .maxntid allows %llu",
                 f->name, (unsigned long long)threads, (unsigned long long)max);
    const uint32_t *r = f->reqntid;
    if (r[0] && (b.x != r[0] || b.y != (r[1] ? r[1] : 1) || b.z != (r[2] ? r[2] : 1)))
        diag_add(
            diag, DIAG_ERROR, &loc,
            "launch of kernel '%s': block (%u,%u,%u), but .reqntid demands (%u,%u,%u)",
            f->name, b.x, b.y, b.z, r[0], r[1] ? r[1] : 1, r[2] ? r[2] : 1);
    check_cluster(g, &loc, diag);
    if (p->param_bytes && !g->params)
        diag_add(diag, DIAG_ERROR, &loc,
                 "launch of kernel '%s': its %zu parameters (%u bytes) are missing",
                 f->name, f->params.n, p->param_bytes);
    if (p->alloc_bytes &&
        (uint64_t)p->alloc_from + p->alloc_bytes > exec_block_scratchpad(g)) {
        const struct diag_loc at = exec_loc(p, p->alloc_pc);
        diag_hint(
            diag,
            diag_add(diag, DIAG_ERROR, &at,
                     "launch of kernel '%s': scratchalloc takes bytes %u to %u, but a "
                     "block has %u bytes of scratchpad",
                     f->name, p->alloc_from, p->alloc_from + p->alloc_bytes - 1,
                     exec_block_scratchpad(g)),
            "was it placed for a launch with more dynamic scratchpad?");
    }
    if ((uint64_t)p->dynamic_base + g->dynamic_shared > DEV_WINDOW)
        diag_add(
            diag, DIAG_ERROR, &loc,
            "launch of kernel '%s': %u bytes of scratchpad are more than its address "
            "window of 16 MiB holds",
            f->name, g->dynamic_shared);
    return diag->errors == before;
}

void
exec_explain_cta(const struct exec_cta *c, struct strbuf *out)
{
    const struct exec_prog *p = c->grid->prog;
    bool first = true;
    for (uint32_t b = 0; b <= EXEC_BARRIER_SCRATCH; b++) {
        const struct exec_barrier *bar = &c->ex->bar[b];
        if (!bar->used)
            continue;
        strbuf_addz(out, first ? "" : "; ");
        if (b == EXEC_BARRIER_SCRATCH)
            strbuf_printf(out, "scratch%s: ", c->holds ? "free" : "alloc");
        else
            strbuf_printf(out, "barrier %u: ", b);
        strbuf_printf(out, "%u of ", bar->arrived);
        first = false;
        if (bar->expected)
            strbuf_printf(out, "%u warps (%u threads) arrived", bar->expected,
                          bar->expected * LANES);
        else
            strbuf_printf(out, "%u live warps arrived", c->live_warps);
        uint32_t shown = 0;
        for (uint32_t i = 0; i < c->nwarps; i++)
            if (bar->waiting >> i & 1)
                strbuf_printf(out, "%s%u at line %u", shown++ ? ", " : ", waiting: warp ",
                              i, p->st[c->warp[i].barrier_pc].line);
    }
    uint32_t ready = 0, done = 0;
    first &= !exec_cluster_explain(c, first, out);
    for (uint32_t i = 0; i < c->nwarps; i++) {
        if (c->warp[i].state == EXEC_MBARRIER) {
            strbuf_printf(out, "%swarp %u ", first ? "" : "; ", i);
            exec_mbarrier_explain(&c->warp[i], out);
            first = false;
        }
        ready += c->warp[i].state == EXEC_READY;
        done += c->warp[i].state == EXEC_DONE;
    }
    if (ready)
        strbuf_printf(out, "%s%u warps can run", first ? "" : "; ", ready), first = false;
    if (done)
        strbuf_printf(out, "%s%u of %u warps have ended", first ? "" : "; ", done,
                      c->nwarps);
}
