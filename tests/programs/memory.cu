/* memory.cu: every kind of memory: linear, pitched, three-dimensional, managed (also as
 * variables and as a linked list), page-locked, mapped, registered, from a pool; variables;
 * and the errors that wrong uses get. */
#include "check.h"

struct node {
    int value;
    node *next;
};

__constant__ int factor[4];
__device__ int total = 5;
#ifdef __NVCC__
__managed__ int managed_var = 3;
__global__ void twice() { managed_var *= 2; }
#endif

__global__ void walk(node *l, int *sum) {
    int s = 0;
    for (; l; l = l->next)
        s += l->value;
    *sum = s;
}

__global__ void scale(int *p, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = p[i] * factor[k] + total;
}

static void managed() {
    node *head = NULL;
    int *sum;
    for (int i = 0; i < 50; i++) {
        node *n;
        OK(cudaMallocManaged(&n, sizeof *n));
        n->value = i;
        n->next = head;
        head = n;
    }
    OK(cudaMallocManaged(&sum, sizeof *sum));
    walk<<<1, 1>>>(head, sum);
    OK(cudaDeviceSynchronize());
    EQ(*sum, 1225);
    OK(cudaFree(sum));
#ifdef __NVCC__
    managed_var = 21;
    twice<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    EQ(managed_var, 42);
#endif
}

static void variables() {
    int f[4] = {1, 2, 3, 4}, v = 7, back = 0, *dev, host[64];
    size_t bytes;
    void *addr;
    OK(cudaMemcpyToSymbol(factor, f, sizeof f));
    OK(cudaMemcpyFromSymbol(&back, total, sizeof back));
    EQ(back, 5);
    OK(cudaMemcpyToSymbol(total, &v, sizeof v));
    OK(cudaMemcpyFromSymbol(&back, factor, sizeof back, 2 * sizeof back));
    EQ(back, 3);
    OK(cudaGetSymbolSize(&bytes, factor));
    EQ(bytes, sizeof f);
    OK(cudaGetSymbolAddress(&addr, total));
    v = 9;
    OK(cudaMemcpy(addr, &v, sizeof v, cudaMemcpyHostToDevice));
    IS(cudaMemcpyToSymbol(factor, f, sizeof f, 4), cudaErrorInvalidValue);
    OK(cudaMalloc(&dev, sizeof host));
    for (int i = 0; i < 64; i++)
        host[i] = i;
    OK(cudaMemcpy(dev, host, sizeof host, cudaMemcpyDefault));
    scale<<<2, 32>>>(dev, 64, 2);
    OK(cudaMemcpy(host, dev, sizeof host, cudaMemcpyDefault));
    for (int i = 0; i < 64; i++)
        EQ(host[i], 3 * i + 9);
    OK(cudaFree(dev));
}

static void host_memory() {
    enum { N = 2048 };
    int *pinned, *dev, *mine = (int *)malloc(N * sizeof *mine);
    cudaPointerAttributes a;
    OK(cudaHostAlloc(&pinned, N * sizeof *pinned, cudaHostAllocMapped));
    OK(cudaHostGetDevicePointer(&dev, pinned, 0));
    for (int i = 0; i < N; i++)
        pinned[i] = mine[i] = i;
    scale<<<N / 256, 256>>>(dev, N, 1);
    OK(cudaDeviceSynchronize());
    EQ(pinned[N - 1], 2 * (N - 1) + 9);
    OK(cudaPointerGetAttributes(&a, pinned));
    EQ((int)a.type, (int)cudaMemoryTypeHost);
    OK(cudaHostRegister(mine, N * sizeof *mine, cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer(&dev, mine, 0));
    scale<<<N / 256, 256>>>(dev, N, 3);
    OK(cudaDeviceSynchronize());
    EQ(mine[N - 1], 4 * (N - 1) + 9);
    OK(cudaHostUnregister(mine));
    IS(cudaHostUnregister(mine), cudaErrorHostMemoryNotRegistered);
    OK(cudaPointerGetAttributes(&a, mine));
    EQ((int)a.type, (int)cudaMemoryTypeUnregistered);
    OK(cudaFreeHost(pinned));
    free(mine);
}

static void shapes() {
    unsigned char *p;
    size_t pitch;
    std::vector<unsigned char> host(40 * 10 * 5);
    OK(cudaMallocPitch(&p, &pitch, 40, 10));
    TRUE(pitch >= 40);
    OK(cudaMemset2D(p, pitch, 7, 40, 10));
    OK(cudaMemcpy2D(host.data(), 40, p, pitch, 40, 10, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 400; i++)
        EQ((int)host[i], 7);
    cudaPitchedPtr box;
    cudaExtent extent = make_cudaExtent(40, 10, 5);
    cudaMemcpy3DParms copy;
    memset(&copy, 0, sizeof copy);
    OK(cudaMalloc3D(&box, extent));
    OK(cudaMemset3D(box, 3, extent));
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(host.data(), 40, 40, 10);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    for (unsigned char c : host)
        EQ((int)c, 3);
    OK(cudaFree(p));
    OK(cudaFree(box.ptr));
    OK(cudaMallocAsync(&p, 1000, (cudaStream_t)0));
    OK(cudaMemsetAsync(p, 1, 1000));
    OK(cudaFreeAsync(p, (cudaStream_t)0));
}

static void errors() {
    int *p, x = 0;
    size_t free_before, free_now, all;
    OK(cudaMemGetInfo(&free_before, &all));
    TRUE(free_before <= all);
    OK(cudaMalloc(&p, 1 << 20));
    OK(cudaMemGetInfo(&free_now, &all));
    EQ(free_before - free_now, (size_t)1 << 20);
    IS(cudaMalloc(&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
    IS(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    IS(cudaGetLastError(), cudaErrorMemoryAllocation);
    IS(cudaGetLastError(), cudaSuccess);
    IS(cudaMemcpy(&x, &x, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    IS(cudaMemcpy(&x, (void *)64, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    IS(cudaFree(&x), cudaErrorInvalidValue);
    IS(cudaSetDevice(5), cudaErrorInvalidDevice);
    cudaGetLastError();
    scale<<<1, 4096>>>(p, 0, 0);
    IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
    scale<<<0, 32>>>(p, 0, 0);
    IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
    /* What follows a fault fails too, until the device is reset. */
    scale<<<1, 32>>>((int *)256, 32, 0);
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    IS(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    OK(cudaMalloc(&p, 64 * sizeof *p));
    OK(cudaMemset(p, 0, 64 * sizeof *p));
    scale<<<2, 32>>>(p, 64, 0);
    OK(cudaMemcpy(&x, p + 63, sizeof x, cudaMemcpyDeviceToHost));
    EQ(x, 5); /* variables are as at the start */
}

int main() {
    managed();
    variables();
    host_memory();
    shapes();
    errors();
    return 0;
}
