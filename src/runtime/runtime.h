/* runtime.h: the objects behind the public handles of allot.h, shared by the files here.
 */
#ifndef ALLOT_RUNTIME_RUNTIME_H
#define ALLOT_RUNTIME_RUNTIME_H

#include "allot/allot.h"
#include "base/diag.h"
#include "energy/energy.h"
#include "exec/exec.h"
#include "machine/machine.h"
#include "ptx/ir.h"
#include "stats/stats.h"
#include "timing/timing.h"

struct allot_diag {
    struct diag_sink sink;
    struct strbuf text;
};

/* The sink of a public diag, or a private one that is thrown away: use as
 *     struct diag_sink own = {0}, *s = rt_sink(d, &own); ... diag_free(&own); */
static inline struct diag_sink *
rt_sink(struct allot_diag *d, struct diag_sink *own)
{
    return d ? &d->sink : own;
}

struct allot_machine {
    struct machine *m;
};

/* A kernel's public facts; its arrays live in the module's `mem`. */
struct allot_module {
    struct ptx_module *ptx;
    uint64_t serial; /* changes with the IR, differs between modules: a device knows by it
                      * that what it decoded is still what stands here */
    struct arena mem;
    struct allot_kernel *kernels; /* made on first question */
    bool *described;              /* whether more than its name is known */
    size_t nkernels;
    bool counted;
    struct dev_mem *check_mem; /* of allot_kernel_refused: made on first question */
    struct exec_image *check_image;
    bool (*cancelled)(void *user); /* of the diagnostics that it was read with */
    void *cancel_user;
};

/* The public handle of p, which it takes over; NULL for NULL. */
struct allot_module *rt_module_wrap(struct ptx_module *p, const struct diag_sink *diag);

/* The passes that a machine has done to a module before it runs, malloc'd. A module
 * linked of several keeps its virtual registers: a copy of it would not know its parts.
 */
char *rt_pipeline(const struct machine *m, const struct ptx_module *p);
/* How many of them, from the first, are the clean-up. */
unsigned rt_cleanup_passes(const struct machine *m, const struct ptx_module *p);
enum { RT_MACHINE_KEYS = 8 };
struct pass_key;
/* The words of those that are no constants; latencies is to be freed. */
struct rt_key_words {
    char *latencies;
    char reserved[32], banks[32];
};
/* Fills RT_MACHINE_KEYS defaults of passes' settings that follow from the machine alone:
 *   latencies      those of its latency group; global: a hit in an idle machine's L2, local and
 *                  const: hits in L1D and L1C
 *   reserved       registers of a thread that no value can have
 *   banks          register banks of a processing block; 0: its schedulers share them
 *   operands       late: its code has operands in the constant bank (late-operands)
 *   operands-free  yes: parameters, constants and literals take no slot where they are read
 *   operand-loads  yes: a load may be an operand of the instruction that reads its value
 *   expanded       yes: an instruction is as many operations as on a card */
void rt_machine_keys(const struct machine *m, struct rt_key_words *w,
                     struct pass_key *key);

struct pass_launch;
/* What passes tell that they do to a kernel for a launch of that shape, as --explain of any
 * launch tells it: behind the machine's clean-up, where `passes` do not hand out registers
 * themselves. malloc'd, "" where they tell nothing; NULL and a diagnostic: a pass failed. */
char *rt_passes_report(const struct allot_module *m, const struct allot_machine *machine,
                       const char *kernel, const char *passes,
                       const struct pass_launch *launch, struct allot_diag *d);

/* A counter of a launch; 0: there is none of that name. */
uint64_t rt_count(const struct allot_result *r, const char *id);

/* The energy of a launch. False and a diagnostic: its parts do not add up. */
bool rt_energy(const struct allot_result *r, const struct allot_machine *m,
               struct energy *e, struct diag_sink *diag);

/* Bytes of the L2 over all its slices. */
uint64_t rt_l2_bytes(const struct machine *m);

/* Drops what was computed from the IR (after a pass changed it). */
void rt_module_changed(struct allot_module *m);

#endif
