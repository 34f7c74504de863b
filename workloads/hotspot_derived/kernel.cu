/* `../hotspot` as the benchmark has it: the kernel derives its coefficients from the chip's
 * capacity and resistances and from the length of a step, and a block has ranges of valid
 * cells, which shrink by one cell a step within the ranges of the cells that it holds. */
#define BLOCK 16
#define AMBIENT 80.0f

#define WITHIN(x, lo, hi) ((x) >= (lo) && (x) <= (hi))

extern "C" __global__ void
calculate_temp(int steps, const float *power, const float *temp_src, float *temp_dst,
               int cols, int rows, int border_cols, int border_rows, float cap, float rx,
               float ry, float rz, float step)
{
    __shared__ float temp_on[BLOCK][BLOCK];
    __shared__ float power_on[BLOCK][BLOCK];
    __shared__ float temp_next[BLOCK][BLOCK];
    float step_div_cap = step / cap, rx_1 = 1.0f / rx, ry_1 = 1.0f / ry, rz_1 = 1.0f / rz;
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    /* This block's cells, the first and the last; outside the grid those of the edge. */
    int top = (BLOCK - 2 * steps) * by - border_rows;
    int left = (BLOCK - 2 * steps) * bx - border_cols;
    int bottom = top + BLOCK - 1, right = left + BLOCK - 1;
    int y = top + ty, x = left + tx, at = cols * y + x;

    if (WITHIN(y, 0, rows - 1) && WITHIN(x, 0, cols - 1)) {
        temp_on[ty][tx] = temp_src[at];
        power_on[ty][tx] = power[at];
    }
    __syncthreads();

    int valid_top = top < 0 ? -top : 0, valid_left = left < 0 ? -left : 0;
    int valid_bottom = bottom > rows - 1 ? BLOCK - 1 - (bottom - rows + 1) : BLOCK - 1;
    int valid_right = right > cols - 1 ? BLOCK - 1 - (right - cols + 1) : BLOCK - 1;
    int n = ty - 1 < valid_top ? valid_top : ty - 1;
    int s = ty + 1 > valid_bottom ? valid_bottom : ty + 1;
    int w = tx - 1 < valid_left ? valid_left : tx - 1;
    int e = tx + 1 > valid_right ? valid_right : tx + 1;
    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (WITHIN(tx, i + 1, BLOCK - i - 2) && WITHIN(ty, i + 1, BLOCK - i - 2) &&
            WITHIN(tx, valid_left, valid_right) && WITHIN(ty, valid_top, valid_bottom)) {
            computed = true;
            float t = temp_on[ty][tx];
            temp_next[ty][tx] =
                t + step_div_cap *
                        (power_on[ty][tx] +
                         (temp_on[s][tx] + temp_on[n][tx] - 2.0f * t) * ry_1 +
                         (temp_on[ty][e] + temp_on[ty][w] - 2.0f * t) * rx_1 +
                         (AMBIENT - t) * rz_1);
        }
        __syncthreads();
        if (i == steps - 1)
            break;
        if (computed)
            temp_on[ty][tx] = temp_next[ty][tx];
        __syncthreads();
    }
    if (computed)
        temp_dst[at] = temp_next[ty][tx];
}
