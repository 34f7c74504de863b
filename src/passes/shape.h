/* shape.h: how a pass changes the shape in which its kernel is launched.
 *
 * The change is a note on the function (ptx/note.h), key "launch": factors of the grid and
 * the block, as "block.z=1 grid.x/2 block.z*2" (depth 1 is demanded). The launch plan applies it to what the host asks for,
 * both right after the pass and where the printed PTX is read again. */
#ifndef ALLOT_PASSES_SHAPE_H
#define ALLOT_PASSES_SHAPE_H

#include "passes/pass.h"

enum shape_part { SHAPE_GRID, SHAPE_BLOCK };
enum { SHAPE_ALL = 3 }; /* the product of the dimensions: written n */

/* Changes one dimension, 0 to 2, of kernel f's launches, and of a->launch where that is
 * known. op: '*' and '/' by the factor (1 to 1024), '+' adds it; '=' demands that it is the
 * factor, ':' makes it that (both may be larger), '%' that it is a multiple of it (dim may be SHAPE_ALL). The pass has .shapes. */
void shape_change(struct ptx_func *f, const struct pass_args *a, enum shape_part part,
                  unsigned dim, char op, unsigned factor);

/* Turns the shape that the host asked for into the one that is launched. A grid of 0
 * stays. False and a diagnostic: the note is none, or a dimension is not divisible. */
bool shape_apply(const struct ptx_func *f, struct pass_launch *l, struct diag_sink *diag);

bool shape_same(const struct pass_launch *a, const struct pass_launch *b);

#endif
