"""Run a plan: all chunks, then all metadata, into a store.

Small parts are written where they stand; the keys of larger ones go through a pool of threads, because
reading, encoding and writing release the interpreter's lock. Each thread has one chunk or shard in hand, so
memory is bounded by those, never by data. The store is the same whatever the number of threads.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator
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
"""Tasks under way for each thread."""

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
    """Write all keys of data. Raises OSError where the store fails."""
    with _Pool(store, workers or min(8, os.cpu_count() or 1)) as pool:
        for array in arrays(planned):
            indices = array.indices()
            if _is_small(array):
                pool.drain()
                for index in indices:
                    _put(store, array.key(index), key_bytes(array, index))
            else:
                for index in indices:
                    pool.submit(array, index)


def _is_small(array: Array) -> bool:
    return math.prod(array.target.layout.shape) <= SMALL


def _put(store: Store, key: str, data: bytes | None) -> None:
    if data is not None:
        store.put(key, data)


class _Pool:
    """Threads that start with the first task, and a bounded number of tasks under way; the first failure is raised.

    A thread makes a key's bytes and puts them. For a sequential store it hands them back, and they are put in the
    order of the tasks; fewer tasks are under way then, because each may hold a finished key.
    """

    def __init__(self, store: Store, workers: int) -> None:
        self._store = store
        self._workers = workers
        self._most = workers if store.sequential else workers * AHEAD
        self._executor: ThreadPoolExecutor | None = None
        self._running: deque[Future[tuple[str, bytes | None]]] = deque()

    def __enter__(self) -> _Pool:
        return self

    def submit(self, array: Array, index: Index) -> None:
        """Have one key made, as soon as there is room."""
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor  # imports `logging`: only where threads are worth it

            self._executor = ThreadPoolExecutor(self._workers)
        while len(self._running) >= self._most:
            self._finish_first()
        self._running.append(self._executor.submit(self._make, array, index))

    def drain(self) -> None:
        """For a sequential store: put everything that is under way."""
        while self._store.sequential and self._running:
            self._finish_first()

    def _make(self, array: Array, index: Index) -> tuple[str, bytes | None]:
        key, data = array.key(index), key_bytes(array, index)
        if self._store.sequential:
            return key, data
        _put(self._store, key, data)
        return key, None

    def _finish_first(self) -> None:
        _put(self._store, *self._running.popleft().result())

    def __exit__(self, *failure: object) -> None:
        if self._executor is None:
            return
        try:
            while self._running and failure[0] is None:
                self._finish_first()
        finally:
            self._executor.shutdown(wait=True, cancel_futures=True)
