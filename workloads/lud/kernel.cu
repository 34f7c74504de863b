/* LU decomposition without pivoting, in tiles of 22 x 22: the tile on the diagonal, then
 * those right of it and below it, then all others (lud_internal), which lose the product
 * of the tile at their left and the tile above them. */
#define B 22

extern "C" __global__ void
lud_diagonal(float *a, int n, int at)
{
    __shared__ float t[B][B];
    int x = threadIdx.x;

    for (int i = 0; i < B; i++)
        t[i][x] = a[(at + i) * n + at + x];
    __syncthreads();
    for (int k = 0; k < B - 1; k++) {
        if (x > k)
            t[x][k] /= t[k][k];
        __syncthreads();
        if (x > k)
            for (int j = k + 1; j < B; j++)
                t[x][j] -= t[x][k] * t[k][j];
        __syncthreads();
    }
    for (int i = 0; i < B; i++)
        a[(at + i) * n + at + x] = t[i][x];
}

/* Thread x < B: column x of the tile to the right; others: row of the tile below. */
extern "C" __global__ void
lud_perimeter(float *a, int n, int at)
{
    __shared__ float d[B][B], right[B][B], below[B][B];
    int x = threadIdx.x % B, next = at + (blockIdx.x + 1) * B;
    bool row = threadIdx.x < B;

    for (int i = row ? 0 : 1; i < B; i += 2)
        d[i][x] = a[(at + i) * n + at + x];
    for (int i = 0; i < B; i++) {
        if (row)
            right[i][x] = a[(at + i) * n + next + x];
        else
            below[i][x] = a[(next + i) * n + at + x];
    }
    __syncthreads();
    if (row) {
        for (int i = 1; i < B; i++)
            for (int k = 0; k < i; k++)
                right[i][x] -= d[i][k] * right[k][x];
    } else {
        for (int i = 0; i < B; i++) {
            for (int k = 0; k < i; k++)
                below[x][i] -= below[x][k] * d[k][i];
            below[x][i] /= d[i][i];
        }
    }
    __syncthreads();
    for (int i = 0; i < B; i++) {
        if (row)
            a[(at + i) * n + next + x] = right[i][x];
        else
            a[(next + i) * n + at + x] = below[i][x];
    }
}

extern "C" __global__ void
lud_internal(float *a, int n, int at)
{
    __shared__ float peri_row[B][B];
    __shared__ float peri_col[B][B];
    int x = threadIdx.x, y = threadIdx.y;
    int row = at + (blockIdx.y + 1) * B, col = at + (blockIdx.x + 1) * B;

    peri_row[y][x] = a[(at + y) * n + col + x];
    peri_col[y][x] = a[(row + y) * n + at + x];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < B; k++)
        sum += peri_col[y][k] * peri_row[k][x];
    a[(row + y) * n + col + x] -= sum;
}
