/* experiment.c: the schema of experiment files, once, and their expansion to runs. */
#include "experiments/experiment.h"

#include "base/near.h"
#include "base/number.h"
#include "energy/energy.h"
#include "experiments/launch.h"
#include "experiments/sweep.h"
#include "runtime/runtime.h"
#include "stats/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- what a file says -- */

struct raw_list {
    char **v;
    uint32_t n;
};

struct raw_range {
    char *set, *from, *to, *step;
    struct raw_list values, labels;
};

struct raw_ranges {
    struct raw_range *v;
    uint32_t n;
};

struct raw_workload {
    char *name, *label, *seed, *registers, *scratchpad;
    char *ptx, *launch, *kernel, *grid, *block; /* a kernel of one's own */
    char *per, *rate;
    uint32_t threads;
    struct raw_list kernels, settings, params, full_params, args;
    struct raw_list program, files; /* a CUDA program with its arguments; what it reads */
};

struct raw_variant {
    char *name, *machine, *passes, *registers, *share, *baseline, *compiler, *best,
        *worst;
    struct raw_list settings, params;
    struct raw_ranges ranges;
};

struct raw_metric {
    char *name, *label, *unit, *stat, *as;
};

struct raw_check {
    char *says, *that, *by;
};

struct raw {
    char *title, *source, *note, *paper, *machine, *baseline, *compiler, *seed,
        *max_cycles, *mean;
    struct raw_list machines, settings;
    struct raw_workload *workload;
    struct raw_variant *variant;
    struct raw_metric *metric;
    struct raw_check *check;
    uint32_t nworkload, nvariant, nmetric, ncheck;
    struct raw_ranges ranges;
};

/* -- the schema -- */

enum { MUST = CYAML_FLAG_POINTER, MAY = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL };

static const cyaml_schema_value_t text_value = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, CYAML_UNLIMITED)};

#define TEXT(S, field, flags)                                                            \
    CYAML_FIELD_STRING_PTR(#field, flags, S, field, 0, CYAML_UNLIMITED)
#define NUMBER(S, field) CYAML_FIELD_UINT(#field, CYAML_FLAG_OPTIONAL, S, field)
#define TEXTS(S, field)                                                                  \
    {                                                                                    \
        .key = #field, .data_offset = offsetof(S, field.v),                              \
        .count_offset = offsetof(S, field.n), .count_size = sizeof(uint32_t), .value = { \
            CYAML_VALUE_SEQUENCE(MAY, char *, &text_value, 0, CYAML_UNLIMITED)           \
        }                                                                                \
    }
#define LIST(S, key_, array, number, schema, flags)                                      \
    {                                                                                    \
        .key = key_, .data_offset = offsetof(S, array),                                  \
        .count_offset = offsetof(S, number), .count_size = sizeof(uint32_t), .value = {  \
            CYAML_VALUE_SEQUENCE(flags, *((S *)0)->array, schema, 0, CYAML_UNLIMITED)    \
        }                                                                                \
    }
#define MAPPING(S, fields)                                                               \
    {                                                                                    \
        CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, S, fields)                               \
    }

static const cyaml_schema_field_t range_fields[] = {TEXT(struct raw_range, set, MUST),
                                                    TEXT(struct raw_range, from, MAY),
                                                    TEXT(struct raw_range, to, MAY),
                                                    TEXT(struct raw_range, step, MAY),
                                                    TEXTS(struct raw_range, values),
                                                    TEXTS(struct raw_range, labels),
                                                    CYAML_FIELD_END};
static const cyaml_schema_value_t range_value = MAPPING(struct raw_range, range_fields);

static const cyaml_schema_field_t workload_fields[] = {
    TEXT(struct raw_workload, name, MAY),
    TEXT(struct raw_workload, label, MAY),
    TEXT(struct raw_workload, seed, MAY),
    TEXT(struct raw_workload, ptx, MAY),
    TEXT(struct raw_workload, launch, MAY),
    TEXT(struct raw_workload, kernel, MAY),
    TEXT(struct raw_workload, grid, MAY),
    TEXT(struct raw_workload, block, MAY),
    TEXT(struct raw_workload, per, MAY),
    TEXT(struct raw_workload, rate, MAY),
    NUMBER(struct raw_workload, threads),
    TEXT(struct raw_workload, registers, MAY),
    TEXT(struct raw_workload, scratchpad, MAY),
    TEXTS(struct raw_workload, kernels),
    TEXTS(struct raw_workload, settings),
    TEXTS(struct raw_workload, params),
    TEXTS(struct raw_workload, full_params),
    TEXTS(struct raw_workload, args),
    TEXTS(struct raw_workload, program),
    TEXTS(struct raw_workload, files),
    CYAML_FIELD_END};
static const cyaml_schema_value_t workload_value =
    MAPPING(struct raw_workload, workload_fields);

static const cyaml_schema_field_t variant_fields[] = {
    TEXT(struct raw_variant, name, MUST),
    TEXT(struct raw_variant, machine, MAY),
    TEXT(struct raw_variant, passes, MAY),
    TEXT(struct raw_variant, registers, MAY),
    TEXT(struct raw_variant, share, MAY),
    TEXT(struct raw_variant, baseline, MAY),
    TEXT(struct raw_variant, compiler, MAY),
    TEXT(struct raw_variant, best, MAY),
    TEXT(struct raw_variant, worst, MAY),
    TEXTS(struct raw_variant, settings),
    TEXTS(struct raw_variant, params),
    LIST(struct raw_variant, "ranges", ranges.v, ranges.n, &range_value, MAY),
    CYAML_FIELD_END};
static const cyaml_schema_value_t variant_value =
    MAPPING(struct raw_variant, variant_fields);

static const cyaml_schema_field_t metric_fields[] = {
    TEXT(struct raw_metric, name, MUST), TEXT(struct raw_metric, label, MAY),
    TEXT(struct raw_metric, unit, MAY),  TEXT(struct raw_metric, stat, MAY),
    TEXT(struct raw_metric, as, MAY),    CYAML_FIELD_END};
static const cyaml_schema_value_t metric_value =
    MAPPING(struct raw_metric, metric_fields);

static const cyaml_schema_field_t check_fields[] = {
    TEXT(struct raw_check, says, MUST), TEXT(struct raw_check, that, MUST),
    TEXT(struct raw_check, by, MAY), CYAML_FIELD_END};
static const cyaml_schema_value_t check_value = MAPPING(struct raw_check, check_fields);

static const cyaml_schema_field_t fields[] = {
    TEXT(struct raw, title, MUST),
    TEXT(struct raw, source, MAY),
    TEXT(struct raw, note, MAY),
    TEXT(struct raw, paper, MAY),
    TEXT(struct raw, machine, MAY),
    TEXT(struct raw, baseline, MAY),
    TEXT(struct raw, compiler, MAY),
    TEXT(struct raw, seed, MAY),
    TEXT(struct raw, max_cycles, MAY),
    TEXT(struct raw, mean, MAY),
    TEXTS(struct raw, machines),
    TEXTS(struct raw, settings),
    LIST(struct raw, "workloads", workload, nworkload, &workload_value, MUST),
    LIST(struct raw, "variants", variant, nvariant, &variant_value, MUST),
    LIST(struct raw, "metrics", metric, nmetric, &metric_value, MUST),
    LIST(struct raw, "checks", check, ncheck, &check_value, MAY),
    LIST(struct raw, "ranges", ranges.v, ranges.n, &range_value, MAY),
    CYAML_FIELD_END};
static const cyaml_schema_value_t schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw, fields)};

/* -- building -- */

enum { MAX_CELLS = 100000, MAX_VALUES = 1000, MAX_RANGES = 6 };

/* One range's values as settings and labels. */
struct axis {
    const char *path;
    const char **value, **label;
    size_t n;
    bool own_labels;
};

struct build {
    struct experiment *e;
    struct raw *raw;
    struct diag_sink *diag;
    bool quick;
    struct run_cache cache;
    VEC(struct exp_series) series;
    VEC(struct exp_run) runs;
    /* beside each series: what its runs are made of */
    VEC(struct plan) plans;
};

struct plan {
    const struct raw_variant *variant;
    size_t variant_at;
    char *set[MAX_RANGES]; /* PATH=VALUE of the ranges */
    size_t nset, machine;
    char range_label[120];
};

static bool wrong(struct build *b, struct diag_loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool
wrong(struct build *b, struct diag_loc loc, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    diag_add(b->diag, DIAG_ERROR, &loc, "%s", text);
    return false;
}

#define AT(b, ...) yamlfile_at(&(b)->e->yaml, __VA_ARGS__)
#define TEXT_OF(b, ...) arena_printf(&(b)->e->mem, __VA_ARGS__)

static const char *
or_text(struct build *b, const char *s, const char *otherwise)
{
    return s ? arena_strdup(&b->e->mem, s) : otherwise;
}

static bool
u64_of(const char *s, uint64_t max, uint64_t *v)
{
    char *end;
    errno = 0;
    unsigned long long x = strtoull(s, &end, 0);
    *v = x;
    return *s >= '0' && *s <= '9' && !*end && !errno && x <= max;
}

/* "from, to, step" to values. */
static bool
steps(struct build *b, const struct raw_range *r, struct axis *a, const char *path)
{
    char *end[3];
    const char *text[3] = {r->from, r->to, r->step ? r->step : "1"};
    double v[3];
    for (int i = 0; i < 3; i++) {
        v[i] = strtod(text[i], &end[i]);
        if (end[i] == text[i] || *end[i] || !isfinite(v[i]))
            return wrong(b,
                         AT(b, "%s.%s", path,
                            i == 0   ? "from"
                            : i == 1 ? "to"
                                     : "step"),
                         "'%s' is not a number", text[i]);
    }
    double count = floor((v[1] - v[0]) / v[2] + 1e-9) + 1;
    if (!(v[2] != 0) || !(count >= 1))
        return wrong(b, AT(b, "%s.step", path),
                     "no step of %s leads from %s to %s: write a step of the other sign",
                     text[2], text[0], text[1]);
    if (count > MAX_VALUES)
        return wrong(b, AT(b, "%s", path), "more than %d values", MAX_VALUES);
    a->n = (size_t)count;
    a->value = ARENA_ARRAY(&b->e->mem, const char *, a->n);
    for (size_t i = 0; i < a->n; i++) /* 12 digits: 0.1 + 0.2 is written 0.3 */
        a->value[i] = TEXT_OF(b, "%.12g", v[0] + (double)i * v[2]);
    return true;
}

static bool
make_axis(struct build *b, const struct raw_range *r, const char *path, struct axis *a)
{
    a->path = r->set;
    bool stepped = r->from || r->to || r->step;
    if (stepped && (r->values.n || !r->from || !r->to))
        return wrong(b, AT(b, "%s", path),
                     "a range has either `values:` or `from:`, `to:` and `step:`");
    if (stepped && !steps(b, r, a, path))
        return false;
    if (!stepped) {
        a->n = r->values.n;
        a->value = (const char **)r->values.v;
    }
    if (!a->n)
        return wrong(b, AT(b, "%s", path), "the range of %s has no value", r->set);
    if (r->labels.n && r->labels.n != a->n)
        return wrong(b, AT(b, "%s.labels", path), "%u labels for %zu values", r->labels.n,
                     a->n);
    a->label = r->labels.n ? (const char **)r->labels.v : a->value;
    a->own_labels = r->labels.n != 0;
    return true;
}

/* Every combination of machine, variant and range values is a series. */
static bool
expand_variant(struct build *b, size_t at, size_t nmachines, const char *const *machines)
{
    const struct raw_variant *v = &b->raw->variant[at];
    struct axis axis[MAX_RANGES] = {0};
    size_t naxis = 0, combinations = 1;
    for (int own = 0; own < 2; own++) {
        const struct raw_ranges *r = own ? &v->ranges : &b->raw->ranges;
        for (size_t i = 0; i < r->n; i++) {
            char path[64];
            if (own)
                snprintf(path, sizeof path, "variants[%zu].ranges[%zu]", at, i);
            else
                snprintf(path, sizeof path, "ranges[%zu]", i);
            if (naxis == MAX_RANGES)
                return wrong(b, AT(b, "%s", path), "more than %d ranges", MAX_RANGES);
            if (!make_axis(b, &r->v[i], path, &axis[naxis]))
                return false;
            combinations *= axis[naxis++].n;
            if (combinations > MAX_CELLS)
                return wrong(b, AT(b, "%s", path), "more than %d combinations",
                             MAX_CELLS);
        }
    }
    double numbers[MAX_VALUES];
    bool swept = naxis == 1 && axis[0].n <= MAX_VALUES &&
                 sweep_numbers(axis[0].label, axis[0].n, true, numbers);
    for (size_t m = 0; m < (v->machine ? 1 : nmachines); m++)
        for (size_t c = 0; c < combinations; c++) {
            struct plan *p = vec_push(&b->plans);
            struct exp_series *s = vec_push(&b->series);
            struct strbuf label = {0};
            size_t rest = c;
            p->variant = v;
            p->variant_at = at;
            p->machine = m;
            s->machine = arena_strdup(&b->e->mem, v->machine ? v->machine : machines[m]);
            s->variant = arena_strdup(&b->e->mem, v->name);
            s->share = or_text(b, v->share, "");
            s->of = v->best    ? arena_strdup(&b->e->mem, v->best)
                    : v->worst ? arena_strdup(&b->e->mem, v->worst)
                               : NULL;
            s->worst = !v->best;
            if (nmachines > 1 && !v->machine)
                strbuf_printf(&label, "%s, ", s->machine);
            if (b->raw->nvariant > 1 || !naxis)
                strbuf_printf(&label, "%s, ", v->name);
            size_t before_ranges = label.n;
            for (size_t i = naxis; i-- > 0;) { /* the last axis moves fastest */
                size_t k = rest % axis[i].n;
                rest /= axis[i].n;
                p->set[i] = TEXT_OF(b, "%s=%s", axis[i].path, axis[i].value[k]);
            }
            rest = combinations;
            size_t left = c;
            for (size_t i = 0; i < naxis; i++) {
                rest /= axis[i].n;
                size_t k = left / rest;
                left %= rest;
                if (axis[i].own_labels)
                    strbuf_printf(&label, "%s, ", axis[i].label[k]);
                else
                    strbuf_printf(&label, "%s, ", p->set[i]);
            }
            p->nset = naxis;
            if (swept) {
                s->at = numbers[c];
                const char *unit = sweep_unit(axis[0].label[c]),
                           *of =
                               axis[0].own_labels && v->ranges.n ? v->name : axis[0].path;
                s->axis = TEXT_OF(b, "%s%s%s", of, *unit ? ", " : "", unit);
                s->line = arena_strndup(&b->e->mem, label.s ? label.s : "",
                                        before_ranges ? before_ranges - 2 : 0);
            }
            snprintf(p->range_label, sizeof p->range_label, "%s",
                     label.s + before_ranges);
            label.s[label.n - 2] = 0;
            s->label = arena_strdup(&b->e->mem, label.s);
            s->base = -1;
            strbuf_free(&label);
        }
    return true;
}

static bool
make_series(struct build *b)
{
    struct experiment *e = b->e;
    struct raw *raw = b->raw;
    const char *const one[] = {raw->machine ? raw->machine : "gtx480"};
    const char *const *machines =
        raw->machines.n ? (const char *const *)raw->machines.v : one;
    size_t nmachines = raw->machines.n ? raw->machines.n : 1;
    if (raw->machine && raw->machines.n)
        return wrong(b, AT(b, "machines"), "state either `machine:` or `machines:`");
    if (!raw->nvariant)
        return wrong(b, AT(b, "variants"), "the list of variants is empty");
    for (size_t i = 0; i < raw->nvariant; i++)
        if (!expand_variant(b, i, nmachines, machines))
            return false;
    struct strtab names = {0};
    size_t first = 0; /* whose name is one of those before */
    while (first < b->series.n &&
           (str_intern_z(&names, b->series.v[first].label), names.n == first + 1))
        first++;
    strtab_free(&names);
    if (first < b->series.n)
        return wrong(b, AT(b, "variants[%zu].name", b->plans.v[first].variant_at),
                     "two series are called '%s'", b->series.v[first].label);
    e->series = b->series.v;
    e->nseries = b->series.n;
    return true;
}

/* What `best:` and `worst:` name must be there and run. */
static bool
check_picks(struct build *b)
{
    for (size_t i = 0; i < b->series.n; i++) {
        const struct exp_series *s = &b->series.v[i];
        const struct raw_variant *v = b->plans.v[i].variant;
        const char *word = v->best ? "best" : "worst";
        bool found = false;
        if (!s->of)
            continue;
        for (size_t k = 0; k < b->series.n; k++)
            found |= !b->series.v[k].of && exp_series_picks(s, &b->series.v[k]);
        if (!found)
            return wrong(b, AT(b, "variants[%zu].%s", b->plans.v[i].variant_at, word),
                         "no variant that is run is called '%s'", s->of);
        if ((v->best && v->worst) || v->settings.n || v->params.n || v->ranges.n ||
            v->passes || v->registers || v->compiler)
            return wrong(
                b, AT(b, "variants[%zu].%s", b->plans.v[i].variant_at, word),
                "a variant that is the %s of others has nothing of its own to run", word);
    }
    return true;
}

/* The baseline of each series: a series of that very name, else the variant of that name
 * with the same machine and, if it has ranges, the same values. */
static bool
find_baselines(struct build *b)
{
    for (size_t i = 0; i < b->series.n; i++) {
        const struct raw_variant *v = b->plans.v[i].variant;
        const char *name = v->baseline ? v->baseline : b->raw->baseline;
        struct exp_series *s = &b->series.v[i];
        if (!name)
            continue;
        for (size_t k = 0; k < b->series.n; k++) {
            const struct exp_series *t = &b->series.v[k];
            const struct plan *p = &b->plans.v[i], *q = &b->plans.v[k];
            bool same_ranges = !q->nset || !strcmp(p->range_label, q->range_label);
            bool exact = !strcmp(t->label, name);
            if (exact ||
                (!strcmp(t->variant, name) && same_ranges &&
                 (!strcmp(s->machine, t->machine) || v->machine || q->variant->machine)))
                s->base = (int)k;
            if (exact)
                break;
        }
        if (s->base < 0)
            return v->baseline
                       ? wrong(b,
                               AT(b, "variants[%zu].baseline", b->plans.v[i].variant_at),
                               "no variant or series is called '%s'", name)
                       : wrong(b, AT(b, "baseline"),
                               "no variant or series is called '%s'", name);
    }
    return true;
}

/* A file that the experiment names stands beside it. */
static const char *
beside(struct build *b, const char *name)
{
    const char *slash = strrchr(b->e->file, '/');
    if (name[0] == '/' || !slash)
        return arena_strdup(&b->e->mem, name);
    return TEXT_OF(b, "%.*s%s", (int)(slash + 1 - b->e->file), b->e->file, name);
}

/* Notes what all else was said about. */
static bool
said_of(struct build *b, struct diag_loc loc, const char *what)
{
    diag_add(b->diag, DIAG_NOTE, &loc, "%s", what);
    return false;
}

/* A kernel of one's own: read once, to be told what is wrong where it stands; runs read
 * the texts that it leaves. */
static bool
read_own(struct build *b, size_t at, struct exp_row *r)
{
    const struct raw_workload *w = &b->raw->workload[at];
    struct experiment *e = b->e;
    struct launch_desc l = {.kernel = w->kernel,
                            .grid = w->grid,
                            .block = w->block,
                            .scratchpad = w->scratchpad,
                            .args = (const char *const *)w->args.v,
                            .nargs = w->args.n};
    struct launch read;
    const char *part = "ptx";
    if (w->launch && !launch_file(beside(b, w->launch), &l, &e->mem, b->diag))
        return said_of(b, AT(b, "workloads[%zu].launch", at), "it is named here");
    r->workload = beside(b, w->ptx);
    if (!strcmp(w->ptx, "-"))
        return wrong(b, AT(b, "workloads[%zu].ptx", at),
                     "every run reads the PTX again: it cannot be standard input");
    struct allot_diag *d = allot_diag_new();
    struct allot_module *mod = allot_module_load(r->workload, d);
    diag_append(b->diag, rt_sink(d, NULL));
    allot_diag_free(d);
    if (!mod)
        return said_of(b, AT(b, "workloads[%zu].ptx", at), "it is named here");
    struct diag_sink own = {0};
    bool ok = launch_read(&l, mod, w->ptx, &read, &part, &e->mem, &own);
    if (ok)
        r->texts = launch_texts(&read, beside(b, ""), &r->ntexts, &e->mem);
    else {
        struct diag_loc loc = AT(b, "workloads[%zu].%s", at, part);
        struct diag *said =
            diag_add(b->diag, DIAG_ERROR, &loc, "%s", own.list[0]->message);
        if (own.list[0]->hint)
            diag_hint(b->diag, said, "%s", own.list[0]->hint);
    }
    diag_free(&own);
    allot_module_free(mod);
    return ok;
}

/* The folder of the experiment, where its programs run; NULL: here. */
static const char *
folder(struct build *b)
{
    const char *slash = strrchr(b->e->file, '/');
    return !slash ? NULL
           : slash == b->e->file
               ? "/"
               : TEXT_OF(b, "%.*s", (int)(slash - b->e->file), b->e->file);
}

/* A CUDA program: its words and files as parameters. That it is there is asked by each run
 * (run_prepare). */
static bool
read_program(struct build *b, size_t at, struct exp_row *r)
{
    const struct raw_workload *w = &b->raw->workload[at];
    size_t n = 0;
    if (w->params.n || w->full_params.n || w->seed)
        return wrong(b,
                     AT(b, "workloads[%zu].%s", at,
                        w->seed       ? "seed"
                        : w->params.n ? "params"
                                      : "full_params"),
                     "a program has arguments alone: write them behind it in `program:`");
    const char **text = ARENA_ARRAY(&b->e->mem, const char *, w->program.n + w->files.n);
    for (size_t i = 1; i < w->program.n; i++)
        text[n++] = TEXT_OF(b, "arg=%s", w->program.v[i]);
    for (size_t i = 0; i < w->files.n; i++)
        text[n++] = TEXT_OF(b, "file=%s", w->files.v[i]);
    r->workload = arena_strdup(&b->e->mem, w->program.v[0]);
    r->program = true;
    r->texts = text;
    r->ntexts = n;
    return true;
}

/* "./app 1000" of a program's words. */
static const char *
program_label(struct build *b, const struct raw_list *words)
{
    struct strbuf k = {0};
    for (size_t i = 0; i < words->n; i++)
        strbuf_printf(&k, "%s%s", i ? " " : "", words->v[i]);
    const char *label = arena_strdup(&b->e->mem, k.s);
    strbuf_free(&k);
    return label;
}

/* The resources of a row that is nothing else. */
static bool
read_resources(struct build *b, size_t at, struct exp_row *r)
{
    const struct raw_workload *w = &b->raw->workload[at];
    uint64_t registers = 0, scratchpad = 0;
    if (!w->label || !w->threads)
        return wrong(b, AT(b, "workloads[%zu]", at),
                     "a kernel's resources need a `label:` and `threads:`");
    if (w->registers && !u64_of(w->registers, UINT32_MAX, &registers))
        return wrong(b, AT(b, "workloads[%zu].registers", at),
                     "'%s' is not a number of registers a thread", w->registers);
    if (w->scratchpad && !number_bytes(w->scratchpad, 0, UINT32_MAX, &scratchpad))
        return wrong(b, AT(b, "workloads[%zu].scratchpad", at),
                     "'%s' is not a number of bytes", w->scratchpad);
    r->use.threads = w->threads;
    r->use.registers = (uint32_t)registers;
    r->use.scratchpad = (uint32_t)scratchpad;
    return true;
}

/* What a row's difference covers. */
static bool
read_steps(struct build *b, size_t at, struct exp_row *r)
{
    const struct raw_workload *w = &b->raw->workload[at];
    const char *text = w->rate ? w->rate : w->per;
    uint64_t n = 1;
    if (w->per && w->rate)
        return wrong(b, AT(b, "workloads[%zu].rate", at),
                     "state `per:` or `rate:`: a difference covers one of them");
    if (text && (!u64_of(text, UINT64_MAX, &n) || !n))
        return wrong(b, AT(b, "workloads[%zu].%s", at, w->rate ? "rate" : "per"),
                     "'%s' is not a positive number", text);
    *(w->rate ? &r->rate : &r->per) = (double)n;
    return true;
}

/* A row is one of four things, and says nothing that belongs to another. */
static bool
one_kind(struct build *b, size_t at)
{
    const struct raw_workload *w = &b->raw->workload[at];
    const bool own = w->launch || w->kernel || w->grid || w->block || w->args.n;
    if (!w->ptx && own)
        return wrong(b, AT(b, "workloads[%zu]", at),
                     "`launch:`, `kernel:`, `grid:`, `block:` and `args:` need a `ptx:` "
                     "file");
    if (!w->program.n && w->files.n)
        return wrong(b, AT(b, "workloads[%zu].files", at),
                     "`files:` are what a `program:` reads");
    const int runs = !!w->name + !!w->ptx + !!w->program.n;
    if (runs > 1 || (runs && w->threads) || (runs && !w->ptx && w->scratchpad) ||
        (!runs && !w->threads))
        return wrong(b, AT(b, "workloads[%zu]", at),
                     "state either a workload (`name:`) or a kernel of your own (`ptx:`, "
                     "`grid:`, `block:`, `args:`) or a CUDA program (`program: [./app, "
                     "argument]`) or a kernel's resources (`label:`, `threads:`, "
                     "`registers:`, `scratchpad:`)");
    return true;
}

static bool
make_rows(struct build *b)
{
    struct experiment *e = b->e;
    e->nrow = b->raw->nworkload;
    e->row = ARENA_ARRAY(&e->mem, struct exp_row, e->nrow);
    if (!e->nrow)
        return wrong(b, AT(b, "workloads"), "the list of workloads is empty");
    for (size_t i = 0; i < e->nrow; i++) {
        const struct raw_workload *w = &b->raw->workload[i];
        struct exp_row *r = &e->row[i];
        if (!one_kind(b, i) || !read_steps(b, i, r) || (w->ptx && !read_own(b, i, r)) ||
            (w->program.n && !read_program(b, i, r)) ||
            (!w->ptx && !w->name && !w->program.n && !read_resources(b, i, r)))
            return false;
        r->at = i;
        r->own = w->ptx;
        if (w->name)
            r->workload = arena_strdup(&e->mem, w->name);
        r->label = w->program.n && !w->label
                       ? program_label(b, &w->program)
                       : or_text(b, w->label ? w->label : w->ptx, r->workload);
        struct strbuf k = {0};
        for (size_t n = 0; n < w->kernels.n; n++)
            strbuf_printf(&k, "%s%s", n ? " " : "", w->kernels.v[n]);
        r->kernels = arena_strdup(&e->mem, k.s ? k.s : "");
        strbuf_free(&k);
        for (size_t n = 0; n < i; n++)
            if (!strcmp(e->row[n].label, r->label))
                return wrong(b, AT(b, "workloads[%zu]", i),
                             "two rows are called '%s': give one a `label:`", r->label);
    }
    return true;
}

static bool
known_stat(const char *id)
{
    return stats_find(id) >= 0 || energy_value(&(struct energy){0}, id, NULL) ||
           experiment_knows(id);
}

static bool
make_metrics(struct build *b)
{
    static const char *const words[] = {
#define AS(id, word, value, factor, back, nothing) word,
#include "experiments/comparisons.def"
#undef AS
    };
    struct experiment *e = b->e;
    e->nmetric = b->raw->nmetric;
    e->metric = ARENA_ARRAY(&e->mem, struct exp_metric, e->nmetric);
    if (!e->nmetric)
        return wrong(b, AT(b, "metrics"), "the list of metrics is empty");
    for (size_t i = 0; i < e->nmetric; i++) {
        const struct raw_metric *r = &b->raw->metric[i];
        struct exp_metric *m = &e->metric[i];
        m->name = arena_strdup(&e->mem, r->name);
        m->stat = or_text(b, r->stat, m->name);
        m->label = or_text(b, r->label, m->name);
        size_t as = 0;
        while (as < EXP_AS_KINDS && r->as && strcmp(words[as], r->as))
            as++;
        if (as == EXP_AS_KINDS) {
            struct strbuf all = {0};
            for (size_t k = 0; k < EXP_AS_KINDS; k++)
                strbuf_printf(&all, "%s%s", k ? ", " : "", words[k]);
            wrong(b, AT(b, "metrics[%zu].as", i), "'%s': one of %s", r->as, all.s);
            strbuf_free(&all);
            return false;
        }
        m->as = (enum exp_as)as;
        if (!known_stat(m->stat)) {
            struct diag_loc loc = AT(b, "metrics[%zu].%s", i, r->stat ? "stat" : "name");
            struct diag *d =
                diag_add(b->diag, DIAG_ERROR, &loc, "there is no counter '%s'", m->stat);
            struct near near = {.word = m->stat};
            struct allot_stat_info info;
            for (size_t k = 0; stats_info(k, &info); k++)
                near_offer(&near, info.id);
            diag_hint(b->diag, d, "%s%s%s'allot list counters' tells what there is",
                      near.best ? "did you mean '" : "", near.best ? near.best : "",
                      near.best ? "'? " : "");
            return false;
        }
        m->unit = or_text(b, r->unit, exp_as_percent(m->as) ? "%" : "");
        if (as != EXP_VALUE && !b->raw->baseline)
            return wrong(b, AT(b, "metrics[%zu].as", i),
                         "a %s needs a `baseline:` to compare with", words[as]);
    }
    return true;
}

/* -- runs -- */

static void
add_texts(struct build *b, const char **to, size_t *n, const struct raw_list *from)
{
    for (size_t i = 0; i < from->n; i++)
        to[(*n)++] = arena_strdup(&b->e->mem, from->v[i]);
}

/* What `registers:` of a row or variant sets: a number of registers a thread, or whether
 * they are virtual or allocated. */
static void
add_registers(struct build *b, const char **to, size_t *n, const char *registers)
{
    uint64_t number;
    if (registers)
        to[(*n)++] =
            TEXT_OF(b, "%s=%s",
                    u64_of(registers, UINT64_MAX, &number) ? "residency.regs_per_thread"
                                                           : "compiler.registers",
                    registers);
}

/* The settings of a cell, those of the file first, the range's last. */
static const char *const *
cell_settings(struct build *b, const struct raw_workload *w, const struct plan *p,
              size_t *n)
{
    const char **s = ARENA_ARRAY(&b->e->mem, const char *,
                                 b->raw->settings.n + w->settings.n +
                                     p->variant->settings.n + 2 + MAX_RANGES);
    *n = 0;
    add_texts(b, s, n, &b->raw->settings);
    add_texts(b, s, n, &w->settings);
    if (!w->threads) /* else they are the kernel's resources */
        add_registers(b, s, n, w->registers);
    add_texts(b, s, n, &p->variant->settings);
    add_registers(b, s, n, p->variant->registers);
    for (size_t i = 0; i < p->nset; i++)
        if (strncmp(p->set[i], "params.", 7))
            s[(*n)++] = p->set[i];
    return s;
}

static const char *const *
cell_params(struct build *b, const struct exp_row *row, const struct plan *p, size_t *n)
{
    const struct raw_workload *w = &b->raw->workload[row->at];
    const char **s = ARENA_ARRAY(&b->e->mem, const char *,
                                 row->ntexts + w->params.n + w->full_params.n +
                                     p->variant->params.n + MAX_RANGES);
    *n = 0;
    for (size_t i = 0; i < row->ntexts; i++)
        s[(*n)++] = row->texts[i];
    add_texts(b, s, n, &w->params);
    if (!b->quick)
        add_texts(b, s, n, &w->full_params);
    add_texts(b, s, n, &p->variant->params);
    for (size_t i = 0; i < p->nset; i++)
        if (!strncmp(p->set[i], "params.", 7))
            s[(*n)++] = p->set[i] + 7;
    return s;
}

/* A machine given as a file stands beside the experiment. */
static const char *
machine_path(struct build *b, const char *name)
{
    size_t n = strlen(name);
    bool path = strchr(name, '/') || (n > 5 && !strcmp(name + n - 5, ".yaml"));
    return path ? beside(b, name) : name;
}

/* Where the fault of a run is most likely stated. */
static struct diag_loc
blame(struct build *b, const struct exp_row *r, const struct plan *p, const char *message)
{
    size_t at = p->variant_at;
    const struct raw_variant *v = p->variant;
    for (size_t i = 0; i < v->settings.n; i++) {
        char path[80];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(v->settings.v[i], "="),
                 v->settings.v[i]);
        if (strstr(message, path))
            return AT(b, "variants[%zu].settings[%zu]", at, i);
    }
    for (size_t i = 0; i < b->raw->settings.n; i++) {
        char path[80];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(b->raw->settings.v[i], "="),
                 b->raw->settings.v[i]);
        if (strstr(message, path))
            return AT(b, "settings[%zu]", i);
    }
    const struct raw_workload *w = &b->raw->workload[r->at];
    for (size_t i = 0; i < w->settings.n; i++) {
        char path[80];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(w->settings.v[i], "="),
                 w->settings.v[i]);
        if (strstr(message, path))
            return AT(b, "workloads[%zu].settings[%zu]", r->at, i);
    }
    for (size_t i = 0; i < p->nset; i++) {
        char path[80];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(p->set[i], "="), p->set[i]);
        if (strstr(message, path))
            return b->raw->ranges.n ? AT(b, "ranges[0].set")
                                    : AT(b, "variants[%zu].ranges[0].set", at);
    }
    if (strstr(message, "regs_per_thread") || strstr(message, "compiler.registers")) {
        if (v->registers && strstr(message, v->registers))
            return AT(b, "variants[%zu].registers", at);
        if (w->registers && strstr(message, w->registers))
            return AT(b, "workloads[%zu].registers", r->at);
    }
    if (strstr(message, "pass") && v->passes)
        return AT(b, "variants[%zu].passes", at);
    if (r->own && strstr(message, "kernel of one's own"))
        return v->params.n ? AT(b, "variants[%zu].params", at)
                           : AT(b, "workloads[%zu].params", r->at);
    if (r->own && strstr(message, "argument"))
        return AT(b, "workloads[%zu].args", r->at);
    if (r->program && strstr(message, "program"))
        return strstr(message, "parameters") ? AT(b, "variants[%zu]", at)
               : strstr(message, "'s file")
                   ? AT(b, "workloads[%zu]%s", r->at, w->files.n ? ".files" : ".program")
                   : AT(b, "workloads[%zu].program", r->at);
    if (strstr(message, "workload"))
        return AT(b, "workloads[%zu].name", r->at);
    if (v->machine)
        return AT(b, "variants[%zu].machine", at);
    if (strstr(message, "machine"))
        return b->raw->machines.n ? AT(b, "machines[%zu]", p->machine) : AT(b, "machine");
    return AT(b, "variants[%zu]", at);
}

static bool
report(struct build *b, const struct exp_row *r, const struct plan *p,
       const struct diag_sink *own)
{
    const char *message = own->n ? own->list[0]->message : "it cannot be run";
    struct diag_loc loc = blame(b, r, p, message);
    struct diag *d = diag_add(b->diag, DIAG_ERROR, &loc, "%s", message);
    bool kinds = strstr(message, "compiler.registers") != NULL;
    if (own->n && own->list[0]->hint)
        diag_hint(b->diag, d, "%s%s", own->list[0]->hint,
                  kinds ? "; or a number, for residency.regs_per_thread" : "");
    return false;
}

static bool
make_run(struct build *b, const struct exp_row *row, size_t s, int *index)
{
    const struct raw_workload *w = &b->raw->workload[row->at];
    const struct plan *p = &b->plans.v[s];
    const char *compiler = p->variant->compiler ? p->variant->compiler : b->raw->compiler;
    const char *seed = w->seed ? w->seed : b->raw->seed;
    uint64_t number = 1, limit = 0;
    if (seed && !u64_of(seed, UINT32_MAX, &number))
        return wrong(b, w->seed ? AT(b, "workloads[%zu].seed", row->at) : AT(b, "seed"),
                     "a seed is a number from 0 to 4294967295, not '%s'", seed);
    if (b->raw->max_cycles && !u64_of(b->raw->max_cycles, UINT64_MAX, &limit))
        return wrong(b, AT(b, "max_cycles"), "'%s' is not a number", b->raw->max_cycles);
    struct exp_run r = {.workload = row->workload,
                        .own = row->own,
                        .program = row->program,
                        .folder = row->program ? folder(b) : NULL,
                        .machine = machine_path(b, b->series.v[s].machine),
                        .passes = or_text(b, p->variant->passes, ""),
                        .compiler = or_text(b, compiler, "clang"),
                        .seed = (uint32_t)number,
                        .quick = b->quick && !row->own &&
                                 !row->program, /* they have one input only */
                        .max_cycles = limit};
    r.settings = cell_settings(b, w, p, &r.nsettings);
    r.params = cell_params(b, row, p, &r.nparams);
    struct diag_sink own = {0};
    bool ok = run_prepare(&r, &b->cache, &own);
    if (!ok)
        report(b, row, p, &own);
    diag_free(&own);
    if (!ok)
        return false;
    for (size_t i = 0; i < b->runs.n; i++)
        if (!strcmp(b->runs.v[i].key, r.key)) {
            *index = (int)i;
            return true;
        }
    *index = (int)b->runs.n;
    *vec_push(&b->runs) = r;
    return true;
}

static bool
make_machine(struct build *b, const struct exp_row *row, size_t s,
             struct allot_machine **to)
{
    const struct plan *p = &b->plans.v[s];
    struct allot_diag *d = allot_diag_new();
    size_t n;
    const char *const *settings = cell_settings(b, &b->raw->workload[row->at], p, &n);
    struct allot_machine *m =
        allot_machine_load(machine_path(b, b->series.v[s].machine), d);
    bool ok = m;
    for (size_t i = 0; ok && i < n; i++) {
        const char *eq = strchr(settings[i], '=');
        char path[128];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(settings[i], "="), settings[i]);
        ok = allot_machine_set(m, path, eq ? eq + 1 : "", d);
    }
    if (!ok) {
        struct diag_sink own = {0};
        run_diag(d, &own);
        report(b, row, p, &own);
        diag_free(&own);
        allot_machine_free(m);
        m = NULL;
    }
    allot_diag_free(d);
    *to = m;
    return ok;
}

static bool
make_cells(struct build *b)
{
    struct experiment *e = b->e;
    size_t n = e->nrow * e->nseries;
    if (n > MAX_CELLS)
        return wrong(b, AT(b, "variants"),
                     "%zu rows times %zu series: more than %d cells", e->nrow, e->nseries,
                     MAX_CELLS);
    e->cell = ARENA_ARRAY(&e->mem, int, n);
    e->machine = ARENA_ARRAY(&e->mem, struct allot_machine *, n);
    bool ok = true, ask = false;
    for (size_t m = 0; m < e->nmetric; m++)
        ask |= experiment_asks_machine(e->metric[m].stat);
    for (size_t r = 0; r < e->nrow && ok; r++)
        for (size_t s = 0; s < e->nseries && ok; s++) {
            size_t c = r * e->nseries + s;
            e->cell[c] = -1;
            if (e->row[r].workload && !e->series[s].of)
                ok = make_run(b, &e->row[r], s, &e->cell[c]);
            if (ok && (ask || !e->row[r].workload))
                ok = make_machine(b, &e->row[r], s, &e->machine[c]);
        }
    for (size_t c = 0; c < n && ok; c++) { /* a run that it has anyway */
        const struct exp_series *s = &e->series[c % e->nseries];
        size_t k = 0;
        while (s->of && (e->series[k].of || !exp_series_picks(s, &e->series[k])))
            k++;
        if (s->of)
            e->cell[c] = e->cell[c / e->nseries * e->nseries + k];
    }
    return ok;
}

/* Which mean of all rows the source takes. */
static bool
make_mean(struct build *b)
{
    const char *word = or_text(b, b->raw->mean, "geometric");
    b->e->arithmetic = !strcmp(word, "arithmetic");
    if (b->e->arithmetic || !strcmp(word, "geometric"))
        return true;
    return wrong(b, AT(b, "mean"), "a mean is `geometric` or `arithmetic`, not '%s'",
                 word);
}

/* Whose statement a check is. */
static bool
make_by(struct build *b)
{
    static const char *const words[EXP_BY_KINDS] = {"text", "construction", "ours"};
    for (size_t i = 0; i < b->e->ncheck; i++) {
        const char *word = or_text(b, b->raw->check[i].by, "text");
        size_t by = 0;
        while (by < EXP_BY_KINDS && strcmp(words[by], word) != 0)
            by++;
        if (by == EXP_BY_KINDS)
            return wrong(b, AT(b, "checks[%zu].by", i),
                         "a statement is by `text`, `construction` or `ours`, not '%s'",
                         word);
        b->e->check[i].by = (enum exp_by)by;
    }
    return true;
}

static void
make_texts(struct build *b)
{
    struct experiment *e = b->e;
    struct raw *raw = b->raw;
    e->title = or_text(b, raw->title, "");
    e->source = or_text(b, raw->source, "");
    e->note = or_text(b, raw->note, "");
    if (raw->paper)
        e->paper = beside(b, raw->paper);
    e->ncheck = raw->ncheck;
    e->check = ARENA_ARRAY(&e->mem, struct exp_check, e->ncheck);
    for (size_t i = 0; i < e->ncheck; i++) {
        e->check[i].says = or_text(b, raw->check[i].says, "");
        e->check[i].that = or_text(b, raw->check[i].that, "");
        e->check[i].loc = AT(b, "checks[%zu].that", i);
    }
}

struct experiment *
experiment_load(const char *file, bool quick, struct diag_sink *diag)
{
    struct experiment *e = xcalloc(1, sizeof *e);
    struct build b = {.e = e, .diag = diag, .quick = quick};
    void *data;
    e->file = arena_strdup(&e->mem, file);
    const char *slash = strrchr(file, '/'), *stem = slash ? slash + 1 : file;
    const char *dot = strrchr(stem, '.');
    e->name = arena_strndup(&e->mem, stem, dot ? (size_t)(dot - stem) : strlen(stem));
    bool ok = yamlfile_load(&e->yaml, file, &schema, &data, "an experiment", diag);
    b.raw = data;
    if (ok) {
        make_texts(&b);
        ok = make_mean(&b) && make_by(&b) && make_rows(&b) && make_series(&b) &&
             check_picks(&b) && find_baselines(&b) && make_metrics(&b) && make_cells(&b);
    }
    e->series = b.series.v;
    e->run = b.runs.v;
    e->nrun = b.runs.n;
    vec_free(&b.plans);
    run_cache_free(&b.cache);
    yamlfile_drop(&schema, data);
    if (ok)
        return e;
    experiment_free(e);
    return NULL;
}

const struct exp_row *
experiment_program(const struct experiment *e)
{
    for (size_t i = 0; i < e->nrow; i++)
        if (e->row[i].program)
            return &e->row[i];
    return NULL;
}

char *
experiment_title(const char *file, struct diag_sink *diag)
{
    struct yamlfile y = {0};
    void *data;
    char *title = NULL;
    if (yamlfile_load(&y, file, &schema, &data, "an experiment", diag))
        title = xstrdup(((struct raw *)data)->title);
    yamlfile_drop(&schema, data);
    yamlfile_free(&y);
    return title;
}

void
experiment_free(struct experiment *e)
{
    if (!e)
        return;
    for (size_t i = 0; e->machine && i < e->nrow * e->nseries; i++)
        allot_machine_free(e->machine[i]);
    free(e->series);
    free(e->run);
    yamlfile_free(&e->yaml);
    arena_free(&e->mem);
    free(e);
}
