/* hardware.h: the microbenchmarks on our description of a GPU beside what measure.h found
 * on the product. */
#ifndef ALLOT_MICRO_HARDWARE_H
#define ALLOT_MICRO_HARDWARE_H

#include "base/vec.h"
#include "micro/micro.h"

struct hardware_sample {
    const char *name, *kernel;
    unsigned launch;
    double ours, theirs; /* cycles */
};

struct hardware {
    const char *machine;      /* NULL: known by the card's name */
    bool quick, each;         /* of every kernel the shortest case; every launch too */
    void (*file_done)(void);  /* called when a file's cases have run */
    struct micro_cases cases; /* from micro_load */
    VEC(struct hardware_sample) samples;
    unsigned unknown; /* rows without cycles (a dry run's) */
};

/* Files that come with allot (papers/hw/), sorted, in mem. */
const char **hardware_shipped(struct arena *mem, size_t *n);

/* Runs the cases of one file of measure_run and prints the report. */
bool hardware_correlate(struct hardware *h, const char *path, struct allot_options *o,
                        struct diag_sink *diag, struct allot_diag *d);
void hardware_free(struct hardware *h);

#endif
