/* expansion.h: what PTX instructions become on a card (expansions.def). */
#ifndef ALLOT_PTX_EXPANSION_H
#define ALLOT_PTX_EXPANSION_H

#include "ptx/ir.h"

struct ptx_expansion {
    uint16_t op;         /* enum ptx_op */
    uint8_t bits, form;  /* of the spellings that the row is for */
    uint8_t operations;  /* machine operations, one issue slot each */
    uint8_t more, chain; /* of them of `class`, beyond the first; so many in sequence */
    uint8_t class;       /* enum ptx_latency */
    uint8_t registers;   /* 32-bit ones that it needs in between */
};

/* Row 0 is that of every instruction without a row of its own: one operation. */
extern const struct ptx_expansion ptx_expansions[];

/* Row of an instruction. */
unsigned ptx_expansion_of(const struct ptx_inst *in);

/* Machine operations of an instruction in the code of a card: as the row says, but none for
 * a load of a parameter or constant from a known place (an operand in the constant bank),
 * for a literal, an address or a launch's size that is moved (operands too), and for the low
 * part of an integer; none of them guarded. */
unsigned ptx_machine_operations(const struct ptx_inst *in);

/* Whether a card branches to a function in it: 64-bit quotients and remainders always, IEEE
 * quotients and roots for operands out of the ordinary (ptxas' code: BSSY, a branch, BSYNC).
 * Calls of PTX too. */
bool ptx_machine_branches(const struct ptx_inst *in);

/* Registers that it needs in between there, beside what is live before it or behind. */
unsigned ptx_machine_registers(const struct ptx_inst *in);

#endif
