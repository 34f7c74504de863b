/* figure_report.c: figures for people and programs. */
#include "report/figure_report.h"

#include "experiments/sweep.h"
#include "report/chart.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *
figure_number(const struct exp_metric *m, double v, char buf[32])
{
    if (!isfinite(v))
        snprintf(buf, 32, "-");
    else if (exp_as_percent(m->as))
        snprintf(buf, 32, "%+.2f", v == 0 ? 0.0 : v); /* no -0.00 */
    else if (m->as == EXP_RATIO)
        snprintf(buf, 32, "%.4f", v);
    else if (v == floor(v) && fabs(v) < 1e15)
        snprintf(buf, 32, "%.0f", v);
    else
        snprintf(buf, 32, fabs(v) < 10 ? "%.4f" : "%.2f", v);
    return buf;
}

static bool
has_paper(const struct figure *f, size_t k, size_t m)
{
    for (size_t r = 0; r < f->e->nrow; r++)
        if (isfinite(f->paper[figure_at(f->e, r, k, m)]))
            return true;
    return false;
}

bool
figure_shows(const struct figure *f, size_t k, size_t m)
{
    const struct experiment *e = f->e;
    if (e->metric[m].as != EXP_VALUE &&
        (e->series[k].base == (int)k || e->series[k].base < 0))
        return false;
    return true;
}

/* -- text -- */

struct columns {
    const char **head;
    size_t n;
    struct arena mem;
};

/* A text of the experiment. In Markdown it is one line, "|" ends no cell and "<" begins
 * no HTML. */
static void
add_text(struct strbuf *out, const char *s, bool markdown)
{
    if (!markdown) {
        strbuf_addz(out, s);
        return;
    }
    for (; *s; s++)
        strbuf_addz(out, *s == '|'                                ? "\\|"
                         : *s == '<'                              ? "&lt;"
                         : *s == '\n' || *s == '\t' || *s == '\r' ? " "
                                                                  : (char[]){*s, 0});
}

static void
column(struct columns *c, const char *text)
{
    c->head[c->n++] = arena_strdup(&c->mem, text);
}

static void
metric_table(const struct figure *f, size_t m, bool markdown, struct strbuf *out)
{
    const struct experiment *e = f->e;
    struct columns c = {0};
    char b[32];
    const bool off = e->metric[m].as == EXP_EACH; /* measured: how far ours are from it */
    c.head = xcalloc(3 * e->nseries + 1, sizeof *c.head);
    column(&c, "workload");
    for (size_t k = 0; k < e->nseries; k++)
        if (figure_shows(f, k, m)) {
            column(&c, e->series[k].label);
            if (has_paper(f, k, m))
                column(&c, off ? "measured" : "paper");
            if (has_paper(f, k, m) && off)
                column(&c, "off, %");
        }
    struct table *t = markdown ? NULL : table_new(c.n, c.head);
    for (size_t i = 0; markdown && i < 2; i++) {
        for (size_t k = 0; k < c.n; k++) {
            strbuf_addz(out, "| ");
            add_text(out, i ? k ? "---:" : "---" : c.head[k], true);
            strbuf_addz(out, " ");
        }
        strbuf_addz(out, "|\n");
    }
    for (size_t r = 0; r < e->nrow; r++) {
        if (markdown) {
            strbuf_addz(out, "| ");
            add_text(out, e->row[r].label, true);
            strbuf_addz(out, " ");
        } else
            table_cell(t, "%s", e->row[r].label);
        for (size_t k = 0; k < e->nseries; k++)
            for (int at = 0, n = !figure_shows(f, k, m) ? 0
                                 : !has_paper(f, k, m)  ? 1
                                 : off                  ? 3
                                                        : 2;
                 at < n; at++) {
                double v = (at ? f->paper : f->ours)[figure_at(e, r, k, m)];
                const char *s = figure_number(&e->metric[m], v, b);
                if (at == 2 && snprintf(b, sizeof b, "%+.1f", figure_off(f, r, k, m)))
                    s = isnan(figure_off(f, r, k, m)) ? "-" : b;
                if (markdown)
                    strbuf_printf(out, "| %s ", s);
                else
                    table_cell(t, "%s", s);
            }
        if (markdown)
            strbuf_addz(out, "|\n");
    }
    if (t)
        table_print(t, out);
    table_free(t);
    free(c.head);
    arena_free(&c.mem);
}

/* The means that the paper states of whole series, beside ours. */
static void
means_text(const struct figure *f, size_t m, struct strbuf *out)
{
    const struct experiment *e = f->e;
    const struct exp_metric *metric = &e->metric[m];
    const char *before =
        e->arithmetic ? "arithmetic mean of all rows: " : "geometric mean of all rows: ";
    char a[32], b[32];
    for (size_t k = 0; k < e->nseries; k++) {
        double paper = f->paper_mean[m * e->nseries + k];
        if (!isfinite(paper))
            continue;
        strbuf_printf(out, "%s%s %s, the paper's %s%s%s", before, e->series[k].label,
                      figure_number(metric, figure_mean(f, k, m), a),
                      figure_number(metric, paper, b), *metric->unit ? " " : "",
                      metric->unit);
        before = "; ";
    }
    if (*before == ';')
        strbuf_addz(out, "\n");
}

void
figure_verdict_text(const struct figure *f, size_t m, struct strbuf *out)
{
    const struct exp_metric *metric = &f->e->metric[m];
    struct verdict v = figure_verdict(f, m);
    char a[32], b[32];
    means_text(f, m, out);
    if (!v.cells)
        return;
    strbuf_printf(out, "%zu values beside the paper's:", v.cells);
    if (v.signs)
        strbuf_printf(out, " signs equal in %zu of %zu;", v.signs_equal, v.signs);
    if (metric->as == EXP_EACH) {
        size_t within;
        double off = figure_median_off(f, 0, f->e->nseries - 1, m, &within);
        strbuf_printf(out, " within 5 %% in %zu; median distance %.1f %%\n", within, off);
        return;
    }
    if (metric->as == EXP_VALUE || metric->as == EXP_DIFFERENCE)
        strbuf_printf(out, " the same number in %zu;", v.equal);
    if (isfinite(v.rank))
        strbuf_printf(out, " rank correlation %+.2f;", v.rank);
    if (isfinite(v.mean_ours))
        strbuf_printf(out, " geometric mean %s%s%s, the paper's %s%s%s",
                      figure_number(metric, v.mean_ours, a), *metric->unit ? " " : "",
                      metric->unit, figure_number(metric, v.mean_paper, b),
                      *metric->unit ? " " : "", metric->unit);
    else
        strbuf_addz(out, " no geometric mean of values that are not positive");
    strbuf_addz(out, "\n");
}

void
figure_results(const struct figure *f, struct strbuf *out)
{
    const struct experiment *e = f->e;
    strbuf_addz(out, "workload,series,metric,value\n");
    for (size_t m = 0; m < e->nmetric; m++)
        for (size_t r = 0; r < e->nrow; r++)
            for (size_t k = 0; k < e->nseries; k++) {
                double v = f->ours[figure_at(e, r, k, m)];
                if (!isfinite(v))
                    continue;
                csv_field(out, e->row[r].label);
                strbuf_addz(out, ",");
                csv_field(out, e->series[k].label);
                strbuf_addz(out, ",");
                csv_field(out, e->metric[m].name);
                strbuf_printf(out, ",%.17g\n", v);
            }
}

/* A paragraph or item in lines of at most 118 columns; `s` holds no line breaks. */
static void
wrapped(struct strbuf *out, const char *indent, const char *s)
{
    enum { COLUMNS = 118 };
    size_t at = 0;
    for (const char *p = s; *p;) {
        size_t n = strcspn(p, " ");
        if (at && at + 1 + n > COLUMNS) {
            strbuf_printf(out, "\n%s", indent);
            at = strlen(indent);
        } else if (at) {
            strbuf_addz(out, " ");
            at++;
        }
        strbuf_add(out, p, n);
        at += n;
        p += n + strspn(p + n, " ");
    }
    strbuf_addz(out, "\n");
}

static void
add_item(struct strbuf *out, const char *before, const char *says)
{
    struct strbuf item = {0};
    strbuf_printf(&item, "- %s ", before);
    add_text(&item, says, true);
    wrapped(out, "  ", item.s);
    strbuf_free(&item);
}

/* "12 of 17", and those that are not the text's. */
static void
add_counts(const struct statements *n, struct strbuf *out)
{
    strbuf_printf(out, "%zu of %zu", n->text_hold, n->text);
    if (n->made)
        strbuf_printf(out, "; true by construction: %zu of %zu", n->made_hold, n->made);
    if (n->ours)
        strbuf_printf(out, "; our own: %zu of %zu", n->ours_hold, n->ours);
}

static bool
block_checks(const struct figure *f, struct strbuf *out, struct diag_sink *diag)
{
    bool ok = true;
    struct strbuf fail = {0};
    for (size_t i = 0; i < f->e->ncheck; i++) {
        int h = -1;
        ok &= figure_check(f, i, &h, diag);
        if (h == 1)
            continue;
        add_item(&fail, h ? "Not known:" : "Does not hold:", f->e->check[i].says);
    }
    if (f->e->ncheck) {
        const struct statements n = figure_statements(f, NULL);
        strbuf_addz(out, "\nStatements of the text that hold: ");
        add_counts(&n, out);
        strbuf_printf(out, ".\n%s%s", fail.n ? "\n" : "", fail.n ? fail.s : "");
    }
    strbuf_free(&fail);
    return ok;
}

bool
figure_block(const struct figure *f, struct strbuf *out, struct diag_sink *diag)
{
    const struct experiment *e = f->e;
    for (size_t m = 0; m < e->nmetric; m++) {
        strbuf_addz(out, m ? "\n" : "");
        add_text(out, e->title, true);
        strbuf_addz(out, ". ");
        add_text(out, e->metric[m].label, true);
        strbuf_addz(out, *e->metric[m].unit ? ", " : "");
        add_text(out, e->metric[m].unit, true);
        strbuf_addz(out, ":\n\n");
        metric_table(f, m, true, out);
        struct strbuf verdict = {0};
        figure_verdict_text(f, m, &verdict);
        char *save = NULL;
        for (char *line = verdict.s ? strtok_r(verdict.s, "\n", &save) : NULL; line;
             line = strtok_r(NULL, "\n", &save)) {
            strbuf_addz(out, "\n");
            wrapped(out, "", line);
        }
        strbuf_free(&verdict);
    }
    return block_checks(f, out, diag);
}

static bool
checks_text(const struct figure *f, bool markdown, struct strbuf *out,
            struct diag_sink *diag)
{
    size_t hold = 0, known = 0;
    bool ok = true;
    if (!f->e->ncheck)
        return true;
    strbuf_addz(out, "\nWhat the text states:\n");
    if (markdown)
        strbuf_addz(out, "\n");
    for (size_t i = 0; i < f->e->ncheck; i++) {
        int h = -1;
        ok &= figure_check(f, i, &h, diag);
        strbuf_printf(out, "%s%-7s ", markdown ? "- " : "  ",
                      h == 1   ? "holds"
                      : h == 0 ? "NOT SO"
                               : "unknown");
        add_text(out, f->e->check[i].says, markdown);
        strbuf_addz(out, "\n");
        hold += h == 1;
        known += h >= 0;
    }
    strbuf_printf(out, "%s%zu of %zu statements hold\n", markdown ? "\n" : "", hold,
                  known);
    return ok;
}

bool
figure_text(const struct figure *f, bool markdown, struct strbuf *out,
            struct diag_sink *diag)
{
    const struct experiment *e = f->e;
    strbuf_addz(out, markdown ? "## " : "");
    add_text(out, e->title, markdown);
    strbuf_addz(out, "\n");
    if (*e->source) {
        strbuf_addz(out, markdown ? "\n" : "");
        add_text(out, e->source, markdown);
        strbuf_addz(out, "\n");
    }
    for (size_t m = 0; m < e->nmetric; m++) {
        strbuf_printf(out, "\n%s", markdown ? "**" : "");
        add_text(out, e->metric[m].label, markdown);
        strbuf_addz(out, *e->metric[m].unit ? ", " : "");
        add_text(out, e->metric[m].unit, markdown);
        strbuf_addz(out, markdown ? "**\n\n" : "\n");
        metric_table(f, m, markdown, out);
        if (markdown)
            strbuf_addz(out, "\n");
        struct strbuf verdict = {0};
        figure_verdict_text(f, m, &verdict);
        char *line = verdict.s, *save = NULL;
        for (line = line ? strtok_r(line, "\n", &save) : NULL; line;
             line = strtok_r(NULL, "\n", &save)) {
            add_text(out, line, markdown);
            strbuf_addz(out, "\n");
        }
        strbuf_free(&verdict);
    }
    bool ok = checks_text(f, markdown, out, diag);
    if (*e->note) {
        strbuf_addz(out, "\n");
        add_text(out, e->note, markdown);
        strbuf_addz(out, "\n");
    }
    if (f->missing || f->failed)
        strbuf_printf(out, "\n%zu runs are missing, %zu failed\n", f->missing, f->failed);
    return ok;
}

/* -- CSV -- */

void
csv_field(struct strbuf *out, const char *s)
{
    if (!strpbrk(s, ",\"\n\r")) {
        strbuf_addz(out, s);
        return;
    }
    strbuf_addz(out, "\"");
    for (; *s; s++) /* a line of its own for each record, whatever is in it */
        strbuf_printf(out, "%s%c", *s == '"' ? "\"" : "",
                      *s == '\n' || *s == '\r' ? ' ' : *s);
    strbuf_addz(out, "\"");
}

static void
csv_value(struct strbuf *out, double v)
{
    strbuf_addz(out, ",");
    if (isfinite(v))
        strbuf_printf(out, "%.10g", v);
}

void
figure_csv(const struct figure *f, struct strbuf *out)
{
    const struct experiment *e = f->e;
    strbuf_addz(out, "workload,series,machine,variant,metric,unit,ours,paper\n");
    for (size_t m = 0; m < e->nmetric; m++)
        for (size_t r = 0; r < e->nrow; r++)
            for (size_t k = 0; k < e->nseries; k++) {
                const struct exp_series *s = &e->series[k];
                const char *const texts[] = {e->row[r].label,   s->label,
                                             s->machine,        s->variant,
                                             e->metric[m].name, e->metric[m].unit};
                if (!figure_shows(f, k, m))
                    continue;
                for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                    if (i)
                        strbuf_addz(out, ",");
                    csv_field(out, texts[i]);
                }
                csv_value(out, f->ours[figure_at(e, r, k, m)]);
                csv_value(out, f->paper[figure_at(e, r, k, m)]);
                strbuf_addz(out, "\n");
            }
}

/* -- chart -- */

bool
figure_swept(const struct figure *f, size_t m)
{
    size_t shown = 0;
    for (size_t k = 0; k < f->e->nseries; k++) {
        if (!figure_shows(f, k, m))
            continue;
        if (!f->e->series[k].line)
            return false;
        shown++;
    }
    return shown > 0;
}

/* What is shown of a metric: series, ours and the paper's, by rows. */
struct chart_columns {
    size_t n, *which;
    const char **label;
    const double **from;
    struct chart_style *style;
    double *mean;
    struct arena mem;
};

static void
chart_columns_of(const struct figure *f, size_t m, struct chart_columns *c)
{
    const struct experiment *e = f->e;
    size_t most = 2 * e->nseries + 1;
    *c = (struct chart_columns){.which = xcalloc(most, sizeof *c->which),
                                .label = xcalloc(most, sizeof *c->label),
                                .from = xcalloc(most, sizeof *c->from),
                                .style = xcalloc(most, sizeof *c->style),
                                .mean = xcalloc(most, sizeof *c->mean)};
    for (size_t k = 0; k < e->nseries; k++)
        for (int paper = 0;
             figure_shows(f, k, m) && paper <= (has_paper(f, k, m) ? 1 : 0); paper++) {
            c->label[c->n] = paper
                                 ? arena_printf(&c->mem, "%s, paper", e->series[k].label)
                                 : e->series[k].label;
            c->from[c->n] = paper ? f->paper : f->ours;
            c->style[c->n] = (struct chart_style){(unsigned)k, paper, false};
            c->mean[c->n] = paper ? figure_paper_mean(f, k, m) : figure_mean(f, k, m);
            c->which[c->n++] = k;
        }
}

static void
chart_columns_free(struct chart_columns *c)
{
    free(c->which);
    free(c->label);
    free(c->from);
    free(c->style);
    free(c->mean);
    arena_free(&c->mem);
}

/* Do positive numbers grow by one factor, and over more than a decade and a half (1, 2, 4 ...
 * 64)? Then the axis is logarithmic. Over less a linear axis shows the distances, and its
 * labels have room. */
static bool
geometric(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] <= 0 || (i && fabs(x[i] / x[i - 1] / (x[1] / x[0]) - 1) > 0.01))
            return false;
    return n > 2 && x[n - 1] > 31 * x[0];
}

/* The series are values of a swept parameter: a line for each row and each text that the
 * series share, over the parameter. */
static bool
chart_of_sweep(const struct figure *f, size_t m, const struct chart_columns *s,
               const char *path, const char *ylabel, const struct chart_look *look,
               struct diag_sink *diag)
{
    const struct experiment *e = f->e;
    size_t most = s->n * e->nrow, lines = 0, points = 0;
    const char **line = xcalloc(s->n, sizeof *line),
               **label = xcalloc(most, sizeof *label);
    bool *paper = xcalloc(s->n, sizeof *paper);
    double *x = xcalloc(s->n, sizeof *x), *value = xcalloc(s->n * most, sizeof *value);
    struct chart_style *style = xcalloc(most, sizeof *style);
    size_t *line_of = xcalloc(s->n, sizeof *line_of),
           *point_of = xcalloc(s->n, sizeof *x);
    for (size_t i = 0; i < s->n; i++) {
        const struct exp_series *one = &e->series[s->which[i]];
        size_t l = 0, p = 0;
        while (l < lines &&
               (strcmp(line[l], one->line) != 0 || paper[l] != s->style[i].pale))
            l++;
        while (p < points && x[p] != one->at)
            p++;
        if (l == lines) {
            line[lines] = one->line;
            paper[lines++] = s->style[i].pale;
        }
        if (p == points)
            x[points++] = one->at;
        line_of[i] = l;
        point_of[i] = p;
    }
    /* The points in order: rank[p] is p's place. */
    size_t n = e->nrow * lines, *rank = xcalloc(points, sizeof *rank);
    double *sorted = xcalloc(points, sizeof *sorted);
    for (size_t p = 0; p < points; p++) {
        for (size_t q = 0; q < points; q++)
            rank[p] += x[q] < x[p];
        sorted[rank[p]] = x[p];
    }
    for (size_t i = 0; i < points * n; i++)
        value[i] = NAN;
    for (size_t r = 0; r < e->nrow; r++)
        for (size_t i = 0; i < s->n; i++)
            value[rank[point_of[i]] * n + r * lines + line_of[i]] =
                s->from[i][figure_at(e, r, s->which[i], m)];
    for (size_t r = 0; r < e->nrow; r++)
        for (size_t l = 0, hue = 0; l < lines; l++) {
            const char *row = e->nrow > 1 || !*line[l] ? e->row[r].label : "";
            label[r * lines + l] = arena_printf((struct arena *)&s->mem, "%s%s%s%s", row,
                                                *row && *line[l] ? ", " : "", line[l],
                                                paper[l] ? ", paper" : "");
            hue += l && !paper[l];
            style[r * lines + l] =
                (struct chart_style){(unsigned)(r * lines + hue), paper[l], false};
        }
    struct chart c = {.title = e->title,
                      .ylabel = ylabel,
                      .xlabel = e->series[s->which[0]].axis,
                      .kind = CHART_LINES,
                      .ngroups = points,
                      .nseries = n,
                      .series = label,
                      .value = value,
                      .x = sorted,
                      .log_x = geometric(sorted, points),
                      .look = look,
                      .style = style,
                      .below_zero = exp_as_below_zero(e->metric[m].as)};
    bool ok = chart_write(&c, path, diag);
    free(line);
    free(label);
    free(paper);
    free(x);
    free(value);
    free(style);
    free(line_of);
    free(point_of);
    free(rank);
    free(sorted);
    return ok;
}

bool
figure_chart(const struct figure *f, size_t m, const char *path,
             const struct chart_look *look, struct diag_sink *diag)
{
    const struct experiment *e = f->e;
    struct chart_columns s;
    chart_columns_of(f, m, &s);
    const char *ylabel = arena_printf(&s.mem, "%s%s%s", e->metric[m].label,
                                      *e->metric[m].unit ? ", " : "", e->metric[m].unit);
    if (figure_swept(f, m)) {
        bool drawn = chart_of_sweep(f, m, &s, path, ylabel, look, diag);
        chart_columns_free(&s);
        return drawn;
    }
    const char **groups = xcalloc(e->nrow + 1, sizeof *groups);
    double *value = xcalloc((e->nrow + 1) * (s.n + 1), sizeof *value),
           *x = xcalloc(e->nrow + s.n + 1, sizeof *x);
    bool mean = false;
    for (size_t r = 0; r < e->nrow; r++) {
        groups[r] = e->row[r].label;
        for (size_t i = 0; i < s.n; i++)
            value[r * s.n + i] = s.from[i][figure_at(e, r, s.which[i], m)];
    }
    groups[e->nrow] = e->arithmetic ? "arithmetic mean" : "geometric mean";
    for (size_t i = 0; i < s.n; i++) {
        value[e->nrow * s.n + i] = s.mean[i];
        mean |= isfinite(s.mean[i]) && !s.style[i].pale;
    }
    struct chart c = {.title = e->title,
                      .ylabel = ylabel,
                      .ngroups = e->nrow,
                      .nseries = s.n,
                      .groups = groups,
                      .series = s.label,
                      .value = value,
                      .style = s.style,
                      .look = look,
                      .below_zero = exp_as_below_zero(e->metric[m].as)};
    if (sweep_numbers(groups, e->nrow, false, x)) {
        c.kind = CHART_LINES; /* a parameter is swept */
        c.x = x;
    } else if (mean && e->nrow > 1) {
        c.ngroups++;
        c.mean = true;
    }
    bool ok = chart_write(&c, path, diag);
    free(groups);
    free(value);
    free(x);
    chart_columns_free(&s);
    return ok;
}
