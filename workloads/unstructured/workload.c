/* unstructured: fluid dynamics on an unstructured mesh. */
#include "mesh_app.h"

static void
start(const struct mesh *m, uint32_t i, uint64_t *random, float *value)
{
    (void)m, (void)i;
    value[0] = wl_uniform(random, 0.5F, 1);
    for (int k = 1; k < 4; k++)
        value[k] = wl_uniform(random, -0.5F, 0.5F);
    value[4] = wl_uniform(random, 0.5F, 1);
}

static void
flow(const double *a, const double *b, double weight, double period, double *out)
{
    (void)period;
    double speed = 0.5 * (a[1] + b[1] + a[2] + b[2] + a[3] + b[3]);
    out[0] = weight * (speed + (b[0] - a[0]));
    for (int k = 1; k < 4; k++)
        out[k] =
            weight * (0.5 * speed * (a[k] + b[k]) + 0.5 * (a[0] + b[0]) + (b[k] - a[k]));
}

static void
move(double *state, double *more, const double *sum, double step)
{
    for (int k = 0; k < 4; k++)
        state[k] += step / *more * sum[k];
}

static bool
run(struct allot_run *r)
{
    static const struct mesh_app app = {.edges = "unstructured_edges",
                                        .nodes = "unstructured_nodes",
                                        .mesh = MESH_FOIL,
                                        .state = 4,
                                        .more = 1,
                                        .sums = 4,
                                        .step = 0.01,
                                        .start = start,
                                        .flow = flow,
                                        .move = move};
    return mesh_app_run(r, &app);
}

const struct allot_workload allot_workload_unstructured = {
    .name = "unstructured",
    .summary = "fluid dynamics on an unstructured mesh; scattered atomics",
    .source = "004 Table III, unstructured",
    .kernels = "unstructured_edges unstructured_nodes",
    .run = run,
};
