/* occupancy.h: how many blocks reside in an SM, with and without sharing.
 *
 * The machine's settings choose the rules: registers rounded per thread, warp or block
 * (sm.register_alloc, register_unit), a register file in partitions
 * (register_partitions), scratchpad rounded per block (scratchpad_unit, _reserved,
 * _sizes). GPGPU-Sim's and the papers' way is one setting of these, NVIDIA's another. */
#ifndef ALLOT_MACHINE_OCCUPANCY_H
#define ALLOT_MACHINE_OCCUPANCY_H

#include "allot/types.h"
#include "base/diag.h"
#include "machine/machine.h"

/* What a launch asks of an SM. */
struct occ_kernel {
    uint32_t threads;    /* of a block */
    uint32_t registers;  /* 32-bit, of a thread */
    uint32_t scratchpad; /* bytes of a block, static + dynamic */
    uint32_t allocated;  /* of them, bytes that the kernel itself allocates while it runs
                          * (scratchalloc): for residency multiplexing */
};

enum occ_share { OCC_SHARE_NONE, OCC_SHARE_REGISTERS, OCC_SHARE_SCRATCHPAD };

/* Fills out; threshold t in (0, 1], 1 shares nothing (looked at only where something is
 * shared; taken to nine decimals). by_* of a resource that the kernel does not use:
 * OCC_UNLIMITED; of the shared resource: with sharing. out->limited_by is a static
 * string. False and a diagnostic if not even one block fits (naming the resource). */
#define OCC_UNLIMITED UINT32_MAX
bool occ_compute(const struct machine *m, const struct occ_kernel *k,
                 enum occ_share share, double threshold, struct allot_occupancy *out,
                 struct diag_sink *diag);

/* What one block takes of an SM under the machine's rounding rules. */
struct occ_demand {
    uint32_t warps;           /* of a block */
    uint64_t registers;       /* 32-bit, of a block */
    uint64_t scratchpad;      /* bytes of a block, reserved bytes included */
    uint64_t scratchpad_size; /* bytes of the SM's scratchpad as it is set up */
};
/* Partitions of the register file that the rules see. */
uint32_t occ_partitions(const struct machine *m);
struct occ_demand occ_demand(const struct machine *m, const struct occ_kernel *k);
/* Registers of a thread that its warp is allotted for a kernel with so many: rounded as for
 * residency. What is rounded for a whole block belongs to no warp. */
uint32_t occ_thread_registers(const struct machine *m, uint32_t registers);

/* Multiplexing (003 section 5): a block has a private part of its scratchpad from its start
 * to its end, and allocates k->allocated bytes, its public part, while it runs. Reserved
 * bytes count with the private part if it has variables, else with the public one. Where
 * the two, each rounded, would let fewer blocks reside than the static allocation, all is
 * private. */
struct occ_multiplexed {
    uint32_t baseline;                    /* K: blocks of the static allocation */
    uint32_t blocks;                      /* at most K + residency.extra_blocks */
    uint32_t private_bytes, public_bytes; /* of a block, as they are allocated; public 0:
                                           * nothing is allocated while it runs */
    uint32_t size;                        /* of the SM's scratchpad */
};
/* The private parts of all blocks and one public part fit the SM. False and a diagnostic
 * if not even one block fits. */
bool occ_multiplex(const struct machine *m, const struct occ_kernel *k,
                   struct occ_multiplexed *out, struct diag_sink *diag);

/* Units (registers of a warp, bytes of a block) that stay private to each of a sharing
 * pair: floor(units * t), exact for t to nine decimals. */
uint32_t occ_private(uint32_t units, double threshold);

/* Bits that an SM needs to share registers, respectively scratchpad (001 section 2.4: T
 * the most blocks, W the most warps of an SM). Times sm.count for the GPU. */
uint32_t occ_cost_registers(const struct machine *m);
uint32_t occ_cost_scratchpad(const struct machine *m);
/* Multiplexing: on or off; two entries of the management table for each block (valid, block,
 * size and start in units of the allocation); a counter of blocks; the queue of those that
 * wait. Half of the table is there for the static allocation already. */
uint32_t occ_cost_multiplexing(const struct machine *m);
/* Both: the tables of register sharing, and the locks of pairs of blocks. */
uint32_t occ_cost_both(const struct machine *m);

/* Ways that the L1 data cache has beside so many resident blocks of the kernel: with
 * sm.scratchpad_from_l1 the scratchpad is set to the smallest size that holds them. */
uint32_t occ_l1_ways(const struct machine *m, const struct occ_kernel *k,
                     uint32_t blocks);

/* Steps through sm.scratchpad_sizes: bytes of the next size. False at the end or, with
 * **p not 0, at what is no size. */
bool occ_next_size(const char **p, uint64_t *bytes);

/* Steps through sm.gpcs: SMs of the next GPC. False at the end or, with **p not 0, at what is
 * no number. */
bool occ_next_gpc(const char **p, uint32_t *sms);
/* Clusters of so many blocks that are resident at the same time where an SM holds `blocks`
 * blocks: all of one lie in one GPC. 0: none, or the machine has no clusters. */
uint64_t occ_clusters(const struct machine *m, uint32_t size, uint64_t blocks);

#endif
