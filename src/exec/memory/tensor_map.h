/* tensor_map.h: tensor maps, the 128 opaque bytes by which tensor copies know an array in
 * global memory (CUDA driver API, "Tensor Map Object Management"; PTX ISA 5.5). How the bytes
 * are used is not published, and no program may look at them: this is an encoding of our own.
 * Numbers of types, swizzles and so on are CUDA's. */
#ifndef ALLOT_EXEC_TENSOR_MAP_H
#define ALLOT_EXEC_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

enum { TENSOR_MAP_BYTES = 128, TENSOR_MAP_RANK = 5, TENSOR_MAP_BOX = 256 };

enum tensor_map_type {
    TENSOR_MAP_U8,
    TENSOR_MAP_U16,
    TENSOR_MAP_U32,
    TENSOR_MAP_S32,
    TENSOR_MAP_U64,
    TENSOR_MAP_S64,
    TENSOR_MAP_F16,
    TENSOR_MAP_F32,
    TENSOR_MAP_F64,
    TENSOR_MAP_BF16,
    TENSOR_MAP_F32_FTZ,
    TENSOR_MAP_TF32,
    TENSOR_MAP_TF32_FTZ,
    TENSOR_MAP_TYPES
};
enum { TENSOR_MAP_SWIZZLE_128B = 3, TENSOR_MAP_PROMOTIONS = 4 };

struct tensor_map {
    uint64_t address;   /* of element (0, 0, ...) */
    uint64_t dim[5];    /* elements; the first is the innermost */
    uint64_t stride[4]; /* bytes from one index to the next of dimensions 1, 2, ... */
    uint16_t box[5];    /* elements of a copy */
    uint8_t step[5];    /* of them one in so many is copied */
    uint8_t type;       /* enum tensor_map_type */
    uint8_t rank;       /* 1 to 5 */
    uint8_t swizzle;    /* 0: none; 1, 2, 3: 32, 64, 128 bytes */
    uint8_t interleave; /* 0: none */
    uint8_t promotion;  /* 0 to 3: L2 sectors asked for, a hint */
    bool fill_nan;      /* elements out of bounds are NaN; else 0 */
};

/* Bytes of an element of the type. */
unsigned tensor_map_bytes(unsigned type);
/* NULL: a copy by this map can be made; else what is wrong with it, in words. */
const char *tensor_map_wrong(const struct tensor_map *t);
void tensor_map_encode(const struct tensor_map *t, void *bytes);
/* False: the bytes are no tensor map. */
bool tensor_map_decode(const void *bytes, struct tensor_map *t);

#endif
