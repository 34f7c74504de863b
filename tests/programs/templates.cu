/* templates.cu: C++ in kernels: templates over types and sizes, functors, static and dynamic
 * scratchpad, function attributes and occupancy. */
#include "check.h"

struct plus {
    template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct larger {
    template <typename T> __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

template <int BLOCK, typename T, typename F>
__global__ void reduce(const T *in, T *out, int n, T neutral, F f) {
    __shared__ T part[BLOCK];
    T v = neutral;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        v = f(v, in[i]);
    part[threadIdx.x] = v;
    __syncthreads();
    for (int half = BLOCK / 2; half; half /= 2) {
        if ((int)threadIdx.x < half)
            part[threadIdx.x] = f(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    if (!threadIdx.x)
        out[blockIdx.x] = part[0];
}

template <typename T> struct matrix {
    T *data;
    int rows, cols;
    __device__ T &at(int r, int c) { return data[r * cols + c]; }
};

/* A struct by value, and scratchpad whose size the launch gives. */
template <typename T> __global__ void transpose(matrix<T> in, matrix<T> out) {
    extern __shared__ unsigned char room[];
    T *tile = (T *)room;
    int w = blockDim.x, c = blockIdx.x * w + threadIdx.x, r = blockIdx.y * w + threadIdx.y;
    if (r < in.rows && c < in.cols)
        tile[threadIdx.y * (w + 1) + threadIdx.x] = in.at(r, c);
    __syncthreads();
    c = blockIdx.y * w + threadIdx.x;
    r = blockIdx.x * w + threadIdx.y;
    if (r < out.rows && c < out.cols)
        out.at(r, c) = tile[threadIdx.x * (w + 1) + threadIdx.y];
}

template <typename T, typename F>
static T reduced(const std::vector<T> &in, T neutral, F f) {
    enum { BLOCK = 128, GRID = 8 };
    T *dev, *out, part[GRID];
    OK(cudaMalloc(&dev, in.size() * sizeof(T)));
    OK(cudaMalloc(&out, sizeof part));
    OK(cudaMemcpy(dev, in.data(), in.size() * sizeof(T), cudaMemcpyHostToDevice));
    reduce<BLOCK><<<GRID, BLOCK>>>(dev, out, (int)in.size(), neutral, f);
    reduce<BLOCK><<<1, BLOCK>>>(out, dev, GRID, neutral, f);
    OK(cudaMemcpy(part, dev, sizeof(T), cudaMemcpyDeviceToHost));
    OK(cudaFree(dev));
    OK(cudaFree(out));
    return part[0];
}

template <typename T> static void transposed(int rows, int cols) {
    enum { W = 16 };
    std::vector<T> in(rows * cols), out(rows * cols);
    matrix<T> a = {NULL, rows, cols}, b = {NULL, cols, rows};
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (T)i;
    OK(cudaMalloc(&a.data, in.size() * sizeof(T)));
    OK(cudaMalloc(&b.data, in.size() * sizeof(T)));
    OK(cudaMemcpy(a.data, in.data(), in.size() * sizeof(T), cudaMemcpyHostToDevice));
    transpose<T><<<dim3((cols + W - 1) / W, (rows + W - 1) / W), dim3(W, W),
                   W *(W + 1) * sizeof(T)>>>(a, b);
    OK(cudaGetLastError());
    OK(cudaMemcpy(out.data(), b.data, out.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++)
            EQ(out[c * rows + r], in[r * cols + c]);
    OK(cudaFree(a.data));
    OK(cudaFree(b.data));
}

static void attributes() {
    cudaFuncAttributes a;
    cudaDeviceProp p;
    int blocks;
    auto kernel = reduce<256, double, plus>;
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaFuncGetAttributes(&a, kernel));
    EQ(a.sharedSizeBytes, 256 * sizeof(double));
    TRUE(a.numRegs > 0 && a.maxThreadsPerBlock >= 256);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
    TRUE(blocks > 0);
    /* With all the scratchpad a block may have, there are as many as the SM has room for. */
    int room, reserved;
    OK(cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    OK(cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel, 256, p.sharedMemPerBlock - a.sharedSizeBytes));
    EQ(blocks, room / ((int)p.sharedMemPerBlock + reserved));
    IS(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30),
       cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 4096));
    cudaGetLastError();
}

int main() {
    std::vector<int> ints(5000);
    std::vector<double> doubles(3000);
    int sum = 0, most = 0;
    double dsum = 0;
    for (size_t i = 0; i < ints.size(); i++) {
        ints[i] = (int)(i * 7919 % 10007);
        sum += ints[i];
        most = most < ints[i] ? ints[i] : most;
    }
    for (size_t i = 0; i < doubles.size(); i++)
        dsum += doubles[i] = 1.0 / (1 << i % 8);
    EQ(reduced(ints, 0, plus()), sum);
    EQ(reduced(ints, 0, larger()), most);
    EQ(reduced(doubles, 0.0, plus()), dsum);
    transposed<float>(33, 50);
    transposed<double>(16, 16);
    transposed<short>(7, 40);
    attributes();
    return 0;
}
