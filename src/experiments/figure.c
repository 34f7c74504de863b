/* figure.c: sums over launches, the paper's numbers, the verdict. */
#define _GNU_SOURCE /* strverscmp */
#include "experiments/figure.h"
#include "experiments/compare.h"
#include "experiments/stored_energy.h"

#include "base/data.h"
#include "base/near.h"
#include "stats/stats.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- our values -- */

/* Sums a stored run's launches of the row's kernels; false: there are none. *joules: their
 * energy, *known: that of all of them is known. m: the run's machine, NULL: not known. */
static bool
sum_launches(const struct exp_row *row, const json_t *run, const struct machine *m,
             struct launch_stats *sum, struct energy *joules, bool *known)
{
    const struct allot_workload *w =
        row->own || row->program ? NULL : allot_workload_find(row->workload);
    const char *kernels = *row->kernels     ? row->kernels
                          : w && w->kernels ? w->kernels
                                            : "";
    size_t i;
    json_t *l, *v;
    bool any = false;
    json_array_foreach(json_object_get(run, "launches"), i, l)
    {
        const char *name = json_string_value(json_object_get(l, "kernel")), *id;
        struct launch_stats one = {0};
        if (!name || !compare_counts(kernels, name))
            continue;
        json_object_foreach(l, id, v) if (json_is_integer(v))
            stats_set(&one, id, (uint64_t)json_integer_value(v));
        stats_add(sum, &one);
        struct energy e = {0};
        *known &= stored_energy(l, m, &e);
        energy_add(joules, &e);
        any = true;
    }
    return any;
}

/* One function of comparisons.def for each of its columns. */
static double
compare(enum exp_as as, const struct exp_row *row, double v, double b)
{
    const double shown[] = {
#define AS(id, word, value, factor, back, nothing) [EXP_##id] = value,
#include "experiments/comparisons.def"
#undef AS
    };
    return isfinite(shown[as]) ? shown[as] : NAN;
}

/* What a geometric mean is taken of, and back. */
static double
factor_of(enum exp_as as, double x)
{
    const double factors[] = {
#define AS(id, word, value, factor, back, nothing) [EXP_##id] = factor,
#include "experiments/comparisons.def"
#undef AS
    };
    return factors[as];
}

static double
from_factor(enum exp_as as, double x)
{
    const double shown[] = {
#define AS(id, word, value, factor, back, nothing) [EXP_##id] = back,
#include "experiments/comparisons.def"
#undef AS
    };
    return shown[as];
}

/* What stands for "as the baseline"; NaN: the baseline's own value. */
static double
no_change(enum exp_as as)
{
    static const double nothings[] = {
#define AS(id, word, value, factor, back, nothing) [EXP_##id] = nothing,
#include "experiments/comparisons.def"
#undef AS
    };
    return nothings[as];
}

/* Values of the series that are the best, or the worst, of others. */
static void
pick_values(struct figure *f)
{
    const struct experiment *e = f->e;
    for (size_t c = 0; c < e->nmetric * e->nrow * e->nseries; c++) {
        const struct exp_series *s = &e->series[c % e->nseries];
        if (!s->of)
            continue;
        const size_t row = c - c % e->nseries;
        f->ours[c] = f->raw[c] = NAN;
        for (size_t k = 0; k < e->nseries; k++) {
            double v = f->ours[row + k];
            if (e->series[k].of || !exp_series_picks(s, &e->series[k]) || isnan(v))
                continue;
            if (isnan(f->ours[c]) || (s->worst ? v < f->ours[c] : v > f->ours[c])) {
                f->ours[c] = v;
                f->raw[c] = f->raw[row + k];
            }
        }
    }
}

static void
take_values(struct figure *f, struct store *s)
{
    const struct experiment *e = f->e;
    json_t **run = xcalloc(e->nrun + 1, sizeof *run);
    struct machine **machine = xcalloc(e->nrun + 1, sizeof *machine);
    bool energy = false; /* is one of the metrics */
    for (size_t m = 0; m < e->nmetric; m++)
        energy |= energy_value(&(struct energy){0}, e->metric[m].stat, NULL);
    for (size_t i = 0; i < e->nrun; i++) {
        int64_t id;
        enum store_state state = s ? store_find(s, e->run[i].key, &id) : STORE_NONE;
        f->missing += state == STORE_NONE;
        f->failed += state == STORE_FAILED;
        run[i] = state == STORE_DONE ? store_run(s, id) : NULL;
        machine[i] = energy && run[i] ? stored_machine(s, run[i]) : NULL;
    }
    for (size_t r = 0; r < e->nrow; r++)
        for (size_t k = 0; k < e->nseries; k++) {
            int c = e->cell[r * e->nseries + k];
            struct launch_stats sum = {0};
            struct energy joules = {0};
            bool known = true;
            bool have =
                c >= 0 && run[c] &&
                sum_launches(&e->row[r], run[c], machine[c], &sum, &joules, &known);
            for (size_t m = 0; m < e->nmetric; m++) {
                double v;
                bool ok = experiment_value(e, r, k, e->metric[m].stat, &v) ||
                          (have && stats_get(&sum, e->metric[m].stat, NULL, &v)) ||
                          (have && known && energy_value(&joules, e->metric[m].stat, &v));
                f->raw[figure_at(e, r, k, m)] = ok ? v : NAN;
            }
        }
    for (size_t i = 0; i < e->nrun; i++) {
        json_decref(run[i]);
        machine_free(machine[i]);
    }
    free(run);
    free(machine);
    for (size_t m = 0; m < e->nmetric; m++)
        for (size_t r = 0; r < e->nrow; r++)
            for (size_t k = 0; k < e->nseries; k++) {
                int base = e->series[k].base;
                double b = base < 0 ? NAN : f->raw[figure_at(e, r, (size_t)base, m)];
                f->ours[figure_at(e, r, k, m)] = compare(
                    e->metric[m].as, &e->row[r], f->raw[figure_at(e, r, k, m)], b);
            }
    pick_values(f);
}

/* -- the paper's numbers: CSV with the columns workload, series, value, and metric where
 * there are several -- */

enum { MAX_FIELDS = 8 };

/* Splits a CSV line in place; quotes may enclose a field. */
static int
split(char *line, char *field[MAX_FIELDS])
{
    int n = 0;
    for (char *p = line; n < MAX_FIELDS;) {
        char *out = p;
        field[n++] = p;
        if (*p == '"') {
            for (p++; *p && (*p != '"' || p[1] == '"'); p++) {
                p += *p == '"';
                *out++ = *p;
            }
            p += *p == '"';
        } else
            while (*p && *p != ',')
                *out++ = *p++;
        bool more = *p == ',';
        *out = 0;
        if (!more)
            break;
        p++;
    }
    return n;
}

struct csv {
    const char *path;
    char *text;
    unsigned line;
    int column[4];        /* workload, series, value, metric; -1: not there */
    double *value, *mean; /* where they go; mean NULL: there are no rows of that name */
};

static bool
csv_wrong(const struct csv *c, struct diag_sink *diag, const char *what, const char *name)
{
    const struct diag_loc loc = {.file = c->path, .line = c->line, .col = 1};
    diag_add(diag, DIAG_ERROR, &loc, "%s%s%s%s", what, name ? " '" : "", name ? name : "",
             name ? "'" : "");
    return false;
}

static bool
csv_head(struct csv *c, char *const *field, int n, struct diag_sink *diag)
{
    static const char *const names[] = {"workload", "series", "value", "metric"};
    for (int i = 0; i < 4; i++) {
        c->column[i] = -1;
        for (int k = 0; k < n; k++)
            if (!strcmp(field[k], names[i]))
                c->column[i] = k;
        if (c->column[i] < 0 && i < 3)
            return csv_wrong(c, diag, "the first line must name a column", names[i]);
    }
    return true;
}

static bool
csv_line(const struct experiment *e, const struct csv *c, char *const *field, int n,
         struct diag_sink *diag)
{
    for (int i = 0; i < 3; i++)
        if (c->column[i] >= n)
            return csv_wrong(c, diag, "fields are missing", NULL);
    const char *row = field[c->column[0]], *series = field[c->column[1]],
               *value = field[c->column[2]],
               *metric = c->column[3] >= 0 && c->column[3] < n ? field[c->column[3]] : "";
    size_t r = 0, k = 0, m = 0;
    bool mean = c->mean && !strcmp(row, "mean");
    while (r < e->nrow && strcmp(e->row[r].label, row))
        r++;
    if (r == e->nrow && !mean) /* a workload that the experiment does not have (yet) */
        return true;
    while (k < e->nseries && strcmp(e->series[k].label, series))
        k++;
    if (k == e->nseries)
        return csv_wrong(c, diag, "the experiment has no series", series);
    while (*metric && m < e->nmetric && strcmp(e->metric[m].name, metric))
        m++;
    if (m == e->nmetric || (!*metric && e->nmetric > 1))
        return csv_wrong(c, diag, "the experiment has no metric", metric);
    char *end;
    double v = strtod(value, &end);
    if (end == value || *end)
        return csv_wrong(c, diag, "not a number:", value);
    if (r < e->nrow)
        c->value[figure_at(e, r, k, m)] = v;
    else
        c->mean[m * e->nseries + k] = v;
    return true;
}

/* Reads the file c.path into c.value and c.mean; `what` it is, for messages. */
static bool
read_csv(const struct experiment *e, struct csv c, const char *what,
         struct diag_sink *diag)
{
    bool ok = true, head = false;
    c.text = file_read(c.path, NULL);
    if (!c.text)
        return diag_error(diag, "cannot read %s %s: %s", what, c.path, strerror(errno));
    for (char *p = c.text; ok && *p;) {
        char *field[MAX_FIELDS], *line = p;
        size_t n = strcspn(p, "\r\n");
        bool last = !p[n];
        p += n;
        if (!last) {
            if (*p == '\r' && p[1] == '\n')
                *p++ = 0;
            *p++ = 0;
        }
        c.line++;
        if (!*line || *line == '#')
            continue;
        int nf = split(line, field);
        ok = head ? csv_line(e, &c, field, nf, diag) : csv_head(&c, field, nf, diag);
        head = true;
    }
    free(c.text);
    return ok;
}

static double *
unknown(size_t n)
{
    double *v = xcalloc(n, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = NAN;
    return v;
}

/* With the paper's values; NULL and diagnostics if they cannot be read. */
static struct figure *
figure_new(const struct experiment *e, struct diag_sink *diag)
{
    struct figure *f = xcalloc(1, sizeof *f);
    size_t n = e->nrow * e->nseries * e->nmetric;
    f->e = e;
    f->ours = unknown(n);
    f->paper = unknown(n);
    f->raw = unknown(n);
    f->paper_mean = unknown(e->nseries * e->nmetric);
    const struct csv paper = {.path = e->paper, .value = f->paper, .mean = f->paper_mean};
    if (!e->paper || read_csv(e, paper, "the paper's numbers", diag))
        return f;
    figure_free(f);
    return NULL;
}

struct figure *
figure_make(const struct experiment *e, struct store *s, struct diag_sink *diag)
{
    struct figure *f = figure_new(e, diag);
    if (f)
        take_values(f, s);
    return f;
}

struct figure *
figure_read(const struct experiment *e, const char *path, struct diag_sink *diag)
{
    struct figure *f = figure_new(e, diag);
    const struct csv results = {.path = path, .value = f ? f->ours : NULL};
    if (!f || read_csv(e, results, "the results", diag))
        return f;
    figure_free(f);
    return NULL;
}

void
figure_free(struct figure *f)
{
    if (!f)
        return;
    free(f->ours);
    free(f->paper);
    free(f->paper_mean);
    free(f->raw);
    free(f);
}

/* -- agreement -- */

static int
sign(double v)
{
    return (v > 0) - (v < 0);
}

/* Ranks from 1; equal values share the mean of theirs. */
static void
ranks(const double *v, size_t n, double *rank)
{
    for (size_t i = 0; i < n; i++) {
        double below = 0, same = 0;
        for (size_t k = 0; k < n; k++) {
            below += v[k] < v[i];
            same += v[k] == v[i];
        }
        rank[i] = below + (same + 1) / 2;
    }
}

static double
spearman(const double *x, const double *y, size_t n)
{
    if (n < 3)
        return NAN;
    double *rx = xcalloc(n, sizeof *rx), *ry = xcalloc(n, sizeof *ry);
    double mean = ((double)n + 1) / 2, xy = 0, xx = 0, yy = 0;
    ranks(x, n, rx);
    ranks(y, n, ry);
    for (size_t i = 0; i < n; i++) {
        xy += (rx[i] - mean) * (ry[i] - mean);
        xx += (rx[i] - mean) * (rx[i] - mean);
        yy += (ry[i] - mean) * (ry[i] - mean);
    }
    free(rx);
    free(ry);
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* What the sign of a value says: gain or loss against the baseline. */
static double
signed_value(const struct figure *f, const double *v, size_t r, size_t k, size_t m)
{
    const struct experiment *e = f->e;
    double x = v[figure_at(e, r, k, m)];
    int base = e->series[k].base;
    double nothing = no_change(e->metric[m].as);
    if (isnan(nothing))
        nothing = base < 0 ? NAN : v[figure_at(e, r, (size_t)base, m)];
    return x - nothing;
}

bool
figure_known(const struct figure *f)
{
    size_t n = f->e->nrow * f->e->nseries * f->e->nmetric;
    for (size_t i = 0; i < n; i++)
        if (!isnan(f->ours[i]))
            return true;
    return false;
}

double
figure_off(const struct figure *f, size_t r, size_t k, size_t m)
{
    size_t c = figure_at(f->e, r, k, m);
    double off = 100 * (f->ours[c] / f->paper[c] - 1);
    return isfinite(off) ? off : NAN;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double
figure_median_off(const struct figure *f, size_t first, size_t last, size_t m,
                  size_t *within)
{
    const struct experiment *e = f->e;
    double *off = xcalloc(e->nrow * e->nseries + 1, sizeof *off);
    size_t n = 0;
    *within = 0;
    for (size_t r = 0; r < e->nrow; r++)
        for (size_t k = first; k <= last; k++) {
            double x = fabs(figure_off(f, r, k, m));
            if (isnan(x))
                continue;
            off[n++] = x;
            *within += x <= 5;
        }
    qsort(off, n, sizeof *off, by_value);
    double median = n ? (off[(n - 1) / 2] + off[n / 2]) / 2 : NAN;
    free(off);
    return median;
}

static double
mean_of(const struct figure *f, const double *values, size_t k, size_t m)
{
    const struct experiment *e = f->e;
    enum exp_as as = e->metric[m].as;
    double sum = 0;
    for (size_t r = 0; r < e->nrow && e->arithmetic; r++)
        sum += values[figure_at(e, r, k, m)] / (double)e->nrow;
    if (e->arithmetic)
        return sum;
    for (size_t r = 0; r < e->nrow; r++) {
        double x = factor_of(as, values[figure_at(e, r, k, m)]);
        sum += x > 0 ? log(x) : NAN;
    }
    return from_factor(as, exp(sum / (double)e->nrow));
}

/* What "within the bound" says: of a gain or decrease in points, of other values in parts. */
#define BOUND_POINTS 5.0
#define BOUND_PART 0.1

static bool
is_within(enum exp_as as, double ours, double paper)
{
    return fabs(ours - paper) <=
           (exp_as_percent(as) ? BOUND_POINTS : BOUND_PART * fabs(paper));
}

struct verdict
figure_verdict(const struct figure *f, size_t m)
{
    const struct experiment *e = f->e;
    enum exp_as as = e->metric[m].as;
    struct verdict v = {.mean_ours = NAN, .mean_paper = NAN};
    size_t n = e->nrow * e->nseries;
    double *x = xcalloc(n, sizeof *x), *y = xcalloc(n, sizeof *y), lx = 0, ly = 0;
    bool positive = true;
    for (size_t r = 0; r < e->nrow; r++)
        for (size_t k = 0; k < e->nseries; k++) {
            double a = f->ours[figure_at(e, r, k, m)],
                   b = f->paper[figure_at(e, r, k, m)];
            if (!isfinite(a) || !isfinite(b))
                continue;
            x[v.cells] = a;
            y[v.cells++] = b;
            v.equal += a == b;
            if (e->series[k].base != (int)k) {
                v.bounded++;
                v.within += is_within(as, a, b);
            }
            positive &= factor_of(as, a) > 0 && factor_of(as, b) > 0;
            if (positive) {
                lx += log(factor_of(as, a));
                ly += log(factor_of(as, b));
            }
            double sa = signed_value(f, f->ours, r, k, m),
                   sb = signed_value(f, f->paper, r, k, m);
            if (e->series[k].base == (int)k || !isfinite(sa) || !isfinite(sb))
                continue;
            v.signs++;
            v.signs_equal += sign(sa) == sign(sb);
        }
    for (size_t k = 0; k < e->nseries; k++) { /* a mean that is stated is a number too */
        const double a = mean_of(f, f->ours, k, m), b = f->paper_mean[m * e->nseries + k];
        if (!isfinite(a) || !isfinite(b))
            continue;
        v.bounded++;
        v.within += is_within(as, a, b);
    }
    v.rank = spearman(x, y, v.cells);
    if (positive && v.cells) {
        v.mean_ours = from_factor(as, exp(lx / (double)v.cells));
        v.mean_paper = from_factor(as, exp(ly / (double)v.cells));
    }
    free(x);
    free(y);
    return v;
}

double
figure_mean(const struct figure *f, size_t k, size_t m)
{
    return mean_of(f, f->ours, k, m);
}

double
figure_paper_mean(const struct figure *f, size_t k, size_t m)
{
    double stated = f->paper_mean[m * f->e->nseries + k];
    return isfinite(stated) ? stated : mean_of(f, f->paper, k, m);
}

/* -- finding -- */

char *
figure_find(const char *name)
{
    const char *env = getenv("ALLOT_PAPERS");
    size_t n = strlen(name);
    struct arena mem = {0};
    const char *path = name;
    if (n <= 5 || strcmp(name + n - 5, ".yaml")) {
        if (env && *env) {
            path = arena_printf(&mem, "%s/%s.yaml", env, name);
            path = access(path, R_OK) ? NULL : path;
        } else
            path = data_path(&mem, arena_printf(&mem, "papers/%s.yaml", name));
    }
    char *found = path ? xstrdup(path) : NULL;
    arena_free(&mem);
    return found;
}

/* By name, numbers within by value: fig2.2 before fig2.12. */
static int
by_name(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

char **
figure_names(void)
{
    VEC(char *) all = {0};
    const char *env = getenv("ALLOT_PAPERS");
    struct arena mem = {0};
    const char *folder = env && *env ? env : data_path(&mem, "papers");
    DIR *top = folder ? opendir(folder) : NULL;
    struct dirent *e, *g;
    while (top && (e = readdir(top))) {
        char path[4200];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        DIR *d = e->d_name[0] == '.' ? NULL : opendir(path);
        while (d && (g = readdir(d))) {
            size_t n = strlen(g->d_name);
            if (n <= 5 || strcmp(g->d_name + n - 5, ".yaml") || g->d_name[0] == '.')
                continue;
            struct strbuf b = {0};
            strbuf_printf(&b, "%s/%.*s", e->d_name, (int)n - 5, g->d_name);
            *vec_push(&all) = strbuf_take(&b);
        }
        if (d)
            closedir(d);
    }
    if (top)
        closedir(top);
    arena_free(&mem);
    if (all.n)
        qsort(all.v, all.n, sizeof *all.v, by_name);
    *vec_push(&all) = NULL;
    return all.v;
}

const char *
figure_near(const char *name, struct arena *mem)
{
    struct near near = {.word = name};
    char **names = figure_names();
    for (size_t i = 0; names[i]; i++)
        near_offer(&near, names[i]);
    const char *best = near.best ? arena_strdup(mem, near.best) : NULL;
    allot_names_free(names);
    return best;
}
