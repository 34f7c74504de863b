/* figure_files.c: see figure_files.h. */
#include "report/figure_files.h"

#include "base/file.h"
#include "experiments/origin.h"
#include "report/figure_kept.h"
#include "report/figure_report.h"
#include "report/page.h"
#include "report/page_values.h"
#include "report/totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *
figure_files_path(const char *folder, const char *name, const char *metric,
                  const char *ending)
{
    struct strbuf b = {0};
    const char *slash = strrchr(name, '/');
    size_t n = strlen(name);
    bool file = n > 5 && !strcmp(name + n - 5, ".yaml");
    const char *stem = file && slash ? slash + 1 : name;
    strbuf_printf(&b, "%s/%.*s%s%s.%s", folder, (int)(strlen(stem) - (file ? 5 : 0)),
                  stem, *metric ? "-" : "", metric, ending);
    for (char *c = b.s + strlen(folder) + 1; *c; c++)
        if (*c == '/')
            *c = '-';
    return strbuf_take(&b);
}

static bool
write_to(const char *path, const struct strbuf *b, struct diag_sink *diag)
{
    return file_put(path, b->s ? b->s : "", b->n, stdout, diag);
}

bool
figure_files_write(const struct figure *f, const char *folder, const char *name,
                   const char *format, const struct chart_look *look,
                   struct strbuf *wrote, struct diag_sink *diag)
{
    struct strbuf csv = {0};
    figure_csv(f, &csv);
    char *path = figure_files_path(folder, name, "", "csv");
    bool ok = write_to(path, &csv, diag);
    strbuf_free(&csv);
    strbuf_addz(wrote, ok ? path : "");
    free(path);
    for (size_t m = 0; ok && m < f->e->nmetric; m++) {
        const char *metric = f->e->nmetric > 1 ? f->e->metric[m].name : "";
        path = figure_files_path(folder, name, metric, format);
        ok = figure_chart(f, m, path, look, diag);
        if (ok)
            strbuf_printf(wrote, ", %s", path);
        free(path);
    }
    return ok;
}

char *
figure_files_beside(const char *experiment, const char *folder)
{
    struct strbuf b = {0};
    const char *slash = strrchr(experiment, '/'), *stem = slash ? slash + 1 : experiment;
    strbuf_printf(&b, "%.*s%s/%.*s.csv", (int)(stem - experiment), experiment, folder,
                  (int)strlen(stem) - 5, stem);
    return strbuf_take(&b);
}

char *
figure_files_kept(const char *experiment)
{
    return figure_files_beside(experiment, "results");
}

bool
figure_files_keep(const struct figure *f, const char *name, const char *experiment,
                  char **path, struct diag_sink *diag)
{
    struct strbuf b = {0};
    struct origin o;
    *path = figure_files_kept(experiment);
    if (f->missing || f->failed)
        return diag_error(diag, "the results of %s stay as they were: runs are missing",
                          name);
    char *slash = strrchr(*path, '/');
    *slash = 0;
    bool ok = file_folder(*path) ||
              diag_error(diag, "cannot make the folder %s: %s", *path, strerror(errno));
    *slash = '/';
    char *small = figure_kept_small(experiment);
    ok = origin_make(f->e, small, &o, diag) && ok;
    free(small);
    strbuf_printf(&b, "# allot paper %s, allot %s\n", name, run_version());
    origin_text(&o, &b);
    origin_free(&o);
    figure_results(f, &b);
    ok = ok && write_to(*path, &b, diag);
    strbuf_free(&b);
    return ok;
}

/* The files of a figure that was shown. */
static bool
write_files(const struct figure *f, const char *name, const char *path,
            const struct figure_files *to, struct strbuf *wrote, struct diag_sink *diag)
{
    struct strbuf csv = {0}, some = {0};
    char *kept = NULL;
    bool ok = !to->folder ||
              figure_files_write(f, to->folder, name, to->format, &to->look, &some, diag);
    if (some.n)
        strbuf_printf(wrote, "wrote %s\n", some.s);
    bool keeps = to->keep && figure_files_keep(f, name, path, &kept, diag);
    if (keeps)
        strbuf_printf(wrote, "wrote %s\n", kept);
    figure_csv(f, &csv);
    ok = ok && (!to->csv || write_to(to->csv, &csv, diag));
    free(kept);
    strbuf_free(&some);
    strbuf_free(&csv);
    return ok && (keeps || !to->keep);
}

bool
figure_files_show(const struct experiment *e, struct store *s, const char *name,
                  const char *path, const struct figure_files *to, FILE *out,
                  struct strbuf *wrote, struct diag_sink *diag)
{
    struct strbuf text = {0};
    struct figure *f = figure_make(e, s, diag);
    if (to->keep_small || to->check_small) {
        const bool good = f && (to->keep_small ? figure_kept_put(f, name, diag)
                                               : figure_kept_same(f, name, diag));
        figure_free(f);
        return good;
    }
    bool ok = f && figure_text(f, to->markdown, &text, diag);
    if (ok) {
        fprintf(out, "%s%s", text.s, to->spaced ? "\n" : "");
        fflush(out);
        ok = write_files(f, name, path, to, wrote, diag);
    }
    strbuf_free(&text);
    figure_free(f);
    return ok;
}

/* What a block is now; text NULL: it stays as it was, n bytes. */
static void
settle(struct figure_blocks *b, const char *name, const struct strbuf *text,
       const char *was, size_t n, const struct diag_loc *where, struct strbuf *out,
       struct diag_sink *diag)
{
    const bool same = text && text->n == n && !memcmp(text->s, was, n);
    if (text && !same && b->check)
        diag_add(diag, DIAG_ERROR, where, "the block of %s is not what its results give",
                 name);
    b->missing += !text;
    b->stale += text && !same;
    strbuf_add(out, text ? text->s : was, text ? text->n : n);
}

/* A block from the values kept beside its experiment, or of a document's totals. */
static bool
fill(void *user, const char *name, const char *was, size_t n,
     const struct diag_loc *where, struct strbuf *out, struct diag_sink *diag)
{
    struct figure_blocks *b = user;
    struct arena mem = {0};
    if (!strcmp(name, "totals") || !strncmp(name, "totals ", 7)) {
        struct strbuf table = {0};
        const bool made = totals_block(name[6] ? name + 7 : "", &table, diag);
        settle(b, name, made ? &table : NULL, was, n, where, out, diag);
        strbuf_free(&table);
        return true;
    }
    char *path = figure_find(name), *kept = path ? figure_files_kept(path) : NULL;
    const char *near = path ? NULL : figure_near(name, &mem);
    struct experiment *e = NULL;
    struct figure *f = NULL;
    struct strbuf text = {0};
    if (!path)
        diag_add(diag, DIAG_ERROR, where, "there is no experiment '%s'%s%s%s", name,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    else if (access(kept, R_OK)) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, where,
                     "no results are kept for %s: cannot read %s", name, kept);
        diag_hint(diag, d, "allot paper %s --write-docs", name);
    } else if ((e = experiment_load(path, false, diag)))
        f = figure_read(e, kept, diag);
    bool ok = f && figure_block(f, &text, diag);
    settle(b, name, ok ? &text : NULL, was, n, where, out, diag);
    strbuf_free(&text);
    figure_free(f);
    experiment_free(e);
    free(kept);
    free(path);
    arena_free(&mem);
    return true; /* a block without results stays as it is */
}

bool
figure_files_fill(const char *page, const char *text, struct figure_blocks *b,
                  struct strbuf *out, struct diag_sink *diag)
{
    return page_fill(page, text, fill, b, out, diag);
}

/* -- a page's numbers -- */

/* A figure with its kept values, read once; NULL and a diagnostic. */
static struct figure *
known(struct figure_blocks *b, const char *name, const struct diag_loc *where,
      struct diag_sink *diag)
{
    struct figure_known *k = b->known;
    while (k && strcmp(k->name, name) != 0)
        k = k->next;
    if (k)
        return k->f;
    char *path = figure_find(name), *kept = path ? figure_files_kept(path) : NULL;
    k = xcalloc(1, sizeof *k);
    *k = (struct figure_known){.next = b->known, .name = xstrdup(name)};
    b->known = k;
    if (!path)
        diag_add(diag, DIAG_ERROR, where, "there is no experiment '%s'", name);
    else if (access(kept, R_OK))
        diag_add(diag, DIAG_ERROR, where, "no results are kept for %s: cannot read %s",
                 name, kept);
    else if ((k->e = experiment_load(path, false, diag)))
        k->f = figure_read(k->e, kept, diag);
    free(path);
    free(kept);
    return k->f;
}

static void
forget(struct figure_blocks *b)
{
    for (struct figure_known *k = b->known, *next; k; k = next) {
        next = k->next;
        figure_free(k->f);
        experiment_free(k->e);
        free(k->name);
        free(k);
    }
    b->known = NULL;
}

static bool
value_of(void *user, const char *name, const char *text, double *v,
         const struct diag_loc *where, struct diag_sink *diag)
{
    struct totals t;
    if (!strchr(name, '/')) {
        const bool ok = totals_of(name, &t, diag);
        if (ok && t.figures && totals_value(&t, text, v))
            return true;
        diag_add(diag, DIAG_ERROR, where, "there is no total '%s' of '%s'", text, name);
        return false;
    }
    struct figure *f = known(user, name, where, diag);
    const char *wrong = f ? figure_value(f, text, v) : NULL;
    if (wrong)
        diag_add(diag, DIAG_ERROR, where, "%s %s: %s", name, text, wrong);
    return f && !wrong;
}

/* The number that the list has for a section; *at: where it stands in the text, NULL: nowhere. */
static size_t
listed(const char *list, const char *page, const char *title, const char **at)
{
    struct strbuf key = {0};
    size_t n = 0;
    strbuf_printf(&key, "%s\t%s\t", page, title);
    *at = strstr(list, key.s);
    while (*at && *at > list && (*at)[-1] != '\n')
        *at = strstr(*at + 1, key.s);
    if (*at) {
        *at += key.n;
        n = strtoul(*at, NULL, 10);
    }
    strbuf_free(&key);
    return n;
}

/* Numbers that are neither references nor marked, against unreferenced.tsv. */
static bool
hold_open(const char *page, const struct page_values *p, struct figure_blocks *b,
          struct diag_sink *diag)
{
    const char *slash = strrchr(page, '/'), *name = slash ? slash + 1 : page, *at;
    struct arena mem = {0};
    struct strbuf now = {0};
    const char *path =
        arena_printf(&mem, "%.*sunreferenced.tsv", (int)(name - page), page);
    char *list = file_read(path, NULL);
    bool ok = true, shrinks = false;
    for (size_t i = 0; list && i < p->sections.n; i++) {
        const struct page_section *s = &p->sections.v[i];
        const size_t may = listed(list, name, s->title, &at);
        const struct diag_loc loc = {.file = page, .line = 0, .col = 0};
        if (s->open > may || (b->check && s->open < may)) {
            struct diag *d = diag_add(
                diag, DIAG_ERROR, &loc,
                "section '%s' has %zu numbers that are neither references nor marked as "
                "fixed; %s says %zu",
                s->title, s->open, path, may);
            diag_hint(diag, d,
                      s->open > may
                          ? "write NUMBER<!--=FIGURE VALUE--> or NUMBER<!--fixed--> "
                            "(docs/experiments.md)"
                          : "allot paper --write-docs shortens the list");
            b->open++;
        }
        if (!at || s->open >= may || b->check)
            continue;
        const size_t digits = strspn(at, "0123456789"), from = (size_t)(at - list);
        now.n = 0;
        strbuf_add(&now, list, from);
        strbuf_printf(&now, "%zu%s", s->open, at + digits);
        free(list);
        list = xstrdup(now.s);
        shrinks = true;
    }
    ok = !shrinks || write_to(path, &(struct strbuf){.s = list, .n = strlen(list)}, diag);
    strbuf_free(&now);
    free(list);
    arena_free(&mem);
    return ok;
}

bool
figure_files_page(const char *page, struct figure_blocks *b, struct diag_sink *diag)
{
    struct strbuf blocks = {0}, out = {0};
    struct page_values p = {.value = value_of, .user = b, .check = b->check};
    char *text = file_read(page, NULL);
    const size_t was = b->stale;
    if (!text)
        return diag_error(diag, "cannot read the page %s: %s", page, strerror(errno));
    bool ok = figure_files_fill(page, text, b, &blocks, diag);
    if (ok && blocks.n && !page_values_fill(page, blocks.s, &p, &out, diag))
        b->missing++;
    b->numbers += p.stale;
    ok = ok && hold_open(page, &p, b, diag) &&
         (b->check || (b->stale == was && !p.stale) || write_to(page, &out, diag));
    forget(b);
    page_values_free(&p);
    strbuf_free(&blocks);
    strbuf_free(&out);
    free(text);
    return ok;
}

void
figure_files_list(FILE *f, struct diag_sink *diag)
{
    char **names = figure_names();
    for (size_t i = 0; names[i]; i++) {
        char *path = figure_find(names[i]);
        char *title = path ? experiment_title(path, diag) : NULL;
        fprintf(f, "%-20s %s\n", names[i], title ? title : "(cannot be read)");
        free(title);
        free(path);
    }
    allot_names_free(names);
}

bool
figure_files_markdown(const struct figure *const *f, size_t n, struct strbuf *out,
                      struct diag_sink *diag)
{
    bool ok = true;
    strbuf_addz(out, "# allot: results\n");
    for (size_t i = 0; i < n; i++) {
        strbuf_addz(out, "\n");
        ok &= figure_text(f[i], true, out, diag);
    }
    return ok;
}

void
figure_files_csv(const struct figure *const *f, const char *const *names, size_t n,
                 struct strbuf *out)
{
    struct strbuf one = {0};
    for (size_t i = 0; i < n; i++) {
        one.n = 0;
        figure_csv(f[i], &one);
        char *save, *line = strtok_r(one.s, "\n", &save);
        if (!i)
            strbuf_printf(out, "figure,%s\n", line);
        while ((line = strtok_r(NULL, "\n", &save))) {
            csv_field(out, names[i]);
            strbuf_printf(out, ",%s\n", line);
        }
    }
    strbuf_free(&one);
}
