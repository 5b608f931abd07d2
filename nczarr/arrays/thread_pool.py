"""Threads that work through a stream of tasks, a bounded number at a time, and hand back results in the order of the
stream.

Reading, encoding and writing release the interpreter's lock. What is under way is bounded twice: by the number of
threads, and by the memory that tasks say they need; a task that needs more than there is runs alone.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import Condition
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

DISTANT_WORKERS = 16
"""Threads where a run reads or writes over a network, and requests wait most of the time."""

AHEAD = 2
"""Tasks under way for each thread."""


class Task(NamedTuple):
    """A piece of work. `need`: bytes of memory while it runs and until its result is taken. `here`: it costs less than
    a thread would. `after_all`: it waits until everything before it is done.
    """

    work: Callable[[], Any]
    need: int = 0
    here: bool = False
    after_all: bool = False


class Crew:
    """Threads, started with the first task that is worth one. The first failure is raised, and nothing more begun."""

    def __init__(self, workers: int | None, memory: int) -> None:
        self.workers = workers or min(8, os.cpu_count() or 1)
        self._memory = memory
        self._executor: ThreadPoolExecutor | None = None
        self._idle = Condition()
        self._active = 0
        self._stopped = False

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *failure: object) -> None:
        """Wait for every thread. The executor does not know of one that it was starting when it was interrupted."""
        with self._idle:
            self._stopped = True
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
        with self._idle:
            while self._active:
                self._idle.wait()

    def _run(self, work: Callable[[], Any]) -> Any:
        """Do a piece of work, unless the crew has stopped."""
        with self._idle:
            if self._stopped:
                return None
            self._active += 1
        try:
            return work()
        finally:
            with self._idle:
                self._active -= 1
                self._idle.notify_all()

    def results(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """What the tasks give, in their order. A result counts as memory until the next one is asked for."""
        waiting: deque[tuple[Future[Any] | None, Any, int]] = deque()
        used = 0
        for task in tasks:
            while waiting and (
                task.after_all or len(waiting) >= self.workers * AHEAD or used + task.need > self._memory
            ):
                future, result, need = waiting.popleft()
                yield result if future is None else future.result()
                used -= need
            if task.here and not waiting:
                yield task.work()
                continue
            future, result = (None, task.work()) if task.here else (self._begin(task), None)
            waiting.append((future, result, task.need))
            used += task.need
        while waiting:
            future, result, _ = waiting.popleft()
            yield result if future is None else future.result()

    def _begin(self, task: Task) -> Future[Any]:
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor  # imports `logging`: only where threads are worth it

            self._executor = ThreadPoolExecutor(self.workers)
        return self._executor.submit(self._run, task.work)
