/* C = alpha A B' + beta C, matrices column by column. A block of 128 threads has 128 rows
 * of C and 16 columns: a thread a row, 16 sums in registers; 8 columns of B's 16 rows at
 * a time lie in scratchpad. */
#define TILE_N 16
#define TILE_K 8

extern "C" __global__ void
mysgemmNT(const float *A, int lda, const float *B, int ldb, float *C, int ldc, int k,
          float alpha, float beta)
{
    __shared__ float b[TILE_K][TILE_N];
    int row = blockIdx.x * 128 + threadIdx.x, col = blockIdx.y * TILE_N;
    int bk = threadIdx.x / TILE_N, bn = threadIdx.x % TILE_N;
    float sum[TILE_N];

#pragma unroll
    for (int i = 0; i < TILE_N; i++)
        sum[i] = 0.0f;
    for (int k0 = 0; k0 < k; k0 += TILE_K) {
        b[bk][bn] = B[col + bn + (k0 + bk) * ldb];
        __syncthreads();
        for (int j = 0; j < TILE_K; j++) {
            float a = A[row + (k0 + j) * lda];
#pragma unroll
            for (int i = 0; i < TILE_N; i++)
                sum[i] += a * b[j][i];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TILE_N; i++) {
        float *c = &C[row + (col + i) * ldc];
        *c = *c * beta + alpha * sum[i];
    }
}
