/* A step of k-means: each thread finds the centre nearest to its point (features lie
 * feature by feature), says whether the point changed clusters, and the block counts the
 * changes and notes each thread's cluster for the count of cluster sizes. */
#define THREADS 576
#define MAX_CLUSTERS 16

__constant__ float centres[MAX_CLUSTERS * 32];

extern "C" __global__ void
kmeansPoint(const float *features, int nfeatures, int npoints, int nclusters,
            int *membership, int *block_changes, int *block_sizes)
{
    __shared__ int changes[THREADS];
    __shared__ int cluster[THREADS];
    int tid = threadIdx.x, point = blockIdx.x * THREADS + tid;
    int best = -1;

    if (point < npoints) {
        float least = 3.4e38f;
        for (int c = 0; c < nclusters; c++) {
            float distance = 0.0f;
            for (int f = 0; f < nfeatures; f++) {
                float d = features[f * npoints + point] - centres[c * nfeatures + f];
                distance += d * d;
            }
            if (distance < least) {
                least = distance;
                best = c;
            }
        }
    }
    changes[tid] = point < npoints && membership[point] != best;
    cluster[tid] = best;
    if (point < npoints)
        membership[point] = best;
    __syncthreads();
    /* 576 is no power of two: 64 threads add up 9 each, then those are halved. */
    if (tid < 64)
        for (int i = tid + 64; i < THREADS; i += 64)
            changes[tid] += changes[i];
    __syncthreads();
    for (int half = 32; half; half /= 2) {
        if (tid < half)
            changes[tid] += changes[tid + half];
        __syncthreads();
    }
    if (tid < nclusters) {
        int n = 0;
        for (int i = 0; i < THREADS; i++)
            n += cluster[i] == tid;
        block_sizes[blockIdx.x * nclusters + tid] = n;
    }
    if (tid == 0)
        block_changes[blockIdx.x] = changes[0];
}
