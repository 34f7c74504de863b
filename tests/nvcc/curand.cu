/* curand.cu: cuRAND's generators on the device. Compiled, not run: see tools/nvcc-forms.
 */
#include <curand_kernel.h>
__global__ void
k(float *f, double *d, unsigned *u, unsigned long long s)
{
    curandState a;
    curand_init(s, threadIdx.x, 0, &a);
    u[0] = curand(&a);
    f[0] = curand_uniform(&a);
    f[1] = curand_normal(&a);
    d[0] = curand_normal_double(&a);
    u[1] = curand_poisson(&a, 3.);
    f[2] = curand_log_normal(&a, 0, 1);
    curandStatePhilox4_32_10_t p;
    curand_init(s, threadIdx.x, 0, &p);
    uint4 x = curand4(&p);
    u[2] = x.x;
    float4 y = curand_uniform4(&p);
    f[3] = y.w;
    d[1] = curand_uniform_double(&p);
    f[4] = curand_normal4(&p).x;
    curandStateMRG32k3a m;
    curand_init(s, threadIdx.x, 0, &m);
    f[5] = curand_uniform(&m);
    d[2] = curand_normal2_double(&m).x;
}
