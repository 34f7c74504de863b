/* reference.h: the microbenchmarks on our descriptions of the two machines for which
 * GPGPU-Sim's cycles are known (papers/micro/), launch by launch beside its figures. */
#ifndef ALLOT_MICRO_REFERENCE_H
#define ALLOT_MICRO_REFERENCE_H

#include "base/vec.h"
#include "micro/micro.h"

struct reference_sample {
    const struct micro_case *c;
    unsigned launch, machine;
    uint64_t ours;
    bool same_instructions;
};

struct reference {
    bool quick, csv;         /* of every kernel the shortest case; launches as CSV */
    const char *machine;     /* this one only; NULL: all */
    const char *const *only; /* cases whose name begins so; none: all */
    size_t nonly;
    struct micro_cases cases;
    VEC(struct reference_sample) samples; /* what reference_run found */
};

bool reference_has_machine(const char *name);

/* Runs the cases. A launch that executes another number of instructions than GPGPU-Sim
 * counts is named on standard error. */
bool reference_run(struct reference *r, struct allot_options *o, struct diag_sink *diag,
                   struct allot_diag *d);
void reference_free(struct reference *r);

bool reference_same_instructions(const struct reference *r);
/* Table or CSV of launches; a summary, which says whether the goals of docs/fidelity.md
 * are met (with CSV on standard error); a chart of the median difference of each group of
 * cases. */
void reference_print_launches(const struct reference *r);
bool reference_print_summary(const struct reference *r);
bool reference_chart(const struct reference *r, const char *path, struct diag_sink *diag);

#endif
