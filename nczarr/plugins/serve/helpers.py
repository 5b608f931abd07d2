"""Pool of helper processes that run the netCDF library with a time limit, and the process itself.

A damaged file can make the library loop or crash. A thread cannot be ended, and would hold the library's lock; a
process can. Helpers are reused: a call costs some tenths of a millisecond and the pickle of its result. A file that
killed a helper is refused until it changes. `arrays/execution/processes.py` has the messages; only the server writes
to the standard input of a helper.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import BoundedSemaphore, Lock
from typing import Any

from nczarr.arrays.execution.processes import NoAnswerError, TimedProcess, answer, answer_all, own_streams, send, start
from nczarr.plugins.serve.resources import Limits
from nczarr.stores.local_file import identity_of
from nczarr.stores.open import MAPS_NO_FILES
from nczarr.stores.ranges import BoundedCache

MOST = 4
"""Maximum number of helpers, so that one hanging file does not block others."""

SHARE = 0.8
"""Share of the server's time limit for one call, so that its error can still be the answer."""

ROOM = 1 << 30
"""Bytes of memory of a helper beyond the server's limit for data."""

REMEMBERED = 1024
"""Number of remembered files that hang or crash the library."""


class Helpers:
    """Helper processes of one server. Thread-safe."""

    def __init__(self, limits: Limits) -> None:
        self._seconds = limits.timeout * SHARE
        self._memory = limits.memory + ROOM
        self._room = BoundedSemaphore(min(MOST, max(1, limits.concurrency // 2)))
        self._lock = Lock()
        self._idle: list[TimedProcess] = []
        self._all: set[TimedProcess] = set()
        self._faulty: BoundedCache[tuple[Any, ...], str] = BoundedCache(REMEMBERED)
        self._closed = False

    def start(self) -> None:
        """Start the first helper, which loads the library before the first request."""
        helper = self._start_helper()
        with self._lock:
            self._idle.append(helper)

    def call(self, path: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that opens a file. Raises its errors; NoAnswerError if it hangs or crashes."""
        key = path, *identity_of(os.stat(path))
        fault = self._faulty.get(key)
        if fault is not None:
            raise NoAnswerError(errno.EIO, fault)
        if not self._room.acquire(timeout=self._seconds):
            raise NoAnswerError(errno.EBUSY, f"no reader of HDF5 files was free for {self._seconds:g} seconds")
        try:
            return self._call(key, function, arguments)
        finally:
            self._room.release()

    def _call(self, key: tuple[Any, ...], function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call a function in a helper process and return its result. Raises what it raises, NoAnswerError."""
        with self._lock:
            helper = self._idle.pop() if self._idle else None
        helper = helper or self._start_helper()
        try:
            succeeded, result = helper.ask(self._seconds, function, arguments)
        except (EOFError, OSError):
            raise NoAnswerError(errno.EIO, self._note_failure(helper, key)) from None
        except BaseException:  # half a request may stand in its input
            self._drop(helper)
            raise
        with self._lock:
            self._idle.append(helper)
        if succeeded:
            return result
        raise result

    def _start_helper(self) -> TimedProcess:
        helper = TimedProcess(start("nczarr.plugins.serve.helpers", str(self._memory)))
        with self._lock:
            self._all.add(helper)
        return helper

    def _drop(self, helper: TimedProcess) -> int:
        with self._lock:
            self._all.discard(helper)
        return helper.end()

    def _note_failure(self, helper: TimedProcess, key: tuple[Any, ...]) -> str:
        """Return the reason why a helper ended, and remember the file."""
        status = helper.process.poll()  # before it is ended here
        with suppress(subprocess.TimeoutExpired):
            status = helper.process.wait(1)
        self._drop(helper)
        if self._closed:
            return "the server is shutting down"
        if not helper.ready:
            return "no process that reads HDF5 files could be started"
        text = f"the HDF5 library crashed (status {status})"
        if helper.late:
            text = f"the HDF5 library did not return within {self._seconds:g} seconds: the file is damaged"
        self._faulty.put(key, text)
        return text

    def close(self) -> None:
        """End all helpers."""
        self._closed = True
        with self._lock:
            helpers = list(self._all)
        for helper in helpers:
            helper.process.kill()


LOOK = 1.0
"""Seconds between checks that the server is alive."""


def main() -> None:
    """Answer requests until the server closes standard input."""
    import _thread

    memory = int(sys.argv[1])
    if hasattr(os, "getppid"):
        _thread.start_new_thread(_end_with, (os.getppid(),))
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))  # a library that loops may also take memory
    MAPS_NO_FILES.set()
    source, out = own_streams()
    _warm()
    send(out, (True, None))  # an answer without a request says that it is ready
    answer_all(source, out)


def _warm() -> None:
    """Load the libraries that every request needs."""
    from nczarr.registry import ROWS, list_names_with, load

    for name in list_names_with("reading.isolates"):
        form = load(ROWS[name])
        assert load(form.read) is not None
        answer(load(form.reading.warms), ())  # a library that is missing is reported where a file is read


def _end_with(server: int) -> None:
    """End this process after the server: a library that hangs never reads standard input."""
    while os.getppid() == server:
        time.sleep(LOOK)
    os._exit(1)


if __name__ == "__main__":
    main()
