/* checks.c: checks for kernels that users ask for: races, uninitialised reads, wrong
 * barriers. They observe exec_step in functional mode on one host thread; a launch that
 * nobody checks does not come here. The questions are those of NVIDIA's racecheck,
 * initcheck and synccheck; each has a file of its own.
 *
 * A finding is told once for an instruction of a kernel (of a race: for the store), when the
 * first launch in which it occurred is over: where, who, which memory, how often, what to
 * do. */
#include "exec/checks/checks.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { TOLD = 16 }; /* findings of a launch that are told in words */

struct exec_checks *
exec_checks_new(unsigned which, bool lockstep)
{
    struct exec_checks *k = xcalloc(1, sizeof *k);
    k->which = which;
    k->lockstep = lockstep;
    return k;
}

void
exec_checks_free(struct exec_checks *k)
{
    if (!k)
        return;
    vec_free(&k->found);
    free(k->tells);
    free(k);
}

size_t
exec_checks_found(const struct exec_checks *k)
{
    return k ? k->found.n : 0;
}

void
checks_begin(struct exec_grid *g)
{
    struct exec_checks *k = g->checks;
    struct hash h = hash_start();
    hash_text(&h, g->prog->entry->name);
    k->g = g;
    k->kernel = (uint64_t)h.v;
    if (k->which & EXEC_CHECK_RACE)
        check_race_begin(k);
}

void
checks_start(const struct exec_grid *g, struct exec_cta *c)
{
    struct exec_checks *k = g->checks;
    checks_drop(c);
    struct block_checks *b = xcalloc(1, sizeof *b);
    if (k->which & EXEC_CHECK_INIT)
        b->written = xcalloc((c->shared_bytes + 7) / 8 + 1, 1);
    if (k->which & EXEC_CHECK_RACE)
        b->race = check_race_block(k, c);
    c->priv = b;
}

void
checks_drop(struct exec_cta *c)
{
    struct block_checks *b = c->priv;
    if (!b)
        return;
    free(b->written);
    check_race_block_free(b->race);
    vec_free(&b->mbarrier);
    free(b);
    c->priv = NULL;
}

/* What lies in memory where the instruction is about to store. */
static void
look(struct exec_checks *k, const struct exec_warp *w)
{
    struct exec_access *x = &k->access;
    k->known = exec_peek_access(w, x) && x->mask && (x->store || x->atomic) &&
               !x->async && x->bytes <= 4 * CHECK_WORDS - 4;
    if (!k->known)
        return;
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
}

enum exec_result
checks_step(struct exec_warp *w, struct exec_step *s)
{
    struct exec_checks *k = w->cta->grid->checks;
    struct block_checks *b = w->cta->priv;
    if (k->which & EXEC_CHECK_RACE)
        look(k, w);
    if (k->which & EXEC_CHECK_SYNC)
        check_sync_before(k, w);
    enum exec_result r = exec_step(w, s);
    if (r != EXEC_OK)
        return r;
    if (k->which & EXEC_CHECK_SYNC)
        check_sync_after(k, b, w, s);
    if (k->which & EXEC_CHECK_RACE)
        check_race_after(k, b->race, w, s);
    if (k->which & EXEC_CHECK_INIT)
        check_init_after(k, b, w, s);
    return EXEC_OK;
}

struct finding *
checks_found(struct exec_checks *k, unsigned which, unsigned kind,
             const struct exec_warp *w, unsigned lane, uint32_t pc)
{
    struct finding f = {.kernel = k->kernel,
                        .pc = pc,
                        .other_pc = EXEC_NO_PC,
                        .which = (uint8_t)which,
                        .kind = (uint8_t)kind,
                        .group = (uint8_t)kind,
                        .who = {w->cta->id, w->index * LANES + lane}};
    *vec_push(&k->found) = f;
    return &k->found.v[k->found.n - 1];
}

/* Which instruction a finding is told of once for: of a race the store. */
static uint32_t
blamed(const struct finding *f)
{
    return f->which == EXEC_CHECK_RACE && f->other_stores ? f->other_pc : f->pc;
}

static bool
equal(const struct finding *a, const struct finding *b)
{
    return a->kernel == b->kernel && a->which == b->which && a->group == b->group &&
           a->apart == b->apart && blamed(a) == blamed(b);
}

/* The last finding joins an equal one, if there is one. */
void
checks_settle(struct exec_checks *k)
{
    const struct finding *f = &k->found.v[k->found.n - 1];
    for (size_t i = 0; i + 1 < k->found.n; i++) {
        struct finding *x = &k->found.v[i];
        if (equal(x, f)) {
            x->count++;
            x->wide |= f->wide;
            k->found.n--;
            return;
        }
    }
    k->found.v[k->found.n - 1].count = 1;
}

void
checks_print_who(const struct exec_grid *g, const struct check_who *who,
                 struct strbuf *out)
{
    struct exec_dim n = g->grid, b = g->block;
    uint32_t t = who->thread;
    strbuf_printf(out, "block (%u,%u,%u), thread (%u,%u,%u)", who->block % n.x,
                  who->block / n.x % n.y, who->block / n.x / n.y, t % b.x, t / b.x % b.y,
                  t / b.x / b.y);
}

void
checks_end(struct exec_grid *g)
{
    struct exec_checks *k = g->checks;
    if (k->which & EXEC_CHECK_RACE)
        check_race_end(k);
    size_t more = 0;
    for (size_t i = 0, n = 0; i < k->found.n; i++) {
        struct finding *f = &k->found.v[i];
        if (f->told)
            continue;
        f->told = true;
        if (n++ >= TOLD) {
            more++;
            continue;
        }
        switch (f->which) {
        case EXEC_CHECK_RACE:
            check_race_tell(k, f);
            break;
        case EXEC_CHECK_INIT:
            check_init_tell(k, f);
            break;
        default:
            check_sync_tell(k, f);
        }
    }
    if (more)
        diag_add(g->diag, DIAG_NOTE, NULL, "kernel '%s': %zu more findings",
                 g->prog->entry->name, more);
    k->g = NULL;
}
