#define KERNEL CUDAkernelShortDCT
#define TRANSFORM dct8
#define FIRST_SHIFT 10 /* three bits more than the data have */
#define SECOND_SHIFT 16
#include "short.cuh"
