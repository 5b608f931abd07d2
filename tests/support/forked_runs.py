"""Command lines in forked processes, with a limit of memory, or of which one call of the C library fails.

A server forks a process for each run, and imports what runs without a failure have imported, so that later ones start
at once. It preloads `failing_calls.c` where calls fail.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import mmap
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import ROOT

SOURCE = Path(__file__).with_name("failing_calls.c")


class State(ctypes.Structure):
    """`struct state` of the C source."""

    _fields_ = [
        ("count", ctypes.c_long), ("at", ctypes.c_long), ("error", ctypes.c_long),
        ("call", ctypes.c_char * 24), ("path", ctypes.c_char * 256),
    ]  # fmt: skip


class Outcome(NamedTuple):
    """End of a run."""

    status: int
    """Exit status; negative: the number of a signal."""
    err: str
    """Diagnostics."""
    count: int
    """Number of calls below the folder."""
    call: str
    """Name and path of the call that failed; empty if none did."""
    seconds: float
    """Processor time."""
    memory: int
    """Largest resident memory, in bytes."""


class Runner:
    """Client of the server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(
        self, folder: Path, words: list[str], *, at: int = 0, error: int = 0, memory: int = 0, seconds: int = 60
    ) -> Outcome:
        """Run a command in a folder; its call `at` fails with `error`, or kills the process if that is 0.

        `memory`: bytes of address space beyond those of the started process; 0: any. After
        `seconds`, the run is ended by SIGALRM.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), words, at, error, memory, seconds]) + "\n")
        self._process.stdin.flush()
        return Outcome(*json.loads(self._process.stdout.readline()))


@contextmanager
def forked_runs(folder: Path, compiler: str | None = None) -> Iterator[Runner]:
    """Start a server; with a compiler, calls can fail."""
    paths = [str(ROOT), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    library = folder / "failing_calls.so"
    if compiler is not None:
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
        environment["LD_PRELOAD"] = str(library)
    with subprocess.Popen(
        [sys.executable, "-m", __name__, *([str(library)] if compiler else [])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    ) as process:  # fmt: skip
        yield Runner(process)
        assert process.stdin is not None
        process.stdin.close()


def _serve(library: str | None) -> None:
    """Answer requests: one line of JSON each."""
    os.environ.pop("LD_PRELOAD", None)
    arm = None if library is None else ctypes.CDLL(library).arm
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        folder, words, at, error, memory, seconds = json.loads(line)
        state = State.from_buffer(mmap.mmap(-1, ctypes.sizeof(State)))
        state.at, state.error = at, error
        err, modules = os.memfd_create("err"), os.memfd_create("modules")
        process = os.fork()
        if not process:
            os.dup2(err, 2)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)
            os.chdir(folder)
            signal.alarm(seconds)
            if memory:
                limit = memory + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            if arm is not None:
                arm(ctypes.byref(state), os.fsencode(folder))
            _run(words, modules)
        _, code, usage = os.wait4(process, 0)
        call = f"{state.call.decode()} {state.path.decode()}"
        said = [os.waitstatus_to_exitcode(code), _take(err).decode("utf-8", "replace"), state.count, call]
        print(json.dumps([*said, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10]), file=answers, flush=True)
        loaded = _take(modules).decode().split()
        if not at:
            for name in loaded:
                with suppress(ImportError):
                    importlib.import_module(name)


def _run(words: list[str], modules: int) -> Any:
    """Run a command, and end the process."""
    from nczarr.__main__ import main

    status = main(words)
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(modules, " ".join(sorted(sys.modules)).encode())
    os._exit(status)


def _take(file: int) -> bytes:
    """Return the content of a file in memory, and close it."""
    with open(file, "rb") as opened:
        opened.seek(0)
        return opened.read()


if __name__ == "__main__":
    _serve(sys.argv[1] if len(sys.argv) > 1 else None)
