/* Product of a sparse matrix and a vector. The matrix is stored as jagged diagonals: rows
 * sorted by their number of elements, the k-th elements of all rows together, rows padded
 * to the longest of their warp. A thread has one row. */
#define DIAGONALS 128
#define WARPS 12288

__constant__ int first[DIAGONALS]; /* where the k-th elements begin */
__constant__ int length[WARPS];    /* elements of a row of this warp */

extern "C" __global__ void
spmv_jds(float *y, const float *value, const int *column, const int *row_of,
         const float *x, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    int n = length[i / 32];
    float sum = 0.0f;
    for (int k = 0; k < n; k++) {
        int at = first[k] + i;
        sum += value[at] * x[column[at]];
    }
    y[row_of[i]] = sum;
}
