#define THREADS 48
#include "../mc1/triangles.cuh"
