"""Machines, modules, devices and results over the library's public interface."""

from __future__ import annotations

import ctypes
import json
import struct
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np

from ._allot import ffi, lib

Dim = Union[int, Sequence[int]]
Number = Union[int, float]


class Error(RuntimeError):
    """What the library says of a failure: file, line, a caret where there is one, what to do.

    `failure` is why a launch failed: "fault_address", "stuck", "stopped", ...; "" otherwise.
    """

    def __init__(self, text: str, failure: str = "") -> None:
        super().__init__(text)
        self.failure = failure


class _Cancel:
    """What interrupts parsing and passes: the exception of a signal handler."""

    raised: Optional[BaseException] = None


_cancel = _Cancel()
_cancel_handle = ffi.new_handle(_cancel)  # modules keep it as long as they live


class _Diag:
    """Diagnostics of one call."""

    def __init__(self) -> None:
        self.c = ffi.gc(lib.allot_diag_new(), lib.allot_diag_free)
        lib.allot_diag_on_cancel(self.c, lib.allot_py_cancelled, _cancel_handle)

    def text(self) -> str:
        return _text(lib.allot_diag_text(self.c)).rstrip("\n")

    def error(self, failure: str = "") -> BaseException:
        """The exception to raise: the one that interrupted the call, if one did."""
        raised, _cancel.raised = _cancel.raised, None
        return raised or Error(self.text() or "allot: failed without a diagnostic", failure)


def _text(p: Any) -> str:
    return "" if p == ffi.NULL else ffi.string(p).decode("utf-8", "replace")


def _owned_text(p: Any) -> str:
    """Text that the library has allocated for the caller."""
    try:
        return _text(p)
    finally:
        lib.free(p)


def _bytes(s: Union[str, Path]) -> bytes:
    return str(s).encode("utf-8")


def version() -> str:
    """Version of the library that was loaded."""
    return _text(lib.allot_version())


# -- machines --


class Setting(NamedTuple):
    """A setting of machine descriptions (`allot list settings`)."""

    path: str
    type: str
    unit: str
    default: str
    range: str
    meaning: str


def settings() -> List[Setting]:
    """Every setting of a machine, in the order of the reference."""
    info = ffi.new("struct allot_setting_info *")
    out: List[Setting] = []
    while lib.allot_setting(len(out), info):
        out.append(
            Setting(
                *(
                    _text(getattr(info, f))
                    for f in ("path", "type", "unit", "value_default", "range", "meaning")
                )
            )
        )
    return out


def machines() -> List[str]:
    """Names of the machine descriptions found, sorted."""
    names = lib.allot_machine_names()
    out: List[str] = []
    while names[len(out)] != ffi.NULL:
        out.append(_text(names[len(out)]))
    lib.allot_names_free(names)
    return out


class Machine:
    """A GPU description: a preset's name ("a100") or the path of a YAML file.

    Settings are items by dotted path; values are text as in the YAML file:

        m = Machine("a100", {"sm.scheduler": "gto"})
        m["sm.count"] = 4
    """

    def __init__(
        self,
        name_or_path: Union[str, Path] = "a100",
        changes: Optional[Mapping[str, object]] = None,
        *,
        _c: Any = None,
    ) -> None:
        if _c is None:
            d = _Diag()
            _c = lib.allot_machine_load(_bytes(name_or_path), d.c)
            if _c == ffi.NULL:
                raise d.error()
        self._c = ffi.gc(_c, lib.allot_machine_free)
        for path, value in (changes or {}).items():
            self[path] = value

    @property
    def name(self) -> str:
        return _text(lib.allot_machine_name(self._c))

    @property
    def hash(self) -> str:
        """Hash over all settings, 16 hexadecimal digits: equal machines have equal hashes."""
        hex_ = ffi.new("char[17]")
        lib.allot_machine_hash(self._c, hex_)
        return _text(hex_)

    @property
    def l2_bytes(self) -> int:
        """Bytes of the last-level cache, all slices together."""
        return lib.allot_machine_l2_bytes(self._c)

    def copy(self, changes: Optional[Mapping[str, object]] = None) -> "Machine":
        """The same machine, changed; this one stays as it is."""
        return Machine(changes=changes, _c=lib.allot_machine_clone(self._c))

    def __getitem__(self, path: str) -> str:
        buf = ffi.new("char[4096]")
        if not lib.allot_machine_get(self._c, _bytes(path), buf, 4096):
            raise KeyError(path)
        return _text(buf)

    def __setitem__(self, path: str, value: object) -> None:
        if isinstance(value, bool):
            value = "true" if value else "false"
        d = _Diag()
        if not lib.allot_machine_set(self._c, _bytes(path), _bytes(str(value)), d.c):
            raise d.error()

    def __iter__(self) -> Iterator[str]:
        return (s.path for s in settings())

    def items(self) -> List[Tuple[str, str]]:
        """Every setting with its value."""
        return [(path, self[path]) for path in self]

    def __str__(self) -> str:
        """A table: setting, value, unit, meaning."""
        rows = [(s.path, self[s.path], s.unit, s.meaning) for s in settings()]
        wide = [max(len(r[k]) for r in rows) for k in range(3)]
        lines = [f"machine {self.name}"]
        lines += ["  ".join(r[k].ljust(wide[k]) for k in range(3)) + "  " + r[3] for r in rows]
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"<allot.Machine {self.name} {self.hash}>"


def policies(kind: str) -> Dict[str, str]:
    """Policies by name with their meaning; kind: "schedulers", "residency", "cta_order",
    "dram" or "replacement"."""
    out: Dict[str, str] = {}
    name, meaning = ffi.new("char const **"), ffi.new("char const **")
    while lib.allot_policy(_bytes(kind), len(out), name, meaning):
        out[_text(name[0])] = _text(meaning[0])
    if not out:
        raise Error(f"there are no policies of kind '{kind}'")
    return out


class Occupancy(NamedTuple):
    """Blocks that an SM holds, and why not more. `by_*`: blocks that each resource alone
    would allow, None where the kernel uses none of it."""

    resident_blocks: int
    baseline_blocks: int
    shared_pairs: int
    unshared_blocks: int
    limited_by: str
    by_threads: Optional[int]
    by_blocks: Optional[int]
    by_registers: Optional[int]
    by_scratchpad: Optional[int]
    warps: int
    occupancy: float
    registers_wasted: int
    scratchpad_wasted: int


def occupancy(
    machine: Union[Machine, str],
    *,
    threads: int,
    registers: int = 0,
    scratchpad: int = 0,
    share: str = "",
    threshold: float = 0.1,
) -> Occupancy:
    """Resident blocks of an SM.

    threads: of a block; registers: 32-bit registers of a thread; scratchpad: bytes of a block;
    share: "" or the resource that pairs of blocks share, "registers" or "scratchpad", with the
    private part `threshold` in (0, 1].
    """
    m = _machine(machine)
    share_c = ffi.new("char[]", _bytes(share))
    q = ffi.new(
        "struct allot_occupancy_query *",
        {
            "threads": threads,
            "registers": registers,
            "scratchpad": scratchpad,
            "share": share_c,
            "threshold": threshold,
        },
    )
    out, d = ffi.new("struct allot_occupancy *"), _Diag()
    if not lib.allot_occupancy(m._c, q, out, d.c):
        raise d.error()
    values = {f: getattr(out, f) for f in Occupancy._fields}
    values["limited_by"] = _text(out.limited_by)
    for f in values:
        if f.startswith("by_") and values[f] == 0xFFFFFFFF:
            values[f] = None
    return Occupancy(**values)


def _machine(m: Union[Machine, str, Path]) -> Machine:
    return m if isinstance(m, Machine) else Machine(m)


# -- modules --


class Param(NamedTuple):
    """A kernel parameter: PTX type ("u64", "f32"), bytes, alignment."""

    name: str
    type: str
    bytes: int
    align: int


class Variable(NamedTuple):
    """A scratchpad variable of a kernel."""

    name: str
    bytes: int
    dynamic: bool
    offset: int


class Kernel:
    """A kernel of a module: `module["name"]`.

    `extra`: values of parameters that follow the caller's arguments (a front end's own);
    `block` and `dynamic_scratchpad`: defaults of its launches, None: none.
    """

    def __init__(self, module: "Module", name: str, c: Any) -> None:
        self.module = module
        self.name = name
        self._c = c
        self.extra: List[Any] = []
        self.block: Optional[Tuple[int, int, int]] = None
        self.dynamic_scratchpad = 0
        self.convert: Optional[Callable[["Device", Sequence[Any]], List[Any]]] = None

    @property
    def registers(self) -> int:
        """32-bit registers of a thread after the default passes and allocation."""
        return self._c.registers

    @property
    def instructions(self) -> int:
        """PTX instructions, static."""
        return self._c.instructions

    @property
    def scratchpad(self) -> int:
        """Static scratchpad, bytes of a block."""
        return self._c.scratchpad

    @property
    def local_bytes(self) -> int:
        """Local memory, bytes of a thread."""
        return self._c.local_bytes

    @property
    def max_block_threads(self) -> Optional[int]:
        """Most threads of a block that the PTX allows; None: not stated."""
        return self._c.max_block_threads or None

    @property
    def params(self) -> List[Param]:
        return [
            Param(_text(p.name), _text(p.type), p.bytes, p.align)
            for p in ffi.unpack(self._c.params, self._c.nparams)
        ] if self._c.nparams else []

    @property
    def variables(self) -> List[Variable]:
        return [
            Variable(_text(v.name), v.bytes, v.dynamic, v.at)
            for v in ffi.unpack(self._c.variables, self._c.nvariables)
        ] if self._c.nvariables else []

    def occupancy(
        self, machine: Union[Machine, str], threads: int, dynamic_scratchpad: int = 0, **share: Any
    ) -> Occupancy:
        """Blocks of `threads` threads that an SM of the machine holds. The kernel is compiled as
        for a launch there. `share`, `threshold`: as in `allot.occupancy`."""
        m = _machine(machine)
        q = lib.allot_demand(m._c, self._c, threads, dynamic_scratchpad)
        return occupancy(
            m, threads=q.threads, registers=q.registers, scratchpad=q.scratchpad, **share
        )

    def __repr__(self) -> str:
        params = ", ".join(f"{p.type} {p.name}" for p in self.params)
        return f"<allot.Kernel {self.name}({params}), {self.registers} registers>"


class Module:
    """PTX text, a fatbin, or a program with device code, from a file; `Module.parse` takes text.

    machine: of several PTX versions of one source, the one that this machine runs.
    """

    def __init__(
        self,
        path: Union[str, Path, None] = None,
        machine: Union[Machine, str, None] = None,
        *,
        _c: Any = None,
    ) -> None:
        if _c is None:
            m = _machine(machine) if machine is not None else None
            d = _Diag()
            _c = lib.allot_module_load_for(_bytes(path or ""), m._c if m else ffi.NULL, d.c)
            if _c == ffi.NULL:
                raise d.error()
        self._c = ffi.gc(_c, lib.allot_module_free)
        self._kernels: Dict[str, Kernel] = {}

    @classmethod
    def parse(cls, ptx: Union[str, bytes], name: str = "<python>") -> "Module":
        """A module from PTX text; `name` is what diagnostics call it."""
        text = ptx.encode("utf-8") if isinstance(ptx, str) else bytes(ptx)
        d = _Diag()
        c = lib.allot_module_parse(_bytes(name), text, len(text), d.c)
        if c == ffi.NULL:
            raise d.error()
        return cls(_c=c)

    @property
    def kernels(self) -> List[str]:
        names: List[str] = []
        while True:
            k = lib.allot_module_kernel(self._c, len(names))
            if k == ffi.NULL:
                return names
            names.append(_text(k.name))

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._kernels:
            k = lib.allot_module_find(self._c, _bytes(name))
            if k == ffi.NULL:
                raise KeyError(f"no kernel '{name}'; there are: {', '.join(self.kernels)}")
            self._kernels[name] = Kernel(self, name, k)
        return self._kernels[name]

    def __iter__(self) -> Iterator[Kernel]:
        return (self[n] for n in self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    @property
    def ptx(self) -> str:
        """The module as PTX text."""
        return _owned_text(lib.allot_module_print(self._c))

    @property
    def hash(self) -> str:
        """Hash of the PTX text, 32 hexadecimal digits."""
        hex_ = ffi.new("char[33]")
        lib.allot_module_hash(self._c, hex_)
        return _text(hex_)

    def opt(
        self,
        passes: str,
        machine: Union[Machine, str, None] = None,
        **defaults: object,
    ) -> "Module":
        """A new module: this one after the passes ("cleanup,register-allocate", settings of a
        pass behind colons: "relssp:mode=postdom"). `defaults`: settings for every pass that has
        them. `Module.report` of the result says what the passes did."""
        out = Module.parse(self.ptx)
        m = _machine(machine) if machine is not None else None
        d, report = _Diag(), ffi.new("char **")
        words = " ".join(f"{k}={v}" for k, v in defaults.items())
        done = lib.allot_module_opt_for(
            out._c, m._c if m else ffi.NULL, _bytes(passes), _bytes(words), report, d.c
        )
        out.report = _owned_text(report[0])
        if not done:
            raise d.error()
        out._kernels.clear()
        return out

    report: str = ""

    def check(self) -> None:
        """Raises `Error` where a kernel has what cannot be executed, by name and line."""
        d = _Diag()
        if not lib.allot_module_check(self._c, d.c):
            raise d.error()

    def __repr__(self) -> str:
        return f"<allot.Module {', '.join(self.kernels)}>"


def passes() -> Dict[str, str]:
    """Passes of the compiler by name, with their meaning."""
    out: Dict[str, str] = {}
    name, meaning = ffi.new("char const **"), ffi.new("char const **")
    while lib.allot_pass(len(out), name, meaning):
        out[_text(name[0])] = _text(meaning[0])
    return out


# -- results --


class Counter(NamedTuple):
    """A counter or derived value (`allot list counters`)."""

    id: str
    owner: str
    kind: str
    unit: str
    meaning: str
    derived: bool


def counters() -> List[Counter]:
    """Every counter and derived value of a launch."""
    info = ffi.new("struct allot_stat_info *")
    out: List[Counter] = []
    while lib.allot_stat(len(out), info):
        words = [_text(getattr(info, f)) for f in Counter._fields[:-1]]
        out.append(Counter._make([*words, bool(info.derived)]))
    return out


class Result:
    """What one launch left. Counters are items: `result["l1d_misses"]`; counts are int,
    derived values float."""

    def __init__(self, device: "Device", c: Any, warnings: str = "") -> None:
        self._device = device
        self._c = c
        self.warnings = warnings

    @property
    def kernel(self) -> str:
        return _text(lib.allot_result_kernel(self._c))

    @property
    def cycles(self) -> int:
        """Core cycles; 0 without timing."""
        return int(self["cycles"])

    @property
    def seconds(self) -> float:
        """Seconds of the host."""
        return lib.allot_result_seconds(self._c)

    @property
    def grid(self) -> Tuple[int, int, int]:
        return self._shape()[0]

    @property
    def block(self) -> Tuple[int, int, int]:
        return self._shape()[1]

    def _shape(self) -> Tuple[Tuple[int, int, int], Tuple[int, int, int]]:
        g, b, n = ffi.new("uint32_t[3]"), ffi.new("uint32_t[3]"), ffi.new("uint32_t *")
        lib.allot_result_shape(self._c, g, b, n)
        return (g[0], g[1], g[2]), (b[0], b[1], b[2])

    def __getitem__(self, counter: str) -> Number:
        count, value = ffi.new("uint64_t *"), ffi.new("double *")
        if not lib.allot_result_get(self._c, _bytes(counter), count, value):
            raise KeyError(counter)
        return value[0] if counter in _derived() else count[0]

    @property
    def counters(self) -> Dict[str, Number]:
        """Every counter and derived value by id."""
        return {c.id: self[c.id] for c in counters()}

    def why(self) -> Dict[str, float]:
        """Where the issue slots went: the share of each cause, in words, in [0, 1]. The shares
        add up to 1."""
        total = float(self["issue_slots"]) or 1.0
        return {word: float(self[id_]) / total for id_, word, _ in _causes()}

    def lines(self) -> List[Dict[str, Any]]:
        """Counters by instruction, of a device made with `by_line=True`: a dict an instruction
        that has a counter above 0, with these counters and "opcode", "ptx_file", "ptx_line",
        "ptx_text", "file", "line" as far as they are known. Each counter's sum is the launch's.
        `pandas.DataFrame(result.lines())` is a table."""
        c = ffi.gc(lib.allot_result_lines_text(self._c), lib.free)
        return json.loads(_text(c))

    def energy(self) -> Dict[str, float]:
        """Energy by the machine's model: "energy" (J), "power" (W), "energy_sm" and so on. See
        `Machine["energy.model"]` for the model and `Device.energy_calibrated`."""
        v = ffi.new("struct allot_energy_value *")
        out: Dict[str, float] = {}
        while lib.allot_result_energy(self._c, self._device.machine._c, len(out), v):
            out[_text(v.name)] = v.value
        return out

    def __repr__(self) -> str:
        g, b = self.grid, self.block
        return (
            f"<allot.Result {self.kernel} {g}x{b}: {self.cycles:,} cycles, "
            f"{self['warp_instructions']:,} warp instructions>"
        )

    def _repr_html_(self) -> str:
        rows = [("cycles", f"{self.cycles:,}"), ("IPC", f"{self['ipc']:.2f}")]
        rows += [(word, f"{100 * share:.1f} %") for word, share in self.why().items() if share]
        cells = "".join(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in rows)
        return f"<table><caption>{_escape(self.kernel)}</caption>{cells}</table>"


def _escape(s: str) -> str:
    return s.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_derived_ids: Optional[frozenset] = None


def _derived() -> frozenset:
    global _derived_ids
    if _derived_ids is None:
        _derived_ids = frozenset(c.id for c in counters() if c.derived)
    return _derived_ids


def _causes() -> List[Tuple[str, str, str]]:
    out: List[Tuple[str, str, str]] = []
    p = [ffi.new("char const **") for _ in range(3)]
    while lib.allot_issue_cause(len(out), *p):
        out.append((_text(p[0][0]), _text(p[1][0]), _text(p[2][0])))
    return out


# -- devices --


class _Watch:
    """What the library calls while a launch runs."""

    def __init__(self, progress: Optional[Callable[..., Any]], out: Callable[[str], Any]) -> None:
        self.progress = progress
        self.out = out
        self.raised: Optional[BaseException] = None

    def reraise(self) -> None:
        """Raises what a callback raised while the call that has ended was under way."""
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised


def _raised(exc: type, value: BaseException, trace: Any) -> None:
    """An exception in a callback (KeyboardInterrupt too): kept for the launch that is under way."""
    frame = trace.tb_frame
    user = frame.f_locals.get("user")
    if user is not None:
        ffi.from_handle(user).raised = value


@ffi.def_extern(error=False, onerror=_raised)
def allot_py_watch(user: Any, p: Any) -> bool:
    watch = ffi.from_handle(user)
    if watch.progress is None:
        return True
    return watch.progress(p.cycles, p.blocks_done, p.blocks) is not False


@ffi.def_extern(onerror=_raised)
def allot_py_print(user: Any, text: Any, n: int) -> None:
    ffi.from_handle(user).out(ffi.unpack(text, n).decode("utf-8", "replace"))


@ffi.def_extern(error=True, onerror=_raised)
def allot_py_cancelled(user: Any) -> bool:
    return False


def _print(text: str) -> None:
    print(text, end="")


class DeviceArray:
    """Memory of a device with a NumPy shape and type; it stays there between launches."""

    def __init__(self, device: "Device", shape: Tuple[int, ...], dtype: np.dtype) -> None:
        self.device, self.shape, self.dtype = device, shape, np.dtype(dtype)
        d = _Diag()
        self.nbytes = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        self.address = lib.allot_alloc(device._c, max(self.nbytes, 1), d.c)
        if not self.address:
            raise d.error()

    def set(self, values: Any) -> "DeviceArray":
        """Copies values of the same shape to the device."""
        a = np.ascontiguousarray(np.asarray(values, dtype=self.dtype))
        if a.shape != self.shape:
            raise ValueError(f"shape {a.shape} does not fit an array of shape {self.shape}")
        self.device._write(self.address, a)
        return self

    def get(self) -> np.ndarray:
        """A copy in host memory."""
        out = np.empty(self.shape, self.dtype)
        self.device._read(self.address, out)
        return out

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        a = self.get()
        return a if dtype is None else a.astype(dtype)

    def free(self) -> None:
        """Gives the memory back; the array is for nothing afterwards."""
        d = _Diag()
        if self.address and not lib.allot_free(self.device._c, self.address, d.c):
            raise d.error()
        self.address = 0

    def __repr__(self) -> str:
        return f"<allot.DeviceArray {self.shape} {self.dtype} at {self.address:#x}>"


class Device:
    """A simulated GPU: memory and launches.

    machine: a `Machine` (copied), a preset's name or a path; functional: values only, no timing;
    threads: of the host; max_cycles: give up after that many core cycles of a launch (0: no
    limit); guard: reads so many bytes outside an allocation give 0 and a warning; check: any of
    "race", "init", "sync" (functional only), findings are `Result.warnings`; progress: called
    about ten times a second with (cycles, blocks done, blocks), False stops the launch;
    print: gets what kernels print; by_line: count for each instruction too (`Result.lines`).
    """

    def __init__(
        self,
        machine: Union[Machine, str, Path] = "a100",
        *,
        functional: bool = False,
        threads: int = 1,
        max_cycles: int = 0,
        guard: int = 0,
        check: Sequence[str] = (),
        per_sm: bool = False,
        by_line: bool = False,
        progress: Optional[Callable[[int, int, int], Any]] = None,
        print: Callable[[str], Any] = _print,
    ) -> None:
        self.machine = _machine(machine).copy()
        self._watch = _Watch(progress, print)
        self._handle = ffi.new_handle(self._watch)
        checks = 0
        for name in [check] if isinstance(check, str) else check:
            try:
                checks |= getattr(lib, f"ALLOT_CHECK_{name.upper()}")
            except AttributeError:
                raise Error(f"no check '{name}': race, init, sync") from None
        options = ffi.new(
            "struct allot_options *",
            {
                "functional": functional or checks != 0,
                "threads": threads,
                "max_cycles": max_cycles,
                "guard": guard,
                "per_sm": per_sm,
                "by_line": by_line,
                "checks": checks,
                "watch": lib.allot_py_watch,
                "print": lib.allot_py_print,
                "user": self._handle,
            },
        )
        d = _Diag()
        c = lib.allot_device_new(self.machine._c, options, d.c)
        if c == ffi.NULL:
            raise d.error()
        self._c = ffi.gc(c, lib.allot_device_free)
        self._modules: List[Module] = []  # the device reads them until it is freed

    @property
    def energy_calibrated(self) -> bool:
        """Whether the energy model's coefficients were fitted to this machine."""
        return lib.allot_energy_calibrated(self.machine._c)

    def array(self, values: Any) -> DeviceArray:
        """A device array with these values."""
        a = np.ascontiguousarray(_host(values))
        return DeviceArray(self, a.shape, a.dtype).set(a)

    def empty(self, shape: Dim, dtype: Any = np.float32) -> DeviceArray:
        """A device array without values."""
        return DeviceArray(self, _shape(shape), np.dtype(dtype))

    def _write(self, address: int, a: np.ndarray) -> None:
        d = _Diag()
        if a.nbytes and not lib.allot_write(self._c, address, ffi.from_buffer(a), a.nbytes, d.c):
            raise d.error()

    def _read(self, address: int, a: np.ndarray) -> None:
        d = _Diag()
        if a.nbytes and not lib.allot_read(
            self._c, address, ffi.from_buffer(a, require_writable=True), a.nbytes, d.c
        ):
            raise d.error()

    def launch(
        self,
        kernel: Kernel,
        grid: Dim,
        block: Optional[Dim] = None,
        args: Sequence[Any] = (),
        *,
        dynamic_scratchpad: Optional[int] = None,
        cooperative: bool = False,
    ) -> Result:
        """Runs a kernel to its end.

        grid, block: a number or up to three; args: one for each parameter: numbers, NumPy scalars,
        `bytes` for structures, `DeviceArray`s, and arrays of the host (NumPy, `__array_interface__`,
        DLPack on the CPU, CuPy). Arrays of the host are copied to the device and, unless they are
        read-only, back after the launch.
        """
        if kernel.convert:
            args = kernel.convert(self, args)
        args = [*args, *kernel.extra]
        block = block if block is not None else kernel.block
        if block is None:
            raise Error(f"{kernel.name}: block is not given")
        if dynamic_scratchpad is None:
            dynamic_scratchpad = kernel.dynamic_scratchpad
        params = kernel.params
        if len(args) != len(params):
            raise Error(f"{kernel.name} takes {len(params)} arguments, {len(args)} are given")
        copies: List[Tuple[DeviceArray, np.ndarray, Any]] = []
        try:
            values = [self._value(kernel, p, a, copies) for p, a in zip(params, args)]
            result = self._run(kernel, grid, block, values, dynamic_scratchpad, cooperative)
            for on_device, host, origin in copies:
                _copy_back(on_device, host, origin)
            return result
        finally:
            for on_device, _, _ in copies:
                on_device.free()

    def _value(self, kernel: Kernel, p: Param, a: Any, copies: List[Any]) -> Any:
        if isinstance(a, DeviceArray):
            if a.device is not self:
                raise Error(f"{kernel.name}, {p.name}: the array is of another device")
            a = a.address
        elif not isinstance(a, (bool, int, float, bytes, bytearray, np.generic)):
            origin, host = a, _host(a)
            on_device = self.array(host)
            copies.append((on_device, host, origin))
            a = on_device.address
        try:
            return ffi.new("char[]", _scalar(p, a))
        except (OverflowError, struct.error, TypeError, ValueError) as e:
            raise Error(f"{kernel.name}, {p.name} ({p.type}, {p.bytes} bytes): {a!r}: {e}") from None

    def _run(
        self, kernel: Kernel, grid: Dim, block: Dim, values: List[Any], dynamic: int, coop: bool
    ) -> Result:
        name = ffi.new("char[]", _bytes(kernel.name))
        args = ffi.new("void const *[]", [ffi.cast("void *", v) for v in values] or [ffi.NULL])
        launch = ffi.new(
            "struct allot_launch *",
            {
                "module": kernel.module._c,
                "kernel": name,
                "grid": _dims(grid),
                "block": _dims(block),
                "dynamic_scratchpad": dynamic,
                "args": args,
                "nargs": len(values),
                "cooperative": coop,
            },
        )
        if kernel.module not in self._modules:
            self._modules.append(kernel.module)
        d = _Diag()
        c = lib.allot_launch(self._c, launch, d.c)
        self._watch.reraise()
        if c == ffi.NULL:
            raise d.error(_failure(lib.allot_launch_failure(self._c)))
        return Result(self, c, d.text())

    def results(self) -> List[Result]:
        """Of all launches so far."""
        return [Result(self, lib.allot_result_at(self._c, i)) for i in range(lib.allot_results(self._c))]


def _failure(code: int) -> str:
    names = ffi.typeof("enum allot_failure").elements
    return names[code].removeprefix("ALLOT_").lower() if code in names else str(code)


def _dims(d: Dim) -> List[int]:
    v = [int(d)] if isinstance(d, (int, np.integer)) else [int(x) for x in d]
    if not 1 <= len(v) <= 3 or min(v) < 1 or max(v) >= 1 << 32:
        raise Error(f"a grid or block has one to three positive dimensions: {d}")
    return v + [1] * (3 - len(v))


def _shape(d: Dim) -> Tuple[int, ...]:
    return (int(d),) if isinstance(d, (int, np.integer)) else tuple(int(x) for x in d)


def _host(a: Any) -> np.ndarray:
    """An array of the host, without a copy where it can be had so."""
    if isinstance(a, np.ndarray):
        return a
    if hasattr(a, "__cuda_array_interface__") and hasattr(a, "get"):
        return a.get()  # CuPy: a copy
    if hasattr(a, "__array_interface__"):
        return np.asarray(a)
    if hasattr(a, "__dlpack__"):
        return np.from_dlpack(a)
    if isinstance(a, (list, tuple)):
        raise TypeError("a list has no element type: make it a NumPy array")
    raise TypeError(f"{type(a).__name__} is neither a number nor an array")


def _copy_back(on_device: DeviceArray, host: np.ndarray, origin: Any) -> None:
    if host is origin or not hasattr(origin, "set"):
        if host.flags.writeable:
            host[...] = on_device.get()
        elif hasattr(origin, "__dlpack__") and not isinstance(origin, np.ndarray):
            _writeable(host)[...] = on_device.get()
    else:
        origin.set(on_device.get())  # CuPy


def _writeable(a: np.ndarray) -> np.ndarray:
    """The same memory, writeable: NumPy takes arrays of DLPack as read-only, torch's are not."""
    n = a.nbytes
    if not a.flags.c_contiguous:
        raise ValueError("arrays by DLPack are contiguous here")
    memory = memoryview((ctypes.c_char * n).from_address(a.ctypes.data))
    return np.frombuffer(memory, dtype=a.dtype).reshape(a.shape)


_FLOATS = {2: "<e", 4: "<f", 8: "<d"}


def _scalar(p: Param, a: Any) -> bytes:
    """The bytes of a parameter. A float has a float's bits in a type without sign too (b32)."""
    if isinstance(a, (bytes, bytearray)):
        out = bytes(a)
    elif isinstance(a, np.generic):
        out = a.tobytes()
        if len(out) != p.bytes and a.dtype.kind in "iub":
            return _scalar(p, int(a))
        if len(out) != p.bytes and a.dtype.kind == "f" and p.type.startswith("f"):
            return _scalar(p, float(a))
    elif p.type.startswith("f") or isinstance(a, float):
        out = struct.pack(_FLOATS[p.bytes], float(a)) if p.bytes in _FLOATS else b""
    else:
        if a < 0 and -a > 1 << (8 * p.bytes - 1):
            raise OverflowError("does not fit")
        return int(a).to_bytes(p.bytes, "little", signed=a < 0)
    if len(out) != p.bytes:
        raise ValueError(f"has {len(out)} bytes")
    return out


# -- workloads --


class Workload:
    """A benchmark of the package: inputs, launches, a check against a CPU reference."""

    def __init__(self, c: Any) -> None:
        self._c = c
        self.name = _text(c.name)
        self.summary = _text(c.summary)
        self.source = _text(c.source)

    def ptx(self, compiler: str = "clang") -> str:
        """PTX text of its kernels by "clang" or "nvcc"."""
        n = ffi.new("size_t *")
        p = lib.allot_workload_ptx(_bytes(self.name), _bytes(compiler), n)
        if p == ffi.NULL:
            raise Error(f"workload {self.name} has no PTX by '{compiler}' in this build")
        return ffi.unpack(p, n[0]).decode()

    def run(
        self,
        device: Union[Device, Machine, str] = "a100",
        *,
        quick: bool = False,
        seed: int = 1,
        passes: str = "",
        compiler: str = "clang",
        params: str = "",
    ) -> List[Result]:
        """Runs it with its own inputs and raises `Error` if its check fails. quick: the small
        input; passes: run over its PTX first; params: "NAME=VALUE ...". Returns a result for
        each launch."""
        dev = device if isinstance(device, Device) else Device(device)
        module = Module.parse(self.ptx(compiler), f"{self.name}.ptx")
        if passes:
            module = module.opt(passes, dev.machine)
        dev._modules.append(module)
        first, d, check = lib.allot_results(dev._c), _Diag(), ffi.new("char[256]")
        ok = lib.allot_workload_run_with(
            self._c, dev._c, module._c, quick, seed, _bytes(params), check, d.c
        )
        dev._watch.reraise()
        if not ok:
            raise Error("\n".join(t for t in (d.text(), _text(check)) if t))
        return dev.results()[first:]

    def __repr__(self) -> str:
        return f"<allot.Workload {self.name}: {self.summary}>"


def workloads() -> List[Workload]:
    """All workloads of the build, by name."""
    out: List[Workload] = []
    while lib.allot_workloads[len(out)] != ffi.NULL:
        out.append(Workload(lib.allot_workloads[len(out)]))
    return out


def workload(name: str) -> Workload:
    """A workload by name."""
    c = lib.allot_workload_find(_bytes(name))
    if c == ffi.NULL:
        raise KeyError(f"no workload '{name}'; allot.workloads() lists them")
    return Workload(c)
