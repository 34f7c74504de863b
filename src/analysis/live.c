/* live.c: liveness by path exploration: from each read that no write of its block
 * precedes, backward through the blocks until one writes the register (Brandner,
 * Boissinot, Darte, Dupont de Dinechin, Rastello, "Computing Liveness Sets for SSA-Form
 * Programs", 2011, section 3; nothing in it needs SSA form).
 *
 * Cost: O(operands + the sum of the lists of live registers over the edges). A register
 * that is used within one block costs its operands only. */
#include "analysis/live.h"

#include "analysis/defuse.h"

/* Blocks that read a register before they write it, or that write it whole: chains. */
struct event {
    uint32_t block;
    int32_t next; /* of the same register, -1: none */
};

struct finder {
    const struct cfg *g;
    VEC(struct event) event;
    int32_t *reads, *writes;          /* of each register: its first event, -1 */
    uint32_t *seen_read, *seen_write; /* of each register: last such block, + 1 */
    uint32_t block;
};

struct pair {
    uint32_t block, reg;
};

static void
note_event(struct finder *q, int32_t *head)
{
    *vec_push(&q->event) = (struct event){q->block, *head};
    *head = (int32_t)q->event.n - 1;
}

static void
note_read(void *user, int32_t r, bool write, bool partial)
{
    struct finder *q = user;
    (void)partial;
    if (write || q->seen_write[r] == q->block + 1 || q->seen_read[r] == q->block + 1)
        return;
    q->seen_read[r] = q->block + 1;
    note_event(q, &q->reads[r]);
}

static void
note_write(void *user, int32_t r, bool write, bool partial)
{
    struct finder *q = user;
    if (!write || partial || q->seen_write[r] == q->block + 1)
        return;
    q->seen_write[r] = q->block + 1;
    note_event(q, &q->writes[r]);
}

static void
find_events(struct finder *q)
{
    for (uint32_t b = 0; b < q->g->n; b++) {
        q->block = b;
        for (uint32_t i = q->g->block[b].first; i < q->g->block[b].end; i++) {
            const struct ptx_inst *in = &q->g->func->body.v[i];
            defuse_each(in, note_read, q);
            defuse_each(in, note_write, q);
        }
    }
}

static void
solve(struct live *l)
{
    const struct cfg *g = l->cfg;
    struct arena tmp = {0};
    struct finder q = {.g = g};
    VEC(struct pair) pairs = {0};
    q.reads = ARENA_ARRAY(&tmp, int32_t, l->nregs + 1);
    q.writes = ARENA_ARRAY(&tmp, int32_t, l->nregs + 1);
    q.seen_read = ARENA_ARRAY(&tmp, uint32_t, l->nregs + 1);
    q.seen_write = ARENA_ARRAY(&tmp, uint32_t, l->nregs + 1);
    memset(q.reads, 0xff, l->nregs * sizeof *q.reads);
    memset(q.writes, 0xff, l->nregs * sizeof *q.writes);
    find_events(&q);
    /* of each block: the last register found live at its start, that it writes, + 1 */
    uint32_t *live = ARENA_ARRAY(&tmp, uint32_t, g->n + 1);
    uint32_t *kills = ARENA_ARRAY(&tmp, uint32_t, g->n + 1);
    uint32_t *stack = ARENA_ARRAY(&tmp, uint32_t, g->n + 1), sp = 0;
    for (uint32_t r = 0; r < l->nregs; r++) {
        if (q.reads[r] < 0)
            continue;
        for (int32_t e = q.writes[r]; e >= 0; e = q.event.v[e].next)
            kills[q.event.v[e].block] = r + 1;
        for (int32_t e = q.reads[r]; e >= 0; e = q.event.v[e].next) {
            live[q.event.v[e].block] = r + 1;
            stack[sp++] = q.event.v[e].block;
        }
        while (sp) {
            uint32_t b = stack[--sp];
            *vec_push(&pairs) = (struct pair){b, r};
            l->start[b + 1]++;
            for (uint32_t i = 0; i < g->block[b].npred; i++) {
                uint32_t p = (uint32_t)g->block[b].pred[i];
                if (live[p] == r + 1 || kills[p] == r + 1)
                    continue;
                live[p] = r + 1;
                stack[sp++] = p;
            }
        }
    }
    for (uint32_t b = 0; b < g->n; b++)
        l->start[b + 1] += l->start[b];
    l->reg = ARENA_ARRAY(&l->mem, uint32_t, pairs.n + 1);
    uint32_t *fill = arena_dup(&tmp, l->start, sizeof *fill * ((size_t)g->n + 1));
    for (size_t i = 0; i < pairs.n; i++) /* registers come in ascending order */
        l->reg[fill[pairs.v[i].block]++] = pairs.v[i].reg;
    vec_free(&q.event);
    vec_free(&pairs);
    arena_free(&tmp);
}

struct live *
live_new(const struct cfg *g)
{
    struct live *l = xcalloc(1, sizeof *l);
    l->cfg = g;
    l->nregs = (uint32_t)g->func->regs.n;
    l->start = ARENA_ARRAY(&l->mem, uint32_t, g->n + 1);
    solve(l);
    return l;
}

void
live_free(struct live *l)
{
    if (!l)
        return;
    arena_free(&l->mem);
    free(l);
}

bool
live_at_start(const struct live *l, uint32_t block, uint32_t reg)
{
    uint32_t lo = l->start[block], hi = l->start[block + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (l->reg[mid] < reg)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < l->start[block + 1] && l->reg[lo] == reg;
}

bool
live_at_end(const struct live *l, uint32_t block, uint32_t reg)
{
    const struct cfg_block *b = &l->cfg->block[block];
    for (uint32_t s = 0; s < b->nsucc; s++)
        if (b->succ[s] >= 0 && live_at_start(l, (uint32_t)b->succ[s], reg))
            return true;
    return false;
}

struct live_set
live_set_new(struct arena *mem, uint32_t nregs)
{
    return (struct live_set){0, ARENA_ARRAY(mem, uint32_t, nregs + 1),
                             ARENA_ARRAY(mem, uint32_t, nregs + 1)};
}

void
live_set_end(const struct live *l, uint32_t block, struct live_set *s)
{
    const struct cfg_block *b = &l->cfg->block[block];
    s->n = 0;
    for (uint32_t k = 0; k < b->nsucc; k++)
        for (uint32_t i = b->succ[k] < 0 ? 0 : l->start[b->succ[k]],
                      end = b->succ[k] < 0 ? 0 : l->start[b->succ[k] + 1];
             i < end; i++)
            live_add(s, l->reg[i]);
}

/* One step backward over an instruction: full writes kill, then reads make live. */
static void
kill_reg(void *set, int32_t r, bool write, bool partial)
{
    if (write && !partial)
        live_del(set, (uint32_t)r);
}

static void
gen_reg(void *set, int32_t r, bool write, bool partial)
{
    (void)partial;
    if (!write)
        live_add(set, (uint32_t)r);
}

void
live_step_back(const struct ptx_inst *in, struct live_set *s)
{
    defuse_each(in, kill_reg, s);
    defuse_each(in, gen_reg, s);
}

/* -- how many -- */

struct walk {
    struct live_set set;
    const uint8_t *units; /* of each register; 0: a predicate */
    uint32_t sum[2];      /* 32-bit registers, predicates */
    uint32_t dead[64];    /* written by this instruction, guarded, and live only here */
    unsigned ndead;
};

static void
count(struct walk *w, uint32_t r, bool add)
{
    uint32_t n = w->units[r] ? w->units[r] : 1, *sum = &w->sum[!w->units[r]];
    if (live_has(&w->set, r) == add)
        return;
    *sum = add ? *sum + n : *sum - n;
    if (add)
        live_add(&w->set, r);
    else
        live_del(&w->set, r);
}

static void
count_written(void *user, int32_t r, bool write, bool partial)
{
    struct walk *w = user;
    if (write && partial && !live_has(&w->set, (uint32_t)r) &&
        w->ndead < sizeof w->dead / sizeof *w->dead)
        w->dead[w->ndead++] = (uint32_t)r;
    if (write)
        count(w, (uint32_t)r, true);
}

static void
count_killed(void *user, int32_t r, bool write, bool partial)
{
    if (write && !partial)
        count(user, (uint32_t)r, false);
}

static void
count_read(void *user, int32_t r, bool write, bool partial)
{
    (void)partial;
    if (!write)
        count(user, (uint32_t)r, true);
}

/* without (may be NULL): registers that take none. */
static uint8_t *
units_of(const struct ptx_func *f, const bool *without, struct arena *mem)
{
    uint8_t *units = ARENA_ARRAY(mem, uint8_t, f->regs.n + 1);
    for (size_t r = 0; r < f->regs.n; r++) {
        const struct ptx_reg *x = &f->regs.v[r];
        if (x->type != PTX_PRED && !(without && without[r]))
            units[r] =
                (uint8_t)((ptx_type_bytes(x->type) + 3) / 4 * (x->vec ? x->vec : 1));
    }
    return units;
}

void
live_each_point_without(const struct live *l, const bool *without,
                        void (*fn)(void *, uint32_t, bool, const struct live_set *,
                                   uint32_t, uint32_t),
                        void *user)
{
    const struct cfg *g = l->cfg;
    struct arena mem = {0};
    struct walk w = {.set = live_set_new(&mem, l->nregs),
                     .units = units_of(g->func, without, &mem)};
    for (uint32_t b = 0; b < g->n; b++) {
        if (g->block[b].rpo < 0)
            continue; /* unreachable */
        live_set_end(l, b, &w.set);
        w.sum[0] = w.sum[1] = 0;
        for (uint32_t i = 0; i < w.set.n; i++) {
            uint32_t n = w.units[w.set.reg[i]];
            w.sum[!n] += n ? n : 1;
        }
        for (uint32_t k = g->block[b].end; k-- > g->block[b].first;) {
            const struct ptx_inst *in = &g->func->body.v[k];
            w.ndead = 0;
            defuse_each(in, count_written, &w);
            fn(user, k, true, &w.set, w.sum[0], w.sum[1]);
            while (w.ndead)
                count(&w, w.dead[--w.ndead], false);
            defuse_each(in, count_killed, &w);
            defuse_each(in, count_read, &w);
            fn(user, k, false, &w.set, w.sum[0], w.sum[1]);
        }
    }
    arena_free(&mem);
}

void
live_each_point(const struct live *l,
                void (*fn)(void *, uint32_t, bool, const struct live_set *, uint32_t,
                           uint32_t),
                void *user)
{
    live_each_point_without(l, NULL, fn, user);
}

static void
take_most(void *user, uint32_t inst, bool after, const struct live_set *set,
          uint32_t registers, uint32_t predicates)
{
    uint32_t *most = user;
    (void)inst;
    (void)after;
    (void)set;
    most[0] = registers > most[0] ? registers : most[0];
    most[1] = predicates > most[1] ? predicates : most[1];
}

void
live_max(const struct live *l, uint32_t *registers, uint32_t *predicates)
{
    uint32_t most[2] = {0, 0};
    live_each_point(l, take_most, most);
    *registers = most[0];
    *predicates = most[1];
}
