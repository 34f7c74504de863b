/* bezier.cu: quadratic Bezier curves: a thread finds how many points its curve needs from
 * its curvature, allocates them on the device and launches the kernel that computes them;
 * another kernel frees them. */
#include "../check.h"

enum { LINES = 40, LEAST = 4, MOST = 32 };

struct curve {
    float2 control[3];
    float2 *vertex;
    int n;
};

#ifdef __NVCC__
__global__ void points(curve *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float u = (float)i / (n - 1), v = 1 - u;
    float b[3] = {v * v, 2 * u * v, u * u};
    float2 p = {0, 0};
    for (int k = 0; k < 3; k++) {
        p.x += b[k] * c->control[k].x;
        p.y += b[k] * c->control[k].y;
    }
    c->vertex[i] = p;
}

__device__ float curvature(const curve *c) {
    float x = c->control[1].x - 0.5f * (c->control[0].x + c->control[2].x);
    float y = c->control[1].y - 0.5f * (c->control[0].y + c->control[2].y);
    return sqrtf(x * x + y * y);
}

__global__ void lines(curve *list, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    curve *c = &list[i];
    c->n = min(max((int)(curvature(c) * 16), (int)LEAST), (int)MOST);
    if (cudaMalloc((void **)&c->vertex, c->n * sizeof *c->vertex) == cudaSuccess)
        points<<<(c->n + 31) / 32, 32>>>(c, c->n);
}

__global__ void gather(const curve *list, float2 *out) {
    const curve *c = &list[blockIdx.x];
    for (int i = threadIdx.x; i < c->n; i += blockDim.x)
        out[blockIdx.x * MOST + i] = c->vertex[i];
}

__global__ void release(curve *list, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && cudaFree(list[i].vertex) != cudaSuccess)
        list[i].n = -1;
}
#else
__global__ void lines(curve *list, int n) {}
__global__ void gather(const curve *list, float2 *out) {}
__global__ void release(curve *list, int n) {}
#endif

int main() {
    static curve host[LINES];
    static float2 got[LINES * MOST];
    curve *list;
    float2 *out;
    unsigned state = 3;
    for (int i = 0; i < LINES; i++)
        for (int k = 0; k < 3; k++) {
            state = state * 1664525 + 1013904223;
            host[i].control[k].x = (state >> 8) / 16777216.0f;
            state = state * 1664525 + 1013904223;
            host[i].control[k].y = 3 * ((state >> 8) / 16777216.0f);
        }
    OK(cudaMalloc((void **)&list, sizeof host));
    OK(cudaMalloc((void **)&out, sizeof got));
    OK(cudaMemcpy(list, host, sizeof host, cudaMemcpyHostToDevice));
    lines<<<(LINES + 15) / 16, 16>>>(list, LINES);
    gather<<<LINES, 32>>>(list, out);
    release<<<1, 64>>>(list, LINES);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(host, list, sizeof host, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    bool some[2] = {};
    for (int i = 0; i < LINES; i++) {
        int n = host[i].n;
        TRUE(n >= LEAST && n <= MOST);
        some[n > LEAST] = true;
        for (int k = 0; k < n; k++) {
            double u = (double)k / (n - 1), v = 1 - u;
            const float2 *c = host[i].control;
            NEAR(got[i * MOST + k].x,
                 v * v * c[0].x + 2 * u * v * c[1].x + u * u * c[2].x, 1e-5);
            NEAR(got[i * MOST + k].y,
                 v * v * c[0].y + 2 * u * v * c[1].y + u * u * c[2].y, 1e-5);
        }
    }
    TRUE(some[0] && some[1]);
    return 0;
}
