/* register_step.h: how many registers a thread may have before an SM holds fewer warps. */
#ifndef ALLOT_PASSES_REGISTER_STEP_H
#define ALLOT_PASSES_REGISTER_STEP_H

#include "ptx/ir.h"

/* What a machine gives, in 32-bit registers and warps. */
struct register_room {
    uint32_t sm_registers, sm_warps;
    uint32_t most;     /* of a thread */
    uint32_t reserved; /* of it that no value can have */
};

/* What a thread is given that needs that many registers for values, beside those reserved: SMs give
 * registers out in eights (CUDA occupancy calculator: 256 a warp). */
uint32_t register_given(uint32_t registers, uint32_t reserved);

/* The most registers for values with which as many warps fit as with `registers` of them, in
 * whole blocks of the size that f's directives tell (else of one warp). At least `registers`;
 * above that at most room->most. */
uint32_t register_step(const struct ptx_func *f, uint32_t registers,
                       const struct register_room *room);

/* Of that many registers, those that may be live; one in sixteen is left to the allocator, which
 * may need more, since pairs and vectors are aligned, and one to an operand that is read in
 * front of its reader (late-operands). */
uint32_t register_room_for_values(uint32_t registers);

struct pass_args;
struct diag_sink;

/* Reads the settings of REGISTER_ROOM_KEYS. */
bool register_room_read(const struct pass_args *a, struct register_room *room,
                        struct diag_sink *diag);
#define REGISTER_ROOM_KEYS                                                               \
    {"max-registers", "255", "most registers of a thread; the machine's"},               \
        {"sm-registers", "65536", "registers of an SM; the machine's"},                  \
        {"sm-warps", "64", "warps of an SM; the machine's"},                             \
    {                                                                                    \
        "reserved", "0", "registers beside them that a thread takes; the machine's"      \
    }

#endif
