/* New weights of a layer of 16 hidden units: each changes by the learning rate times
 * delta times input, plus the momentum of its last change. A block of 16 x 16 threads has
 * 16 inputs; unit 0 and input 0 are the biases. */
#define ETA 0.3f
#define MOMENTUM 0.3f

extern "C" __global__ void
bpnn_adjust_weights_cuda(const float *delta, int hidden, const float *input, float *w,
                         float *old)
{
    int x = threadIdx.x, y = threadIdx.y, by = blockIdx.y;
    int at = (hidden + 1) * (16 * by + y + 1) + x + 1;
    float change = ETA * delta[x + 1] * input[16 * by + y + 1] + MOMENTUM * old[at];

    w[at] += change;
    old[at] = change;
    __syncthreads();
    if (y == 0 && by == 0) {
        change = ETA * delta[x + 1] + MOMENTUM * old[x + 1];
        w[x + 1] += change;
        old[x + 1] = change;
    }
}
