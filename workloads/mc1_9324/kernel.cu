#include "../mc1/triangles.cuh"
