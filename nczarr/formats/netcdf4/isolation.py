"""Calls that open a file by the libraries, in a process that a damaged file may hang or crash.

A server makes all calls in helper processes. Elsewhere a
guard process makes them: a copy of this process while it has one thread, else
a new one. Files that this process has open, and remote files, are read here.
"""

import atexit
import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread, main_thread
from typing import IO, Any, NamedTuple

from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.execution.processes import (
    ForkedProcess,
    NoAnswerError,
    TimedProcess,
    answer_all,
    at_exit,
    can_fork,
    own_streams,
    send,
    start,
)
from nczarr.formats.netcdf4.hdf5 import flush_written, has_open_files, hdf5, open_ids
from nczarr.formats.netcdf4.header.file_bytes import find_loaded
from nczarr.formats.netcdf4.library import library
from nczarr.stores.places import find_remote_file

SECONDS = 60.0
"""Seconds for one call of a library in the guard process."""

SECONDS_OF_HEADERS = 5.0
"""Seconds for one call of a library about headers, which takes milliseconds."""

RATE = 8 << 20
"""Bytes of a file that add a second: one call may read all of it."""

ROOM = 1 << 30
"""Bytes of memory of the guard process for a call: a library that follows damaged lengths may take all there is."""

EXPANSION = 16
"""Bytes of memory for a byte of the file."""

HUNG = 75
"""Exit status of a guard process whose library does not return."""

LOOK = 0.5
"""Seconds between looks at the progress of the guard process."""

Way = Callable[..., Any]
"""Function that makes calls elsewhere; arguments: the file's path, a picklable function, its arguments."""

_way: Way | None = None
_apart = False
_refused: dict[tuple[Any, ...], str] = {}
_lock = Lock()
_guard: TimedProcess | None = None
_owner = 0


def use(way: Way | None) -> None:
    """Set the function that makes calls, in processes that can be killed; None: here."""
    global _way
    _way = way


def prepare() -> None:
    """Load the library in a process that may crash, where damaged files are read. Raises MissingLibraryError."""
    global _apart
    _apart = True
    library()


def is_here(path: str) -> bool:
    """Return whether calls for a file are made in this process."""
    if _way is not None:
        return False
    return _apart or find_remote_file(path) is not None or is_open(path)


def is_open(path: str) -> bool:
    """Return whether HDF5 has a file open in this process: another one may not read it, or reads an earlier state."""
    lib = find_loaded()
    if lib is None:
        return False
    with LOCK:
        return bool(open_ids(hdf5(lib), path))


def flush(path: str) -> None:
    """Let HDF5 put on disk what it has of a local file that this process writes."""
    lib = find_loaded()
    if lib is not None and find_remote_file(path) is None:
        with LOCK:
            flush_written(hdf5(lib), path)


def call(path: str, function: Callable[..., Any], *arguments: Any, about_headers: bool = False) -> Any:
    """Call a function that opens the file at `path`. Raises its exceptions, or NoAnswerError.

    `about_headers`: it reads only headers, which never take the memory that a process may have.
    """
    try:
        if _way is not None:
            return _way(path, function, *arguments)
        if is_here(path):
            _check_answered(path, about_headers=about_headers)
            return function(*arguments)
        return _call_guarded(path, function, arguments, about_headers=about_headers)
    except MemoryError as error:
        if not about_headers:
            raise
        text = "the HDF5 library takes all memory for a header: the file is damaged"
        raise NoAnswerError(errno.EIO, text) from error


def _check_answered(path: str, *, about_headers: bool) -> None:
    """Raise NoAnswerError for a file that a library has hung or crashed on, also where its ranges are read instead."""
    if _refused:
        file = find_remote_file(path)
        reason = _refused.get((about_headers, *_identity(path if file is None else file.connection.root)))
        if reason is not None:
            raise NoAnswerError(errno.EIO, reason)


def _identity(path: str) -> tuple[Any, ...]:
    try:
        status = os.stat(path)
    except OSError:  # remote
        return (path,)
    return path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _call_guarded(path: str, function: Callable[..., Any], arguments: tuple[Any, ...], *, about_headers: bool) -> Any:
    """Call a function in the guard process. Raises its errors; NoAnswerError if the process hangs or crashes."""
    identity = _identity(path)
    size = identity[3] if len(identity) > 1 else 0
    seconds = SECONDS_OF_HEADERS if about_headers else SECONDS
    key = about_headers, *identity  # the damaged header may be that of another object than the values
    request = _Request(_folder(), seconds + size / RATE, ROOM + EXPANSION * size, function, arguments)
    with _lock:
        if key in _refused:
            raise NoAnswerError(errno.EIO, _refused[key])
        guard = _start_guard()
        try:
            done, outcome = guard.ask(None, _answer, (request,))
        except (EOFError, OSError):
            _refused[key] = _end_guard(guard, seconds)
            raise NoAnswerError(errno.EIO, _refused[key]) from None
        except BaseException:  # half a request may stand in its input
            _end_guard(guard)
            raise
    if done:
        return outcome
    raise outcome


def _start_guard() -> TimedProcess:
    """Return the guard process, which a process that was forked from this one does not share."""
    global _guard, _owner
    if _guard is None or _owner != os.getpid():
        with LOCK:
            process = ForkedProcess(_serve) if _can_copy() else start("nczarr.formats.netcdf4.isolation")
        if not _owner:
            atexit.register(close)
            at_exit.append(close)
        _guard, _owner = TimedProcess(process), os.getpid()
    return _guard


def _can_copy() -> bool:
    """Return whether the guard process can be a copy of this one: HDF5 has no file open here."""
    lib = find_loaded()
    with LOCK:
        return can_fork() and (lib is None or not has_open_files(hdf5(lib)))


def close() -> None:
    """End the guard process of this process. It has our standard error, whose reader waits for its end."""
    if _guard is not None and _owner == os.getpid():
        _guard.end()


def _end_guard(guard: TimedProcess, seconds: float = SECONDS) -> str:
    """End the guard process and return why it gave no answer."""
    from subprocess import TimeoutExpired  # rarely needed

    global _guard
    _guard = None
    with suppress(TimeoutExpired):
        guard.process.wait(1)
    status = guard.process.poll()
    guard.end()
    if not guard.ready:
        return "no process that reads HDF5 files could be started"
    if status == HUNG:
        return f"the HDF5 library did not return within {seconds:g} seconds: the file is damaged"
    return f"the file is damaged: the HDF5 library crashed on it (status {status})"


# ---- the guard process ----------------------------------------------------------------------------------------------
class _Watch:
    """Ends the guard process when a library does not return, or when the process that asks has ended."""

    def __init__(self) -> None:
        self.limit: float | None = None
        """Seconds without progress; None between calls."""
        self._parent = os.getppid()
        Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        """End the process if a call makes no progress for `limit` seconds, or if the parent has ended."""
        last, since = None, time.monotonic()
        while os.getppid() == self._parent:
            time.sleep(LOOK if self.limit is None else min(LOOK, self.limit / 4))
            progress = self._progress()
            if progress != last or self.limit is None:
                last, since = progress, time.monotonic()
            elif time.monotonic() - since > self.limit:
                os._exit(HUNG)
        os._exit(1)

    def _progress(self) -> tuple[int, int, int]:
        """Return numbers that change while calls return: the count of calls, and the place in the code."""
        frame = sys._current_frames().get(main_thread().ident or 0)
        lib = find_loaded()
        return 0 if lib is None else lib.calls, id(frame), -1 if frame is None else frame.f_lasti


_watch: _Watch | None = None


class _Request(NamedTuple):
    """One call."""

    folder: str | None
    """Working directory, to which paths are relative."""
    seconds: float
    """Seconds without progress after which the guard process ends."""
    memory: int
    """Bytes of memory that the call may take."""
    function: Callable[..., Any]
    """Function to call."""
    arguments: tuple[Any, ...]


def _folder() -> str | None:
    """Return the working directory; None if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _answer(request: _Request) -> Any:
    """Make a call within its limits. Raises what the function raises."""
    if request.folder is not None and request.folder != _folder():
        os.chdir(request.folder)
    _limit_memory(request.memory)
    if _watch is not None:
        _watch.limit = request.seconds
    try:
        return request.function(*request.arguments)
    finally:
        if _watch is not None:
            _watch.limit = None


def _limit_memory(more: int) -> None:
    """Let this process take so many bytes beyond those that it has, within the limit that it was started with."""
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm", "rb") as file:
        size = int(file.read().split()[5]) * resource.getpagesize()  # the sixth number: pages of data and stack
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = size + more if most == resource.RLIM_INFINITY else min(size + more, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def _serve(source: IO[bytes], out: IO[bytes]) -> None:
    """Answer requests until the other side closes the pipe."""
    global _watch
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no core file
    prepare()
    _watch = _Watch()
    send(out, (True, None))
    answer_all(source, out)


def main() -> None:
    """Run the guard process."""
    from nczarr.formats.netcdf4 import isolation  # this module is `__main__` here

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks hears it, and ends this one
    isolation._serve(*own_streams())


if __name__ == "__main__":
    main()
