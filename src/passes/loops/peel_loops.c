/* peel_loops.c: iterations of a loop that fills scratchpad become straight code (003 section 4.2:
 * "loop peeling is used to create such a task"). The loads of all iterations can then stand
 * before the first store, outside of the region in which a block needs its scratchpad
 * (late-stores and region-shrink move them):
 *
 *     L: ld.global a, [p]             ld.global a1, [p]
 *        st.shared [s], a             ld.global a2, [p+512]
 *        p += 512; s += 512     ->    ...
 *        @q bra L                     st.shared [s], a1
 *                                     st.shared [s+512], a2 ...
 *
 * How many iterations a loop has is found by running its address arithmetic for each thread of
 * a block (thread_bytes.h); so the code is for one launch. As many iterations are peeled as
 * every thread runs that comes to the loop. What is left of it:
 *
 *     nothing         all threads run equally many
 *     guarded code    some run one more, and the iteration is straight: its loads and stores get
 *                     the loop's predicate as a guard
 *     the loop        else
 *
 * Before that, %ntid becomes a number, and branches that all threads take alike go: for
 * arms around such loops no region could begin within.
 *
 * Loops: one way back, which is the only way out, and one way in, not by a branch under a
 * guard (but past one that threads take that skip the loop); they store to
 * scratchpad and load from elsewhere; no barriers, atomics, calls or reads of scratchpad.
 * Cost: the walks, and instructions times iterations, at most `most` for a loop. */
#include "passes/loops/peel.h"

#include "passes/rewrite.h"
#include "passes/thread_bytes.h"

#include "analysis/defuse.h"
#include "analysis/live.h"
#include "analysis/loops.h"

#include <string.h>

enum { MOST_LOOPS = 32 };

/* -- what can be peeled -- */

/* Finds the ways in, back and out; false: there are several. */
static bool
find_shape(struct peel *p)
{
    const struct cfg_block *h = &p->g->block[p->l->header];
    unsigned in = 0, back = 0, out = 0;
    for (uint32_t e = 0; e < h->npred; e++) {
        const uint32_t v = (uint32_t)h->pred[e];
        if (peel_has(p, (int32_t)v)) {
            p->latch = p->back = v;
            back++;
        } else if (p->g->block[v].rpo >= 0) {
            p->before = v;
            in++;
        }
    }
    for (uint32_t k = 0; k < p->l->n; k++) {
        const struct cfg_block *b = &p->g->block[p->l->list[k]];
        for (uint32_t e = 0; e < b->nsucc; e++)
            if (!peel_has(p, b->succ[e])) {
                out += p->l->list[k] == p->latch && b->succ[e] >= 0 ? 1 : 2;
                p->after = (uint32_t)b->succ[e];
            }
    }
    const struct cfg_block *latch = &p->g->block[p->latch];
    const struct cfg_block *before = &p->g->block[p->before];
    return in == 1 && back == 1 && out == 1 &&
           (before->nsucc == 1 ||
            (before->nsucc == 2 && before->succ[1] == (int32_t)p->l->header)) &&
           p->f->body.v[latch->end - 1].op == PTX_OP_BRA && peel_is_reducible(p);
}

static bool
fills(const struct peel *p, const struct scratch_use *use, uint64_t *instructions)
{
    const scratch_set *touch = use->funcs.v[0].touch;
    bool stores = false, loads = false;
    *instructions = 0;
    for (uint32_t k = 0; k < p->l->n; k++) {
        const struct cfg_block *b = &p->g->block[p->l->list[k]];
        for (uint32_t i = b->first; i < b->end; i++) {
            const struct ptx_inst *in = &p->f->body.v[i];
            const unsigned flags = ptx_ops[in->op].flags;
            if (ptx_is_pseudo(in))
                continue;
            if (flags & (PTX_ATOMIC | PTX_CROSSLANE | PTX_ENDS) ||
                in->op == PTX_OP_CALL || ptx_inst_barrier(in) >= 0 ||
                (flags & PTX_JUMP && in->op != PTX_OP_BRA) ||
                (touch[i] && !(flags & PTX_STORE)))
                return false;
            stores |= touch[i] != 0;
            loads |= (flags & PTX_LOAD) != 0;
            ++*instructions;
        }
    }
    return stores && loads;
}

/* Whether the last iteration can run under a guard: straight code, of which only loads and
 * stores need it, and nothing that it computes is read after the loop. The guard must be
 * the iteration's before alone, so its register has new names. */
static bool
can_guard(const struct peel *p, const struct live *live)
{
    const struct cfg_block *b = &p->g->block[p->latch];
    const int32_t guard = p->f->body.v[b->end - 1].guard;
    if (p->l->n != 1 || p->home[guard] == PEEL_KEEPS)
        return false;
    for (uint32_t i = b->first; i + 1 < b->end; i++) {
        const struct ptx_inst *in = &p->f->body.v[i];
        const bool memory = ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE);
        if (ptx_is_pseudo(in))
            continue;
        if (in->guard >= 0 || !(memory || rewrite_is_pure(in)))
            return false;
        for (unsigned k = 0; k < in->nops; k++)
            if (defuse_is_dest(in, k) && in->ops[k].kind != PTX_OPD_NONE &&
                (in->ops[k].kind != PTX_OPD_REG ||
                 live_at_start(live, p->after, (uint32_t)in->ops[k].reg)))
                return false;
    }
    return true;
}

/* -- the kernel -- */

static void
write_report(const struct peel *p, const struct pass_args *a)
{
    if (a->report)
        strbuf_printf(
            a->report,
            "%s: of the loop that ends in line %u, %llu iterations are straight "
            "code now%s\n",
            p->f->name, p->f->body.v[p->g->block[p->latch].end - 1].line,
            (unsigned long long)p->trips,
            p->left == LEFT_NONE      ? ", all that it has"
            : p->left == LEFT_GUARDED ? ", and one under a guard"
                                      : "; the rest stays");
}

/* Peels the first loop, innermost first, that can be and becomes at most `limit`
 * instructions; false: there is none. */
static bool
peel_one(struct ptx_func *f, const struct pass_args *a, uint64_t limit)
{
    struct cfg *g = cfg_new(f);
    struct scratch_use *use = scratch_use_new(f);
    struct loops *all = loops_new(g);
    struct live *live = live_new(g);
    struct thread_walk *w = thread_walk_new(g, use, a->launch);
    bool done = false;
    for (uint32_t k = 0; k < all->n && w && !done; k++) {
        struct peel p = {.f = f, .g = g, .l = &all->loop[k]};
        uint64_t size, least, most;
        if (g->block[p.l->header].rpo < 0 || !find_shape(&p) || !fills(&p, use, &size) ||
            !thread_walk_trips(w, p.l, p.latch, p.before, &least, &most))
            continue;
        peel_start(&p);
        peel_find_names(&p, live, all);
        const uint64_t trips = least + (most == least + 1 && can_guard(&p, live));
        done = trips >= 2 && trips * size <= limit;
        p.trips = least;
        p.left = most == least ? LEFT_NONE : trips == most ? LEFT_GUARDED : LEFT_LOOP;
        if (done) {
            write_report(&p, a);
            peel_rebuild(&p);
        }
        arena_free(&p.mem);
    }
    thread_walk_free(w);
    live_free(live);
    loops_free(all);
    scratch_use_free(use);
    cfg_free(g);
    return done;
}

/* %ntid is a number in a known launch. */
static bool
know_sizes(struct ptx_func *f, const struct pass_launch *l)
{
    bool any = false;
    for (size_t i = 0; i < f->body.n && l->kernel; i++) {
        struct ptx_inst *in = &f->body.v[i];
        if (in->op != PTX_OP_MOV || in->nops != 2 || !rewrite_reads_word(in) ||
            in->ops[1].kind != PTX_OPD_SREG || in->ops[1].sreg != PTX_SREG_NTID ||
            in->ops[1].comp > 2)
            continue;
        const struct ptx_operand o = rewrite_literal(l->block[in->ops[1].comp]);
        rewrite_as_mov(f, in, &o);
        any = true;
    }
    return any;
}

/* Branches that all threads take alike. */
static bool
know_branches(struct ptx_func *f, const struct pass_launch *l)
{
    struct cfg *g = cfg_new(f);
    struct scratch_use *use = scratch_use_new(f);
    struct thread_walk *w = thread_walk_new(g, use, l);
    uint64_t *gone = xcalloc(BITSET_WORDS(f->body.n + 1), sizeof *gone);
    bool any = false;
    for (uint32_t k = 0; k < g->nrpo && w; k++) {
        const uint32_t i = g->block[g->rpo[k]].end - 1;
        struct ptx_inst *in = &f->body.v[i];
        const int runs =
            in->op == PTX_OP_BRA && in->guard >= 0 ? thread_walk_guard(w, i) : -1;
        if (runs < 0)
            continue;
        any = true;
        if (!runs)
            bitset_add(gone, i);
        in->guard = -1;
        in->guard_neg = false;
    }
    thread_walk_free(w);
    scratch_use_free(use);
    cfg_free(g);
    if (any)
        rewrite_delete(f, gone);
    free(gone);
    return any;
}

static bool
run(struct ptx_func *f, const struct pass_facts *facts, const struct pass_args *a,
    bool *changed, struct diag_sink *diag)
{
    double most;
    (void)facts;
    if (!pass_arg_number(a, "most", 1, 1e6, &most, diag))
        return false;
    if (!f->is_entry || f->registers ||
        (a->launch->kernel && strcmp(a->launch->kernel, f->name) != 0))
        return true;
    *changed = know_sizes(f, a->launch);
    *changed |= know_branches(f, a->launch);
    for (int n = 0; n < MOST_LOOPS && peel_one(f, a, (uint64_t)most); n++)
        *changed = true;
    return true;
}

const struct pass pass_peel_loops = {
    .name = "peel-loops",
    .meaning = "makes straight code of loops that fill scratchpad",
    .keys =
        (const struct pass_key[]){{"most", "1024", "instructions that a loop may become"},
                                  {0}},
    .run_func = run,
    .shapes = true,
};
