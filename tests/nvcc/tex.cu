/* tex.cu: Texture and surface functions. Compiled, not run: see tools/nvcc-forms. */
#include <cuda_runtime.h>
__global__ void
k(float *f, float4 *f4, int *i, uchar4 *u, cudaTextureObject_t t, cudaSurfaceObject_t s,
  float x, float y, float z)
{
    f[0] = tex1Dfetch<float>(t, 3);
    f4[0] = tex1Dfetch<float4>(t, 4);
    f[1] = tex1D<float>(t, x);
    f[2] = tex2D<float>(t, x, y);
    f4[1] = tex2D<float4>(t, x, y);
    f[3] = tex3D<float>(t, x, y, z);
    u[0] = tex2D<uchar4>(t, x, y);
    i[0] = tex1Dfetch<int>(t, 5);
    f[4] = tex1DLayered<float>(t, x, 2);
    f[5] = tex2DLayered<float>(t, x, y, 3);
    f[8] = tex1DLod<float>(t, x, 1.f);
    f[9] = tex2DLod<float>(t, x, y, 0.f);
    f[10] = tex3DLod<float>(t, x, y, z, 0.f);
    f[11] = tex1DGrad<float>(t, x, 0.1f, 0.2f);
    f[12] = tex2DGrad<float>(t, x, y, make_float2(1, 0), make_float2(0, 1));
    f[13] =
        tex3DGrad<float>(t, x, y, z, make_float4(1, 0, 0, 0), make_float4(0, 1, 0, 0));
    f4[2] = tex2Dgather<float4>(t, x, y, 0);
    f4[3] = tex2Dgather<float4>(t, x, y, 1);
    f4[4] = tex2Dgather<float4>(t, x, y, 2);
    f4[5] = tex2Dgather<float4>(t, x, y, 3);
    f[14] = tex1DLayeredLod<float>(t, x, 1, 0);
    f[15] = tex2DLayeredLod<float>(t, x, y, 1, 0);
    f[16] = tex2DLayeredGrad<float>(t, x, y, 1, make_float2(1, 0), make_float2(0, 1));
    bool res;
    f[17] = tex2D<float>(t, x, y, &res);
    i[1] = res;
    f[19] = tex2DLod<float>(t, x, y, 0.f, &res);
    f[20] = surf1Dread<float>(s, 4);
    surf1Dread(f + 21, s, 8, cudaBoundaryModeClamp);
    f[22] = surf2Dread<float>(s, 4, 5, cudaBoundaryModeZero);
    f4[6] = surf2Dread<float4>(s, 16, 2);
    u[1] = surf3Dread<uchar4>(s, 4, 5, 6);
    f[23] = surf1DLayeredread<float>(s, 4, 1);
    f[24] = surf2DLayeredread<float>(s, 4, 5, 1);
    surf1Dwrite(f[0], s, 4);
    surf2Dwrite(f4[0], s, 16, 4, cudaBoundaryModeClamp);
    surf3Dwrite(u[0], s, 4, 5, 6, cudaBoundaryModeZero);
    surf1DLayeredwrite(f[1], s, 4, 1);
    surf2DLayeredwrite(f[2], s, 4, 5, 1);
    surf2Dwrite((short)3, s, 2, 3);
    surf2Dwrite((unsigned char)3, s, 2, 3);
    surf2Dwrite(make_int2(1, 2), s, 8, 3);
}
__global__ void
kcube(float *f, cudaTextureObject_t t, float x, float y, float z)
{
    f[6] = texCubemap<float>(t, x, y, z);
    f[7] = texCubemapLayered<float>(t, x, y, z, 1);
}
