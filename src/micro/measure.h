/* measure.h: the microbenchmarks and the workloads on a real GPU, through the CUDA driver. */
#ifndef ALLOT_MICRO_MEASURE_H
#define ALLOT_MICRO_MEASURE_H

#include "base/diag.h"
#include "base/str.h"

#include "allot/allot.h"

enum { MEASURE_MAX_REPEAT = 99 };

struct measure {
    const char *library; /* the driver, as dlopen takes it */
    int device;          /* number of the GPU */
    unsigned repeat;     /* runs of each case that count, 1 to MEASURE_MAX_REPEAT */
    bool
        quick; /* of every microbenchmark the shortest case; of workloads the small inputs */
    const char *const *only; /* cases whose name begins so; none: all */
    size_t nonly;
    bool warm;    /* caches are left as the run before left them */
    bool profile; /* workloads alone, each once, their kernels as they are: no cycles */
    const char
        *passes; /* NULL; else workloads alone, as these passes leave their kernels */
    const struct allot_machine *machine; /* for these */
    bool (*interrupted)(void);
};

/* Runs the cases and writes the CSV that hardware.h reads. What cannot be done is said on
 * standard error or in the diagnostics; false then, or if interrupted. A case that fails is
 * left out of *out, which is empty if none ran. Workloads with textures are left
 * out: it makes none on a GPU. */
bool measure_run(const struct measure *w, struct strbuf *out, struct diag_sink *diag);

/* A dry run, without a GPU: reads every kernel's text as it would be measured, holds every
 * launch against the machine's limits (whose name is for the head of the file), and writes
 * the rows without cycles. With ptxas, it compiles each kernel too. What would fail is said,
 * and the rest goes on; false then, or if interrupted. */
bool measure_dry(const struct measure *w, const struct allot_machine *m, const char *name,
                 bool ptxas, struct strbuf *out, struct allot_diag *d,
                 struct diag_sink *diag);

#endif
