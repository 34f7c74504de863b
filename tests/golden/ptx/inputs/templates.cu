/* Templates, structs by value, a device function that is not inlined, recursion. */
#include "device.cuh"
struct vec3 { float x, y, z; };
struct box { vec3 lo, hi; char tag; double weight; short id[5]; };

template <typename T, int N>
struct stencil {
    T w[N];
    __device__ T apply(const T *p, int i) const
    {
        T s = 0;
        for (int k = 0; k < N; k++)
            s += w[k] * p[i + k - N / 2];
        return s;
    }
};

__device__ __attribute__((noinline)) vec3 cross(vec3 a, vec3 b)
{
    vec3 r = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    return r;
}

__device__ __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

__device__ __attribute__((noinline)) double volume(box b)
{
    return (double)(b.hi.x - b.lo.x) * (b.hi.y - b.lo.y) * (b.hi.z - b.lo.z) * b.weight + b.id[3] + b.tag;
}

template <typename T, int N>
__global__ void apply(T *out, const T *in, stencil<T, N> s, int n)
{
    int i = BIDX * BDIM + TIDX;
    if (i >= N / 2 && i < n - N / 2)
        out[i] = s.apply(in, i);
}
template __global__ void apply<float, 3>(float *, const float *, stencil<float, 3>, int);
template __global__ void apply<double, 5>(double *, const double *, stencil<double, 5>, int);
template __global__ void apply<short, 7>(short *, const short *, stencil<short, 7>, int);
template __global__ void apply<long long, 3>(long long *, const long long *, stencil<long long, 3>, int);
template __global__ void apply<unsigned char, 9>(unsigned char *, const unsigned char *, stencil<unsigned char, 9>, int);

extern "C" __global__ void structs(vec3 *out, box b, vec3 a, int n, bool flip)
{
    int i = BIDX * BDIM + TIDX;
    vec3 v = {(float)i, (float)n, (float)fib(i & 15)};
    out[i] = flip ? cross(a, v) : cross(v, b.lo);
    if (i == 0)
        out[n].x = (float)volume(b);
}
