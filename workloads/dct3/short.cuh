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

/* Products have factors of at most 24 bits, sums of numbers and coefficients: mul24, which
 * was the fast product of the GPUs this kernel was written for. */
static __device__ __forceinline__ int
by(int a, int k)
{
    int p;
    asm("mul24.lo.s32 %0, %1, %2;" : "=r"(p) : "r"(a), "r"(k));
    return p;
}

static __device__ __forceinline__ void
dct8(int *x, int shift)
{
    int s0 = x[0] + x[7], d0 = x[0] - x[7], s1 = x[1] + x[6], d1 = x[1] - x[6];
    int s2 = x[2] + x[5], d2 = x[2] - x[5], s3 = x[3] + x[4], d3 = x[3] - x[4];
    x[0] = scaled(by(s0 + s1 + s2 + s3, K4), shift);
    x[4] = scaled(by(s0 - s1 - s2 + s3, K4), shift);
    x[2] = scaled(by(s0 - s3, K2) + by(s1 - s2, K6), shift);
    x[6] = scaled(by(s0 - s3, K6) - by(s1 - s2, K2), shift);
    x[1] = scaled(by(d0, K1) + by(d1, K3) + by(d2, K5) + by(d3, K7), shift);
    x[3] = scaled(by(d0, K3) - by(d1, K7) - by(d2, K1) - by(d3, K5), shift);
    x[5] = scaled(by(d0, K5) - by(d1, K1) + by(d2, K7) + by(d3, K3), shift);
    x[7] = scaled(by(d0, K7) - by(d1, K5) + by(d2, K3) - by(d3, K1), shift);
}

static __device__ __forceinline__ void
idct8(int *x, int shift)
{
    int a0 = by(x[0] + x[4], K4), a1 = by(x[0] - x[4], K4);
    int b0 = by(x[2], K2) + by(x[6], K6), b1 = by(x[2], K6) - by(x[6], K2);
    int y1 = x[1], y3 = x[3], y5 = x[5], y7 = x[7];
    int o0 = by(y1, K1) + by(y3, K3) + by(y5, K5) + by(y7, K7);
    int o1 = by(y1, K3) - by(y3, K7) - by(y5, K1) - by(y7, K5);
    int o2 = by(y1, K5) - by(y3, K1) + by(y5, K7) + by(y7, K3);
    int o3 = by(y1, K7) - by(y3, K5) + by(y5, K3) - by(y7, K1);
    x[0] = scaled(a0 + b0 + o0, shift);
    x[7] = scaled(a0 + b0 - o0, shift);
    x[1] = scaled(a1 + b1 + o1, shift);
    x[6] = scaled(a1 + b1 - o1, shift);
    x[2] = scaled(a1 - b1 + o2, shift);
    x[5] = scaled(a1 - b1 - o2, shift);
    x[3] = scaled(a0 - b0 + o3, shift);
    x[4] = scaled(a0 - b0 - o3, shift);
}

/* A row, two numbers a word. */
static __device__ __forceinline__ void
transform_row(int *word, int shift)
{
    int x[8];
    for (int i = 0; i < 4; i++) {
        x[2 * i] = word[i] << 16 >> 16;
        x[2 * i + 1] = word[i] >> 16;
    }
    TRANSFORM(x, shift);
    for (int i = 0; i < 4; i++)
        word[i] = (x[2 * i] & 0xffff) | x[2 * i + 1] << 16;
}

static __device__ __forceinline__ void
transform_column(short *first, int shift)
{
    int x[8];
    for (int i = 0; i < 8; i++)
        x[i] = first[i * STRIDE];
    TRANSFORM(x, shift);
    for (int i = 0; i < 8; i++)
        first[i * STRIDE] = (short)x[i];
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
    transform_row((int *)&tile[(y + lane) * STRIDE + x], FIRST_SHIFT);
    __syncthreads();
    transform_column(&tile[y * STRIDE + x + lane], SECOND_SHIFT);
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
