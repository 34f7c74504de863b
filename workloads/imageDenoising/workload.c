/* imageDenoising: fast non-local means of a noisy image. */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 8, RADIUS = 3, SIDE = 2 * RADIUS + 1, AREA = SIDE * SIDE };

static const double NOISE = 1.45, LERP = 0.2, THRESHOLD = 0.10; /* the benchmark's */

struct image {
    const uint32_t *pixel;
    int width, height;
};

/* A channel as a texture with clamped coordinates gives it. */
static double
at(const struct image *m, int x, int y, int channel)
{
    x = x < 0 ? 0 : x >= m->width ? m->width - 1 : x;
    y = y < 0 ? 0 : y >= m->height ? m->height - 1 : y;
    return (m->pixel[(size_t)y * m->width + x] >> 8 * channel & 255) / 255.0;
}

/* Weights of a block from its centre. False: rounding decides how many are large. */
static bool
weights_of(const struct image *m, int cx, int cy, double weight[AREA], bool *alike)
{
    int count = 0, unsure = 0;
    for (int i = 0; i < AREA; i++) {
        int dx = i % SIDE - RADIUS, dy = i / SIDE - RADIUS;
        double sum = 0;
        for (int n = -RADIUS; n <= RADIUS; n++)
            for (int k = -RADIUS; k <= RADIUS; k++)
                for (int c = 0; c < 3; c++) {
                    double d =
                        at(m, cx + k, cy + n, c) - at(m, cx + dx + k, cy + dy + n, c);
                    sum += d * d;
                }
        weight[i] = exp(-(sum / (NOISE * NOISE) + (double)(dx * dx + dy * dy) / AREA));
        count += weight[i] > THRESHOLD;
        unsure += fabs(weight[i] - THRESHOLD) < 1e-5;
    }
    *alike = count > THRESHOLD * AREA;
    return count - unsure > THRESHOLD * AREA || count + unsure <= THRESHOLD * AREA;
}

/* Pixels by the definition; a channel of which rounding decides is as the kernel's if that
 * is one level off. */
static void
reference(const struct image *m, const int32_t *got, int32_t *want)
{
    for (int y = 0; y < m->height; y++)
        for (int x = 0; x < m->width; x++) {
            size_t here = (size_t)y * m->width + x;
            double weight[AREA], sum = 0;
            bool alike, sure = weights_of(m, x / BLOCK * BLOCK + BLOCK / 2,
                                          y / BLOCK * BLOCK + BLOCK / 2, weight, &alike);
            want[here] = 0;
            for (int i = 0; i < AREA; i++)
                sum += weight[i];
            for (int c = 0; c < 3; c++) {
                double mean = 0;
                for (int i = 0; i < AREA; i++)
                    mean += weight[i] / sum *
                            at(m, x + i % SIDE - RADIUS, y + i / SIDE - RADIUS, c);
                double v =
                    255 * (mean + (at(m, x, y, c) - mean) * (alike ? LERP : 1 - LERP));
                int level = (int)v, theirs = got[here] >> 8 * c & 255;
                if (fabs(v - rint(v)) < 1e-3 && abs(theirs - level) <= 1)
                    level = theirs;
                want[here] |= level << 8 * c;
            }
            if (!sure)
                want[here] = got[here];
        }
}

static bool
run(struct allot_run *r)
{
    /* parameters width, height: pixels */
    int w = (int)wl_param(r, "width", r->quick ? 20 : 160, 1, 1 << 14),
        h = (int)wl_param(r, "height", r->quick ? 12 : 104, 1, 1 << 14);
    size_t n = (size_t)w * h;
    uint32_t *pixel = malloc(4 * n);
    int32_t *got = malloc(4 * n), *want = malloc(4 * n);
    struct allot_array *array = NULL;
    uint64_t texture = 0;
    if (pixel && got && want) {
        uint64_t rng = r->seed;
        for (size_t i = 0; i < n; i++) { /* patches, with noise */
            uint32_t patch = (uint32_t)(i % w / 11 + i / w / 9);
            pixel[i] = 0;
            for (uint32_t c = 0; c < 3; c++)
                pixel[i] |= (uint32_t)(40 + 60 * (patch * (c + 1) % 4 % 3) +
                                       wl_uniform(&rng, -35, 35))
                            << 8 * c;
        }
        struct allot_array_info info = {.format = {ALLOT_UNSIGNED, 8, 4},
                                        .width = (uint64_t)w,
                                        .height = (uint64_t)h};
        struct allot_box all = {.width = (uint64_t)w, .height = (uint64_t)h};
        struct allot_sampler sampler = {
            .address = {ALLOT_CLAMP, ALLOT_CLAMP, ALLOT_CLAMP}, .normalized_float = true};
        if (r->ok && wl_textures(r))
            r->ok = (array = allot_array_new(r->dev, &info, r->diag)) != NULL;
        if (r->ok)
            r->ok = allot_array_write(r->dev, array, &all, pixel, 0, 0, r->diag);
        struct allot_resource from = {.kind = ALLOT_RES_ARRAY, .array = array};
        if (r->ok)
            r->ok = (texture = allot_texture_new(r->dev, &from, &sampler, r->diag)) != 0;
        float noise = (float)(1 / (NOISE * NOISE)), lerp = (float)LERP;
        uint64_t d_out = wl_alloc(r, 4 * n);
        wl_launch(r, "NLM2", (uint32_t)(w + BLOCK - 1) / BLOCK,
                  (uint32_t)(h + BLOCK - 1) / BLOCK, 1, BLOCK, BLOCK, 1, 0, &d_out,
                  &texture, &w, &h, &noise, &lerp);
        wl_read(r, d_out, got, 4 * n);
        if (r->ok) {
            struct image image = {pixel, w, h};
            reference(&image, got, want);
            wl_check_i32(r, "pixels", got, want, n);
        }
        wl_free(r, d_out);
        if (r->ok)
            r->ok = allot_object_free(r->dev, texture, r->diag);
        if (r->ok)
            r->ok = allot_array_free(r->dev, array, r->diag);
    } else {
        wl_fail(r, "out of memory");
    }
    free(pixel);
    free(got);
    free(want);
    return r->ok;
}

const struct allot_workload allot_workload_imageDenoising = {
    .name = "imageDenoising",
    .summary = "fast non-local means; 64 threads, 256 B of scratchpad, a texture",
    .source = "CUDA SDK imageDenoising, NLM2: 002 Table 1",
    .kernels = "NLM2",
    .run = run,
};
