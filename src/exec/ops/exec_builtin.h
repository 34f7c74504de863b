/* exec_builtin.h: calls of functions that the device brings along, for the files that
 * hold them: exec_builtin.c, device_launch.c. */
#ifndef ALLOT_EXEC_EXEC_BUILTIN_H
#define ALLOT_EXEC_EXEC_BUILTIN_H

#include "exec/exec_int.h"
#include "exec/ops/exec_mem.h"

enum { BUILTIN_ARGS = 8 };

struct builtin_plan {
    struct call_move in[BUILTIN_ARGS]; /* from: the caller's */
    struct call_move out;              /* to */
    bool has_out;
};

struct builtin_row {
    const char *name; /* NULL: the table ends */
    exec_fn *fn;
    uint8_t nin, nout;
};
/* Functions of the device runtime, without the prefix of their name. */
extern const struct builtin_row builtin_orders[];

/* Argument k of a lane; result of the call. */
uint64_t builtin_arg(const struct exec_warp *w, const struct exec_inst *in, unsigned k,
                     unsigned lane);
void builtin_result(struct exec_warp *w, const struct exec_inst *in, unsigned lane,
                    uint64_t v);

#endif
