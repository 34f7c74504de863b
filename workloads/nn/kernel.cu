/* Second layer of a network that reads digits: 6 images of 13 x 13 become 50 of 5 x 5,
 * each neuron from a window of 5 x 5 in every image at every second place. A block is one
 * map of one picture (5 x 5 threads). */
extern "C" __global__ void
executeSecondLayer(const float *layer2, const float *weights, float *layer3)
{
    int map = blockIdx.x, picture = blockIdx.y;
    int x = threadIdx.x, y = threadIdx.y;
    const float *w = weights + map * (1 + 6 * 25);
    const float *in = layer2 + picture * 6 * 169 + 2 * y * 13 + 2 * x;
    float sum = *w++;

    for (int i = 0; i < 25; i++)
        for (int image = 0; image < 6; image++)
            sum += in[image * 169 + i / 5 * 13 + i % 5] * *w++;
    layer3[(picture * gridDim.x + map) * 25 + y * 5 + x] =
        1.7159f * (1.0f - 2.0f / (expf(1.33333333f * sum) + 1.0f));
}
