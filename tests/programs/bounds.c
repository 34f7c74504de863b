/* bounds.c WHERE BYTES: a kernel stores a word BYTES behind the start of memory of 124 bytes,
 * beside which there is more of its kind: what `allot exec --check` must find where BYTES is
 * 124, and not where it is 120. WHERE names the kind. */
#include "driver_kit.h"

#include <stdbool.h>

#define FUNCTIONS                                                                        \
    F(cuInit, (unsigned))                                                                \
    F(cuCtxCreate_v2, (void **, unsigned, int))                                          \
    F(cuCtxSynchronize, (void))                                                          \
    F(cuModuleLoadData, (void **, const void *))                                         \
    F(cuModuleGetFunction, (void **, void *, const char *))                              \
    F(cuModuleGetGlobal_v2, (dptr *, size_t *, void *, const char *))                    \
    F(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, unsigned, void *, void **, void **))                    \
    F(cuMemAlloc_v2, (dptr *, size_t))                                                   \
    F(cuMemAllocAsync, (dptr *, size_t, void *))                                         \
    F(cuMemAllocManaged, (dptr *, size_t, unsigned))                                     \
    F(cuMemHostAlloc, (dptr *, size_t, unsigned))                                        \
    F(cuMemAllocPitch_v2, (dptr *, size_t *, size_t, size_t, unsigned))                  \
    F(cuMemAddressReserve, (dptr *, size_t, size_t, dptr, unsigned long long))           \
    F(cuMemCreate, (uint64_t *, size_t, const void *, unsigned long long))               \
    F(cuMemMap, (dptr, size_t, size_t, uint64_t, unsigned long long))                    \
    F(cuMemSetAccess, (dptr, size_t, const void *, size_t))
#define F F_POINTER
FUNCTIONS
#undef F

enum { BYTES = 124, PIECE = 2 << 20, DYNAMIC = 256 };

#define HEAD(name, extra)                                                                \
    ".visible .entry " name "(.param .u64 p, .param .u32 n) {\n"                         \
    "  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %q;\n" extra                        \
    "  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .global .align 4 .b8 variable[124];\n"
    ".visible .global .align 4 .b8 other[124];\n"
    ".extern .shared .align 4 .b8 dynamic[];\n" HEAD("plain", "") "  cvt.u64.u32 %rd2, %r1; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], 1; ret;\n}\n" HEAD(
        "shared",
        ".shared .align 4 .b8 a[124]; .shared .align 4 .b8 b[124];\n") "  mov.u32 %r2, b; st.shared.u32 [%r2], 2; mov.u32 %r2, a; add.u32 %r2, %r2, %r1;\n"
                                                                       "  st.shared.u32 [%r2], 1; ret;\n}\n" HEAD(
                                                                           "before",
                                                                           ".shared .align 4 .b8 c[124];\n") "  mov.u32 %r2, dynamic; st.shared.u32 [%r2+252], 2; mov.u32 %r2, c;\n"
                                                                                                             "  add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], 1; ret;\n}\n" HEAD(
                                                                                                                 "local",
                                                                                                                 ".local .align 4 .b8 d[128];\n") "  mov.u32 %r3, 0; mov.u32 %r2, d; mov.u32 %r5, d;\n"
                                                                                                                                                  "L: st.local.u32 [%r2], %r3; add.u32 %r3, %r3, 4; add.u32 %r2, %r2, 4;\n"
                                                                                                                                                  "  setp.lt.u32 %q, %r3, 124; @%q bra L;\n"
                                                                                                                                                  "  add.u32 %r5, %r5, %r1; ld.local.u32 %r4, [%r5]; st.global.u32 [%rd1], %r4; ret;\n}\n";

static dptr
of(const char *where, void *module, dptr *other)
{
    static const int device[] = {1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const int access[] = {1, 0, 3};
    dptr p = 0;
    size_t n;
    for (int i = 1; i >= 0; i--) {
        dptr *to = i ? &p : other;
        uint64_t handle;
        if (!strcmp(where, "async"))
            OK(cuMemAllocAsync(to, BYTES, NULL));
        else if (!strcmp(where, "managed"))
            OK(cuMemAllocManaged(to, BYTES, 1));
        else if (!strcmp(where, "host"))
            OK(cuMemHostAlloc(to, BYTES, 0));
        else if (!strcmp(where, "pitch"))
            OK(cuMemAllocPitch_v2(to, &n, BYTES, 1, 4));
        else if (!strcmp(where, "variable"))
            OK(cuModuleGetGlobal_v2(to, &n, module, i ? "variable" : "other"));
        else if (!strcmp(where, "virtual")) {
            OK(cuMemAddressReserve(to, PIECE, 0, 0, 0));
            OK(cuMemCreate(&handle, PIECE, device, 0));
            OK(cuMemMap(*to, PIECE, 0, handle, 0));
            OK(cuMemSetAccess(*to, PIECE, access, 1));
        } else
            OK(cuMemAlloc_v2(to, BYTES));
    }
    return !strcmp(where, "pitch")     ? p + n - BYTES /* its row is whole */
           : !strcmp(where, "virtual") ? p + PIECE - BYTES
                                       : p;
}

int
main(int argc, char **argv)
{
    void *context, *module, *f;
    const char *where = argc > 2 ? argv[1] : "device";
    unsigned bytes = argc > 2 ? (unsigned)atoi(argv[2]) : 120;
    dptr other;
#define F F_FIND
    FUNCTIONS
#undef F
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, ptx));
    bool own =
        !strcmp(where, "shared") || !strcmp(where, "before") || !strcmp(where, "local");
    OK(cuModuleGetFunction(&f, module, own ? where : "plain"));
    dptr p = of(where, module, &other);
    void *args[] = {&p, &bytes};
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, !strcmp(where, "before") ? DYNAMIC : 0, NULL,
                      args, NULL));
    printf("%d\n", cuCtxSynchronize());
    return 0;
}
