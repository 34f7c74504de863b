/* info_report.h: what a kernel needs and what limits its occupancy, as text and JSON. */
#ifndef ALLOT_REPORT_INFO_REPORT_H
#define ALLOT_REPORT_INFO_REPORT_H

#include "allot/allot.h"

#include <jansson.h>
#include <stdio.h>

/* Where the kernel would run, and what is told of it. */
struct info_report {
    const struct allot_machine *machine;
    struct allot_module *mod;
    uint32_t threads, dynamic; /* of a block; dynamic scratchpad, bytes */
    bool steps;                /* what more blocks an SM would cost */
    bool loads;                /* text: each load from memory */
};
/* d: what keeps a part from being told; not one block may fit. */
void info_report_text(FILE *f, const struct info_report *in,
                      const struct allot_kernel *plain_kernel, struct allot_diag *d);
json_t *info_report_json(const struct info_report *in,
                         const struct allot_kernel *plain_kernel, struct allot_diag *d);

#endif
