#define KERNEL CUDAkernel2DCT
#define TRANSFORM dct8
#define WIDTH 32
#define HEIGHT 16
#define THREADS 64
#include "tile.cuh"
