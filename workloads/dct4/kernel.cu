#define KERNEL CUDAkernelShortIDCT
#define TRANSFORM idct8
#define FIRST_SHIFT 10
#define SECOND_SHIFT 16
#include "../dct3/short.cuh"
