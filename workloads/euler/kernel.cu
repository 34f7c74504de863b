/* Residuals of Euler's equations in one dimension on an unstructured mesh, a thread a node: along
 * each edge (i, j), i < j, which stands with i, flow density, momentum and energy, by the mean of
 * the two fluxes less a dissipation (Rusanov's with a fixed speed). */

/* Sums are of integers, in units of 2^-22: the same in any order of additions. */
#define FIXED(v) __float2int_rn((v) * 4194304.0f)
#define VALUE(n) ((float)(n) * (1.0f / 4194304.0f))

/* Thread t has item[t], whose list is that from first[t] on. */
extern "C" __global__ void
euler_flux(const unsigned *item, const unsigned *first, const unsigned *to,
           const float *q, int *res, float weight, unsigned nodes)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nodes)
        return;
    unsigned i = item[t];
    float ri = q[i], mi = q[nodes + i], ei = q[2 * nodes + i];
    float ui = mi / ri, pi = 0.4f * (ei - 0.5f * mi * ui);
    int sr = 0, sm = 0, se = 0;
    unsigned end = first[t + 1];
    for (unsigned e = first[t]; e < end; e++) {
        unsigned j = to[e];
        float rj = q[j], mj = q[nodes + j], ej = q[2 * nodes + j];
        float uj = mj / rj, pj = 0.4f * (ej - 0.5f * mj * uj);
        int fr = FIXED(weight * (0.5f * (mi + mj) - 1.5f * (rj - ri)));
        int fm =
            FIXED(weight * (0.5f * (mi * ui + pi + mj * uj + pj) - 1.5f * (mj - mi)));
        int fe =
            FIXED(weight * (0.5f * (ui * (ei + pi) + uj * (ej + pj)) - 1.5f * (ej - ei)));
        sr += fr;
        sm += fm;
        se += fe;
        atomicAdd(&res[j], -fr);
        atomicAdd(&res[nodes + j], -fm);
        atomicAdd(&res[2 * nodes + j], -fe);
    }
    atomicAdd(&res[i], sr);
    atomicAdd(&res[nodes + i], sm);
    atomicAdd(&res[2 * nodes + i], se);
}
