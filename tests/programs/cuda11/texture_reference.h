/* texture_reference.h: texture and surface references as CUDA 11 and before had them, for
 * clang: layouts and entry points of the runtime's binary interface, and the fetches. */
#ifndef ALLOT_TESTS_TEXTURE_REFERENCE_H
#define ALLOT_TESTS_TEXTURE_REFERENCE_H

#include "check.h"

struct textureReference {
    int normalized;
    cudaTextureFilterMode filterMode;
    cudaTextureAddressMode addressMode[3];
    cudaChannelFormatDesc channelDesc;
    int sRGB;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, reserved[14];
};
struct surfaceReference {
    cudaChannelFormatDesc channelDesc;
};

/* What start-up code is told: dimensions, and whether integers are read as floats. */
template <class T, int dimensions = 1, int mode = cudaReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture : textureReference {
    texture(int norm = 0, cudaTextureFilterMode filter = cudaFilterModePoint,
            cudaTextureAddressMode address = cudaAddressModeClamp)
    {
        memset(static_cast<textureReference *>(this), 0, sizeof(textureReference));
        normalized = norm;
        filterMode = filter;
        addressMode[0] = addressMode[1] = addressMode[2] = address;
        channelDesc = cudaCreateChannelDesc<T>();
    }
};
template <class T, int dimensions>
struct __attribute__((device_builtin_surface_type)) surface : surfaceReference {
};

extern "C" {
cudaError_t cudaBindTexture(size_t *, const textureReference *, const void *,
                            const cudaChannelFormatDesc *, size_t);
cudaError_t cudaBindTexture2D(size_t *, const textureReference *, const void *,
                              const cudaChannelFormatDesc *, size_t, size_t, size_t);
cudaError_t cudaBindTextureToArray(const textureReference *, const cudaArray *,
                                   const cudaChannelFormatDesc *);
cudaError_t cudaUnbindTexture(const textureReference *);
cudaError_t cudaGetTextureAlignmentOffset(size_t *, const textureReference *);
cudaError_t cudaGetTextureReference(const textureReference **, const void *);
cudaError_t cudaGetSurfaceReference(const surfaceReference **, const void *);
cudaError_t cudaBindSurfaceToArray(const surfaceReference *, const cudaArray *,
                                   const cudaChannelFormatDesc *);
cudaError_t cudaDeviceReset(void);
}

/* As the toolkit's headers: the size may be left out. */
template <class T, int dimensions, int mode>
cudaError_t
cudaBindTexture(size_t *offset, const texture<T, dimensions, mode> &t, const void *p,
                size_t bytes = ~0u)
{
    return cudaBindTexture(offset, &t, p, &t.channelDesc, bytes);
}

#define FETCH_RESULT "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w)
template <class T>
__device__ inline float4
tex1Dfetch(texture<T, 1, cudaReadModeElementType> t, int x)
{
    float4 r;
    asm volatile("tex.1d.v4.f32.s32 {%0,%1,%2,%3}, [%4, {%5}];"
                 : FETCH_RESULT
                 : "l"(t), "r"(x));
    return r;
}
template <class T, int mode>
__device__ inline float4
tex2D(texture<T, 2, mode> t, float x, float y)
{
    float4 r;
    asm volatile("tex.2d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5,%6}];"
                 : FETCH_RESULT
                 : "l"(t), "f"(x), "f"(y));
    return r;
}
__device__ inline void
surf2Dwrite(float v, surface<void, 2> s, int x, int y)
{
    asm volatile("sust.b.2d.b32.trap [%0, {%1,%2}], {%3};" ::"l"(s), "r"(x), "r"(y),
                 "f"(v)
                 : "memory");
}

#endif
