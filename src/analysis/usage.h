/* usage.h: what a kernel asks of an SM, callees included: registers and memory. */
#ifndef ALLOT_ANALYSIS_USAGE_H
#define ALLOT_ANALYSIS_USAGE_H

#include "analysis/scratchpad.h"

struct usage {
    uint32_t virtual_registers; /* 32-bit units of all registers that occur in the code */
    uint32_t virtual_predicates;
    uint32_t live_registers; /* MAXLIVE in 32-bit units, the largest over the call graph:
                              * caller's at the call plus callee's is not summed */
    uint32_t live_predicates;
    /* After register allocation: physical ones of the kernel, and where it calls, of the
     * deepest chain: what is live across the call, then the callee's. 0: not allocated.
     */
    uint32_t registers, predicates;
    /* What an instruction needs in between on a card (ptx/expansion.h), with what is live
     * there: the most of one function. */
    uint32_t between;
    uint32_t instructions;       /* static, pseudo ones left out */
    uint32_t machine_operations; /* of a card (ptx/expansion.h), static */
    uint8_t functions_called;    /* kinds of 64-bit quotients and remainders */
    /* Loads whose results are read, and the sum of the machine operations from each to its
     * first reader in the order of the code. */
    uint64_t load_distance;
    uint32_t loads_read;
    uint32_t scratchpad;     /* static bytes, laid out in order with alignment */
    uint32_t local_bytes;    /* a thread, each function once */
    uint32_t barriers;       /* numbers of barriers that may be used: 0 to barriers - 1 */
    bool dynamic_scratchpad; /* uses extern .shared */
    uint32_t alloc_from,
        alloc_bytes; /* that scratchalloc takes; 0 bytes: there is none */
    VEC(struct scratch_var) scratchpad_vars; /* in layout order, dynamic ones last */
    struct scratch_layout layout;
    VEC(const struct ptx_func *) funcs; /* the kernel, then every callee */
};

/* f must have a body. Indirect calls count every function whose address is taken. */
void usage_of(const struct ptx_func *f, struct usage *u);
void usage_free(struct usage *u);

/* Registers of a thread: physical ones, or MAXLIVE where none are allocated. expanded: with
 * what instructions need in between on a card, as far as .maxnreg allows beside the reserved
 * ones. */
uint32_t usage_registers(const struct usage *u, bool expanded, uint32_t reserved);

#endif
