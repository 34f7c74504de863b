/* check_race.c: two threads touch a word of shared or global memory, at least one of them
 * in a store, and nothing orders the two accesses.
 *
 * Order is kept in vector clocks (Mattern 1989; FastTrack, Flanagan and Freund 2009). A
 * warp has an epoch, which a barrier ends. clock[w][v] is the last epoch of warp v that
 * lies before what warp w does now:
 *
 *     warp 0, epoch 1: st.shared [x]      x: written by warp 0 in its epoch 1
 *     warp 0, 1:       bar.sync 0         clock[1][0] = 1, and epochs 2 begin
 *     warp 1, epoch 2: ld.shared [x]      1 <= clock[1][0]: in order
 *
 * A barrier orders those that took part, by its number: bar.arrive gives without taking.
 * Lanes of a warp have such clocks among themselves on machines from Volta on
 * (lane[w][i][j]; bar.warp.sync and other collective instructions order them); before,
 * lanes execute together and are always in order. Two lanes that one instruction lets
 * store different values to one place are a race on every machine.
 *
 * A fence, a release, an mbarrier operation or a volatile access may tell another warp or
 * block by a flag, which nothing here follows: all that the warp knows of counts as in
 * order with everybody from then on (`told`). So some races are missed and nothing is
 * reported that such a flag orders. Atomics alone order nothing (PTX ISA 8: relaxed).
 *
 * Blocks of a launch have no order, and are compared by `told` alone.
 *
 * No races: stores that leave the word as it was (several threads set a flag to 1); an
 * atomic beside a load. Each word remembers its last store and two loads. */
#include "exec/checks/checks.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 4096,
    MOST_PAGES = 1 << 13, /* of global memory in a launch: 32 MB, 400 MB of records */
};
#define MOST_WARPS_OF_GRID (UINT64_C(1) << 26)

struct touch {
    uint32_t block, epoch, pc;
    uint16_t thread;
    uint8_t bytes; /* of the word, a bit each; 0: none */
    uint8_t ever;  /* of a word's store: bytes that the launch or block has stored */
};

struct cell {
    struct touch write, read[2];
};

struct race_shadow {
    struct cell **page; /* by number; NULL: not touched */
    uint64_t start, npages, used;
    uint32_t *told; /* of each warp of the grid: epochs up to it; NULL: too many warps */
    bool full;
};

struct race_block {
    uint32_t nwarps;
    struct cell *shared; /* by word */
    uint32_t epoch[CHECK_WARPS], told[CHECK_WARPS];
    uint32_t clock[CHECK_WARPS][CHECK_WARPS];
    uint32_t barrier[EXEC_BARRIERS][CHECK_WARPS]; /* what those that arrived know */
    uint32_t together[CHECK_WARPS];               /* all lanes know epochs up to it */
    uint32_t (*lane)[LANES][LANES];               /* NULL: in lock step */
};

enum { WRITE_WRITE, READ_WRITE, WRITE_READ, ONE_INSTRUCTION, ATOMIC };

/* Instructions that synchronise memory, but plain atomics. */
static void
find_tells(struct exec_checks *k)
{
    const struct exec_prog *p = k->g->prog;
    free(k->tells);
    k->tells = xcalloc(p->ninst + 1, 1);
    for (uint32_t pc = 0; pc < p->ninst; pc++) {
        const struct ptx_inst *in =
            p->st[pc].orders && ptx_ops[p->st[pc].op].flags & PTX_ATOMIC
                ? exec_ptx_inst(p, pc)
                : NULL;
        k->tells[pc] = p->st[pc].orders &&
                       (!in || decode_has(in, "release") || decode_has(in, "acq_rel"));
    }
}

static void
launch_start(void *user, struct exec_grid *g)
{
    struct exec_checks *k = user;
    find_tells(k);
    struct race_shadow *r = k->race = xcalloc(1, sizeof *r);
    uint64_t warps = (uint64_t)g->grid.x * g->grid.y * g->grid.z * g->warps_per_cta;
    r->npages = dev_reserved(g->mem, &r->start) / PAGE + 1;
    r->page = xcalloc(r->npages, sizeof *r->page);
    if (warps <= MOST_WARPS_OF_GRID)
        r->told = xcalloc(warps, sizeof *r->told);
}

static void
launch_end(void *user, struct exec_grid *g)
{
    struct exec_checks *k = user;
    struct race_shadow *r = k->race;
    if (r->full || !r->told) {
        struct diag *d = diag_add(
            g->diag, DIAG_NOTE, NULL,
            r->full ? "kernel '%s' touches more than %d MB of global memory: not all of "
                      "it was checked for races"
                    : "kernel '%s' has too many warps: races between blocks were not "
                      "looked for",
            g->prog->entry->name, MOST_PAGES / 256);
        diag_hint(g->diag, d, "a smaller input usually has the same races");
    }
    for (uint64_t i = 0; r->used && i < r->npages; i++)
        if (r->page[i]) {
            free(r->page[i]);
            r->used--;
        }
    free(r->page);
    free(r->told);
    free(r);
    k->race = NULL;
}

static void
block_start(void *user, struct exec_cta *c)
{
    const struct exec_checks *k = user;
    struct race_block *b = xcalloc(1, sizeof *b);
    b->nwarps = c->nwarps;
    b->shared = xcalloc(c->shared_bytes / 4 + 1, sizeof *b->shared);
    for (uint32_t w = 0; w < b->nwarps; w++)
        b->epoch[w] = 1;
    if (!k->lockstep)
        b->lane = xcalloc(b->nwarps, sizeof *b->lane);
    ((struct block_checks *)c->priv)->race = b;
}

static struct race_block *
race_block(const struct exec_cta *c)
{
    return ((const struct block_checks *)c->priv)->race;
}

static void
block_end(void *user, struct exec_cta *c)
{
    struct race_block *b = race_block(c);
    (void)user;
    free(b->shared);
    free(b->lane);
    free(b);
}

/* What lies in memory where the instruction is about to store. */
static enum exec_result
before(void *user, struct exec_warp *w)
{
    struct exec_checks *k = user;
    struct exec_access *x = &k->access;
    checks_note_masks(k, w);
    k->known = exec_peek_access(w, x) && x->mask && (x->store || x->atomic) &&
               !x->async && x->bytes <= 4 * CHECK_WORDS - 4;
    if (!k->known)
        return EXEC_OK;
    FOR_BITS(lane, x->mask)
    {
        unsigned space = x->space ? x->space : x->lane_space[lane];
        uint64_t a = x->addr[lane] & ~(uint64_t)3, end = x->addr[lane] + x->bytes;
        if ((space != PTX_SPACE_GLOBAL && space != PTX_SPACE_SHARED) ||
            !mem_lane_ok(w, space, x->addr[lane], 1))
            continue;
        for (unsigned i = 0; a < end; a += 4, i++)
            memcpy(&k->old[lane][i], host_base(w, space) + a, 4);
    }
    return EXEC_OK;
}

/* -- order -- */

static void
join(uint32_t *to, const uint32_t *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* Lanes of a warp meet: those of `mask`. */
static void
lanes_meet(struct race_block *b, const struct exec_warp *w, uint32_t mask)
{
    uint32_t i = w->index, now = b->epoch[i]++, all[LANES] = {0};
    if (!b->lane)
        return;
    FOR_BITS(l, mask)
    {
        join(all, b->lane[i][l], LANES);
        all[l] = now;
    }
    FOR_BITS(l, mask)
    memcpy(b->lane[i][l], all, sizeof all);
    if (mask == FULL_MASK)
        b->together[i] = now;
}

/* Lanes that give the same member mask meet, at an instruction with masks. */
static void
groups_meet(const struct exec_checks *k, struct race_block *b, const struct exec_warp *w,
            uint32_t mask)
{
    struct members g = {
        .mask_row = k->masks ? k->mask : NULL, .executing = mask, .rest = mask};
    while (members_next(&g))
        lanes_meet(b, w, g.lanes);
}

/* The warp may have told anybody of all that it knows. */
static void
tells(const struct exec_checks *k, struct race_block *b, const struct exec_warp *w)
{
    uint32_t i = w->index, *all = k->race->told;
    b->clock[i][i] = b->epoch[i]++;
    join(b->told, b->clock[i], b->nwarps);
    if (all)
        join(all + (uint64_t)w->cta->id * b->nwarps, b->told, b->nwarps);
}

static void
arrives(struct race_block *b, const struct exec_warp *w, const struct exec_step *s)
{
    const struct exec_inst *in = &w->cta->grid->prog->inst[s->pc];
    uint32_t i = w->index, id = w->barrier;
    if (in->sub == BAR_ARRIVE)
        id = ((const uint32_t *)row(w, in->s[0]))[bit_lowest(s->mask)] % EXEC_BARRIERS;
    b->clock[i][i] = b->epoch[i];
    join(b->barrier[id], b->clock[i], b->nwarps);
    lanes_meet(b, w, s->mask);
    if (!w->cta->ex->bar[id].used && !s->woken) /* over, and nobody waited */
        memset(b->barrier[id], 0, sizeof b->barrier[id]);
}

/* Warps of the block go on behind a barrier. */
static void
released(struct race_block *b, const struct exec_cta *c, uint64_t woken)
{
    uint32_t over = 0;
    FOR_BITS(i, woken)
    {
        unsigned id = c->warp[i].barrier;
        join(b->clock[i], b->barrier[id], b->nwarps);
        over |= 1u << id;
    }
    FOR_BITS(id, over)
    memset(b->barrier[id], 0, sizeof b->barrier[id]);
}

/* Is that access in order with one that this lane makes now? */
static bool
in_order(const struct exec_checks *k, const struct race_block *b,
         const struct exec_warp *w, unsigned lane, const struct touch *t)
{
    uint32_t from = t->thread / LANES, i = w->index;
    if (t->block != w->cta->id) {
        const uint32_t *told = k->race->told;
        return !told || t->epoch <= told[(uint64_t)t->block * b->nwarps + from];
    }
    if (t->epoch <= b->told[from])
        return true;
    if (from != i)
        return t->epoch <= b->clock[i][from];
    return !b->lane || t->thread % LANES == lane || t->epoch <= b->together[i] ||
           t->epoch <= b->lane[i][lane][t->thread % LANES];
}

/* -- accesses -- */

static struct cell *
cell_at(struct exec_checks *k, struct race_block *b, unsigned space, uint64_t addr)
{
    struct race_shadow *r = k->race;
    if (space == PTX_SPACE_SHARED)
        return &b->shared[addr / 4];
    uint64_t n = (addr - r->start) / PAGE;
    if (addr < r->start || n >= r->npages)
        return NULL; /* the host's */
    if (!r->page[n]) {
        if (r->used == MOST_PAGES) {
            r->full = true;
            return NULL;
        }
        r->used++;
        r->page[n] = xcalloc(PAGE / 4, sizeof **r->page);
    }
    return &r->page[n][addr % PAGE / 4];
}

static void
found(struct exec_checks *k, const struct exec_warp *w, unsigned lane, uint32_t pc,
      unsigned kind, const struct touch *t, unsigned space, uint64_t addr)
{
    struct finding *f = checks_found(k, EXEC_CHECK_RACE, kind, w, lane, pc);
    f->other_pc = t->pc;
    f->other = (struct check_who){t->block, t->thread};
    f->other_stores = kind == WRITE_READ || kind == ATOMIC;
    f->group = (uint8_t)(kind == WRITE_READ ? READ_WRITE : kind);
    f->across_blocks = t->block != w->cta->id;
    f->wide = t->thread / LANES != w->index;
    f->space = (uint8_t)space;
    f->addr = addr;
    checks_settle(k);
}

struct access {
    const struct exec_warp *w;
    uint32_t pc;
    unsigned lane, space;
    bool store, atomic;
};

/* One word of a lane's access. same: a store left it as it was. */
static void
touch_word(struct exec_checks *k, struct race_block *b, const struct access *a,
           uint64_t addr, unsigned bytes, bool same)
{
    const struct exec_warp *w = a->w;
    struct cell *x = cell_at(k, b, a->space, addr);
    if (!x)
        return;
    struct touch t = {w->cta->id,     b->epoch[w->index],
                      a->pc,          (uint16_t)(w->index * LANES + a->lane),
                      (uint8_t)bytes, 0};
    const struct touch *y = &x->write;
    bool wrote = y->bytes & bytes && !in_order(k, b, w, a->lane, y) &&
                 !(a->store && y->pc == a->pc && y->block == t.block &&
                   y->thread / LANES == w->index && y->epoch == t.epoch);
    if (a->atomic) {
        if (wrote)
            found(k, w, a->lane, a->pc, ATOMIC, y, a->space, addr);
        return;
    }
    if (!a->store) {
        if (wrote)
            found(k, w, a->lane, a->pc, WRITE_READ, y, a->space, addr);
        bool keep = x->read[0].bytes && x->read[0].thread != t.thread &&
                    !in_order(k, b, w, a->lane, &x->read[0]);
        x->read[keep] = t;
        return;
    }
    if (same && (a->space == PTX_SPACE_GLOBAL || (x->write.ever & bytes) == bytes))
        return;
    if (wrote)
        found(k, w, a->lane, a->pc, WRITE_WRITE, y, a->space, addr);
    for (int i = 0; i < 2; i++) {
        if (x->read[i].bytes & bytes && !in_order(k, b, w, a->lane, &x->read[i]))
            found(k, w, a->lane, a->pc, READ_WRITE, &x->read[i], a->space, addr);
        x->read[i].bytes &= (uint8_t)~bytes;
    }
    t.ever = (uint8_t)(x->write.ever | bytes);
    x->write = t;
}

/* The lane's store is not what memory holds now: another lane's is. */
static void
one_instruction(struct exec_checks *k, const struct exec_warp *w,
                const struct exec_step *s, unsigned lane, unsigned space)
{
    const struct exec_inst *in = &w->cta->grid->prog->inst[s->pc];
    const struct exec_access *x = &s->access;
    for (unsigned e = 0; e < in->nvec; e++) {
        uint64_t at = x->addr[lane] + (uint64_t)e * in->esize,
                 v = mem_data_lane(w, in, e, lane);
        if (!memcmp(host_base(w, space) + at, &v, in->esize))
            continue;
        FOR_BITS(o, x->mask)
        if ((unsigned)o != lane && x->addr[o] < at + in->esize &&
            at < x->addr[o] + x->bytes) {
            struct touch t = {
                w->cta->id, 0, s->pc, (uint16_t)(w->index * LANES + (unsigned)o), 15, 0};
            found(k, w, lane, s->pc, ONE_INSTRUCTION, &t, space, at);
            return;
        }
        return;
    }
}

static void
accesses(struct exec_checks *k, struct race_block *b, const struct exec_warp *w,
         const struct exec_step *s)
{
    const struct exec_access *x = &s->access;
    const struct exec_inst *in = &w->cta->grid->prog->inst[s->pc];
    struct access a = {.w = w, .pc = s->pc, .store = x->store, .atomic = x->atomic};
    bool plain = x->store && !x->atomic && !(in->flags & (IF_TILE | IF_COPY)) &&
                 in->kind == MEM_STORE && in->esize <= 8;
    FOR_BITS(lane, x->mask)
    {
        a.lane = (unsigned)lane;
        a.space = x->space ? x->space : x->lane_space[lane];
        uint64_t at = x->addr[lane], end = at + x->bytes;
        if ((a.space != PTX_SPACE_GLOBAL && a.space != PTX_SPACE_SHARED) ||
            !mem_lane_ok(w, a.space, at, 1))
            continue;
        if (plain)
            one_instruction(k, w, s, a.lane, a.space);
        unsigned i = 0;
        for (uint64_t word = at & ~(uint64_t)3; word < end; word += 4, i++) {
            unsigned bytes = 15;
            if (word < at)
                bytes &= 15u << (at - word);
            if (end - word < 4)
                bytes &= 15u >> (4 - (end - word));
            bool same = k->known && x->store && i < CHECK_WORDS &&
                        !memcmp(host_base(w, a.space) + word, &k->old[lane][i], 4);
            touch_word(k, b, &a, word, bytes, same);
        }
    }
    if (!x->async)
        return;
    a.store = true;
    a.space = PTX_SPACE_SHARED;
    FOR_BITS(lane, (uint32_t)x->list[LANES])
    for (unsigned i = 0; i < x->bytes; i += 4) {
        a.lane = (unsigned)lane;
        touch_word(k, b, &a, x->list[lane] + i, 15, false);
    }
}

static void
barrier(void *user, struct exec_warp *w, const struct exec_step *s)
{
    struct race_block *b = race_block(w->cta);
    (void)user;
    if (w->cta->grid->prog->st[s->pc].is_barrier && s->mask)
        arrives(b, w, s);
    if (s->woken)
        released(b, w->cta, s->woken);
}

static void
step(void *user, struct exec_warp *w, const struct exec_step *s)
{
    struct exec_checks *k = user;
    struct race_block *b = race_block(w->cta);
    const struct exec_static *st = &w->cta->grid->prog->st[s->pc];
    bool collective =
        ptx_ops[st->op].flags & PTX_CROSSLANE && st->op != PTX_OP_ACTIVEMASK;
    bool copies = s->access.async || (st->copy && st->copy != COPY_ARRIVE);
    if (collective && s->mask)
        groups_meet(k, b, w, s->mask);
    if (s->has_access && s->mask &&
        (!st->orders || s->access.atomic || (s->access.async && copies)))
        accesses(k, b, w, s);
    if (collective && s->mask && s->has_access)
        lanes_meet(b, w, s->mask);
    if (k->tells[s->pc] && s->mask && !copies)
        tells(k, b, w);
}

const struct exec_observer check_race = {.launch_start = launch_start,
                                         .launch_end = launch_end,
                                         .block_start = block_start,
                                         .block_end = block_end,
                                         .before = before,
                                         .barrier = barrier,
                                         .step = step};

/* -- telling -- */

void
check_race_tell(const struct exec_checks *k, const struct finding *f)
{
    static const char *const did[] = {[WRITE_WRITE] = "writes",
                                      [READ_WRITE] = "writes",
                                      [WRITE_READ] = "reads",
                                      [ONE_INSTRUCTION] = "writes",
                                      [ATOMIC] = "changes by an atomic"};
    const struct exec_prog *p = k->g->prog;
    struct diag_loc loc = exec_loc(p, f->pc), other = exec_loc(p, f->other_pc);
    struct strbuf b = {0};
    checks_print_who(k->g, &f->who, &b);
    strbuf_printf(&b, " %s ", did[f->kind]);
    exec_print_place(k->g, f->space, f->addr, &b);
    strbuf_printf(&b, ", which ");
    checks_print_who(k->g, &f->other, &b);
    strbuf_addz(&b, f->kind == READ_WRITE        ? " has read"
                    : f->kind == ONE_INSTRUCTION ? " writes"
                                                 : " has written");
    if (f->kind == ONE_INSTRUCTION)
        strbuf_addz(&b, " with another value by the same instruction");
    else if (f->across_blocks)
        strbuf_addz(&b, "; blocks of a launch have no order");
    else
        strbuf_addz(&b, ", with no barrier between them");
    struct diag *d =
        diag_add(k->g->diag, DIAG_WARNING, &loc, "race in kernel '%s': %s (%llu times)",
                 p->entry->name, b.s, (unsigned long long)f->count);
    diag_hint(k->g->diag, d, "%s",
              f->kind == ONE_INSTRUCTION ? "let one thread write it, or use an atomic"
              : f->across_blocks ? "use atomics, or let another launch do the second part"
              : f->wide
                  ? "put __syncthreads() (bar.sync) between them, or use atomics"
                  : "put __syncwarp() (bar.warp.sync) between them, or use atomics");
    strbuf_free(&b);
    exec_note_source(p, f->pc, k->g->diag);
    if (f->pc == f->other_pc)
        return;
    diag_add(k->g->diag, DIAG_NOTE, &other, "the other access");
    exec_note_source(p, f->other_pc, k->g->diag);
}
