/* mma.cu: wmma: every shape and type of mma.h. Compiled, not run: see tools/nvcc-forms.
 */
#include <mma.h>
using namespace nvcuda;
template <class A, class Acc, int M, int N, int K, class LA, class LB>
__device__ void
go(A *a, A *b, Acc *c)
{
    wmma::fragment<wmma::matrix_a, M, N, K, A, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, A, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Acc> fc;
    wmma::load_matrix_sync(fa, a, 64);
    wmma::load_matrix_sync(fb, b, 64);
    wmma::fill_fragment(fc, (Acc)0);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 64, wmma::mem_row_major);
    wmma::load_matrix_sync(fc, c, 64, wmma::mem_col_major);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c + 4096, fc, 64, wmma::mem_col_major);
}
typedef wmma::row_major R;
typedef wmma::col_major C;
__global__ void
k1(__half *a, __half *b, float *c)
{
    go<__half, float, 16, 16, 16, R, C>(a, b, c);
    go<__half, float, 32, 8, 16, C, C>(a, b, c);
    go<__half, float, 8, 32, 16, R, R>(a, b, c);
}
__global__ void
k2(__half *a, __half *b, __half *c)
{
    go<__half, __half, 16, 16, 16, C, R>(a, b, c);
}
__global__ void
k3(signed char *a, signed char *b, int *c)
{
    go<signed char, int, 16, 16, 16, R, C>(a, b, c);
    go<unsigned char, int, 8, 32, 16, R, C>((unsigned char *)a, (unsigned char *)b, c);
}
#if __CUDA_ARCH__ >= 800
__global__ void
k4(__nv_bfloat16 *a, __nv_bfloat16 *b, float *c)
{
    go<__nv_bfloat16, float, 16, 16, 16, R, C>(a, b, c);
}
__global__ void
k6(double *a, double *b, double *c)
{
    go<double, double, 8, 8, 4, R, C>(a, b, c);
}
__global__ void
k5(float *a, float *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, R> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, C> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
    wmma::load_matrix_sync(fa, a, 64);
    wmma::load_matrix_sync(fb, b, 64);
    for (int i = 0; i < fa.num_elements; i++)
        fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
    wmma::fill_fragment(fc, 0.f);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 64, wmma::mem_row_major);
}
#endif
__global__ void
k7(int *a, int *b, int *c)
{
    namespace ex = wmma::experimental;
    wmma::fragment<wmma::matrix_a, 8, 8, 32, ex::precision::s4, R> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, ex::precision::s4, C> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
    wmma::load_matrix_sync(fa, a, 64);
    wmma::load_matrix_sync(fb, b, 64);
    wmma::fill_fragment(fc, 0);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 64, wmma::mem_row_major);
    wmma::fragment<wmma::matrix_a, 8, 8, 128, ex::precision::b1, R> ga;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, ex::precision::b1, C> gb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> gc;
    wmma::load_matrix_sync(ga, a, 128);
    wmma::load_matrix_sync(gb, b, 128);
    wmma::fill_fragment(gc, 0);
    wmma::bmma_sync(gc, ga, gb, gc);
#if __CUDA_ARCH__ >= 800
    wmma::bmma_sync(gc, ga, gb, gc, ex::bmmaBitOpAND);
#endif
    wmma::store_matrix_sync(c, gc, 64, wmma::mem_row_major);
}
