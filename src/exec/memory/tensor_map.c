/* tensor_map.c: the 128 bytes of a tensor map and what may stand in them. */
#include "exec/memory/tensor_map.h"

#include <stddef.h>
#include <string.h>

struct bits { /* the encoding */
    uint32_t magic;
    uint8_t type, rank, swizzle, interleave;
    uint64_t address;
    uint64_t stride[4];
    uint32_t last[5]; /* dimensions, less 1 */
    uint16_t box[5];
    uint8_t step[5];
    uint8_t promotion, fill_nan;
    uint8_t unused[43];
};
_Static_assert(sizeof(struct bits) == TENSOR_MAP_BYTES, "what the API says");

#define MAGIC 0x314d5441u /* "ATM1" */

unsigned
tensor_map_bytes(unsigned type)
{
    static const uint8_t bytes[TENSOR_MAP_TYPES] = {
        [TENSOR_MAP_U8] = 1,      [TENSOR_MAP_U16] = 2,     [TENSOR_MAP_U32] = 4,
        [TENSOR_MAP_S32] = 4,     [TENSOR_MAP_U64] = 8,     [TENSOR_MAP_S64] = 8,
        [TENSOR_MAP_F16] = 2,     [TENSOR_MAP_F32] = 4,     [TENSOR_MAP_F64] = 8,
        [TENSOR_MAP_BF16] = 2,    [TENSOR_MAP_F32_FTZ] = 4, [TENSOR_MAP_TF32] = 4,
        [TENSOR_MAP_TF32_FTZ] = 4};
    return type < TENSOR_MAP_TYPES ? bytes[type] : 0;
}

static bool
is_float(unsigned type)
{
    return type >= TENSOR_MAP_F16;
}

const char *
tensor_map_wrong(const struct tensor_map *t)
{
    const uint64_t most = (uint64_t)1 << 32, far = (uint64_t)1 << 40;
    const unsigned bytes = tensor_map_bytes(t->type);
    if (!bytes)
        return "types of 4 and 6 bits, and unknown ones, are not simulated";
    if (t->rank < 1 || t->rank > TENSOR_MAP_RANK)
        return "its rank is from 1 to 5";
    if (t->interleave)
        return "interleaved layouts are not simulated";
    if (t->swizzle > TENSOR_MAP_SWIZZLE_128B)
        return "swizzles with other atoms than 16 bytes are not simulated";
    if (t->promotion >= TENSOR_MAP_PROMOTIONS)
        return "there is no such L2 promotion";
    if (t->fill_nan && !is_float(t->type))
        return "NaN fill is for types of floating point";
    if (!t->address || t->address % 16)
        return "its address is a multiple of 16";
    for (unsigned i = 0; i < t->rank; i++) {
        if (!t->dim[i] || t->dim[i] > most)
            return "its dimensions are from 1 to 2^32";
        if (!t->box[i] || t->box[i] > TENSOR_MAP_BOX)
            return "its box is from 1 to 256 in each dimension";
        if (!t->step[i] || t->step[i] > 8)
            return "its element strides are from 1 to 8";
    }
    for (unsigned i = 0; i + 1 < t->rank; i++)
        if (t->stride[i] % 16 || t->stride[i] >= far)
            return "its strides are multiples of 16 below 2^40";
    const unsigned inner = t->box[0] * bytes;
    if (inner % 16)
        return "the inner dimension of its box is a multiple of 16 bytes";
    if (t->swizzle && inner > 16u << t->swizzle)
        return "the inner dimension of its box is no larger than what is swizzled";
    return NULL;
}

void
tensor_map_encode(const struct tensor_map *t, void *bytes)
{
    struct bits b = {.magic = MAGIC,
                     .type = t->type,
                     .rank = t->rank,
                     .swizzle = t->swizzle,
                     .interleave = t->interleave,
                     .address = t->address,
                     .promotion = t->promotion,
                     .fill_nan = t->fill_nan};
    memcpy(b.stride, t->stride, sizeof b.stride);
    memcpy(b.box, t->box, sizeof b.box);
    memcpy(b.step, t->step, sizeof b.step);
    for (unsigned i = 0; i < TENSOR_MAP_RANK; i++)
        b.last[i] = (uint32_t)(t->dim[i] - 1);
    memcpy(bytes, &b, sizeof b);
}

bool
tensor_map_decode(const void *bytes, struct tensor_map *t)
{
    struct bits b;
    memcpy(&b, bytes, sizeof b);
    *t = (struct tensor_map){.address = b.address,
                             .type = b.type,
                             .rank = b.rank,
                             .swizzle = b.swizzle,
                             .interleave = b.interleave,
                             .promotion = b.promotion,
                             .fill_nan = b.fill_nan};
    memcpy(t->stride, b.stride, sizeof t->stride);
    memcpy(t->box, b.box, sizeof t->box);
    memcpy(t->step, b.step, sizeof t->step);
    for (unsigned i = 0; i < TENSOR_MAP_RANK; i++)
        t->dim[i] = (uint64_t)b.last[i] + 1;
    return b.magic == MAGIC;
}
