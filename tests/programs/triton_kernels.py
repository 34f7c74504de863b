"""triton_kernels.py: kernels compiled and launched by Triton itself, without torch, checked against
numpy: sum, softmax, matrix product in half precision (tensor pipelines), attention."""
import ctypes

import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0


class Buffer:
    """An array in managed memory: what Triton asks of a tensor, and the array for numpy."""

    def __init__(self, values):
        values = np.ascontiguousarray(values)
        where = ctypes.c_uint64()
        assert cuda.cuMemAllocManaged(ctypes.byref(where), ctypes.c_size_t(values.nbytes), 1) == 0
        self.where, self.dtype = where.value, str(values.dtype)
        raw = (ctypes.c_char * values.nbytes).from_address(self.where)
        self.array = np.frombuffer(raw, values.dtype).reshape(values.shape)
        self.array[...] = values

    def data_ptr(self):
        return self.where


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, K, BK):
        x = tl.load(a + i[:, None] * K + (at + k)[None, :],
                    mask=(i[:, None] < M) & ((at + k)[None, :] < K), other=0.0)
        y = tl.load(b + (at + k)[:, None] * N + j[None, :],
                    mask=((at + k)[:, None] < K) & (j[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * N + j[None, :], total, mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def attention(q, k, v, out, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """One pass over the keys with a running maximum and sum."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.program_id(1) * N * D
    d = tl.arange(0, D)
    qs = tl.load(q + head + i[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    below = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for at in range(0, N, BN):
        j = at + tl.arange(0, BN)
        ks = tl.load(k + head + j[None, :] * D + d[:, None])
        s = tl.dot(qs, ks) * scale
        s = tl.where(i[:, None] >= j[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        old = tl.exp(top - new)
        vs = tl.load(v + head + j[:, None] * D + d[None, :])
        total = tl.dot(p.to(tl.float16), vs, total * old[:, None])
        below = below * old + tl.sum(p, 1)
        top = new
    tl.store(out + head + i[:, None] * D + d[None, :], total / below[:, None])


def softmax_of(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def main():
    rng = np.random.default_rng(1)
    x, y, out = (Buffer(rng.random(1000, np.float32)) for _ in range(3))
    add[(triton.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
    np.testing.assert_array_equal(out.array, x.array + y.array)

    x, out = Buffer(rng.random((7, 100), np.float32) * 10), Buffer(np.zeros((7, 100), np.float32))
    softmax[(7,)](x, out, 100, BLOCK=128)
    np.testing.assert_allclose(out.array, softmax_of(x.array), rtol=1e-5)

    M, N, K = 70, 50, 96
    a, b = (Buffer(rng.standard_normal(s).astype(np.float16)) for s in ((M, K), (K, N)))
    c = Buffer(np.zeros((M, N), np.float32))
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    product = matmul[grid](a, b, c, M, N, K, BM=32, BN=32, BK=32)
    np.testing.assert_allclose(c.array, a.array.astype(np.float64) @ b.array.astype(np.float64),
                               rtol=1e-3, atol=1e-3)
    assert "mma.sync" in product.asm["ptx"]

    N, D = 64, 32
    q, k, v = (Buffer(rng.standard_normal((2, N, D)).astype(np.float16)) for _ in range(3))
    out = Buffer(np.zeros((2, N, D), np.float32))
    attention[(N // 32, 2)](q, k, v, out, N, D**-0.5, BM=32, BN=32, D=D)
    s = q.array.astype(np.float64) @ k.array.astype(np.float64).transpose(0, 2, 1) * D**-0.5
    s[:, np.triu(np.ones((N, N), bool), 1)] = -np.inf
    np.testing.assert_allclose(out.array, softmax_of(s) @ v.array.astype(np.float64),
                               rtol=5e-3, atol=5e-3)
    print("triton %s: 4 kernels, all right" % triton.__version__)


main()
