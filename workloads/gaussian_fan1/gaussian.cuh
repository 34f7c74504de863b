/* Gaussian elimination of a x = b, a column after the other: Fan1 computes the
 * multipliers of the rows below, Fan2 subtracts the multiples. `rows` rows of `cols`
 * columns (a panel may have more rows than columns). */
extern "C" __global__ void
Fan1(float *m, const float *a, int rows, int cols, int column)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows - 1 - column)
        m[cols * (column + 1 + i) + column] =
            a[cols * (column + 1 + i) + column] / a[cols * column + column];
}

extern "C" __global__ void
Fan2(const float *m, float *a, float *b, int rows, int cols, int column)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x,
        y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= rows - 1 - column || y >= cols - column)
        return;
    a[cols * (x + 1 + column) + y + column] -=
        m[cols * (x + 1 + column) + column] * a[cols * column + y + column];
    if (y == 0)
        b[x + 1 + column] -= m[cols * (x + 1 + column) + column] * b[column];
}
