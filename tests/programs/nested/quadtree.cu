/* quadtree.cu: a block divides its square's points into four quadrants, stably, and
 * launches four blocks for them, as long as a square holds more than a few points. */
#include "../check.h"

enum { N = 1024, FEW = 16, DEEPEST = 8, NODES = 1 + 4 + 16 + 64 + 256 + 1024 };

struct node {
    float x, y, size;
    int first, end; /* of its points; of a leaf only */
    int leaf;
};

#ifdef __NVCC__
/* Nodes of a level stand behind each other; children of node i of a level at 4i. */
__global__ void build(node *level, int index, int levels, float2 *points, float2 *room,
                      float2 *result, int depth) {
    __shared__ int count[4], start[5];
    int own = index + blockIdx.x;
    node *n = &level[own];
    int first = n->first, end = n->end;
    float half = n->size / 2, cx = n->x + half, cy = n->y + half;
    if (end - first <= FEW || depth == levels - 1) {
        for (int i = first + threadIdx.x; i < end; i += blockDim.x)
            result[i] = points[i];
        if (threadIdx.x == 0)
            n->leaf = 1;
        return;
    }
    if (threadIdx.x < 4)
        count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = first + threadIdx.x; i < end; i += blockDim.x)
        atomicAdd(&count[(points[i].x >= cx) + 2 * (points[i].y >= cy)], 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        start[0] = first;
        for (int q = 0; q < 4; q++)
            start[q + 1] = start[q] + count[q];
    }
    __syncthreads();
    if (threadIdx.x < 4) { /* a thread for each quadrant, in the points' order */
        int q = threadIdx.x, at = start[q];
        for (int i = first; i < end; i++)
            if ((points[i].x >= cx) + 2 * (points[i].y >= cy) == q)
                room[at++] = points[i];
        int width = 1;
        for (int k = 0; k < depth; k++)
            width *= 4;
        node *child = &level[width + 4 * own + q];
        *child = node{n->x + (q & 1) * half, n->y + (q >> 1) * half, half, start[q],
                      start[q + 1], 0};
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int width = 1;
        for (int k = 0; k < depth; k++)
            width *= 4;
        build<<<4, blockDim.x>>>(level + width, 4 * own, levels, room, points, result,
                                 depth + 1);
    }
}
#else
__global__ void build(node *level, int index, int levels, float2 *points, float2 *room,
                      float2 *result, int depth) {}
#endif

int main() {
    static node nodes[NODES];
    static float2 host[N], got[N];
    node *tree;
    float2 *points, *room, *result;
    unsigned state = 5;
    double sum = 0;
    for (int i = 0; i < N; i++) {
        float v[2];
        for (int k = 0; k < 2; k++) {
            state = state * 1664525 + 1013904223;
            v[k] = (state >> 8) / 16777216.0f;
        }
        host[i].x = v[0] * v[0];
        host[i].y = v[1];
        sum += host[i].x;
    }
    nodes[0].size = 1;
    nodes[0].end = N;
    OK(cudaMalloc((void **)&tree, sizeof nodes));
    OK(cudaMalloc((void **)&points, sizeof host));
    OK(cudaMalloc((void **)&room, sizeof host));
    OK(cudaMalloc((void **)&result, sizeof host));
    OK(cudaMemcpy(tree, nodes, sizeof nodes, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(points, host, sizeof host, cudaMemcpyHostToDevice));
    build<<<1, 64>>>(tree, 0, 6, points, room, result, 0);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(nodes, tree, sizeof nodes, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(got, result, sizeof got, cudaMemcpyDeviceToHost));
    int leaves = 0, held = 0;
    for (int i = 0; i < NODES; i++) {
        const node *n = &nodes[i];
        if (!n->leaf)
            continue;
        leaves++;
        held += n->end - n->first;
        for (int k = n->first; k < n->end; k++) {
            TRUE(got[k].x >= n->x && got[k].x < n->x + n->size);
            TRUE(got[k].y >= n->y && got[k].y < n->y + n->size);
            sum -= got[k].x;
        }
    }
    EQ(held, (int)N);
    TRUE(leaves > 64);
    NEAR(sum, 0, 1e-9);
    return 0;
}
