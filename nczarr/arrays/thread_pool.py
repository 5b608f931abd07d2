"""Threads that process a bounded stream of tasks, and return results in stream order.

Reading, encoding and writing release the GIL. Pending work is bounded by the
number of threads, and by the tasks' declared memory; a task that needs more
than the limit runs alone.
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
"""Threads for network access, where requests mostly wait."""

AHEAD = 2
"""Pending tasks per thread."""


class Task(NamedTuple):
    """Work for a thread."""

    work: Callable[[], Any]
    """The function to call."""
    need: int = 0
    """Bytes in memory until the result is taken."""
    here: bool = False
    """True if it runs in the calling thread."""
    after_all: bool = False
    """True if it runs after all earlier tasks."""


BARRIER = Task(lambda: None, here=True, after_all=True)
"""No work, after all earlier tasks."""


class Crew:
    """Threads, started on demand. The first failure is raised and stops further tasks."""

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
        """Wait for every thread; the executor may miss one that was starting at an interrupt."""
        with self._idle:
            self._stopped = True
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
        with self._idle:
            while self._active:
                self._idle.wait()

    def _run(self, work: Callable[[], Any]) -> Any:
        """Run work unless the crew has stopped."""
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
        """Yield task results in order. A result counts as memory until the next is requested."""
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
