/* 8x8 cosine transform as two matrix products, A x A', a thread an element: 64 threads
 * have one 8x8 block; the matrix lies in constant memory. */
__constant__ float A[64];

extern "C" __global__ void
CUDAkernel1DCT(float *dst, const float *src, int pitch)
{
    __shared__ float in[64], half[64];
    int x = threadIdx.x, y = threadIdx.y;
    int at = (blockIdx.y * 8 + y) * pitch + blockIdx.x * 8 + x;

    in[y * 8 + x] = src[at];
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 8; i++)
        sum += A[y * 8 + i] * in[i * 8 + x];
    half[y * 8 + x] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int i = 0; i < 8; i++)
        sum += half[y * 8 + i] * A[x * 8 + i];
    dst[at] = sum;
}
