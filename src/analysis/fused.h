/* fused.h: machine operations of each instruction where it stands: fewer than of the same
 * instruction alone where a card's compiler makes one operation of two (ptx/fusions.def). */
#ifndef ALLOT_ANALYSIS_FUSED_H
#define ALLOT_ANALYSIS_FUSED_H

#include "analysis/live.h"

/* What an instruction has taken. part: latency class (enum ptx_latency) of that where it makes
 * another operation of it (a product before a sum), else its own. */
struct fused_as {
    uint8_t part;
    bool moved;  /* a constant that a register has to hold: MOV */
    bool scaled; /* the shift of an access' address: LDS [R.X4] */
};

/* Writes the operations of each instruction of l's function, whose registers may be
 * allocated: 0: it is an operand or a part of another instruction. Their sum is that of
 * the function's code on a card, but for the order and loops. as, unless NULL: what it
 * has taken. */
void fused_operations(const struct live *l, uint8_t *operations, struct fused_as *as);

/* Writes, for each instruction of l's function, by whom it is read if it is a load that machine
 * code of compute capability 1.x has as an operand of the arithmetic instruction that reads
 * its value, in the same basic block; else 0. */
void fused_operand_loads(const struct live *l, uint32_t *reader);

/* Whether the reader of such a load can be the one that reads the load's address: nothing
 * between them writes its registers or waits for other lanes. */
bool fused_address_lasts(const struct ptx_func *f, uint32_t load, uint32_t reader);

#endif
