/* particles: forces between spheres in a grid of cells. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256 };

struct particles { /* as the kernel's */
    float origin[3], cell[3], collider[3];
    float collider_radius, radius, spring, damping, shear, attraction;
    uint32_t bits;
};

static uint32_t
cell_of(const struct particles *p, const float *at, int dx, int dy, int dz)
{
    int c[3], mask = (1 << p->bits) - 1;
    for (int i = 0; i < 3; i++)
        c[i] = (int)floorf((at[i] - p->origin[i]) / p->cell[i]);
    return (uint32_t)((((c[2] + dz) & mask) << p->bits | ((c[1] + dy) & mask))
                          << p->bits |
                      ((c[0] + dx) & mask));
}

/* False: whether they touch is a matter of rounding. */
static bool
collide(double force[3], const float *a, const float *b, const float *va, const float *vb,
        double distance, const struct particles *p, double attraction)
{
    double rel[3], vel[3], far = 0, along = 0;
    for (int i = 0; i < 3; i++) {
        rel[i] = (double)b[i] - a[i];
        vel[i] = (double)vb[i] - va[i];
        far += rel[i] * rel[i];
    }
    far = sqrt(far);
    bool clear = fabs(far - distance) > 1e-6 * distance;
    if (far >= distance)
        return clear;
    for (int i = 0; i < 3; i++)
        along += vel[i] * rel[i] / far;
    for (int i = 0; i < 3; i++)
        force[i] += -p->spring * (distance - far) * rel[i] / far + p->damping * vel[i] +
                    p->shear * (vel[i] - along * rel[i] / far) + attraction * rel[i];
    return clear;
}

struct sphere {
    float at[4], v[4];
    uint32_t cell, index;
};

static int
by_cell(const void *x, const void *y)
{
    const struct sphere *a = x, *b = y;
    return a->cell != b->cell ? (a->cell < b->cell ? -1 : 1)
                              : (a->index > b->index) - (a->index < b->index);
}

/* New velocities by the definition: every sphere against those of the cells around it. NaN
 * for the few of which rounding decides what they touch. */
static void
reference(const struct particles *p, const struct sphere *s, const uint32_t *start,
          const uint32_t *end, uint32_t n, float *want)
{
    static const float still[3];
    for (uint32_t i = 0; i < n; i++) {
        double force[3] = {0};
        bool clear = true;
        for (int k = 0; k < 27; k++) {
            uint32_t c = cell_of(p, s[i].at, k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1);
            for (uint32_t j = start[c]; start[c] != UINT32_MAX && j < end[c]; j++)
                if (j != i)
                    clear &= collide(force, s[i].at, s[j].at, s[i].v, s[j].v,
                                     2.0 * p->radius, p, p->attraction);
        }
        clear &= collide(force, s[i].at, p->collider, s[i].v, still,
                         (double)p->radius + p->collider_radius, p, 0);
        for (int k = 0; k < 3; k++)
            want[4 * s[i].index + k] = clear ? (float)(s[i].v[k] + force[k]) : NAN;
        want[4 * s[i].index + 3] = s[i].v[3];
    }
}

static bool
run(struct allot_run *r)
{
    /* parameters spheres; bits: 2^bits cells along each side of the box */
    uint32_t n = (uint32_t)wl_param(r, "spheres", r->quick ? 400 : 16384, 1, 1 << 20);
    uint32_t bits = (uint32_t)wl_param(r, "bits", r->quick ? 3 : 5, 2, 7);
    uint32_t cells = 1u << 3 * bits;
    const float size = 2.0f / (float)(1 << bits);
    struct particles p = {.origin = {-1, -1, -1},
                          .cell = {size, size, size},
                          .collider = {-0.4f, -0.3f, 0.1f},
                          .collider_radius = 0.2f,
                          .radius = size / 2,
                          .spring = 0.5f,
                          .damping = 0.02f,
                          .shear = 0.1f,
                          .attraction = 0.01f,
                          .bits = bits};
    struct sphere *s = calloc(n, sizeof *s);
    uint32_t *start = malloc(4 * (size_t)cells), *end = malloc(4 * (size_t)cells),
             *index = malloc(4 * (size_t)n);
    float *at = malloc(16 * (size_t)n), *v = malloc(16 * (size_t)n),
          *got = malloc(16 * (size_t)n), *want = calloc(n, 16);
    if (s && start && end && index && at && v && got && want) {
        uint64_t rng = r->seed;
        for (uint32_t i = 0; i < n; i++) {
            s[i].index = i;
            for (int k = 0; k < 3; k++) {
                s[i].at[k] = wl_uniform(&rng, -1.0f, 1.0f);
                s[i].v[k] = wl_uniform(&rng, -0.5f, 0.5f);
            }
            s[i].v[3] = wl_uniform(&rng, 1.0f, 2.0f); /* kept */
            s[i].cell = cell_of(&p, s[i].at, 0, 0, 0);
        }
        qsort(s, n, sizeof *s, by_cell);
        memset(start, 0xff, 4 * (size_t)cells);
        memset(end, 0, 4 * (size_t)cells);
        for (uint32_t i = 0; i < n; i++) {
            if (start[s[i].cell] == UINT32_MAX)
                start[s[i].cell] = i;
            end[s[i].cell] = i + 1;
            index[i] = s[i].index;
            memcpy(at + 4 * i, s[i].at, 16);
            memcpy(v + 4 * i, s[i].v, 16);
        }
        reference(&p, s, start, end, n, want);
        uint64_t at_params, bytes;
        if (!wl_symbol(r, "params", &at_params, &bytes) || bytes != sizeof p)
            wl_fail(r, "the module has no parameters of %zu bytes", sizeof p);
        else
            wl_write(r, at_params, &p, sizeof p);
        uint64_t d_new = wl_alloc(r, 16 * (size_t)n),
                 d_at = wl_upload(r, at, 16 * (size_t)n),
                 d_v = wl_upload(r, v, 16 * (size_t)n),
                 d_index = wl_upload(r, index, 4 * (size_t)n),
                 d_start = wl_upload(r, start, 4 * (size_t)cells),
                 d_end = wl_upload(r, end, 4 * (size_t)cells);
        wl_launch(r, "collideD", (n + THREADS - 1) / THREADS, 1, 1, THREADS, 1, 1, 0,
                  &d_new, &d_at, &d_v, &d_index, &d_start, &d_end, &n);
        wl_read(r, d_new, got, 16 * (size_t)n);
        for (size_t i = 0; i < 4 * (size_t)n; i++)
            if (isnan(want[i]))
                got[i] = NAN;
        /* sums of about 60 forces below 1, each rounded to 2^-25 */
        wl_check_f32(r, "velocities", got, want, 4 * (size_t)n, 1e-5f, 5e-6f);
        wl_free(r, d_new);
        wl_free(r, d_at);
        wl_free(r, d_v);
        wl_free(r, d_index);
        wl_free(r, d_start);
        wl_free(r, d_end);
    } else {
        wl_fail(r, "out of memory");
    }
    free(s);
    free(start);
    free(end);
    free(index);
    free(at);
    free(v);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_particles = {
    .name = "particles",
    .summary = "forces between spheres in a grid of cells; 256 threads, no scratchpad",
    .source = "CUDA SDK particles, collideD: 002 Table 1",
    .kernels = "collideD",
    .run = run,
};
