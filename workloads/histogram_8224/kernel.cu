/* Histogram of characters of 7 bits. Each thread counts in counters of its own, a byte each:
 * PER_THREAD words of four characters cannot overflow them. Counters of a bin lie side by
 * side, so that the block adds them up four at a time; it writes a partial histogram. */
#define THREADS 64
#define BINS 128
#define PER_THREAD 63

extern "C" __global__ void
histogram(unsigned *partial, const unsigned *data)
{
    __shared__ unsigned counters[BINS * THREADS / 4];
    unsigned char *own = (unsigned char *)counters + threadIdx.x;
    int t = threadIdx.x;

    for (int i = t; i < BINS * THREADS / 4; i += THREADS)
        counters[i] = 0;
    __syncthreads();
    data += blockIdx.x * THREADS * PER_THREAD;
    for (int i = 0; i < PER_THREAD; i++) {
        unsigned w = data[i * THREADS + t];
        own[(w & 127) * THREADS]++;
        own[(w >> 8 & 127) * THREADS]++;
        own[(w >> 16 & 127) * THREADS]++;
        own[(w >> 24 & 127) * THREADS]++;
    }
    __syncthreads();
    for (int bin = t; bin < BINS; bin += THREADS) {
        unsigned sum = 0;
        for (int k = 0; k < THREADS / 4; k++) {
            /* Threads begin at different words: no bank conflicts. */
            unsigned w = counters[bin * (THREADS / 4) + (k + t) % (THREADS / 4)];
            sum += (w & 255) + (w >> 8 & 255) + (w >> 16 & 255) + (w >> 24);
        }
        partial[blockIdx.x * BINS + bin] = sum;
    }
}
