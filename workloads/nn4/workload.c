/* nn4: fourth layer of a network that reads digits. */
#include "../nn/layer.h"

static bool
run(struct allot_run *r)
{
    static const struct nn_layer layer = {.kernel = "executeFourthLayer",
                                          .images = 100,
                                          .in = 1,
                                          .side = 1,
                                          .step = 1,
                                          .maps = 10,
                                          .out = 1,
                                          .range = 0.2f};
    return nn_layer(r, &layer, 2, 10, 140);
}

const struct allot_workload allot_workload_nn4 = {
    .name = "nn4",
    .summary = "fourth layer of a network that reads digits; no scratchpad",
    .source = "GPGPU-Sim NN, executeFourthLayer: 001 Table 4.3",
    .kernels = "executeFourthLayer",
    .run = run,
};
