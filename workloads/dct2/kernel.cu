#define KERNEL CUDAkernel2IDCT
#define TRANSFORM idct8
#define WIDTH 32
#define HEIGHT 16
#define THREADS 64
#include "../dct1/tile.cuh"
