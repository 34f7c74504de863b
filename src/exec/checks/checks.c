/* checks.c: checks for kernels that users ask for: races, uninitialised reads, wrong
 * barriers. They are observers of functional execution (observer.h): one of this file, which
 * keeps what they share, and then one for each check that is wanted. The questions are those
 * of NVIDIA's racecheck, initcheck and synccheck; each has a file of its own.
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

static void
launch_start(void *user, struct exec_grid *g)
{
    struct exec_checks *k = user;
    struct hash h = hash_start();
    hash_text(&h, g->prog->entry->name);
    k->g = g;
    k->kernel = (uint64_t)h.v;
}

static void
block_start(void *user, struct exec_cta *c)
{
    (void)user;
    c->priv = xcalloc(1, sizeof(struct block_checks));
}

static void
block_end(void *user, struct exec_cta *c)
{
    (void)user;
    free(c->priv);
    c->priv = NULL;
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
           a->across_blocks == b->across_blocks && blamed(a) == blamed(b);
}

/* Row of the member mask; REF_NONE: there is none. */
static uint32_t
members_of(const struct exec_inst *in, unsigned op)
{
    switch (op) {
    case PTX_OP_VOTEP:
    case PTX_OP_VOTEB:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
    case PTX_OP_REDUXF:
        return in->s[1];
    case PTX_OP_SHFL:
        return in->s[3];
    case PTX_OP_BARWARP:
    case PTX_OP_ELECT:
        return in->s[0];
    default:
        return REF_NONE;
    }
}

void
checks_note_masks(struct exec_checks *k, const struct exec_warp *w)
{
    const struct exec_prog *p = w->cta->grid->prog;
    uint32_t ref = members_of(&p->inst[w->pc], p->st[w->pc].op);
    k->masks = ref != REF_NONE;
    if (k->masks)
        memcpy(k->mask, row(w, ref), sizeof k->mask);
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
    const struct exec_dim at = exec_block_place(g, who->block), b = g->block;
    uint32_t t = who->thread;
    strbuf_printf(out, "block (%u,%u,%u), thread (%u,%u,%u)", at.x, at.y, at.z, t % b.x,
                  t / b.x % b.y, t / b.x / b.y);
}

static void
launch_end(void *user, struct exec_grid *g)
{
    struct exec_checks *k = user;
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
        case CHECK_BOUNDS:
            check_bounds_tell(k, f);
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

void
exec_checks_watch(struct exec_checks *k, struct exec_grid *g)
{
    static const struct exec_observer shared = {.launch_start = launch_start,
                                                .launch_end = launch_end,
                                                .block_start = block_start,
                                                .block_end = block_end};
    exec_observe(g, &shared, k);
    exec_observe(g, &check_bounds, k); /* whichever is wanted */
    if (k->which & EXEC_CHECK_SYNC)
        exec_observe(g, &check_sync, k);
    if (k->which & EXEC_CHECK_RACE)
        exec_observe(g, &check_race, k);
    if (k->which & EXEC_CHECK_INIT)
        exec_observe(g, &check_init, k);
}
