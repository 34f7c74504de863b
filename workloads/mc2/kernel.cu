#define THREADS 48
#include "../mc1/voxels.cuh"
