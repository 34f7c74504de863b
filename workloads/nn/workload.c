/* nn: second layer of a network that reads digits. */
#include "layer.h"

static bool
run(struct allot_run *r)
{
    static const struct nn_layer layer = {.kernel = "executeSecondLayer",
                                          .images = 6,
                                          .in = 13,
                                          .side = 5,
                                          .step = 2,
                                          .maps = 50,
                                          .out = 5,
                                          .range = 0.2f};
    return nn_layer(r, &layer, 1, 30, 14);
}

const struct allot_workload allot_workload_nn = {
    .name = "nn",
    .summary = "second layer of a network that reads digits; no scratchpad",
    .source = "GPGPU-Sim NN, executeSecondLayer: 000 Table IV, 001 Tables 2.4, 4.3",
    .kernels = "executeSecondLayer",
    .run = run,
};
