"""cupy_kernels.py: CuPy against numpy: element by element, reductions, a matrix transposed,
sorting and scans, an ElementwiseKernel, a ReductionKernel, a RawKernel with scratchpad and atomics."""
import cupy as cp
import numpy as np


def close(got, want, **how):
    np.testing.assert_allclose(cp.asnumpy(got), want, **how)


def main():
    rng = np.random.default_rng(1)
    x, y = rng.random(5000, np.float32), rng.random(5000, np.float32)
    dx, dy = cp.asarray(x), cp.asarray(y)

    close(dx * 2 + dy, x * 2 + y, rtol=1e-6)
    close(cp.sqrt(dx) * cp.sin(dy), np.sqrt(x) * np.sin(y), rtol=1e-5)
    close(cp.where(dx > 0.5, dx, -dy), np.where(x > 0.5, x, -y))

    close(dx.sum(), x.sum(dtype=np.float64), rtol=1e-5)
    close(cp.asarray(x, dtype=cp.float64).mean(), x.mean(dtype=np.float64), rtol=1e-12)
    assert int(dx.argmax()) == int(x.argmax())
    m = rng.random((37, 53), np.float32)
    dm = cp.asarray(m)
    close(dm.sum(axis=0), m.sum(axis=0), rtol=1e-5)
    close(dm.max(axis=1), m.max(axis=1))
    close(cp.asarray(m.astype(np.float16)).sum(), m.astype(np.float16).sum(dtype=np.float64), rtol=1e-2)
    close(cp.ascontiguousarray(dm.T), m.T)
    close(cp.sort(dx), np.sort(x))
    close(cp.cumsum(cp.arange(3000, dtype=cp.int64)), np.cumsum(np.arange(3000)))

    distance = cp.ElementwiseKernel("float32 a, float32 b", "float32 c", "c = (a - b) * (a - b)", "distance")
    close(distance(dx, dy), (x - y) ** 2, rtol=1e-5, atol=1e-7)
    magnitude = cp.ReductionKernel("T a", "T b", "a * a", "a + b", "b = sqrt(a)", "0", "magnitude")
    close(magnitude(dm, axis=1), np.sqrt((m * m).sum(axis=1)), rtol=1e-5)

    histogram = cp.RawKernel(r"""
    extern "C" __global__ void histogram(const unsigned *x, unsigned *bins, int n)
    {
        __shared__ unsigned part[16];
        if (threadIdx.x < 16)
            part[threadIdx.x] = 0;
        __syncthreads();
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            atomicAdd(&part[x[i] % 16], 1u);
        __syncthreads();
        if (threadIdx.x < 16)
            atomicAdd(&bins[threadIdx.x], part[threadIdx.x]);
    }""", "histogram")
    v = rng.integers(0, 1000, 4000, dtype=np.uint32)
    bins = cp.zeros(16, cp.uint32)
    histogram((8,), (128,), (cp.asarray(v), bins, np.int32(v.size)))
    np.testing.assert_array_equal(cp.asnumpy(bins), np.bincount(v % 16, minlength=16))
    print("cupy %s: all right" % cp.__version__)


main()
