/* cuda_runtime.h: as much of CUDA's runtime API as the programs of this folder use, for
 * clang without a CUDA toolkit: host declarations here, the device side in
 * workloads/include/allot_device.h. Layouts and numbers are those of CUDA 13's binary
 * interface. nvcc never sees this file. */
#ifndef ALLOT_TESTS_CUDA_RUNTIME_H
#define ALLOT_TESTS_CUDA_RUNTIME_H

#include "allot_device.h"

#include <stddef.h>

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidTexture = 18,
    cudaErrorInvalidTextureBinding = 19,
    cudaErrorInvalidChannelDescriptor = 20,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInvalidDevice = 101,
    cudaErrorAlreadyMapped = 208,
    cudaErrorNotMapped = 211,
    cudaErrorInvalidGraphicsContext = 219,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorIllegalAddress = 700,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorCooperativeLaunchTooLarge = 720
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrReservedSharedMemoryPerBlock = 111
};
enum {
    cudaStreamDefault = 0,
    cudaStreamNonBlocking = 1,
    cudaEventDefault = 0,
    cudaEventDisableTiming = 2,
    cudaHostAllocDefault = 0,
    cudaHostAllocMapped = 2,
    cudaHostRegisterMapped = 2,
    cudaMemAttachGlobal = 1,
    cudaArrayDefault = 0,
    cudaArrayLayered = 1,
    cudaArraySurfaceLoadStore = 2,
    cudaArrayCubemap = 4
};

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct cudaArray *cudaArray_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
#define cudaStreamPerThread ((cudaStream_t)2)
#define CUDART_CB

struct cudaExtent {
    size_t width, height, depth;
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};
static inline cudaExtent
make_cudaExtent(size_t w, size_t h, size_t d)
{
    return cudaExtent{w, h, d};
}
static inline cudaPitchedPtr
make_cudaPitchedPtr(void *p, size_t pitch, size_t x, size_t y)
{
    return cudaPitchedPtr{p, pitch, x, y};
}
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};
struct cudaDeviceProp {
    char name[256], uuid[16], luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int multiProcessorCount, rest[155];
};
static_assert(sizeof(cudaDeviceProp) == 1008, "cudaDeviceProp of CUDA 13");
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA,
        maxDynamicSharedSizeBytes, rest[23];
};
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
    long reserved[8];
};

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat
};
struct cudaChannelFormatDesc {
    int x, y, z, w;
    cudaChannelFormatKind f;
};
enum cudaResourceType {
    cudaResourceTypeArray,
    cudaResourceTypeMipmappedArray,
    cudaResourceTypeLinear,
    cudaResourceTypePitch2D
};
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
};
enum cudaTextureAddressMode {
    cudaAddressModeWrap,
    cudaAddressModeClamp,
    cudaAddressModeMirror,
    cudaAddressModeBorder
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem = 0,
                                     cudaStream_t stream = 0);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *smem,
                                       void *stream);
cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args,
                             size_t smem, cudaStream_t stream);
cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 grid, dim3 block, void **args,
                                        size_t smem, cudaStream_t stream);
const char *cudaGetErrorName(cudaError_t e);
const char *cudaGetErrorString(cudaError_t e);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device);
cudaError_t cudaMalloc(void **p, size_t n);
cudaError_t cudaMallocManaged(void **p, size_t n, unsigned flags);
cudaError_t cudaMallocHost(void **p, size_t n);
cudaError_t cudaHostAlloc(void **p, size_t n, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags);
cudaError_t cudaHostRegister(void *p, size_t n, unsigned flags);
cudaError_t cudaHostUnregister(void *p);
struct cudaGraphicsResource;
enum {
    cudaGraphicsMapFlagsNone,
    cudaGraphicsMapFlagsReadOnly,
    cudaGraphicsMapFlagsWriteDiscard
};
cudaError_t cudaGraphicsMapResources(int n, cudaGraphicsResource **r, cudaStream_t s);
cudaError_t cudaGraphicsUnmapResources(int n, cudaGraphicsResource **r, cudaStream_t s);
cudaError_t cudaGraphicsResourceGetMappedPointer(void **p, size_t *bytes,
                                                 cudaGraphicsResource *r);
cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource *r, unsigned flags);
cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource *r);
cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(cudaPitchedPtr *p, cudaExtent extent);
cudaError_t cudaMallocAsync(void **p, size_t n, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t n, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, cudaMemcpyKind kind,
                            cudaStream_t stream = 0);
cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                         size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *p);
cudaError_t cudaMemset(void *p, int value, size_t n);
cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t stream = 0);
cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent extent);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t n,
                               size_t offset, cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t n, size_t offset,
                                 cudaMemcpyKind kind);
cudaError_t cudaGetSymbolAddress(void **p, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *n, const void *symbol);
cudaError_t cudaStreamCreate(cudaStream_t *s);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags = 0);
cudaError_t cudaStreamAddCallback(cudaStream_t s,
                                  void (*fn)(cudaStream_t, cudaError_t, void *),
                                  void *user, unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t s, void (*fn)(void *), void *user);
cudaError_t cudaEventCreate(cudaEvent_t *e);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *f);
cudaError_t cudaFuncSetAttribute(const void *f, cudaFuncAttribute attr, int value);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *f,
                                                          int threads, size_t smem);
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind);
cudaError_t cudaMallocArray(cudaArray_t *a, const cudaChannelFormatDesc *desc,
                            size_t width, size_t height = 0, unsigned flags = 0);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *a,
                                     const cudaChannelFormatDesc *desc, cudaExtent extent,
                                     unsigned levels, unsigned flags = 0);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t a);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_t a,
                                       unsigned n);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *desc, cudaExtent *extent,
                             unsigned *flags, cudaArray_t a);
cudaError_t cudaMalloc3DArray(cudaArray_t *a, const cudaChannelFormatDesc *desc,
                              cudaExtent extent, unsigned flags = 0);
cudaError_t cudaFreeArray(cudaArray_t a);
cudaError_t cudaMemcpy2DToArray(cudaArray_t a, size_t x, size_t y, const void *p,
                                size_t pitch, size_t width, size_t height,
                                cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void *p, size_t pitch, cudaArray_t a, size_t x,
                                  size_t y, size_t width, size_t height,
                                  cudaMemcpyKind kind);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *t, const cudaResourceDesc *r,
                                    const cudaTextureDesc *d, const void *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t t);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *s, const cudaResourceDesc *r);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t s);
}

/* -- what C++ callers write without casts -- */
template <typename T>
static inline cudaError_t
cudaMalloc(T **p, size_t n)
{
    return cudaMalloc((void **)p, n);
}
template <typename T>
static inline cudaError_t
cudaMallocManaged(T **p, size_t n, unsigned flags = 1)
{
    return cudaMallocManaged((void **)p, n, flags);
}
template <typename T>
static inline cudaError_t
cudaMallocHost(T **p, size_t n)
{
    return cudaMallocHost((void **)p, n);
}
template <typename T>
static inline cudaError_t
cudaHostAlloc(T **p, size_t n, unsigned flags)
{
    return cudaHostAlloc((void **)p, n, flags);
}
template <typename T>
static inline cudaError_t
cudaHostGetDevicePointer(T **d, void *h, unsigned flags)
{
    return cudaHostGetDevicePointer((void **)d, h, flags);
}
template <typename T>
static inline cudaError_t
cudaMallocPitch(T **p, size_t *pitch, size_t w, size_t h)
{
    return cudaMallocPitch((void **)p, pitch, w, h);
}
template <typename T>
static inline cudaError_t
cudaMallocAsync(T **p, size_t n, cudaStream_t s)
{
    return cudaMallocAsync((void **)p, n, s);
}
template <typename T>
static inline cudaError_t
cudaMemcpyToSymbol(const T &symbol, const void *src, size_t n, size_t offset = 0,
                   cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return cudaMemcpyToSymbol((const void *)&symbol, src, n, offset, kind);
}
template <typename T>
static inline cudaError_t
cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t n, size_t offset = 0,
                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return cudaMemcpyFromSymbol(dst, (const void *)&symbol, n, offset, kind);
}
template <typename T>
static inline cudaError_t
cudaGetSymbolAddress(void **p, const T &symbol)
{
    return cudaGetSymbolAddress(p, (const void *)&symbol);
}
template <typename T>
static inline cudaError_t
cudaGetSymbolSize(size_t *n, const T &symbol)
{
    return cudaGetSymbolSize(n, (const void *)&symbol);
}
template <typename T>
static inline cudaError_t
cudaFuncGetAttributes(cudaFuncAttributes *a, T *f)
{
    return cudaFuncGetAttributes(a, (const void *)f);
}
template <typename T>
static inline cudaError_t
cudaFuncSetAttribute(T *f, cudaFuncAttribute attr, int value)
{
    return cudaFuncSetAttribute((const void *)f, attr, value);
}
template <typename T>
static inline cudaError_t
cudaLaunchCooperativeKernel(T *f, dim3 grid, dim3 block, void **args, size_t smem,
                            cudaStream_t stream)
{
    return cudaLaunchCooperativeKernel((const void *)f, grid, block, args, smem, stream);
}
template <typename T>
static inline cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T *f, int threads, size_t smem)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)f, threads,
                                                         smem);
}
template <typename T> static inline cudaChannelFormatDesc cudaCreateChannelDesc();
template <>
inline cudaChannelFormatDesc
cudaCreateChannelDesc<float>()
{
    return cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
}
template <>
inline cudaChannelFormatDesc
cudaCreateChannelDesc<float4>()
{
    return cudaCreateChannelDesc(32, 32, 32, 32, cudaChannelFormatKindFloat);
}
template <>
inline cudaChannelFormatDesc
cudaCreateChannelDesc<int>()
{
    return cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
}
template <>
inline cudaChannelFormatDesc
cudaCreateChannelDesc<unsigned char>()
{
    return cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
}
template <>
inline cudaChannelFormatDesc
cudaCreateChannelDesc<uchar4>()
{
    return cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
}

/* -- textures and surfaces in kernels: PTX ISA, "Texture instructions" -- */
struct allot_quad {
    float x, y, z, w;
    __device__ operator float() const
    {
        return x;
    }
    __device__ operator float4() const
    {
        return make_float4(x, y, z, w);
    }
};
template <typename T>
static __device__ __forceinline__ T
tex1Dfetch(cudaTextureObject_t t, int x)
{
    allot_quad q;
    asm volatile("tex.1d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
                 : "=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w)
                 : "l"(t), "r"(x));
    return q;
}
template <typename T>
static __device__ __forceinline__ T
tex2D(cudaTextureObject_t t, float x, float y)
{
    allot_quad q;
    asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : "=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w)
                 : "l"(t), "f"(x), "f"(y));
    return q;
}
template <typename T>
static __device__ __forceinline__ T
tex3D(cudaTextureObject_t t, float x, float y, float z)
{
    allot_quad q;
    asm volatile("tex.3d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
                 : "=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w)
                 : "l"(t), "f"(x), "f"(y), "f"(z));
    return q;
}
template <typename T>
static __device__ __forceinline__ T
tex2DLod(cudaTextureObject_t t, float x, float y, float level)
{
    allot_quad q;
    asm volatile("tex.level.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7;"
                 : "=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w)
                 : "l"(t), "f"(x), "f"(y), "f"(level));
    return q;
}
template <typename T>
static __device__ __forceinline__ T
texCubemap(cudaTextureObject_t t, float x, float y, float z)
{
    allot_quad q;
    asm volatile("tex.cube.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
                 : "=f"(q.x), "=f"(q.y), "=f"(q.z), "=f"(q.w)
                 : "l"(t), "f"(x), "f"(y), "f"(z));
    return q;
}
/* x in bytes, as CUDA has it. */
static __device__ __forceinline__ void
surf2Dread(uchar4 *v, cudaSurfaceObject_t s, int x, int y)
{
    unsigned a, b, c, d;
    asm volatile("suld.b.2d.v4.b8.trap {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "l"(s), "r"(x), "r"(y));
    *v = make_uchar4(a, b, c, d);
}
static __device__ __forceinline__ void
surf2Dwrite(uchar4 v, cudaSurfaceObject_t s, int x, int y)
{
    asm volatile("sust.b.2d.v4.b8.trap [%0, {%1, %2}], {%3, %4, %5, %6};" ::"l"(s),
                 "r"(x), "r"(y), "r"((unsigned)v.x), "r"((unsigned)v.y),
                 "r"((unsigned)v.z), "r"((unsigned)v.w)
                 : "memory");
}

#endif
