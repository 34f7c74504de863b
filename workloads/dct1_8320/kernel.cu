#define KERNEL CUDAkernel2DCT
#define TRANSFORM dct8
#define WIDTH 64
#define HEIGHT 32
#define THREADS 128
#include "../dct1/tile.cuh"
