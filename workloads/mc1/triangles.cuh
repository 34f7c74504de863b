/* Triangles of the surface where a field has the value 0, cell by cell. A thread has one
 * cell that the surface crosses: it evaluates the field at the 8 corners and at three
 * points beside each, for the gradient by differences, finds the crossing on each of the
 * 12 edges (positions and normals go to scratchpad, a column a thread), and writes the
 * triangles of the cell's case from a table.
 *
 * The field is a formula here, as in the benchmark's variant that computes it: a sum of
 * products of linear terms, so that host and device agree to rounding. */
#include "cells.cuh"

#ifndef THREADS
#define THREADS 32
#endif

static __device__ __forceinline__ float
field(float x, float y, float z)
{
    float u = x * x - 0.16f, v = y * y - 0.09f, w = z * z - 0.25f;
    return u * v + v * w + w * u;
}

/* Differences over STEP for the gradient, and the value. */
#define STEP 0.0625f

static __device__ __forceinline__ float4
sample(float x, float y, float z)
{
    float f = field(x, y, z);
    return make_float4((field(x + STEP, y, z) - f) * (1.0f / STEP),
                       (field(x, y + STEP, z) - f) * (1.0f / STEP),
                       (field(x, y, z + STEP) - f) * (1.0f / STEP), f);
}

/* cells: their numbers; first: each cell's first vertex; table: 16 edges a case, ended by 255. */
extern "C" __global__ void
generateTriangles(float4 *position, float4 *normal, const unsigned *cells,
                  const unsigned *first, unsigned long long table, int size, float scale,
                  int ncells)
{
    __shared__ float3 vertlist[12 * THREADS];
    __shared__ float3 normlist[12 * THREADS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= ncells)
        i = ncells - 1;

    unsigned cell = cells[i];
    float x0 = (float)(cell % size) * scale - 1.0f,
          y0 = (float)(cell / size % size) * scale - 1.0f,
          z0 = (float)(cell / size / size) * scale - 1.0f;
    float4 f[8];
    float3 corner[8];
    unsigned kind = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        corner[k] = corner_at(x0, y0, z0, scale, k);
        f[k] = sample(corner[k].x, corner[k].y, corner[k].z);
        kind |= (f[k].w < 0.0f ? 1u : 0u) << k;
    }
#pragma unroll
    for (int e = 0; e < 12; e++) {
        int a = edge_from(e), b = edge_to(e);
        float t = -f[a].w / (f[b].w - f[a].w);
        vertlist[e * THREADS + threadIdx.x] = between(t, corner[a], corner[b]);
        normlist[e * THREADS + threadIdx.x] = between(t, gradient(f[a]), gradient(f[b]));
    }
    __syncthreads();
    for (int v = 0; v < 15; v++) {
        unsigned e = table_at(table, kind * 16 + v);
        if (e == 255)
            break;
        float3 p = vertlist[e * THREADS + threadIdx.x],
               n = normlist[e * THREADS + threadIdx.x];
        position[first[i] + v] = make_float4(p.x, p.y, p.z, 1.0f);
        normal[first[i] + v] = make_float4(n.x, n.y, n.z, 1.0f);
    }
}
