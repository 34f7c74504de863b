/* dxtc: DXT1 compression of an image. */
#include "dxtc.h"

#include <math.h>
#include <stdlib.h>

enum { THREADS = 144, PIXELS = 16, FOURS = 992, THREES = 160 }; /* as in kernel.cu */

/* Every way to cut the sorted row into four clusters, then into three, as 2-bit codes: 0 and
 * 1 are the ends, 2 and 3 lie between them. */
static void
make_ways(uint32_t way[FOURS + THREES])
{
    int count = 0;
    for (int a = 0; a <= PIXELS; a++)
        for (int b = a; b <= PIXELS; b++)
            for (int c = b; c <= PIXELS; c++, count++) {
                way[count] = 0;
                for (int i = 0; i < PIXELS; i++)
                    way[count] |= (i < a ? 0u : i < b ? 2u : i < c ? 3u : 1u) << 2 * i;
            }
    for (; count < FOURS; count++)
        way[count] = way[count - 1];
    for (int a = 0; a <= PIXELS; a++)
        for (int b = a; b <= PIXELS; b++, count++) {
            way[count] = 0;
            for (int i = 0; i < PIXELS; i++)
                way[count] |= (i < a ? 0u : i < b ? 2u : 1u) << 2 * i;
        }
    for (; count < FOURS + THREES; count++)
        way[count] = way[count - 1];
}

static const double levels[3] = {31, 63, 31};

/* Squared error of a block's pixels by its colours a, b and codes, whose mode is given. */
static double
error_of(double color[PIXELS][3], const double a[3], const double b[3], uint32_t codes,
         bool four)
{
    double sum = 0;
    for (int i = 0; i < PIXELS; i++) {
        int code = codes >> 2 * i & 3;
        double w = four ? (double[]){1, 0, 2 / 3.0, 1 / 3.0}[code]
                        : (double[]){1, 0, 0.5, 0}[code];
        for (int k = 0; k < 3; k++) {
            double v = w * a[k] + (1 - w) * b[k];
            if (!four && code == 3)
                v = 0; /* black */
            sum += (color[i][k] - v) * (color[i][k] - v);
        }
    }
    return sum;
}

/* The least error over all ways for these sorted colours. */
static double
least_error(double color[PIXELS][3], const uint32_t *way)
{
    double least = INFINITY;
    for (int n = 0; n < FOURS + THREES; n++) {
        bool four = n < FOURS;
        double aa = 0, bb = 0, ab = 0, ax[3] = {0}, bx[3] = {0}, a[3], b[3];
        for (int i = 0; i < PIXELS; i++) {
            int code = way[n] >> 2 * i & 3;
            double w = four ? (double[]){1, 0, 2 / 3.0, 1 / 3.0}[code]
                            : (double[]){1, 0, 0.5, 0}[code];
            aa += w * w;
            bb += (1 - w) * (1 - w);
            ab += w * (1 - w);
            for (int k = 0; k < 3; k++) {
                ax[k] += w * color[i][k];
                bx[k] += (1 - w) * color[i][k];
            }
        }
        double det = aa * bb - ab * ab;
        if (det < 1e-9)
            continue; /* a single cluster */
        for (int k = 0; k < 3; k++) {
            a[k] = fmin(fmax((ax[k] * bb - bx[k] * ab) / det, 0), 1);
            b[k] = fmin(fmax((bx[k] * aa - ax[k] * ab) / det, 0), 1);
            a[k] = rint(a[k] * levels[k]) / levels[k];
            b[k] = rint(b[k] * levels[k]) / levels[k];
        }
        double e = error_of(color, a, b, way[n], four);
        least = e < least ? e : least;
    }
    return least;
}

/* Sorts colours along their best-fit line. False: rounding decides their order. */
static bool
sort_colors(double color[PIXELS][3])
{
    double mean[3] = {0}, cov[3][3] = {{0}}, v[3] = {1, 1, 1}, place[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        for (int k = 0; k < 3; k++)
            mean[k] += color[i][k] / PIXELS;
    for (int i = 0; i < PIXELS; i++)
        for (int k = 0; k < 3; k++)
            for (int m = 0; m < 3; m++)
                cov[k][m] += (color[i][k] - mean[k]) * (color[i][m] - mean[m]);
    for (int n = 0; n < 8; n++) {
        double w[3] = {0}, most = 0;
        for (int k = 0; k < 3; k++) {
            for (int m = 0; m < 3; m++)
                w[k] += cov[k][m] * v[m];
            most = fmax(most, fabs(w[k]));
        }
        for (int k = 0; k < 3; k++)
            v[k] = most > 0 ? w[k] / most : 0;
    }
    for (int i = 0; i < PIXELS; i++)
        place[i] = color[i][0] * v[0] + color[i][1] * v[1] + color[i][2] * v[2];
    bool sure = true;
    for (int i = 1; i < PIXELS; i++)
        for (int j = i; j > 0; j--) {
            double gap = place[j] - place[j - 1];
            bool same = true;
            for (int k = 0; k < 3; k++)
                same &= color[j][k] == color[j - 1][k];
            sure &= same || fabs(gap) > 1e-5;
            if (gap >= 0)
                break;
            for (int k = 0; k < 3; k++) {
                double t = color[j][k];
                color[j][k] = color[j - 1][k];
                color[j - 1][k] = t;
            }
            place[j] -= gap;
            place[j - 1] += gap;
        }
    return sure;
}

/* One block: what the kernel stored must be as good as the best way. */
static bool
check_block(struct allot_run *r, uint32_t number, const uint32_t *pixel,
            const uint32_t *way, const uint32_t *got)
{
    double color[PIXELS][3], a[3], b[3];
    for (int i = 0; i < PIXELS; i++)
        for (int k = 0; k < 3; k++)
            color[i][k] = (pixel[i] >> 8 * k & 255) / 255.0;
    uint32_t start = got[0] & 0xffff, end = got[0] >> 16;
    for (int k = 0; k < 3; k++) {
        static const int shift[3] = {11, 5, 0}, mask[3] = {31, 63, 31};
        a[k] = (int)(start >> shift[k] & mask[k]) / levels[k];
        b[k] = (int)(end >> shift[k] & mask[k]) / levels[k];
    }
    double e = error_of(color, a, b, got[1], start > end);
    bool sure = sort_colors(color);
    double least = least_error(color, way);
    /* Rounding to 5 and 6 bits may fall to either side of a half. */
    if (e > least * (sure ? 1.001 : 1.5) + 1e-6)
        return wl_fail(r, "block %u: squared error %.9g, possible is %.9g", number, e,
                       least);
    return true;
}

bool
dxtc_run(struct allot_run *r, uint32_t threads)
{
    /* parameter blocks: of 4 x 4 pixels */
    uint32_t n = (uint32_t)wl_param(r, "blocks", r->quick ? 2 : 128, 1, 1 << 20);
    uint32_t way[FOURS + THREES], *pixel = malloc(4 * PIXELS * (size_t)n),
                                  *got = malloc(8 * (size_t)n);
    if (pixel && got) {
        uint64_t rng = r->seed;
        make_ways(way);
        for (uint32_t i = 0; i < n; i++) { /* two colours, what lies between, and noise */
            float from[3], to[3];
            for (int k = 0; k < 3; k++) {
                from[k] = wl_uniform(&rng, 10, 245);
                to[k] = wl_uniform(&rng, 10, 245);
            }
            for (int p = 0; p < PIXELS; p++) {
                float w = wl_uniform(&rng, 0, 1);
                pixel[PIXELS * i + p] = 255u << 24;
                for (int k = 0; k < 3; k++)
                    pixel[PIXELS * i + p] |= (uint32_t)(from[k] + w * (to[k] - from[k]) +
                                                        wl_uniform(&rng, -10, 10))
                                             << 8 * k;
            }
        }
        uint64_t d_way = wl_upload(r, way, sizeof way),
                 d_pixel = wl_upload(r, pixel, 4 * PIXELS * (size_t)n),
                 d_result = wl_alloc(r, 8 * (size_t)n);
        int first = 0;
        wl_launch(r, "compress", n, 1, 1, threads, 1, 1, 0, &d_way, &d_pixel, &d_result,
                  &first);
        wl_read(r, d_result, got, 8 * (size_t)n);
        for (uint32_t i = 0; i < n && r->ok; i++)
            check_block(r, i, pixel + PIXELS * (size_t)i, way, got + 2 * (size_t)i);
        wl_free(r, d_way);
        wl_free(r, d_pixel);
        wl_free(r, d_result);
    } else {
        wl_fail(r, "out of memory");
    }
    free(pixel);
    free(got);
    return r->ok;
}

static bool
run(struct allot_run *r)
{
    return dxtc_run(r, THREADS);
}

const struct allot_workload allot_workload_dxtc = {
    .name = "dxtc",
    .summary = "DXT1 compression, an exhaustive fit; 144 threads, 1728 B of scratchpad",
    .source = "CUDA SDK dxtc, compress: 002 Table 1 (Kepler)",
    .kernels = "compress",
    .run = run,
};
