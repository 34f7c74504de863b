/* Texture and surface objects (nvcc only). */
#include "device.cuh"
#ifndef __clang__
extern "C" __global__ void sample(float4 *out, cudaTextureObject_t t1, cudaTextureObject_t t2, cudaSurfaceObject_t s, int n)
{
    int i = TIDX;
    float4 a = tex1Dfetch<float4>(t1, i);
    float4 b = tex2D<float4>(t2, i * 0.5f, n * 0.25f);
    out[i] = make_float4(a.x + b.x, a.y + b.y, a.z, b.w);
    surf2Dwrite(a.x, s, i * 4, n);
    out[i + 1].x = tex3D<float>(t2, 1.0f, 2.0f, (float)i) + tex2DLayered<float>(t2, 0.5f, 0.5f, n);
}
#endif
