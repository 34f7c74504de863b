/* Forward pass from one layer of a neural network to the next, on the device:
 * hidden[j] = sum over i of w[i][j] * input[i].
 *
 * Block (16, 16): thread (tx, ty) has the weight from input node 16 blockIdx.y + ty + 1 to
 * hidden node 16 blockIdx.x + tx + 1. Node 0 of each layer is the bias, whose weights the host adds. The
 * block multiplies its 16 x 16 weights by its inputs and sums each column by a tree in
 * scratchpad; the host adds the partial sums of the blocks of a column and applies the activation.
 *
 * WIDTH and HEIGHT are the extents of the scratchpad arrays, 16 or more. Only the first 16 rows
 * and columns are used: with 48 the block is the same and takes 9408 bytes, not 1088. */
#define TILE 16

/* weights: (in + 1) x (hid + 1); input: in + 1; product: as weights, entries w * x of all but
 * bias rows and columns; partial: [in / 16][hid]. in and hid are multiples of 16. */
extern "C" __global__ void
bpnn_layerforward_CUDA(const float *input, const float *weights, float *product,
                       float *partial, int hid)
{
    __shared__ float input_node[HEIGHT];
    __shared__ float weight_matrix[HEIGHT][WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int in_node = blockIdx.y * TILE + ty + 1;
    int index = in_node * (hid + 1) + blockIdx.x * TILE + tx + 1;

    if (tx == 0)
        input_node[ty] = input[in_node];
    __syncthreads();
#if HEIGHT > TILE
    weight_matrix[ty][tx] = weights[index];
    if (ty == 0)
        weight_matrix[TILE][tx] = 0.0f;
    __syncthreads();
    float p = weight_matrix[ty][tx] * input_node[ty];
#else
    float p = weights[index] * input_node[ty];
#endif
    weight_matrix[ty][tx] = p;
    __syncthreads();

    /* After a round, row ty (a multiple of `rows`) sums rows ty .. ty + rows - 1. As in the
     * benchmark there are log2(HEIGHT) rounds, and each computes its number of rows anew by
     * a power and tests for a multiple by a division: 48 makes five rounds of four. */
#if HEIGHT > TILE
    int i = 1;
    do { /* one round at least: the test is at the end */
        int rows = (int)__powf(2.0f, (float)i);
        if (ty % rows == 0)
            weight_matrix[ty][tx] += weight_matrix[ty + rows / 2][tx];
        __syncthreads();
    } while ((float)++i <= __log2f((float)HEIGHT));
#else /* plain: 20 registers must do, so that threads limit its blocks (001 Table 2.4) */
    for (int half = 1; half < TILE; half *= 2) {
        if (ty % (2 * half) == 0)
            weight_matrix[ty][tx] += weight_matrix[ty + half][tx];
        __syncthreads();
    }
#endif

    product[index] = p;
    if (ty == 0)
        partial[blockIdx.y * hid + blockIdx.x * TILE + tx] = weight_matrix[0][tx];
}
