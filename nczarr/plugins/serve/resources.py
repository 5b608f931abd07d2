"""Resources of a server: limits, temporary files for slow clients, and a bounded pool of worker threads.

Limits apply to concurrent tasks, to queue length and waiting time, and to the memory of all answers, from the start of
their work until their bytes are sent, moved to a file, or dropped. Heavy tasks, which open datasets or make large
answers, get half of the threads, so that short tasks never wait for them. A thread cannot be stopped: the caller gives
up on a task that takes too long, but the task occupies its slot until it ends.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import IO, NamedTuple, TypeVar

from nczarr.arrays.execution.thread_pool import processors

CONCURRENCY = min(16, processors() + 2)
"""Default number of concurrent tasks; most wait for files or release the GIL."""


class Limits(NamedTuple):
    """Resource limits of a server."""

    response: int = 256 << 20
    """Maximum bytes of one answer."""
    memory: int = 1 << 30
    """Maximum bytes of all answers in progress and of cached metadata."""
    concurrency: int = CONCURRENCY
    """Maximum number of concurrent tasks."""
    queue: int = 4096
    """Maximum number of waiting requests."""
    connections: int = 2048
    """Maximum number of concurrent clients; further ones wait."""
    timeout: float = 60.0
    """Seconds for a task, for a client to send a request, and to take the next piece of an answer."""
    grace: float = 3.0
    """Seconds for running answers when the server ends."""
    page: int = 200
    """Maximum number of entries in one page."""
    slow: float = 1.0
    """Total seconds that an answer may wait in memory for its client."""
    spill: int = 4 << 30
    """Maximum bytes of temporary files for slow clients."""

    @property
    def kept(self) -> int:
        """Approximate bytes of cached datasets."""
        return self.memory // 4

    @property
    def answers(self) -> int:
        """Bytes of memory for all answers in progress."""
        return max(1, self.memory - self.kept)

    @property
    def immediate(self) -> int:
        """Bytes of memory up to which work starts at once, without a reservation."""
        return min(8 << 20, self.answers // 64)


PIECE = 1 << 20
"""Maximum bytes passed to a connection at once."""

LEAST_PIECE = 1 << 14
"""Maximum bytes passed to a connection at once while there are many."""


class FullError(Exception):
    """The temporary files of all answers are full."""


class Disk:
    """Account of the bytes in temporary files, at most `most`. Thread-safe."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0
        self._lock = Lock()

    def has(self, size: int) -> bool:
        """Return whether `size` bytes fit."""
        return self.used + size <= self.most

    def take(self, size: int) -> None:
        """Reserve bytes. Raises FullError."""
        with self._lock:
            if self.used + size > self.most:
                raise FullError(f"temporary files have {self.used} bytes; the limit is {self.most}")
            self.used += size

    def give(self, size: int) -> None:
        """Release bytes."""
        with self._lock:
            self.used -= size


class Spool:
    """Unnamed temporary file of `size` bytes, written once, then read from its start. Raises OSError."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.size = 0
        self._at = 0
        self._file: IO[bytes] | None = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed by `close`)

    @classmethod
    def take(cls, disk: Disk, path: str) -> Spool:
        """Return a finished file, whose name the caller removes. Raises FullError, OSError."""
        made = cls(disk)
        size = os.stat(path).st_size
        disk.take(size)
        assert made._file is not None
        made._file.close()
        made.size, made._file = size, open(path, "rb", buffering=0)  # noqa: SIM115 (closed by `close`)
        return made

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes. Raises FullError, OSError."""
        assert self._file is not None
        self._disk.take(len(data))
        self.size += len(data)
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]

    def read(self, size: int) -> bytes:
        """Return the next bytes, empty at the end. Raises OSError."""
        assert self._file is not None
        data = os.pread(self._file.fileno(), size, self._at) if hasattr(os, "pread") else self._seek_read(size)
        self._at += len(data)
        return data

    def _seek_read(self, size: int) -> bytes:
        assert self._file is not None
        self._file.seek(self._at)
        return self._file.read(size)

    def rewind(self, count: int) -> None:
        """Go back by `count` bytes."""
        self._at -= count

    def close(self) -> None:
        """Delete the file and release its bytes."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
            self._disk.give(self.size)

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


T = TypeVar("T")


class BusyServerError(Exception):
    """There is no capacity for more work; the text says why."""


class _QueueEntry(NamedTuple):
    """An entry of a queue."""

    come: asyncio.Future[None]
    """Done when its turn comes."""
    need: int
    """Bytes that the task adds to the account."""
    heavy: bool
    """True for a task that takes long."""
    begun: bool
    """True if the task has started."""


class Share:
    """Memory in bytes that one answer holds between tasks, within the account of all answers."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.size = 0
        self.closed = False

    def resize(self, size: int) -> None:
        """Set the bytes of the answer, without waiting; the account may exceed its limit for a while."""
        if not self.closed and size != self.size:
            self._workers.charge(size - self.size)
            self.size = size

    def close(self) -> None:
        """Release everything for good."""
        self.resize(0)
        self.closed = True


class Workers:
    """Worker threads of one server. Only the event loop's thread calls its methods.

    `disk`: account of temporary files; `giving`: answers being sent; `used`: bytes of memory of all answers.
    """

    def __init__(self, limits: Limits, disk: Disk | None = None) -> None:
        self.limits = limits
        self.disk = disk or Disk(limits.spill)
        self.giving = 0
        self._executor = ThreadPoolExecutor(limits.concurrency, "nczarr-serve")
        self._light: deque[_QueueEntry] = deque()
        self._going: deque[_QueueEntry] = deque()
        self._heavy: deque[_QueueEntry] = deque()
        self._queues = self._light, self._going, self._heavy
        """Queues in order of admission: holders of memory first."""
        self._most_heavy = max(1, limits.concurrency // 2)
        self._active = 0
        self._active_heavy = 0
        self.used = 0

    @property
    def pressed(self) -> bool:
        """True if tasks wait for memory that answers hold."""
        return any(queue and not self._has_memory(queue[0].need, begun=queue[0].begun) for queue in self._queues)

    @property
    def piece(self) -> int:
        """Bytes to pass to a connection at once: all pieces together take about an eighth of the memory."""
        return max(LEAST_PIECE, min(PIECE, self.limits.answers // 8 // max(1, self.giving)))

    async def do(
        self,
        work: Callable[[], T],
        need: int = 0,
        *,
        begun: bool = False,
        heavy: bool = False,
        share: Share | None = None,
        weigh: Callable[[T], int] | None = None,
    ) -> T:
        """Run a task and return its result. Raises BusyServerError, and the task's errors.

        `need`: memory in bytes, which makes it heavy; the bytes of `share`
        count towards it. `begun`: an answer in progress needs it, so it goes
        first, whatever the queue length. `weigh` returns the bytes of the
        result, which become the share; by default the share is unchanged.
        """
        heavy = heavy or need > 0
        share_size = share.size if share is not None else 0
        need = max(share_size, min(need, self.limits.answers - self.limits.answers // 8))
        await self._enter(need - share_size, begun=begun, heavy=heavy)
        if share is not None:
            share.size = 0  # the task has these bytes until it ends
        loop = asyncio.get_running_loop()
        # The futures of `asyncio` hold each other: a result in one would stay until the collector runs.
        results: list[T] = []

        def leave() -> None:
            """Release the memory of the work that is not needed for its result, and start waiting work."""
            if share is None or share.closed:
                remaining = 0
            elif weigh is None:
                remaining = share_size
            else:
                remaining = weigh(results[0]) if results else 0
            if share is not None:
                share.size = remaining
            self._leave(need - remaining, heavy=heavy)

        try:
            future = self._executor.submit(lambda: results.append(work()))
        except RuntimeError:  # the server ends
            leave()
            raise BusyServerError("the server is shutting down") from None

        def schedule_leave(_: Future[None]) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(leave)

        future.add_done_callback(schedule_leave)
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), self.limits.timeout)
            return results.pop()
        except TimeoutError:
            if future.done() and not future.cancelled() and isinstance(future.exception(), TimeoutError):
                raise  # the system's own, of the work
            raise BusyServerError(f"it took longer than {self.limits.timeout:g} seconds") from None

    async def _enter(self, need: int, *, begun: bool, heavy: bool) -> None:
        """Wait for capacity."""
        queue = self._light if not heavy else self._going if begun and not need else self._heavy
        if not queue and self._fits(need, heavy=heavy, begun=begun):
            self._take(need, heavy=heavy)
            return
        waiting = sum(map(len, self._queues))
        if not begun and waiting >= self.limits.queue:
            raise BusyServerError(f"{waiting} requests are waiting already")
        turn = _QueueEntry(asyncio.get_running_loop().create_future(), need, heavy, begun)
        (queue.appendleft if begun else queue.append)(turn)
        self._admit()
        try:
            await asyncio.wait_for(turn.come, self.limits.timeout)
        except BaseException as error:
            if turn.come.done() and not turn.come.cancelled():
                self._leave(need, heavy=heavy)
            else:
                with suppress(ValueError):
                    queue.remove(turn)
                self._admit()
            if isinstance(error, TimeoutError):
                raise BusyServerError(f"the request waited longer than {self.limits.timeout:g} seconds") from None
            raise

    def _fits(self, need: int, *, heavy: bool, begun: bool) -> bool:
        """Return whether a task may start."""
        if self._active >= self.limits.concurrency or (heavy and self._active_heavy >= self._most_heavy):
            return False
        return self._has_memory(need, begun=begun)

    def _has_memory(self, need: int, *, begun: bool) -> bool:
        """Return whether there is memory for a task. Tasks that free memory never wait for it."""
        return (begun and not need) or not self.used or self.used + need <= self.limits.answers

    def charge(self, size: int) -> None:
        """Add bytes, which may be negative, to the account."""
        self.used += size
        if size < 0:
            self._admit()

    def _take(self, need: int, *, heavy: bool) -> None:
        self._active += 1
        self._active_heavy += heavy
        self.used += need

    def _leave(self, need: int, *, heavy: bool) -> None:
        self._active -= 1
        self._active_heavy -= heavy
        self.used -= need
        self._admit()

    def _admit(self) -> None:
        """Start waiting tasks while there is room, light ones first."""
        for queue in self._queues:
            while queue and self._fits(queue[0].need, heavy=queue[0].heavy, begun=queue[0].begun):
                turn = queue.popleft()
                if not turn.come.done():
                    self._take(turn.need, heavy=turn.heavy)
                    turn.come.set_result(None)

    def close(self) -> None:
        """Start no more tasks; running threads are not awaited."""
        self._executor.shutdown(wait=False, cancel_futures=True)
