/* thrust.cu: Thrust algorithms; parts of libcu++. Compiled, not run: see
 * tools/nvcc-forms. */
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/transform.h>
#include <thrust/unique.h>
#include <thrust/random.h>
#include <thrust/complex.h>
#include <thrust/set_operations.h>
#include <cuda/std/complex>
#include <cuda/std/array>
#include <cuda/std/tuple>
#include <cuda/std/chrono>
#include <cuda/std/bit>
void
h()
{
    thrust::device_vector<int> v(100), w(100);
    thrust::sort(v.begin(), v.end());
    thrust::reduce(v.begin(), v.end());
    thrust::inclusive_scan(v.begin(), v.end(), w.begin());
    thrust::transform(v.begin(), v.end(), w.begin(), thrust::negate<int>());
    thrust::unique(v.begin(), v.end());
    thrust::sort_by_key(v.begin(), v.end(), w.begin(), thrust::greater<int>());
    thrust::set_union(v.begin(), v.end(), w.begin(), w.end(), v.begin());
    thrust::device_vector<thrust::complex<float>> c(10);
    thrust::reduce(c.begin(), c.end(), thrust::complex<float>(0));
}
__global__ void
k(cuda::std::complex<double> *c, unsigned *u, long long *l)
{
    c[0] = cuda::std::exp(c[1]) * cuda::std::pow(c[2], c[3]);
    u[0] = cuda::std::popcount(u[1]) + cuda::std::countl_zero(u[2]) +
           cuda::std::bit_ceil(u[3]);
    l[0] = cuda::std::chrono::high_resolution_clock::now().time_since_epoch().count();
}
