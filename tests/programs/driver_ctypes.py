"""driver_ctypes.py: saxpy through libcuda.so.1 and ctypes, as PyCUDA and its like do it:
a module from PTX text, memory, a launch, an error. Usage: driver_ctypes.py saxpy.ptx"""
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(status, ctypes.byref(name))
        raise RuntimeError((name.value or b"?").decode())


class Device:
    def __init__(self):
        check(cuda.cuInit(0))
        self.device = ctypes.c_int()
        check(cuda.cuDeviceGet(ctypes.byref(self.device), 0))
        self.context = ctypes.c_void_p()
        check(cuda.cuCtxCreate_v2(ctypes.byref(self.context), 0, self.device))

    def upload(self, array):
        address = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.sizeof(array)))
        check(cuda.cuMemcpyHtoD_v2(address, array, ctypes.sizeof(array)))
        return address


class Kernel:
    def __init__(self, ptx, name):
        self.module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(self.module), ptx))
        self.function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), self.module, name))

    def __call__(self, grid, block, *args):
        pointers = (ctypes.c_void_p * len(args))(
            *[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in args])
        check(cuda.cuLaunchKernel(self.function, *grid, *block, 0, None, pointers, None))


def main():
    n = 1000
    device = Device()
    with open(sys.argv[1], "rb") as f:
        saxpy = Kernel(f.read() + b"\0", b"saxpy")
    x = (ctypes.c_float * n)(*range(n))
    y = (ctypes.c_float * n)(*([1.0] * n))
    px, py = device.upload(x), device.upload(y)
    saxpy((4, 1, 1), (256, 1, 1), ctypes.c_float(2.5), px, py, ctypes.c_uint(n))
    check(cuda.cuCtxSynchronize())
    check(cuda.cuMemcpyDtoH_v2(y, py, ctypes.sizeof(y)))
    wrong = [i for i in range(n) if y[i] != 2.5 * i + 1]
    if wrong:
        sys.exit("y[%d] = %r" % (wrong[0], y[wrong[0]]))
    try:
        Kernel(b".version 8.0\n.target sm_50\nnonsense\0", b"k")
    except RuntimeError as e:
        assert str(e) == "CUDA_ERROR_INVALID_PTX", e
    else:
        sys.exit("nonsense was loaded")
    check(cuda.cuMemFree_v2(px))
    check(cuda.cuMemFree_v2(py))
    check(cuda.cuCtxDestroy_v2(device.context))


main()
