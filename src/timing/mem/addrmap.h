/* addrmap.h: where an address lives: channel, L2 slice, bank, row, column. */
#ifndef ALLOT_TIMING_ADDRMAP_H
#define ALLOT_TIMING_ADDRMAP_H

#include "base/arena.h"
#include "base/diag.h"
#include "machine/machine.h"

/* A field made of runs of bits, lowest run first. */
struct addrmap_field {
    uint8_t n, width;
    struct {
        uint64_t mask; /* as many ones as the run is wide */
        uint8_t shift, pos;
    } run[16];
};

struct addrmap {
    uint32_t channels, slices, subs; /* subs = channels * slices */
    unsigned interleave_bits;
    enum machine_channel_hash hash;
    uint8_t sub_bits; /* log2(subs) when hashed by XOR */
    bool pow2_subs;
    bool pow2_channels, packed; /* packed: slice bits are taken out of local addresses */
    unsigned channel_bits;
    struct addrmap_field row, bank, column, slice, keep;      /* of a channel's address */
    struct addrmap_field local_row, local_bank, local_column; /* of a slice's */
    struct addrmap_field slice_bank; /* bits of the slice: where in the bank they are */
    unsigned map_bits;
    /* By byte of the address: the sum of x^(b + sub_bits) mod the polynomial over its
     * bits b. */
    uint16_t poly[8][256];
};

/* Where an address goes first. local: address inside the slice, without channel and slice
 * bits; the L2 works on it. slice: channel * slices + slice of the channel. */
struct addr_place {
    uint64_t local;
    uint32_t slice;
};
struct addr_dram {
    uint64_t row;
    uint32_t bank, column; /* column: bursts */
};

/* False and diagnostics if the settings do not fit together. */
bool addrmap_init(struct addrmap *a, const struct machine *m, struct diag_sink *diag);
struct addr_place addrmap_slice(const struct addrmap *a, uint64_t addr);
/* slice: of the channel, 0 .. slices-1. */
struct addr_dram addrmap_dram(const struct addrmap *a, uint32_t slice, uint64_t local);

#endif
