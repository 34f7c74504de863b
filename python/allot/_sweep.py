"""Sweeps over settings, as a table."""

from __future__ import annotations

import itertools
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Mapping, Optional, Sequence, Union

from ._core import Device, Machine, Result, Workload, _machine, workload

if TYPE_CHECKING:
    import pandas

Subject = Union[str, Workload, Callable[[Device], Union[Result, Iterable[Result]]]]


def sweep(
    what: Union[Subject, Sequence[str]],
    settings: Mapping[str, Sequence[object]],
    machine: Union[Machine, str, Sequence[Union[Machine, str]]] = "a100",
    *,
    counters: Sequence[str] = ("cycles", "warp_instructions", "thread_instructions", "ipc"),
    quick: bool = False,
    passes: str = "",
    jobs: Optional[int] = None,
) -> "pandas.DataFrame":
    """Every combination of the settings' values, a row each.

    what: workloads by name, or a function that launches on the device it is given and returns
    the results that count; settings: {"sm.scheduler": ["lrr", "gto"]}; counters: columns, summed
    over launches (derived values are those of the last launch); jobs: runs in parallel, all
    cores unless given. The columns are workload, machine, the settings, the counters.
    """
    import pandas

    subjects = [what] if isinstance(what, (str, Workload)) or callable(what) else list(what)
    machines = [machine] if isinstance(machine, (str, Machine)) else list(machine)
    points = [
        (s, m, values)
        for s in subjects
        for m in machines
        for values in itertools.product(*settings.values())
    ]
    bar = _Bar(len(points))

    def run(point: Any) -> List[Any]:
        subject, base, values = point
        device = Device(_machine(base).copy(dict(zip(settings, values))))
        if isinstance(subject, str):
            subject = workload(subject)
        if isinstance(subject, Workload):
            name, results = subject.name, subject.run(device, quick=quick, passes=passes)
        else:
            name, got = getattr(subject, "__name__", "function"), subject(device)
            results = [got] if isinstance(got, Result) else list(got)
        row = [name, device.machine.name, *values, *(_sum(results, c) for c in counters)]
        bar.step()
        return row

    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        rows = list(pool.map(run, points))
    bar.end()
    return pandas.DataFrame(rows, columns=["workload", "machine", *settings, *counters])


def _sum(results: Sequence[Result], counter: str) -> Any:
    if counter == "ipc":
        cycles = sum(r.cycles for r in results)
        return sum(r["thread_instructions"] for r in results) / cycles if cycles else 0.0
    values = [r[counter] for r in results]
    return values[-1] if values and isinstance(values[-1], float) else sum(values)


class _Bar:
    """A progress bar on a terminal; nothing elsewhere."""

    def __init__(self, of: int) -> None:
        self.done, self.of, self.shown = 0, of, sys.stderr.isatty()

    def step(self) -> None:
        self.done += 1
        if self.shown:
            filled = 40 * self.done // self.of
            sys.stderr.write(f"\r[{'#' * filled}{'.' * (40 - filled)}] {self.done}/{self.of}")
            sys.stderr.flush()

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\n")
