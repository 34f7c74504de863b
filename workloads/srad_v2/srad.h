/* Inputs, launches and check of SRAD, for tiles of TILE x TILE threads (defined before).
 * Parameters rows and cols: pixels; tiles: at most so many blocks a side, so that an
 * image whose sides are no multiples of TILE keeps its stride, as in Rodinia, where the
 * rest is left as it is (0: as many as cover the image). */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAMBDA 0.5f

/* q0^2 = variance / mean^2 of the speckle, from the upper left quarter of the image. */
static double
speckle(const float *image, int rows, int cols)
{
    double sum = 0.0, sum2 = 0.0;
    int n = (rows / 2) * (cols / 2);
    for (int i = 0; i < rows / 2; i++) {
        for (int j = 0; j < cols / 2; j++) {
            double v = image[i * cols + j];
            sum += v;
            sum2 += v * v;
        }
    }
    double mean = sum / n;
    return (sum2 / n - mean * mean) / (mean * mean);
}

/* One time step in double, of the first `h` rows and `w` columns; c gets the diffusion
 * coefficients. */
static void
reference_step(double *image, double *c, int rows, int cols, int h, int w, double q0)
{
    size_t n = (size_t)rows * cols;
    double *d = malloc(sizeof *d * n * 4); /* differences to north, south, west, east */
    if (!d)
        return;
    for (int i = 0; i < h; i++) {
        for (int j = 0; j < w; j++) {
            size_t at = (size_t)i * cols + j;
            double v = image[at], *g = d + 4 * at;
            g[0] = i > 0 ? image[at - cols] - v : 0.0;
            g[1] = i < rows - 1 ? image[at + cols] - v : 0.0;
            g[2] = j > 0 ? image[at - 1] - v : 0.0;
            g[3] = j < cols - 1 ? image[at + 1] - v : 0.0;
            double gradient2 = 0.0, laplace = 0.0;
            for (int k = 0; k < 4; k++) {
                gradient2 += g[k] / v * (g[k] / v);
                laplace += g[k] / v;
            }
            double q = (gradient2 / 2 - laplace * laplace / 16) / pow(1 + laplace / 4, 2);
            double coeff = 1 / (1 + (q - q0) / (q0 * (1 + q0)));
            c[at] = coeff < 0 ? 0 : coeff > 1 ? 1 : coeff;
        }
    }
    for (int i = 0; i < h; i++) {
        for (int j = 0; j < w; j++) {
            size_t at = (size_t)i * cols + j;
            const double *g = d + 4 * at;
            double south = i < rows - 1 ? c[at + cols] : c[at];
            double east = j < cols - 1 ? c[at + 1] : c[at];
            image[at] += (double)LAMBDA / 4 *
                         (c[at] * g[0] + south * g[1] + c[at] * g[2] + east * g[3]);
        }
    }
    free(d);
}

static bool
srad(struct allot_run *r, int rows, int cols, int iterations)
{
    rows = (int)wl_param(r, "rows", rows, 2, 4096);
    cols = (int)wl_param(r, "cols", cols, 2, 4096);
    int tiles = (int)wl_param(r, "tiles", 0, 0, 2048), gx = (cols + TILE - 1) / TILE,
        gy = (rows + TILE - 1) / TILE;
    if (tiles && tiles < gx)
        gx = tiles;
    if (tiles && tiles < gy)
        gy = tiles;
    int w = gx * TILE < cols ? gx * TILE : cols, h = gy * TILE < rows ? gy * TILE : rows;
    size_t n = (size_t)rows * cols, bytes = sizeof(float) * n;
    float *image = malloc(bytes), *coeff = calloc(n, sizeof *coeff),
          *want = malloc(bytes);
    double *ref = malloc(sizeof *ref * n), *ref_c = calloc(n, sizeof *ref_c);

    if (image && coeff && want && ref && ref_c) {
        uint64_t rng = r->seed;
        /* Smooth shapes under multiplicative speckle, above 0 as the method needs. */
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < cols; j++) {
                float shape = ((i / 12) ^ (j / 20)) & 1 ? 2.0f : 1.25f;
                image[i * cols + j] = shape * wl_uniform(&rng, 0.8f, 1.2f);
                ref[i * cols + j] = image[i * cols + j];
            }
        }
        uint64_t d_image = wl_upload(r, image, bytes), d_c = wl_upload(r, coeff, bytes);
        uint64_t dn = wl_alloc(r, bytes), ds = wl_alloc(r, bytes);
        uint64_t dw = wl_alloc(r, bytes), de = wl_alloc(r, bytes);
        float lambda = LAMBDA;
        for (int t = 0; t < iterations && r->ok; t++) {
            if (t)
                wl_read(r, d_image, image, bytes);
            float q0sqr = (float)speckle(image, rows, cols);
            reference_step(ref, ref_c, rows, cols, h, w, q0sqr);
            wl_launch(r, "srad_cuda_1", gx, gy, 1, TILE, TILE, 1, 0, &dn, &ds, &dw, &de,
                      &d_image, &d_c, &rows, &cols, &q0sqr);
            wl_launch(r, "srad_cuda_2", gx, gy, 1, TILE, TILE, 1, 0, &dn, &ds, &dw, &de,
                      &d_image, &d_c, &rows, &cols, &lambda);
        }
        wl_read(r, d_c, coeff, bytes);
        wl_read(r, d_image, image, bytes);
        /* q^2 has a rounding error of a few 2^-24 and q0^2 is about 0.07: 1 / (q0^2 (1 +
         * q0^2)) = 13 times that reaches the coefficient, and of it a quarter of the
         * difference of neighbours, below half the value, the image. */
        for (size_t i = 0; i < n; i++)
            want[i] = (float)ref_c[i];
        wl_check_f32(r, "coefficient", coeff, want, n, 0.0f, 5.0e-6f);
        for (size_t i = 0; i < n; i++)
            want[i] = (float)ref[i];
        wl_check_f32(r, "image", image, want, n, 1.0e-6f, 0.0f);
        uint64_t all[] = {d_image, d_c, dn, ds, dw, de};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            wl_free(r, all[i]);
    } else {
        wl_fail(r, "out of memory");
    }
    free(image);
    free(coeff);
    free(want);
    free(ref);
    free(ref_c);
    return r->ok;
}
