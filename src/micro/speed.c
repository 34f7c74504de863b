/* speed.c: see speed.h. */
#include "micro/speed.h"

#include "allot/workload.h"
#include "base/clock.h"

#include <stdlib.h>

void
speed_add(struct speed *s, const struct allot_device *dev)
{
    for (size_t i = 0; i < allot_results(dev); i++) {
        const struct allot_result *r = allot_result_at(dev, i);
        uint64_t v = 0;
        allot_result_get(r, "warp_instructions", &v, NULL);
        s->warp += v;
        v = 0;
        allot_result_get(r, "cycles", &v, NULL);
        s->cycles += v;
        s->seconds += allot_result_seconds(r);
    }
}

struct speed
speed_best(const struct speed *a, const struct speed *b)
{
    return b->seconds < a->seconds ? *b : *a;
}

bool
speed_parse(const char *path, const char *text, size_t n, double *mb_per_s,
            struct allot_diag *d)
{
    double begin = clock_seconds(CLOCK_PROCESS_CPUTIME_ID), spent = 0;
    uint64_t bytes = 0;
    while (spent < 0.1) {
        struct allot_module *m = allot_module_parse(path, text, n, d);
        if (!m)
            return false;
        allot_module_free(m);
        bytes += n;
        spent = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
    }
    *mb_per_s = (double)bytes / 1e6 / spent;
    return true;
}

size_t
speed_usual(const char **name, size_t most)
{
    size_t n = 0;
    for (const struct allot_workload *const *w = allot_workloads; *w; w++)
        if ((*w)->bench && n < most)
            name[n++] = (*w)->name;
    return n;
}

/* -- tables -- */

static struct speed_report
begin(FILE *f, bool tsv, size_t n, const char *const *heads)
{
    for (size_t i = 0; tsv && i < n; i++)
        fprintf(f, "%s%s", heads[i], i + 1 < n ? "\t" : "\n");
    return (struct speed_report){f, tsv ? NULL : table_new(n, heads)};
}

struct speed_report
speed_report_runs(FILE *f, bool tsv)
{
    return begin(f, tsv, 8,
                 (const char *const[]){"workload", "machine", "threads", "mode",
                                       "warp_instructions", "seconds",
                                       "warp_instructions_per_s", "cycles_per_s"});
}

struct speed_report
speed_report_parsing(FILE *f, bool tsv)
{
    return begin(f, tsv, 3,
                 (const char *const[]){"file", "megabytes", "megabytes_per_s"});
}

void
speed_report_run(struct speed_report *r, const char *workload, const char *machine,
                 unsigned threads, bool functional, const struct speed *s)
{
    const char *mode = functional ? "functional" : "timing";
    double wps = (double)s->warp / s->seconds, cps = (double)s->cycles / s->seconds;
    char b[32];
    if (!r->t) {
        fprintf(r->f, "%s\t%s\t%u\t%s\t%llu\t%.6f\t%.0f\t%.0f\n", workload, machine,
                threads, mode, (unsigned long long)s->warp, s->seconds, wps, cps);
        fflush(r->f);
        return;
    }
    table_cell(r->t, "%s", workload);
    table_cell(r->t, "%s", machine);
    table_cell(r->t, "%u", threads);
    table_cell(r->t, "%s", mode);
    table_cell(r->t, "%s", table_thousands(b, s->warp));
    table_cell(r->t, "%.3f", s->seconds);
    table_cell(r->t, "%s", table_thousands(b, (uint64_t)wps));
    table_cell(r->t, "%s", functional ? "-" : table_thousands(b, (uint64_t)cps));
}

void
speed_report_parsed(struct speed_report *r, const char *path, size_t bytes,
                    double mb_per_s)
{
    if (!r->t) {
        fprintf(r->f, "%s\t%.6f\t%.1f\n", path, (double)bytes / 1e6, mb_per_s);
        return;
    }
    table_cell(r->t, "%s", path);
    table_cell(r->t, "%.3f", (double)bytes / 1e6);
    table_cell(r->t, "%.1f", mb_per_s);
}

bool
speed_report_files(struct speed_report *r, const char *const *files, size_t n,
                   uint64_t repeat, struct diag_sink *diag, struct allot_diag *d)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        size_t len;
        char *text = file_read(files[i], &len);
        double best = 0, speed;
        ok = text || diag_error(diag, "cannot read '%s'", files[i]);
        for (uint64_t k = 0; ok && k < repeat; k++) {
            ok = speed_parse(files[i], text, len, &speed, d);
            best = ok && speed > best ? speed : best;
        }
        if (ok)
            speed_report_parsed(r, files[i], len, best);
        free(text);
    }
    return ok;
}

void
speed_report_end(struct speed_report *r, bool show)
{
    if (r->t && show)
        table_show(r->t, r->f);
    if (r->t)
        table_free(r->t);
}
