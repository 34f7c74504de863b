/* candidates.h: what may help a kernel: the rows of candidates.def, as settings for a machine. */
#ifndef ALLOT_ADVISE_CANDIDATES_H
#define ALLOT_ADVISE_CANDIDATES_H

#include "advise/limits.h"
#include "allot/allot.h"

enum advise_group { ADVISE_CARD, ADVISE_HARDWARE, ADVISE_GROUPS };
/* "works on the card you have" */
const char *candidates_group(enum advise_group g);

/* What is known of a kernel without another run. */
struct facts {
    const char *kernel;
    double share;    /* of the run's cycles */
    uint64_t blocks; /* of its largest launch */
    uint32_t threads, scratchpad, registers, dynamic;
    uint32_t resident, held,
        sms;                /* blocks an SM may hold, and those of them that the grid has;
                                   * SMs */
    double warps;           /* resident, of a scheduler */
    const char *limited_by; /* of allot_occupancy */
    bool limited_by_registers, limited_by_scratchpad, limited_by_blocks;
    bool shares_registers, shares_scratchpad; /* pairs would bring blocks */
    bool fills; /* there are more blocks than the GPU holds */
    bool barriers, memory, misses,
        dram;                /* it has barriers; reads global memory; misses the
                                          * L1, the last-level cache */
    bool virtual, carveouts; /* of the machine: compiler.registers; sizes of the
                                          * scratchpad can be chosen */
    struct limits limits;
};
/* Of a kernel's launches together: `s`, whose demand was q, with `blocks` in the largest. */
struct facts candidates_facts(const struct allot_machine *m, struct allot_module *mod,
                              const char *kernel, const struct launch_stats *s,
                              const struct allot_occupancy_query *q, uint64_t blocks,
                              struct arena *mem);

struct candidate_row {
    const char *id;
    enum advise_group group;
    const char *settings;
    const char *cost, *cannot;
    bool energy; /* it is to save energy */
};
/* Row i of candidates.def; NULL: past the last. */
const struct candidate_row *candidates_row(size_t i);

struct candidate {
    const struct candidate_row *row, *other; /* other: of a pair, else NULL */
    const char *name;                        /* "register-target=32" */
    const char
        *settings; /* PATH=VALUE joined by '+', as candidates_settings takes them */
    enum advise_group group; /* of a pair: new hardware, if one of both is */
    const char *pruned;      /* why it cannot help; NULL: it may */
    double bound;            /* share of the issue slots that it can save at most */
};
/* All candidates for kernels of these facts, in the order of the table; *n of them, in mem.
 * mod: to see how many registers each level of occupancy has. */
struct candidate *candidates_of(const struct facts *f, size_t nf,
                                struct allot_module *mod, const struct allot_machine *m,
                                size_t *n, struct arena *mem);
/* Both together; false: they set one setting to two values, or are of one row. */
bool candidates_pair(const struct candidate *a, const struct candidate *b,
                     struct candidate *to, struct arena *mem);
/* The candidate's settings one by one as PATH=VALUE, passes after the machine's own: *n of
 * them, in mem. */
const char *const *candidates_settings(const struct candidate *c,
                                       const struct allot_machine *m, size_t *n,
                                       struct arena *mem);
/* The machine with them. NULL and a diagnostic. */
struct allot_machine *candidates_machine(const struct candidate *c,
                                         const struct allot_machine *m,
                                         struct allot_diag *d);

#endif
