"""The package as its users call it. Expected values come from NumPy or from the interface's own
identities (causes add up, equal machines have equal hashes)."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import allot

SAXPY = """
.version 6.0
.target sm_50
.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 px, .param .u64 py, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %d<6>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p, %r4, %r5;
    @%p ret;
    ld.param.f32 %f1, [a]; ld.param.u64 %d1, [px]; ld.param.u64 %d2, [py];
    mul.wide.u32 %d3, %r4, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4]; ld.global.f32 %f3, [%d5];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%d5], %f3;
    ret;
}
.visible .entry spin(.param .u64 n)
{
    .reg .pred %p; .reg .b64 %d<3>;
    ld.param.u64 %d1, [n]; mov.u64 %d2, 0;
L:  add.u64 %d2, %d2, 1;
    setp.lt.u64 %p, %d2, %d1;
    @%p bra L;
    ret;
}
"""


@pytest.fixture(scope="module")
def module():
    return allot.Module.parse(SAXPY, "saxpy.ptx")


def small(**settings):
    return allot.Machine("a100", {"sm.count": 2, **settings})


def test_launch_computes_and_counts(module):
    device = allot.Device(small())
    x = np.arange(1000, dtype=np.float32)
    y = np.ones_like(x)
    result = device.launch(module["saxpy"], 4, 256, [2.5, x, y, 1000])
    assert np.array_equal(y, np.float32(2.5) * x + 1)
    assert result.grid == (4, 1, 1) and result.block == (256, 1, 1)
    assert result.cycles > 0 and result["global_stores"] == 32
    assert sum(result.why().values()) == pytest.approx(1)
    assert result["ipc"] == pytest.approx(result["thread_instructions"] / result.cycles)
    energy = result.energy()
    parts = [energy[f"energy_{c}"] for c in ("sm", "icnt", "l2", "dram")]
    assert energy["energy"] == pytest.approx(sum(parts)) and energy["energy"] > 0
    assert "cycles" in result._repr_html_()
    assert [r.kernel for r in device.results()] == ["saxpy"]


def test_device_arrays_stay(module):
    device = allot.Device(small(), functional=True)
    x = device.array(np.full(512, 3, np.float32))
    y = device.empty(512).set(np.zeros(512))
    for _ in range(3):
        device.launch(module["saxpy"], 2, 256, [1.0, x, y, 512])
    assert np.array_equal(y.get(), np.full(512, 9, np.float32))
    assert np.asarray(y).dtype == np.float32
    with pytest.raises(allot.Error, match="another device"):
        allot.Device(small(), functional=True).launch(module["saxpy"], 2, 256, [1.0, x, y, 512])
    x.free()


def test_read_only_arrays_are_not_written(module):
    y = np.ones(256, np.float32)
    y.flags.writeable = False
    allot.Device(small(), functional=True).launch(module["saxpy"], 1, 256, [1.0, np.ones(256, np.float32), y, 256])
    assert np.array_equal(y, np.ones(256, np.float32))


def test_strided_array(module):
    y = np.ones((256, 2), np.float32)
    allot.Device(small(), functional=True).launch(
        module["saxpy"], 1, 256, [1.0, np.ones(256, np.float32), y[:, 0], 256]
    )
    assert np.array_equal(y[:, 0], np.full(256, 2)) and np.array_equal(y[:, 1], np.ones(256))


class Dlpack:
    """An array that is reached by DLPack alone, as torch's on the CPU."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **options):
        return self.a.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


def test_dlpack(module):
    y = np.ones(256, np.float32)
    x = np.full(256, 4, np.float32)
    allot.Device(small(), functional=True).launch(module["saxpy"], 1, 256, [2.0, Dlpack(x), Dlpack(y), 256])
    assert np.array_equal(y, np.full(256, 9))


@pytest.mark.parametrize(
    "args, words",
    [
        ([2.5, np.ones(4, np.float32)], "takes 4 arguments, 2"),
        ([2.5, [1.0], np.ones(4, np.float32), 4], "no element type"),
        ([2.5, 0, 0, 1 << 40], "does not fit|too big"),
        ([np.float64(2.5), 0, 0, np.uint64(1)], ""),
    ],
)
def test_wrong_arguments(module, args, words):
    device = allot.Device(small(), functional=True)
    if words:
        with pytest.raises((allot.Error, TypeError), match=words):
            device.launch(module["saxpy"], 1, 32, args)
    else:  # a NumPy number of another size is converted, as NumPy would
        with pytest.raises(allot.Error) as e:
            device.launch(module["saxpy"], 1, 32, args)
        assert e.value.failure == "fault_address"


def test_errors_name_file_and_line(module):
    with pytest.raises(allot.Error, match=r"bad\.ptx:1:"):
        allot.Module.parse("nonsense", "bad.ptx")
    device = allot.Device(small())
    with pytest.raises(allot.Error, match=r"saxpy\.ptx:\d+") as e:
        device.launch(module["saxpy"], 1, 32, [1.0, 0, 0, 32])
    assert e.value.failure == "fault_address"
    with pytest.raises(KeyError, match="there are: saxpy, spin"):
        module["saxpi"]
    with pytest.raises(allot.Error, match="sm.schedular"):
        allot.Machine("a100", {"sm.schedular": "gto"})
    with pytest.raises(allot.Error):
        allot.Machine("no-such-machine")


def test_limit_and_progress(module):
    with pytest.raises(allot.Error) as e:
        allot.Device(small(), max_cycles=1000).launch(module["spin"], 1, 32, [1 << 40])
    assert e.value.failure == "stopped"
    seen = []

    def stop(cycles, done, blocks):
        seen.append(blocks)
        return len(seen) < 3

    with pytest.raises(allot.Error, match="interrupted"):
        allot.Device(small(), progress=stop).launch(module["spin"], 1, 32, [1 << 40])
    assert seen == [1, 1, 1]

    def fail(*_):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        allot.Device(small(), progress=fail).launch(module["spin"], 1, 32, [1 << 40])


def test_keyboard_interrupt_ends_a_launch(module):
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        allot.Device(small()).launch(module["spin"], 1, 32, [1 << 40])
    assert time.monotonic() - began < 5


def test_other_threads_run_meanwhile(module):
    counted = [0]
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    allot.Device(small(), max_cycles=0).launch(module["spin"], 2, 32, [200_000])
    stop.set()
    thread.join()
    assert counted[0] > 5


def test_machine_settings(module):
    m = allot.Machine("a100")
    other = m.copy({"sm.count": 3})
    assert m["sm.count"] != "3" and other["sm.count"] == "3"
    assert m.hash == allot.Machine("a100").hash != other.hash
    assert "sm.scheduler" in str(m) and len(list(m)) == len(m.items()) == len(allot.settings())
    assert "a100" in allot.machines() and "gto" in allot.policies("schedulers")
    with pytest.raises(KeyError):
        m["sm.nothing"]


def test_occupancy_of_001_table_2_8():
    # 001 Table 2.3's machine, 7200 bytes a block of 128 threads: 2 of 16 KB, 4 with sharing
    machine = allot.Machine("000-table2")
    alone = allot.occupancy(machine, threads=128, registers=20, scratchpad=6400)
    shared = allot.occupancy(machine, threads=128, registers=20, scratchpad=6400, share="scratchpad")
    assert (alone.resident_blocks, shared.resident_blocks, shared.shared_pairs) == (2, 4, 2)
    assert alone.limited_by == "scratchpad"
    assert allot.occupancy(machine, threads=128).by_scratchpad is None


def test_passes_keep_results(module):
    opt = module.opt("cleanup,register-allocate", "a100")
    assert "saxpy" in opt.kernels and opt.hash != module.hash and opt.report
    assert "cleanup" not in allot.passes() and "register-allocate" in allot.passes()
    y = np.zeros(64, np.float32)
    x = np.arange(64, dtype=np.float32)
    allot.Device(small()).launch(opt["saxpy"], 2, 32, [3.0, x, y, 64])
    assert np.array_equal(y, 3 * x)
    with pytest.raises(allot.Error, match="no-such-pass"):
        module.opt("no-such-pass")


def test_kernel_description(module):
    k = module["saxpy"]
    assert [p.type for p in k.params] == ["f32", "u64", "u64", "u32"]
    assert k.registers > 0 and k.scratchpad == 0 and k.max_block_threads is None
    assert k.occupancy("gtx480", 256).resident_blocks == 6
    assert len(module) == 2 and [x.name for x in module] == ["saxpy", "spin"]


def test_checks_warn():
    race = """
.version 6.0
.target sm_50
.address_size 64
.visible .entry race(.param .u64 p)
{ .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p]; mov.u32 %r, %tid.x; st.global.u32 [%d], %r; ret; }
"""
    device = allot.Device(small(), check=["race"])
    result = device.launch(allot.Module.parse(race)["race"], 1, 64, [np.zeros(1, np.uint32)])
    assert "race" in result.warnings
    with pytest.raises(allot.Error, match="no check 'rice'"):
        allot.Device(small(), check="rice")


def test_workload_runs_and_is_checked():
    results = allot.workload("vecadd").run(small(), quick=True)
    assert results and all(r.cycles > 0 for r in results)
    assert allot.workload("vecadd").ptx().lstrip().startswith("//")
    assert len(allot.workloads()) > 50
    with pytest.raises(KeyError):
        allot.workload("nothing")


def test_sweep_and_charts(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = allot.sweep("vecadd", {"sm.scheduler": ["lrr", "gto"], "sm.count": [2, 4]}, quick=True)
    assert isinstance(table, pandas.DataFrame) and len(table) == 4
    assert list(table.columns)[:4] == ["workload", "machine", "sm.scheduler", "sm.count"]
    by_count = table.groupby("sm.count")["cycles"].mean()
    assert by_count[4] < by_count[2]
    again = allot.sweep("vecadd", {"sm.scheduler": ["lrr", "gto"], "sm.count": [2, 4]}, quick=True, jobs=1)
    assert table.equals(again)
    chart = allot.chart.lines(table, "sm.count", "cycles", color="sm.scheduler", title="vecadd")
    assert chart.spec["encoding"]["x"]["field"] == "sm\\.count"
    assert "application/vnd.vegalite.v5+json" in chart._repr_mimebundle_()
    chart.save(tmp_path / "chart.json")
    assert (tmp_path / "chart.json").read_text().startswith("{")


def test_store(tmp_path):
    pytest.importorskip("pandas")
    db = tmp_path / "r.db"
    subprocess.run(
        [sys.executable, "-m", "allot", "run", "vecadd", "--quick", "-m", "gtx480", "--db", str(db)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    store = allot.Store(db)
    launches = store.launches()
    assert list(launches["workload"]) == ["vecadd"] and launches["cycles"][0] > 0
    assert list(store.runs()["machine"]) == ["gtx480"]
    with pytest.raises(allot.Error):
        allot.Store(tmp_path / "none.db")
    (tmp_path / "text.db").write_text("text")
    with pytest.raises(allot.Error, match="no store"):
        allot.Store(tmp_path / "text.db").launches()


def test_lines_add_up(module):
    x = np.arange(4096, dtype=np.float32)
    y = np.zeros_like(x)
    r = allot.Device(small(), by_line=True).launch(module["saxpy"], 16, 256, [2.0, x, y, 4096])
    lines = r.lines()
    for counter in ("issue_used", "issue_memory", "warp_instructions", "loads_returned"):
        assert sum(line.get(counter, 0) for line in lines) == r[counter]
    slots = (n for line in lines for c, n in line.items() if c.startswith("issue_"))
    assert sum(slots) == r["issue_slots"]
    assert any("ld.global" in line.get("ptx_text", "") for line in lines)


def test_counters_have_descriptions():
    ids = [c.id for c in allot.counters()]
    assert "cycles" in ids and len(ids) == len(set(ids))
    assert all(c.meaning for c in allot.counters())
    assert allot.__version__ == allot.version()


def test_triton(module):
    triton = pytest.importorskip("triton")
    import triton.language as tl

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)

    kernel = allot.from_triton(
        add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 256}
    )
    x, y, out = (np.random.rand(1000).astype(np.float32) for _ in range(3))
    allot.Device(small()).launch(kernel, 4, args=[x, y, out, 1000])
    assert np.array_equal(out, x + y)


def test_numba():
    cuda = pytest.importorskip("numba.cuda")

    def scale(v, a):
        i = cuda.grid(1)
        if i < v.size:
            v[i] *= a

    try:
        kernel = allot.from_numba(scale, "void(float32[:], float32)")
    except Exception as e:  # numba needs NVVM, which comes with a toolkit
        pytest.skip(f"numba cannot compile here: {e}")
    v = np.arange(100, dtype=np.float32)
    allot.Device(small()).launch(kernel, 1, 128, [v, 2.0])
    assert np.array_equal(v, 2 * np.arange(100, dtype=np.float32))
