/* fault.h: a function whose body has errors: an instruction, modifier or name that is not known.
 *
 * The errors belong to that function alone. The rest of the file is read as if it were
 * right, and the body is kept as it was written, so that it is printed unchanged. Who
 * decodes the function, or one that calls it, gets its errors. */
#ifndef ALLOT_PTX_FAULT_H
#define ALLOT_PTX_FAULT_H

#include "ptx/ir.h"

struct ptx_fault {
    const char *text; /* the body with its braces */
    size_t errors;    /* in all; the first n of them are kept */
    size_t n;
    const struct diag *said;
};

/* Makes f a function that is kept as text, of n characters. Everything is copied to the
 * arena of f's module. `said`: its errors, at least one. */
void ptx_fault_set(struct ptx_func *f, const char *text, size_t n,
                   const struct diag_sink *said);
/* As `from` has it, in another module: the same text and places. */
void ptx_fault_copy(struct ptx_func *f, const struct ptx_func *from);
/* Its errors, added to the sink. */
void ptx_fault_tell(const struct ptx_func *f, struct diag_sink *diag);
/* The first error. */
const struct diag *ptx_fault_first(const struct ptx_func *f);

#endif
