"""Several processes that accept clients at one socket, and their supervision.

The parent forks before it starts threads or loads libraries, and handles
nothing but signals: SIGTERM and SIGINT end the processes, SIGHUP replaces them one
after the other, without refused clients, and is passed on to a single one. A
process that ends is replaced; a server whose processes do not get as far as to
accept clients gives up.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NamedTuple, NoReturn

MOST_FAILURES = 3
"""Processes in a slot that end before they accept clients, after which the server gives up."""

READY = 60.0
"""Seconds for a process to accept clients."""

LATE = 5.0
"""Seconds beyond the time for running answers after which a process is killed."""


class FailedStartError(OSError):
    """Processes that end as soon as they start."""


class _Child(NamedTuple):
    """One process."""

    pid: int
    """Its number."""
    slot: int
    """Its place among the processes."""
    ready: int
    """Pipe that tells when it accepts clients."""

    def has_started(self) -> bool:
        """Return whether the process accepted clients, now that it has ended; close the pipe."""
        told = os.read(self.ready, 1)
        os.close(self.ready)
        return bool(told)


class Supervisor:
    """The parent of the processes. `work(slot, announce)` serves in a process until a signal."""

    def __init__(self, count: int, grace: float, work: Callable[[int, Callable[[], None]], None]) -> None:
        self.count = count
        self.grace = grace
        self.work = work
        self.children: dict[int, _Child] = {}
        self._failures = 0
        self._heard: list[int] = []
        self._alive = os.pipe()
        self._woken = os.pipe()

    def run(self, announce: Callable[[], None]) -> None:
        """Serve until SIGTERM, or until SIGINT, which raises KeyboardInterrupt. Raises FailedStartError."""
        for end in self._woken:
            os.set_blocking(end, False)
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
        before = {number: signal.signal(number, self._hear) for number in numbers}
        try:
            for slot in range(self.count):
                self._wait(self._start_child(slot))
            announce()
            self._watch()
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)
        if signal.SIGINT in self._heard:
            raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self._heard.append(number)
        with suppress(BlockingIOError):
            os.write(self._woken[1], b".")

    @property
    def _is_ending(self) -> bool:
        return signal.SIGTERM in self._heard or signal.SIGINT in self._heard

    def _watch(self) -> None:
        """Replace processes that end, and pass signals on, until the end of the server."""
        while not self._is_ending:
            select.select([self._woken[0]], [], [])
            with suppress(BlockingIOError):
                os.read(self._woken[0], 1 << 12)
            self._replace_ended()
            if signal.SIGHUP in self._heard and not self._is_ending:
                self._heard.remove(signal.SIGHUP)
                if self.count == 1:
                    self._pass_on(signal.SIGHUP)
                else:
                    self._replace_all()

    def _replace_ended(self) -> None:
        """Start a process for each that ended. Raises FailedStartError."""
        for child, has_started in self._collect_ended():
            if self._is_ending:
                return
            self._failures = 0 if has_started else self._failures + 1
            if any(each.slot == child.slot for each in self.children.values()):
                continue  # another process has its slot already: this one was asked to end
            if self._failures >= MOST_FAILURES:
                raise FailedStartError("the processes of the server end as soon as they start")
            self._wait(self._start_child(child.slot))

    def _collect_ended(self) -> list[tuple[_Child, bool]]:
        """Return the processes that have ended, and whether each accepted clients; forget them."""
        found = []
        for child in list(self.children.values()):
            with suppress(ChildProcessError):
                if os.waitpid(child.pid, os.WNOHANG)[0] == 0:
                    continue
            found.append((self.children.pop(child.pid), child.has_started()))
        return found

    def _pass_on(self, number: int) -> None:
        """Send a signal to all processes."""
        for child in self.children.values():
            with suppress(ProcessLookupError):
                os.kill(child.pid, number)

    def _replace_all(self) -> None:
        """Replace each process by a new one, which accepts clients before the old one stops."""
        for child in list(self.children.values()):
            if self._is_ending:
                return
            self._wait(self._start_child(child.slot))
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)
            end = time.monotonic() + self.grace + LATE
            while child.pid in self.children and time.monotonic() < end and not self._is_ending:
                self._replace_ended()
                time.sleep(0.02)

    def _start_child(self, slot: int) -> _Child:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._serve(slot, writing)
        os.close(writing)
        made = _Child(pid, slot, reading)
        self.children[pid] = made
        return made

    def _wait(self, child: _Child) -> None:
        """Wait until a process accepts clients, or ends, or takes too long."""
        select.select([child.ready], [], [], READY)

    def _serve(self, slot: int, ready: int) -> NoReturn:
        """Serve in this new process, and end it."""
        status = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the parent hears it; a terminal that closes is no reason
            os.close(self._alive[1])
            _end_with(self._alive[0])

            def announce() -> None:
                os.write(ready, b".")

            self.work(slot, announce)
            status = 0
        except KeyboardInterrupt:
            status = 0  # the parent, whose terminal is the same, tells of it
        except Exception:
            import traceback

            traceback.print_exc()
        finally:
            with suppress(OSError):
                sys.stderr.flush()
            os._exit(status)

    def _end(self) -> None:
        """End all processes: running answers get their time."""
        self._pass_on(signal.SIGTERM)
        end = time.monotonic() + self.grace + LATE
        while self.children and time.monotonic() < end:
            self._collect_ended()
            time.sleep(0.02)
        self._pass_on(signal.SIGKILL)
        for child in self.children.values():
            with suppress(ChildProcessError):
                os.waitpid(child.pid, 0)
        self.children.clear()
        for end_of_pipe in (*self._alive, *self._woken):
            os.close(end_of_pipe)


def _end_with(alive: int) -> None:
    """End this process when its parent has ended in any way: the system closes the parent's end of the pipe."""
    import threading

    def watch() -> None:
        os.read(alive, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
