/* A step of finite differences in a box: a cross of radius 4 in each direction. A block
 * has a tile of 32 x blockDim.y columns of cells and goes through the planes along z: the
 * cells before and behind are in registers, the plane itself, with a border of 4, in
 * scratchpad (room for 16 rows of threads). The arrays have a border of 4 all round. */
#define RADIUS 4
#define WIDTH 32
#define MAX_ROWS 16

__constant__ float stencil[RADIUS + 1];

extern "C" __global__ void
FiniteDifferencesKernel(float *output, const float *input, int dimx, int dimy, int dimz)
{
    __shared__ float tile[MAX_ROWS + 2 * RADIUS][WIDTH + 2 * RADIUS];
    int tx = threadIdx.x + RADIUS, ty = threadIdx.y + RADIUS, rows = blockDim.y;
    int x = blockIdx.x * WIDTH + threadIdx.x, y = blockIdx.y * rows + threadIdx.y;
    int stride_y = dimx + 2 * RADIUS, stride_z = stride_y * (dimy + 2 * RADIUS);
    int at = (y + RADIUS) * stride_y + x + RADIUS;
    bool valid = x < dimx && y < dimy;
    float infront[RADIUS], behind[RADIUS], current = 0.0f;

    for (int i = 0; i < RADIUS; i++)
        infront[i] = behind[i] = 0.0f;
    if (valid) {
        for (int i = RADIUS - 1; i >= 0; i--)
            behind[i] = input[at + (RADIUS - 1 - i) * stride_z];
        current = input[at + RADIUS * stride_z];
        for (int i = 0; i < RADIUS; i++)
            infront[i] = input[at + (RADIUS + 1 + i) * stride_z];
    }
    for (int z = 0; z < dimz; z++) {
        int plane = at + (z + RADIUS) * stride_z;
        __syncthreads();
        /* The border above and below, then left and right, then the cells themselves. */
        if (threadIdx.y < RADIUS && x < dimx) {
            int below = min(rows, dimy - (int)blockIdx.y * rows);
            tile[threadIdx.y][tx] = input[plane - RADIUS * stride_y];
            tile[threadIdx.y + below + RADIUS][tx] = input[plane + below * stride_y];
        }
        if (threadIdx.x < RADIUS && y < dimy) {
            int right = min(WIDTH, dimx - (int)blockIdx.x * WIDTH);
            tile[ty][threadIdx.x] = input[plane - RADIUS];
            tile[ty][threadIdx.x + right + RADIUS] = input[plane + right];
        }
        if (valid)
            tile[ty][tx] = current;
        __syncthreads();
        float value = stencil[0] * current;
        for (int i = 1; i <= RADIUS; i++)
            value +=
                stencil[i] * (infront[i - 1] + behind[i - 1] + tile[ty - i][tx] +
                              tile[ty + i][tx] + tile[ty][tx - i] + tile[ty][tx + i]);
        if (valid)
            output[plane] = value;
        for (int i = RADIUS - 1; i > 0; i--)
            behind[i] = behind[i - 1];
        behind[0] = current;
        current = infront[0];
        for (int i = 0; i < RADIUS - 1; i++)
            infront[i] = infront[i + 1];
        if (valid && z + 1 < dimz)
            infront[RADIUS - 1] = input[plane + (RADIUS + 1) * stride_z];
    }
}
