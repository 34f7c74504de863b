/* cub.cu: CUB: block, warp and device algorithms. Compiled, not run: see
 * tools/nvcc-forms. */
#include <cub/cub.cuh>
template <class T>
__global__ void
kb(T *i, T *o)
{
    typedef cub::BlockReduce<T, 128> BR;
    typedef cub::BlockScan<T, 128> BS;
    typedef cub::BlockRadixSort<T, 128, 4> RS;
    typedef cub::BlockLoad<T, 128, 4, cub::BLOCK_LOAD_TRANSPOSE> BL;
    typedef cub::BlockStore<T, 128, 4, cub::BLOCK_STORE_WARP_TRANSPOSE> ST;
    __shared__ union {
        typename BR::TempStorage r;
        typename BS::TempStorage s;
        typename RS::TempStorage so;
        typename BL::TempStorage l;
        typename ST::TempStorage st;
    } t;
    T v[4];
    BL(t.l).Load(i, v);
    __syncthreads();
    T a = BR(t.r).Sum(v);
    __syncthreads();
    BS(t.s).InclusiveSum(v, v);
    __syncthreads();
    RS(t.so).Sort(v);
    __syncthreads();
    ST(t.st).Store(o, v);
    if (!threadIdx.x)
        o[0] = a;
    typedef cub::WarpReduce<T> WR;
    typedef cub::WarpScan<T> WS;
    __shared__ typename WR::TempStorage wr[4];
    __shared__ typename WS::TempStorage ws[4];
    o[1] = WR(wr[threadIdx.x / 32]).Reduce(v[0], cuda::maximum<>{});
    T q;
    WS(ws[threadIdx.x / 32]).ExclusiveSum(v[1], q);
    o[2] = q;
}
template __global__ void kb<int>(int *, int *);
template __global__ void kb<float>(float *, float *);
template __global__ void kb<double>(double *, double *);
template __global__ void kb<unsigned long long>(unsigned long long *,
                                                unsigned long long *);
template __global__ void kb<short>(short *, short *);
void
host(int *a, float *f, void *t, size_t n, __half *h)
{
    cub::DeviceReduce::Sum(t, n, a, a, 100);
    cub::DeviceScan::InclusiveSum(t, n, f, f, 100);
    cub::DeviceRadixSort::SortPairs(t, n, a, a, f, f, 100);
    cub::DeviceSelect::Unique(t, n, a, a, a, 100);
    cub::DeviceHistogram::HistogramEven(t, n, f, a, 10, 0.f, 1.f, 100);
    cub::DeviceSegmentedReduce::Max(t, n, a, a, 10, a, a);
    cub::DeviceRunLengthEncode::Encode(t, n, a, a, a, a, 100);
    cub::DeviceMergeSort::SortKeys(t, n, f, 100, cuda::std::less<>{});
    cub::DevicePartition::Flagged(t, n, a, a, a, a, 100);
    cub::DeviceReduce::ArgMin(t, n, f, (cub::KeyValuePair<int, float> *)a, 100);
    cub::DeviceRadixSort::SortKeys(t, n, h, h, 100);
    cub::DeviceReduce::Sum(t, n, h, h, 100);
}
