#define TABLE_TEXTURE
#include "../mc1/triangles.cuh"
