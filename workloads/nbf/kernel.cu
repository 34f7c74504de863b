/* Non-bonded forces in one dimension, a thread an atom: each pair (i, j), i < j, stands once, in
 * the list of i. The force on i goes to j with the other sign. */

/* Sums are of integers, in units of 2^-22: the same in any order of additions. */
#define FIXED(v) __float2int_rn((v) * 4194304.0f)
#define VALUE(n) ((float)(n) * (1.0f / 4194304.0f))

/* Thread t has item[t], whose list is that from first[t] on. */
extern "C" __global__ void
nbf_force(const unsigned *item, const unsigned *first, const unsigned *partner,
          const float *x, int *f, float weight, float period, unsigned atoms)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= atoms)
        return;
    unsigned i = item[t];
    float at = x[i];
    int sum = 0;
    unsigned end = first[t + 1];
    for (unsigned e = first[t]; e < end; e++) {
        unsigned j = partner[e];
        float d = at - x[j];
        if (period > 0)
            d -= period * rintf(d / period);
        int force = FIXED(weight * d / (1.0f + d * d * d * d));
        sum += force;
        atomicAdd(&f[j], -force);
    }
    atomicAdd(&f[i], sum);
}

extern "C" __global__ void
nbf_move(float *x, const float *none, int *f, float step, unsigned atoms)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    (void)none;
    if (i >= atoms)
        return;
    x[i] += step * VALUE(f[i]);
    f[i] = 0;
}
