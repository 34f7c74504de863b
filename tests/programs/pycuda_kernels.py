"""pycuda_kernels.py: PyCUDA against numpy: a SourceModule with scratchpad, arrays on the GPU,
reductions, streams and events. nvcc must be on PATH: PyCUDA calls it."""
import numpy as np
import pycuda
import pycuda.autoinit
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

rng = np.random.default_rng(1)
module = SourceModule(r"""
__global__ void reverse_blocks(float *out, const float *in)
{
    __shared__ float part[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = part[blockDim.x - 1 - threadIdx.x];
}
__constant__ float factor;
__global__ void scale(float *x) { x[threadIdx.x] *= factor; }
""")
x = rng.random(1024, np.float32)
out = np.empty_like(x)
start, end = drv.Event(), drv.Event()
start.record()
module.get_function("reverse_blocks")(drv.Out(out), drv.In(x), block=(128, 1, 1), grid=(8, 1))
end.record()
end.synchronize()
np.testing.assert_array_equal(out, x.reshape(8, 128)[:, ::-1].ravel())
assert start.time_till(end) >= 0

where, size = module.get_global("factor")
drv.memcpy_htod(where, np.float32(3))
y = gpuarray.to_gpu(x[:64])
module.get_function("scale")(y, block=(64, 1, 1))
np.testing.assert_array_equal(y.get(), x[:64] * np.float32(3))

a, b = gpuarray.to_gpu(x), gpuarray.to_gpu(out)
np.testing.assert_allclose((2 * a + b).get(), 2 * x + out, rtol=1e-6)
np.testing.assert_allclose(gpuarray.sum(a).get(), x.sum(dtype=np.float64), rtol=1e-5)
axpy = ElementwiseKernel("float k, float *x, float *y", "y[i] = k * x[i] + y[i]")
axpy(np.float32(0.5), a, b)
np.testing.assert_allclose(b.get(), 0.5 * x + out, rtol=1e-6)
dot = ReductionKernel(np.float64, neutral="0", reduce_expr="a+b", map_expr="(double)x[i] * y[i]",
                      arguments="float *x, float *y")
np.testing.assert_allclose(dot(a, a).get(), np.dot(x.astype(np.float64), x.astype(np.float64)), rtol=1e-12)
print("pycuda %s: all right" % pycuda.VERSION_TEXT)
