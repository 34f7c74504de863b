"""numba_kernels.py: kernels written in Python, compiled by numba and checked against numpy:
a grid-stride loop, scratchpad with barriers, atomics, device functions, local arrays, float64
mathematics, two dimensions, streams and events, reductions made by @cuda.reduce."""
import math
import warnings

import numpy as np
from numba import config, cuda, float32, int32

warnings.simplefilter("ignore")
config.CUDA_LOW_OCCUPANCY_WARNINGS = False
TILE = 8


@cuda.jit(device=True)
def smooth(x):
    return math.sqrt(x) + math.exp(-x) * math.sin(x)


@cuda.jit
def transform(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = smooth(x[i])


@cuda.jit
def block_sum(x, out):
    part = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    n = 64
    while n > 0:
        if t < n:
            part[t] += part[t + n]
        cuda.syncthreads()
        n //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit
def histogram(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i] % bins.size, 1)


@cuda.jit
def matmul(a, b, c):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for k in range(a.shape[1] // TILE):
        sa[ty, tx] = a[y, k * TILE + tx]
        sb[ty, tx] = b[k * TILE + ty, x]
        cuda.syncthreads()
        for j in range(TILE):
            total += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit
def warp_and_local(out):
    own = cuda.local.array(4, int32)
    t = cuda.grid(1)
    for i in range(4):
        own[i] = t * (i + 1)
    s = own[t % 4]
    for d in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(0xFFFFFFFF, s, d)
    out[t] = s


@cuda.reduce
def total_of(a, b):
    return a + b


@cuda.reduce
def largest_of(a, b):
    return a if a > b else b


def main():
    rng = np.random.default_rng(1)
    x = rng.random(1000) * 10
    y = np.zeros_like(x)
    transform[3, 64](x, y)
    np.testing.assert_allclose(y, np.sqrt(x) + np.exp(-x) * np.sin(x), rtol=1e-12)

    xf = rng.random(1000).astype(np.float32)
    total = np.zeros(1, np.float32)
    block_sum[8, 128](xf, total)
    np.testing.assert_allclose(total[0], xf.sum(), rtol=1e-5)

    assert total_of(cuda.to_device(np.arange(3000))) == 3000 * 2999 // 2
    assert largest_of(xf) == xf.max()

    values = rng.integers(0, 1 << 30, 2000).astype(np.int32)
    bins = cuda.to_device(np.zeros(17, np.int32))
    histogram[20, 100](cuda.to_device(values), bins)
    np.testing.assert_array_equal(bins.copy_to_host(), np.bincount(values % 17, minlength=17))

    a = rng.random((32, 16)).astype(np.float32)
    b = rng.random((16, 24)).astype(np.float32)
    stream = cuda.stream()
    start, stop = cuda.event(), cuda.event()
    da, db = cuda.to_device(a, stream=stream), cuda.to_device(b, stream=stream)
    dc = cuda.device_array((32, 24), np.float32, stream=stream)
    start.record(stream)
    matmul[(3, 4), (TILE, TILE), stream](da, db, dc)
    stop.record(stream)
    stop.synchronize()
    assert cuda.event_elapsed_time(start, stop) > 0
    np.testing.assert_allclose(dc.copy_to_host(stream=stream), a @ b, rtol=1e-5)

    out = np.zeros(64, np.int32)
    warp_and_local[1, 64](out)
    t = np.arange(64)
    s = t * (t % 4 + 1)
    np.testing.assert_array_equal(out, np.repeat([s[:32].sum(), s[32:].sum()], 32))
    print("numba: 5 kernels and 2 reductions, all right")


main()
