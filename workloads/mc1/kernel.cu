#define THREADS 32
#include "voxels.cuh"
