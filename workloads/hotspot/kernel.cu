/* Temperature of a chip by explicit steps of the heat equation on a grid of cells, several
 * steps a launch (a pyramid): a block of 16 x 16 threads loads 16 x 16 cells, and each step its
 * valid region shrinks by one cell on the sides that do not lie on the chip's edge; after
 * `steps` steps the inner (16 - 2 steps)^2 cells are written, and blocks overlap accordingly.
 * At the chip's edge a missing neighbour is the cell itself. */
#define BLOCK 16

extern "C" __global__ void
calculate_temp(int steps, const float *power, const float *temp_src, float *temp_dst,
               int rows, int cols, float step_div_cap, float rx_1, float ry_1, float rz_1,
               float ambient)
{
    __shared__ float temp_on[BLOCK][BLOCK];
    __shared__ float power_on[BLOCK][BLOCK];
    __shared__ float temp_next[BLOCK][BLOCK];
    int tx = threadIdx.x, ty = threadIdx.y;
    int inner = BLOCK - 2 * steps;
    int row0 = (int)blockIdx.y * inner - steps, col0 = (int)blockIdx.x * inner - steps;
    int row = row0 + ty, col = col0 + tx;
    bool inside = row >= 0 && row < rows && col >= 0 && col < cols;

    if (inside) {
        temp_on[ty][tx] = temp_src[row * cols + col];
        power_on[ty][tx] = power[row * cols + col];
    }
    __syncthreads();

    int n = row == 0 ? ty : ty - 1, s = row == rows - 1 ? ty : ty + 1;
    int w = col == 0 ? tx : tx - 1, e = col == cols - 1 ? tx : tx + 1;
    for (int i = 0;; i++) {
        /* Step i is right in cells at least i + 1 from the block's sides. */
        bool valid = inside && tx > i && tx < BLOCK - 1 - i && ty > i && ty < BLOCK - 1 - i;
        if (valid) {
            float t = temp_on[ty][tx];
            temp_next[ty][tx] =
                t + step_div_cap *
                        (power_on[ty][tx] +
                         (temp_on[s][tx] + temp_on[n][tx] - 2.0f * t) * ry_1 +
                         (temp_on[ty][e] + temp_on[ty][w] - 2.0f * t) * rx_1 +
                         (ambient - t) * rz_1);
        }
        __syncthreads();
        if (i == steps - 1) {
            if (valid)
                temp_dst[row * cols + col] = temp_next[ty][tx];
            return;
        }
        if (valid)
            temp_on[ty][tx] = temp_next[ty][tx];
        __syncthreads();
    }
}
