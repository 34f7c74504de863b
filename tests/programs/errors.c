/* errors.c: which errors stay, by what makes them; and every output that may be NULL. The
 * list of errors that stay is that of CUDA 13.0's headers ("any further CUDA work will return
 * the same error", "the device cannot be used again"). Instructions are limited, so that a
 * kernel that never ends is an error as well. */
#include "driver_kit.h"

#define FUNCTIONS                                                                        \
    F(cuInit, (unsigned))                                                                \
    F(cuCtxCreate_v2, (void **, unsigned, int))                                          \
    F(cuCtxDestroy_v2, (void *))                                                         \
    F(cuCtxSynchronize, (void))                                                          \
    F(cuCtxPopCurrent_v2, (void **))                                                     \
    F(cuCtxPushCurrent_v2, (void *))                                                     \
    F(cuCtxGetStreamPriorityRange, (int *, int *))                                       \
    F(cuModuleLoadData, (void **, const void *))                                         \
    F(cuModuleGetFunction, (void **, void *, const char *))                              \
    F(cuModuleGetGlobal_v2, (dptr *, size_t *, void *, const char *))                    \
    F(cuLibraryLoadData,                                                                 \
      (void **, const void *, void *, void *, unsigned, void *, void *, unsigned))       \
    F(cuLibraryGetGlobal, (dptr *, size_t *, void *, const char *))                      \
    F(cuFuncGetParamInfo, (void *, size_t, size_t *, size_t *))                          \
    F(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, unsigned, void *, void **, void **))                    \
    F(cuLaunchCooperativeKernel, (void *, unsigned, unsigned, unsigned, unsigned,        \
                                  unsigned, unsigned, unsigned, void *, void **))        \
    F(cuMemAlloc_v2, (dptr *, size_t))                                                   \
    F(cuMemFree_v2, (dptr))                                                              \
    F(cuMemGetAddressRange_v2, (dptr *, size_t *, dptr))                                 \
    F(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))                \
    F(cuStreamCreate, (void **, unsigned))                                               \
    F(cuStreamBeginCapture_v2, (void *, int))                                            \
    F(cuStreamBeginCaptureToGraph, (void *, void *, void *, const void *, size_t, int))  \
    F(cuStreamEndCapture, (void *, void **))                                             \
    F(cuStreamGetCaptureInfo_v3,                                                         \
      (void *, int *, unsigned long long *, void **, void *, void *, size_t *))          \
    F(cuGraphCreate, (void **, unsigned))                                                \
    F(cuGraphGetNodes, (void *, void **, size_t *))                                      \
    F(cuGraphGetRootNodes, (void *, void **, size_t *))                                  \
    F(cuGraphGetEdges_v2, (void *, void **, void **, void *, size_t *))                  \
    F(cuGraphNodeGetDependencies_v2, (void *, void **, void *, size_t *))                \
    F(cuGraphNodeGetDependentNodes_v2, (void *, void **, void *, size_t *))              \
    F(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                \
    F(cuGraphInstantiate, (void **, void *, void **, char *, size_t))                    \
    F(cuGraphExecUpdate, (void *, void *, void **, int *))                               \
    F(cuGraphExecUpdate_v2, (void *, void *, void *))                                    \
    F(cuGraphLaunch, (void *, void *))                                                   \
    F(cuLinkCreate_v2, (unsigned, void *, void *, void **))                              \
    F(cuLinkAddData_v2,                                                                  \
      (void *, int, void *, size_t, const char *, unsigned, void *, void *))             \
    F(cuLinkComplete, (void *, void **, size_t *))                                       \
    F(cuMemcpyDtoH_v2, (void *, dptr, size_t))                                           \
    F(cuArrayCreate_v2, (void **, const void *))                                         \
    F(cuTexRefCreate, (void **))                                                         \
    F(cuTexRefSetAddress_v2, (size_t *, void *, dptr, size_t))
#define F F_POINTER
FUNCTIONS
#undef F

#define KERNEL(name, body)                                                               \
    ".visible .entry " name "(.param .u64 p) {\n"                                        \
    "  .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"                                             \
    "  ld.param.u64 %rd1, [p];\n" body "\n  ret;\n}\n"

static char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .b8 variable[12];\n"
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 "
    "d, .param .b64 e);\n" KERNEL(
        "fine", "ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 7; "
                "st.global.u32 [%rd1], %r1;") KERNEL("outside",
                                                     "st.global.u32 [%rd1+1048576], 1;")
        KERNEL("misaligned", "st.global.u32 [%rd1+2], 1;") KERNEL("trap", "trap;") KERNEL(
            "endless",
            "L: add.u32 %r1, %r1, 1; bra L;") KERNEL("refused",
                                                     "tcgen05.fence::before_thread_sync;")

            KERNEL(
                "assert",
                "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
                "  st.param.b64 [a], %rd1; st.param.b64 [b], %rd1; st.param.b32 [c], 1;\n"
                "  st.param.b64 [d], %rd1; st.param.b64 [e], 1;\n"
                "  call __assertfail, (a, b, c, d, e); }");

enum { SHARED = 1 << 20 };

static void
stays_or_not(void)
{
    static const struct {
        const char *kernel;
        unsigned grid, block, smem;
        int cooperative, launch, later; /* answers: of the launch, of every later call */
    } t[] = {
        {"outside", 1, 1, 0, 0, 0, 700}, {"misaligned", 1, 1, 0, 0, 0, 716},
        {"trap", 1, 1, 0, 0, 0, 719},    {"assert", 1, 1, 0, 0, 0, 710},
        {"endless", 1, 1, 0, 0, 0, 702}, {"refused", 1, 1, 0, 0, 218, 0},
        {"fine", 1, 4096, 0, 0, 9, 0},   {"fine", 0, 1, 0, 0, 9, 0},
        {"fine", 1, 1, SHARED, 0, 1, 0}, {"fine", 1 << 20, 1024, 0, 1, 720, 0},
    };
    for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
        void *context, *module, *f, *fine;
        dptr p, q;
        unsigned word = 1;
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuModuleLoadData(&module, ptx));
        OK(cuModuleGetFunction(&f, module, t[i].kernel));
        OK(cuModuleGetFunction(&fine, module, "fine"));
        OK(cuMemAlloc_v2(&p, 1024));
        void *args[] = {&p};
        int got = t[i].cooperative
                      ? cuLaunchCooperativeKernel(f, t[i].grid, 1, 1, t[i].block, 1, 1,
                                                  t[i].smem, NULL, args)
                      : cuLaunchKernel(f, t[i].grid, 1, 1, t[i].block, 1, 1, t[i].smem,
                                       NULL, args, NULL);
        if (got == 1 && t[i].launch == 9) /* the driver has no number of its own for it */
            got = 9;
        if (got != t[i].launch) {
            printf("%s: launch %d, not %d\n", t[i].kernel, got, t[i].launch);
            exit(1);
        }
        for (int k = 0; k < 2; k++) {
            IS(cuCtxSynchronize(), t[i].later);
            IS(cuMemAlloc_v2(&q, 16), t[i].later);
            IS(cuLaunchKernel(fine, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), t[i].later);
        }
        IS(cuMemcpyDtoH_v2(&word, p, 4), t[i].later);
        IS((int)word, t[i].later ? 1 : 14);
        cuCtxDestroy_v2(context);
    }
}

static void
outputs(void)
{
    void *context, *module, *lib, *f, *stream, *graph, *own, *exec, *link, *image,
        *nodes[4];
    void *edges_from[4], *edges_to[4], *ref;
    dptr p, base;
    size_t n, bytes, at;
    int least, greatest, status, why;
    unsigned long long id;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuCtxPushCurrent_v2(context));
    OK(cuCtxGetStreamPriorityRange(NULL, &greatest));
    OK(cuCtxGetStreamPriorityRange(&least, NULL));
    OK(cuCtxGetStreamPriorityRange(NULL, NULL));
    IS(greatest < least, 1);
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetGlobal_v2(&p, NULL, module, "variable"));
    OK(cuModuleGetGlobal_v2(NULL, &bytes, module, "variable"));
    IS((int)bytes, 12);
    OK(cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetGlobal(&p, NULL, lib, "variable"));
    OK(cuLibraryGetGlobal(NULL, &bytes, lib, "variable"));
    OK(cuModuleGetFunction(&f, module, "fine"));
    OK(cuFuncGetParamInfo(f, 0, &at, NULL));
    OK(cuMemAlloc_v2(&p, 1024));
    OK(cuMemGetAddressRange_v2(&base, NULL, p + 4));
    IS(base == p, 1);
    OK(cuMemGetAddressRange_v2(NULL, &bytes, p + 4));
    IS((int)bytes, 1024);
    OK(cuMemGetAddressRange_v2(NULL, NULL, p));
    OK(cuGetProcAddress_v2("cuInit", &image, 13000, 0, NULL));
    OK(cuTexRefCreate(&ref));
    OK(cuTexRefSetAddress_v2(NULL, ref, p, 1024));

    /* Capture: into a graph of the capture's own the graph is wanted ... */
    void *args[] = {&p};
    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    OK(cuStreamGetCaptureInfo_v3(stream, &status, NULL, NULL, NULL, NULL, NULL));
    IS(status, 1);
    OK(cuStreamGetCaptureInfo_v3(stream, &status, &id, NULL, NULL, NULL, &n));
    IS((int)n, 1);
    IS(cuStreamEndCapture(stream, NULL), 1);
    OK(cuStreamEndCapture(stream, &graph));
    /* ... into one that was given it is known. */
    OK(cuGraphCreate(&own, 0));
    OK(cuStreamBeginCaptureToGraph(stream, own, NULL, NULL, 0, 0));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    OK(cuStreamEndCapture(stream, NULL));
    IS(cuStreamEndCapture(stream, NULL), 401);
    OK(cuGraphGetNodes(own, NULL, &n));
    IS((int)n, 2);
    OK(cuGraphGetNodes(own, nodes, &n));
    OK(cuGraphGetRootNodes(own, NULL, &n));
    IS((int)n, 1);
    OK(cuGraphGetEdges_v2(own, NULL, NULL, NULL, &n));
    IS((int)n, 1);
    OK(cuGraphGetEdges_v2(own, edges_from, edges_to, NULL, &n));
    IS(edges_to[0] == nodes[1], 1);
    OK(cuGraphNodeGetDependencies_v2(nodes[1], NULL, NULL, &n));
    IS((int)n, 1);
    OK(cuGraphNodeGetDependentNodes_v2(nodes[0], NULL, NULL, &n));
    IS((int)n, 1);
    OK(cuGraphInstantiate(&exec, own, NULL, NULL, 0));
    OK(cuGraphExecUpdate(exec, own, NULL, &why));
    OK(cuGraphExecUpdate(exec, own, NULL, NULL));
    OK(cuGraphExecUpdate_v2(exec, own, NULL));
    unsigned word = 0;
    OK(cuGraphLaunch(exec, stream));
    OK(cuMemcpyDtoH_v2(&word, p, 4));
    IS((int)word, 14);

    OK(cuLinkCreate_v2(0, NULL, NULL, &link));
    OK(cuLinkAddData_v2(link, 1, ptx, sizeof ptx, "ptx", 0, NULL, NULL));
    OK(cuLinkComplete(link, &image, NULL));
}

int
main(void)
{
#define F F_FIND
    FUNCTIONS
#undef F
    OK(cuInit(0));
    stays_or_not();
    outputs();
    puts("ok");
    return 0;
}
