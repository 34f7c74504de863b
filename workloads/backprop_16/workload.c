/* backprop_16: forward pass of a neural network, scratchpad arrays of extent 16. */
#include "../backprop/layerforward.h"

const struct allot_workload allot_workload_backprop_16 = {
    .name = "backprop_16",
    .summary = "neural network, forward pass to a layer; 1088 B of scratchpad a block",
    .source = "Rodinia backprop, bpnn_layerforward_CUDA unmodified: 001 Table 2.4",
    .kernels = "bpnn_layerforward_CUDA",
    .run = layerforward,
    .bench = true,
};
