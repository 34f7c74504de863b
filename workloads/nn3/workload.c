/* nn3: third layer of a network that reads digits. */
#include "../nn/layer.h"

static bool
run(struct allot_run *r)
{
    static const struct nn_layer layer = {.kernel = "executeThirdLayer",
                                          .images = 50,
                                          .in = 5,
                                          .side = 5,
                                          .step = 1,
                                          .maps = 100,
                                          .out = 1,
                                          .range = 0.07f};
    return nn_layer(r, &layer, 1, 8, 5);
}

const struct allot_workload allot_workload_nn3 = {
    .name = "nn3",
    .summary = "third layer of a network that reads digits; no scratchpad",
    .source = "GPGPU-Sim NN, executeThirdLayer: 001 Table 4.3",
    .kernels = "executeThirdLayer",
    .run = run,
};
