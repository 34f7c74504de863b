#include "triangles.cuh"
