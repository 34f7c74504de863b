/* Molecular dynamics with softened Lennard-Jones forces, a thread an atom: each pair (i, j), i < j,
 * stands once, in the list of i. x, f and v: all x components, then y, then z. */

/* Sums are of integers, in units of 2^-22: the same in any order of additions. */
#define FIXED(v) __float2int_rn((v) * 4194304.0f)
#define VALUE(n) ((float)(n) * (1.0f / 4194304.0f))

/* Thread t has item[t], whose list is that from first[t] on. */
extern "C" __global__ void
moldyn_force(const unsigned *item, const unsigned *first, const unsigned *partner,
             const float *x, int *f, float weight, float period, unsigned atoms)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= atoms)
        return;
    unsigned i = item[t];
    float ax = x[i], ay = x[atoms + i], az = x[2 * atoms + i];
    int fx = 0, fy = 0, fz = 0;
    unsigned end = first[t + 1];
    for (unsigned e = first[t]; e < end; e++) {
        unsigned j = partner[e];
        float dx = ax - x[j], dy = ay - x[atoms + j], dz = az - x[2 * atoms + j];
        if (period > 0) {
            dx -= period * rintf(dx / period);
            dy -= period * rintf(dy / period);
            dz -= period * rintf(dz / period);
        }
        float s = 0.5f / (dx * dx + dy * dy + dz * dz + 0.25f);
        float s3 = s * s * s;
        float force = weight * s * s3 * (s3 - 0.5f);
        int gx = FIXED(force * dx), gy = FIXED(force * dy), gz = FIXED(force * dz);
        fx += gx;
        fy += gy;
        fz += gz;
        atomicAdd(&f[j], -gx);
        atomicAdd(&f[atoms + j], -gy);
        atomicAdd(&f[2 * atoms + j], -gz);
    }
    atomicAdd(&f[i], fx);
    atomicAdd(&f[atoms + i], fy);
    atomicAdd(&f[2 * atoms + i], fz);
}

extern "C" __global__ void
moldyn_move(float *x, float *v, int *f, float step, unsigned atoms)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= atoms)
        return;
    for (unsigned c = 0; c < 3; c++, i += atoms) {
        v[i] += step * VALUE(f[i]);
        x[i] += step * v[i];
        f[i] = 0;
    }
}
