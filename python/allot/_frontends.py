"""Kernels of Triton and numba-cuda as kernels of allot. Both compile without a GPU."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np

from ._core import Device, Error, Kernel, Module


def from_triton(
    fn: Any,
    signature: Mapping[str, str],
    constexprs: Optional[Mapping[str, Any]] = None,
    *,
    capability: int = 80,
    **options: Any,
) -> Kernel:
    """A `@triton.jit` function, compiled for sm_`capability`.

    signature: type of each parameter that is no constant: {"x": "*fp32", "n": "i32"};
    constexprs: values of the others; options: Triton's own (num_warps, num_stages). The kernel
    knows its block and scratchpad, so `device.launch(kernel, grid, args=[x, y, n])` is enough.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile as triton_compile

    constants = dict(constexprs or {})
    full: Dict[str, str] = {
        name: "constexpr" if name in constants else signature[name] for name in fn.arg_names
    }
    source = ASTSource(fn=fn, signature=full, constexprs=constants)
    compiled = triton_compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    module = Module.parse(compiled.asm["ptx"], f"{fn.__name__}.ptx")
    kernel = module[compiled.metadata.name]
    kernel.block = (32 * compiled.metadata.num_warps, 1, 1)
    kernel.dynamic_scratchpad = compiled.metadata.shared
    own = len(kernel.params) - len(signature)
    for word in ("global_scratch_size", "profile_scratch_size"):
        if getattr(compiled.metadata, word, 0):
            raise Error(f"{fn.__name__}: Triton's {word} is not supported")
    if own < 0:
        raise Error(f"{fn.__name__} has {len(kernel.params)} parameters in PTX, the signature {len(signature)}")
    kernel.extra = [0] * own  # Triton's scratch memory, which it does not use
    return kernel


def from_numba(fn: Any, signature: Any, *, capability: int = 80, **options: Any) -> Kernel:
    """A Python function by numba-cuda: `from_numba(f, "void(float32[:], float32)")`.

    Arrays are passed as NumPy arrays (or `DeviceArray`s); numba's description of an array (sizes
    and strides) is made from them.
    """
    from numba import cuda
    from numba.core import sigutils, types

    args, _ = sigutils.normalize_signature(signature)
    ptx, _ = cuda.compile_ptx(
        fn, args, device=False, cc=(capability // 10, capability % 10), **options
    )
    module = Module.parse(ptx, f"{fn.__name__}.ptx")
    kernel = module[module.kernels[0]]

    def convert(device: Device, values: Sequence[Any]) -> List[Any]:
        if len(values) != len(args):
            raise Error(f"{fn.__name__} takes {len(args)} arguments, {len(values)} are given")
        out: List[Any] = []
        for t, v in zip(args, values):
            if isinstance(t, types.Array):
                a = v if hasattr(v, "strides") else np.empty(v.shape, v.dtype)
                out += [0, 0, int(np.prod(v.shape)), a.dtype.itemsize, v]
                out += [*a.shape, *a.strides]
            else:
                out.append(np.dtype(str(t)).type(v) if isinstance(t, types.Number) else v)
        return out

    kernel.convert = convert
    return kernel
