/* loc_chain.h: debug lines of inlined code stay valid whatever passes do.
 *
 * ".loc 1 20 1, function_name $x, inlined_at 1 7 9" is legal only after a ".loc 1 7 9"
 * of the same function (PTX ISA 11.5.3; ptxas refuses it otherwise). Passes move, copy and
 * delete instructions with their directives, so the driver mends the chain after each. */
#ifndef ALLOT_PASSES_LOC_CHAIN_H
#define ALLOT_PASSES_LOC_CHAIN_H

#include "ptx/ir.h"

struct loc_chain; /* of one function: which directive each inlined one was after */

/* NULL: nothing is inlined in f. Free with loc_chain_free. */
struct loc_chain *loc_chain_new(const struct ptx_func *f);
void loc_chain_free(struct loc_chain *c);

/* Puts what an inlined .loc refers to before it wherever a pass separated them. c may be
 * NULL. Whether anything was added. */
bool loc_chain_mend(const struct loc_chain *c, struct ptx_func *f);

/* The first .loc that refers to none before it; NULL: there is none. */
const struct ptx_inst *loc_chain_broken(const struct ptx_func *f);

#endif
