// y[i] = a * x[i] + y[i]; saxpy.ptx is what clang 14 makes of it (-O3, sm_35).
extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
