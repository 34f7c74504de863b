/* method.h: ways of making a schedule, by text: "awss,packer=lmf". The searches of 004
 * (Problems 1 to 3) and baselines, which do not look at working sets. */
#ifndef ALLOT_CTA_METHOD_H
#define ALLOT_CTA_METHOD_H

#include "base/diag.h"
#include "cta/search.h"

struct cta_method_row;

struct cta_method {
    const struct cta_method_row *row;
    const struct packer *packer; /* NULL: the best */
    uint64_t tlp;                /* of baselines at most; 0: what the GPU holds */
    uint64_t seed;
    enum cta_barriers barriers; /* of searches */
};

/* The name of method i; NULL past the last. */
const char *cta_method_name(size_t i);
/* Whether a text, up to its first comma, names a method. */
bool cta_is_method(const char *text);
/* The method that a text may have meant, or NULL. */
const char *cta_near_method(const char *text);
/* METHOD[,OPTION]...; false and a diagnostic if that is none. */
bool cta_method_parse(const char *text, struct cta_method *m, struct diag_sink *diag);

/* Whether it looks at working sets: without, cta_problem needs no sizes, no capacity. */
bool cta_method_needs_sizes(const struct cta_method *m);

/* p has blocks, sizes, capacity, largest TLP and CPS; the method sets the rest. Free the
 * result with cta_schedule_free. */
struct cta_schedule *cta_method_schedule(const struct cta_method *m,
                                         struct cta_problem p);

#endif
