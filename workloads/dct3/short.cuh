/* 8x8 cosine transforms in whole numbers: 16-bit data, coefficients of 13 bits behind the
 * point, sums of 32 bits, one rounding a pass. A block of 128 threads has 32 x 32 numbers
 * in scratchpad of stride 34; a group of 8 threads has an 8x8 block. */
#define SIZE 32
#define STRIDE 34
#define K1 4017 /* cos(k pi / 16) / 2 * 2^13 */
#define K2 3784
#define K3 3406
#define K4 2896
#define K5 2276
#define K6 1567
#define K7 799

static __device__ __forceinline__ short
scaled(int sum, int shift)
{
    return (short)((sum + (1 << (shift - 1))) >> shift);
}

static __device__ __forceinline__ void
dct8(short *x, int step, int shift)
{
    int s0 = x[0] + x[7 * step], d0 = x[0] - x[7 * step];
    int s1 = x[step] + x[6 * step], d1 = x[step] - x[6 * step];
    int s2 = x[2 * step] + x[5 * step], d2 = x[2 * step] - x[5 * step];
    int s3 = x[3 * step] + x[4 * step], d3 = x[3 * step] - x[4 * step];
    x[0] = scaled(K4 * (s0 + s1 + s2 + s3), shift);
    x[4 * step] = scaled(K4 * (s0 - s1 - s2 + s3), shift);
    x[2 * step] = scaled(K2 * (s0 - s3) + K6 * (s1 - s2), shift);
    x[6 * step] = scaled(K6 * (s0 - s3) - K2 * (s1 - s2), shift);
    x[step] = scaled(K1 * d0 + K3 * d1 + K5 * d2 + K7 * d3, shift);
    x[3 * step] = scaled(K3 * d0 - K7 * d1 - K1 * d2 - K5 * d3, shift);
    x[5 * step] = scaled(K5 * d0 - K1 * d1 + K7 * d2 + K3 * d3, shift);
    x[7 * step] = scaled(K7 * d0 - K5 * d1 + K3 * d2 - K1 * d3, shift);
}

static __device__ __forceinline__ void
idct8(short *x, int step, int shift)
{
    int a0 = K4 * (x[0] + x[4 * step]), a1 = K4 * (x[0] - x[4 * step]);
    int b0 = K2 * x[2 * step] + K6 * x[6 * step],
        b1 = K6 * x[2 * step] - K2 * x[6 * step];
    int y1 = x[step], y3 = x[3 * step], y5 = x[5 * step], y7 = x[7 * step];
    int o0 = K1 * y1 + K3 * y3 + K5 * y5 + K7 * y7;
    int o1 = K3 * y1 - K7 * y3 - K1 * y5 - K5 * y7;
    int o2 = K5 * y1 - K1 * y3 + K7 * y5 + K3 * y7;
    int o3 = K7 * y1 - K5 * y3 + K3 * y5 - K1 * y7;
    x[0] = scaled(a0 + b0 + o0, shift);
    x[7 * step] = scaled(a0 + b0 - o0, shift);
    x[step] = scaled(a1 + b1 + o1, shift);
    x[6 * step] = scaled(a1 + b1 - o1, shift);
    x[2 * step] = scaled(a1 - b1 + o2, shift);
    x[5 * step] = scaled(a1 - b1 - o2, shift);
    x[3 * step] = scaled(a0 - b0 + o3, shift);
    x[4 * step] = scaled(a0 - b0 - o3, shift);
}

/* Two numbers at a time from and to memory, while the image's pitch is even. Threads at
 * the right of an odd pitch have single ones: their path is another. */
extern "C" __global__ void
KERNEL(short *data, int pitch)
{
    __shared__ __align__(4) short tile[SIZE * STRIDE];
    int lane = threadIdx.x % 8, group = threadIdx.x / 8;
    int x = group % 4 * 8, y = group / 4 * 8;
    short *own = data + (blockIdx.y * SIZE + y) * pitch + blockIdx.x * SIZE + x;

    if (pitch & 1) {
        for (int i = 0; i < 8; i++)
            tile[(y + i) * STRIDE + x + lane] = own[i * pitch + lane];
    } else if (lane < 4) {
        for (int i = 0; i < 8; i++)
            *(int *)&tile[(y + i) * STRIDE + x + 2 * lane] =
                *(const int *)&own[i * pitch + 2 * lane];
    }
    __syncthreads();
    TRANSFORM(&tile[(y + lane) * STRIDE + x], 1, FIRST_SHIFT);
    __syncthreads();
    TRANSFORM(&tile[y * STRIDE + x + lane], STRIDE, SECOND_SHIFT);
    __syncthreads();
    if (lane < 4 && !(pitch & 1)) {
        for (int i = 0; i < 8; i++)
            *(int *)&own[i * pitch + 2 * lane] =
                *(const int *)&tile[(y + i) * STRIDE + x + 2 * lane];
    } else if (pitch & 1) {
        for (int i = 0; i < 8; i++)
            own[i * pitch + lane] = tile[(y + i) * STRIDE + x + lane];
    }
}
