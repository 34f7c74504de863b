/* launch.h: a kernel of one's own, from texts: what to launch, its arguments and buffers.
 *
 * The same texts stand on the command line, in a launch file, in a row of an experiment,
 * and in the store. An argument is
 *   42  -7  0x10  1.5                 a number, converted to the parameter's type
 *   buf:BYTES or buf:COUNTxTYPE       a buffer; options behind commas:
 *       init=zero|iota|random|NUMBER  contents (zero by default)
 *       init=self                     each 8 bytes hold their own address
 *       in=FILE                       contents from a file (size from it if left out)
 *       out=FILE                      to be written afterwards
 *       show=N                        first N elements to be printed afterwards */
#ifndef ALLOT_EXPERIMENTS_LAUNCH_H
#define ALLOT_EXPERIMENTS_LAUNCH_H

#include "allot/allot.h"
#include "base/diag.h"
#include "ptx/opcode.h"

/* As it was written; NULL: not said. */
struct launch_desc {
    const char *kernel, *grid, *block, *scratchpad;
    const char *const *args;
    size_t nargs;
};

/* Reads kernel, grid, block, scratchpad and args from a YAML file into mem. What is said
 * already stays. */
bool launch_file(const char *path, struct launch_desc *l, struct arena *mem,
                 struct diag_sink *diag);

/* "4", "4,2" or "4x2x1" to three positive numbers. */
bool launch_dims(const char *s, uint32_t out[3]);
/* The kernel of that name in the PTX, or in the source, with or without parameters and
 * namespaces, if that is one's alone; or NULL. */
const struct allot_kernel *launch_kernel(struct allot_module *mod, const char *name);

struct launch_arg {
    const char *text;  /* as it was written */
    uint8_t value[16]; /* of the parameter; a buffer's address */
    bool buffer;
    uint64_t bytes;                   /* of the buffer; 0: as long as `in` */
    const struct ptx_type_info *type; /* of its elements */
    const char *init, *in, *out;      /* in, out: NULL for none */
    uint64_t show;
};

/* What was understood; arrays and texts live in the arena, names in the module. */
struct launch {
    struct allot_module *module;
    const struct allot_kernel *kernel;
    uint32_t grid[3], block[3], scratchpad;
    struct launch_arg *arg; /* kernel->nparams of them */
};

/* Takes a description apart and holds it against the kernel; `file` names the module to
 * people. On failure *part is what is to blame: "kernel", "grid", "block", "scratchpad",
 * "args" or "args[2]" (part may be NULL). */
bool launch_read(const struct launch_desc *l, struct allot_module *mod, const char *file,
                 struct launch *to, const char **part, struct arena *mem,
                 struct diag_sink *diag);

/* Contents of an argument's input file, malloc'd, a->bytes set; a->in must not be NULL.
 */
char *launch_input(struct launch_arg *a, struct diag_sink *diag);

/* Makes the buffers and runs the kernel. `seed`: of init=random. */
bool launch_run(struct launch *l, struct allot_device *dev, uint32_t seed,
                struct diag_sink *diag);

/* First a->show elements as text, with a blank before each; a must be a buffer whose
 * contents are `data`. */
void launch_show(const struct launch_arg *a, const uint8_t *data, struct strbuf *out);

/* What was launched as "kernel=", "grid=", "block=", "smem=" and "arg=" texts, in mem:
 * equal for launches that do the same (out= and show= do nothing to it). `beside`: what
 * stands before relative names of input files ("" for nothing). */
const char *const *launch_texts(const struct launch *l, const char *beside, size_t *n,
                                struct arena *mem);
/* And back; of a text that is there twice the last one counts. "arg2=TEXT" behind them is in
 * place of the third argument. False: one of them is no such text, and *wrong says which. */
bool launch_from_texts(const char *const *texts, size_t n, struct launch_desc *l,
                       const char **wrong, struct arena *mem);

#endif
