/* Function pointers, virtual functions, tables of functions, jump tables, variadic calls. */
#include "device.cuh"
typedef float (*op)(float, float);
__device__ float add(float a, float b) { return a + b; }
__device__ float mul(float a, float b) { return a * b; }
__device__ float sub(float a, float b) { return a - b; }
__device__ op table[3] = {add, mul, sub};
__constant__ int coefficients[4][3] = {{1, 2, 3}, {4, 5}, {6}};
__device__ const char *const names[2] = {"first", "second"};
__device__ int counter = 7;
__device__ int *pointer = &counter;
__device__ struct { char c; int *p; short s; } mixed = {'x', &counter, -3};

struct shape { __device__ virtual float area() const = 0; };
struct square : shape { float s; __device__ square(float s) : s(s) {} __device__ float area() const { return s * s; } };
struct disc : shape { float r; __device__ disc(float r) : r(r) {} __device__ float area() const { return 3.14159f * r * r; } };

extern "C" __global__ void indirect(float *out, int which)
{
    out[TIDX] = table[which](out[TIDX], (float)coefficients[which][TIDX % 3]);
    if (*pointer > 3)
        out[0] += mixed.s + names[which & 1][0];
}
extern "C" __global__ void dispatch(float *out, int which)
{
    square a(out[1]);
    disc b(out[2]);
    const shape *s = which ? (const shape *)&a : (const shape *)&b;
    out[TIDX] = s->area();
}
extern "C" __global__ void cases(int *out, int n)
{
    int i = TIDX, x = out[i];
    for (int k = 0; k < n; k++)
        switch ((x + k) & 15) {
        case 0: x += 3; break;
        case 1: x *= 5; break;
        case 2: x ^= out[k]; break;
        case 3: x -= k; break;
        case 4: x = x << 3; break;
        case 5: x = x / (k + 1); break;
        case 6: x = x % (k + 2); break;
        case 7: out[k] = x; break;
        case 8: x |= 64; break;
        case 9: return;
        case 10: x = -x; break;
        case 11: x = ~x; break;
        default: x++;
        }
    out[i] = x;
}
extern "C" __global__ void speaks(int n)
{
#ifdef __clang__
    struct { int a; double b; } args = {n, 2.5};
    vprintf("n is %d and %f\n", &args);
#else
    printf("n is %d and %f\n", n, 2.5);
#endif
}
