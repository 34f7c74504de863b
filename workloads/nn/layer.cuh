/* A neuron of a layer of the network that reads digits: a window of SIDE x SIDE in each of
 * IMAGES images of IN x IN, every STEP-th place. A block is one map of one picture, of OUT
 * x OUT neurons, a thread one of them. */
#define LAYER(name, IMAGES, IN, SIDE, STEP, OUT)                                         \
    extern "C" __global__ void name(const float *before, const float *weights,           \
                                    float *after)                                        \
    {                                                                                    \
        int map = blockIdx.x, picture = blockIdx.y;                                      \
        int x = threadIdx.x, y = threadIdx.y;                                            \
        const float *w = weights + map * (1 + IMAGES * SIDE * SIDE);                     \
        const float *in =                                                                \
            before + picture * IMAGES * IN * IN + STEP * y * IN + STEP * x;              \
        float sum = *w++;                                                                \
                                                                                         \
        for (int i = 0; i < SIDE * SIDE; i++)                                            \
            for (int image = 0; image < IMAGES; image++)                                 \
                sum += in[image * IN * IN + i / SIDE * IN + i % SIDE] * *w++;            \
        after[(picture * gridDim.x + map) * OUT * OUT + y * OUT + x] =                   \
            1.7159f * (1.0f - 2.0f / (expf(1.33333333f * sum) + 1.0f));                  \
    }
