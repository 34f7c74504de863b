/* Convolution of an image's columns with a kernel of radius 8. A block of 16 x 8 threads
 * has 16 columns of STEPS x 8 pixels, and 8 more above and below, in scratchpad: one column
 * after the other, padded by a number, so that neither direction has bank conflicts. */
#define RADIUS 8
#define X 16
#define Y 8
#ifndef STEPS
#define STEPS 8
#endif
#define HALO 1

__constant__ float weight[2 * RADIUS + 1];

extern "C" __global__ void
convolutionColumnsKernel(float *dst, const float *src, int height, int pitch)
{
    __shared__ float column[X][(STEPS + 2 * HALO) * Y + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * X + tx, y0 = (blockIdx.y * STEPS - HALO) * Y + ty;
    const float *in = src + y0 * pitch + x;
    float *out = dst + y0 * pitch + x;

#pragma unroll
    for (int i = HALO; i < HALO + STEPS; i++)
        column[tx][i * Y + ty] = in[i * Y * pitch];
#pragma unroll
    for (int i = 0; i < HALO; i++)
        column[tx][i * Y + ty] = y0 >= -i * Y ? in[i * Y * pitch] : 0.0f;
#pragma unroll
    for (int i = HALO + STEPS; i < 2 * HALO + STEPS; i++)
        column[tx][i * Y + ty] = height - y0 > i * Y ? in[i * Y * pitch] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = HALO; i < HALO + STEPS; i++) {
        float sum = 0.0f;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; j++)
            sum += weight[RADIUS - j] * column[tx][i * Y + ty + j];
        out[i * Y * pitch] = sum;
    }
}
