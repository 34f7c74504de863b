/* Sum of numbers: each thread adds up every (grid's threads)-th one, the block adds its
 * threads' sums as a tree in scratchpad and writes one number. */
#define THREADS 128

extern "C" __global__ void
reduce(float *out, const float *in, int n)
{
    __shared__ float sums[THREADS];
    int t = threadIdx.x;
    float sum = 0.0f;

    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
        sum += in[i];
    sums[t] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            sums[t] += sums[t + half];
    }
    if (t == 0)
        out[blockIdx.x] = sums[0];
}
