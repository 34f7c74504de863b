/* 8x8 transforms of an image, a tile of WIDTH x HEIGHT pixels a block, in scratchpad of
 * stride WIDTH + 1. THREADS threads; a group of 8 threads has an 8x8 block: each thread
 * one row of it, then one column. Where there are fewer groups than 8x8 blocks, each has
 * several. */
#include "dct8.cuh"

#define STRIDE (WIDTH + 1)
#define GROUPS (WIDTH / 8 * (HEIGHT / 8))

extern "C" __global__ void
KERNEL(float *dst, const float *src, int pitch)
{
    __shared__ float tile[HEIGHT * STRIDE];
    int lane = threadIdx.x % 8, first = threadIdx.x / 8;
    int at = (blockIdx.y * HEIGHT) * pitch + blockIdx.x * WIDTH;

    for (int g = first; g < GROUPS; g += THREADS / 8) {
        int x = g % (WIDTH / 8) * 8, y = g / (WIDTH / 8) * 8;
        for (int i = 0; i < 8; i++)
            tile[(y + i) * STRIDE + x + lane] = src[at + (y + i) * pitch + x + lane];
    }
    __syncthreads();
    struct factors f = factors();
    for (int g = first; g < GROUPS; g += THREADS / 8) {
        int x = g % (WIDTH / 8) * 8, y = g / (WIDTH / 8) * 8;
        TRANSFORM(&tile[(y + lane) * STRIDE + x], 1, f);
    }
    __syncthreads();
    for (int g = first; g < GROUPS; g += THREADS / 8) {
        int x = g % (WIDTH / 8) * 8, y = g / (WIDTH / 8) * 8;
        TRANSFORM(&tile[y * STRIDE + x + lane], STRIDE, f);
        for (int i = 0; i < 8; i++)
            dst[at + (y + i) * pitch + x + lane] = tile[(y + i) * STRIDE + x + lane];
    }
}
