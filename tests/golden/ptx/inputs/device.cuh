/* The least of CUDA that clang needs here without a toolkit; nvcc brings its own. */
#ifndef __CUDACC__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __host__ __attribute__((host))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#elif defined(__clang__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __host__ __attribute__((host))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#endif
#ifdef __clang__
#define TIDX __nvvm_read_ptx_sreg_tid_x()
#define BIDX __nvvm_read_ptx_sreg_ctaid_x()
#define BDIM __nvvm_read_ptx_sreg_ntid_x()
#define SYNC() asm volatile("bar.sync 0;" ::: "memory")
extern "C" __device__ int vprintf(const char *, const void *);
#else
#define TIDX threadIdx.x
#define BIDX blockIdx.x
#define BDIM blockDim.x
#define SYNC() __syncthreads()
#include <stdio.h>
#endif
