/* driver_tensor.c: the driver API's calls for tensor maps. */
#include "cuda/driver/driver.h"

CU
cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                       const uint64_t *dim, const uint64_t *stride, const uint32_t *box,
                       const uint32_t *step, int interleave, int swizzle, int promotion,
                       int fill)
{
    CALL(acu_tensor_map_encode(map, type, rank, (uintptr_t)address, dim, stride, box,
                               step, interleave, swizzle, promotion, fill));
}

CU
cuTensorMapReplaceAddress(void *map, void *address)
{
    CALL(acu_tensor_map_replace(map, (uintptr_t)address));
}
