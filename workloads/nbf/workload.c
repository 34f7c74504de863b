/* nbf: non-bonded forces (the kernel of GROMOS that irregular-application papers use). */
#include "mesh_app.h"

#include <math.h>

static void
start(const struct mesh *m, uint32_t i, uint64_t *random, float *value)
{
    value[0] = m->at[i] + wl_uniform(random, -0.1F, 0.1F);
}

static void
flow(const double *a, const double *b, double weight, double period, double *out)
{
    double d = *a - *b;
    if (period > 0)
        d -= period * rint(d / period);
    *out = weight * d / (1 + d * d * d * d);
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
    static const struct mesh_app app = {.edges = "nbf_force",
                                        .nodes = "nbf_move",
                                        .mesh = MESH_FOIL,
                                        .state = 1,
                                        .sums = 1,
                                        .periodic = true,
                                        .step = 0.01,
                                        .start = start,
                                        .flow = flow,
                                        .move = move};
    return mesh_app_run(r, &app);
}

const struct allot_workload allot_workload_nbf = {
    .name = "nbf",
    .summary = "non-bonded forces over pairs of atoms on a mesh; scattered atomics",
    .source = "004 Table III, nbf",
    .kernels = "nbf_force nbf_move",
    .run = run,
};
