/* cfd: fluxes of the Euler equations on an unstructured grid. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 192, FACES = 4, WALL = -1, FAR = -2, VARS = 5, CHUNK = 512 };
static const double GAMMA = 1.4, VISCOSITY = 0.2;

/* As the kernel's structs lie in memory. */
struct state {
    float density, energy, momentum[3];
};
struct flux {
    float matrix[6], energy[3]; /* xx, xy, xz, yy, yz, zz */
};

struct cell { /* in double */
    double u[VARS], flux[VARS][3], pressure, wave;
};

/* Fluxes along the three axes of density, momentum and energy. */
static struct cell
cell_of(const double u[VARS])
{
    struct cell c;
    double v[3], square = 0;
    memcpy(c.u, u, sizeof c.u);
    for (int k = 0; k < 3; k++) {
        v[k] = u[1 + k] / u[0];
        square += v[k] * v[k];
    }
    c.pressure = (GAMMA - 1) * (u[4] - 0.5 * u[0] * square);
    c.wave = sqrt(square) + sqrt(GAMMA * c.pressure / u[0]);
    for (int k = 0; k < 3; k++) {
        c.flux[0][k] = u[1 + k];
        for (int m = 0; m < 3; m++)
            c.flux[1 + m][k] = u[1 + m] * v[k] + (m == k ? c.pressure : 0);
        c.flux[4][k] = (u[4] + c.pressure) * v[k];
    }
    return c;
}

static void
reference(int n, const int *neighbours, const float *normals, const float *variables,
          const double *stream, float *want)
{
    struct cell far = cell_of(stream);
    for (int i = 0; i < n; i++) {
        double u[VARS], sum[VARS] = {0};
        for (int v = 0; v < VARS; v++)
            u[v] = variables[i + v * n];
        struct cell own = cell_of(u);
        for (int f = 0; f < FACES; f++) {
            int other = neighbours[i + f * n];
            double normal[3], area = 0;
            for (int k = 0; k < 3; k++) {
                normal[k] = normals[i + (f + k * FACES) * n];
                area += normal[k] * normal[k];
            }
            if (other == WALL) {
                for (int k = 0; k < 3; k++)
                    sum[1 + k] += normal[k] * own.pressure;
                continue;
            }
            struct cell c = far;
            if (other >= 0) {
                for (int v = 0; v < VARS; v++)
                    u[v] = variables[other + v * n];
                c = cell_of(u);
                for (int v = 0; v < VARS; v++)
                    sum[v] -= 0.5 * VISCOSITY * sqrt(area) * (own.wave + c.wave) *
                              (own.u[v] - c.u[v]);
            }
            for (int v = 0; v < VARS; v++)
                for (int k = 0; k < 3; k++)
                    sum[v] += 0.5 * normal[k] * (own.flux[v][k] + c.flux[v][k]);
        }
        for (int v = 0; v < VARS; v++)
            want[i + v * n] = (float)sum[v];
    }
}

/* A sheet of `width` cells a row, each with its four neighbours, walls on two sides and the
 * free stream on the others; cells are numbered at random within chunks. */
static void
make_grid(uint64_t *rng, int n, int width, int *number, int *neighbours, float *normals)
{
    int rows = n / width;
    for (int i = 0; i < n; i++)
        number[i] = i;
    for (int i = 0; i < n; i++) {
        int base = i / CHUNK * CHUNK, room = n - base < CHUNK ? n - base : CHUNK;
        int j = base + (int)(wl_random(rng) % (uint64_t)room), t = number[i];
        number[i] = number[j];
        number[j] = t;
    }
    for (int i = 0; i < FACES * n; i++)
        neighbours[i] = FAR;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < width; x++) {
            int a = number[y * width + x];
            for (int axis = 0; axis < 2; axis++) {
                /* face 2 axis + 1 of this cell is face 2 axis of the next one */
                bool inside = axis ? y + 1 < rows : x + 1 < width;
                int b =
                    inside ? number[axis ? (y + 1) * width + x : y * width + x + 1] : -1;
                bool first = axis ? y == 0 : x == 0;
                for (int k = 0; k < 3; k++) {
                    float v = wl_uniform(rng, -0.2f, 0.2f) + (k == axis ? 1.0f : 0.0f);
                    normals[a + (2 * axis + 1 + k * FACES) * n] = v;
                    if (inside)
                        normals[b + (2 * axis + k * FACES) * n] = -v;
                    if (first)
                        normals[a + (2 * axis + k * FACES) * n] = k == axis ? -1 : 0;
                }
                if (inside) {
                    neighbours[a + (2 * axis + 1) * n] = b;
                    neighbours[b + 2 * axis * n] = a;
                }
                if (first && axis)
                    neighbours[a + 2 * axis * n] = WALL;
            }
        }
}

static void
write_symbol(struct allot_run *r, const char *name, const void *from, uint64_t size)
{
    uint64_t at, bytes;
    if (!r->ok)
        return;
    if (!wl_symbol(r, name, &at, &bytes) || bytes != size)
        wl_fail(r, "the module has no %s of %llu bytes", name, (unsigned long long)size);
    else
        wl_write(r, at, from, size);
}

static bool
run(struct allot_run *r)
{
    /* parameters cells; width: cells of a row of the sheet, divides cells */
    int n = (int)wl_param(r, "cells", r->quick ? 560 : 24576, 1, 1 << 20);
    int width = (int)wl_param(r, "width", r->quick ? 28 : 192, 1, 1 << 20);
    if (n % width)
        return wl_fail(r, "parameter width=%d does not divide cells=%d", width, n);
    size_t cells = (size_t)n;
    int *number = malloc(4 * cells), *neighbours = malloc(4 * FACES * cells);
    float *normals = calloc(3 * FACES * cells, 4), *variables = malloc(4 * VARS * cells),
          *got = malloc(4 * VARS * cells), *want = malloc(4 * VARS * cells);
    if (number && neighbours && normals && variables && got && want) {
        uint64_t rng = r->seed;
        make_grid(&rng, n, width, number, neighbours, normals);
        /* a stream at 1.2 times the speed of sound, density 1.4, pressure 1 */
        const double stream[VARS] = {1.4, 1.4 * 1.2, 0, 0,
                                     0.5 * 1.4 * 1.2 * 1.2 + 1 / (GAMMA - 1)};
        struct cell far = cell_of(stream);
        struct state state = {
            (float)stream[0], (float)stream[4], {(float)stream[1], 0, 0}};
        struct flux flux;
        for (int k = 0, i = 0; k < 3; k++) {
            for (int m = k; m < 3; m++)
                flux.matrix[i++] = (float)far.flux[1 + k][m];
            flux.energy[k] = (float)far.flux[4][k];
        }
        for (int v = 0; v < VARS; v++)
            for (int i = 0; i < n; i++)
                variables[i + v * n] = (float)stream[v] + wl_uniform(&rng, -0.1f, 0.1f);
        reference(n, neighbours, normals, variables, stream, want);
        write_symbol(r, "free_stream", &state, sizeof state);
        write_symbol(r, "free_flux", &flux, sizeof flux);
        uint64_t d_neighbours = wl_upload(r, neighbours, 4 * FACES * cells),
                 d_normals = wl_upload(r, normals, 4 * 3 * FACES * cells),
                 d_variables = wl_upload(r, variables, 4 * VARS * cells),
                 d_fluxes = wl_alloc(r, 4 * VARS * cells);
        wl_launch(r, "cuda_compute_flux", (uint32_t)(n + THREADS - 1) / THREADS, 1, 1,
                  THREADS, 1, 1, 0, &n, &d_neighbours, &d_normals, &d_variables,
                  &d_fluxes);
        wl_read(r, d_fluxes, got, 4 * VARS * cells);
        /* four faces' sums of about 20 terms below 8, each rounded to 2^-22 */
        wl_check_f32(r, "fluxes", got, want, VARS * cells, 0.0f, 2e-5f);
        wl_free(r, d_neighbours);
        wl_free(r, d_normals);
        wl_free(r, d_variables);
        wl_free(r, d_fluxes);
    } else {
        wl_fail(r, "out of memory");
    }
    free(number);
    free(neighbours);
    free(normals);
    free(variables);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_cfd = {
    .name = "cfd",
    .summary = "Euler fluxes over an unstructured grid; 192 threads, no scratchpad",
    .source = "Rodinia cfd (euler3d), cuda_compute_flux: 002 Table 1",
    .kernels = "cuda_compute_flux",
    .run = run,
};
