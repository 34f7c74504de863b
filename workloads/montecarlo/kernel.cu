/* Monte Carlo of European call options: normal numbers by the inverse of the cumulative
 * normal distribution (Moro's formula, 1995), shared by all options; then a block an
 * option, which adds up the payoffs of all paths and their squares. */
#define THREADS 256

static __device__ __forceinline__ float
inverse_cdf(float p)
{
    float y = p - 0.5f;
    if (fabsf(y) < 0.42f) {
        float z = y * y;
        return y *
               (((-25.44106049637f * z + 41.39119773534f) * z - 18.61500062529f) * z +
                2.50662823884f) /
               ((((3.13082909833f * z - 21.06224101826f) * z + 23.08336743743f) * z -
                 8.47351093090f) *
                    z +
                1.0f);
    }
    float z = __logf(-__logf(y > 0.0f ? 1.0f - p : p));
    float x = 0.0000003960315187f;
    x = x * z + 0.0000002888167364f;
    x = x * z + 0.0000321767881768f;
    x = x * z + 0.0003951896511919f;
    x = x * z + 0.0038405729373609f;
    x = x * z + 0.0276438810333863f;
    x = x * z + 0.1607979714918209f;
    x = x * z + 0.9761690190917186f;
    x = x * z + 0.3374754822726147f;
    return y > 0.0f ? x : -x;
}

extern "C" __global__ void
inverseCNDKernel(float *samples, int paths)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < paths;
         i += gridDim.x * blockDim.x)
        samples[i] = inverse_cdf((float)(i + 1) / (float)(paths + 1));
}

/* option: price, strike, drift and volatility over the option's time. value: sum of the
 * payoffs, sum of their squares. */
extern "C" __global__ void
MonteCarloOneBlockPerOption(float2 *value, const float4 *option, const float *samples,
                            int paths)
{
    __shared__ float sum[THREADS];
    __shared__ float squares[THREADS];
    float4 o = option[blockIdx.x];
    int t = threadIdx.x;
    float s = 0.0f, q = 0.0f;

    for (int i = t; i < paths; i += THREADS) {
        float payoff = fmaxf(o.x * __expf(o.z + o.w * samples[i]) - o.y, 0.0f);
        s += payoff;
        q += payoff * payoff;
    }
    sum[t] = s;
    squares[t] = q;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) {
            sum[t] += sum[t + half];
            squares[t] += squares[t + half];
        }
    }
    if (t == 0)
        value[blockIdx.x] = make_float2(sum[0], squares[0]);
}
