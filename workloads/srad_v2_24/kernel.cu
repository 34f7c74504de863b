#define TILE 24
#include "../srad_v2/srad.cuh"
