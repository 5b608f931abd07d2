"""Processes of this machine that call functions for another one, over their standard input and output.

Messages are length-prefixed pickles, which only a process and those that it
started exchange. A thread cannot take work from another that holds the lock of
a library; a process can.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from nczarr.arrays.execution.deadlines import DEADLINES
from nczarr.arrays.execution.forked_process import ForkedProcess

if TYPE_CHECKING:
    from subprocess import Popen

    Process = Popen[bytes] | ForkedProcess

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


def started(module: str, *arguments: str, apart: bool = False) -> Popen[bytes]:
    """Start a module of the package as a process with pipes; `apart`: signals of the terminal do not reach it.

    Imports NumPy: threads that unpickle arrays side by side may otherwise see parts of it before it is complete.
    """
    import subprocess

    import numpy  # noqa: F401

    root = str(Path(__file__).resolve().parents[3])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
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

    def __init__(self, process: Process) -> None:
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
