"""What a worker of a dask cluster does: tasks of a run, as they come, within the memory that the run allows a process.

Arrays and the target come as parcels, once to a worker; neither they nor what is in them prints anything of their
content, because clusters log what their tasks were called with, and storage options hold secrets. Failures that are no
faults of ours are results: nothing of them is logged, and the client raises them.

A run that has ended is settled on every worker: what it has begun there is waited for, and nothing more is begun, so
that nobody writes into a target that is finished, or removed.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Any, NamedTuple

from nczarr.arrays.counts import Counts
from nczarr.diagnostics.report import CompileError
from nczarr.link.run import needed, perform
from nczarr.link.tasks import Task

PAUSE = 0.02
"""Seconds between two looks at whether a task has ended."""


class Parcel:
    """A pickled value on its way to a worker. `name` is what is seen of it."""

    __slots__ = ("content", "name")

    def __init__(self, content: bytes, name: str) -> None:
        self.content = content
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Unpacked:
    """The value of a parcel."""

    __slots__ = ("name", "value")

    def __init__(self, value: Any, name: str) -> None:
        self.value = value
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Outcome(NamedTuple):
    """What became of a task: what was put, or why it failed; neither if the run had ended before it was begun."""

    counts: Counts | None = None
    failure: OSError | CompileError | None = None


def unpacked(parcel: Parcel) -> Unpacked:
    """The value of a parcel, for all tasks of this worker."""
    return Unpacked(pickle.loads(parcel.content), parcel.name)


class _Process:
    """What the tasks of all runs in one process share: memory, and who is at work for which run."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._used = 0
        self._busy: Counter[str] = Counter()
        self._ended: set[str] = set()

    @contextmanager
    def at_work(self, run: str, need: int, memory: int) -> Iterator[bool]:
        """Wait until so many bytes of those that a process may use are free, and hold them in the block, which is told
        whether the run still goes on. Who needs more than there are waits until nobody else is at work.
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
        """Begin nothing more for a run."""
        with self._changed:
            self._ended.add(run)
            self._changed.notify_all()

    def is_busy(self, run: str) -> bool:
        """Whether somebody is at work for a run."""
        with self._changed:
            return self._busy[run] > 0


_process = _Process()


def do(run: str, array: Unpacked, store: Unpacked, task: Task, memory: int) -> Outcome:
    """Do one task of a run in a thread of a worker, all of whose threads may take so many bytes together."""
    from distributed import get_worker

    share = memory // max(1, get_worker().state.nthreads)
    need = max(share, needed(array.value, store.value))
    try:
        with _process.at_work(run, need, memory) as goes_on:
            return Outcome(perform(array.value, task, store.value, need)) if goes_on else Outcome()
    except (OSError, CompileError) as failure:
        return Outcome(failure=failure.with_traceback(None))


async def settle(run: str) -> None:
    """Begin nothing more for a run, and wait until what was begun has ended. In the worker's event loop."""
    _process.end(run)
    while _process.is_busy(run):
        await asyncio.sleep(PAUSE)
