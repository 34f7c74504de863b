/* Iterative solution of a diffusion equation on an unstructured mesh, a thread a node: along each
 * edge (i, j), i < j, which stands with i, flows what the ends differ by. */

/* Sums are of integers, in units of 2^-22: the same in any order of additions. */
#define FIXED(v) __float2int_rn((v) * 4194304.0f)
#define VALUE(n) ((float)(n) * (1.0f / 4194304.0f))

/* Thread t has item[t], whose list is that from first[t] on. */
extern "C" __global__ void
irreg_edges(const unsigned *item, const unsigned *first, const unsigned *to,
            const float *x, int *y, float weight, unsigned nodes)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nodes)
        return;
    unsigned i = item[t];
    float here = x[i];
    int sum = 0;
    unsigned end = first[t + 1];
    for (unsigned e = first[t]; e < end; e++) {
        unsigned j = to[e];
        int flow = FIXED(weight * (x[j] - here));
        sum += flow;
        atomicAdd(&y[j], -flow);
    }
    atomicAdd(&y[i], sum);
}

extern "C" __global__ void
irreg_nodes(float *x, const float *none, int *y, float step, unsigned nodes)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    (void)none;
    if (i >= nodes)
        return;
    x[i] += step * VALUE(y[i]);
    y[i] = 0;
}
