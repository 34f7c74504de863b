/* Histogram of bytes: each warp counts in a histogram of its own in scratchpad; the block adds
 * its warps' up and writes a partial histogram. BINS counters a warp, of which bytes use the
 * first 256.
 *
 * No atomics: lanes of a warp that count in the same bin at once are told apart by a tag, the
 * number of the lane, in the top bits of the counter. A lane writes the counter with its own
 * tag, reads it back, and tries again if another lane's write has won. */
#define WARPS 6
#define THREADS (WARPS * 32)
#define BINS 384
#define COUNT_BITS 27
#define COUNT_MASK ((1u << COUNT_BITS) - 1)

static __device__ __forceinline__ void
count(volatile unsigned *bin, unsigned tag)
{
    unsigned mine;
    do {
        mine = tag | ((*bin & COUNT_MASK) + 1);
        *bin = mine;
    } while (*bin != mine);
}

extern "C" __global__ void
histogram256Kernel(unsigned *partial, const unsigned *data, int words)
{
    __shared__ unsigned hist[WARPS * BINS];
    volatile unsigned *own = hist + threadIdx.x / 32 * BINS;
    unsigned tag = threadIdx.x << COUNT_BITS;

    for (int i = threadIdx.x; i < WARPS * BINS; i += THREADS)
        hist[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < words;
         i += gridDim.x * THREADS) {
        unsigned w = data[i];
        count(own + (w & 255), tag);
        count(own + (w >> 8 & 255), tag);
        count(own + (w >> 16 & 255), tag);
        count(own + (w >> 24), tag);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += THREADS) {
        unsigned sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += hist[bin + w * BINS] & COUNT_MASK;
        partial[blockIdx.x * BINS + bin] = sum;
    }
}
