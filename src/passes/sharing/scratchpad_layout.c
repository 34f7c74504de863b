/* scratchpad_layout.c: decides which scratchpad variables lie in the part that two blocks
 * share (000 section 6.1; 001 section 3.2.1).
 *
 * Of a block's Rtb bytes the first floor(t Rtb) are private. For each kernel the pass
 * looks for the set of variables to put there so that the others, which a lock guards,
 * are in use for the fewest instructions: all subsets that fit up to 12 variables;
 * beyond, it starts with none and adds the variable that shortens the range most, as long
 * as one fits. Instructions are counted along the longest path, loop bodies times their
 * trip count, `unknown` times where that is no constant. Of equals the present layout
 * stays. The layout is the order of declaration (analysis/scratchpad.h), so the pass
 * reorders declarations: private ones first. Placement changes, never a result. */
#include "passes/sharing/scratch_order.h"

#include "analysis/access_range.h"
#include "analysis/loops.h"
#include "base/bitset.h"
#include "base/share.h"

#include <string.h>

enum { MAX_EXACT = 12 };

struct search {
    const struct scratch_use *use;
    const struct access_range *range;
    const uint64_t *weight;
    double threshold;
    uint64_t dynamic; /* bytes of extern arrays at launch */
    size_t nstatic;
    /* the best so far */
    uint64_t best_length;
    bool found;
    size_t *best; /* order of variables */
};

/* Where the shared part begins. */
static uint64_t
border_of(const struct search *s)
{
    return share_private(s->use->layout.bytes + s->dynamic, s->threshold);
}

/* Lays variables order[0..n) out from `at` on; returns the end. */
static uint64_t
lay(const struct search *s, const size_t *order, size_t n, uint64_t at)
{
    for (size_t i = 0; i < n; i++) {
        const struct ptx_var *v = s->use->var.v[order[i]].var;
        uint64_t a = v->align ? v->align : 1;
        at = (at + a - 1) / a * a + v->size;
    }
    return at;
}

static void
by_alignment(const struct search *s, size_t *order, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k && s->use->var.v[order[k]].var->align >
                                    s->use->var.v[order[k - 1]].var->align;
             k--) {
            size_t t = order[k];
            order[k] = order[k - 1];
            order[k - 1] = t;
        }
}

/* Order with the variables of `private` first. False if they do not fit below the border,
 * or if more padding would make the whole larger. */
static bool
arrange(const struct search *s, const bool *private, size_t *order)
{
    const uint64_t size = s->use->layout.bytes;
    const uint64_t border = border_of(s);
    for (int try = 0; try < 2; try++) {
        size_t n = 0, np;
        for (size_t i = 0; i < s->nstatic; i++)
            if (private[i])
                order[n++] = i;
        np = n;
        for (size_t i = 0; i < s->nstatic; i++)
            if (!private[i])
                order[n++] = i;
        if (try) {
            by_alignment(s, order, np);
            by_alignment(s, order + np, n - np);
        }
        uint64_t end = lay(s, order, np, 0);
        if (end <= border && lay(s, order + np, n - np, end) <= size)
            return true;
    }
    return false;
}

static scratch_set
others(const struct search *s, const bool *private)
{
    scratch_set set = 0;
    for (size_t i = 0; i < s->use->var.n; i++)
        if (i >= s->nstatic || !private[i])
            set |= (uint64_t)1 << scratch_bit(s->use, i);
    return set;
}

/* True if this choice is better than the best so far. */
static bool
consider(struct search *s, const bool *private)
{
    size_t *order = xcalloc(s->nstatic + 1, sizeof *order);
    bool better = arrange(s, private, order);
    if (better) {
        uint64_t n = access_length(s->range, others(s, private), s->weight);
        better = n < s->best_length;
        if (better) {
            s->best_length = n;
            s->found = true;
            memcpy(s->best, order, s->nstatic * sizeof *order);
        }
    }
    free(order);
    return better;
}

static void
search_exact(struct search *s, bool *private)
{
    for (uint32_t subset = 1; subset < 1u << s->nstatic; subset++) {
        for (size_t i = 0; i < s->nstatic; i++)
        private[i] = subset >> i & 1;
        consider(s, private);
    }
}

static void
search_greedy(struct search *s, bool *private)
{
    size_t pick;
    do {
        pick = s->nstatic;
        for (size_t i = 0; i < s->nstatic; i++) {
            if (private[i])
                continue;
            private[i] = true;
            if (consider(s, private))
                pick = i;
            private[i] = false;
        }
        if (pick < s->nstatic)
        private[pick] = true;
    } while (pick < s->nstatic);
}

/* -- the new order -- */

static void
apply(struct ptx_module *m, const struct search *s)
{
    struct ptx_var **order = xcalloc(s->nstatic + 1, sizeof *order);
    for (size_t i = 0; i < s->nstatic; i++)
        order[i] = (struct ptx_var *)s->use->var.v[s->best[i]].var;
    scratch_order(m, order, s->nstatic);
    free(order);
}

/* -- words -- */

static void
list_vars(struct strbuf *b, const struct search *s, const size_t *order, bool private)
{
    uint64_t border = border_of(s);
    uint64_t at = 0;
    bool any = false;
    for (size_t i = 0; i < s->nstatic; i++) {
        at = lay(s, order + i, 1, at);
        if ((at <= border) == private) {
            strbuf_printf(b, "%s%s", any ? ", " : "", s->use->var.v[order[i]].var->name);
            any = true;
        }
    }
    for (size_t i = s->nstatic; i < s->use->var.n && !private; i++) {
        strbuf_printf(b, "%s%s", any ? ", " : "", s->use->var.v[i].var->name);
        any = true;
    }
    if (!any)
        strbuf_addz(b, "none");
}

static void
write_report(const struct search *s, const struct ptx_func *f, uint64_t before,
             struct strbuf *b)
{
    if (!b)
        return;
    if (!s->found) {
        strbuf_printf(b,
                      "%s: layout kept: the shared part is in use for %llu instructions "
                      "at most, and no other order that fits makes that fewer\n",
                      f->name, (unsigned long long)before);
        return;
    }
    strbuf_printf(b, "%s: private to each block: ", f->name);
    list_vars(b, s, s->best, true);
    strbuf_addz(b, "; shared by a pair: ");
    list_vars(b, s, s->best, false);
    strbuf_printf(b,
                  ". The shared part is in use for %llu instructions at most, %llu in "
                  "the old layout\n",
                  (unsigned long long)s->best_length, (unsigned long long)before);
}

static void
one_kernel(struct ptx_module *m, struct ptx_func *f, double threshold, uint64_t dynamic,
           uint64_t unknown, struct strbuf *report)
{
    struct scratch_use *use = scratch_use_new(f);
    struct cfg *g = cfg_new(f);
    struct loops *loops = loops_new(g);
    uint64_t *weight = xcalloc(g->n + 1, sizeof *weight);
    loops_weights(loops, unknown, weight);
    struct access_range *range = access_range_new(g, use->funcs.v[0].touch);
    struct search s = {.use = use,
                       .range = range,
                       .weight = weight,
                       .threshold = threshold,
                       .dynamic = dynamic};
    while (s.nstatic < use->var.n && !use->var.v[s.nstatic].var->dynamic)
        s.nstatic++;
    if (use->var.n > 1 && s.nstatic) {
        uint64_t border = border_of(&s);
        uint64_t before = access_length(range, scratch_beyond(use, border), weight);
        s.best = xcalloc(s.nstatic, sizeof *s.best);
        s.best_length = before;
        bool *private = xcalloc(s.nstatic, sizeof *private);
        if (s.nstatic <= MAX_EXACT)
            search_exact(&s, private);
        else
            search_greedy(&s, private);
        free(private);
        write_report(&s, f, before, report);
        if (s.found)
            apply(m, &s);
        free(s.best);
    }
    access_range_free(range);
    free(weight);
    loops_free(loops);
    cfg_free(g);
    scratch_use_free(use);
}

static bool
run(struct ptx_module *m, const struct pass_args *a, struct diag_sink *diag)
{
    double t, dynamic, unknown;
    if (!pass_arg_number(a, "threshold", 0, 1, &t, diag) ||
        !pass_arg_number(a, "dynamic", 0, 16 << 20, &dynamic, diag) ||
        !pass_arg_number(a, "trips", 1, 1 << 20, &unknown, diag))
        return false;
    for (size_t i = 0; i < m->funcs.n; i++)
        if (m->funcs.v[i]->is_entry && m->funcs.v[i]->has_body && !m->funcs.v[i]->fault)
            one_kernel(m, m->funcs.v[i], t, (uint64_t)dynamic, (uint64_t)unknown,
                       a->report);
    return true;
}

static const struct pass_key keys[] = {
    {"threshold", "0.1", "t: this fraction of a block's scratchpad is private"},
    {"dynamic", "0", "bytes of extern .shared arrays at launch"},
    {"trips", "1024", "iterations of a loop whose number is no constant"},
    {0}};

const struct pass pass_scratchpad_layout = {
    .name = "scratchpad-layout",
    .meaning = "orders scratchpad variables so that the shared part is in use shortest",
    .keys = keys,
    .run = run,
};
