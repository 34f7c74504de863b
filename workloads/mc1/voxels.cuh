/* Triangles of the surface where a field has the value ISO, voxel by voxel, with the
 * benchmark's field, steps and tables: CUDA SDK marchingCubes, generateTriangles. A thread
 * has one voxel that the surface crosses: it evaluates the field at the 8 corners and at three
 * points beside each, for the gradient by differences, finds the crossing on each of the
 * 12 edges (positions and normals go to scratchpad, a column a thread), and writes the
 * vertices of the voxel's case from a table. */
#include "cells.cuh"

#define ISO 0.2f
#define STEP 0.001f

static __device__ __forceinline__ float
field(float x, float y, float z)
{
    x *= 3.0f;
    y *= 3.0f;
    z *= 3.0f;
    return (x * x * x * x - 5.0f * x * x + y * y * y * y - 5.0f * y * y + z * z * z * z -
            5.0f * z * z + 11.8f) *
               0.2f +
           0.5f;
}

/* Differences over STEP, which scale the gradient, and the value. */
static __device__ __forceinline__ float4
sample(float x, float y, float z)
{
    float f = field(x, y, z);
    return make_float4(field(x + STEP, y, z) - f, field(x, y + STEP, z) - f,
                       field(x, y, z + STEP) - f, f);
}

/* active: the voxels, nactive; first: each voxel's first vertex; table: edges of the cases, 16 a
 * case, and behind them how many each case has; the grid has 2^shift voxels a side. */
extern "C" __global__ void
generateTriangles(float4 *position, float4 *normal, const unsigned *active,
                  const unsigned *first, unsigned long long table, unsigned shift,
                  float scale, unsigned nactive, unsigned most)
{
    __shared__ float3 vertlist[12 * THREADS];
    __shared__ float3 normlist[12 * THREADS];
    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    if (i > nactive - 1)
        i = nactive - 1;

    unsigned voxel = active[i], mask = (1u << shift) - 1;
    float x0 = -1.0f + (float)(voxel & mask) * scale,
          y0 = -1.0f + (float)(voxel >> shift & mask) * scale,
          z0 = -1.0f + (float)(voxel >> 2 * shift & mask) * scale;
    float4 f[8];
    float3 corner[8];
    unsigned kind = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        corner[k] = corner_at(x0, y0, z0, scale, k);
        f[k] = sample(corner[k].x, corner[k].y, corner[k].z);
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
        kind += (unsigned)(f[k].w < ISO) << k;
#pragma unroll
    for (int e = 0; e < 12; e++) {
        int a = edge_from(e), b = edge_to(e);
        float t = (ISO - f[a].w) / (f[b].w - f[a].w);
        vertlist[e * THREADS + threadIdx.x] = between(t, corner[a], corner[b]);
        normlist[e * THREADS + threadIdx.x] = between(t, gradient(f[a]), gradient(f[b]));
    }
    __syncthreads();
    unsigned n = table_at(table, 16 * 256 + kind);
    for (unsigned v = 0; v < n; v++) {
        unsigned e = table_at(table, kind * 16 + v), at = first[voxel] + v;
        if (at >= most)
            continue;
        float3 p = vertlist[e * THREADS + threadIdx.x],
               q = normlist[e * THREADS + threadIdx.x];
        position[at] = make_float4(p.x, p.y, p.z, 1.0f);
        normal[at] = make_float4(q.x, q.y, q.z, 1.0f);
    }
}
