/* figure_check.c: the experiment's statements, and values that a page names.
 *
 *     statement  sum OP sum {and sum OP sum}         OP: < <= > >= = !=
 *     sum        product {+ product} {- product}
 *     product    power {* power} {/ power}
 *     power      value [^ value]
 *     value      NUMBER | -value | (sum) | [row, series, metric] | paper [row, series, metric]
 *                | max(sum, sum ...) | number of (statement) | mean of (sum): the geometric mean of
 *                all rows, `each` of them | a word of the verdict: signs METRIC
 *
 * The metric may be left out: the first. The row may be `each`: the statement holds for all rows, or
 * within `number of`, which counts those for which it holds; `best`, `worst` or `mean` of all rows; or
 * `median off`: how far ours are from the paper's, in percent. */
#include "experiments/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct check {
    const struct figure *f;
    const char *at;
    size_t each; /* the row that `each` stands for */
    bool uses_each;
    unsigned depth;
    const char *error;
};

enum { MAX_DEPTH = 20 };

static double sum(struct check *c);
static int statement(struct check *c);

static void
blanks(struct check *c)
{
    c->at += strspn(c->at, " ");
}

/* Is this the next word? It is then read. */
static bool
next(struct check *c, const char *text)
{
    const size_t n = strlen(text);
    blanks(c);
    if (strncmp(c->at, text, n) != 0)
        return false;
    c->at += n;
    return true;
}

static double
wrong(struct check *c, const char *error)
{
    if (!c->error)
        c->error = error;
    return NAN;
}

/* Text up to a comma or bracket, trimmed, into buf. */
static void
word(struct check *c, char *buf, size_t n)
{
    blanks(c);
    size_t len = strcspn(c->at, ",]"), keep = len;
    while (keep && c->at[keep - 1] == ' ')
        keep--;
    snprintf(buf, n, "%.*s", (int)keep, c->at);
    c->at += len;
}

/* Largest or smallest of a series' values; NaN if one is not known. */
static double
extreme(const struct figure *f, const double *values, size_t k, size_t m, bool largest)
{
    double v = values[figure_at(f->e, 0, k, m)];
    for (size_t r = 1; r < f->e->nrow && !isnan(v); r++) {
        double x = values[figure_at(f->e, r, k, m)];
        if (isnan(x) || (largest ? x > v : x < v))
            v = x;
    }
    return v;
}

static size_t
metric_at(const struct experiment *e, const char *name)
{
    size_t m = 0;
    while (*name && m < e->nmetric && strcmp(e->metric[m].name, name) != 0)
        m++;
    return m;
}

/* Behind the bracket. */
static double
cell_value(struct check *c, bool paper)
{
    const struct experiment *e = c->f->e;
    const double *values = paper ? c->f->paper : c->f->ours;
    char row[96], series[160] = "", metric[96] = "";
    size_t r = 0, k = 0, within;
    word(c, row, sizeof row);
    if (*c->at == ',') {
        c->at++;
        word(c, series, sizeof series);
    }
    /* A series' label may itself hold commas: what follows the last one may be a metric. */
    while (*c->at == ',') {
        c->at++;
        word(c, metric, sizeof metric);
        if (!*metric || metric_at(e, metric) == e->nmetric) {
            size_t len = strlen(series);
            snprintf(series + len, sizeof series - len, ", %s", metric);
            metric[0] = 0;
        }
    }
    if (*c->at != ']')
        return wrong(c, "a `[` is not closed");
    c->at++;
    const bool each = !strcmp(row, "each"), best = !strcmp(row, "best"),
               worst = !strcmp(row, "worst"), mean = !strcmp(row, "mean"),
               off = !strcmp(row, "median off"), all = best || worst || mean || off;
    const size_t m = metric_at(e, metric);
    c->uses_each |= each;
    if (each)
        r = c->each;
    while (!each && !all && r < e->nrow && strcmp(e->row[r].label, row) != 0)
        r++;
    while (k < e->nseries && strcmp(e->series[k].label, series) != 0)
        k++;
    if (r == e->nrow)
        return wrong(c, "no such workload");
    if (k == e->nseries)
        return wrong(c, "no such series");
    if (m == e->nmetric)
        return wrong(c, "no such metric");
    if (mean)
        return paper ? figure_paper_mean(c->f, k, m) : figure_mean(c->f, k, m);
    if (off)
        return figure_median_off(c->f, k, k, m, &within);
    return best || worst ? extreme(c->f, values, k, m, best)
                         : values[figure_at(e, r, k, m)];
}

/* In how many rows the statement in parentheses holds; NaN if it is not known in one. */
static double
number_of(struct check *c)
{
    struct check in = *c;
    double n = 0;
    if (!next(c, "("))
        return wrong(c, "behind `number of` stands a statement in parentheses");
    in = *c;
    for (in.each = 0; in.each < c->f->e->nrow && !in.error; in.each++) {
        in.at = c->at;
        const int holds = statement(&in);
        n += holds < 0 ? NAN : holds;
    }
    c->at = in.at;
    c->error = in.error;
    if (!c->error && !next(c, ")"))
        return wrong(c, "a `(` is not closed");
    return n;
}

/* The geometric mean over all rows of what stands in parentheses. */
static double
mean_of(struct check *c)
{
    double logs = 0;
    if (!next(c, "("))
        return wrong(c, "behind `mean of` stands a value in parentheses");
    struct check in = *c;
    for (in.each = 0; in.each < c->f->e->nrow && !in.error; in.each++) {
        in.at = c->at;
        const double v = sum(&in);
        logs += v > 0 ? log(v) : NAN;
    }
    c->at = in.at;
    c->error = in.error;
    if (!c->error && !next(c, ")"))
        return wrong(c, "a `(` is not closed");
    return exp(logs / (double)c->f->e->nrow);
}

/* Behind `max(`. */
static double
largest(struct check *c)
{
    double v = sum(c);
    while (!c->error && next(c, ",")) {
        const double x = sum(c);
        v = isnan(x) || x > v ? x : v;
    }
    return c->error || next(c, ")") ? v : wrong(c, "a `(` is not closed");
}

/* Words of a metric's verdict (struct verdict); the metric's name follows, or nothing. */
static double
verdict_value(struct check *c)
{
    static const char *const words[] = {
        "cells",     "signs equal", "signs",      "same", "rank",
        "mean ours", "mean paper",  "statements", "held", "within",
        "bounded",   "made held",   "made"};
    const struct figure *f = c->f;
    size_t w = 0, n = sizeof words / sizeof *words, m = 0;
    blanks(c);
    while (w < n && (strncmp(c->at, words[w], strlen(words[w])) != 0 ||
                     strcspn(c->at + strlen(words[w]), " )<>=!+-*/,")))
        w++;
    if (w == n)
        return wrong(
            c, "a value is a number, [workload, series], (...), `number of (...)` or "
               "a word of the verdict");
    c->at += strlen(words[w]);
    blanks(c);
    for (size_t i = 0; i < f->e->nmetric; i++) {
        const size_t len = strlen(f->e->metric[i].name);
        if (strncmp(c->at, f->e->metric[i].name, len) ||
            strcspn(c->at + len, " )<>=!+*/,"))
            continue;
        m = i;
        c->at += len;
        break;
    }
    const struct verdict v = figure_verdict(f, m);
    const struct statements s = (w >= 7 && w <= 8) || w >= 11 ? figure_statements(f, NULL)
                                                              : (struct statements){0};
    const double values[] = {v.cells,       v.signs_equal,  v.signs,
                             v.equal,       v.rank,         v.mean_ours,
                             v.mean_paper,  (double)s.text, (double)s.text_hold,
                             v.within,      v.bounded,      (double)s.made_hold,
                             (double)s.made};
    return values[w];
}

static double
value(struct check *c)
{
    char *end;
    blanks(c);
    if (c->depth >= MAX_DEPTH)
        return wrong(c, "too many parentheses");
    c->depth++;
    double v = NAN;
    if (next(c, "paper ["))
        v = cell_value(c, true);
    else if (next(c, "["))
        v = cell_value(c, false);
    else if (next(c, "number of"))
        v = number_of(c);
    else if (next(c, "mean of"))
        v = mean_of(c);
    else if (next(c, "max("))
        v = largest(c);
    else if (next(c, "(")) {
        v = sum(c);
        if (!c->error && !next(c, ")"))
            v = wrong(c, "a `(` is not closed");
    } else if (next(c, "-"))
        v = -value(c);
    else if ((*c->at >= '0' && *c->at <= '9') || *c->at == '.') {
        v = strtod(c->at, &end);
        c->at = end;
    } else
        v = verdict_value(c);
    c->depth--;
    return v;
}

static double
power(struct check *c)
{
    const double v = value(c);
    return !c->error && next(c, "^") ? pow(v, value(c)) : v;
}

static double
product(struct check *c)
{
    double v = power(c);
    while (!c->error) {
        if (next(c, "*"))
            v *= power(c);
        else if (next(c, "/"))
            v /= power(c);
        else
            break;
    }
    return v;
}

static double
sum(struct check *c)
{
    double v = product(c);
    while (!c->error) {
        if (next(c, "+"))
            v += product(c);
        else if (next(c, "-"))
            v -= product(c);
        else
            break;
    }
    return v;
}

/* 1, 0, or -1 where a value is not known. */
static int
statement(struct check *c)
{
    static const char *const ops[] = {"<=", ">=", "!=", "<", ">", "="};
    int result = 1;
    for (;;) {
        const double a = sum(c);
        int op = 0;
        while (!c->error && op < 6 && !next(c, ops[op]))
            op++;
        if (op == 6)
            wrong(c, "expected one of < <= > >= = !=");
        const double b = c->error ? NAN : sum(c);
        if (c->error)
            return -1;
        const bool truth[] = {a <= b, a >= b, a != b, a<b, a> b, a == b};
        if (isnan(a) || isnan(b))
            result = result == 0 ? 0 : -1;
        else if (!truth[op])
            result = 0;
        if (!next(c, "and "))
            return result;
    }
}

/* One pass over the text. */
static int
evaluate(struct check *c, const char *text)
{
    c->at = text;
    const int holds = statement(c);
    blanks(c);
    if (!c->error && *c->at)
        wrong(c, "expected `and` or the end");
    return c->error ? -1 : holds;
}

bool
figure_check(const struct figure *f, size_t i, int *holds, struct diag_sink *diag)
{
    struct check c = {.f = f};
    const struct exp_check *k = &f->e->check[i];
    *holds = evaluate(&c, k->that);
    for (size_t r = 1; !c.error && c.uses_each && r < f->e->nrow; r++) {
        c.each = r;
        int one = evaluate(&c, k->that);
        *holds = *holds == 0 || one == 0 ? 0 : *holds < one ? *holds : one;
    }
    if (!c.error)
        return true;
    diag_add(diag, DIAG_ERROR, &k->loc, "'%s': %s", k->that, c.error);
    return false;
}

struct statements
figure_statements(const struct figure *f, struct diag_sink *diag)
{
    struct statements s = {0};
    struct diag_sink own = {0};
    for (size_t i = 0; i < f->e->ncheck; i++) {
        int holds = -1;
        s.wrong |= !figure_check(f, i, &holds, diag ? diag : &own);
        if (f->e->check[i].by == EXP_BY_CONSTRUCTION) {
            s.made++;
            s.made_hold += holds == 1;
        } else if (f->e->check[i].by == EXP_BY_TEXT) {
            s.text++;
            s.text_hold += holds == 1;
        } else {
            s.ours++;
            s.ours_hold += holds == 1;
        }
    }
    diag_free(&own);
    return s;
}

const char *
figure_value(const struct figure *f, const char *text, double *v)
{
    struct check c = {.f = f, .at = text};
    *v = sum(&c);
    blanks(&c);
    if (!c.error && *c.at)
        c.error = "words behind the value";
    if (!c.error && c.uses_each)
        c.error = "`each` is for statements";
    return c.error;
}
