/* A sum over points k of a Fourier space, for each point x: Q = sum |phi|^2 e^(2 pi i
 * k.x). The k points of a launch lie in constant memory; launches add up. The angle is
 * reduced in turns, where that is exact, before sine and cosine of the hardware. */
#define K_POINTS 1024

__constant__ float4 ck[K_POINTS]; /* kx, ky, kz, |phi|^2 */

extern "C" __global__ void
ComputeQ_GPU(int count, const float *x, const float *y, const float *z, float *Qr,
             float *Qi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sx = x[i], sy = y[i], sz = z[i], qr = Qr[i], qi = Qi[i];

#pragma unroll 2
    for (int k = 0; k < count; k++) {
        float4 c = ck[k];
        float turns = c.x * sx + c.y * sy + c.z * sz;
        float angle = 6.2831853f * (turns - rintf(turns));
        qr += c.w * __cosf(angle);
        qi += c.w * __sinf(angle);
    }
    Qr[i] = qr;
    Qi[i] = qi;
}
