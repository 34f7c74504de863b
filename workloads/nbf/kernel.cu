/* Non-bonded forces in one dimension, a thread an atom: each pair (i, j), i < j, stands once, in
 * the list of i. The force on i goes to j with the other sign. */
extern "C" __global__ void
nbf_force(const unsigned *first, const unsigned *partner, const float *x, float *f,
          float weight, float period, unsigned atoms)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= atoms)
        return;
    float at = x[i], sum = 0;
    unsigned end = first[i + 1];
    for (unsigned e = first[i]; e < end; e++) {
        unsigned j = partner[e];
        float d = at - x[j];
        if (period > 0)
            d -= period * rintf(d / period);
        float force = weight * d / (1.0f + d * d * d * d);
        sum += force;
        atomicAdd(&f[j], -force);
    }
    atomicAdd(&f[i], sum);
}

extern "C" __global__ void
nbf_move(float *x, const float *none, float *f, float step, unsigned atoms)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    (void)none;
    if (i >= atoms)
        return;
    x[i] += step * f[i];
    f[i] = 0;
}
