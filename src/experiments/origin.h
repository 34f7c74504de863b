/* origin.h: what a figure's values were made of, as lines in front of those that are kept:
 *
 *     # commit 0123456789ab
 *     # experiment fig2.13 89abcdef0123        rows, series, settings, metrics; no check, no text
 *     # machine 001-table2.3-scratchpad ...    its settings that are not the default
 *     # workload lavaMD,clang ...              its PTX, and what makes its inputs and launches
 *     # file kernel.ptx ...                    a kernel of one's own
 *     # small fig2.13 ...                      the values of its small version (figure_small.h)
 *     # code passes ...                        a folder of sources
 *
 * So a figure is old because one of the first has changed, or only its code differs: then the small
 * version still has the same values. */
#ifndef ALLOT_EXPERIMENTS_ORIGIN_H
#define ALLOT_EXPERIMENTS_ORIGIN_H

#include "experiments/experiment.h"

struct origin_line {
    const char *kind, *name, *hash;
};

struct origin {
    const char *version, *commit; /* "0.1.0+0123456789ab"; "": not known */
    struct {
        struct origin_line *v;
        size_t n, cap;
    } lines;
    struct arena mem;
};

/* Of today. small: the file of the small version's values, which may be missing. False and
 * diagnostics: a machine or file cannot be read. */
bool origin_make(const struct experiment *e, const char *small, struct origin *o,
                 struct diag_sink *diag);
/* As the lines above a file of values say; without lines if it has none. False and errno. */
bool origin_read(const char *values, struct origin *o);
/* The lines, that of the commit first. */
void origin_text(const struct origin *o, struct strbuf *out);
void origin_free(struct origin *o);

enum origin_age {
    ORIGIN_SAME,
    ORIGIN_CODE,    /* other code, the same values of the small version */
    ORIGIN_OLD,     /* something else has changed */
    ORIGIN_UNKNOWN, /* the file does not say what made it */
};
/* How old `was` is beside `now`; *why: what differs, "passes, machine titan". */
enum origin_age origin_compare(const struct origin *was, const struct origin *now,
                               struct strbuf *why);

/* The commit that the working tree with this file is at, 12 digits, in mem; "": none is found. */
const char *origin_commit(const char *file, struct arena *mem);

#endif
