/* exec_matrix.h: what tile accesses (exec_tile.c) and matrix products (exec_tensor.c)
 * share: shapes, element types, and which element of a matrix each place of a fragment
 * holds. */
#ifndef ALLOT_EXEC_EXEC_MATRIX_H
#define ALLOT_EXEC_EXEC_MATRIX_H

#include "exec/exec_int.h"

enum { FRAG_REGS = 8 };                      /* registers of a fragment, at most */
enum matrix_operand { MAT_A, MAT_B, MAT_C }; /* C: D too */

struct matrix_shape {
    uint16_t mod; /* enum ptx_mod of group SHAPE */
    uint16_t m, n, k;
};

/* A fragment: nregs registers a lane, each of `per_reg` elements of `bits` bits. Single
 * bits count in words of 32. at[(lane * nregs + reg) * per_reg + j] is the element's
 * index in its matrix: row * columns + column, of A and C; column * rows + row, of B. */
struct fragment {
    uint8_t nregs, per_reg, bits; /* bits 64: f64 */
    uint16_t rows, cols, batch; /* batch 4: mma.m8n8k4 works on four matrices, one behind
                                 * the other */
    const uint16_t *at;
    uint32_t reg[FRAG_REGS]; /* rows */
};

const struct matrix_shape *matrix_shape(unsigned mod);
/* Bits of an element; 0: no type of a matrix. */
unsigned matrix_bits(unsigned type);
/* Fragment of an operand of wmma, or (wmma false) of mma, its registers taken from `o`;
 * with a diagnostic where they do not fit. col: operand A or B of mma.m8n8k4 in column
 * order. A of mma.sp, of which half the columns are kept, is that of the shape with half
 * the k. */
bool matrix_fragment(struct decoder *d, struct fragment *f, const struct ptx_operand *o,
                     const struct matrix_shape *s, enum matrix_operand which,
                     unsigned type, bool wmma, bool col);

decode_fn decode_wmma_load, decode_wmma_store; /* exec_tile.c */
decode_fn decode_scaled;                       /* exec_scaled.c: mma with .block_scale */

#endif
