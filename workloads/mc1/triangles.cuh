/* Triangles of the surface where a field has the value 0, cell by cell. A thread has one
 * cell that the surface crosses: it evaluates the field at the 8 corners and at three
 * points beside each, for the gradient by differences, finds the crossing on each of the
 * 12 edges (positions and normals go to scratchpad, a column a thread), and writes the
 * triangles of the cell's case from a table.
 *
 * The field is a formula here, as in the benchmark's variant that computes it: a sum of
 * products of linear terms, so that host and device agree to rounding. */
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

/* The table of cases, a 1D texture as in the benchmark: 16 edges a case, ended by 255. */
typedef unsigned long long case_table;

static __device__ __forceinline__ unsigned
table_edge(case_table table, unsigned i)
{
    int4 v;
    asm("tex.1d.v4.s32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(table), "r"(i));
    return (unsigned)v.x;
}

/* cells: their numbers; first: each cell's first vertex. */
extern "C" __global__ void
generateTriangles(float4 *position, float4 *normal, const unsigned *cells,
                  const unsigned *first, case_table table, int size, float scale,
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
        /* Corners round the lower face, then round the upper one. */
        corner[k] = make_float3(x0 + ((k ^ k >> 1) & 1 ? scale : 0.0f),
                                y0 + (k & 2 ? scale : 0.0f), z0 + (k & 4 ? scale : 0.0f));
        f[k] = sample(corner[k].x, corner[k].y, corner[k].z);
        kind |= (f[k].w < 0.0f ? 1u : 0u) << k;
    }
#pragma unroll
    for (int e = 0; e < 12; e++) {
        /* Edges of the lower face, of the upper one, between them. */
        int a = e < 8 ? e : e - 8, b = e < 4   ? (e + 1) % 4
                                       : e < 8 ? 4 + (e + 1) % 4
                                               : e - 4;
        float t = -f[a].w / (f[b].w - f[a].w);
        vertlist[e * THREADS + threadIdx.x] =
            make_float3(corner[a].x + t * (corner[b].x - corner[a].x),
                        corner[a].y + t * (corner[b].y - corner[a].y),
                        corner[a].z + t * (corner[b].z - corner[a].z));
        normlist[e * THREADS + threadIdx.x] =
            make_float3(f[a].x + t * (f[b].x - f[a].x), f[a].y + t * (f[b].y - f[a].y),
                        f[a].z + t * (f[b].z - f[a].z));
    }
    __syncthreads();
    for (int v = 0; v < 15; v++) {
        unsigned e = table_edge(table, kind * 16 + v);
        if (e == 255)
            break;
        float3 p = vertlist[e * THREADS + threadIdx.x],
               n = normlist[e * THREADS + threadIdx.x];
        position[first[i] + v] = make_float4(p.x, p.y, p.z, 1.0f);
        normal[first[i] + v] = make_float4(n.x, n.y, n.z, 1.0f);
    }
}
