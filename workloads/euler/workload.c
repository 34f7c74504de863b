/* euler: residuals of Euler's equations on a mesh. */
#include "mesh_app.h"

static void
start(const struct mesh *m, uint32_t i, uint64_t *random, float *value)
{
    (void)m, (void)i;
    value[0] = wl_uniform(random, 0.5F, 1.5F);
    value[1] = wl_uniform(random, -0.5F, 0.5F);
    value[2] = wl_uniform(random, 2, 3);
}

/* Flux of density, momentum, energy. */
static void
flux(const double *q, double *f)
{
    double u = q[1] / q[0], p = 0.4 * (q[2] - 0.5 * q[1] * u);
    f[0] = q[1];
    f[1] = q[1] * u + p;
    f[2] = u * (q[2] + p);
}

static void
flow(const double *a, const double *b, double weight, double period, double *out)
{
    double fa[3], fb[3];
    (void)period;
    flux(a, fa);
    flux(b, fb);
    for (int k = 0; k < 3; k++)
        out[k] = weight * (0.5 * (fa[k] + fb[k]) - 1.5 * (b[k] - a[k]));
}

static bool
run(struct allot_run *r)
{
    static const struct mesh_app app = {.edges = "euler_flux",
                                        .mesh = MESH_FOIL,
                                        .state = 3,
                                        .sums = 3,
                                        .start = start,
                                        .flow = flow};
    return mesh_app_run(r, &app);
}

const struct allot_workload allot_workload_euler = {
    .name = "euler",
    .summary = "residuals of Euler's equations on a mesh; scattered atomics",
    .source = "004 Table III and Figures 2, 3, euler",
    .kernels = "euler_flux",
    .run = run,
};
