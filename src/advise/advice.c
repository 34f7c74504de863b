/* advice.c: see advice.h. */
#include "advise/advice.h"

#include "base/clock.h"
#include "base/vec.h"
#include "runtime/runtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double
advice_gain(const struct advice *a, const struct trial *t)
{
    return t->cycles ? 100 * ((double)a->original.cycles / (double)t->cycles - 1) : 0;
}

double
advice_saving(const struct advice *a, const struct trial *t)
{
    return a->original.joules > 0 ? 100 * (1 - t->joules / a->original.joules) : 0;
}

/* -- the kernels -- */

struct lost {
    unsigned ptx_line;
    struct allot_line at;
    uint64_t slots, most; /* most: of one cause */
    const char *to;
};

static int
by_slots(const void *pa, const void *pb)
{
    const struct lost *a = pa, *b = pb;
    if (a->slots != b->slots)
        return a->slots < b->slots ? 1 : -1;
    return a->ptx_line < b->ptx_line ? -1 : a->ptx_line > b->ptx_line;
}

static void
line_text(const struct lost *l, struct advice_line *to)
{
    const char *slash = l->at.file ? strrchr(l->at.file, '/') : NULL;
    struct strbuf b = {0};
    if (l->at.file && l->at.line)
        strbuf_printf(&b, "%s:%u ", slash ? slash + 1 : l->at.file, l->at.line);
    if (l->at.ptx_line)
        strbuf_printf(&b, "PTX %u: ", l->at.ptx_line);
    strbuf_visible(&b, l->at.ptx_text ? l->at.ptx_text : l->at.opcode, 60);
    snprintf(to->text, sizeof to->text, "%s", b.s);
    strbuf_free(&b);
}

/* The lines of a kernel with most lost slots, of its launches on the device together. */
static void
take_lines(const struct allot_device *dev, const char *kernel, uint64_t all,
           struct advice_line to[ADVICE_LINES])
{
    VEC(struct lost) v = {0};
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        struct allot_line at;
        if (strcmp(allot_result_kernel(r), kernel) != 0)
            continue;
        for (size_t k = 0; allot_result_line(r, k, &at); k++) {
            const char *id, *word, *meaning;
            size_t j = 0;
            if (!at.opcode)
                continue;
            while (j < v.n && v.v[j].ptx_line != at.ptx_line)
                j++;
            if (j == v.n)
                *vec_push(&v) = (struct lost){.ptx_line = at.ptx_line, .at = at};
            for (size_t c = 1; allot_issue_cause(c, &id, &word, &meaning); c++) {
                uint64_t n = 0; /* cause 0: the slot is used */
                allot_result_line_count(r, k, id, &n);
                v.v[j].slots += n;
                if (n > v.v[j].most) {
                    v.v[j].most = n;
                    v.v[j].to = word;
                }
            }
        }
    }
    if (v.n)
        qsort(v.v, v.n, sizeof *v.v, by_slots);
    for (size_t i = 0; i < v.n && i < ADVICE_LINES && v.v[i].slots && all; i++) {
        line_text(&v.v[i], &to[i]);
        to[i].lost = (double)v.v[i].slots / (double)all;
        to[i].to = v.v[i].to;
    }
    vec_free(&v);
}

/* The largest launch of the kernel that counts; NULL: it has none. */
static const struct allot_result *
largest(const struct allot_device *dev, const char *kernel, uint64_t *blocks)
{
    const struct allot_result *best = NULL;
    uint64_t v = 0;
    *blocks = 0;
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        if (strcmp(allot_result_kernel(r), kernel) != 0)
            continue;
        allot_result_get(r, "blocks", &v, NULL);
        if (!best || v > *blocks) {
            best = r;
            *blocks = v;
        }
    }
    return best;
}

static void
take_kernels(struct advice *a, const struct trials *x, const struct allot_device *dev)
{
    a->kernel = ARENA_ARRAY(a->of.mem, struct advice_kernel, x->nname);
    for (size_t i = 0; i < x->nname; i++) {
        const struct launch_stats *s = &a->original.kernel[i].stats;
        uint64_t blocks;
        const struct allot_result *r = largest(dev, x->name[i], &blocks);
        struct advice_kernel *k = &a->kernel[a->nkernel];
        if (!s->gpu.cycles)
            continue; /* it does not count */
        const struct allot_occupancy_query q = allot_result_demand(r);
        k->facts = candidates_facts(a->of.machine, a->of.mod, x->name[i], s, &q, blocks,
                                    a->of.mem);
        k->facts.share = (double)s->gpu.cycles / (double)a->original.cycles;
        take_lines(dev, x->name[i], s->sm.issue_slots, k->line);
        a->nkernel++;
    }
}

/* -- the search -- */

/* Those with most to gain first; what saves energy last. */
static int
by_bound(const void *pa, const void *pb)
{
    const struct advice_row *a = pa, *b = pb;
    if (a->candidate.bound != b->candidate.bound)
        return a->candidate.bound < b->candidate.bound ? 1 : -1;
    return strcmp(a->candidate.name, b->candidate.name);
}

static bool
usable(const struct trial *t)
{
    return t->state == TRIAL_DONE;
}

/* Whether it is worth a word. */
static bool
wins(const struct advice *a, const struct trial *t)
{
    return usable(t) &&
           (advice_gain(a, t) >= ADVICE_LEAST ||
            (advice_saving(a, t) >= ADVICE_LEAST && advice_gain(a, t) > -ADVICE_LEAST));
}

/* Runs rows from the n-th on that are not pruned. */
static bool
run_rows(struct advice *a, struct trials *x, size_t from, const uint64_t *limits)
{
    const size_t n = a->nrow - from;
    const struct candidate **c = xcalloc(n + 1, sizeof *c);
    uint64_t *limit = xcalloc(n + 1, sizeof *limit);
    struct trial *t = xcalloc(n + 1, sizeof *t);
    size_t m = 0;
    for (size_t i = from; i < a->nrow; i++)
        if (!a->row[i].candidate.pruned) {
            c[m] = &a->row[i].candidate;
            limit[m++] = limits ? limits[i - from] : 0;
        }
    const bool ok = trial_all(x, c, limit, &a->original, t, m);
    m = 0;
    for (size_t i = from; i < a->nrow; i++)
        if (!a->row[i].candidate.pruned)
            a->row[i].trial = t[m++];
    free(c);
    free(limit);
    free(t);
    return ok;
}

static bool
run_singles(struct advice *a, struct trials *x)
{
    struct facts *f = ARENA_ARRAY(a->of.mem, struct facts, a->nkernel + 1);
    size_t n;
    for (size_t k = 0; k < a->nkernel; k++)
        f[k] = a->kernel[k].facts;
    struct candidate *c =
        candidates_of(f, a->nkernel, a->of.mod, a->of.machine, &n, a->of.mem);
    a->row = xcalloc(n + 1, sizeof *a->row);
    a->nrow = n;
    for (size_t i = 0; i < n; i++) {
        a->row[i].candidate = c[i];
        if (a->of.exhaustive && !strstr(c[i].settings, "{}"))
            a->row[i].candidate.pruned = NULL;
    }
    qsort(a->row, n, sizeof *a->row, by_bound);
    uint64_t *limits = xcalloc(n + 1, sizeof *limits);
    for (size_t i = 0; i < n; i++)
        limits[i] =
            a->of.exhaustive ? 0 : (uint64_t)(ADVICE_SLOWER * (double)a->original.all);
    const bool ok = run_rows(a, x, 0, limits);
    free(limits);
    return ok;
}

/* What a winner is worth, in time or in energy. */
static double
worth(const struct advice *a, const struct advice_row *r)
{
    return fmax(advice_gain(a, &r->trial), advice_saving(a, &r->trial));
}

/* The winners among the singles, best first, at most `most`. */
static size_t
winners(const struct advice *a, const struct advice_row **w, size_t most)
{
    size_t n = 0;
    for (const struct advice_row *best; n < most; w[n++] = best) {
        best = NULL;
        for (size_t i = 0; i < a->nrow; i++) {
            const struct advice_row *r = &a->row[i];
            bool taken = !wins(a, &r->trial);
            for (size_t k = 0; k < n; k++)
                taken |= w[k]->candidate.row == r->candidate.row; /* one of each row */
            if (!taken && (!best || worth(a, r) > worth(a, best)))
                best = r;
        }
        if (!best)
            break;
    }
    return n;
}

/* Pairs of the best, each stopped where it is slower than the better of both. */
static bool
run_pairs(struct advice *a, struct trials *x)
{
    enum { BEST = 4, PAIRS = BEST * (BEST - 1) / 2 };
    const struct advice_row *w[BEST] = {0};
    const size_t n = winners(a, w, BEST), from = a->nrow;
    struct candidate pair[PAIRS];
    uint64_t limit[PAIRS];
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (candidates_pair(&w[i]->candidate, &w[k]->candidate, &pair[m],
                                a->of.mem)) {
                const uint64_t p = w[i]->trial.all, q = w[k]->trial.all;
                limit[m++] = (uint64_t)(1.01 * (double)(p < q ? p : q));
            }
    a->row = xrealloc(a->row, (a->nrow + m + 1) * sizeof *a->row);
    for (size_t i = 0; i < m; i++)
        a->row[a->nrow++] = (struct advice_row){.candidate = pair[i]};
    return !m || run_rows(a, x, from, limit);
}

/* -- the answer -- */

/* The better of the two singles of a pair, by gain or by saving; 0 for a single. */
static double
better_half(const struct advice *a, const struct candidate *c,
            double (*of)(const struct advice *, const struct trial *))
{
    double best = 0;
    if (!c->other)
        return 0;
    for (size_t i = 0; i < a->nrow; i++) {
        const struct candidate *s = &a->row[i].candidate;
        const size_t n = strlen(s->name);
        const char *at = strstr(c->name, s->name);
        const bool half = !s->other && at && (at == c->name || at[-1] == ' ') &&
                          (!at[n] || at[n] == ' ');
        if (half && usable(&a->row[i].trial) && of(a, &a->row[i].trial) > best)
            best = of(a, &a->row[i].trial);
    }
    return best;
}

struct advice_best
advice_choose(const struct advice *a, enum advise_group g)
{
    struct advice_best b = {0};
    for (size_t i = 0; i < a->nrow; i++) {
        const struct advice_row *r = &a->row[i];
        const double gain = advice_gain(a, &r->trial), save = advice_saving(a, &r->trial);
        if (r->candidate.group != g || !usable(&r->trial))
            continue;
        if (gain >= ADVICE_LEAST &&
            gain >= better_half(a, &r->candidate, advice_gain) +
                        (r->candidate.other ? ADVICE_LEAST : 0) &&
            (!b.time || gain > advice_gain(a, &b.time->trial)))
            b.time = r;
        if (save >= ADVICE_LEAST && gain > -ADVICE_LEAST &&
            save >= better_half(a, &r->candidate, advice_saving) +
                        (r->candidate.other ? ADVICE_LEAST : 0) &&
            (!b.energy || save > advice_saving(a, &b.energy->trial)))
            b.energy = r;
    }
    /* One answer, where it is the best of both, or hardly worse. */
    if (b.time && b.energy &&
        advice_saving(a, &b.energy->trial) <
            advice_saving(a, &b.time->trial) + ADVICE_LEAST)
        b.energy = NULL;
    return b;
}

bool
advice_make(const struct advice_of *of, struct advice *a, char why[256],
            struct allot_diag *d)
{
    const double since = clock_seconds(CLOCK_MONOTONIC);
    memset(a, 0, sizeof *a);
    a->of = *of;
    struct trials x = {.subject = of->subject,
                       .mod = of->mod,
                       .machine = of->machine,
                       .options = of->options,
                       .jobs = of->jobs,
                       .until = of->budget > 0 ? since + of->budget : 0,
                       .stopped = of->stopped,
                       .progress = of->progress,
                       .mem = of->mem};
    struct allot_device *dev;
    x.options.by_line = true;
    bool ok = trial_original(&x, &a->original, &dev, d);
    snprintf(why, 256, "%s", ok || d->sink.errors ? "" : a->original.why);
    a->refused = *why && a->original.state == TRIAL_REFUSED;
    if (ok)
        take_kernels(a, &x, dev);
    allot_device_free(dev);
    if (ok)
        a->cut = !run_singles(a, &x) || (!of->exhaustive && !run_pairs(a, &x));
    for (enum advise_group g = 0; ok && g < ADVISE_GROUPS; g++)
        a->best[g] = advice_choose(a, g);
    a->seconds = clock_seconds(CLOCK_MONOTONIC) - since;
    return ok;
}

void
advice_free(struct advice *a)
{
    free(a->row);
    a->row = NULL;
}

bool
advice_refused(const struct advice *a)
{
    return a->refused;
}
