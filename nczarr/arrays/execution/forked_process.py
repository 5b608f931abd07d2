"""A copy of this process with pipes: it starts in milliseconds, because everything is loaded.

The copy is safe while this process has one thread. It keeps no file of this
process open, runs none of its handlers and exit functions, and collects none
of its objects.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import IO, NoReturn

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
        requests, answers = os.pipe(), os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries, which prepare for a fork
            self.pid = os.fork()
        if not self.pid:
            _run(work, requests[0], answers[1])
        os.close(requests[0])
        os.close(answers[1])
        self.stdin: IO[bytes] | None = os.fdopen(requests[1], "wb")
        self.stdout: IO[bytes] | None = os.fdopen(answers[0], "rb")
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""
        return self._waited(os.WNOHANG)

    def _waited(self, options: int) -> int | None:
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
        while (status := self._waited(0 if end is None else os.WNOHANG)) is None:
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


def _run(work: Work, source: int, out: int) -> NoReturn:
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
