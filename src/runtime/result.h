/* result.h: what a launch leaves: its counters, those of each SM, and samples of both
 * taken while it ran. Private to src/runtime. */
#ifndef ALLOT_RUNTIME_RESULT_H
#define ALLOT_RUNTIME_RESULT_H

#include "cta/workset.h"
#include "runtime/device.h"

/* Counters of a launch so far. */
struct sample {
    uint64_t cycle;
    struct launch_stats stats;
    struct stat_sm *sm; /* of each, with options.sample_sms; else NULL */
};

/* Counters by instruction, then those of none. */
struct result_line {
    struct allot_line at;
    char *text; /* of at.ptx_text */
    struct line_counts count;
};
struct result_lines {
    size_t n;
    struct result_line *v;
    VEC(char *) names; /* of files */
};

struct allot_result {
    char *kernel;
    char *parent; /* the kernel that launched it, NULL: the host did */
    uint32_t grid[3], block[3], dynamic;
    struct occ_kernel demand;
    double seconds;
    struct launch_stats stats;
    struct stat_sm *sm; /* of each, with options.per_sm */
    unsigned nsm, sampled_sms;
    struct result_lines lines; /* with options.by_line */
    VEC(struct sample) samples;
    struct workset *workset;            /* with options.working_sets; else NULL */
    struct allot_working_array *arrays; /* made on first question */
};

/* Keeps a sample, if there is room; gpu: that of each SM too, NULL: not. */
void result_sample(struct allot_result *r, const struct timing_gpu *gpu, unsigned nsm,
                   uint64_t cycle, const struct launch_stats *so_far);
/* Keeps the counters by instruction of a launch of the program. */
void result_keep_lines(struct allot_result *r, const struct exec_prog *p,
                       const struct line_counts *counts);
void result_free_lines(struct result_lines *l);
void result_free(struct allot_result *r);

#endif
