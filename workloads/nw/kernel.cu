#define BLOCK 16
#include "needle.cuh"
