/* lavaMD: forces between particles in boxes, one block a box. */
#include "allot/workload.h"
#include "particle.h"

#include <math.h>
#include <stdlib.h>

#define ALPHA 0.5
#define THREADS 128

struct space {
    int nx, ny, nz, boxes, particles;
    struct box *box;
    struct particle *position;
    double *charge;
};

static bool
fill(struct space *s, int least, int most, uint32_t seed)
{
    uint64_t rng = seed;
    s->boxes = s->nx * s->ny * s->nz;
    s->box = calloc(s->boxes, sizeof *s->box);
    s->position = calloc((size_t)s->boxes * most, sizeof *s->position);
    s->charge = calloc((size_t)s->boxes * most, sizeof *s->charge);
    if (!s->box || !s->position || !s->charge)
        return false;
    for (int b = 0; b < s->boxes; b++) {
        int x = b % s->nx, y = b / s->nx % s->ny, z = b / s->nx / s->ny;
        struct box *box = &s->box[b];
        box->first = s->particles;
        box->particles = least + (int)(wl_random(&rng) % (unsigned)(most - least + 1));
        box->neighbour[box->neighbours++] = b;
        for (int dz = -1; dz <= 1; dz++) {
            for (int dy = -1; dy <= 1; dy++) {
                for (int dx = -1; dx <= 1; dx++) {
                    int nx = x + dx, ny = y + dy, nz = z + dz;
                    if ((dx || dy || dz) && nx >= 0 && nx < s->nx && ny >= 0 &&
                        ny < s->ny && nz >= 0 && nz < s->nz)
                        box->neighbour[box->neighbours++] =
                            (nz * s->ny + ny) * s->nx + nx;
                }
            }
        }
        for (int i = 0; i < box->particles; i++, s->particles++) {
            struct particle *p = &s->position[s->particles];
            p->x = x + (double)wl_uniform(&rng, 0.0f, 1.0f);
            p->y = y + (double)wl_uniform(&rng, 0.0f, 1.0f);
            p->z = z + (double)wl_uniform(&rng, 0.0f, 1.0f);
            p->v = p->x * p->x + p->y * p->y + p->z * p->z;
            s->charge[s->particles] = wl_uniform(&rng, 0.1f, 1.0f);
        }
    }
    return true;
}

/* From every particle to every other whose box is no more than one away. */
static void
reference(const struct space *s, struct particle *force)
{
    for (int h = 0; h < s->boxes; h++) {
        for (int o = 0; o < s->boxes; o++) {
            if (abs(h % s->nx - o % s->nx) > 1 ||
                abs(h / s->nx % s->ny - o / s->nx % s->ny) > 1 ||
                abs(h / s->nx / s->ny - o / s->nx / s->ny) > 1)
                continue;
            for (int i = s->box[h].first; i < s->box[h].first + s->box[h].particles;
                 i++) {
                for (int j = s->box[o].first; j < s->box[o].first + s->box[o].particles;
                     j++) {
                    const struct particle *a = &s->position[i], *b = &s->position[j];
                    double x = a->x - b->x, y = a->y - b->y, z = a->z - b->z;
                    double u =
                        s->charge[j] * exp(-ALPHA * ALPHA * (x * x + y * y + z * z));
                    force[i].v += u;
                    force[i].x += 2 * u * x;
                    force[i].y += 2 * u * y;
                    force[i].z += 2 * u * z;
                }
            }
        }
    }
}

static bool
run(struct allot_run *r)
{
    /* Parameters: boxes along each edge of a cube, all with the same number of particles;
     * 0: a row of boxes, which differ. ptxplus: the guard reads no box, so no block works. */
    int side = (int)wl_param(r, "side", 0, 0, 16),
        each = (int)wl_param(r, "particles", 0, 0, MAX_PARTICLES);
    const bool ptxplus = wl_param(r, "ptxplus", 0, 0, 1);
    const uint64_t number_boxes = 0; /* what the guard reads then */
    struct space s = {.nx = 2, .ny = 2, .nz = 2};
    if (side)
        s = (struct space){.nx = side, .ny = side, .nz = side};
    else if (!r->quick)
        s = (struct space){.nx = 84, .ny = 1, .nz = 1};
    int least = each       ? each
                : r->quick ? 5
                           : 60,
        most = each       ? each
               : r->quick ? 12
                          : MAX_PARTICLES;
    bool filled = fill(&s, least, most, r->seed);
    struct particle *force = calloc(filled ? s.particles : 1, sizeof *force);
    struct particle *want = calloc(filled ? s.particles : 1, sizeof *want);

    if (filled && force && want) {
        double alpha = ALPHA;
        uint64_t d_box = wl_upload(r, s.box, sizeof *s.box * s.boxes);
        uint64_t d_position = wl_upload(r, s.position, sizeof *s.position * s.particles);
        uint64_t d_charge = wl_upload(r, s.charge, sizeof *s.charge * s.particles);
        uint64_t d_force = wl_upload(r, force, sizeof *force * s.particles);
        const uint32_t low = (uint32_t)number_boxes, high = (uint32_t)(number_boxes >> 32);
        const void *args[] = {&d_box, &d_position, &d_charge, &d_force, &alpha,
                              &low,   &high}; /* the last two: of the second kernel */
        wl_launch_args(r, ptxplus ? "kernel_gpu_cuda_ptxplus" : "kernel_gpu_cuda",
                       (const uint32_t[6]){(uint32_t)s.boxes, 1, 1, THREADS, 1, 1}, 0,
                       args, ptxplus ? 7 : 5);
        wl_read(r, d_force, force, sizeof *force * s.particles);
        if (!ptxplus) /* else every force stays 0 */
            reference(&s, want);
        /* r^2 is a difference of squares up to 84^2 + 2: 2^-53 of that, times alpha^2, is
         * its share in each of up to 300 terms below 8 (only nearby ones count: 27 boxes,
         * in a cube up to 2700 terms of squares up to 3 * 16^2). */
        double tolerance = 1e-10;
        for (int i = 0; i < s.particles && r->ok; i++) {
            /* the struct is four doubles */
            const double *got = (const double *)&force[i],
                         *ref = (const double *)&want[i];
            for (int k = 0; k < 4; k++)
                if (!(fabs(got[k] - ref[k]) <= tolerance))
                    wl_fail(r, "force[%d].%c is %.17g, should be %.17g", i, "vxyz"[k],
                            got[k], ref[k]);
        }
        wl_free(r, d_box);
        wl_free(r, d_position);
        wl_free(r, d_charge);
        wl_free(r, d_force);
    } else {
        wl_fail(r, "out of memory");
    }
    free(s.box);
    free(s.position);
    free(s.charge);
    free(force);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_lavaMD = {
    .name = "lavaMD",
    .summary =
        "forces between particles in boxes, in double; 7200 B of scratchpad a block",
    .source = "Rodinia lavaMD, kernel_gpu_cuda: 001 Tables 2.2, 2.8",
    .kernels = "kernel_gpu_cuda kernel_gpu_cuda_ptxplus",
    .run = run,
};
