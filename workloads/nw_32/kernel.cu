#define BLOCK 32
#include "../nw/needle.cuh"
