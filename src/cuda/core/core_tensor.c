/* core_tensor.c: tensor maps (CUDA driver API, "Tensor Map Object Management"). The bytes of
 * a map are opaque to programs; ours are exec/memory/tensor_map.h's. What the API requires of
 * each argument is checked as it documents it. Interleaved layouts, types of 4 and 6 bits and
 * swizzles with larger atoms are not simulated: NOT_SUPPORTED, and a line that says so. */
#include "cuda/core/core_int.h"

#include "exec/memory/tensor_map.h"

#include <string.h>

enum { MAP_TYPES = 16, MAP_INTERLEAVES = 3, MAP_SWIZZLES = 7, MAP_FILLS = 2 };

int
acu_tensor_map_encode(void *map, int type, uint32_t rank, uint64_t address,
                      const uint64_t *dim, const uint64_t *stride, const uint32_t *box,
                      const uint32_t *step, int interleave, int swizzle, int promotion,
                      int fill)
{
    if (!map || (uintptr_t)map % 64 || type < 0 || type >= MAP_TYPES || !rank ||
        rank > TENSOR_MAP_RANK || !dim || (rank > 1 && !stride) || !box || !step ||
        interleave < 0 || interleave >= MAP_INTERLEAVES || swizzle < 0 ||
        swizzle >= MAP_SWIZZLES || promotion < 0 || promotion >= TENSOR_MAP_PROMOTIONS ||
        fill < 0 || fill >= MAP_FILLS)
        return ACU_INVALID_VALUE;
    if (interleave || type >= TENSOR_MAP_TYPES || swizzle > TENSOR_MAP_SWIZZLE_128B)
        return acu_not_supported(
            "a tensor map with an interleaved layout, a type of 4 or 6 "
            "bits, or a swizzle of larger atoms");
    struct tensor_map m = {.address = address,
                           .type = (uint8_t)type,
                           .rank = (uint8_t)rank,
                           .swizzle = (uint8_t)swizzle,
                           .promotion = (uint8_t)promotion,
                           .fill_nan = fill};
    for (unsigned i = 0; i < TENSOR_MAP_RANK; i++) {
        const bool is = i < rank;
        if (is && (box[i] > TENSOR_MAP_BOX || step[i] > 8))
            return ACU_INVALID_VALUE;
        m.dim[i] = is ? dim[i] : 1;
        m.box[i] = (uint16_t)(is ? box[i] : 1);
        m.step[i] = (uint8_t)(is ? step[i] : 1);
        if (i + 1 < rank)
            m.stride[i] = stride[i];
    }
    if (tensor_map_wrong(&m))
        return ACU_INVALID_VALUE;
    tensor_map_encode(&m, map);
    return 0;
}

int
acu_tensor_map_replace(void *map, uint64_t address)
{
    struct tensor_map m;
    if (!map || (uintptr_t)map % 64 || !tensor_map_decode(map, &m))
        return ACU_INVALID_VALUE;
    m.address = address;
    if (tensor_map_wrong(&m))
        return ACU_INVALID_VALUE;
    tensor_map_encode(&m, map);
    return 0;
}
