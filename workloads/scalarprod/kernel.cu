/* Scalar products of pairs of vectors: a block takes one pair after the other. SUMS partial
 * sums, each of every SUMS-th product, go to scratchpad and are added up as a tree. */
#define SUMS 1024

extern "C" __global__ void
scalarProdGPU(float *c, const float *a, const float *b, int vectors, int elements)
{
    __shared__ float sums[SUMS];
    for (int v = blockIdx.x; v < vectors; v += gridDim.x) {
        const float *x = a + (size_t)v * elements, *y = b + (size_t)v * elements;
        for (int k = threadIdx.x; k < SUMS; k += blockDim.x) {
            float sum = 0.0f;
            for (int i = k; i < elements; i += SUMS)
                sum += x[i] * y[i];
            sums[k] = sum;
        }
        for (int half = SUMS / 2; half > 0; half /= 2) {
            __syncthreads();
            for (int k = threadIdx.x; k < half; k += blockDim.x)
                sums[k] += sums[k + half];
        }
        __syncthreads();
        if (threadIdx.x == 0)
            c[v] = sums[0];
        __syncthreads(); /* before the next pair overwrites the sum */
    }
}
