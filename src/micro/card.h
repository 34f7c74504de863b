/* card.h: a real GPU through the CUDA driver, which is opened at run time. Nothing of CUDA is
 * needed to build. */
#ifndef ALLOT_MICRO_CARD_H
#define ALLOT_MICRO_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int cu_result; /* CUresult */
typedef uint64_t cu_ptr;

/* FN(name in the library, field, parameters) */
#define CUDA_FUNCTIONS                                                                   \
    FN(cuInit, init, (unsigned))                                                         \
    FN(cuDriverGetVersion, version, (int *))                                             \
    FN(cuGetErrorString, error, (cu_result, const char **))                              \
    FN(cuDeviceGetCount, count, (int *))                                                 \
    FN(cuDeviceGet, get_device, (int *, int))                                            \
    FN(cuDeviceGetName, name, (char *, int, int))                                        \
    FN(cuDeviceGetAttribute, attribute, (int *, int, int))                               \
    FN(cuDevicePrimaryCtxRetain, retain, (void **, int))                                 \
    FN(cuDevicePrimaryCtxRelease_v2, release, (int))                                     \
    FN(cuDevicePrimaryCtxReset_v2, reset, (int))                                         \
    FN(cuCtxSetCurrent, set_context, (void *))                                           \
    FN(cuCtxSynchronize, synchronize, (void))                                            \
    FN(cuModuleLoadData, load, (void **, const void *))                                  \
    FN(cuModuleUnload, unload, (void *))                                                 \
    FN(cuModuleGetFunction, function, (void **, void *, const char *))                   \
    FN(cuModuleGetGlobal_v2, global, (cu_ptr *, size_t *, void *, const char *))         \
    FN(cuMemAlloc_v2, alloc, (cu_ptr *, size_t))                                         \
    FN(cuMemFree_v2, free, (cu_ptr))                                                     \
    FN(cuMemsetD8_v2, set, (cu_ptr, unsigned char, size_t))                              \
    FN(cuMemcpyHtoD_v2, to_device, (cu_ptr, const void *, size_t))                       \
    FN(cuMemcpyDtoH_v2, to_host, (void *, cu_ptr, size_t))                               \
    FN(cuLaunchKernel, launch,                                                           \
       (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
        void *, void **, void **))

struct gpu {
    void *lib;
#define FN(symbol, field, params) cu_result(*field) params;
    CUDA_FUNCTIONS
#undef FN
    int device, cc, sms, driver;
    size_t l2;
    char card[128];
    void *context;
    cu_ptr scratch; /* what the L2 is filled with */
    size_t scratch_bytes;
    void *reader; /* a kernel that reads it */
    cu_ptr span;  /* what the kernels keep of span.h */
};

/* Opens GPU number `index`, with the driver as dlopen takes it; false after saying why on
 * standard error. */
bool card_open(struct gpu *g, const char *library, int index);
void card_close(struct gpu *g);
/* After a failure: a new context if the old one is lost, as behind a kernel's fault. */
bool card_renew(struct gpu *g);
/* Fills the L2 with lines that nothing reads again, none of them dirty. */
bool card_flush(struct gpu *g);
/* Whether a call succeeded; if not, says so. */
bool card_check(const struct gpu *g, cu_result r, const char *what);
#define TRY(g, call) card_check(g, (g)->call, #call)

#endif
