/* opengl.cu: a kernel changes a buffer of OpenGL. Without an OpenGL library the runtime
 * says so; with one (tests/e2e/cuda-programs.sh preloads one that only keeps buffers) the
 * buffer is mapped, read, written and unmapped. */
#include "check.h"

#include <dlfcn.h>

extern "C" cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **,
                                                    unsigned, unsigned);

__global__ void
twice(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] *= 2;
}

static const unsigned ARRAY_BUFFER = 0x8892, ARRAY_BUFFER_BINDING = 0x8894;

template <typename F>
static F
function(const char *name)
{
    return (F)dlsym(RTLD_DEFAULT, name);
}

int
main()
{
    enum { N = 1000 };
    cudaGraphicsResource *r = nullptr;
    auto make = function<void (*)(int, unsigned *)>("glGenBuffers");
    if (!make) {
        IS(cudaGraphicsGLRegisterBuffer(&r, 1, 0), cudaErrorInvalidGraphicsContext);
        int *p;
        OK(cudaMalloc(&p, 4 * N));
        twice<<<1, 32>>>(p, 32);
        OK(cudaDeviceSynchronize());
        printf("opengl: there is none\n");
        return 0;
    }
    auto bind = function<void (*)(unsigned, unsigned)>("glBindBuffer");
    auto data =
        function<void (*)(unsigned, long, const void *, unsigned)>("glBufferData");
    auto read = function<void (*)(unsigned, long, long, void *)>("glGetBufferSubData");
    auto integer = function<void (*)(unsigned, int *)>("glGetIntegerv");
    static int v[N], back[N];
    for (int i = 0; i < N; i++)
        v[i] = 3 * i - 7;
    unsigned b[2];
    make(2, b);
    bind(ARRAY_BUFFER, b[0]);
    data(ARRAY_BUFFER, sizeof v, v, 0);
    bind(ARRAY_BUFFER, b[1]);

    OK(cudaGraphicsGLRegisterBuffer(&r, b[0], 0));
    int *p = nullptr, bound = 0;
    size_t bytes = 0;
    IS(cudaGraphicsResourceGetMappedPointer((void **)&p, &bytes, r), cudaErrorNotMapped);
    IS(cudaGraphicsUnmapResources(1, &r, 0), cudaErrorNotMapped);
    OK(cudaGraphicsMapResources(1, &r, 0));
    IS(cudaGraphicsMapResources(1, &r, 0), cudaErrorAlreadyMapped);
    OK(cudaGraphicsResourceGetMappedPointer((void **)&p, &bytes, r));
    TRUE(bytes == sizeof v); /* its size */
    twice<<<(N + 127) / 128, 128>>>(p, N);
    OK(cudaGraphicsUnmapResources(1, &r, 0));
    integer(ARRAY_BUFFER_BINDING, &bound);
    TRUE((unsigned)bound == b[1]); /* the program's binding is as it was */
    bind(ARRAY_BUFFER, b[0]);
    read(ARRAY_BUFFER, 0, sizeof back, back);
    for (int i = 0; i < N; i++)
        TRUE(back[i] == 2 * v[i]); /* the buffer's contents */

    /* What is only read is not written back. */
    OK(cudaGraphicsResourceSetMapFlags(r, cudaGraphicsMapFlagsReadOnly));
    OK(cudaGraphicsMapResources(1, &r, 0));
    OK(cudaGraphicsResourceGetMappedPointer((void **)&p, &bytes, r));
    twice<<<(N + 127) / 128, 128>>>(p, N);
    OK(cudaGraphicsUnmapResources(1, &r, 0));
    read(ARRAY_BUFFER, 0, sizeof back, back);
    for (int i = 0; i < N; i++)
        TRUE(back[i] == 2 * v[i]); /* read only */
    OK(cudaGraphicsUnregisterResource(r));
    IS(cudaGraphicsMapResources(1, &r, 0), cudaErrorInvalidResourceHandle);
    printf("opengl: a buffer\n");
    return 0;
}
