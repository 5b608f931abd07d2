"""Calls that open a file in this process, or in one that a damaged file may hang or crash.

A server makes all calls in helper processes (`serve/helpers.py`). Elsewhere a
call runs in this process. A file that turns out to be damaged (`SuspectError`)
is read by a guard process from then on, so that undamaged files cost nothing.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from subprocess import TimeoutExpired
from threading import Lock
from typing import Any

from nczarr.arrays.processes import TimedProcess, answer_all, own_streams, send
from nczarr.formats.netcdf4.library import library

SECONDS = 60.0
"""Seconds for one call of the guard process."""

MEMORY = 4 << 30
"""Bytes of memory of the guard process: a library that follows damaged lengths may take all there is."""

Way = Callable[..., Any]
"""Function that makes calls elsewhere; arguments: the file's path, a picklable function, its arguments."""

_way: Way | None = None
_apart = False
_suspects: set[tuple[Any, ...]] = set()
_refused: dict[tuple[Any, ...], str] = {}
_lock = Lock()
_guard: TimedProcess | None = None
_owner = 0


class SuspectError(Exception):
    """The file is damaged in a way that may crash the libraries; it is read apart."""


def use(way: Way | None) -> None:
    """Set the function that makes calls, in processes that can be killed (`nczarr/serve/helpers.py`); None: here."""
    global _way
    _way = way


def prepare() -> None:
    """Load the library in a process that may crash, where damaged files are read. Raises MissingLibraryError."""
    global _apart
    _apart = True
    library()


def is_apart() -> bool:
    """Return whether this process may hang or crash."""
    return _apart


def is_here(path: str) -> bool:
    """Return whether calls for a file are made in this process."""
    return _way is None and not (_suspects and _identity(path) in _suspects)


def called(path: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that opens the file at `path`. Raises its exceptions, or OSError without an answer."""
    if _way is not None:
        return _way(path, function, *arguments)
    if is_here(path):
        try:
            return function(*arguments)
        except SuspectError:
            suspect(path)
    return _guarded(path, function, arguments)


def suspect(path: str) -> None:
    """Read a file in the guard process from now on, until it changes. Raises SuspectError in a process apart."""
    if _apart:
        raise SuspectError(path)
    _suspects.add(_identity(path))


def _identity(path: str) -> tuple[Any, ...]:
    try:
        status = os.stat(path)
    except OSError:  # remote
        return (path,)
    return path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _guarded(path: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a function in the guard process. Raises its errors; OSError if the process hangs or crashes."""
    key = _identity(path)
    with _lock:
        if key in _refused:
            raise OSError(errno.EIO, _refused[key])
        guard = _started()
        try:
            done, outcome = guard.ask(SECONDS, function, arguments)
        except (EOFError, OSError):
            _refused[key] = _end(guard)
            raise OSError(errno.EIO, _refused[key]) from None
        except BaseException:  # half a request may stand in its input
            _end(guard)
            raise
    if done:
        return outcome
    raise outcome


def _started() -> TimedProcess:
    """Return the guard process, which a process that was forked from this one does not share."""
    global _guard, _owner
    if _guard is None or _owner != os.getpid():
        _guard, _owner = TimedProcess("nczarr.formats.netcdf4.isolation"), os.getpid()
    return _guard


def _end(guard: TimedProcess) -> str:
    """End the guard process and return why it gave no answer."""
    global _guard
    _guard = None
    with suppress(TimeoutExpired):
        guard.process.wait(1)
    status = guard.process.poll()
    guard.end()
    if not guard.ready:
        return "no process that reads damaged HDF5 files could be started"
    if guard.late:
        return f"the HDF5 library did not return within {SECONDS:g} seconds: the file is damaged"
    return f"the file is damaged: the HDF5 library crashed on it (status {status})"


def main() -> None:
    """Answer requests until the other side closes standard input."""
    from nczarr.formats.netcdf4 import isolation  # this module is `__main__` here

    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    isolation.prepare()
    source, out = own_streams()
    send(out, (True, None))
    answer_all(source, out)


if __name__ == "__main__":
    main()
