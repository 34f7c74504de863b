/* Layer 3 of the network that reads digits. */
#include "../nn/layer.cuh"

LAYER(executeThirdLayer, 50, 5, 5, 1, 1)
