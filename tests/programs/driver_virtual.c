/* driver_virtual.c: virtual memory management by the driver API, as a program that needs
 * nothing of CUDA's to be built: a vector addition whose vectors are made of several
 * pieces of physical memory, and one piece at two addresses. Exit status 0: all right. */
#include "driver_kit.h"

typedef struct {
    int type, id;
} location;
typedef struct {
    int type, handles;
    location where;
    void *win32;
    unsigned char flags[8];
} properties;
typedef struct {
    location where;
    int flags;
} access_desc;

#define FUNCTIONS                                                                        \
    F(cuInit, (unsigned))                                                                \
    F(cuDeviceGetAttribute, (int *, int, int))                                           \
    F(cuCtxCreate_v2, (void **, unsigned, int))                                          \
    F(cuCtxDestroy_v2, (void *))                                                         \
    F(cuModuleLoadData, (void **, const void *))                                         \
    F(cuModuleGetFunction, (void **, void *, const char *))                              \
    F(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, unsigned, void *, void **, void **))                    \
    F(cuCtxSynchronize, (void))                                                          \
    F(cuMemcpyHtoD_v2, (dptr, const void *, size_t))                                     \
    F(cuMemcpyDtoH_v2, (void *, dptr, size_t))                                           \
    F(cuMemsetD8_v2, (dptr, unsigned char, size_t))                                      \
    F(cuMemGetInfo_v2, (size_t *, size_t *))                                             \
    F(cuMemFree_v2, (dptr))                                                              \
    F(cuPointerGetAttribute, (void *, int, dptr))                                        \
    F(cuMemGetAllocationGranularity, (size_t *, const properties *, int))                \
    F(cuMemAddressReserve, (dptr *, size_t, size_t, dptr, unsigned long long))           \
    F(cuMemAddressFree, (dptr, size_t))                                                  \
    F(cuMemCreate, (void **, size_t, const properties *, unsigned long long))            \
    F(cuMemRelease, (void *))                                                            \
    F(cuMemMap, (dptr, size_t, size_t, void *, unsigned long long))                      \
    F(cuMemUnmap, (dptr, size_t))                                                        \
    F(cuMemSetAccess, (dptr, size_t, const access_desc *, size_t))                       \
    F(cuMemGetAccess, (unsigned long long *, const location *, dptr))                    \
    F(cuMemRetainAllocationHandle, (void **, void *))                                    \
    F(cuMemGetAllocationPropertiesFromHandle, (properties *, void *))                    \
    F(cuMemExportToShareableHandle, (void *, void *, int, unsigned long long))
#define F F_POINTER
FUNCTIONS
#undef F

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801 };
enum { PIECES = 4 /* pieces of a vector */ };

static const char kernel[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {\n"
    "  .reg .b32 %r<6>; .reg .b64 %rd<8>; .reg .f32 %f<4>; .reg .pred %p;\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "  mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "  ld.param.u32 %r5, [n]; setp.ge.u32 %p, %r4, %r5; @%p ret;\n"
    "  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];\n"
    "  mul.wide.u32 %rd4, %r4, 4;\n"
    "  add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4; add.u64 %rd7, %rd3, %rd4;\n"
    "  ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6];\n"
    "  add.f32 %f3, %f1, %f2; st.global.f32 [%rd7], %f3; ret;\n"
    "}\n";

static const properties pinned = {.type = 1, .where = {1, 0}};
static const access_desc read_write = {{1, 0}, 3};
static size_t piece;

/* A vector of `n` pieces, the last piece's memory made first. */
static dptr
vector(unsigned n)
{
    dptr at;
    void *handle;
    OK(cuMemAddressReserve(&at, n * piece, 0, 0, 0));
    for (unsigned i = n; i--;) {
        OK(cuMemCreate(&handle, piece, &pinned, 0));
        OK(cuMemMap(at + i * piece, piece, 0, handle, 0));
        OK(cuMemRelease(handle)); /* the mapping keeps the memory */
    }
    OK(cuMemSetAccess(at, n * piece, &read_write, 1));
    return at;
}

static void
gone(dptr at, size_t size)
{
    OK(cuMemUnmap(at, size));
    OK(cuMemAddressFree(at, size));
}

static int
run(void *f, dptr a, dptr b, dptr c, unsigned n)
{
    void *args[] = {&a, &b, &c, &n};
    OK(cuLaunchKernel(f, (n + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
    return cuCtxSynchronize();
}

int
main(void)
{
    void *context, *module, *f, *handle, *same;
#define F F_FIND
    FUNCTIONS
#undef F
    int yes = 0, type = 0;
    unsigned long long flags = 9;
    size_t before, now, total;
    OK(cuInit(0));
    OK(cuDeviceGetAttribute(&yes, 102, 0));
    IS(yes, 1);
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, kernel));
    OK(cuModuleGetFunction(&f, module, "add"));
    OK(cuMemGetInfo_v2(&before, &total));
    OK(cuMemGetAllocationGranularity(&piece, &pinned, 0));
    IS(piece && !(piece & (piece - 1)), 1);

    /* Vectors across pieces: 1000 elements around each seam are looked at. */
    size_t size = PIECES * piece, n = size / 4;
    dptr a = vector(PIECES), b = vector(PIECES), c = vector(PIECES);
    OK(cuMemGetInfo_v2(&now, &total));
    IS(before - now == 3 * size, 1);
    OK(cuPointerGetAttribute(&type, 2, a + 5));
    IS(type, 2);
    float *x = malloc(size), *y = malloc(size);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)i, y[i] = (float)(3 * i % 1001);
    OK(cuMemcpyHtoD_v2(a, x, size));
    OK(cuMemcpyHtoD_v2(b, y, size));
    for (unsigned i = 1; i < PIECES; i++) {
        dptr at = i * piece - 2000;
        OK(run(f, a + at, b + at, c + at, 1000));
    }
    float *z = malloc(size);
    OK(cuMemcpyDtoH_v2(z, c, size));
    for (size_t i = 0; i < n; i++) {
        size_t to_seam = (i * 4 + 2000) % piece;
        float want =
            i * 4 + 2000 >= piece && i * 4 < (PIECES - 1) * piece + 2000 && to_seam < 4000
                ? x[i] + y[i]
                : 0;
        if (z[i] != want) {
            printf("element %zu: %g, not %g\n", i, z[i], want);
            return 1;
        }
    }

    /* One piece of memory at two addresses. */
    dptr two;
    void *shared;
    OK(cuMemAddressReserve(&two, 2 * piece, 4 * piece, 0, 0));
    IS(two % (4 * piece) == 0, 1);
    OK(cuMemCreate(&shared, piece, &pinned, 0));
    OK(cuMemMap(two, piece, 0, shared, 0));
    IS(cuMemMap(two, piece, 0, shared, 0), INVALID_VALUE);
    OK(cuMemMap(two + piece, piece, 0, shared, 0));
    OK(cuMemGetAccess(&flags, &read_write.where, two));
    IS((int)flags, 0);
    OK(cuMemSetAccess(two, 2 * piece, &read_write, 1));
    OK(cuMemGetAccess(&flags, &read_write.where, two));
    IS((int)flags, 3);
    OK(cuMemcpyHtoD_v2(two + 40, x, 400));
    OK(run(f, two + 40, two + 40, two + piece + 800, 100));
    OK(cuMemcpyDtoH_v2(z, two + 800, 400));
    for (int i = 0; i < 100; i++)
        IS(z[i] == 2 * x[i], 1);
    OK(cuMemRetainAllocationHandle(&same, (void *)(uintptr_t)(two + piece + 5)));
    IS(same == shared, 1);
    properties said;
    OK(cuMemGetAllocationPropertiesFromHandle(&said, shared));
    IS(said.type, 1);
    OK(cuMemRelease(same));
    OK(cuMemRelease(shared));
    OK(cuMemUnmap(two, piece)); /* the other stays */
    OK(cuMemsetD8_v2(two + piece, 0, piece));
    IS(cuMemsetD8_v2(two, 0, piece), INVALID_VALUE);
    IS(cuMemAddressFree(two, 2 * piece), INVALID_VALUE);
    OK(cuMemUnmap(two + piece, piece));
    OK(cuMemAddressFree(two, 2 * piece));

    /* What is wrong. */
    properties fd = pinned;
    fd.handles = 1;
    IS(cuMemCreate(&handle, piece, &fd, 0), NOT_SUPPORTED);
    IS(cuMemCreate(&handle, piece + 1, &pinned, 0), INVALID_VALUE);
    IS(cuMemCreate(&handle, total + piece - total % piece, &pinned, 0), OUT_OF_MEMORY);
    IS(cuMemExportToShareableHandle(&handle, shared, 1, 0), NOT_SUPPORTED);
    IS(cuMemRelease(shared), INVALID_VALUE);
    IS(cuMemFree_v2(a), INVALID_VALUE);
    IS(cuMemUnmap(a, piece / 2), INVALID_VALUE);
    IS(cuMemSetAccess(c + size, piece, &read_write, 1), INVALID_VALUE);
    gone(a, size);
    gone(b, size);
    OK(cuMemGetInfo_v2(&now, &total));
    IS(before - now == size, 1);

    /* A kernel that touches addresses without memory. */
    IS(run(f, a, c, c, 10), ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(context));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemGetInfo_v2(&now, &total));
    IS(before == now, 1);
    free(x);
    free(y);
    free(z);
    puts("driver_virtual: vectors in pieces, one piece twice");
    return 0;
}
