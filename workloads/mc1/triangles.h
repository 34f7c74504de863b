/* Host side of marching cubes. The table of cases is computed: for each face of a cell
 * the crossed edges are joined, negative corners kept apart where two face each other;
 * the segments of the faces close to polygons, and those are cut into fans of triangles.
 * Parameters size (cells along an edge of the cube), cells (the most that are taken; 0:
 * all). The benchmark's form (voxels.cuh) has its field, table and grid, whose edge is a power
 * of two; the other one (triangles.cuh) a field of our own.
 */
#include "allot/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t mc_face[6][4] = {{0, 1, 2, 3}, {4, 7, 6, 5}, {0, 4, 5, 1},
                                      {1, 5, 6, 2}, {2, 6, 7, 3}, {3, 7, 4, 0}};

static inline int
mc_edge(int a, int b)
{
    for (int e = 0; e < 12; e++) {
        int p = e < 8 ? e : e - 8, q = e < 4   ? (e + 1) % 4
                                       : e < 8 ? 4 + (e + 1) % 4
                                               : e - 4;
        if ((p == a && q == b) || (p == b && q == a))
            return e;
    }
    return -1;
}

/* Edges of the triangles of one case, 255 behind the last; returns vertices. */
static inline int
mc_case(unsigned kind, uint8_t out[16])
{
    int next[12], n = 0;
    memset(next, -1, sizeof next);
    for (int f = 0; f < 6; f++)
        for (int k = 0; k < 4; k++) {
            /* A run of negative corners: the segment goes from the edge into it to the
             * one out of it. */
            int before = mc_face[f][(k + 3) % 4], here = mc_face[f][k];
            if (!(kind >> here & 1) || kind >> before & 1)
                continue;
            int last = k;
            while (kind >> mc_face[f][(last + 1) % 4] & 1)
                last++;
            next[mc_edge(before, here)] =
                mc_edge(mc_face[f][last % 4], mc_face[f][(last + 1) % 4]);
        }
    for (int e = 0; e < 12; e++) {
        int at = next[e], b, c;
        if (at < 0)
            continue;
        b = at;
        next[e] = -1;
        for (; b != e && (c = next[b]) >= 0; b = c) {
            next[b] = -1;
            if (c != e) {
                out[n++] = (uint8_t)e;
                out[n++] = (uint8_t)b;
                out[n++] = (uint8_t)c;
            }
        }
    }
    out[n] = 255;
    return n;
}

struct mc_point {
    double x[3], g[3], f;
};

static inline double
mc_value(bool benchmark, double x, double y, double z)
{
    if (benchmark) { /* less the value of the surface */
        x *= 3, y *= 3, z *= 3;
        return (x * x * (x * x - 5) + y * y * (y * y - 5) + z * z * (z * z - 5) + 11.8) *
                   0.2 +
               0.5 - (double)0.2f;
    }
    double u = x * x - (double)0.16f, v = y * y - (double)0.09f, w = z * z - 0.25;
    return u * v + v * w + w * u;
}

/* The gradient is by differences over 1/16, the benchmark's those over 1/1000. */
static inline struct mc_point
mc_field(bool benchmark, double x, double y, double z)
{
    double f = mc_value(benchmark, x, y, z), d = benchmark ? (double)0.001f : 0.0625,
           over = benchmark ? 1 : d;
    return (struct mc_point){{x, y, z},
                             {(mc_value(benchmark, x + d, y, z) - f) / over,
                              (mc_value(benchmark, x, y + d, z) - f) / over,
                              (mc_value(benchmark, x, y, z + d) - f) / over},
                             f};
}

static inline struct mc_point
mc_corner(bool benchmark, uint32_t cell, int size, float scale, int k)
{
    float x = (float)(cell % size) * scale - 1,
          y = (float)(cell / size % size) * scale - 1,
          z = (float)(cell / size / size) * scale - 1;
    return mc_field(benchmark, x + ((k ^ k >> 1) & 1 ? scale : 0),
                    y + (k & 2 ? scale : 0), z + (k & 4 ? scale : 0));
}

/* reserved: dynamic scratchpad of a block, which the kernel leaves alone; the kernel takes
 * the table of cases as a 1D texture of bytes. */
static inline bool
marching_cubes(struct allot_run *r, int threads, uint32_t reserved, bool benchmark)
{
    int full = benchmark ? 32 : 41, quick = benchmark ? 16 : 13;
    int size = (int)wl_param(r, "size", r->quick ? quick : full, 4, 512),
        most = (int)wl_param(r, "cells", 0, 0, 1 << 24), ncells = 0, vertices = 0,
        shift = __builtin_ctz((unsigned)size);
    if (benchmark && size != 1 << shift)
        return wl_fail(r, "size: give a power of two");
    float scale = 2.0f / (float)size;
    uint8_t table[256 * 16 + 256];
    uint32_t all = (uint32_t)size * size * size,
             room = most && (uint32_t)most < all ? (uint32_t)most : all,
             nfirst = benchmark ? all : room, *cells = malloc(4 * (size_t)room),
             *first = calloc(nfirst, 4);
    memset(table, 255, sizeof table);
    for (unsigned k = 0; k < 256; k++)
        table[256 * 16 + k] = (uint8_t)mc_case(k, &table[16 * k]);
    if (!cells || !first) {
        free(cells);
        free(first);
        return wl_fail(r, "out of memory");
    }
    /* The seed turns the order of cells. A cell whose case rounding might change, or in
     * which the field is so flat that a crossing is not well defined, is left out. */
    for (uint32_t i = 0; i < all && !(most && ncells == most); i++) {
        uint32_t cell = (i + r->seed * 7919) % all;
        struct mc_point c[8];
        unsigned kind = 0;
        bool clear = true;
        for (int k = 0; k < 8; k++) {
            c[k] = mc_corner(benchmark, cell, size, scale, k);
            kind |= (unsigned)(c[k].f < 0) << k;
            clear &= fabs(c[k].f) > 1e-5;
        }
        for (int e = 0; e < 12; e++) {
            int a = e < 8 ? e : e - 8, b = e < 4   ? (e + 1) % 4
                                           : e < 8 ? 4 + (e + 1) % 4
                                                   : e - 4;
            clear &= (c[a].f < 0) == (c[b].f < 0) || fabs(c[a].f - c[b].f) > 2e-3;
        }
        int n = 0;
        while (table[16 * kind + n] != 255)
            n++;
        if (!n || !clear)
            continue;
        first[benchmark ? cell : (uint32_t)ncells] = (uint32_t)vertices;
        cells[ncells++] = cell;
        vertices += n;
    }
    size_t n = (size_t)vertices * 4;
    float *got = malloc(4 * n), *want = calloc(n, 4), *want_n = calloc(n, 4);
    if (got && want && want_n) {
        uint64_t d_pos = wl_alloc(r, 4 * n), d_norm = wl_alloc(r, 4 * n),
                 d_cells = wl_upload(r, cells, 4 * (size_t)ncells),
                 d_first = wl_upload(r, first,
                                     4 * (size_t)(benchmark ? all : (uint32_t)ncells)),
                 d_table = wl_upload(r, table, sizeof table), table_arg = d_table;
        if (r->ok && wl_textures(r)) {
            struct allot_resource from = {.kind = ALLOT_RES_LINEAR,
                                          .addr = d_table,
                                          .bytes = sizeof table,
                                          .format = {ALLOT_UNSIGNED, 8, 1}};
            r->ok = (table_arg = allot_texture_new(r->dev, &from, NULL, r->diag)) != 0;
        }
        int blocks = (ncells + threads - 1) / threads;
        if (benchmark)
            wl_launch(r, "generateTriangles", blocks, 1, 1, threads, 1, 1, reserved,
                      &d_pos, &d_norm, &d_cells, &d_first, &table_arg, &shift, &scale,
                      &ncells, &vertices);
        else
            wl_launch(r, "generateTriangles", blocks, 1, 1, threads, 1, 1, reserved,
                      &d_pos, &d_norm, &d_cells, &d_first, &table_arg, &size, &scale,
                      &ncells);
        for (int i = 0; i < ncells; i++) {
            struct mc_point c[8];
            unsigned kind = 0;
            for (int k = 0; k < 8; k++) {
                c[k] = mc_corner(benchmark, cells[i], size, scale, k);
                kind |= (unsigned)(c[k].f < 0) << k;
            }
            for (int v = 0; table[16 * kind + v] != 255; v++) {
                int e = table[16 * kind + v], a = e < 8 ? e : e - 8;
                int b = e < 4 ? (e + 1) % 4 : e < 8 ? 4 + (e + 1) % 4 : e - 4;
                double t = -c[a].f / (c[b].f - c[a].f);
                size_t at = 4 * ((size_t)first[benchmark ? cells[i] : (uint32_t)i] + v);
                for (int k = 0; k < 3; k++) {
                    want[at + k] = (float)(c[a].x[k] + t * (c[b].x[k] - c[a].x[k]));
                    want_n[at + k] = (float)(c[a].g[k] + t * (c[b].g[k] - c[a].g[k]));
                }
                want[at + 3] = want_n[at + 3] = 1;
            }
        }
        /* f is right to about 2^-22; a crossing moves by that over the difference of f at
         * the edge's ends, at least 2e-3, times the edge's length (times the change of
         * the gradient along it, below 2). The benchmark's normals are differences of two
         * values of f over 1/1000, 3e-4 and more: right to 2^-20 (observed: half of it). */
        wl_read(r, d_pos, got, 4 * n);
        wl_check_f32(r, "positions", got, want, n, 0.0f, 5e-5f);
        wl_read(r, d_norm, got, 4 * n);
        wl_check_f32(r, "normals", got, want_n, n, 0.0f, benchmark ? 0x1p-20f : 1e-4f);
        if (r->ok && table_arg != d_table)
            r->ok = allot_object_free(r->dev, table_arg, r->diag);
        wl_free(r, d_pos);
        wl_free(r, d_norm);
        wl_free(r, d_cells);
        wl_free(r, d_first);
        wl_free(r, d_table);
    } else {
        wl_fail(r, "out of memory");
    }
    free(cells);
    free(first);
    free(got);
    free(want);
    free(want_n);
    return r->ok;
}
