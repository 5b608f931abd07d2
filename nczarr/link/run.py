"""Run a plan: all chunks, then all metadata, into a store.

Small parts are written where they stand; the chunks of larger ones go through a pool of threads, because
reading, encoding and writing release the interpreter's lock. At most `AHEAD` chunks a thread are under way, so
memory is bounded by chunks, never by data. The store is the same whatever the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from nczarr.diagnostics import Report
from nczarr.link.shard import key_bytes
from nczarr.link.tasks import Array, arrays
from nczarr.passes.planned import Planned
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from nczarr.data.source import Index

AHEAD = 2
"""Chunks under way for each thread."""

SMALL = 1 << 16
"""Elements of a part below which a thread costs more than it gains."""


def fill(planned: Planned, store: Store, report: Report, workers: int | None = None) -> None:
    """Write everything the plan asks for. Raises OSError where the store fails."""
    link(planned, store, workers)
    for key, document in emit(planned, report):
        store.put(key, document)


def emit(planned: Planned, report: Report) -> Iterator[tuple[str, bytes]]:
    """The metadata of the plan's format, by the format's own back end."""
    from nczarr.registry import load

    assert planned.form.emit is not None
    entries: Iterator[tuple[str, bytes]] = load(planned.form.emit)(planned, report)
    return entries


def link(planned: Planned, store: Store, workers: int | None = None) -> None:
    """Write all chunks. Raises OSError where the store fails."""
    with _Pool(workers or min(8, os.cpu_count() or 1)) as pool:
        for array in arrays(planned):
            chunks = array.indices()
            if _is_small(array):
                for index in chunks:
                    _write(array, index, store)
            else:
                for index in chunks:
                    pool.submit(_write, array, index, store)


def _is_small(array: Array) -> bool:
    size = 1
    for length in array.target.layout.shape:
        size *= length
    return size <= SMALL


def _write(array: Array, index: Index, store: Store) -> None:
    data = key_bytes(array, index)
    if data is not None:
        store.put(array.key(index), data)


class _Pool:
    """Threads that start with the first task, and a bounded number of tasks under way; the first failure is raised."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._executor: ThreadPoolExecutor | None = None
        self._running: deque[Future[None]] = deque()

    def __enter__(self) -> _Pool:
        return self

    def submit(self, work: Callable[[Array, Index, Store], None], array: Array, index: Index, store: Store) -> None:
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor  # imports `logging`: only where threads are worth it

            self._executor = ThreadPoolExecutor(self._workers)
        while len(self._running) >= self._workers * AHEAD:
            self._running.popleft().result()
        self._running.append(self._executor.submit(work, array, index, store))

    def __exit__(self, *failure: object) -> None:
        if self._executor is None:
            return
        try:
            while self._running and failure[0] is None:
                self._running.popleft().result()
        finally:
            self._executor.shutdown(wait=True, cancel_futures=True)
