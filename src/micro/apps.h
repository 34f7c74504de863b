/* apps.h: the workloads as cases beside the microbenchmarks: "workload/NAME" with its input,
 * "workload/NAME/quick" with the one for tests. A case's rows are its kernels in the order in
 * which they are launched first, each with the cycles of all its launches (span.h). */
#ifndef ALLOT_MICRO_APPS_H
#define ALLOT_MICRO_APPS_H

#include "allot/workload.h"

enum { APPS_MAX_KERNELS = 16 };

struct apps_kernel {
    char name[128];
    uint64_t launches, cycles;
};

struct apps_result {
    struct apps_kernel kernel[APPS_MAX_KERNELS];
    unsigned n;
};

struct apps_case {
    const struct allot_workload *workload;
    bool quick;
    const char
        *passes; /* run over its kernels; NULL: none. "machine": the machine's own, and
                           registers allocated */
    const struct allot_machine *machine; /* for these */
};

/* Case i, from 0 while true is returned: by name of the workload, the quick one first. */
bool apps_case(size_t i, struct apps_case *out);
/* "workload/hotspot/quick" */
void apps_name(const struct apps_case *c, char name[160]);
bool apps_find(const char *name, struct apps_case *out);

bool apps_has_textures(const struct allot_workload *w);

/* The PTX of the case's workload, of clang, behind its passes, as span.h makes it for a compute
 * capability, or as it is; malloc'd, NULL after saying why not. */
char *apps_text(const struct apps_case *c, unsigned cc, bool as_is);

/* Runs the case at a place that launches the kernels of `module`, whose text is apps_text's.
 * UNCHECKED: the results may be anything, and the workload's check is not asked. AS_IS: the
 * text was, and no cycles are read. */
enum { APPS_UNCHECKED = 1, APPS_AS_IS = 2 };
bool apps_run(const struct apps_case *c, const struct allot_place *place,
              struct allot_module *module, unsigned flags, struct apps_result *out,
              struct allot_diag *d);

/* On a machine, as the machine's compiler leaves the kernels. PLAN: nothing runs, each launch
 * is held against the limits of the machine, and a copy to the host is what was written; so
 * what depends on results may be launched less often. PLAN_PTXAS: ptxas, which must be in the
 * PATH, compiles every kernel launched too. */
enum apps_how { APPS_RUN, APPS_PLAN, APPS_PLAN_PTXAS };
bool apps_simulate(const struct apps_case *c, const struct allot_machine *m,
                   const struct allot_options *options, enum apps_how how,
                   struct apps_result *out, struct allot_diag *d);

#endif
