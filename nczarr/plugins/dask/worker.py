"""Tasks on a dask worker, within the memory that the run allows a process.

Arrays and the target arrive as parcels, once per worker. Their `repr` hides
their content, because clusters log task arguments and storage options hold
secrets. Expected failures are results: they are not logged, and the client
raises them.

A finished run is settled on every worker: started tasks are awaited and no
others start, so that nothing writes into a finished or removed target.
"""

from __future__ import annotations

import asyncio
import math
import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Any, NamedTuple

from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Selection, bounding, lengths_of, region_of
from nczarr.arrays.sources.memory import Window
from nczarr.arrays.sources.source import ArraySource, Layout, numpy_dtype
from nczarr.diagnostics.report import CompileError
from nczarr.link.run import measure_needed, perform
from nczarr.link.tasks import Keys, Task, WrittenPart

PAUSE = 0.02
"""Polling interval for the end of tasks, in seconds."""


class Parcel:
    """A value for a worker, pickled on the way; only `name` is shown."""

    __slots__ = ("name", "value")

    def __init__(self, value: Any, name: str) -> None:
        self.value = value
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Outcome(NamedTuple):
    """Result of a task. Both fields are None if the run ended before the task started."""

    counts: Counts | None = None
    """Counted chunks."""
    failure: OSError | CompileError | None = None
    """The error that stopped the task."""


def unpack(parcel: Parcel) -> Parcel:
    """Return a parcel with the value itself, for all tasks of this worker."""
    return Parcel(pickle.loads(parcel.value), parcel.name)


def call(parcel: Parcel) -> Any:
    """Call a function with the arguments in a parcel."""
    function, arguments = parcel.value
    return function(*arguments)


class _Process:
    """State shared by the tasks of all runs in a process: used memory, and active tasks by run."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._used = 0
        self._busy: Counter[str] = Counter()
        self._ended: set[str] = set()

    @contextmanager
    def at_work(self, run: str, need: int, memory: int) -> Iterator[bool]:
        """Wait for `need` free bytes, and hold them in the block; yield whether the run goes on.

        A need above `memory` waits until no other task is active.
        """
        with self._changed:
            self._changed.wait_for(lambda: run in self._ended or not self._used or self._used + need <= memory)
            self._used += need
            self._busy[run] += 1
            goes_on = run not in self._ended
        try:
            yield goes_on
        finally:
            with self._changed:
                self._used -= need
                self._busy[run] -= 1
                self._changed.notify_all()

    def end(self, run: str) -> None:
        """Start no more tasks of a run."""
        with self._changed:
            self._ended.add(run)
            self._changed.notify_all()

    def is_busy(self, run: str) -> bool:
        """Return whether tasks of a run are active."""
        with self._changed:
            return self._busy[run] > 0


_process = _Process()


def do_task(
    run: str,
    array: Parcel,
    store: Parcel,
    task: Task,
    memory: int,
    region: Selection = (),
    values: NDArray[Any] | None = None,
) -> Outcome:
    """Do one task in a worker thread; all threads of the worker share `memory` bytes.

    `values`: values of `region`, if the cluster computed them for the task.
    """
    from distributed import get_worker

    described: WrittenPart = array.value
    share = memory // max(1, get_worker().state.nthreads)
    try:
        if values is not None:
            assert described.source is not None
            layout = described.source.layout
            values_of_region = values_of(layout, region, values.astype(numpy_dtype(layout.dtype), copy=False))
            described = described._replace(source=values_of_region)
        need = max(share, measure_needed(described, store.value))
        with _process.at_work(run, need, memory) as goes_on:
            return Outcome(perform(described, task, store.value, need)) if goes_on else Outcome()
    except (OSError, CompileError) as failure:
        return Outcome(failure=failure.with_traceback(None))


def values_of(layout: Layout, region: Selection, values: Any) -> ArraySource:
    """Return the values of a region as an array; None stands for values that arrive later."""
    return Window(layout, region, values)


def list_boxes(array: WrittenPart, task: Task) -> Iterator[tuple[Task, Selection]]:
    """Yield the keys of a task, each group with the region of their values."""
    layout = array.target.layout
    indices = task.indices
    regions = [region_of(index, array.unit, layout.shape) for index in indices]
    box = bounding(indices, array.unit, layout.shape)
    if math.prod(lengths_of(box)) == sum(math.prod(lengths_of(part)) for part in regions):
        yield Keys(task.array, indices), box
        return
    for index, region in zip(indices, regions, strict=True):
        yield Keys(task.array, (index,)), region


async def settle(run: str) -> None:
    """Start no more tasks of a run, and wait for started ones, in the worker's event loop."""
    _process.end(run)
    while _process.is_busy(run):
        await asyncio.sleep(PAUSE)
