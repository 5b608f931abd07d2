"""Threads: a `Crew` for the bounded stream of tasks of a run, and `run_each` for the pieces of one read.

Reading, decoding, encoding and writing release the GIL. A crew returns results in
stream order. Its pending work is bounded by the number of threads, and by the
tasks' declared memory; a task that needs more than the limit runs alone.

`run_each` starts its threads anew: that costs 0.05 ms a thread, leaves none behind,
and none is inherited by a forked process. The reads of a process share one thread
per processor. The threads of a crew read alone.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from threading import Condition, Lock, Thread, local
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nczarr.names.records import NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

DISTANT_WORKERS, MOST_WORKERS = 16, 64
"""Threads for network access, where requests mostly wait: at first, and at most."""

GAIN = 1.3
"""Results a second, in those of half of the threads, for which a distant place is asked by so many."""

TRIED = 4
"""Tasks for each thread after which results are compared."""

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


T = TypeVar("T")

ROOM = 1 << 27
"""Maximum bytes that the threads of one read hold besides its result, unless one item needs more."""

PATIENCE = 5.0
"""Seconds that an interrupted read waits for its threads."""


class _Limits(local):
    """Limits of each read of a thread."""

    workers: int | None = None
    """Maximum threads; None: one per processor."""
    memory: int = ROOM
    """Maximum bytes besides the result."""


_limits = _Limits()


@contextmanager
def limit(workers: int | None, memory: int = ROOM) -> Iterator[None]:
    """Limit each read of this thread to so many threads and bytes; None changes nothing."""
    before = _limits.workers, _limits.memory
    _limits.workers = before[0] if workers is None else workers
    _limits.memory = min(before[1], memory)
    try:
        yield
    finally:
        _limits.workers, _limits.memory = before


def in_limits(items: Iterable[T], workers: int | None, memory: int) -> Iterator[T]:
    """Yield items that are each made within limits."""
    iterator = iter(items)
    while True:
        with limit(workers, memory):
            items_made = list(islice(iterator, 1))
        if not items_made:
            return
        yield items_made[0]


REUSED = 1 << 24
"""Bytes of the largest buffers that are reused."""


@cache
def reuse_memory() -> None:
    """Let freed buffers of chunks stay with the process, for the next chunk.

    The C library of GNU takes buffers of up to 32 MiB from its heap, instead of
    mapping each anew, once a mapped buffer of this size was freed; and it then
    returns free memory to the system beyond twice this size. Mapping the buffers
    of each chunk takes as long as inflating them.
    """
    bytearray(REUSED)


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


BARRIER = Task(lambda: None, here=True, after_all=True)
"""No work, after all earlier tasks."""


class Crew:
    """Threads, started on demand. The first failure is raised and stops further tasks.

    `distant`: tasks wait for a distant place. Then their threads are doubled as long as results come quicker for it.
    """

    def __init__(self, workers: int | None, memory: int, *, distant: bool = False) -> None:
        """Begin without threads; None as `workers`: as many as the place needs. `memory` is in bytes."""
        self.workers = workers or (DISTANT_WORKERS if distant else min(8, processors()))
        self.memory = memory
        self._grows = distant and workers is None
        self._rate, self._count, self._since = 0.0, 0, 0.0
        self._executor: ThreadPoolExecutor | None = None
        self._lock = Lock()
        self._idle, self._room = Condition(self._lock), Condition(self._lock)
        self._active = 0
        self._stopped = False

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *failure: object) -> None:
        """Wait for every thread; the executor may miss one that was starting at an interrupt."""
        with self._lock:
            self._stopped = True
            self._room.notify_all()
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
        with self._idle:
            while self._active:
                self._idle.wait()

    def _run(self, work: Callable[[], Any]) -> Any:
        """Run work unless the crew has stopped."""
        with self._idle:
            while self._active >= self.workers and not self._stopped:
                self._room.wait()
            if self._stopped:
                return None
            self._active += 1
        try:
            with limit(1):
                return work()
        finally:
            with self._idle:
                self._active -= 1
                self._idle.notify_all()
                self._room.notify()

    def results(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """Yield task results in order. A result counts as memory until the next is requested."""
        waiting: deque[tuple[Future[Any] | None, Any, int]] = deque()
        used = 0
        for task in tasks:
            while waiting and (
                task.after_all or len(waiting) >= self.workers * AHEAD or used + task.need > self.memory
            ):
                future, result, need = waiting.popleft()
                yield result if future is None else self._take(future)
                used -= need
            if task.here and not waiting:
                yield task.work()
                continue
            future, result = (None, task.work()) if task.here else (self._begin(task), None)
            waiting.append((future, result, task.need))
            used += task.need
        while waiting:
            future, result, _ = waiting.popleft()
            yield result if future is None else self._take(future)

    def _take(self, future: Future[Any]) -> Any:
        """Return the result of a thread. Raises its failure."""
        result = future.result()
        if self._grows:
            self._adapt()
        return result

    def _begin(self, task: Task) -> Future[Any]:
        if self._executor is None:
            from concurrent.futures import ThreadPoolExecutor  # imports `logging`: only where threads are worth it

            reuse_memory()
            self._executor = ThreadPoolExecutor(MOST_WORKERS if self._grows else self.workers)
        return self._executor.submit(self._run, task.work)

    def _adapt(self) -> None:
        """Count a result. After some for each thread, double the threads, or end that if results come no quicker."""
        self._count += 1
        if self._count <= TRIED * self.workers:
            return
        now = time.monotonic()
        rate, is_first = self._count / max(now - self._since, 1e-6), not self._since  # the first ones open connections
        self._count, self._since = 0, now
        if is_first:
            return
        with self._lock:
            self._grows = rate >= GAIN * self._rate and self.workers < MOST_WORKERS
            if rate < GAIN * self._rate:
                self.workers //= 2
            elif self._grows:
                self.workers *= 2
            self._room.notify(self.workers)
        self._rate = rate


class _Helpers:
    """Threads that the reads of the process may start in all, one per further processor."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._free = processors() - 1

    def take(self, most: int) -> int:
        """Return how many threads may be started, at most `most`; `give` returns them."""
        with self._lock:
            taken = max(0, min(most, self._free))
            self._free -= taken
            return taken

    def give(self, count: int) -> None:
        """Return threads that have ended."""
        with self._lock:
            self._free += count


_helpers = _Helpers()


def _forget() -> None:
    """Give a forked process helpers of its own: the threads of its parent do not exist in it."""
    global _helpers
    _helpers = _Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class _SharedItems(Generic[T]):
    """Items that several threads share, and the failure that counts."""

    def __init__(self, call: Callable[[T], None], items: Iterable[T]) -> None:
        self._call = call
        self._items = enumerate(items)
        self._lock = Lock()
        self._failed = -1
        self.failure: BaseException | None = None
        self.stopped = False

    def run(self) -> None:
        """Call the function with items until there are no more, or one has failed."""
        while True:
            number = sys.maxsize
            try:
                with self._lock:
                    numbered = None if self.stopped else next(self._items, None)
                if numbered is None:
                    return
                number = numbered[0]
                self._call(numbered[1])
            except BaseException as failure:
                self._fail(number, failure)
                return

    def _fail(self, number: int, failure: BaseException) -> None:
        """Keep the failure of the first item; an interrupt precedes all others."""
        self.stopped = True
        with self._lock:
            if not isinstance(failure, Exception):
                number = -1
            if self.failure is None or number < self._failed:
                self.failure, self._failed = failure, number


def run_each(call: Callable[[T], None], items: Iterable[T], need: int | None) -> None:
    """Call a function with every item, in this thread and others, within the limits of this thread.

    `need`: bytes that the work on an item takes; None: the work is not worth a
    thread. All threads have ended when it
    returns. If items fail, the failure of the first one in order is raised, and
    items behind it may be left out.
    """
    helpers, count = _helpers, 0
    if need is not None:
        most = _limits.memory // max(1, need)
        count = helpers.take((most if _limits.workers is None else min(most, _limits.workers)) - 1)
    if not count:
        for item in items:
            call(item)
        return
    work, threads = _SharedItems(call, items), list[Thread]()
    try:
        for _ in range(count):
            threads.append(Thread(target=_run_alone, args=(work,), daemon=True))
            threads[-1].start()
        _run_alone(work)
    except RuntimeError:  # no more threads: this one does the rest
        _run_alone(work)
    except BaseException as failure:  # an interrupt
        work.stopped = True
        work.failure = failure
    finally:
        for thread in threads:
            _wait(thread, work)
        helpers.give(count)
    if work.failure is not None:
        raise work.failure


def _run_alone(work: _SharedItems[Any]) -> None:
    """Run in a thread whose own reads use no further ones."""
    with limit(1):
        work.run()


def _wait(thread: Thread, work: _SharedItems[Any]) -> None:
    """Wait for a thread, which ends after its item if an interrupt comes; then for a limited time.

    An interrupt of an import leaves a lock behind, for which the thread may wait
    forever.
    """
    while thread.is_alive():
        interrupted = work.failure is not None and not isinstance(work.failure, Exception)
        try:
            thread.join(PATIENCE if interrupted else None)
        except BaseException as failure:
            work.stopped = True
            work.failure = failure
        if interrupted:
            return
