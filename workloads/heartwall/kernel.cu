/* Follows points of a heart's wall through ultrasound frames. On the first frame each
 * point's block keeps a template, the 51 x 51 pixels round the point. On later frames it
 * looks for the place, up to `search` pixels away in each direction, where the frame is
 * most like the template (normalised cross-correlation), and moves the point there.
 *
 * The scratchpad variables are those of the document's table: sums over the template's
 * columns, their totals, the deviation, the best values with their places, and the
 * template itself. */
#define T 51
#define TEMPLATE (T * T)
#define THREADS 128

extern "C" __global__ void
kernel(const float *frame, int rows, int cols, int frame_no, int search, float *templates,
       int *point_row, int *point_col)
{
    __shared__ float in_partial_sum[T];
    __shared__ float in_sqr_partial_sum[T];
    __shared__ float in_final_sum;
    __shared__ float in_sqr_final_sum;
    __shared__ float denomT;
    __shared__ float par_max_val[131];
    __shared__ int par_max_coo[131];
    __shared__ float d_in_mod_temp[TEMPLATE];
    int tx = threadIdx.x, point = blockIdx.x;
    int row0 = point_row[point] - T / 2, col0 = point_col[point] - T / 2;
    float *own = templates + point * TEMPLATE;

    if (frame_no == 0) {
        for (int i = tx; i < TEMPLATE; i += THREADS)
            own[i] = frame[(row0 + i / T) * cols + col0 + i % T];
    } else {
        for (int i = tx; i < TEMPLATE; i += THREADS)
            d_in_mod_temp[i] = own[i];
        __syncthreads();
        if (tx < T) {
            float sum = 0.0f, sqr = 0.0f;
            for (int i = 0; i < T; i++) {
                float v = d_in_mod_temp[i * T + tx];
                sum += v;
                sqr += v * v;
            }
            in_partial_sum[tx] = sum;
            in_sqr_partial_sum[tx] = sqr;
        }
        __syncthreads();
        if (tx == 0) {
            float sum = 0.0f, sqr = 0.0f;
            for (int i = 0; i < T; i++) {
                sum += in_partial_sum[i];
                sqr += in_sqr_partial_sum[i];
            }
            in_final_sum = sum;
            in_sqr_final_sum = sqr;
            denomT = sqrtf(sqr - sum * sum / TEMPLATE);
        }
        __syncthreads();
        int side = 2 * search + 1, best_at = -1;
        float best = -2.0f, mean = in_final_sum / TEMPLATE;
        for (int e = tx; e < side * side; e += THREADS) {
            int r = row0 + e / side - search, c = col0 + e % side - search;
            if (r < 0 || r + T > rows || c < 0 || c + T > cols)
                continue;
            float sum = 0.0f, sqr = 0.0f, cross = 0.0f;
            for (int i = 0; i < T; i++)
                for (int j = 0; j < T; j++) {
                    float v = frame[(r + i) * cols + c + j];
                    sum += v;
                    sqr += v * v;
                    cross += v * (d_in_mod_temp[i * T + j] - mean);
                }
            float value = cross / (denomT * sqrtf(sqr - sum * sum / TEMPLATE));
            if (value > best) {
                best = value;
                best_at = e;
            }
        }
        par_max_val[tx] = best;
        par_max_coo[tx] = best_at;
        __syncthreads();
        if (tx == 0) {
            for (int i = 1; i < THREADS; i++)
                if (par_max_val[i] > best) {
                    best = par_max_val[i];
                    best_at = par_max_coo[i];
                }
            if (best_at >= 0) {
                point_row[point] += best_at / side - search;
                point_col[point] += best_at % side - search;
            }
            par_max_val[0] = in_sqr_final_sum;
        }
    }
}
