/* Iterative solution of a diffusion equation on an unstructured mesh, a thread a node: along each
 * edge (i, j), i < j, which stands with i, flows what the ends differ by. */
extern "C" __global__ void
irreg_edges(const unsigned *first, const unsigned *to, const float *x, float *y,
            float weight, unsigned nodes)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes)
        return;
    float here = x[i], sum = 0;
    unsigned end = first[i + 1];
    for (unsigned e = first[i]; e < end; e++) {
        unsigned j = to[e];
        float flow = weight * (x[j] - here);
        sum += flow;
        atomicAdd(&y[j], -flow);
    }
    atomicAdd(&y[i], sum);
}

extern "C" __global__ void
irreg_nodes(float *x, const float *none, float *y, float step, unsigned nodes)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    (void)none;
    if (i >= nodes)
        return;
    x[i] += step * y[i];
    y[i] = 0;
}
