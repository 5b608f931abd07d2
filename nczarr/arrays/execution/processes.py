"""Processes of this machine that call functions for another one, over their standard input and output.

Messages are length-prefixed pickles, which only a process and those that it
started exchange. A thread cannot take work from another that holds the lock of
a library; a process can.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Thread
from typing import IO, TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from subprocess import Popen


_POLL = 0.01
"""Seconds between looks at a process that is awaited."""

_STANDARD = 3
"""Number of standard streams."""

_MOST_FILES = 1 << 20
"""Largest number of a file that is closed in the copy."""

Work = Callable[[IO[bytes], IO[bytes]], None]
"""Answers requests from one pipe by the other."""


def can_fork() -> bool:
    """Return whether a copy of this process can run: Linux, and no other thread of Python."""
    return sys.platform == "linux" and threading.active_count() == 1


class ForkedProcess:
    """A copy of this process that runs a function. It has the attributes of `subprocess.Popen` that we use."""

    def __init__(self, work: Work) -> None:
        """Fork a process that runs `work`, with pipes in place of its standard input and output."""
        requests, answers = os.pipe(), os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries, which prepare for a fork
            self.pid = os.fork()
        if not self.pid:
            _run_to_end(work, requests[0], answers[1])
        os.close(requests[0])
        os.close(answers[1])
        self.stdin: IO[bytes] | None = os.fdopen(requests[1], "wb")
        self.stdout: IO[bytes] | None = os.fdopen(answers[0], "rb")
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""
        return self._wait(os.WNOHANG)

    def _wait(self, options: int) -> int | None:
        """Return the exit status; None while the process runs, if `options` does not wait for its end."""
        if self._status is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:  # the handler of another library reaped it
                pid, status = self.pid, 0
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status. Raises TimeoutExpired."""
        end = None if timeout is None else time.monotonic() + timeout
        while (status := self._wait(0 if end is None else os.WNOHANG)) is None:
            if end is not None and time.monotonic() > end:
                from subprocess import TimeoutExpired  # rarely needed

                raise TimeoutExpired(str(self.pid), timeout or 0)
            time.sleep(_POLL)
        return status

    def kill(self) -> None:
        """End the process at once."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def _run_to_end(work: Work, source: int, out: int) -> NoReturn:
    """Run a function in the copy, and end it."""
    status = 1
    try:
        _leave_parent()
        source, out = _streams(source, out)
        work(os.fdopen(source, "rb"), os.fdopen(out, "wb"))
        status = 0
    finally:
        os._exit(status)


def _leave_parent() -> None:
    """Forget the handlers of the parent, and leave its objects alone: they refer to files that the copy closes."""
    import faulthandler
    import gc

    gc.freeze()
    faulthandler.disable()
    sys.settrace(None)
    sys.setprofile(None)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends the copy


def _streams(source: int, out: int) -> tuple[int, int]:
    """Keep the two pipes and standard error alone; return the pipes' numbers."""
    source, out = (os.dup(number) if number < _STANDARD + 2 else number for number in (source, out))
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(2)
    except OSError:
        os.dup2(nothing, 2)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # libraries print
    first, last = sorted((source, out))
    os.closerange(_STANDARD, first)
    os.closerange(first + 1, last)
    os.closerange(last + 1, min(os.sysconf("SC_OPEN_MAX"), _MOST_FILES))
    return source, out


class Deadlines:
    """Actions by deadline, in seconds of `time.monotonic`. Thread-safe; a forked process starts its own thread."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Start without actions and thread; a forked process has neither."""
        self._actions: dict[object, tuple[float, Callable[[], None]]] = {}
        self._changed = Condition()
        self._thread: Thread | None = None
        self._next: float | None = None

    @contextmanager
    def action(self, seconds: float, act: Callable[[], None]) -> Iterator[None]:
        """Call a function if the block takes longer."""
        key, end = object(), time.monotonic() + seconds
        with self._changed:
            self._actions[key] = end, act
            if self._thread is None:
                self._thread = Thread(target=self._watch, name="nczarr-deadlines", daemon=True)
                self._thread.start()
            elif self._next is None or end < self._next:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._actions.pop(key, None)

    def _watch(self) -> None:
        """Call each action when its time is over; runs in a thread, without end."""
        with self._changed:
            while True:
                now = time.monotonic()
                for key in [key for key, (end, _) in self._actions.items() if end <= now]:
                    self._actions.pop(key)[1]()
                self._next = min((end for end, _ in self._actions.values()), default=None)
                self._changed.wait(None if self._next is None else self._next - now)


DEADLINES = Deadlines()

LENGTH = 8
"""Bytes of the length prefix."""


def send(out: IO[bytes], message: Any) -> None:
    """Write one message. Raises OSError, and what pickle raises before anything is written."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    out.write(len(data).to_bytes(LENGTH, "little"))
    out.write(data)
    out.flush()


def receive(source: IO[bytes]) -> Any:
    """Read one message. Raises EOFError if the other side has ended."""
    head = source.read(LENGTH)
    data = source.read(int.from_bytes(head, "little")) if len(head) == LENGTH else b""
    if not data or len(data) != int.from_bytes(head, "little"):
        raise EOFError
    return pickle.loads(data)


def start(module: str, *arguments: str, apart: bool = False) -> Popen[bytes]:
    """Start a module of the package as a process with pipes; `apart`: signals of the terminal do not reach it.

    Imports NumPy: threads that unpickle arrays side by side may otherwise see parts of it before it is complete.
    """
    import subprocess

    import numpy  # noqa: F401

    paths = [str(Path(__file__).resolve().parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=apart,
    )


def answer(function: Any, arguments: Any) -> tuple[bool, Any]:
    """Return whether a call succeeded, and what it returned or raised."""
    try:
        return True, function(*arguments)
    except Exception as error:  # whatever it is, the other process raises it
        return False, error


at_exit: list[Callable[[], object]] = []
"""Functions that end processes of this one. The command line calls them, because it skips those of `atexit`."""


def answer_all(source: IO[bytes], out: IO[bytes]) -> None:
    """Answer requests until the other side has ended."""
    try:
        while True:
            function, arguments = receive(source)
            _reply(out, *answer(function, arguments))
    except (EOFError, BrokenPipeError):
        with suppress(BrokenPipeError):
            out.close()


def _reply(out: IO[bytes], done: bool, outcome: Any) -> None:
    """Write the outcome of a call. Raises OSError."""
    try:
        send(out, (done, outcome))
    except BrokenPipeError:
        raise
    except Exception as error:  # of pickle: what is sent is not written then
        send(out, (False, RuntimeError(f"{type(error).__name__}: {error}")))


def own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes of this process; what a library prints then goes to standard error."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin.buffer, out


START = 60.0
"""Seconds for a process to start."""


class NoAnswerError(OSError):
    """A process that hangs or crashes on a file."""


class TimedProcess:
    """A process that answers one call at a time within a time limit, and says when it is ready."""

    def __init__(self, process: Popen[bytes] | ForkedProcess) -> None:
        self.process = process
        self.late = False
        """True if it was ended because its time was over."""
        self.ready = False

    def ask(self, seconds: float | None, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Return whether the call succeeded, and its result or error. Raises EOFError, OSError if the process ends.

        `seconds`: None if the process watches itself.
        """
        if not self.ready:  # its start is not the file's fault; a copy of this process has nothing to load
            copied = isinstance(self.process, ForkedProcess)
            self._within(None if copied else START, lambda _, out: receive(out))
            self.ready = True

        def exchange(source: IO[bytes], out: IO[bytes]) -> Any:
            send(source, (function, arguments))
            return receive(out)

        outcome: tuple[bool, Any] = self._within(seconds, exchange)
        return outcome

    def _within(self, seconds: float | None, work: Callable[[IO[bytes], IO[bytes]], Any]) -> Any:
        """Run an exchange over the process's pipes; kill the process after some seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if seconds is None:
            return work(self.process.stdin, self.process.stdout)
        with DEADLINES.action(seconds, self._end_late):
            return work(self.process.stdin, self.process.stdout)

    def _end_late(self) -> None:
        self.late = True
        self.process.kill()

    def end(self) -> int:
        """Kill the process and return its exit status."""
        self.process.kill()
        status = self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        return status


if __name__ == "__main__":
    answer_all(*own_streams())
