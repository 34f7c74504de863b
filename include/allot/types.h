/* types.h: types of the public interface that the inside of the library works with too. They
 * stand below all of src/, which allot.h stands above. */
#ifndef ALLOT_TYPES_H
#define ALLOT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A setting of machine descriptions. */
struct allot_setting_info {
    const char *path, *type, *unit, *value_default, *range, *meaning;
};

/* What an SM holds of blocks (allot_occupancy). */
struct allot_occupancy {
    uint32_t resident_blocks; /* with sharing, if asked for */
    uint32_t baseline_blocks; /* without */
    uint32_t shared_pairs, unshared_blocks;
    const char *limited_by; /* "registers", "scratchpad", "threads", "blocks", or several
                             * joined by commas; of the resident blocks */
    /* blocks each would allow; UINT32_MAX: the kernel uses none of it */
    uint32_t by_threads, by_blocks, by_registers, by_scratchpad;
    uint32_t warps;   /* resident */
    double occupancy; /* resident warps / the most the SM holds */
    /* units of an SM left over (baseline) */
    uint32_t registers_wasted, scratchpad_wasted;
};

/* A kernel allocated so that an SM holds a number of blocks (pass unified-alloc). */
struct allot_register_step {
    uint32_t blocks;
    uint32_t limit; /* the most registers that leave so many */
    bool possible;  /* the kernel can do with so few; else what follows is 0 */
    uint32_t registers;
    uint32_t to_scratchpad, to_local; /* spilled values, by where they go */
    uint64_t offchip, other; /* instructions: global, local, generic, texture; the rest */
    bool predicted;          /* the search of registers=auto takes this one */
};

/* Texels of arrays and textures. */
enum allot_channel { ALLOT_SIGNED, ALLOT_UNSIGNED, ALLOT_FLOAT };
struct allot_format {
    enum allot_channel kind;
    uint32_t bits;     /* of a channel: 8, 16, 32; ALLOT_FLOAT: 16, 32 */
    uint32_t channels; /* 1, 2, 4 */
};
struct allot_array_info {
    struct allot_format format;
    /* Texels. height 0: one-dimensional; depth 0: one- or two-dimensional. layered: depth
     * is the number of layers, of one (height 0) or two dimensions. */
    uint64_t width, height, depth;
    bool layered;
    /* Six square faces, in the order of CUDA's table: depth is 6; layered: a multiple. */
    bool cubemap;
    /* Mipmap levels, each half as large as the one before, rounded down, at least 1; 0:
     * it is no mipmapped array. */
    uint32_t levels;
};

/* How textures are read. */
enum allot_address { ALLOT_WRAP, ALLOT_CLAMP, ALLOT_MIRROR, ALLOT_BORDER };
enum allot_filter { ALLOT_POINT, ALLOT_LINEAR };
struct allot_sampler {
    /* Of each dimension. ALLOT_WRAP and ALLOT_MIRROR work on normalised coordinates only,
     * else they act as ALLOT_CLAMP. */
    enum allot_address address[3];
    enum allot_filter filter;
    bool normalized_float;  /* 8- and 16-bit integers are read as [0, 1] or [-1, 1] */
    bool normalized_coords; /* coordinates are [0, 1), not texels */
    float border[4];        /* what ALLOT_BORDER reads outside */
    /* Mipmapped arrays: a level of detail is biased, clamped to [least, most], and read
     * from the nearest level (POINT) or the two next to it (LINEAR). */
    enum allot_filter mip_filter;
    float mip_bias, mip_least, mip_most;
};

/* Why a launch failed. */
enum allot_failure {
    ALLOT_OK,
    ALLOT_BAD_LAUNCH,      /* dimensions, arguments, resources */
    ALLOT_TOO_LARGE,       /* cooperative, but not all blocks fit */
    ALLOT_REFUSED,         /* no such kernel, or it has what is not supported */
    ALLOT_FAULT_ADDRESS,   /* memory that is not there */
    ALLOT_FAULT_ALIGNMENT, /* misaligned */
    ALLOT_FAULT_ASSERT,    /* a device-side assert */
    ALLOT_FAULT_TRAP,
    ALLOT_FAULT_OTHER, /* stack overflow, bad barrier ... */
    ALLOT_STUCK,       /* nothing can ever move again */
    ALLOT_STOPPED,     /* limit, or options.progress said so */
};

/* A counter or derived value. */
struct allot_stat_info {
    const char *id, *owner, *kind, *unit, *meaning;
    bool derived;
};

#endif
