/* figure_set.c: see figure_set.h. */
#include "report/figure_set.h"

#include "base/file.h"
#include "report/figure_files.h"
#include "report/html_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* named: also a figure without any value. */
static bool
add(struct figure_set *x, struct store *s, const char *name, bool quick, bool named,
    struct diag_sink *diag)
{
    char *path = figure_find(name);
    struct experiment *e = path ? experiment_load(path, quick, diag) : NULL;
    struct figure *f = e ? figure_make(e, s, diag) : NULL;
    const bool keep = f && (named || figure_known(f));
    if (!path)
        diag_error(diag, "there is no experiment '%s'", name);
    free(path);
    if (keep) {
        *vec_push(&x->experiments) = e;
        *vec_push(&x->figures) = f;
        *vec_push(&x->names) = arena_strdup(&x->mem, name);
        return true;
    }
    figure_free(f);
    experiment_free(e);
    return f != NULL;
}

/* One line: the first error of why, at its place. */
static void
leave_out(struct figure_set *x, const char *name, const struct diag_sink *why,
          struct diag_sink *diag)
{
    size_t first = 0;
    while (first + 1 < why->n && why->list[first]->level != DIAG_ERROR)
        first++;
    const struct diag *d = why->n ? why->list[first] : NULL;
    const struct diag_loc at = {
        .file = d ? d->file : NULL, .line = d ? d->line : 0, .col = d ? d->col : 0};
    diag_add(diag, DIAG_WARNING, at.file ? &at : NULL, "%s is left out: %s", name,
             d ? d->message : "it cannot be read");
    x->left_out++;
}

bool
figure_set_read(struct figure_set *x, struct store *s, const char *const *names, size_t n,
                bool quick, struct diag_sink *diag)
{
    char **all = n ? NULL : figure_names();
    for (size_t i = 0; all ? all[i] != NULL : i < n; i++) {
        const char *name = all ? all[i] : names[i];
        struct diag_sink why = diag_child(diag);
        const bool ok = add(x, s, name, quick, !all, &why);
        const bool ends = !store_good(s) || why.told_cancelled;
        if (!ok && !ends)
            leave_out(x, name, &why, diag);
        else
            diag_append(diag, &why);
        diag_free(&why);
        if (ends)
            break;
    }
    allot_names_free(all);
    return store_good(s) && !diag->errors;
}

static bool
write_html(const struct figure_set *x, struct store *s, const char *folder,
           struct strbuf *wrote, struct diag_sink *diag)
{
    struct strbuf out = {0}, path = {0};
    if (!file_folder(folder))
        return diag_error(diag, "cannot make the folder %s: %s", folder, strerror(errno));
    strbuf_printf(&path, "%s/index.html", folder);
    bool ok = html_report((const struct figure *const *)x->figures.v, x->names.v,
                          x->figures.n, s, &out, diag) &&
              file_put(path.s, out.s, out.n, stdout, diag) && store_good(s);
    if (ok)
        strbuf_printf(wrote, "%s: %zu figures", path.s, x->figures.n);
    strbuf_free(&out);
    strbuf_free(&path);
    return ok;
}

bool
figure_set_write(const struct figure_set *x, struct store *s,
                 const struct figure_set_files *to, FILE *f, struct strbuf *wrote,
                 struct diag_sink *diag)
{
    const struct figure *const *v = (const struct figure *const *)x->figures.v;
    struct strbuf md = {0}, csv = {0};
    bool ok = !to->html || write_html(x, s, to->html, wrote, diag);
    if (ok && to->markdown)
        ok = figure_files_markdown(v, x->figures.n, &md, diag) &&
             file_put(to->markdown, md.s, md.n, f, diag);
    if (ok && to->csv) {
        figure_files_csv(v, x->names.v, x->figures.n, &csv);
        ok = file_put(to->csv, csv.s ? csv.s : "", csv.n, f, diag);
    }
    strbuf_free(&md);
    strbuf_free(&csv);
    return ok;
}

void
figure_set_free(struct figure_set *x)
{
    for (size_t i = 0; i < x->figures.n; i++)
        figure_free(x->figures.v[i]);
    for (size_t i = 0; i < x->experiments.n; i++)
        experiment_free(x->experiments.v[i]);
    vec_free(&x->figures);
    vec_free(&x->experiments);
    vec_free(&x->names);
    arena_free(&x->mem);
}
