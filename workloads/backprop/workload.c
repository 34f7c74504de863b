/* backprop: forward pass of a neural network, scratchpad arrays of extent 48. */
#include "layerforward.h"

const struct allot_workload allot_workload_backprop = {
    .name = "backprop",
    .summary = "neural network, forward pass to a layer; 9408 B of scratchpad a block",
    .source = "Rodinia backprop, bpnn_layerforward_CUDA: 000 Tables I, V, VII",
    .kernels = "bpnn_layerforward_CUDA",
    .run = layerforward,
    .bench = true,
};
