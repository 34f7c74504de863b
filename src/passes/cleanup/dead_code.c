/* dead_code.c: deletes instructions whose results nothing reads, and what cannot be
 * reached.
 *
 * Mark and sweep over registers: an instruction with an effect is needed; so is every one
 * that writes a register some needed instruction reads. A register that only its own loop
 * reads (i = i + 1) is therefore dead. Then liveness finds single writes of needed
 * registers that are overwritten unread. Repeated until nothing goes. Loads are deleted
 * unless volatile; labels stay. With red=yes atom becomes red where nobody reads its result:
 * ptxas does so, and a warp does not wait for the reply. An atom that acquires stays. */
#include "passes/pass.h"
#include "passes/rewrite.h"

#include "analysis/defuse.h"
#include "analysis/live.h"
#include "exec/exec.h"

#include <string.h>

/* Has it an effect beside writing its destinations? */
static bool
effect(const struct ptx_inst *in)
{
    uint16_t flags = ptx_ops[in->op].flags;
    if (flags & PTX_PSEUDO || in->mod[PTX_MG_CC] || flags & PTX_CCIN)
        return true;
    if (flags & PTX_LOAD)
        return flags & PTX_SIDE ||
               (in->mod[PTX_MG_SEM] && in->mod[PTX_MG_SEM] != PTX_SEM_WEAK);
    return !(flags & PTX_PURE);
}

struct mark {
    uint64_t *needed; /* registers */
    bool any, grown;
};

static void
any_needed(void *user, int32_t reg, bool write, bool partial)
{
    struct mark *m = user;
    (void)partial;
    m->any |= write && bitset_has(m->needed, (size_t)reg);
}

static void
need_sources(void *user, int32_t reg, bool write, bool partial)
{
    struct mark *m = user;
    (void)partial;
    if (!write && !bitset_has(m->needed, (size_t)reg)) {
        bitset_add(m->needed, (size_t)reg);
        m->grown = true;
    }
}

static void
mark_dead(const struct ptx_func *f, const struct cfg *g, uint64_t *dead)
{
    struct arena mem = {0};
    struct mark m = {.needed = bitset_new(&mem, f->regs.n + 1)};
    for (bool first = true; first || m.grown; first = false) {
        m.grown = false;
        for (size_t i = f->body.n; i-- > 0;) {
            const struct ptx_inst *in = &f->body.v[i];
            if (g->block[g->block_of[i]].rpo < 0)
                continue;
            m.any = effect(in);
            if (!m.any)
                defuse_each(in, any_needed, &m);
            if (m.any)
                defuse_each(in, need_sources, &m);
        }
    }
    for (size_t i = 0; i < f->body.n; i++) {
        const struct ptx_inst *in = &f->body.v[i];
        bool pseudo = ptx_is_pseudo(in);
        m.any = effect(in);
        defuse_each(in, any_needed, &m);
        if (!pseudo && (!m.any || g->block[g->block_of[i]].rpo < 0))
            bitset_add(dead, i);
    }
    arena_free(&mem);
}

struct live_now {
    struct live_set live;
    bool read;
};

static void
read_later(void *user, int32_t reg, bool write, bool partial)
{
    struct live_now *l = user;
    (void)partial;
    l->read |= write && live_has(&l->live, (uint32_t)reg);
}

static void
sweep_overwritten(const struct ptx_func *f, const struct cfg *g, uint64_t *dead)
{
    struct live *live = live_new(g);
    struct live_now l = {.live = live_set_new(&live->mem, live->nregs)};
    for (uint32_t b = 0; b < g->n; b++) {
        live_set_end(live, b, &l.live);
        for (uint32_t i = g->block[b].end; i-- > g->block[b].first;) {
            const struct ptx_inst *in = &f->body.v[i];
            l.read = effect(in);
            defuse_each(in, read_later, &l);
            if (!l.read || bitset_has(dead, i)) {
                bitset_add(dead, i);
                continue;
            }
            live_step_back(in, &l.live);
        }
    }
    live_free(live);
}

/* Whether there is a red like the atom (PTX ISA 9.7.13.14: no .exch and .cas, which need the
 * old value, and no .acquire and .acq_rel, which order what follows after it). */
static bool
reduces(const struct ptx_inst *in)
{
    struct exec_legal x = {0};
    struct ptx_inst red = *in;
    if (in->op != PTX_OP_ATOM || in->nops != 3 || in->ops[0].kind != PTX_OPD_REG)
        return false;
    red.op = PTX_OP_RED;
    red.nops--;
    red.ops++;
    return !exec_illegal(&red, &x);
}

/* atom whose result nobody reads: red. */
static bool
make_reductions(struct ptx_func *f)
{
    struct cfg *g = cfg_new(f);
    struct live *live = live_new(g);
    struct live_set set = live_set_new(&live->mem, live->nregs);
    bool any = false;
    for (uint32_t b = 0; b < g->n; b++) {
        live_set_end(live, b, &set);
        for (uint32_t i = g->block[b].end; i-- > g->block[b].first;) {
            struct ptx_inst *in = &f->body.v[i];
            if (reduces(in) && !live_has(&set, (uint32_t)in->ops[0].reg)) {
                in->op = PTX_OP_RED;
                in->nops--;
                memmove(in->ops, in->ops + 1, in->nops * sizeof *in->ops);
                any = true;
            }
            live_step_back(in, &set);
        }
    }
    live_free(live);
    cfg_free(g);
    return any;
}

static bool
run(struct ptx_func *f, const struct pass_facts *x, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    const char *red = pass_arg(a, "red");
    (void)x; /* deleting changes what the driver would keep: facts are made per round */
    if (strcmp(red, "yes") != 0 && strcmp(red, "no") != 0)
        return diag_error(diag, "pass dead-code: red=%s: yes or no", red);
    for (bool again = true; again;) {
        struct arena mem = {0};
        struct cfg *g = cfg_new(f);
        uint64_t *dead = bitset_new(&mem, f->body.n + 1);
        size_t before = f->body.n;
        mark_dead(f, g, dead);
        sweep_overwritten(f, g, dead);
        rewrite_delete(f, dead);
        again = f->body.n != before;
        *changed |= again;
        cfg_free(g);
        arena_free(&mem);
    }
    if (!strcmp(red, "yes"))
        *changed |= make_reductions(f);
    return true;
}

static const struct pass_key keys[] = {
    {"red", "no",
     "yes: atom whose result nobody reads becomes red, as a card's code has it"},
    {0}};

const struct pass pass_dead_code = {
    .name = "dead-code",
    .meaning = "deletes instructions whose results nothing reads",
    .keys = keys,
    .run_func = run,
};
