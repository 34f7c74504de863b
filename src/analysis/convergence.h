/* convergence.h: where a card brings the lanes of a warp together again.
 *
 * Since Volta (CUDA C++ programming guide, independent thread scheduling) lanes that have gone
 * different ways do not come together by themselves: ptxas puts BSSY before such code and BSYNC
 * where the ways meet, an issue slot each. PTX has neither. */
#ifndef ALLOT_ANALYSIS_CONVERGENCE_H
#define ALLOT_ANALYSIS_CONVERGENCE_H

#include "analysis/cfg.h"

/* Adds to in_front, of each instruction of g's function, the operations of that kind before
 * it, as in ptxas' code (CUDA 13.0; small kernels of one or two branches or loops, sm_75 to
 * 90). For each block where the ways of a branch meet on which lanes may differ: a BSYNC at its begin,
 * and one BSSY for all such branches, in the last block that all of them come through, outside
 * of the loops that end there. In that block it stands before what waits for a load, else in
 * front of the last instruction. None where lanes meet only to leave the kernel. */
void convergence_operations(const struct cfg *g, uint8_t *in_front);

#endif
