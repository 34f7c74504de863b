/* What the kernels of marching cubes have in common: the table of cases, corners and edges of
 * a cell, and what is kept of a crossing. */

/* Entry i of the table, a 1D texture of bytes as in the benchmark. */
static __device__ __forceinline__ unsigned
table_at(unsigned long long table, unsigned i)
{
    int4 v;
    asm("tex.1d.v4.s32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(table), "r"(i));
    return (unsigned)v.x;
}

/* Corners round the lower face, then round the upper one. */
static __device__ __forceinline__ float3
corner_at(float x0, float y0, float z0, float scale, int k)
{
    return make_float3(x0 + ((k ^ k >> 1) & 1 ? scale : 0.0f),
                       y0 + (k & 2 ? scale : 0.0f), z0 + (k & 4 ? scale : 0.0f));
}

/* Corners that edge e joins: edges of the lower face, of the upper one, between them. */
static __device__ __forceinline__ int
edge_from(int e)
{
    return e < 8 ? e : e - 8;
}

static __device__ __forceinline__ int
edge_to(int e)
{
    return e < 4 ? (e + 1) % 4 : e < 8 ? 4 + (e + 1) % 4 : e - 4;
}

/* The part t of the way from p to q. */
static __device__ __forceinline__ float3
between(float t, float3 p, float3 q)
{
    return make_float3(p.x + t * (q.x - p.x), p.y + t * (q.y - p.y),
                       p.z + t * (q.z - p.z));
}

static __device__ __forceinline__ float3
gradient(float4 f)
{
    return make_float3(f.x, f.y, f.z);
}
