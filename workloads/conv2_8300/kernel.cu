#define STEPS 14
#include "../conv2/columns.cuh"
