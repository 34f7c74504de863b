/* exec_races.c: finds two warps of a block that touch a word of shared or global memory
 * without a barrier between them, one of them in a store. Functional mode runs warps in
 * turns, a card in an order of its own, so such a program may end differently there.
 *
 * An observer (observer.h) of single blocks; those that are not watched cost nothing.
 * Each word has a record in a direct-mapped table: who wrote it last and two warps that
 * have read it since the last barrier of the block. A barrier makes all records stale
 * (the epoch). Warp A's records are stale too once A has executed something that orders
 * memory (exec_static.orders): it may have told another warp by a flag. So partial
 * barriers, flags and collisions in the table hide races, and nothing is reported that is
 * none.
 *
 *     warp 0: st.shared [x]     record of x: written by 0
 *     warp 1: ld.shared [x]     written by 0, read by 1: a race
 *     bar.sync 0 by all         epoch + 1: the record is stale
 *
 * A store that leaves the word as it was does not count: a flag that several warps set to
 * 1 is the same whatever their order.
 *
 * Watching costs about ten times the execution of a load or store, so unless all blocks
 * are watched it is a sample: of each launch the first block and every STRIDE-th behind
 * it, of each block the first PREFIX instructions, and of a kernel's launches as many as
 * keep the share of its instructions below 1 / STRIDE. Which blocks these are depends
 * on the launches alone. */
#include "exec/observer.h"
#include "exec/ops/exec_mem.h"

#include <stdlib.h>

enum { TABLE = 1 << 14, STRIDE = 256, PREFIX = 4096, MOST_WARPS = 64 };

struct touch {
    uint8_t warp, bytes; /* bytes: of the word, a bit each; 0: no such access */
    uint32_t order;      /* of the warp when it was made */
    uint32_t pc;
};

struct word {
    uint64_t key;
    uint32_t epoch, value; /* what it holds since the last access */
    struct touch write, read[2];
};

struct race_watch {
    const struct exec_cta *cta;
    uint64_t watched, left; /* instructions of the block */
    uint32_t epoch, order[MOST_WARPS];
    struct exec_race race;
    struct word *word;
};

bool
races_begin(const struct exec_grid *g)
{
    const struct exec_races *r = g->races;
    return r && !r->found && (r->all || r->watched * STRIDE <= r->executed);
}

bool
races_wanted(const struct exec_grid *g, uint32_t block)
{
    return !g->race.found && (g->races->all || block % STRIDE == 0);
}

struct race_watch *
race_watch_block(struct race_watch *r, const struct exec_cta *c)
{
    if (!r) {
        r = xcalloc(1, sizeof *r);
        r->word = xcalloc(TABLE, sizeof *r->word);
    }
    r->cta = c;
    r->watched = 0;
    r->left = c->grid->races->all ? UINT64_MAX : PREFIX;
    r->epoch++;
    return r;
}

void
race_watch_free(struct race_watch *r)
{
    if (!r)
        return;
    free(r->word);
    free(r);
}

const struct exec_cta *
race_watched(const struct race_watch *r)
{
    return r ? r->cta : NULL;
}

void
race_watch_end(struct race_watch *r, struct exec_grid *g)
{
    if (!r || !r->cta)
        return;
    g->races_watched += r->watched;
    if (r->race.found && (!g->race.found || r->race.block < g->race.block))
        g->race = r->race;
    race_watch_drop(r);
}

void
race_watch_drop(struct race_watch *r)
{
    if (!r)
        return;
    r->cta = NULL;
    r->race.found = false;
}

void
races_merge(struct exec_grid *g, const struct exec_grid *part)
{
    g->races_watched += part->races_watched;
    if (part->race.found && (!g->race.found || part->race.block < g->race.block))
        g->race = part->race;
}

void
races_end(struct exec_grid *g)
{
    if (!g->races)
        return;
    g->races->executed += g->n_warp_inst;
    g->races->watched += g->races_watched;
}

static struct word *
word_at(const struct race_watch *r, uint64_t key)
{
    struct word *x = &r->word[(key * 0x9E3779B97F4A7C15ull) >> 50];
    _Static_assert(TABLE == 1 << (64 - 50), "the table's size");
    if (x->key != key || x->epoch != r->epoch)
        *x = (struct word){.key = key, .epoch = r->epoch};
    return x;
}

/* Does this earlier access still count, and is it another warp's on one of the bytes? */
static bool
races(const struct race_watch *r, const struct touch *t, unsigned warp, unsigned bytes)
{
    return t->bytes & bytes && t->warp != warp && t->order == r->order[t->warp];
}

static void
found(struct race_watch *r, const struct exec_warp *w, const struct touch *t, bool wrote,
      uint32_t pc, bool store, unsigned space, uint64_t addr)
{
    if (r->race.found)
        return;
    r->race = (struct exec_race){.found = true,
                                 .block = w->cta->id,
                                 .space = (uint8_t)space,
                                 .addr = addr,
                                 .pc = {t->pc, pc},
                                 .warp = {t->warp, w->index},
                                 .store = {wrote, store}};
    r->left = 0;
}

/* One word of a lane's access; bytes: which of it. */
static void
touch(struct race_watch *r, const struct exec_warp *w, uint32_t pc, bool store,
      unsigned space, uint64_t addr, unsigned bytes)
{
    struct word *x = word_at(r, addr << 1 | (space == PTX_SPACE_SHARED));
    struct touch t = {(uint8_t)w->index, (uint8_t)bytes, r->order[w->index], pc};
    uint32_t value;
    memcpy(&value, host_base(w, space) + addr, sizeof value);
    bool known = x->write.bytes || x->read[0].bytes, same = known && value == x->value;
    bool after_write = races(r, &x->write, w->index, bytes);
    x->value = value;
    if (!store) {
        if (after_write)
            found(r, w, &x->write, true, pc, false, space, addr);
        x->read[x->read[0].bytes && races(r, &x->read[0], w->index, 15)] = t;
        return;
    }
    if (same && after_write)
        return; /* the record stays the other warp's */
    for (int i = 0; i < 2 && !same; i++)
        if (races(r, &x->read[i], w->index, bytes))
            found(r, w, &x->read[i], false, pc, true, space, addr);
    if (!same && after_write)
        found(r, w, &x->write, true, pc, true, space, addr);
    if (!same)
        x->write = t;
}

static bool
wants(void *user, uint64_t unseen)
{
    struct race_watch *r = user;
    r->watched += unseen;
    return r->left;
}

/* Warps have met, or the block has no other. */
static void
barrier(void *user, struct exec_warp *w, const struct exec_step *s)
{
    struct race_watch *r = user;
    if (s->woken || w->state != EXEC_BARRIER)
        r->epoch++;
}

static void
step(void *user, struct exec_warp *w, const struct exec_step *s)
{
    struct race_watch *r = user;
    const struct exec_prog *p = w->cta->grid->prog;
    const struct exec_static *st = &p->st[s->pc];
    const struct exec_access *x = &s->access;
    r->watched++;
    if (!r->left || !--r->left) {
        r->left = 0;
        return;
    }
    if (!s->mask)
        return;
    if (st->orders) {
        r->order[w->index]++;
        return;
    }
    if (!s->has_access || x->atomic || x->async ||
        (x->space != PTX_SPACE_GLOBAL && x->space != PTX_SPACE_SHARED &&
         x->space != PTX_SPACE_NONE))
        return;
    bool guard = dev_guard(w->cta->grid->mem) != 0;
    FOR_BITS(lane, x->mask)
    {
        unsigned space = x->space ? x->space : x->lane_space[lane];
        uint64_t a = x->addr[lane], end = a + x->bytes;
        if ((space != PTX_SPACE_GLOBAL && space != PTX_SPACE_SHARED) ||
            (guard && !mem_lane_ok(w, space, a, 1)))
            continue;
        for (uint64_t word = a & ~(uint64_t)3; word < end; word += 4) {
            unsigned bytes = 15;
            if (word < a)
                bytes &= 15u << (a - word);
            if (end - word < 4)
                bytes &= 15u >> (4 - (end - word));
            touch(r, w, s->pc, x->store, space, word, bytes);
        }
    }
}

const struct exec_observer race_watch_observer = {
    .barrier = barrier, .step = step, .wants = wants};

void
exec_race_warning(struct exec_grid *g,
                  bool (*tell)(void *user, const char *kernel,
                               const struct diag_loc *loc),
                  void *user)
{
    const struct exec_race *r = &g->race;
    const struct exec_prog *p = g->prog;
    if (!r->found)
        return;
    g->races->found = true;
    struct diag_loc first = exec_loc(p, r->pc[0]), loc = exec_loc(p, r->pc[1]);
    if (!tell(user, p->entry->name, &loc))
        return;
    struct strbuf where = {0};
    if (r->space == PTX_SPACE_SHARED) {
        const struct prog_priv *pp = p->priv;
        strbuf_printf(&where, "shared memory, byte %llu", (unsigned long long)r->addr);
        for (size_t i = 0; i < pp->shared_vars.n; i++) {
            const struct scratch_var *v = &pp->shared_vars.v[i];
            if (r->addr >= v->at && (v->var->dynamic || r->addr - v->at < v->var->size)) {
                strbuf_printf(&where, " (%s),", v->var->name);
                break;
            }
        }
    } else {
        strbuf_printf(&where, "global memory at 0x%llx", (unsigned long long)r->addr);
    }
    const struct exec_dim at = exec_block_place(g, r->block);
    struct diag *d = diag_add(
        g->diag, DIAG_WARNING, &loc,
        "kernel '%s', block (%u,%u,%u): warp %u %s and warp %u %s %s without a barrier "
        "between them",
        p->entry->name, at.x, at.y, at.z, r->warp[0], r->store[0] ? "writes" : "reads",
        r->warp[1], r->store[1] ? "writes" : "reads", where.s);
    diag_hint(g->diag, d,
              "which comes first differs from card to card, and here with "
              "functional.quantum; put a barrier between them, or use atomics");
    strbuf_free(&where);
    exec_note_source(p, r->pc[1], g->diag);
    if (r->pc[0] == r->pc[1])
        return;
    diag_add(g->diag, DIAG_NOTE, &first, "the access of warp %u", r->warp[0]);
    exec_note_source(p, r->pc[0], g->diag);
}
