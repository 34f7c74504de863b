/* Fluid dynamics on an unstructured mesh, a thread a node: along each edge (i, j), i < j, which
 * stands with i, four variables flow: pressure and three velocities of an artificially
 * compressible fluid. Then each node moves by its flows over its volume. */

/* Sums are of integers, in units of 2^-22: the same in any order of additions. */
#define FIXED(v) __float2int_rn((v) * 4194304.0f)
#define VALUE(n) ((float)(n) * (1.0f / 4194304.0f))

/* Thread t has item[t], whose list is that from first[t] on. */
extern "C" __global__ void
unstructured_edges(const unsigned *item, const unsigned *first, const unsigned *to,
                   const float *v, int *sum, float weight, unsigned nodes)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nodes)
        return;
    unsigned i = item[t];
    float a[4];
    int s[4];
    for (int c = 0; c < 4; c++) {
        a[c] = v[c * nodes + i];
        s[c] = 0;
    }
    unsigned end = first[t + 1];
    for (unsigned e = first[t]; e < end; e++) {
        unsigned j = to[e];
        float b[4];
        for (int c = 0; c < 4; c++)
            b[c] = v[c * nodes + j];
        float speed = 0.5f * (a[1] + b[1] + a[2] + b[2] + a[3] + b[3]);
        int f[4];
        f[0] = FIXED(weight * (speed + (b[0] - a[0])));
        for (int c = 1; c < 4; c++)
            f[c] = FIXED(weight * (0.5f * speed * (a[c] + b[c]) + 0.5f * (a[0] + b[0]) +
                                   (b[c] - a[c])));
        for (int c = 0; c < 4; c++) {
            s[c] += f[c];
            atomicAdd(&sum[c * nodes + j], -f[c]);
        }
    }
    for (int c = 0; c < 4; c++)
        atomicAdd(&sum[c * nodes + i], s[c]);
}

extern "C" __global__ void
unstructured_nodes(float *v, const float *volume, int *sum, float step, unsigned nodes)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes)
        return;
    float scale = step / volume[i];
    for (unsigned c = 0; c < 4; c++, i += nodes) {
        v[i] += scale * VALUE(sum[i]);
        sum[i] = 0;
    }
}
