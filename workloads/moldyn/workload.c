/* moldyn: molecular dynamics (the non-bonded forces of CHARMM), three dimensions. */
#include "mesh_app.h"

#include <math.h>

static void
start(const struct mesh *m, uint32_t i, uint64_t *random, float *value)
{
    for (uint32_t k = 0; k < 3; k++) {
        value[k] = m->at[k * m->nodes + i];
        value[3 + k] = wl_uniform(random, -1, 1);
    }
}

static void
flow(const double *a, const double *b, double weight, double period, double *out)
{
    double d[3], r2 = 0.25;
    for (int k = 0; k < 3; k++) {
        d[k] = a[k] - b[k];
        if (period > 0)
            d[k] -= period * rint(d[k] / period);
        r2 += d[k] * d[k];
    }
    double s = 0.5 / r2, s3 = s * s * s;
    for (int k = 0; k < 3; k++)
        out[k] = weight * s * s3 * (s3 - 0.5) * d[k];
}

static void
move(double *state, double *more, const double *sum, double step)
{
    for (int k = 0; k < 3; k++) {
        more[k] += step * sum[k];
        state[k] += step * more[k];
    }
}

static bool
run(struct allot_run *r)
{
    static const struct mesh_app app = {.edges = "moldyn_force",
                                        .nodes = "moldyn_move",
                                        .mesh = MESH_FOIL,
                                        .state = 3,
                                        .more = 3,
                                        .sums = 3,
                                        .periodic = true,
                                        .step = 0.01,
                                        .start = start,
                                        .flow = flow,
                                        .move = move};
    return mesh_app_run(r, &app);
}

const struct allot_workload allot_workload_moldyn = {
    .name = "moldyn",
    .summary = "molecular dynamics over pairs of atoms on a mesh; scattered atomics",
    .source = "004 Table III, moldyn",
    .kernels = "moldyn_force moldyn_move",
    .run = run,
};
