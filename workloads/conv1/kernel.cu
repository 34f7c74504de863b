/* Convolution of an image's rows with a symmetric or other kernel of radius 8. A block of
 * 16 x 4 threads has 4 rows of 8 x 16 pixels, and 16 more on either side, in scratchpad.
 */
#define RADIUS 8
#define X 16
#define Y 4
#define STEPS 8
#define HALO 1

__constant__ float weight[2 * RADIUS + 1];

extern "C" __global__ void
convolutionRowsKernel(float *dst, const float *src, int width, int pitch)
{
    __shared__ float line[Y][(STEPS + 2 * HALO) * X];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = (blockIdx.x * STEPS - HALO) * X + tx, y = blockIdx.y * Y + ty;
    const float *in = src + y * pitch + x0;
    float *out = dst + y * pitch + x0;

#pragma unroll
    for (int i = HALO; i < HALO + STEPS; i++)
        line[ty][i * X + tx] = in[i * X];
#pragma unroll
    for (int i = 0; i < HALO; i++)
        line[ty][i * X + tx] = x0 >= -i * X ? in[i * X] : 0.0f;
#pragma unroll
    for (int i = HALO + STEPS; i < 2 * HALO + STEPS; i++)
        line[ty][i * X + tx] = width - x0 > i * X ? in[i * X] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = HALO; i < HALO + STEPS; i++) {
        float sum = 0.0f;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; j++)
            sum += weight[RADIUS - j] * line[ty][i * X + tx + j];
        out[i * X] = sum;
    }
}
