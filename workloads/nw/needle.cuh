/* Needleman-Wunsch global alignment of pairs of sequences, by tiles along anti-diagonals.
 *
 * score[i][j] = max(score[i-1][j-1] + match[i][j], score[i][j-1] - penalty,
 *                   score[i-1][j] - penalty), with i, j from 1; row and column 0 are given.
 * A launch computes one anti-diagonal of tiles of BLOCK x BLOCK, of every pair: block x = tile
 * of the diagonal, block y = pair. A block has BLOCK threads, which sweep the tile's own
 * anti-diagonals. needle_cuda_shared_1 takes the diagonals up to the longest,
 * needle_cuda_shared_2 those after it. */

static __device__ __forceinline__ void
needle_cell(int (*temp)[BLOCK + 1], int (*ref)[BLOCK], int y, int x, int penalty)
{
    temp[y][x] = max(temp[y - 1][x - 1] + ref[y - 1][x - 1],
                     max(temp[y][x - 1] - penalty, temp[y - 1][x] - penalty));
}

/* Tile (by, bx) of one pair. score and match: cols x cols, cols = 1 + tiles * BLOCK. */
static __device__ __forceinline__ void
needle_tile(int (*temp)[BLOCK + 1], int (*ref)[BLOCK], const int *match, int *score, int cols,
            int penalty, int by, int bx)
{
    int tx = threadIdx.x;
    int corner = by * BLOCK * cols + bx * BLOCK; /* above and left of the tile */

    if (tx == 0)
        temp[0][0] = score[corner];
#pragma unroll 1
    for (int y = 0; y < BLOCK; y++)
        ref[y][tx] = match[corner + (y + 1) * cols + tx + 1];
    __syncthreads();
    temp[tx + 1][0] = score[corner + (tx + 1) * cols];
    __syncthreads();
    temp[0][tx + 1] = score[corner + tx + 1];
    __syncthreads();

    /* The tile's upper left, then its lower right: on a diagonal of m + 1 cells, the first
     * m + 1 threads have one each. */
#pragma unroll 1
    for (int m = 0; m < BLOCK; m++) {
        if (tx <= m)
            needle_cell(temp, ref, m - tx + 1, tx + 1, penalty);
        __syncthreads();
    }
#pragma unroll 1
    for (int m = BLOCK - 2; m >= 0; m--) {
        if (tx <= m)
            needle_cell(temp, ref, BLOCK - tx, tx + BLOCK - m, penalty);
        __syncthreads();
    }

#pragma unroll 1
    for (int y = 0; y < BLOCK; y++)
        score[corner + (y + 1) * cols + tx + 1] = temp[y + 1][tx + 1];
}

/* Diagonal `diag` (from 0) of the upper left: diag + 1 tiles. */
extern "C" __global__ void
needle_cuda_shared_1(const int *match, int *score, int cols, int penalty, int diag)
{
    __shared__ int temp[BLOCK + 1][BLOCK + 1];
    __shared__ int ref[BLOCK][BLOCK];
    int pair = blockIdx.y * cols * cols, bx = blockIdx.x;
    needle_tile(temp, ref, match + pair, score + pair, cols, penalty, diag - bx, bx);
}

/* Diagonal `diag` of the lower right: its first tile is in the last row of tiles. */
extern "C" __global__ void
needle_cuda_shared_2(const int *match, int *score, int cols, int penalty, int diag)
{
    __shared__ int temp[BLOCK + 1][BLOCK + 1];
    __shared__ int ref[BLOCK][BLOCK];
    int last = (cols - 1) / BLOCK - 1;
    int pair = blockIdx.y * cols * cols, bx = diag - last + blockIdx.x;
    needle_tile(temp, ref, match + pair, score + pair, cols, penalty, diag - bx, bx);
}
