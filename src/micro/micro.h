/* micro.h: the microbenchmarks: small kernels in workloads/micro/, and cases (kernel,
 * grid, parameters, buffers) as rows of a CSV. A case is one or two launches on one
 * device: the first of two warms the L2.
 *
 * Columns: case, ptx, kernel, config, grid, block, params ("buf=b0 iters=16"), regs,
 * launch ("2/2"), prefill, buffers ("b0=4096:zero b1=..."), cycles, thread_insn,
 * warp_insn. Contents of a buffer: "zero"; "zero-by-memcpy" (written by the host);
 * "lcg-ring-first-N- lines", "seq-ring-first-N-lines": N pointers, one per 128-byte line,
 * from line 0 on, each to line 1664525 x + 1013904223 modulo all lines, or to the next;
 * "self": each 8 bytes hold their own address.
 */
#ifndef ALLOT_MICRO_MICRO_H
#define ALLOT_MICRO_MICRO_H

#include "report/csv.h"

#include "allot/allot.h"

enum { MICRO_MAX_LAUNCHES = 2, MICRO_MAX_BUFFERS = 4, MICRO_MAX_PARAMS = 8 };

struct micro_launch {
    const char *ptx, *kernel, *params; /* params: as in the CSV */
    uint32_t grid, block, regs;
    unsigned row; /* of the CSV */
    uint64_t cycles, thread_insn, warp_insn;
};

struct micro_case {
    const char *name, *config;
    struct micro_launch launch[MICRO_MAX_LAUNCHES];
    unsigned nlaunches, nbuffers;
    unsigned cc; /* least compute capability that it is for; 0: any */
    uint64_t bytes[MICRO_MAX_BUFFERS];
    const char *contents[MICRO_MAX_BUFFERS];
    bool prefill;
};

struct micro_cases {
    struct micro_case *v;
    size_t n;
    struct csv *csv;
    struct arena mem;
};

/* Cases of the CSV that comes with allot; false and a diagnostic. published.h adds others. */
bool micro_load(struct micro_cases *m, struct diag_sink *diag);
void micro_free(struct micro_cases *m);
/* Whether a case's name begins with the text. */
bool micro_begins(const char *name, const char *text);
/* The first of n texts that begins no case's name, nor a workload's (apps.h); NULL: there is
 * none, or the cases cannot be read (micro_load says why). */
const char *micro_unknown(const char *const *only, size_t n);

/* The quick subset: of every kernel and configuration the case with the fewest cycles. */
bool micro_is_quick(const struct micro_cases *m, size_t i);

/* Calls write(user, offset, value) for every pointer (8 bytes) in the buffer, with the buffer
 * at address base; all else is zero. False: contents
 * of that name are not known. */
bool micro_fill(const char *contents, uint64_t bytes, uint64_t base,
                bool (*write)(void *user, uint64_t offset, uint64_t value), void *user);

/* Bytes to allocate for a buffer of so many. */
uint64_t micro_room(uint64_t bytes);

/* Parameter `name` of a launch: a number, or the address of a buffer. */
bool micro_param(const struct micro_launch *l, const char *name, const uint64_t *address,
                 unsigned nbuffers, uint64_t *value);

/* Runs the case on a machine (prefill and registers are set as the case says) and leaves
 * the results in *dev and *module, which the caller frees in that order, also after a
 * failure. With span, the kernels are those of span.h for the machine's compute
 * capability, and span[i] is what launch i told. */
bool micro_run(const struct micro_case *c, const struct allot_machine *m,
               const struct allot_options *options, struct allot_device **dev,
               struct allot_module *module[MICRO_MAX_LAUNCHES], uint64_t *span,
               struct allot_diag *d);

/* The same without running it: parses the texts of span.h for the machine and holds each
 * launch against its limits. With ptxas, which must be in the PATH, that compiles them too. */
bool micro_plan(const struct micro_case *c, const struct allot_machine *m, bool ptxas,
                struct allot_diag *d);

/* Text of a kernel's file (of workloads/micro, if no folder is named), malloc'd; NULL after
 * saying why not. With cc, as span.h makes
 * it for that compute capability. */
char *micro_text(const char *ptx, unsigned cc);

#endif
