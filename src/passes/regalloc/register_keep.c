/* register_keep.c: where a spilled register stays in a register between two uses.
 *
 * Spill code loads before each read and stores after each write. Between two uses of a
 * basic block the value may stay in the register made for the first, wherever there is
 * room: where no point between is over the limit. So a register that is spilled for a
 * part of the code is in memory there alone (live-range splitting). A store is left out
 * if nothing loads what it wrote; a value that is rematerialised is computed once for
 * the uses it is kept for.
 *
 * Room at a point: the limit less what is live and not spilled, less the registers made
 * for spilled ones there, less what is kept already. Uses are taken in the order of the
 * code, so pairs of uses that end first are kept first, which keeps the most. Calls are not
 * crossed: what is live there is the callee's loss. Pairs farther from each other than WINDOW are not
 * looked at, which makes it O(uses x WINDOW) at worst. */
#include "passes/regalloc/register_allocate_int.h"

#include "analysis/defuse.h"

enum { WINDOW = 128 };

/* What is looked at of the function. */
struct keep {
    struct ra *a;
    const struct cfg *g;
    const uint64_t *gone;
    struct ra_uses *uses;
    struct ra_remat *remat;
    uint32_t *room[2]; /* [after][instruction]: units in use, kept ones too */
    uint32_t inst;     /* of note_use */
};

/* -- uses -- */

static void
note_use(void *user, int32_t reg, bool write, bool partial)
{
    struct keep *k = user;
    struct ra_uses *u = k->uses;
    (void)partial;
    if (!bitset_has(k->gone, (size_t)reg))
        return;
    size_t at = u->use.n;
    while (at > u->first[k->inst] && u->use.v[at - 1].reg != reg)
        at--;
    struct ra_use *x;
    if (at == u->first[k->inst]) {
        x = vec_push(&u->use);
        *x = (struct ra_use){.reg = reg, .next = RA_NONE};
    } else {
        x = &u->use.v[at - 1];
    }
    x->written |= write;
    x->read |= !write;
}

static void
find_uses(struct keep *k, const int64_t *slot)
{
    const struct ptx_func *f = k->a->f;
    struct ra_uses *u = k->uses;
    for (uint32_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        u->first[i] = (uint32_t)u->use.n;
        k->inst = i;
        defuse_each(in, note_use, k);
        for (size_t n = u->first[i]; n < u->use.n; n++)
            if (slot[u->use.v[n].reg] < 0 && u->use.v[n].written) {
                u->use.v[u->first[i]] = u->use.v[n]; /* what it reads is not read */
                u->use.n = u->first[i] + 1;
            }
        for (size_t n = u->first[i]; n < u->use.n; n++) {
            struct ra_use *x = &u->use.v[n];
            /* a guarded write adds to what was there */
            x->read |= ptx_keeps_old(in) && x->written;
            x->dropped = slot[x->reg] < 0 && x->written;
            x->store = slot[x->reg] >= 0 && x->written;
            x->load = !x->dropped && x->read;
        }
    }
    u->first[f->body.n] = (uint32_t)u->use.n;
}

static void
note_remat(void *user, uint32_t inst, bool after, const struct live_set *set,
           uint32_t registers, uint32_t predicates)
{
    struct keep *k = user;
    const struct ra_uses *u = k->uses;
    (void)predicates;
    for (uint32_t n = u->first[inst]; !after && n < u->first[inst + 1]; n++) {
        struct ra_use *x = &u->use.v[n];
        if (x->load)
            x->remat =
                (uint8_t)ra_remat_here(k->remat, set, registers, x->reg, inst, x->chain);
    }
}

/* -- room -- */

static void
find_room(struct keep *k)
{
    const struct ra_uses *u = k->uses;
    for (size_t i = 0; i < k->a->f->body.n; i++)
        for (int after = 0; after < 2; after++) {
            k->room[after][i] = k->remat->units[after][i];
            for (uint32_t n = u->first[i]; n < u->first[i + 1]; n++) {
                const struct ra_use *x = &u->use.v[n];
                if (!x->dropped && (after ? x->written : x->read))
                    k->room[after][i] += ra_units(k->a->f, x->reg);
            }
        }
}

/* Is there room for that many units from after instruction i to before instruction j? Then
 * they are taken. */
static bool
take(struct keep *k, uint32_t i, uint32_t j, unsigned units, bool written, uint32_t limit)
{
    uint32_t first = written ? 0 : units; /* else it is counted there, as before j */
    if (k->room[true][i] + first > limit || k->room[false][j] > limit)
        return false;
    for (uint32_t p = i + 1; p < j; p++)
        if (k->room[false][p] + units > limit || k->room[true][p] + units > limit ||
            k->a->f->body.v[p].op == PTX_OP_CALL)
            return false;
    k->room[true][i] += first;
    for (uint32_t p = i + 1; p < j; p++) {
        k->room[false][p] += units;
        k->room[true][p] += units;
    }
    return true;
}

/* -- what is kept, and what need not be stored -- */

static void
keep_block(struct keep *k, uint32_t first, uint32_t end, int32_t *last, uint32_t *at,
           uint32_t limit)
{
    struct ra_uses *u = k->uses;
    for (uint32_t j = first; j < end; j++)
        for (uint32_t n = u->first[j]; n < u->first[j + 1]; n++) {
            struct ra_use *x = &u->use.v[n];
            int32_t before = last[x->reg];
            if (before >= 0 && at[x->reg] >= first && at[x->reg] < j) {
                struct ra_use *w = &u->use.v[before];
                w->next = (int32_t)n;
                if (!w->dropped && x->load && j - at[x->reg] <= WINDOW &&
                    k->a->f->body.v[at[x->reg]].op != PTX_OP_CALL &&
                    take(k, at[x->reg], j, ra_units(k->a->f, x->reg), w->written,
                         limit)) {
                    w->kept = true;
                    x->load = false;
                }
            }
            last[x->reg] = (int32_t)n;
            at[x->reg] = j;
        }
}

/* Backward: whether memory must hold the value after each use. */
static void
drop_stores(struct keep *k, const struct live *l, uint32_t b, uint32_t first,
            uint32_t end, bool *needed)
{
    struct ra_uses *u = k->uses;
    for (uint32_t n = u->first[end]; n-- > u->first[first];) {
        struct ra_use *x = &u->use.v[n];
        if (x->next < 0)
            needed[x->reg] = live_at_end(l, b, (uint32_t)x->reg);
        bool later = needed[x->reg];
        if (x->written)
            x->store &= later;
        needed[x->reg] = (x->load && !x->remat) || (later && !(x->written && x->store));
    }
}

void
ra_keep(struct ra *a, struct ra_remat *x, const int64_t *slot, uint32_t limit,
        struct ra_uses *u, struct arena *mem)
{
    const struct ptx_func *f = a->f;
    const struct live *l = x->l;
    struct keep k = {.a = a, .g = l->cfg, .gone = x->gone, .uses = u, .remat = x};
    u->first = ARENA_ARRAY(mem, uint32_t, f->body.n + 1);
    find_uses(&k, slot);
    live_each_point(l, note_remat, &k);
    if (a->load_always)
        return;
    k.room[0] = ARENA_ARRAY(mem, uint32_t, f->body.n + 1);
    k.room[1] = ARENA_ARRAY(mem, uint32_t, f->body.n + 1);
    find_room(&k);
    bool *needed = ARENA_ARRAY(mem, bool, f->regs.n + 1);
    int32_t *last = ARENA_ARRAY(mem, int32_t, f->regs.n + 1);
    uint32_t *at = ARENA_ARRAY(mem, uint32_t, f->regs.n + 1);
    for (size_t r = 0; r < f->regs.n; r++)
        last[r] = RA_NONE;
    for (uint32_t b = 0; b < k.g->n; b++) {
        const struct cfg_block *blk = &k.g->block[b];
        keep_block(&k, blk->first, blk->end, last, at, limit);
        drop_stores(&k, l, b, blk->first, blk->end, needed);
    }
}
