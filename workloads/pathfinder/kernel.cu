/* Cheapest way down a grid of costs, row by row: each cell adds its cost to the cheapest of
 * the three cells above it. A launch does `steps` rows. A block starts with THREADS columns
 * of the row above and loses one at either end each step; it is right in the middle
 * THREADS - 2 * halo columns, where halo is the most steps of a launch. */
#define THREADS 256

extern "C" __global__ void
dynproc_kernel(int steps, const int *wall, const int *from, int *to, int cols, int row,
               int halo)
{
    __shared__ int above[THREADS];
    __shared__ int here[THREADS];
    int t = threadIdx.x, width = THREADS - 2 * halo;
    int col = blockIdx.x * width - halo + t;
    bool inside = col >= 0 && col < cols;
    int left = col == 0 || t == 0 ? t : t - 1;
    int right = col == cols - 1 || t == THREADS - 1 ? t : t + 1;

    if (inside)
        above[t] = from[col];
    __syncthreads();
    for (int i = 0; i < steps; i++) {
        bool mine = inside && t > i && t < THREADS - 1 - i;
        if (mine)
            here[t] = min(min(above[left], above[t]), above[right]) +
                      wall[(row + i) * cols + col];
        __syncthreads();
        if (mine)
            above[t] = here[t];
        __syncthreads();
    }
    if (inside && t >= halo && t < THREADS - halo)
        to[col] = above[t];
}
