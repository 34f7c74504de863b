/* quicksort.cu: a thread partitions its range and launches a kernel for each half, on two
 * streams of its own; short or deep ranges are sorted by selection. */
#include "../check.h"

enum { N = 700, SHORT = 24, DEEPEST = 16 };

#ifdef __NVCC__
__device__ void selection(unsigned *v, int left, int right) {
    for (int i = left; i <= right; i++) {
        int least = i;
        for (int k = i + 1; k <= right; k++)
            if (v[k] < v[least])
                least = k;
        unsigned t = v[i];
        v[i] = v[least];
        v[least] = t;
    }
}

__global__ void quicksort(unsigned *v, int left, int right, int depth) {
    if (depth >= DEEPEST || right - left < SHORT) {
        selection(v, left, right);
        return;
    }
    int l = left, r = right;
    unsigned pivot = v[(left + right) / 2];
    while (l <= r) {
        while (v[l] < pivot)
            l++;
        while (v[r] > pivot)
            r--;
        if (l <= r) {
            unsigned t = v[l];
            v[l++] = v[r];
            v[r--] = t;
        }
    }
    if (left < r) {
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, s>>>(v, left, r, depth + 1);
        cudaStreamDestroy(s);
    }
    if (l < right) {
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, s>>>(v, l, right, depth + 1);
        cudaStreamDestroy(s);
    }
}
#else
__global__ void quicksort(unsigned *v, int left, int right, int depth) {}
#endif

int main() {
    unsigned host[N], *v, sum = 0, state = 12345;
    for (int i = 0; i < N; i++) {
        state = state * 1664525 + 1013904223;
        sum += host[i] = state >> 20;
    }
    OK(cudaMalloc((void **)&v, sizeof host));
    OK(cudaMemcpy(v, host, sizeof host, cudaMemcpyHostToDevice));
    quicksort<<<1, 1>>>(v, 0, N - 1, 0);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(host, v, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        TRUE(!i || host[i - 1] <= host[i]);
        sum -= host[i];
    }
    EQ(sum, 0u);
    return 0;
}
