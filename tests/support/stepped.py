"""Command lines in processes that are paused or killed at a step: an event of the file system, or a request.

A step is counted before the system performs it. Files and folders count below a folder, and so do calls of functions
that the system does not report: the exchange of two names, and requests to a server.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, Literal, NamedTuple
from unittest import mock

How = Literal["count", "pause", "kill"]

EVENTS = frozenset({
    "open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "os.chmod", "fcntl.flock",
})  # fmt: skip

CALLS = (
    ("nczarr.stores.finish", None, "_exchange"),
    ("nczarr.plugins.remote.connection", "FileConnection", "_try"),
    ("nczarr.stores.ranges", None, "write"),
    *(("nczarr.plugins.icechunk.target", "RepositoryTarget", name) for name in ("_begin", "put", "seal", "_publish")),
)
"""Functions whose calls are steps: module, class, name."""


LOCK_THREAD = "nczarr-lock"


class Ended(NamedTuple):
    """A process that has ended."""

    status: int
    """Exit status; negative: the number of a signal."""
    err: str
    """Diagnostics."""
    steps: int
    """Number of steps; 0 of a killed one."""


class Running:
    """A command line in a process of its own."""

    def __init__(self, folder: str, arguments: list[str], *, how: How = "count", at: int = 0) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.support.stepped_modules"])
        self._here, there = context.Pipe()
        environment = {name: text for name, text in os.environ.items() if name.startswith("AWS_")}
        self._process = context.Process(target=_work, args=(there, folder, arguments, how, at, environment))
        with mock.patch.dict(sys.modules, __main__=ModuleType("__main__")):  # else each process imports that of pytest
            self._process.start()
        there.close()
        self._ended: Ended | None = None

    def paused(self) -> bool:
        """Wait until the process pauses or ends; return whether it pauses."""
        try:
            found = self._here.recv()
        except (EOFError, ConnectionResetError):
            self._join(Ended(0, "", 0))
            return False
        if found is None:
            return True
        self._join(Ended(*found))
        return False

    def _join(self, ended: Ended) -> None:
        self._process.join()
        code = self._process.exitcode or 0
        self._ended = ended._replace(status=code) if code else ended

    def end(self) -> Ended:
        """Let the process go on, and wait for its end."""
        if self._ended is None:
            with contextlib.suppress(BrokenPipeError):
                self._here.send(None)
            while self.paused():
                self._here.send(None)
        assert self._ended is not None
        return self._ended


def run(folder: str, arguments: list[str], *, how: How = "count", at: int = 0) -> Ended:
    """Run a command line to its end."""
    return Running(folder, arguments, how=how, at=at).end()


def _work(there: Connection, folder: str, arguments: list[str], how: How, at: int, environment: dict[str, str]) -> None:
    """Run a command line, and send its end."""
    from nczarr.__main__ import main

    os.environ.update(environment)
    steps = 0
    quiet = False

    def step() -> None:
        nonlocal steps, quiet
        steps += 1
        if how == "count" or steps != at:
            return
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        quiet = True
        there.send(None)
        there.recv()
        quiet = False

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if event in EVENTS and not quiet and (event == "fcntl.flock" or _is_below(given[0], folder)):
            step()

    _count_calls(step)
    sys.addaudithook(hear)
    os.chdir(folder)
    err = io.StringIO()
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")  # texts and bytes, as the standard output
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
        status = main(arguments)
    quiet, how = True, "count"
    there.send((status, err.getvalue(), steps))
    there.close()
    os._exit(0)


def _is_below(path: object, folder: str) -> bool:
    if not isinstance(path, str | bytes):
        return False
    text = os.fsdecode(path)
    return text.startswith(folder) or not os.path.isabs(text)


def _count_calls(step: Callable[[], None]) -> None:
    import importlib

    for module, cls, name in CALLS:
        try:
            owner: Any = importlib.import_module(module)
        except ImportError:  # of a library that is not installed
            continue
        owner = owner if cls is None else getattr(owner, cls)
        original = getattr(owner, name)

        def counted(*given: Any, original: Callable[..., Any] = original, **named: Any) -> Any:
            if threading.current_thread().name == LOCK_THREAD:  # renews a lock when it is time, not at a step
                return original(*given, **named)
            step()
            found = original(*given, **named)
            step()
            return found

        setattr(owner, name, counted)
