/* driver_api.c: a program of the CUDA driver API that needs nothing of CUDA's to be
 * built: it opens libcuda.so.1 itself, as many frameworks do. Every result is checked;
 * the exit status is the number of failed checks. Usage: driver_api (kernels are below as
 * PTX). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- what is used of the interface -- */
typedef uint64_t dptr;
typedef struct {
    size_t x, y;
    int type;
    const void *host;
    dptr device;
    void *array;
    size_t pitch;
} side2d;
typedef struct {
    side2d src, dst;
    size_t width, height;
} copy2d;

typedef struct {
    size_t width, height;
    int format;
    unsigned channels;
} array_desc;
typedef struct {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array3d_desc;
typedef struct {
    int type;
    union {
        void *array;
        int reserved[32];
    } res;
    unsigned flags;
} resource;
typedef struct {
    int address[3], filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float bias, min, max, border[4];
    int reserved[12];
} texture;

#define FUNCTIONS                                                                        \
    F(cuInit, (unsigned))                                                                \
    F(cuDriverGetVersion, (int *))                                                       \
    F(cuGetErrorName, (int, const char **))                                              \
    F(cuGetErrorString, (int, const char **))                                            \
    F(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))                \
    F(cuDeviceGet, (int *, int))                                                         \
    F(cuDeviceGetCount, (int *))                                                         \
    F(cuDeviceGetName, (char *, int, int))                                               \
    F(cuDeviceGetAttribute, (int *, int, int))                                           \
    F(cuDeviceTotalMem_v2, (size_t *, int))                                              \
    F(cuDevicePrimaryCtxRetain, (void **, int))                                          \
    F(cuDevicePrimaryCtxRelease_v2, (int))                                               \
    F(cuDevicePrimaryCtxGetState, (int, unsigned *, int *))                              \
    F(cuCtxCreate_v2, (void **, unsigned, int))                                          \
    F(cuCtxDestroy_v2, (void *))                                                         \
    F(cuCtxPushCurrent_v2, (void *))                                                     \
    F(cuCtxPopCurrent_v2, (void **))                                                     \
    F(cuCtxSetCurrent, (void *))                                                         \
    F(cuCtxGetCurrent, (void **))                                                        \
    F(cuCtxSynchronize, (void))                                                          \
    F(cuModuleLoadData, (void **, const void *))                                         \
    F(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))             \
    F(cuModuleUnload, (void *))                                                          \
    F(cuModuleGetFunction, (void **, void *, const char *))                              \
    F(cuModuleGetGlobal_v2, (dptr *, size_t *, void *, const char *))                    \
    F(cuLibraryLoadData,                                                                 \
      (void **, const void *, int *, void **, unsigned, int *, void **, unsigned))       \
    F(cuLibraryGetKernel, (void **, void *, const char *))                               \
    F(cuLinkCreate_v2, (unsigned, int *, void **, void **))                              \
    F(cuLinkAddData_v2,                                                                  \
      (void *, int, const void *, size_t, const char *, unsigned, int *, void **))       \
    F(cuLinkComplete, (void *, void **, size_t *))                                       \
    F(cuLinkDestroy, (void *))                                                           \
    F(cuFuncGetAttribute, (int *, int, void *))                                          \
    F(cuFuncSetAttribute, (void *, int, int))                                            \
    F(cuFuncGetParamInfo, (void *, size_t, size_t *, size_t *))                          \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t))         \
    F(cuOccupancyMaxPotentialBlockSize,                                                  \
      (int *, int *, void *, size_t (*)(int), size_t, int))                              \
    F(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, unsigned, void *, void **, void **))                    \
    F(cuMemAlloc_v2, (dptr *, size_t))                                                   \
    F(cuMemAllocPitch_v2, (dptr *, size_t *, size_t, size_t, unsigned))                  \
    F(cuMemAllocManaged, (dptr *, size_t, unsigned))                                     \
    F(cuMemFree_v2, (dptr))                                                              \
    F(cuMemHostAlloc, (void **, size_t, unsigned))                                       \
    F(cuMemHostGetDevicePointer_v2, (dptr *, void *, unsigned))                          \
    F(cuMemFreeHost, (void *))                                                           \
    F(cuMemHostRegister_v2, (void *, size_t, unsigned))                                  \
    F(cuMemHostUnregister, (void *))                                                     \
    F(cuMemGetInfo_v2, (size_t *, size_t *))                                             \
    F(cuMemGetAddressRange_v2, (dptr *, size_t *, dptr))                                 \
    F(cuMemcpyHtoD_v2, (dptr, const void *, size_t))                                     \
    F(cuMemcpyDtoH_v2, (void *, dptr, size_t))                                           \
    F(cuMemcpyDtoDAsync_v2, (dptr, dptr, size_t, void *))                                \
    F(cuMemcpy, (dptr, dptr, size_t))                                                    \
    F(cuMemcpy2D_v2, (const copy2d *))                                                   \
    F(cuMemsetD8_v2, (dptr, unsigned char, size_t))                                      \
    F(cuMemsetD32_v2, (dptr, unsigned, size_t))                                          \
    F(cuMemsetD2D16_v2, (dptr, size_t, unsigned short, size_t, size_t))                  \
    F(cuMemAllocAsync, (dptr *, size_t, void *))                                         \
    F(cuMemFreeAsync, (dptr, void *))                                                    \
    F(cuPointerGetAttribute, (void *, int, dptr))                                        \
    F(cuStreamCreate, (void **, unsigned))                                               \
    F(cuStreamDestroy_v2, (void *))                                                      \
    F(cuStreamSynchronize, (void *))                                                     \
    F(cuStreamAddCallback, (void *, void (*)(void *, int, void *), void *, unsigned))    \
    F(cuLaunchHostFunc, (void *, void (*)(void *), void *))                              \
    F(cuStreamWaitEvent, (void *, void *, unsigned))                                     \
    F(cuEventCreate, (void **, unsigned))                                                \
    F(cuEventRecord, (void *, void *))                                                   \
    F(cuEventSynchronize, (void *))                                                      \
    F(cuEventElapsedTime, (float *, void *, void *))                                     \
    F(cuEventDestroy_v2, (void *))                                                       \
    F(cuArrayCreate_v2, (void **, const array_desc *))                                   \
    F(cuArrayGetDescriptor_v2, (array_desc *, void *))                                   \
    F(cuArrayDestroy, (void *))                                                          \
    F(cuMemcpyHtoA_v2, (void *, size_t, const void *, size_t))                           \
    F(cuMipmappedArrayCreate, (void **, const array3d_desc *, unsigned))                 \
    F(cuMipmappedArrayGetLevel, (void **, void *, unsigned))                             \
    F(cuMipmappedArrayDestroy, (void *))                                                 \
    F(cuTexObjectCreate, (uint64_t *, const resource *, const texture *, void *))        \
    F(cuTexObjectGetTextureDesc, (texture *, uint64_t))                                  \
    F(cuTexObjectDestroy, (uint64_t))                                                    \
    F(cuModuleGetTexRef, (void **, void *, const char *))                                \
    F(cuTexRefSetArray, (void *, void *, unsigned))                                      \
    F(cuTexRefSetAddress_v2, (size_t *, void *, dptr, size_t))                           \
    F(cuTexRefSetFormat, (void *, int, int))                                             \
    F(cuTexRefSetFlags, (void *, unsigned))                                              \
    F(cuTexRefSetAddressMode, (void *, int, int))                                        \
    F(cuFuncSetBlockShape, (void *, int, int, int))                                      \
    F(cuParamSetSize, (void *, unsigned))                                                \
    F(cuParamSeti, (void *, int, unsigned))                                              \
    F(cuParamSetv, (void *, int, void *, unsigned))                                      \
    F(cuLaunchGrid, (void *, int, int))                                                  \
    F(cuIpcGetEventHandle, (void *, void *))

#define F(name, args) static int(*name) args;
FUNCTIONS
#undef F

static int failed;

static void
check(int got, int want, const char *what, int line)
{
    if (got == want)
        return;
    const char *name = NULL;
    if (cuGetErrorName)
        cuGetErrorName(got, &name);
    fprintf(stderr, "driver_api.c:%d: %s = %d (%s), not %d\n", line, what, got,
            name ? name : "?", want);
    failed++;
}
#define OK(call) check(call, 0, #call, __LINE__)
#define IS(expr, want) check(expr, want, #expr, __LINE__)

enum {
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    NOT_SUPPORTED = 801
};

/* -- kernels -- */
#define HEAD ".version 6.0\n.target sm_30\n.address_size 64\n"
/* p[i] = i * k + table[i % 4], n threads; .const table */
static const char kernels[] = HEAD
    ".const .align 4 .b32 table[4] = {10, 20, 30, 40};\n"
    ".global .align 4 .b32 counter;\n"
    ".visible .entry fill(.param .u64 p, .param .u32 n, .param .u8 k)\n{\n"
    ".reg .pred %q;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n"
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n"
    "mad.lo.u32 %r0, %r0, %r1, %r2;\n"
    "ld.param.u32 %r3, [n]; setp.ge.u32 %q, %r0, %r3; @%q bra done;\n"
    "ld.param.u8 %r4, [k]; and.b32 %r5, %r0, 3; mul.wide.u32 %d0, %r5, 4;\n"
    "mov.u64 %d1, table; add.u64 %d0, %d0, %d1; ld.const.u32 %r6, [%d0];\n"
    "mad.lo.u32 %r4, %r0, %r4, %r6;\n"
    "ld.param.u64 %d2, [p]; mul.wide.u32 %d3, %r0, 4; add.u64 %d2, %d2, %d3;\n"
    "st.global.u32 [%d2], %r4;\n"
    "atom.global.add.u32 %r7, [counter], 1;\n"
    "done: ret;\n}\n"
    ".visible .entry wild()\n{\n.reg .b64 %d;\nmov.u64 %d, 16;\n"
    "st.global.u32 [%d], 1;\nret;\n}\n"
    ".extern .shared .align 4 .b8 room[];\n"
    ".visible .entry large(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.reg .b64 %d;\n"
    "mov.u32 %r0, %dynamic_smem_size; ld.param.u64 %d, [p]; st.global.u32 [%d], %r0;\n"
    "mov.u32 %r1, room; st.shared.u32 [%r1], %r0;\nret;\n}\n";
static const char caller[] = HEAD
    ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
    ".visible .entry apply(.param .u64 p)\n{\n.reg .b32 %r;\n.reg .b64 %d;\n"
    "ld.param.u64 %d, [p]; ld.global.u32 %r, [%d];\n"
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r; call.uni (b), twice, (a); "
    "ld.param.b32 %r, [b]; }\n"
    "st.global.u32 [%d], %r;\nret;\n}\n";
static const char callee[] =
    HEAD ".visible .func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r;\n"
         "ld.param.b32 %r, [x]; add.u32 %r, %r, %r; st.param.b32 [r], %r;\nret;\n}\n";

/* p[i] = tex(x, 0), with x = i - 1, through an object and through a reference */
static const char textures[] = HEAD
    ".global .texref ref;\n"
    ".visible .entry object(.param .u64 p, .param .u64 t)\n{\n.reg .b32 %r<4>;\n"
    ".reg .f32 %f<5>;\n.reg .b64 %d<4>;\nld.param.u64 %d0, [p]; ld.param.u64 %d1, [t];\n"
    "mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.u64 %d0, %d0, %d2;\n"
    "add.s32 %r1, %r0, -1; cvt.rn.f32.s32 %f0, %r1; add.f32 %f0, %f0, 0f3F000000;\n"
    "mov.f32 %f1, 0f00000000;\n"
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f0, %f1}];\n"
    "st.global.f32 [%d0], %f1;\nret;\n}\n"
    ".visible .entry reference(.param .u64 p)\n{\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n"
    "ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4;\n"
    "add.u64 %d0, %d0, %d2; add.s32 %r1, %r0, -1;\n"
    "tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [ref, {%r1}];\n"
    "st.global.u32 [%d0], %r2;\nret;\n}\n";

static int device;
static void *module;

static void
before_start(void)
{
    int n;
    void *context;
    dptr p;
    IS(cuDeviceGetCount(&n), NOT_INITIALIZED);
    IS(cuMemAlloc_v2(&p, 4), NOT_INITIALIZED);
    OK(cuDriverGetVersion(&n));
    IS(n >= 13000, 1);
    IS(cuInit(7), INVALID_VALUE);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&n));
    IS(n, 1);
    OK(cuDeviceGet(&device, 0));
    IS(cuDeviceGet(&device, 1), 101);
    IS(cuMemAlloc_v2(&p, 4), INVALID_CONTEXT);
    IS(cuCtxSynchronize(), INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&context));
    IS(context == NULL, 1);
}

static void
properties(void)
{
    char name[100];
    int v = 0, sms = 0, major = 0;
    size_t total = 0;
    OK(cuDeviceGetName(name, sizeof name, device));
    OK(cuDeviceTotalMem_v2(&total, device));
    OK(cuDeviceGetAttribute(&sms, 16, device));
    OK(cuDeviceGetAttribute(&major, 75, device));
    /* every attribute of CUDA 13 has an answer */
    for (int i = 1; i <= 147; i++)
        if (cuDeviceGetAttribute(&v, i, device)) {
            fprintf(stderr, "attribute %d has no value\n", i);
            failed++;
        }
    IS(cuDeviceGetAttribute(&v, 100000, device), INVALID_VALUE);
    IS(total > 0 && sms > 0 && major > 0, 1);
    printf("%s: %d SMs, compute capability %d.x\n", name, sms, major);
    const char *text = NULL;
    OK(cuGetErrorName(2, &text));
    IS(strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY"), 0);
    IS(cuGetErrorName(12345, &text), INVALID_VALUE);
    OK(cuGetErrorString(700, &text));
    IS(text != NULL, 1);
}

static void
contexts(void)
{
    void *a, *b, *c, *primary;
    unsigned flags;
    int active;
    OK(cuCtxCreate_v2(&a, 0, device));
    OK(cuCtxCreate_v2(&b, 0, device));
    OK(cuCtxGetCurrent(&c));
    IS(c == b, 1);
    OK(cuCtxPopCurrent_v2(&c));
    IS(c == b, 1);
    OK(cuCtxGetCurrent(&c));
    IS(c == a, 1);
    OK(cuCtxPushCurrent_v2(b));
    OK(cuCtxDestroy_v2(b));
    IS(cuCtxPushCurrent_v2(b), INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&c));
    IS(c == a, 1);
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    IS(active, 0);
    OK(cuDevicePrimaryCtxRetain(&primary, device));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    IS(active, 1);
    OK(cuCtxSetCurrent(primary));
    OK(cuCtxDestroy_v2(a));
    OK(cuCtxSynchronize());
}

static void
modules(void)
{
    void *f;
    dptr p;
    size_t n;
    char log[400] = "";
    int options[] = {5, 6};
    void *values[] = {log, (void *)sizeof log};
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&f, module, "fill"));
    IS(cuModuleGetFunction(&f, module, "no such"), NOT_FOUND);
    OK(cuModuleGetGlobal_v2(&p, &n, module, "table"));
    IS((int)n, 16);
    IS(cuModuleGetGlobal_v2(&p, &n, module, "nothing"), NOT_FOUND);
    uint32_t table[4];
    OK(cuModuleGetGlobal_v2(&p, &n, module, "table"));
    OK(cuMemcpyDtoH_v2(table, p, n));
    IS((int)table[2], 30);
    /* what is wrong goes to the log */
    void *bad;
    IS(cuModuleLoadDataEx(&bad, HEAD ".visible .entry k() { add.s32 %r0, 1; }", 2,
                          options, values),
       INVALID_PTX);
    IS(strstr(log, "%r0") != NULL, 1);
    IS((int)(size_t)values[1] == (int)strlen(log), 1);
    IS(cuModuleUnload((void *)&log), INVALID_HANDLE);
}

static void
launches(void)
{
    void *f, *stream, *from, *to;
    dptr p, counter;
    uint32_t n = 1000, got[1000], count = 0;
    unsigned char k = 7;
    float ms = -1;
    size_t size, offset;
    OK(cuModuleGetFunction(&f, module, "fill"));
    OK(cuModuleGetGlobal_v2(&counter, &size, module, "counter"));
    OK(cuMemAlloc_v2(&p, 4 * n));
    OK(cuStreamCreate(&stream, 1));
    OK(cuEventCreate(&from, 0));
    OK(cuEventCreate(&to, 0));
    void *args[] = {&p, &n, &k};
    OK(cuEventRecord(from, stream));
    OK(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, stream, args, NULL));
    OK(cuEventRecord(to, stream));
    OK(cuStreamWaitEvent(stream, to, 0));
    OK(cuStreamSynchronize(stream));
    OK(cuEventSynchronize(to));
    OK(cuEventElapsedTime(&ms, from, to));
    IS(ms > 0 && ms < 1000, 1);
    OK(cuMemcpyDtoH_v2(got, p, sizeof got));
    for (unsigned i = 0; i < n; i++)
        if (got[i] != i * 7 + 10 * (i % 4 + 1)) {
            fprintf(stderr, "fill: p[%u] = %u\n", i, got[i]);
            failed++;
            break;
        }
    OK(cuMemcpyDtoH_v2(&count, counter, 4));
    IS((int)count, 1000);
    /* the same with a packed buffer: u64, u32, u8 */
    unsigned char packed[16] = {0};
    memcpy(packed, &p, 8);
    memcpy(packed + 8, &n, 4);
    packed[12] = 3;
    size = 13;
    void *extra[] = {(void *)1, packed, (void *)2, &size, NULL};
    OK(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    OK(cuMemcpyDtoH_v2(got, p, sizeof got));
    IS((int)got[999], 999 * 3 + 40);
    size = 12; /* one byte is missing */
    IS(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra), INVALID_VALUE);
    OK(cuFuncGetParamInfo(f, 2, &offset, &size));
    IS(offset == 12 && size == 1, 1);
    IS(cuFuncGetParamInfo(f, 3, &offset, &size), INVALID_VALUE);
    /* bad launches */
    IS(cuLaunchKernel(f, 0, 1, 1, 128, 1, 1, 0, NULL, args, NULL), INVALID_VALUE);
    IS(cuLaunchKernel(f, 1, 1, 1, 4096, 1, 1, 0, NULL, args, NULL), INVALID_VALUE);
    IS(cuLaunchKernel((void *)args, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL),
       INVALID_HANDLE);
    OK(cuEventDestroy_v2(from));
    OK(cuEventDestroy_v2(to));
    IS(cuEventRecord(to, NULL), INVALID_HANDLE);
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(p));
    IS(cuMemFree_v2(p), INVALID_VALUE);
}

static void
functions(void)
{
    void *f;
    int v, most, blocks, grid = 0, block = 0, sms = 0, threads = 0;
    dptr p;
    uint32_t got = 0;
    OK(cuModuleGetFunction(&f, module, "large"));
    OK(cuDeviceGetAttribute(&most, 8, device));
    OK(cuDeviceGetAttribute(&sms, 16, device));
    OK(cuDeviceGetAttribute(&threads, 39, device));
    OK(cuFuncGetAttribute(&v, 0, f));
    IS(v >= 32, 1);
    OK(cuFuncGetAttribute(&v, 4, f));
    IS(v > 0, 1);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 0));
    IS(blocks >= 1 && blocks * 128 <= threads, 1);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, 128, (size_t)most));
    IS(v >= 1 && v < blocks, 1);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
    IS(block >= 32 && grid >= sms, 1);
    OK(cuMemAlloc_v2(&p, 4));
    void *args[] = {&p};
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, (unsigned)most, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(&got, p, 4));
    IS((int)got, most);
    IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, (unsigned)most + (1 << 20), NULL, args, NULL),
       INVALID_VALUE);
    IS(cuFuncSetAttribute(f, 8, 1 << 30), INVALID_VALUE);
    OK(cuFuncSetAttribute(f, 8, 1024));
    IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 2048, NULL, args, NULL), INVALID_VALUE);
    OK(cuMemFree_v2(p));
}

static void
linking(void)
{
    void *link, *image, *linked, *f;
    size_t n;
    dptr p;
    uint32_t v = 21;
    OK(cuLinkCreate_v2(0, NULL, NULL, &link));
    OK(cuLinkAddData_v2(link, 1, caller, sizeof caller, "caller", 0, NULL, NULL));
    OK(cuLinkAddData_v2(link, 1, callee, sizeof callee, "callee", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, &n));
    OK(cuModuleLoadData(&linked, image));
    OK(cuLinkDestroy(link));
    OK(cuModuleGetFunction(&f, linked, "apply"));
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuMemcpyHtoD_v2(p, &v, 4));
    void *args[] = {&p};
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(&v, p, 4));
    IS((int)v, 42);
    OK(cuModuleUnload(linked));
    /* a name that nobody defines */
    char log[400] = "";
    int options[] = {5, 6};
    void *values[] = {log, (void *)sizeof log};
    OK(cuLinkCreate_v2(2, options, values, &link));
    OK(cuLinkAddData_v2(link, 1, caller, sizeof caller, "caller", 0, NULL, NULL));
    OK(cuLinkAddData_v2(link, 1, caller, sizeof caller, "again", 0, NULL, NULL));
    IS(cuLinkComplete(link, &image, &n), INVALID_PTX);
    IS(strstr(log, "twice") != NULL || strstr(log, "apply") != NULL, 1);
    OK(cuLinkDestroy(link));
    /* libraries: kernels are launched as functions are */
    void *library;
    OK(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&f, library, "large"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 64, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(&v, p, 4));
    IS((int)v, 64);
    OK(cuMemFree_v2(p));
}

static void
memory(void)
{
    dptr p, q, base;
    size_t pitch, n, free_bytes, total;
    uint16_t rows[4][8], want[4][8];
    unsigned char bytes[64];
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    OK(cuMemAllocPitch_v2(&p, &pitch, 16, 4, 4));
    IS(pitch >= 16 && pitch % 16 == 0, 1);
    size_t free_after;
    OK(cuMemGetInfo_v2(&free_after, &total));
    IS(free_after < free_bytes && total >= free_bytes, 1);
    OK(cuMemGetAddressRange_v2(&base, &n, p + 5));
    IS(base == p && n == 4 * pitch, 1);
    OK(cuMemsetD2D16_v2(p, pitch, 0x1234, 8, 4));
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 8; x++)
            want[y][x] =
                y >= 1 && y < 3 && x >= 2 && x < 6 ? (uint16_t)(y * 8 + x) : 0x1234;
    /* a box of 4 x 2 out of want to the same place */
    copy2d c = {.src = {.x = 4, .y = 1, .type = 1, .host = want, .pitch = 16},
                .dst = {.x = 4, .y = 1, .type = 2, .device = p, .pitch = pitch},
                .width = 8,
                .height = 2};
    OK(cuMemcpy2D_v2(&c));
    c = (copy2d){.src = {.type = 2, .device = p, .pitch = pitch},
                 .dst = {.type = 1, .host = rows, .pitch = 16},
                 .width = 16,
                 .height = 4};
    OK(cuMemcpy2D_v2(&c));
    IS(memcmp(rows, want, sizeof rows), 0);
    c.src.type = 9;
    IS(cuMemcpy2D_v2(&c), INVALID_VALUE);
    OK(cuMemFree_v2(p));

    OK(cuMemAlloc_v2(&p, 64));
    OK(cuMemAllocAsync(&q, 64, NULL));
    OK(cuMemsetD8_v2(p, 7, 64));
    OK(cuMemsetD32_v2(p + 8, 0x01020304, 2));
    OK(cuMemcpyDtoDAsync_v2(q, p, 64, NULL));
    OK(cuMemcpyDtoH_v2(bytes, q, 64));
    IS(bytes[7] == 7 && bytes[8] == 4 && bytes[15] == 1 && bytes[16] == 7, 1);
    IS(cuMemsetD32_v2(p + 2, 0, 1), INVALID_VALUE);
    IS(cuMemcpyDtoH_v2(bytes, p, 65), INVALID_VALUE);
    IS(cuMemcpyHtoD_v2(12345, bytes, 1), INVALID_VALUE);
    OK(cuMemFreeAsync(q, NULL));

    /* memory of the host that kernels reach, and what pointers are */
    void *pinned, *f;
    dptr managed, mapped;
    unsigned type = 0;
    uint32_t one = 1, *own = malloc(256);
    OK(cuMemHostAlloc(&pinned, 256, 2));
    OK(cuMemHostGetDevicePointer_v2(&mapped, pinned, 0));
    OK(cuMemAllocManaged(&managed, 256, 1));
    OK(cuMemHostRegister_v2(own, 256, 2));
    IS(cuMemHostRegister_v2(own, 256, 2), 712);
    OK(cuPointerGetAttribute(&type, 2, p));
    IS((int)type, 2);
    OK(cuPointerGetAttribute(&type, 2, mapped));
    IS((int)type, 1);
    IS(cuPointerGetAttribute(&type, 2, (dptr)(uintptr_t)bytes), INVALID_VALUE);
    OK(cuModuleGetFunction(&f, module, "fill"));
    unsigned char k = 5;
    dptr places[] = {mapped, managed, (dptr)(uintptr_t)own};
    uint32_t *hosts[] = {pinned, (uint32_t *)(uintptr_t)managed, own};
    for (int i = 0; i < 3; i++) {
        void *args[] = {&places[i], &one, &k};
        hosts[i][0] = 0;
        OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
        OK(cuCtxSynchronize());
        IS((int)hosts[i][0], 10);
    }
    OK(cuMemcpy(p, mapped, 4));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree_v2(managed));
    OK(cuMemHostUnregister(own));
    free(own);
    OK(cuMemFree_v2(p));
}

static void
texture_objects(void)
{
    enum { FLOAT = 0x20, U32 = 3 };
    void *array, *m, *f, *ref;
    float texels[4] = {1.5f, 2.5f, 3.5f, 4.5f}, got[6];
    uint32_t words[4] = {10, 20, 30, 40}, out[6];
    uint64_t handle;
    dptr p, q;
    size_t offset = 7;
    array_desc d = {4, 1, FLOAT, 1}, back;
    OK(cuModuleLoadData(&m, textures));
    OK(cuArrayCreate_v2(&array, &d));
    OK(cuArrayGetDescriptor_v2(&back, array));
    IS(back.width == 4 && back.format == FLOAT && back.channels == 1, 1);
    OK(cuMemcpyHtoA_v2(array, 0, texels, sizeof texels));
    resource r = {.type = 0, .res.array = array};
    texture t = {.address = {1, 1, 1}}, asked;
    OK(cuTexObjectCreate(&handle, &r, &t, NULL));
    OK(cuTexObjectGetTextureDesc(&asked, handle));
    IS(asked.address[0], 1);
    OK(cuMemAlloc_v2(&p, sizeof got));
    OK(cuModuleGetFunction(&f, m, "object"));
    void *args[] = {&p, &handle};
    OK(cuLaunchKernel(f, 1, 1, 1, 6, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(got, p, sizeof got));
    for (int i = 0; i < 6; i++)
        IS(got[i] == texels[i < 1 ? 0 : i > 4 ? 3 : i - 1], 1);
    /* a box of a two-dimensional array, written and read */
    void *plane;
    float in[2][3] = {{1, 2, 3}, {4, 5, 6}}, back2d[4][4] = {{0}};
    d = (array_desc){4, 4, FLOAT, 1};
    OK(cuArrayCreate_v2(&plane, &d));
    copy2d c = {.src = {.type = 1, .host = in, .pitch = 12},
                .dst = {.x = 4, .y = 2, .type = 3, .array = plane},
                .width = 12,
                .height = 2};
    OK(cuMemcpy2D_v2(&c));
    c = (copy2d){.src = {.type = 3, .array = plane},
                 .dst = {.type = 1, .host = back2d, .pitch = 16},
                 .width = 16,
                 .height = 4};
    OK(cuMemcpy2D_v2(&c));
    IS(back2d[1][1] == 0 && back2d[2][0] == 0 && back2d[2][1] == 1 && back2d[3][3] == 6,
       1);
    c.width = 20;
    IS(cuMemcpy2D_v2(&c) != 0, 1);
    OK(cuArrayDestroy(plane));
    OK(cuTexObjectDestroy(handle));
    IS(cuTexObjectDestroy(handle), INVALID_HANDLE);
    OK(cuArrayDestroy(array));
    IS(cuArrayDestroy(array), INVALID_HANDLE);

    /* mipmaps: their levels are arrays, which go with them */
    array3d_desc mips = {8, 2, 0, FLOAT, 1, 0};
    void *level;
    IS(cuMipmappedArrayCreate(&array, &mips, 5), INVALID_VALUE); /* 8, 4, 2, 1 */
    OK(cuMipmappedArrayCreate(&array, &mips, 4));
    IS(cuMipmappedArrayGetLevel(&level, array, 4), INVALID_VALUE);
    OK(cuMipmappedArrayGetLevel(&level, array, 1));
    OK(cuArrayGetDescriptor_v2(&back, level));
    IS(back.width == 4 && back.height == 1 && back.format == FLOAT, 1);
    OK(cuMemcpyHtoA_v2(level, 0, texels, sizeof texels));
    r.res.array = level;
    OK(cuTexObjectCreate(&handle, &r, &t, NULL));
    OK(cuLaunchKernel(f, 1, 1, 1, 6, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH_v2(got, p, sizeof got));
    for (int i = 0; i < 6; i++)
        IS(got[i] == texels[i < 1 ? 0 : i > 4 ? 3 : i - 1], 1);
    OK(cuTexObjectDestroy(handle));
    r.res.array = array; /* not an array itself */
    IS(cuTexObjectCreate(&handle, &r, &t, NULL), INVALID_HANDLE);
    r.type = 1;
    t.flags = 2;
    OK(cuTexObjectCreate(&handle, &r, &t, NULL));
    OK(cuTexObjectDestroy(handle));
    IS(cuArrayDestroy(level), INVALID_HANDLE);
    IS(cuArrayDestroy(array), INVALID_HANDLE);
    OK(cuMipmappedArrayDestroy(array));
    IS(cuArrayGetDescriptor_v2(&back, level), INVALID_HANDLE);
    t.flags = 0;

    /* as CUDA 3 had it: a reference to linear memory, a launch in steps */
    OK(cuMemAlloc_v2(&q, sizeof words));
    OK(cuMemcpyHtoD_v2(q, words, sizeof words));
    OK(cuModuleGetTexRef(&ref, m, "ref"));
    IS(cuModuleGetTexRef(&ref, m, "object"), NOT_FOUND);
    OK(cuTexRefSetFormat(ref, U32, 1));
    IS(cuTexRefSetFormat(ref, U32, 3), INVALID_VALUE);
    OK(cuTexRefSetFlags(ref, 1));
    OK(cuTexRefSetAddressMode(ref, 0, 1));
    OK(cuTexRefSetAddress_v2(&offset, ref, q, sizeof words));
    IS((int)offset, 0);
    OK(cuModuleGetFunction(&f, m, "reference"));
    OK(cuFuncSetBlockShape(f, 6, 1, 1));
    OK(cuParamSetSize(f, 8));
    OK(cuParamSetv(f, 0, &p, 8));
    IS(cuParamSeti(f, 4095, 1), INVALID_VALUE);
    OK(cuLaunchGrid(f, 1, 1));
    OK(cuMemcpyDtoH_v2(out, p, sizeof out));
    for (int i = 1; i < 5; i++)
        IS((int)out[i], 10 * i);
    OK(cuMemFree_v2(p));
    OK(cuMemFree_v2(q));
    OK(cuModuleUnload(m));
}

static void
count_call(void *user)
{
    ++*(int *)user;
}

static void
count_callback(void *stream, int status, void *user)
{
    *(int *)user += status == 0 ? 10 : 1000;
}

static void
hosts_functions(void)
{
    int calls = 0;
    OK(cuLaunchHostFunc(NULL, count_call, &calls));
    OK(cuStreamAddCallback(NULL, count_callback, &calls, 0));
    OK(cuCtxSynchronize());
    IS(calls, 11);
}

static void
entry_points(void)
{
    void *old = NULL, *now = NULL, *thread = NULL, *event;
    int status = -1;
    OK(cuGetProcAddress_v2("cuMemAlloc", &now, 13000, 0, &status));
    IS(now == (void *)(uintptr_t)cuMemAlloc_v2 && status == 0, 1);
    OK(cuGetProcAddress_v2("cuMemFreeAsync", &old, 11000, 0, &status));
    IS(!old && status == 2, 1);
    OK(cuGetProcAddress_v2("cuSomething", &old, 13000, 0, &status));
    IS(!old && status == 1, 1);
    IS(cuGetProcAddress_v2("cuSomething", &old, 13000, 0, NULL), NOT_FOUND);
    OK(cuGetProcAddress_v2("cuLaunchKernel", &thread, 13000, 2, &status));
    IS(thread != NULL && status == 0, 1);
    IS(cuIpcGetEventHandle(&event, NULL), NOT_SUPPORTED);
}

static void
faults(void)
{
    void *f;
    dptr p;
    OK(cuModuleGetFunction(&f, module, "wild"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    IS(cuCtxSynchronize(), ILLEGAL_ADDRESS);
    IS(cuMemAlloc_v2(&p, 4), ILLEGAL_ADDRESS); /* until the context goes */
    OK(cuDevicePrimaryCtxRelease_v2(device));
    IS(cuCtxSynchronize(), INVALID_CONTEXT);
    void *context, *later;
    OK(cuCtxCreate_v2(&context, 0, device));
    OK(cuMemAlloc_v2(&p, 4));
    /* a kernel that cannot run: its launch tells, and nothing behind it */
    OK(cuModuleLoadData(
        &later,
        HEAD ".visible .entry k() { tcgen05.fence::before_thread_sync; ret; }\n"));
    OK(cuModuleGetFunction(&f, later, "k"));
    IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), INVALID_PTX);
    OK(cuCtxSynchronize());
    uint32_t got;
    OK(cuMemcpyDtoH_v2(&got, p, 4));
    OK(cuCtxDestroy_v2(context));
    OK(cuCtxCreate_v2(&context, 0, device));
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuCtxDestroy_v2(context));
}

int
main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return 100;
    }
#define F(name, args)                                                                    \
    *(void **)&name = dlsym(lib, #name);                                                 \
    if (!name) {                                                                         \
        fprintf(stderr, "no %s\n", #name);                                               \
        return 101;                                                                      \
    }
    FUNCTIONS
#undef F
    before_start();
    properties();
    contexts();
    modules();
    launches();
    functions();
    linking();
    memory();
    texture_objects();
    hosts_functions();
    entry_points();
    faults();
    printf("%d checks failed\n", failed);
    return failed > 99 ? 99 : failed;
}
