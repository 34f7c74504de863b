/* totals.c: see totals.h. */
#include "report/totals.h"

#include "report/figure_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is a counter one of what is launched rather than of how it ran? */
static bool
is_given(const char *stat)
{
    static const char *const given[] = {"resident_blocks", "blocks",
                                        "block_threads",   "block_scratchpad",
                                        "threads",         "thread_registers"};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (!strcmp(stat, given[i]))
            return true;
    return experiment_knows(stat);
}

static void
add(struct totals *t, const struct figure *f, struct diag_sink *diag)
{
    const struct statements s = figure_statements(f, diag);
    t->figures++;
    t->say.text += s.text;
    t->say.text_hold += s.text_hold;
    t->say.made += s.made;
    t->say.made_hold += s.made_hold;
    t->say.ours += s.ours;
    t->say.ours_hold += s.ours_hold;
    t->say.wrong |= s.wrong;
    for (size_t m = 0; m < f->e->nmetric; m++) {
        const struct verdict v = figure_verdict(f, m);
        const bool given = is_given(f->e->metric[m].stat);
        *(given ? &t->given : &t->measured) += v.bounded;
        *(given ? &t->given_within : &t->measured_within) += v.within;
    }
}

/* Adds one figure to the sum; t: it alone. False and diagnostics. */
static bool
one(const char *name, struct totals *sum, struct totals *t, struct diag_sink *diag)
{
    char *path = figure_find(name), *kept = path ? figure_files_kept(path) : NULL;
    struct experiment *e = NULL;
    struct figure *f = NULL;
    memset(t, 0, sizeof *t);
    const bool has = kept && !access(kept, R_OK);
    if (has && (e = experiment_load(path, false, diag)))
        f = figure_read(e, kept, diag);
    if (f) {
        add(t, f, diag);
        add(sum, f, diag);
    } else {
        sum->without++;
    }
    figure_free(f);
    experiment_free(e);
    free(kept);
    free(path);
    return (f || !has) && !t->say.wrong;
}

static bool
of_document(const char *name, const char *document)
{
    const size_t n = strlen(document);
    return !strncmp(name, document, n) && name[n] == '/';
}

bool
totals_of(const char *document, struct totals *t, struct diag_sink *diag)
{
    char **names = figure_names();
    struct totals each;
    bool ok = true;
    memset(t, 0, sizeof *t);
    for (size_t i = 0; names[i]; i++)
        if (of_document(names[i], document))
            ok &= one(names[i], t, &each, diag);
    allot_names_free(names);
    return ok;
}

static void
cell(struct strbuf *out, size_t part, size_t of)
{
    if (of)
        strbuf_printf(out, " %zu of %zu |", part, of);
    else
        strbuf_addz(out, " |");
}

static void
row(struct strbuf *out, const char *name, const struct totals *t)
{
    strbuf_printf(out, "| %s |", name);
    cell(out, t->say.text_hold, t->say.text);
    cell(out, t->say.made_hold, t->say.made);
    cell(out, t->measured_within, t->measured);
    cell(out, t->given_within, t->given);
    strbuf_addz(out, "\n");
}

bool
totals_block(const char *document, struct strbuf *out, struct diag_sink *diag)
{
    static const char *const documents[] = {"000", "001", "002", "003", "004"};
    struct totals sum = {0}, t;
    bool ok = true;
    strbuf_printf(
        out,
        "| %s | statements that hold | ... true by construction | numbers within their "
        "bound | ... of machines, kernels and blocks |\n"
        "| --- | --- | --- | --- | --- |\n",
        *document ? "figure" : "document");
    for (size_t i = 0; !*document && i < sizeof documents / sizeof *documents; i++) {
        ok &= totals_of(documents[i], &t, diag);
        row(out, documents[i], &t);
    }
    char **names = figure_names();
    for (size_t i = 0; *document && names[i]; i++) {
        if (!of_document(names[i], document))
            continue;
        ok &= one(names[i], &sum, &t, diag);
        if (t.say.text + t.say.made + t.measured + t.given)
            row(out, names[i] + strlen(document) + 1, &t);
    }
    allot_names_free(names);
    if (*document)
        row(out, "**all**", &sum);
    return ok;
}

bool
totals_value(const struct totals *t, const char *word, double *v)
{
    const struct {
        const char *word;
        size_t value;
    } words[] = {{"held", t->say.text_hold},      {"statements", t->say.text},
                 {"within", t->measured_within},  {"bounded", t->measured},
                 {"made held", t->say.made_hold}, {"made", t->say.made},
                 {"figures", t->figures}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].word, word)) {
            *v = (double)words[i].value;
            return true;
        }
    return false;
}
