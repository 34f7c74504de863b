/* Histogram of bytes: each warp counts in a histogram of its own in scratchpad, with
 * atomic additions; the block adds its warps' up and writes a partial histogram. BINS
 * counters a warp, of which bytes use the first 256. */
#define WARPS 6
#define THREADS (WARPS * 32)
#define BINS 384

extern "C" __global__ void
histogram256Kernel(unsigned *partial, const unsigned *data, int words)
{
    __shared__ unsigned hist[WARPS * BINS];
    unsigned *own = hist + threadIdx.x / 32 * BINS;

    for (int i = threadIdx.x; i < WARPS * BINS; i += THREADS)
        hist[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < words;
         i += gridDim.x * THREADS) {
        unsigned w = data[i];
        atomicAdd(own + (w & 255), 1u);
        atomicAdd(own + (w >> 8 & 255), 1u);
        atomicAdd(own + (w >> 16 & 255), 1u);
        atomicAdd(own + (w >> 24), 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
        unsigned sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += hist[bin + w * BINS];
        partial[blockIdx.x * BINS + bin] = sum;
    }
}
