#define TILE 16
#include "srad.cuh"
