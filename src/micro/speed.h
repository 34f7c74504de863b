/* speed.h: how fast the simulator itself is on this host: launches, and parsing PTX. */
#ifndef ALLOT_MICRO_SPEED_H
#define ALLOT_MICRO_SPEED_H

#include "allot/allot.h"
#include "base/diag.h"
#include "report/table.h"

#include <stdio.h>

/* Sums over launches; seconds: of simulating alone, not of the host's check. */
struct speed {
    uint64_t warp, cycles; /* warp instructions, core cycles */
    double seconds;
};
void speed_add(struct speed *s, const struct allot_device *dev);
/* The faster of two, the first of equals: the least disturbed by what else the host does. */
struct speed speed_best(const struct speed *a, const struct speed *b);

/* Megabytes of PTX a second of CPU time: text to module and back to nothing, as often as
 * fills a tenth of a second. False and diagnostics. */
bool speed_parse(const char *path, const char *text, size_t n, double *mb_per_s,
                 struct allot_diag *d);

/* Names of the workloads that are marked for it (.bench), at most `most` of them. */
size_t speed_usual(const char **name, size_t most);

/* A table of either, or lines with tabs, written as they come. Rows are printed in order. */
struct speed_report {
    FILE *f;
    struct table *t; /* NULL: lines with tabs */
};
struct speed_report speed_report_runs(FILE *f, bool tsv);
struct speed_report speed_report_parsing(FILE *f, bool tsv);
void speed_report_run(struct speed_report *r, const char *workload, const char *machine,
                      unsigned threads, bool functional, const struct speed *s);
void speed_report_parsed(struct speed_report *r, const char *path, size_t bytes,
                         double mb_per_s);
/* Rows of PTX files ("-": standard input), each parsed `repeat` times: the fastest. False: one
 * cannot be read (diag) or parsed (d). */
bool speed_report_files(struct speed_report *r, const char *const *files, size_t n,
                        uint64_t repeat, struct diag_sink *diag, struct allot_diag *d);
/* Prints the table (show) and frees it. */
void speed_report_end(struct speed_report *r, bool show);

#endif
