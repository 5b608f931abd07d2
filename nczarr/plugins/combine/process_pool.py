"""Processes that work side by side for this one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from nczarr.arrays.execution.processes import receive, send, start
from nczarr.arrays.execution.thread_pool import Crew, Task


class Processes:
    """Processes that call functions, started on demand and ended with the block."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []
        self._crew = Crew(count, 1)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *failure: object) -> None:
        for process in self._all:
            process.kill()
        self._crew.__exit__(*failure)
        for process in self._all:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()

    def results(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Generator[Any, None, None]:
        """Yield the results of calls in order; some run ahead. Raises the first failure, OSError if a process ends."""
        yield from self._crew.results(Task(partial(self._ask, function, call)) for call in arguments)

    def _ask(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call a function in an idle process, or a new one, and return its result. Raises what it raises, OSError."""
        try:
            process = self._idle.get_nowait()
        except Empty:
            process = start("nczarr.arrays.execution.processes", apart=True)
            self._all.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, (function, arguments))
            done, outcome = receive(process.stdout)
        except (EOFError, BrokenPipeError):
            process.kill()
            raise OSError(None, f"a process that reads sources ended unexpectedly (status {process.wait()})") from None
        self._idle.put(process)
        if done:
            return outcome
        raise outcome
