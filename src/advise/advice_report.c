/* advice_report.c: what allot advise says, in about ten lines or as JSON. */
#include "advise/advice.h"

#include "base/demangle.h"
#include "base/json.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 3, MOST_LOSERS = 4 };

/* Rows by what became of them. */
static size_t
count(const struct advice *a, enum trial_state s)
{
    size_t n = 0;
    for (size_t i = 0; i < a->nrow; i++)
        n += !a->row[i].candidate.pruned && a->row[i].trial.state == s;
    return n;
}

static size_t
pruned(const struct advice *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->nrow; i++)
        n += a->row[i].candidate.pruned != NULL;
    return n;
}

static void
add_count(struct strbuf *b, size_t n, const char *words)
{
    if (n)
        strbuf_printf(b, "%s%zu %s", b->n ? ", " : "", n, words);
}

static void
tell_head(FILE *f, const struct advice *a)
{
    char cycles[32];
    struct strbuf b = {0};
    add_count(&b, count(a, TRIAL_DONE), "simulated");
    add_count(&b, count(a, TRIAL_NOTHING), "without effect");
    add_count(&b, count(a, TRIAL_SLOWER), "stopped as slower");
    add_count(&b, count(a, TRIAL_REFUSED), "refused");
    add_count(&b, count(a, TRIAL_FAILED) + count(a, TRIAL_WRONG), "FAILED");
    add_count(&b, count(a, TRIAL_NOT_TRIED), "not tried");
    add_count(&b, pruned(a), "that cannot help");
    fprintf(f, "%s on %s: %s cycles, %.4g mJ. Candidates: %s (%.1f s)\n",
            a->of.subject->name, a->of.machine_name,
            table_thousands(cycles, a->original.cycles), 1000 * a->original.joules,
            b.s ? b.s : "none", a->seconds);
    strbuf_free(&b);
}

/* "memory (62 % of issue slots): latency of DRAM, few resident warps (registers)" */
static void
limits_text(const struct facts *k, struct strbuf *b)
{
    const struct limits *l = &k->limits;
    const char *sep = ": ";
    strbuf_printf(b, "%s%s (%.0f %% of issue slots)",
                  l->clear ? "" : "nothing in particular; most by ",
                  limits_rows[l->cause].words, 100 * l->value[l->cause]);
    if (l->cause == LIMIT_blocks)
        strbuf_printf(b, ": %llu blocks of %u threads, the GPU holds %llu",
                      (unsigned long long)k->blocks, k->threads,
                      (unsigned long long)k->resident * k->sms);
    for (enum limit_id i = 0; i < LIMITS; i++)
        if (limits_tells(l, i)) {
            strbuf_printf(b, "%s%s", sep, limits_rows[i].words);
            if (i == LIMIT_occupancy)
                strbuf_printf(b, " (%u block%s an SM, limited by %s)", k->resident,
                              k->resident == 1 ? "" : "s",
                              k->fills ? k->limited_by : "the grid");
            sep = ", ";
        }
    for (enum limit_id i = 0; i < LIMITS && !limits_rows[i].of; i++)
        if (i != l->cause && limits_hold(l, i))
            strbuf_printf(b, "; %s %.0f %%", limits_rows[i].words, 100 * l->value[i]);
}

static int
by_share(const void *pa, const void *pb)
{
    const struct advice_kernel *a = *(const struct advice_kernel *const *)pa,
                               *b = *(const struct advice_kernel *const *)pb;
    if (a->facts.share != b->facts.share)
        return a->facts.share < b->facts.share ? 1 : -1;
    return strcmp(a->facts.kernel, b->facts.kernel);
}

static void
tell_kernels(FILE *f, const struct advice *a)
{
    const struct advice_kernel **k = xcalloc(a->nkernel + 1, sizeof *k);
    for (size_t i = 0; i < a->nkernel; i++)
        k[i] = &a->kernel[i];
    qsort(k, a->nkernel, sizeof *k, by_share);
    for (size_t i = 0; i < a->nkernel && i < MOST_KERNELS; i++) {
        struct strbuf b = {0};
        char *name = demangle_within(k[i]->facts.kernel, DEMANGLE_COLUMN);
        limits_text(&k[i]->facts, &b);
        fprintf(f, "%s, %.0f %% of the time: limited by %s\n", name,
                100 * k[i]->facts.share, b.s);
        for (size_t l = 0; l < ADVICE_LINES && *k[i]->line[l].text && !i; l++)
            fprintf(f, "  %4.1f %% of issue slots lost (%s) at %s\n",
                    100 * k[i]->line[l].lost, k[i]->line[l].to, k[i]->line[l].text);
        strbuf_free(&b);
        free(name);
    }
    if (a->nkernel > MOST_KERNELS)
        fprintf(f, "and %zu kernels more (--json)\n", a->nkernel - MOST_KERNELS);
    free(k);
}

static void
tell_row(FILE *f, const struct advice *a, const char *what, const struct advice_row *r)
{
    const struct candidate *c = &r->candidate;
    fprintf(
        f,
        "%s: %s: %+.1f %% speed, %+.1f %% energy (whole run simulated, results right)\n",
        what, c->name, advice_gain(a, &r->trial), -advice_saving(a, &r->trial));
    fprintf(f, "  costs: %s%s%s\n", c->row->cost, c->other ? "; " : "",
            c->other ? c->other->cost : "");
}

static void
tell_best(FILE *f, const struct advice *a, enum advise_group g, const char *what)
{
    const struct advice_best *b = &a->best[g];
    if (b->time)
        tell_row(f, a, what, b->time);
    if (b->energy)
        tell_row(f, a, b->time ? "  For energy" : what, b->energy);
    if (!b->time && !b->energy)
        fprintf(f, "%s: nothing that was tried gains 1 %%%s\n", what,
                a->cut ? " (not all was tried)" : "");
}

static int
by_loss(const void *pa, const void *pb)
{
    const struct advice_row *a = *(const struct advice_row *const *)pa,
                            *b = *(const struct advice_row *const *)pb;
    const bool sa = a->trial.state == TRIAL_SLOWER, sb = b->trial.state == TRIAL_SLOWER;
    if (sa != sb)
        return sa ? -1 : 1;
    if (!sa && a->trial.cycles != b->trial.cycles)
        return a->trial.cycles < b->trial.cycles ? 1 : -1;
    return strcmp(a->candidate.name, b->candidate.name);
}

/* What loses, one candidate of each row; pairs are not counted. */
static void
tell_losers(FILE *f, const struct advice *a)
{
    const struct advice_row **r = xcalloc(a->nrow + 1, sizeof *r);
    size_t n = 0, shown = 0;
    for (size_t i = 0; i < a->nrow; i++) {
        const struct advice_row *at = &a->row[i];
        const bool slow = at->trial.state == TRIAL_SLOWER ||
                          (at->trial.state == TRIAL_DONE &&
                           advice_gain(a, &at->trial) <= -ADVICE_LEAST);
        if (slow && !at->candidate.other)
            r[n++] = at;
    }
    qsort(r, n, sizeof *r, by_loss);
    for (size_t i = 0; i < n && shown < MOST_LOSERS; i++) {
        fprintf(f, "%s%s", shown++ ? ", " : "Do not: ", r[i]->candidate.name);
        if (r[i]->trial.state == TRIAL_SLOWER)
            fprintf(f, " (more than %.0f %% more cycles)", 100 * (ADVICE_SLOWER - 1));
        else
            fprintf(f, " (%+.1f %%)", advice_gain(a, &r[i]->trial));
    }
    if (shown)
        fprintf(f, "%s\n", n > shown ? ", ... (--json)" : "");
    free(r);
}

/* Faults: results that are not the original's, launches that failed. */
static void
tell_faults(FILE *f, const struct advice *a)
{
    for (size_t i = 0; i < a->nrow; i++) {
        const struct trial *t = &a->row[i].trial;
        if (t->state == TRIAL_WRONG || t->state == TRIAL_FAILED)
            fprintf(f, "%s: %s: %s (left out: a fault of allot%s)\n",
                    t->state == TRIAL_WRONG ? "Wrong results" : "Failed",
                    a->row[i].candidate.name, t->why,
                    t->state == TRIAL_FAILED || a->of.subject->workload
                        ? ""
                        : ", unless the results depend on time or the order of blocks");
    }
}

static void
tell_again(FILE *f, const struct advice *a, const char *again)
{
    for (enum advise_group g = 0; g < ADVISE_GROUPS; g++) {
        const struct advice_row *r =
            a->best[g].time ? a->best[g].time : a->best[g].energy;
        size_t n;
        if (!r)
            continue;
        const char *const *s =
            candidates_settings(&r->candidate, a->of.machine, &n, a->of.mem);
        fprintf(f, "Again: %s", again);
        for (size_t i = 0; i < n; i++)
            fprintf(f, " --set %s", s[i]);
        fputs("\n", f);
    }
}

void
advice_text(FILE *f, const struct advice *a, const char *again, const char *output)
{
    const bool card = a->best[ADVISE_CARD].time || a->best[ADVISE_CARD].energy;
    tell_head(f, a);
    tell_kernels(f, a);
    tell_best(f, a, ADVISE_CARD, "On the card you have");
    tell_best(f, a, ADVISE_HARDWARE, "On new hardware");
    tell_losers(f, a);
    tell_faults(f, a);
    tell_again(f, a, again);
    if (output)
        fprintf(f, "PTX: %s%s\n", output, card ? "" : " (as it was)");
    else if (card)
        fprintf(f, "As PTX: the same with -o FILE.ptx\n");
}

/* A cell of a Markdown table. */
static void
cell(FILE *f, const char *text)
{
    fputs("| ", f);
    for (const char *p = text; *p; p++)
        fprintf(f, *p == '|' ? "\\|" : "%c", *p);
    fputs(" ", f);
}

void
advice_list(FILE *f)
{
    const struct candidate_row *r;
    fputs(
        "| limited by | threshold | of | why this threshold |\n| --- | ---: | --- | --- |\n",
        f);
    for (enum limit_id i = 0; i < LIMITS; i++) {
        struct strbuf of = {0};
        for (enum limit_id k = 0; k < LIMITS; k++)
            if (limits_rows[i].of >> k & 1)
                strbuf_printf(&of, "%s%s", of.n ? ", " : "", limits_rows[k].words);
        cell(f, limits_rows[i].words);
        fprintf(f, "| %g ", limits_rows[i].threshold);
        cell(f, of.s ? of.s : "issue slots");
        cell(f, limits_rows[i].reason);
        fputs("|\n", f);
        strbuf_free(&of);
    }
    for (enum advise_group g = 0; g < ADVISE_GROUPS; g++) {
        fprintf(
            f,
            "\n| %s | settings | costs | cannot help where |\n| --- | --- | --- | --- |\n",
            candidates_group(g));
        for (size_t i = 0; (r = candidates_row(i)); i++) {
            if (r->group != g)
                continue;
            fprintf(f, "| `%s` | `%s` ", r->id, r->settings);
            cell(f, r->cost);
            cell(f, r->cannot);
            fputs("|\n", f);
        }
    }
}

/* -- as JSON -- */

static json_t *
limits_json(const struct limits *l)
{
    json_t *o = json_object();
    for (enum limit_id i = 0; i < LIMITS; i++)
        json_object_set_new(
            o, limits_rows[i].id,
            json_pack("{s:o, s:f, s:b}", "value",
                      isnan(l->value[i]) ? json_null() : json_real(l->value[i]),
                      "threshold", limits_rows[i].threshold, "holds", limits_hold(l, i)));
    return o;
}

static json_t *
kernel_json(const struct advice_kernel *k)
{
    const struct facts *f = &k->facts;
    json_t *lines = json_array(), *details = json_array();
    for (size_t i = 0; i < ADVICE_LINES && *k->line[i].text; i++)
        json_array_append_new(lines, json_pack("{s:o, s:f, s:s}", "line",
                                               json_text(k->line[i].text), "lost",
                                               k->line[i].lost, "to", k->line[i].to));
    for (enum limit_id i = 0; i < LIMITS; i++)
        if (limits_tells(&f->limits, i))
            json_array_append_new(details, json_string(limits_rows[i].id));
    return json_pack("{s:s, s:f, s:s, s:b, s:o, s:o, s:i, s:s, s:b, s:o}", "name",
                     f->kernel, "share", f->share, "limited_by",
                     limits_rows[f->limits.cause].id, "clear", f->limits.clear, "details",
                     details, "limits", limits_json(&f->limits), "resident_blocks",
                     f->resident, "occupancy_limited_by", f->limited_by, "fills_gpu",
                     f->fills, "lines", lines);
}

static json_t *
row_json(const struct advice *a, const struct advice_row *r)
{
    const struct candidate *c = &r->candidate;
    const struct trial *t = &r->trial;
    const bool done = !c->pruned && (t->state == TRIAL_DONE || t->state == TRIAL_NOTHING);
    size_t n;
    const char *const *s = candidates_settings(c, a->of.machine, &n, a->of.mem);
    json_t *settings = json_array();
    for (size_t i = 0; i < n && !c->pruned; i++)
        json_array_append_new(settings, json_string(s[i]));
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", c->name, "group",
                          c->group == ADVISE_CARD ? "card" : "hardware", "state",
                          c->pruned ? "pruned" : trial_state_word(t->state), "cost",
                          c->row->cost, "settings", settings);
    if (c->pruned || *t->why)
        json_object_set_new(o, "why", json_text(c->pruned ? c->pruned : t->why));
    if (!c->pruned)
        json_object_set_new(o, "seconds", json_real(t->seconds));
    if (done)
        json_object_update_new(o, json_pack("{s:I, s:f, s:f, s:f}", "cycles",
                                            (json_int_t)t->cycles, "joules", t->joules,
                                            "faster_percent", advice_gain(a, t),
                                            "energy_saved_percent", advice_saving(a, t)));
    return o;
}

static json_t *
best_json(const struct advice_row *r)
{
    return r ? json_string(r->candidate.name) : json_null();
}

json_t *
advice_json(const struct advice *a)
{
    json_t *kernels = json_array(), *rows = json_array();
    for (size_t i = 0; i < a->nkernel; i++)
        json_array_append_new(kernels, kernel_json(&a->kernel[i]));
    for (size_t i = 0; i < a->nrow; i++)
        json_array_append_new(rows, row_json(a, &a->row[i]));
    const struct advice_best *c = &a->best[ADVISE_CARD], *h = &a->best[ADVISE_HARDWARE];
    return json_pack(
        "{s:o, s:s, s:{s:I, s:f, s:f}, s:b, s:f, s:o, s:o, s:{s:o, s:o}, s:{s:o, s:o}}",
        "subject", json_text(a->of.subject->name), "machine", a->of.machine_name,
        "original", "cycles", (json_int_t)a->original.cycles, "joules",
        a->original.joules, "seconds", a->original.seconds, "complete", !a->cut,
        "seconds", a->seconds, "kernels", kernels, "candidates", rows, "card", "time",
        best_json(c->time), "energy", best_json(c->energy), "hardware", "time",
        best_json(h->time), "energy", best_json(h->energy));
}
