/* irreg: an iterative solver of a partial differential equation on a mesh. */
#include "mesh_app.h"

static void
start(const struct mesh *m, uint32_t i, uint64_t *random, float *value)
{
    (void)m, (void)i;
    value[0] = wl_uniform(random, 0, 1);
}

static void
flow(const double *a, const double *b, double weight, double period, double *out)
{
    (void)period;
    *out = weight * (*b - *a);
}

static void
move(double *state, double *more, const double *sum, double step)
{
    (void)more;
    *state += step * *sum;
}

static bool
run(struct allot_run *r)
{
    static const struct mesh_app app = {.edges = "irreg_edges",
                                        .nodes = "irreg_nodes",
                                        .mesh = MESH_FOIL,
                                        .state = 1,
                                        .sums = 1,
                                        .step = 0.02,
                                        .start = start,
                                        .flow = flow,
                                        .move = move};
    return mesh_app_run(r, &app);
}

const struct allot_workload allot_workload_irreg = {
    .name = "irreg",
    .summary = "iterative solver of a diffusion equation on a mesh; scattered atomics",
    .source = "004 Table III, irreg",
    .kernels = "irreg_edges irreg_nodes",
    .run = run,
};
