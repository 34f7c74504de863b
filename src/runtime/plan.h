/* plan.h: the launch plan: what is decided of a launch before its first block starts.
 *
 *   variant     the kernel as passes left it, and the shape that they leave the launch in
 *   demand      what a block asks of an SM: threads, registers, scratchpad, barriers
 *   budget      what the SM has of each, and what of it is L1: split, or from one pool
 *   residency   how many blocks an SM holds and what they share (residency.policy)
 *   order       which block goes to which SM (cta.order)
 *
 * Launches, occupancy queries, CUDA's occupancy calls and `opt --explain` ask this one
 * place, so their answers agree. Each stage depends on those above it, with one exception:
 * passes are told the threshold of sharing, and whether blocks share depends on what the
 * passes leave (plan_variant). */
#ifndef ALLOT_RUNTIME_PLAN_H
#define ALLOT_RUNTIME_PLAN_H

#include "runtime/device.h"

/* Of one SM, for the blocks that reside. */
struct plan_budget {
    uint32_t threads, blocks;
    uint64_t registers;  /* 32-bit */
    uint64_t scratchpad; /* bytes, as the SM is set up */
    uint64_t l1;         /* bytes of the L1 data cache */
    bool pooled;         /* scratchpad and L1 are parts of one memory */
};

struct launch_plan {
    struct version *version;
    struct loaded_kernel *kernel; /* of the version; not decoded */
    struct pass_launch shape;     /* what is launched; a grid of 0: not known */
    double threshold;             /* that passes were told; 1: nothing is shared */
    uint32_t shared_from;    /* scratchpad byte from which on a pair shares; 0: none */
    struct occ_demand block; /* the demand under the machine's rounding rules */
    uint32_t barriers;
    struct plan_budget budget;
    struct timing_plan sm;         /* demand of the kernel; residency; order of blocks */
    const struct ptx_var *entries; /* the array of persistent blocks, or NULL */
    const struct ptx_var *steps;   /* that of their steps, or NULL */
    const struct cta_schedule *persisted; /* what it is filled from: of a file; or NULL */
};

/* Variant and demand. Compiles the variant on its first use. A dimension of 0 counts as 1,
 * but for a grid of 0 in all dimensions. False and a diagnostic: no such kernel, or a pass
 * failed. */
bool plan_variant(struct allot_device *dev, const struct allot_launch *l,
                  struct launch_plan *p, struct diag_sink *diag);
/* The rest. False and a diagnostic: not even one block fits, or the policy cannot work
 * with the kernel. */
bool plan_residency(const struct allot_device *dev, struct launch_plan *p,
                    struct diag_sink *diag);
/* The variant before all passes, in the shape that the host asked for. */
bool plan_unchanged(struct allot_device *dev, const struct allot_launch *l,
                    struct launch_plan *p, struct diag_sink *diag);
/* All of it. */
bool plan_launch(struct allot_device *dev, const struct allot_launch *l,
                 struct launch_plan *p, struct diag_sink *diag);

/* Blocks that the whole device holds at once, none sharing anything: what a cooperative
 * launch may have. 0 and a diagnostic: not one. */
uint64_t plan_together(const struct machine *m, const struct launch_plan *p,
                       struct diag_sink *diag);

/* Defaults of the passes' settings, by machine and launch; `words.latencies` is to be freed. */
struct plan_defaults {
    char threshold[32], bytes[32], most[32], sm[32], threads[32], warps[32];
    struct rt_key_words words;
    struct pass_key key[7 + RT_MACHINE_KEYS + 1]; /* with their end */
};
void plan_defaults_new(struct plan_defaults *d, const struct machine *m, double threshold,
                       uint32_t dynamic_scratchpad);
/* The kernel with a body of that name; NULL and a diagnostic: there is none. */
struct ptx_func *plan_find_kernel(const struct ptx_module *p, const char *name,
                                  struct diag_sink *diag);

#endif
