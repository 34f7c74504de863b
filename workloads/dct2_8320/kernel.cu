#define KERNEL CUDAkernel2IDCT
#define TRANSFORM idct8
#define WIDTH 64
#define HEIGHT 32
#define THREADS 128
#include "../dct1/tile.cuh"
