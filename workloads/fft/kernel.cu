/* Fourier transform of 1024 complex points, a transform a block: five passes of radix 4
 * (1024 = 4^5) in Stockham's order, which needs no bit reversal. 64 threads have 16 points
 * each: four butterflies a pass. Between passes the points go through scratchpad, 17 places
 * for 16 points, since a pass writes with a stride of 4 to 256.
 *
 * Butterfly j of the pass with blocks of n points takes points j + 256 r, turns them by
 * -r (j mod n) / (4 n) of a circle and puts them to (j - j mod n) 4 + j mod n + r n. */
#define POINTS 1024
#define THREADS 64
#define PER_THREAD (POINTS / THREADS / 4) /* butterflies */
#define PLACE(i) ((i) + (i) / 16)

static __device__ __forceinline__ float2
add(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

static __device__ __forceinline__ float2
sub(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

/* a turned by -turns of a circle. */
static __device__ __forceinline__ float2
turn(float2 a, float turns)
{
    float c = __cosf(turns * 6.283185307f), s = __sinf(turns * -6.283185307f);
    return make_float2(a.x * c - a.y * s, a.x * s + a.y * c);
}

static __device__ __forceinline__ void
fft4(float2 v[4], int n, int k)
{
    if (n > 1) {
#pragma unroll
        for (int r = 1; r < 4; r++)
            v[r] = turn(v[r], (float)(r * k) / (float)(4 * n));
    }
    float2 a = add(v[0], v[2]), b = sub(v[0], v[2]), c = add(v[1], v[3]),
           d = sub(v[1], v[3]);
    v[0] = add(a, c);
    v[1] = make_float2(b.x + d.y, b.y - d.x);
    v[2] = sub(a, c);
    v[3] = make_float2(b.x - d.y, b.y + d.x);
}

extern "C" __global__ void
fft(float2 *out, const float2 *in)
{
    __shared__ float2 point[PLACE(POINTS)];
    float2 v[PER_THREAD][4];
    int t = threadIdx.x;
    in += (size_t)blockIdx.x * POINTS;
    out += (size_t)blockIdx.x * POINTS;

#pragma unroll
    for (int q = 0; q < PER_THREAD; q++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            v[q][r] = in[t + q * THREADS + r * (POINTS / 4)];
#pragma unroll
    for (int n = 1; n < POINTS; n *= 4) {
        if (n > 1) {
#pragma unroll
            for (int q = 0; q < PER_THREAD; q++)
#pragma unroll
                for (int r = 0; r < 4; r++)
                    v[q][r] = point[PLACE(t + q * THREADS + r * (POINTS / 4))];
            __syncthreads(); /* before the pass overwrites the points */
        }
#pragma unroll
        for (int q = 0; q < PER_THREAD; q++)
            fft4(v[q], n, (t + q * THREADS) % n);
        if (n == POINTS / 4)
            break;
#pragma unroll
        for (int q = 0; q < PER_THREAD; q++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                int j = t + q * THREADS;
                point[PLACE((j - j % n) * 4 + j % n + r * n)] = v[q][r];
            }
        __syncthreads();
    }
    /* After the last pass a butterfly's results lie a quarter apart. */
#pragma unroll
    for (int q = 0; q < PER_THREAD; q++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            out[t + q * THREADS + r * (POINTS / 4)] = v[q][r];
}
