/* working_report.c: what `allot workingset` shows of a launch. */
#include "report/working_report.h"

#include "base/demangle.h"
#include "base/file.h"
#include "report/chart.h"
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

enum { BINS = 8, BAR = 40 };

static uint64_t
whole(const json_t *o, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(o, key));
}

static double
real(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void
bar(double part, char out[BAR + 1])
{
    int n = part <= 0 ? 0 : part >= 1 ? BAR : (int)(part * BAR + 0.5);
    memset(out, '#', (size_t)n);
    out[n] = 0;
}

static void
least_and_most(const json_t *lines, uint64_t *least, uint64_t *most)
{
    json_t *v;
    size_t i;
    *least = UINT64_MAX;
    *most = 0;
    json_array_foreach(lines, i, v)
    {
        uint64_t n = (uint64_t)json_integer_value(v);
        *least = n < *least ? n : *least;
        *most = n > *most ? n : *most;
    }
}

static void
print_distribution(const json_t *lines, FILE *f)
{
    uint64_t least, most, fullest = 0, count[BINS] = {0};
    json_t *v;
    size_t b;
    least_and_most(lines, &least, &most);
    const uint64_t width = (most - least) / BINS + 1;
    json_array_foreach(lines, b, v)
    {
        uint64_t n = ++count[((uint64_t)json_integer_value(v) - least) / width];
        fullest = n > fullest ? n : fullest;
    }
    struct table *t = table_new(3, (const char *const[]){"lines", "blocks", ""});
    for (uint64_t i = 0; i < BINS && least + i * width <= most; i++) {
        char row[BAR + 1];
        bar((double)count[i] / (double)fullest, row);
        table_cell(t, "%llu to %llu", (unsigned long long)(least + i * width),
                   (unsigned long long)(least + (i + 1) * width - 1));
        table_cell(t, "%llu", (unsigned long long)count[i]);
        table_cell(t, "%s", row);
    }
    table_show(t, f);
    table_free(t);
}

static void
print_arrays(const json_t *arrays, FILE *f)
{
    char b[32];
    json_t *a;
    size_t i;
    struct table *t = table_new(
        5, (const char *const[]){"array", "bytes", "lines, sum", "distinct", "reuse"});
    json_array_foreach(arrays, i, a)
    {
        const uint64_t lines = whole(a, "lines"), distinct = whole(a, "distinct");
        table_cell(t, "0x%llx", (unsigned long long)whole(a, "address"));
        table_cell(t, "%s", table_thousands(b, whole(a, "bytes")));
        table_cell(t, "%s", table_thousands(b, lines));
        table_cell(t, "%s", table_thousands(b, distinct));
        table_cell(t, "%.2f", distinct ? (double)lines / (double)distinct : 0);
    }
    table_show(t, f);
    table_free(t);
}

static void
print_contention(const json_t *rows, FILE *f)
{
    json_t *c;
    size_t i;
    struct table *t =
        table_new(5, (const char *const[]){"blocks/SM", "TLP", "contention ratio",
                                           "common lines once", ""});
    json_array_foreach(rows, i, c)
    {
        char row[BAR + 1];
        bar(real(c, "contention") / 4, row);
        table_cell(t, "%llu", (unsigned long long)whole(c, "blocks_sm"));
        table_cell(t, "%llu", (unsigned long long)whole(c, "tlp"));
        table_cell(t, "%.3f", real(c, "contention"));
        table_cell(t, "%.3f", real(c, "contention_distinct"));
        table_cell(t, "%s", row);
    }
    table_show(t, f);
    table_free(t);
}

static void
print(const json_t *o, FILE *f)
{
    char b[32];
    const json_t *lines = json_object_get(o, "lines");
    const json_t *over = json_object_get(o, "overlap");
    uint64_t least, most;
    json_t *v;
    size_t i;
    least_and_most(lines, &least, &most);
    char *name = demangle(json_string_value(json_object_get(o, "kernel")));
    fprintf(f, "\n%s: %s blocks, ", name, table_thousands(b, whole(o, "blocks")));
    free(name);
    fprintf(f, "%.1f lines of %llu bytes each (%llu to %llu), ",
            real(o, "sum") / real(o, "blocks"),
            (unsigned long long)whole(o, "line_bytes"), (unsigned long long)least,
            (unsigned long long)most);
    fprintf(f, "%s different ones\n\n", table_thousands(b, whole(o, "distinct")));
    print_distribution(lines, f);
    fprintf(f, "\n");
    print_arrays(json_object_get(o, "arrays"), f);
    if (json_array_size(over))
        fprintf(f, "\nlines in common with the block so much further:");
    json_array_foreach(over, i, v)
        fprintf(f, "%s %llu: %.1f %%", i ? "," : "",
                (unsigned long long)whole(v, "distance"), 100 * real(v, "common"));
    fprintf(f, json_array_size(over) ? "\n\n" : "\n");
    print_contention(json_object_get(o, "contention"), f);
}

static void
csv_head(FILE *f)
{
    fprintf(f, "kernel,block,lines\n");
}

static void
csv(const json_t *o, FILE *f)
{
    const char *name = json_string_value(json_object_get(o, "kernel"));
    json_t *v;
    size_t i;
    json_array_foreach(json_object_get(o, "lines"), i, v)
        fprintf(f, "%s,%zu,%lld\n", name, i, (long long)json_integer_value(v));
}

static struct chart
ratio_chart(const json_t *o, struct arena *mem)
{
    static const char *const series[] = {"sum of working sets", "common lines once"};
    const json_t *rows = json_object_get(o, "contention");
    const size_t n = json_array_size(rows);
    const char **groups = ARENA_ARRAY(mem, const char *, n + 1);
    double *value = ARENA_ARRAY(mem, double, 2 * n + 1);
    double *x = ARENA_ARRAY(mem, double, n + 1);
    for (size_t k = 0; k < n; k++) {
        const json_t *c = json_array_get(rows, k);
        value[2 * k] = real(c, "contention");
        value[2 * k + 1] = real(c, "contention_distinct");
        x[k] = real(c, "tlp");
        groups[k] = arena_printf(mem, "%.0f", x[k]);
    }
    char *name = demangle_within(json_string_value(json_object_get(o, "kernel")), 100);
    const char *title = arena_printf(mem, "%s: contention ratio over TLP", name);
    free(name);
    return (struct chart){.title = title,
                          .kind = CHART_LINES,
                          .x = x,
                          .xlabel = "resident blocks of the GPU",
                          .ylabel = "working sets / last-level cache",
                          .ngroups = n,
                          .nseries = 2,
                          .groups = groups,
                          .series = series,
                          .value = value};
}

/* -- all that is asked for -- */

static bool
writes_schedule(const struct working_show *w)
{
    return w->schedule && (w->out || !w->json);
}

static bool
one(const json_t *o, const struct working_show *w, FILE *f, struct diag_sink *diag)
{
    if (w->chart) {
        struct arena mem = {0};
        struct chart c = ratio_chart(o, &mem);
        c.look = &w->look;
        bool drawn = chart_write(&c, w->chart, diag);
        arena_free(&mem);
        if (!drawn)
            return false;
    }
    if (writes_schedule(w)) {
        const char *text = json_string_value(json_object_get(o, "schedule"));
        return text && file_put(w->out ? w->out : "-", text, strlen(text), f, diag);
    }
    if (w->csv && !w->json)
        csv(o, f);
    else if (!w->json)
        print(o, f);
    return true;
}

/* Those of the kernel that is asked for. */
static json_t *
of_kernel(const json_t *launches, const char *kernel)
{
    json_t *some = json_array(), *o;
    size_t i;
    json_array_foreach(launches, i, o)
    {
        const char *name = json_string_value(json_object_get(o, "kernel"));
        if (!kernel || demangle_means(name, kernel))
            json_array_append(some, o);
    }
    return some;
}

static bool
can_be_shown(size_t n, const struct working_show *w, struct diag_sink *diag)
{
    if (!n)
        return diag_error(diag, "there is no launch %llu of kernel %s",
                          (unsigned long long)w->nth, w->kernel ? w->kernel : "any");
    if (n > 1 && (w->chart || writes_schedule(w)))
        return diag_error(diag, "there are several kernels; choose one (--only)");
    return true;
}

bool
working_report(const json_t *launches, const char *machine, const struct working_show *w,
               FILE *f, struct diag_sink *diag)
{
    json_t *kernels = of_kernel(launches, w->kernel), *o;
    size_t i;
    bool ok = can_be_shown(json_array_size(kernels), w, diag);
    if (ok && w->csv && !w->schedule && !w->json)
        csv_head(f);
    json_array_foreach(kernels, i, o) ok = ok && one(o, w, f, diag);
    if (ok && w->json) {
        json_t *all = json_pack("{s:s, s:O}", "machine", machine, "kernels", kernels);
        json_dumpf(all, f, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        fprintf(f, "\n");
        json_decref(all);
    }
    json_decref(kernels);
    return ok;
}
