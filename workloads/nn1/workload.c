/* nn1: first layer of a network that reads digits. */
#include "../nn/layer.h"

static bool
run(struct allot_run *r)
{
    static const struct nn_layer layer = {.kernel = "executeFirstLayer",
                                          .images = 1,
                                          .in = 29,
                                          .side = 5,
                                          .step = 2,
                                          .maps = 6,
                                          .out = 13,
                                          .range = 0.4f};
    return nn_layer(r, &layer, 1, 4, 56);
}

const struct allot_workload allot_workload_nn1 = {
    .name = "nn1",
    .summary = "first layer of a network that reads digits; no scratchpad",
    .source = "GPGPU-Sim NN, executeFirstLayer: 001 Table 4.3",
    .kernels = "executeFirstLayer",
    .run = run,
};
