"""allot: a PTX compiler and cycle-level GPU simulator, from Python.

A machine (a GPU description) and a module (PTX) make launches on a device:

    import allot, numpy as np
    device = allot.Device("a100")
    x = np.arange(1024, dtype=np.float32)
    y = np.ones_like(x)
    saxpy = allot.Module("saxpy.ptx")["saxpy"]
    result = device.launch(saxpy, 4, 256, [2.5, x, y, 1024])
    result.cycles, result["l1d_misses"], result.why()

NumPy arrays are copied to the device before a launch and back after it. A failure raises
`allot.Error`, whose text names file, line and what to do. Neither a GPU nor CUDA is needed.
"""

from ._core import (
    Counter,
    Device,
    DeviceArray,
    Error,
    Kernel,
    Machine,
    Module,
    Occupancy,
    Result,
    Setting,
    Workload,
    counters,
    machines,
    occupancy,
    passes,
    policies,
    settings,
    version,
    workload,
    workloads,
)
from ._frontends import from_numba, from_triton
from ._store import Store
from ._sweep import sweep
from . import chart

__version__ = version()

__all__ = [
    "Counter",
    "Device",
    "DeviceArray",
    "Error",
    "Kernel",
    "Machine",
    "Module",
    "Occupancy",
    "Result",
    "Setting",
    "Store",
    "Workload",
    "chart",
    "counters",
    "from_numba",
    "from_triton",
    "machines",
    "occupancy",
    "passes",
    "policies",
    "settings",
    "sweep",
    "version",
    "workload",
    "workloads",
]
