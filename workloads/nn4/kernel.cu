/* Layer 4 of the network that reads digits. */
#include "../nn/layer.cuh"

LAYER(executeFourthLayer, 100, 1, 1, 1, 1)
