/* scratchpad.h: where a kernel's scratchpad variables lie, and which of them an access
 * may touch (the question SS-5 of 000: its analyses take the answer for granted). */
#ifndef ALLOT_ANALYSIS_SCRATCHPAD_H
#define ALLOT_ANALYSIS_SCRATCHPAD_H

#include "ptx/ir.h"

/* -- layout -- */

struct scratch_var {
    const struct ptx_var *var;
    uint64_t at; /* offset in the block's scratchpad */
};

struct scratch_layout {
    uint64_t bytes;        /* of the static variables, padding included */
    uint64_t dynamic_base; /* where all extern .shared x[] start */
};

/* Sorts the n variables (no duplicates) into the order of declaration - the module's,
 * then each function's in the order of functions; extern arrays last - and gives each its
 * place: static ones one after the other at their alignment, extern arrays all at the
 * next multiple of 16 (or of their alignment). The order of declaration is thus the
 * layout, and a pass changes the layout by reordering declarations. */
void scratch_place(const struct ptx_module *m, struct scratch_var *v, size_t n,
                   struct scratch_layout *out);

/* -- which variable an access touches -- */

/* A set of variables: bit i is variable i of scratch_use.var; all extern arrays, which
 * are one storage, are one bit; variables past the 63rd share bit 63. */
typedef uint64_t scratch_set;

struct scratch_func {
    const struct ptx_func *func;
    scratch_set *touch; /* per instruction of the body: what it may read or write; a call:
                         * what the callee may */
};

struct scratch_use {
    VEC(struct scratch_var) var; /* the kernel's and its callees', in layout order */
    struct scratch_layout layout;
    unsigned nbits;      /* bits in use: min(variables, extern ones counted once; 64) */
    scratch_set all;     /* of them */
    scratch_set escaped; /* variables whose address is stored or passed somewhere */
    VEC(struct scratch_func) funcs; /* the kernel first, then every callee */
    struct arena mem;
};

/* Analyses kernel f, callees included.
 *
 * What a register may point to is followed from the symbols through moves, arithmetic,
 * selections, shuffles and cvta, first without regard to the order of instructions, then,
 * where that leaves a register with several variables, along the control flow. An address
 * that leaves the registers (stored, passed to a function) counts as `escaped`, and every
 * value loaded or returned may point to whatever escaped. An access in the .shared space
 * through a register that holds no known address may touch every variable; a generic one
 * through such a register touches none, as a generic scratchpad address comes from cvta
 * of a .shared address alone (cvta of an unknown one: every variable).
 *
 * Sound as long as an address formed from one variable's symbol stays within that
 * variable, which the C language asks of pointer arithmetic; the executor can check it at
 * run time. Cost: a few sweeps over the instructions; free with scratch_use_free. */
struct scratch_use *scratch_use_new(const struct ptx_func *f);
void scratch_use_free(struct scratch_use *u);

/* Bit of variable number i of u->var. */
unsigned scratch_bit(const struct scratch_use *u, size_t i);
/* Variables of which some byte may lie at offset `from` or above. Extern arrays, whose
 * size is not known here, always do. */
scratch_set scratch_beyond(const struct scratch_use *u, uint64_t from);

#endif
