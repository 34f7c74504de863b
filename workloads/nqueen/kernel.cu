/* Solutions of the n queens problem that go on from given first rows. A thread has one
 * beginning: columns, and diagonals both ways, that are taken, as bits; it walks the rest
 * of the board depth first with a stack of its own in scratchpad (the free places of each
 * row, and the three masks). The sums of a block are added up in scratchpad. */
#define THREADS 64
#define DEPTH 10

extern "C" __global__ void
solve_nqueen_cuda_kernel(int n, int mark, const unsigned *total_masks,
                         const unsigned *total_l, const unsigned *total_r,
                         unsigned *results, int total)
{
    __shared__ unsigned mask[THREADS][DEPTH];
    __shared__ unsigned l_mask[THREADS][DEPTH];
    __shared__ unsigned r_mask[THREADS][DEPTH];
    __shared__ unsigned m[THREADS][DEPTH];
    __shared__ unsigned sum[THREADS];
    int tid = threadIdx.x, idx = blockIdx.x * THREADS + tid;
    unsigned full = (1u << n) - 1, count = 0;

    if (idx < total) {
        int i = 0;
        mask[tid][0] = total_masks[idx];
        l_mask[tid][0] = total_l[idx];
        r_mask[tid][0] = total_r[idx];
        m[tid][0] = full & ~(total_masks[idx] | total_l[idx] | total_r[idx]);
        while (i >= 0) {
            unsigned free = m[tid][i];
            if (!free) {
                i--;
                continue;
            }
            unsigned place = free & (0u - free);
            m[tid][i] = free ^ place;
            if (i + 1 == mark) {
                count++;
                continue;
            }
            unsigned c = mask[tid][i] | place, l = (l_mask[tid][i] | place) << 1,
                     r = (r_mask[tid][i] | place) >> 1;
            i++;
            mask[tid][i] = c;
            l_mask[tid][i] = l;
            r_mask[tid][i] = r;
            m[tid][i] = full & ~(c | l | r);
        }
        sum[tid] = count;
    } else {
        sum[tid] = 0;
    }
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (tid < half)
            sum[tid] += sum[tid + half];
        __syncthreads();
    }
    if (tid == 0)
        results[blockIdx.x] = sum[0];
}
