/* measure.h: the microbenchmarks on a real GPU, through the CUDA driver. */
#ifndef ALLOT_MICRO_MEASURE_H
#define ALLOT_MICRO_MEASURE_H

#include "base/diag.h"
#include "base/str.h"

enum { MEASURE_MAX_REPEAT = 99 };

struct measure {
    const char *library;     /* the driver, as dlopen takes it */
    int device;              /* number of the GPU */
    unsigned repeat;         /* runs of each case that count, 1 to MEASURE_MAX_REPEAT */
    bool quick;              /* of every kernel only the shortest case */
    const char *const *only; /* cases whose name begins so; none: all */
    size_t nonly;
    bool (*interrupted)(void);
};

/* Runs the cases and writes the CSV that hardware.h reads. What cannot be done is said on
 * standard error or in the diagnostics; false then, or if interrupted. */
bool measure_run(const struct measure *w, struct strbuf *out, struct diag_sink *diag);

#endif
