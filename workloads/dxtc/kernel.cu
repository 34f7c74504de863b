/* DXT1 (BC1) compression: a block of threads for each 4 x 4 pixels, an exhaustive cluster
 * fit. Pixels are sorted along the best-fit line through their colours. The threads share the
 * ways to cut the sorted row into four clusters (colours a, (2a + b) / 3, (a + 2b) / 3, b),
 * and into three (a, (a + b) / 2, b). For each, the a and b with the least squared error
 * solve two linear equations; they are rounded to 5, 6, 5 bits, and the error is computed
 * anew. The thread with the least error stores the block: a, b, and 2 bits a pixel.
 *
 * In scratchpad: colours, their sums, places on the line and in the sorted row, the ways of
 * three clusters, and an error a thread. */
#ifndef THREADS
#define THREADS 144
#endif
#define PIXELS 16
#define FOURS 992  /* ways of four clusters, filled up */
#define THREES 160 /* ways of three clusters, behind those of four */

/* By 2-bit code: weight of a, in thirds; a's weight squared, b's, their product. */
__constant__ float weight4[4] = {3.0f, 0.0f, 2.0f, 1.0f};
__constant__ int products4[4] = {9 << 16, 9 << 8, 4 << 16 | 1 << 8 | 2,
                                 1 << 16 | 4 << 8 | 2};
/* In halves. Code 3 is not used: it stands for black. */
__constant__ float weight3[4] = {2.0f, 0.0f, 1.0f, 1.0f};
__constant__ int products3[4] = {4 << 16, 4 << 8, 1 << 16 | 1 << 8 | 1,
                                 1 << 16 | 1 << 8 | 1};

static __device__ __forceinline__ float
dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static __device__ __forceinline__ float3
plus(float3 a, float s, float3 b)
{
    return make_float3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

/* Nearest value of `levels` + 1 between 0 and 1; its number is added to `code`. */
static __device__ __forceinline__ float
rounded(float v, float levels, int bits, unsigned *code)
{
    float n = rintf(__saturatef(v) * levels);
    *code = *code << bits | (unsigned)n;
    return n * (1.0f / levels);
}

static __device__ __forceinline__ float3
rounded_565(float3 v, unsigned *code)
{
    *code = 0;
    float x = rounded(v.x, 31.0f, 5, code);
    float y = rounded(v.y, 63.0f, 6, code);
    return make_float3(x, y, rounded(v.z, 31.0f, 5, code));
}

/* Squared error of the best a and b for these codes, without the colours' own squares. */
static __device__ __forceinline__ float
fit(const float3 *colors, unsigned codes, float3 sum, const float *weight,
    const int *products, float whole, unsigned *start, unsigned *end)
{
    float3 ax = make_float3(0.0f, 0.0f, 0.0f);
    int akku = 0;
    asm volatile("" ::: "memory"); /* the colours stay in scratchpad between two ways */
#pragma unroll 2
    for (int i = 0; i < PIXELS; i++) {
        int code = codes >> 2 * i & 3;
        ax = plus(ax, weight[code], colors[i]);
        akku += products[code];
    }
    float aa = (float)(akku >> 16), bb = (float)(akku >> 8 & 255), ab = (float)(akku & 255);
    float3 bx = make_float3(whole * sum.x - ax.x, whole * sum.y - ax.y,
                            whole * sum.z - ax.z);
    float factor = whole / (aa * bb - ab * ab);
    float3 a = make_float3((ax.x * bb - bx.x * ab) * factor,
                           (ax.y * bb - bx.y * ab) * factor,
                           (ax.z * bb - bx.z * ab) * factor);
    float3 b = make_float3((bx.x * aa - ax.x * ab) * factor,
                           (bx.y * aa - ax.y * ab) * factor,
                           (bx.z * aa - ax.z * ab) * factor);
    a = rounded_565(a, start);
    b = rounded_565(b, end);
    float per = 1.0f / whole;
    return (dot(a, a) * aa + dot(b, b) * bb + 2.0f * dot(a, b) * ab) * per * per -
           2.0f * (dot(a, ax) + dot(b, bx)) * per;
}

/* Direction of the line with the least squared distances from the colours: the largest
 * eigenvector of their covariance, by powers. */
static __device__ __forceinline__ float3
best_line(const float3 *colors, float3 sum)
{
    float xx = 0.0f, xy = 0.0f, xz = 0.0f, yy = 0.0f, yz = 0.0f, zz = 0.0f;
#pragma unroll 4
    for (int i = 0; i < PIXELS; i++) {
        float3 d = plus(colors[i], -1.0f / PIXELS, sum);
        xx += d.x * d.x;
        xy += d.x * d.y;
        xz += d.x * d.z;
        yy += d.y * d.y;
        yz += d.y * d.z;
        zz += d.z * d.z;
    }
    float3 v = make_float3(1.0f, 1.0f, 1.0f);
    for (int i = 0; i < 8; i++) {
        float x = v.x * xx + v.y * xy + v.z * xz;
        float y = v.x * xy + v.y * yy + v.z * yz;
        float z = v.x * xz + v.y * yz + v.z * zz;
        float most = fmaxf(fmaxf(fabsf(x), fabsf(y)), fabsf(z));
        float s = most > 0.0f ? 1.0f / most : 0.0f;
        v = make_float3(x * s, y * s, z * s);
    }
    return v;
}

extern "C" __global__ void
compress(const unsigned *ways, const unsigned *image, uint2 *result, int first)
{
    __shared__ float3 colors[PIXELS], sums[PIXELS];
    __shared__ float errors[THREADS];
    __shared__ float places[PIXELS];
    __shared__ int order[PIXELS];
    __shared__ unsigned threes[THREES];
    int at = blockIdx.x + first, i = threadIdx.x;
    if (i < PIXELS) {
        unsigned c = image[at * PIXELS + i];
        colors[i] = make_float3((float)(c & 255) * (1.0f / 255.0f),
                                (float)(c >> 8 & 255) * (1.0f / 255.0f),
                                (float)(c >> 16 & 255) * (1.0f / 255.0f));
        sums[i] = colors[i];
    }
    for (int way = i; way < THREES; way += THREADS)
        threes[way] = ways[FOURS + way];
    __syncthreads();
    for (int d = PIXELS / 2; d; d /= 2) {
        if (i < d)
            sums[i] = plus(sums[i], 1.0f, sums[i + d]);
        __syncthreads();
    }
    float3 sum = sums[0];
    float place = 0.0f;
    if (i < PIXELS)
        places[i] = place = dot(colors[i], best_line(colors, sum));
    __syncthreads();
    if (i < PIXELS) { /* as many as lie before it */
        int rank = 0;
        for (int j = 0; j < PIXELS; j++)
            rank += places[j] < place || (places[j] == place && j < i);
        order[i] = rank;
    }
    __syncthreads();
    if (i < PIXELS)
        sums[order[i]] = colors[i];
    __syncthreads();

    unsigned best_start = 0, best_end = 0, best_codes = 0;
    float best = 3.402823466e38f;
#pragma unroll 1
    for (int k = 0; k < (FOURS + THREADS - 1) / THREADS; k++) {
        int way = i + THREADS * k;
        if (way >= FOURS)
            break;
        unsigned start, end, codes = ways[way];
        float error = fit(sums, codes, sum, weight4, products4, 3.0f, &start, &end);
        if (error < best) {
            best = error;
            best_codes = codes;
            best_start = start;
            best_end = end;
        }
    }
    if (best_start < best_end) { /* the larger first says: four colours */
        unsigned t = best_start;
        best_start = best_end;
        best_end = t;
        best_codes ^= 0x55555555u;
    }
#pragma unroll 1
    for (int k = 0; k < (THREES + THREADS - 1) / THREADS; k++) {
        int way = i + THREADS * k;
        if (way >= THREES)
            break;
        unsigned start, end, codes = threes[way];
        float error = fit(sums, codes, sum, weight3, products3, 2.0f, &start, &end);
        if (error < best) {
            best = error;
            best_codes = codes;
            best_start = start;
            best_end = end;
            if (start > end) {
                best_start = end;
                best_end = start;
                best_codes ^= ~best_codes >> 1 & 0x55555555u; /* not the middle */
            }
        }
    }
    if (best_start == best_end)
        best_codes = 0;
    unsigned codes = 0; /* of the pixels as they stand in the image */
#pragma unroll 4
    for (int j = 0; j < PIXELS; j++)
        codes |= (best_codes >> 2 * order[j] & 3) << 2 * j;
    errors[i] = best;
    __syncthreads();
    int winner = 0;
    for (int j = 1; j < THREADS; j++)
        if (errors[j] < errors[winner])
            winner = j;
    if (i == winner)
        result[at] = make_uint2(best_end << 16 | best_start, codes);
}
