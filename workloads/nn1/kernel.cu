/* Layer 1 of the network that reads digits. */
#include "../nn/layer.cuh"

LAYER(executeFirstLayer, 1, 29, 5, 2, 13)
