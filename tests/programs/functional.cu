/* functional.cu: what functional mode is measured with (docs/performance-details.md): a matrix
 * product by tiles, a radix sort, a pitched texture, recursion and local memory, small
 * launches with copies, a histogram. functional [WHICH SIZE]: one of them, larger. */
#include "check.h"

#include <algorithm>

typedef std::vector<unsigned> words;

template <class T>
static T *upload(const T *v, size_t n) {
    T *d;
    OK(cudaMalloc((void **)&d, n * sizeof(T)));
    if (v)
        OK(cudaMemcpy(d, v, n * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

template <class T>
static std::vector<T> download(const T *d, size_t n) {
    std::vector<T> v(n);
    OK(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

/* -- matrix product -- */

enum { TILE = 32 };

__global__ void product(float *c, const float *a, const float *b, int n) {
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    int i = threadIdx.x, j = threadIdx.y, x = blockIdx.x * TILE + i, y = blockIdx.y * TILE + j;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        s[j][i] = a[y * n + k + i];
        t[j][i] = b[(k + j) * n + x];
        __syncthreads();
        for (int l = 0; l < TILE; l++)
            sum += s[j][l] * t[l][i];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

static void matmul(int n) {
    std::vector<float> a(n * n), b(n * n);
    for (int i = 0; i < n * n; i++)
        a[i] = (float)(i % 7), b[i] = (float)(i % 5);
    float *x = upload(a.data(), n * n), *y = upload(b.data(), n * n);
    float *z = upload<float>(NULL, n * n);
    product<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(z, x, y, n);
    std::vector<float> c = download(z, n * n);
    for (int i = 0; i < n; i += 17) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[i * n + k] * b[k * n + i];
        EQ(c[i * n + i], sum);
    }
}

/* -- radix sort, 4 bits a pass -- */

__global__ void count(const unsigned *key, unsigned *h, int shift) {
    __shared__ unsigned c[16];
    if (threadIdx.x < 16)
        c[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&c[key[blockIdx.x * 256 + threadIdx.x] >> shift & 15], 1u);
    __syncthreads();
    if (threadIdx.x < 16)
        h[threadIdx.x * gridDim.x + blockIdx.x] = c[threadIdx.x];
}

__global__ void scan(unsigned *h, unsigned *sums) {
    __shared__ unsigned t[2][256];
    unsigned i = threadIdx.x, v = h[blockIdx.x * 256 + i];
    int p = 0;
    t[0][i] = v;
    __syncthreads();
    for (unsigned d = 1; d < 256; d *= 2) {
        t[1 - p][i] = t[p][i] + (i >= d ? t[p][i - d] : 0);
        p = 1 - p;
        __syncthreads();
    }
    h[blockIdx.x * 256 + i] = t[p][i] - v;
    if (i == 255)
        sums[blockIdx.x] = t[p][255];
}

__global__ void scan_sums(unsigned *s, int n) {
    unsigned sum = 0;
    for (int i = 0; i < n; i++) {
        unsigned v = s[i];
        s[i] = sum;
        sum += v;
    }
}

__global__ void add(unsigned *h, const unsigned *s) {
    h[blockIdx.x * 256 + threadIdx.x] += s[blockIdx.x];
}

__global__ void scatter(const unsigned *key, unsigned *out, const unsigned *h, int shift) {
    __shared__ unsigned char d[256];
    unsigned k = key[blockIdx.x * 256 + threadIdx.x], digit = k >> shift & 15, rank = 0;
    d[threadIdx.x] = (unsigned char)digit;
    __syncthreads();
    for (unsigned j = 0; j < threadIdx.x; j++)
        rank += d[j] == digit;
    out[h[digit * gridDim.x + blockIdx.x] + rank] = k;
}

/* n: a multiple of 4096 */
static void sort(int n) {
    words key(n);
    unsigned x = 1;
    for (unsigned &k : key)
        k = (x = x * 1664525u + 1013904223u) >> 8;
    int blocks = n / 256, sums = blocks * 16 / 256;
    unsigned *a = upload(key.data(), n), *b = upload<unsigned>(NULL, n);
    unsigned *h = upload<unsigned>(NULL, blocks * 16), *s = upload<unsigned>(NULL, sums);
    for (int shift = 0; shift < 24; shift += 4) {
        count<<<blocks, 256>>>(a, h, shift);
        scan<<<sums, 256>>>(h, s);
        scan_sums<<<1, 1>>>(s, sums);
        add<<<sums, 256>>>(h, s);
        scatter<<<blocks, 256>>>(a, b, h, shift);
        std::swap(a, b);
    }
    std::sort(key.begin(), key.end());
    EQ(download(a, n) == key, true);
}

/* -- a texture over pitched memory -- */

__global__ void shifted(float *out, int n, cudaTextureObject_t t) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[y * n + x] = tex2D<float>(t, (x + 8.5f) / n, (y + 3.5f) / n);
}

/* n: a power of two */
static void texture(int n) {
    std::vector<float> a(n * n);
    for (int i = 0; i < n * n; i++)
        a[i] = (float)i;
    float *in, *out = upload<float>(NULL, n * n);
    size_t pitch;
    OK(cudaMallocPitch((void **)&in, &pitch, n * sizeof(float), n));
    OK(cudaMemcpy2D(in, pitch, a.data(), n * sizeof(float), n * sizeof(float), n,
                    cudaMemcpyHostToDevice));
    cudaResourceDesc r;
    cudaTextureDesc d;
    memset(&r, 0, sizeof r);
    memset(&d, 0, sizeof d);
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = in;
    r.res.pitch2D.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    r.res.pitch2D.width = r.res.pitch2D.height = n;
    r.res.pitch2D.pitchInBytes = pitch;
    d.normalizedCoords = 1;
    d.addressMode[0] = d.addressMode[1] = cudaAddressModeWrap;
    cudaTextureObject_t t;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    for (int i = 0; i < 4; i++)
        shifted<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(out, n, t);
    std::vector<float> b = download(out, n * n);
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++)
            EQ(b[y * n + x], a[(y + 3) % n * n + (x + 8) % n]);
}

/* -- recursion and local memory -- */

__device__ __attribute__((noinline)) int fibonacci(int n) {
    volatile int own[4];
    own[n & 3] = n;
    return n < 2 ? own[n & 3] : fibonacci(n - 1) + fibonacci(n - 2);
}

__global__ void recurse(int *out, int n) {
    int own[32];
    for (int i = 0; i < 32; i++)
        own[i] = (i * 7 + threadIdx.x) & 31;
    out[blockIdx.x * blockDim.x + threadIdx.x] = fibonacci(n) + own[(n + threadIdx.x) & 31];
}

static void recursion(int n) {
    int *d = upload<int>(NULL, 32 * 64), a = 0, b = 1;
    recurse<<<32, 64>>>(d, n);
    for (int i = 0; i < n; i++) {
        int c = a + b;
        a = b;
        b = c;
    }
    std::vector<int> out = download(d, 32 * 64);
    for (int i = 0; i < 32 * 64; i++)
        EQ(out[i], a + ((((n + i % 64) & 31) * 7 + i % 64) & 31));
}

/* -- small launches, each with a copy -- */

__global__ void increase(int *v, const int *by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; k++)
        v[i] += *by;
}

static void streams(int launches) {
    enum { N = 1 << 13, STREAMS = 4 };
    int five = 5, *d, *h, *by = upload(&five, 1);
    cudaStream_t s[STREAMS];
    OK(cudaMalloc((void **)&d, N * STREAMS * sizeof(int)));
    OK(cudaMemset(d, 0, N * STREAMS * sizeof(int)));
    OK(cudaMallocHost((void **)&h, N * STREAMS * sizeof(int)));
    for (cudaStream_t &one : s)
        OK(cudaStreamCreate(&one));
    for (int i = 0; i < launches; i++) {
        int at = i % STREAMS * N;
        increase<<<N / 512, 512, 0, s[i % STREAMS]>>>(d + at, by, 10);
        OK(cudaMemcpyAsync(h + at, d + at, N * sizeof(int), cudaMemcpyDeviceToHost,
                           s[i % STREAMS]));
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N * STREAMS; i += 97)
        EQ(h[i], 50 * ((launches + STREAMS - 1 - i / N) / STREAMS));
}

/* -- reductions whose result nobody reads -- */

__global__ void bins(unsigned *h, int n) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        atomicAdd(&h[x >> 20], 1u);
    }
}

static void histogram(int n) {
    unsigned *h = upload<unsigned>(NULL, 4096), sum = 0;
    OK(cudaMemset(h, 0, 4096 * sizeof(unsigned)));
    bins<<<64, 128>>>(h, n);
    for (unsigned v : download(h, 4096))
        sum += v;
    EQ(sum, 64u * 128u * n);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(int);
        int size;
    } all[] = {{"matmul", matmul, 64},       {"sort", sort, 4096},
               {"texture", texture, 32},     {"recursion", recursion, 5},
               {"streams", streams, 8},      {"histogram", histogram, 4}};
    for (auto &a : all)
        if (argc < 3 || !strcmp(argv[1], a.name))
            a.run(argc < 3 ? a.size : atoi(argv[2]));
    printf("functional: passed\n");
}
