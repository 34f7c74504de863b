/* hardware.c: see hardware.h. */
#include "micro/hardware.h"

#include "base/data.h"
#include "base/number.h"
#include "micro/apps.h"
#include "report/table.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cards by a word of their name. */
static const struct {
    const char *word, *machine;
} cards[] = {{"V100", "v100"}, {"A100", "a100"},      {"H100", "h100"},
             {"H200", "h200"}, {"GTX 480", "gtx480"}, {"TITAN", "titan"}};

static const char *
comment(const struct csv *c, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < c->ncomments; i++)
        if (!strncmp(c->comments[i], key, n) && c->comments[i][n] == ':')
            return c->comments[i] + n + 1 + strspn(c->comments[i] + n + 1, " ");
    return NULL;
}

static const char *
machine_of(const struct hardware *h, const struct csv *c)
{
    const char *card = comment(c, "card"), *machine = comment(c, "machine");
    if (h->machine || machine) /* a dry run's file names its machine */
        return h->machine ? h->machine : machine;
    for (size_t i = 0; card && i < sizeof cards / sizeof *cards; i++)
        if (strstr(card, cards[i].word))
            return cards[i].machine;
    return NULL;
}

static size_t
find_case(const struct hardware *h, const char *name)
{
    size_t i = 0;
    while (i < h->cases.n && strcmp(h->cases.v[i].name, name))
        i++;
    return i;
}

struct file {
    const struct csv *c;
    const char *path;
    const struct allot_machine *micro, *apps; /* for microbenchmarks, for workloads */
    int name, kernel, nth, cycles;
};

/* The cycles of one case, in the order of its launches, or of a workload's kernels. */
struct ours {
    const char *name; /* of the case */
    uint64_t cycles[APPS_MAX_KERNELS];
    unsigned n;
};

static bool
simulate(struct hardware *h, const struct file *f, const char *name,
         struct allot_options *o, struct ours *out, struct allot_diag *d)
{
    struct apps_case app;
    struct apps_result result;
    size_t i = find_case(h, name);
    o->user = (void *)name;
    *out = (struct ours){.name = name};
    if (i == h->cases.n) {
        if (!apps_find(name, &app) ||
            !apps_simulate(&app, f->apps, o, APPS_RUN, &result, d))
            return false;
        out->n = result.n;
        for (unsigned k = 0; k < out->n; k++)
            out->cycles[k] = result.kernel[k].cycles;
        return true;
    }
    const struct micro_case *c = &h->cases.v[i];
    struct allot_device *dev = NULL;
    struct allot_module *module[MICRO_MAX_LAUNCHES] = {0};
    bool ok = micro_run(c, f->micro, o, &dev, module, out->cycles, d);
    allot_device_free(dev);
    for (unsigned k = 0; k < MICRO_MAX_LAUNCHES; k++)
        allot_module_free(module[k]);
    out->n = c->nlaunches;
    return ok;
}

/* What a row says; *known: its cycles are there. */
static bool
read_row(const struct hardware *h, const struct file *f, size_t r, unsigned *launch,
         uint64_t *theirs, bool *known, struct diag_sink *diag)
{
    const char *name = csv_cell(f->c, r, f->name), *cycles = csv_cell(f->c, r, f->cycles);
    struct apps_case app;
    size_t i = find_case(h, name);
    unsigned most = i < h->cases.n          ? h->cases.v[i].nlaunches
                    : apps_find(name, &app) ? APPS_MAX_KERNELS
                                            : 0;
    *known = *cycles != 0;
    if (sscanf(csv_cell(f->c, r, f->nth), "%u/", launch) == 1 && *launch >= 1 &&
        *launch <= most && (!*known || number_u64(cycles, 1, UINT64_MAX, theirs)))
        return true;
    struct diag_loc at = {.file = f->path, .line = f->c->line[r]};
    diag_add(diag, DIAG_ERROR, &at,
             "not a launch of a microbenchmark or a workload with its cycles (case %s)",
             name);
    return false;
}

static bool
is_quick(const struct hardware *h, const char *name)
{
    struct apps_case app;
    size_t i = find_case(h, name);
    return i < h->cases.n ? micro_is_quick(&h->cases, i)
                          : apps_find(name, &app) && app.quick;
}

/* Runs the cases of the file; each once, its launches are rows that follow one another. */
static bool
run_file(struct hardware *h, struct file *f, struct allot_options *o,
         struct diag_sink *diag, struct allot_diag *d)
{
    const struct csv *c = f->c;
    struct ours ours = {.name = ""};
    f->name = csv_need(c, f->path, "case", diag);
    f->kernel = csv_need(c, f->path, "kernel", diag);
    f->nth = csv_need(c, f->path, "launch", diag);
    f->cycles = csv_need(c, f->path, "cycles", diag);
    if (f->name < 0 || f->kernel < 0 || f->nth < 0 || f->cycles < 0)
        return false;
    for (size_t r = 0; r < c->nrows; r++) {
        const char *name = csv_cell(c, r, f->name);
        unsigned launch;
        uint64_t theirs;
        bool known;
        if (!read_row(h, f, r, &launch, &theirs, &known, diag))
            return false;
        h->unknown += !known;
        if (!known || (h->quick && !is_quick(h, name)))
            continue;
        if (strcmp(ours.name, name) && !simulate(h, f, name, o, &ours, d))
            return false;
        if (launch > ours.n || !ours.cycles[launch - 1]) {
            struct diag_loc at = {.file = f->path, .line = c->line[r]};
            diag_add(diag, DIAG_ERROR, &at, "case %s launches %u kernels here", name,
                     ours.n);
            return false;
        }
        size_t i = find_case(h, name);
        *vec_push(&h->samples) = (struct hardware_sample){
            .name = name,
            .kernel = i < h->cases.n ? h->cases.v[i].launch[launch - 1].kernel
                                     : csv_cell(c, r, f->kernel),
            .launch = launch,
            .ours = (double)ours.cycles[launch - 1],
            .theirs = (double)theirs};
    }
    h->file_done();
    return true;
}

/* -- output -- */

struct group {
    const char *kernel;
    unsigned n;
    double sum, ours, theirs; /* of |errors|; of cycles */
};

static int
by_error(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    double ex = x->sum / x->n, ey = y->sum / y->n;
    return ex < ey ? 1 : ex > ey ? -1 : strcmp(x->kernel, y->kernel);
}

static double
error(const struct hardware_sample *s)
{
    return s->ours / s->theirs - 1;
}

/* Pearson's correlation of the logarithms: cycles span orders of magnitude. */
static double
correlation(const struct hardware_sample *v, size_t count)
{
    double n = (double)count, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        double a = log(v[i].ours), b = log(v[i].theirs);
        x += a;
        y += b;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    double below = sqrt((n * xx - x * x) * (n * yy - y * y));
    return below > 0 ? (n * xy - x * y) / below : NAN;
}

static void
print_text(struct table *t)
{
    table_show(t, stdout);
    table_free(t);
}

static int
by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *const classes[] = {"workloads", "workloads, small inputs",
                                      "publications' kernels", "microbenchmarks"};
enum { CLASSES = sizeof classes / sizeof *classes };

static unsigned
class_of(const struct hardware_sample *s)
{
    static const char app[] = "workload/", published[] = "published/", quick[] = "/quick";
    size_t n = strlen(s->name), q = strlen(quick);
    if (!strncmp(s->name, app, strlen(app)))
        return n > q && !strcmp(s->name + n - q, quick);
    return strncmp(s->name, published, strlen(published)) ? 3 : 2;
}

static void
print_class(struct table *t, const char *what, const struct hardware_sample *v, size_t n)
{
    double *off = xcalloc(n, sizeof *off), *part = xcalloc(n, sizeof *part), sum = 0;
    for (size_t i = 0; i < n; i++) {
        off[i] = fabs(error(&v[i]));
        part[i] = v[i].ours / v[i].theirs;
        sum += off[i];
    }
    qsort(off, n, sizeof *off, by_double);
    qsort(part, n, sizeof *part, by_double);
    table_cell(t, "%s", what);
    table_cell(t, "%zu", n);
    table_cell(t, "%.1f %%", 100 * sum / (double)n);
    table_cell(t, "%.1f %%", 100 * off[n / 2]);
    table_cell(t, "%.2f (%.2f, %.2f)", part[n / 2], part[n / 10], part[n * 9 / 10]);
    table_cell(t, "%.4f", correlation(v, n));
    free(off);
    free(part);
}

/* By class, if there are several. */
static void
print_classes(const struct hardware *h)
{
    struct table *t = table_new(
        6, (const char *const[]){"of these", "launches", "mean |error|", "median |error|",
                                 "ours / GPU: median (10th, 90th percentile)",
                                 "correlation of the logarithms"});
    VEC(struct hardware_sample) v = {0};
    unsigned rows = 0;
    for (unsigned c = 0; c < CLASSES; c++) {
        v.n = 0;
        for (size_t i = 0; i < h->samples.n; i++)
            if (class_of(&h->samples.v[i]) == c)
                *vec_push(&v) = h->samples.v[i];
        if (v.n) {
            print_class(t, classes[c], v.v, v.n);
            rows++;
        }
    }
    vec_free(&v);
    if (rows > 1) {
        printf("\n");
        table_show(t, stdout);
    }
    table_free(t);
}

static void
print_report(const struct hardware *h)
{
    VEC(struct group) groups = {0};
    double sum = 0;
    for (size_t i = 0; i < h->samples.n; i++) {
        const struct hardware_sample *s = &h->samples.v[i];
        size_t k = 0;
        while (k < groups.n && strcmp(groups.v[k].kernel, s->kernel))
            k++;
        struct group *g = k < groups.n ? &groups.v[k] : vec_push(&groups);
        g->kernel = s->kernel;
        g->n++;
        g->sum += fabs(error(s));
        g->ours += s->ours;
        g->theirs += s->theirs;
        sum += fabs(error(s));
    }
    qsort(groups.v, groups.n, sizeof *groups.v, by_error);
    struct table *t =
        table_new(5, (const char *const[]){"kernel", "launches", "mean |error|",
                                           "ours, cycles", "GPU, cycles"});
    for (size_t i = 0; i < groups.n; i++) {
        const struct group *g = &groups.v[i];
        table_cell(t, "%s", g->kernel);
        table_cell(t, "%u", g->n);
        table_cell(t, "%.1f %%", 100 * g->sum / g->n);
        table_cell(t, "%.0f", g->ours);
        table_cell(t, "%.0f", g->theirs);
    }
    print_text(t);
    if (h->each) {
        t = table_new(5, (const char *const[]){"case", "launch", "ours", "GPU", "error"});
        for (size_t i = 0; i < h->samples.n; i++) {
            const struct hardware_sample *s = &h->samples.v[i];
            table_cell(t, "%s", s->name);
            table_cell(t, "%u", s->launch);
            table_cell(t, "%.0f", s->ours);
            table_cell(t, "%.0f", s->theirs);
            table_cell(t, "%+.1f %%", 100 * error(s));
        }
        printf("\n");
        print_text(t);
    }
    printf("\n%zu launches, mean error %.1f %%, correlation of the logarithms %.4f\n",
           h->samples.n, 100 * sum / (double)h->samples.n,
           correlation(h->samples.v, h->samples.n));
    print_classes(h);
    vec_free(&groups);
}

bool
hardware_correlate(struct hardware *h, const char *path, struct allot_options *o,
                   struct diag_sink *diag, struct allot_diag *d)
{
    struct csv *c = csv_read(path, diag);
    if (!c)
        return false;
    const char *name = machine_of(h, c), *card = comment(c, "card");
    struct allot_machine *m = NULL;
    if (!name)
        diag_error(diag, "%s: which machine is card '%s'? Say so with --machine", path,
                   card ? card : "(none named)");
    else
        m = allot_machine_load(name, d);
    h->samples.n = 0;
    h->unknown = 0;
    /* Microbenchmarks repeat instructions that a compiler's clean-up would take out. */
    struct allot_machine *micro = m ? allot_machine_clone(m) : NULL;
    struct file f = {.c = c, .path = path, .micro = micro, .apps = m};
    bool ok = m && allot_machine_set(micro, "compiler.registers", "virtual", d) &&
              run_file(h, &f, o, diag, d);
    if (ok && h->samples.n) {
        printf("%s beside %s (%s, %s), %s\n\n", name, card ? card : path,
               comment(c, "driver") ? comment(c, "driver") : "driver not told",
               comment(c, "date") ? comment(c, "date") : "date not told", path);
        print_report(h);
    }
    if (ok && h->unknown)
        printf("%s%s: %u rows without cycles\n", h->samples.n ? "\n" : "", path,
               h->unknown);
    allot_machine_free(micro);
    allot_machine_free(m);
    csv_free(c);
    return ok;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **
hardware_shipped(struct arena *mem, size_t *n)
{
    const char *dir = data_path(mem, "papers/hw");
    DIR *d = dir ? opendir(dir) : NULL;
    VEC(const char *) v = {0};
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len < 5 || strcmp(e->d_name + len - 4, ".csv"))
            continue;
        char *path = arena_alloc(mem, strlen(dir) + len + 2);
        sprintf(path, "%s/%s", dir, e->d_name);
        *vec_push(&v) = path;
    }
    if (d)
        closedir(d);
    if (v.n)
        qsort(v.v, v.n, sizeof *v.v, by_name);
    *n = v.n;
    const char **out = ARENA_ARRAY(mem, const char *, v.n + 1);
    for (size_t i = 0; i < v.n; i++)
        out[i] = v.v[i];
    vec_free(&v);
    return out;
}

void
hardware_free(struct hardware *h)
{
    micro_free(&h->cases);
    vec_free(&h->samples);
}
