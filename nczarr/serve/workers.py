"""Threads that do everything that reads or computes, a bounded number at a time, for the one thread that answers.

Bounded are: pieces of work at once, the memory that they say they need, how many wait, and for how long. Heavy work,
which opens a dataset or makes something large, has half of the threads, so that what is soon done never waits for it.
A thread cannot be stopped: work that takes too long is given up by its caller, and keeps its place until it ends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple, TypeVar

from nczarr.serve.limits import Limits

T = TypeVar("T")


class BusyError(Exception):
    """There is no room for more work now; the text says why."""


class _Turn(NamedTuple):
    """A place in a queue: what is told when it comes, and what the work needs."""

    come: asyncio.Future[None]
    need: int
    heavy: bool


class Workers:
    """The threads of one server. Its methods are called by the thread of the event loop alone."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._executor = ThreadPoolExecutor(limits.concurrency, "nczarr-serve")
        self._light: deque[_Turn] = deque()
        self._heavy: deque[_Turn] = deque()
        self._most_heavy = max(1, limits.concurrency // 2)
        self._active = 0
        self._active_heavy = 0
        self._used = 0

    async def do(self, work: Callable[[], T], need: int = 0, *, begun: bool = False, heavy: bool = False) -> T:
        """The result of a piece of work. Raises BusyError, and whatever it raises.

        `need`: bytes of memory, which make it heavy. `begun`: an answer that is being given needs it, so that it waits
        before all others of its kind, however many wait.
        """
        heavy = heavy or need > 0
        await self._enter(need, begun=begun, heavy=heavy)
        loop = asyncio.get_running_loop()
        made: list[T] = []  # futures that wrap others go round in a circle: what they hold would stay until it is swept
        try:
            future = self._executor.submit(lambda: made.append(work()))
        except RuntimeError:  # the server ends
            self._leave(need, heavy=heavy)
            raise BusyError("the server ends") from None

        def left(_: Future[None]) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(lambda: self._leave(need, heavy=heavy))

        future.add_done_callback(left)
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), self.limits.timeout)
            return made.pop()
        except TimeoutError:
            if future.done() and not future.cancelled() and isinstance(future.exception(), TimeoutError):
                raise  # the system's own, of the work
            raise BusyError(f"it takes longer than {self.limits.timeout:g} seconds") from None

    async def _enter(self, need: int, *, begun: bool, heavy: bool) -> None:
        """Wait for room."""
        queue = self._heavy if heavy else self._light
        if not queue and self._fits(need, heavy=heavy):
            self._take(need, heavy=heavy)
            return
        waiting = len(self._light) + len(self._heavy)
        if not begun and waiting >= self.limits.queue:
            raise BusyError(f"{waiting} requests wait already")
        turn = _Turn(asyncio.get_running_loop().create_future(), need, heavy)
        (queue.appendleft if begun else queue.append)(turn)
        try:
            await asyncio.wait_for(turn.come, self.limits.timeout)
        except BaseException as error:
            if turn.come.done() and not turn.come.cancelled():
                self._leave(need, heavy=heavy)
            else:
                with suppress(ValueError):
                    queue.remove(turn)
                self._admit()
            if isinstance(error, TimeoutError):
                raise BusyError(f"no turn came within {self.limits.timeout:g} seconds") from None
            raise

    def _fits(self, need: int, *, heavy: bool) -> bool:
        """Whether work may begin; what needs more memory than there is runs alone among the heavy."""
        if self._active >= self.limits.concurrency:
            return False
        if not heavy or not self._active_heavy:
            return True
        return self._active_heavy < self._most_heavy and self._used + need <= self.limits.memory

    def _take(self, need: int, *, heavy: bool) -> None:
        self._active += 1
        self._active_heavy += heavy
        self._used += need

    def _leave(self, need: int, *, heavy: bool) -> None:
        self._active -= 1
        self._active_heavy -= heavy
        self._used -= need
        self._admit()

    def _admit(self) -> None:
        """Let those in who wait, the light ones first, as long as there is room."""
        for queue in (self._light, self._heavy):
            while queue and self._fits(queue[0].need, heavy=queue[0].heavy):
                turn = queue.popleft()
                if not turn.come.done():
                    self._take(turn.need, heavy=turn.heavy)
                    turn.come.set_result(None)

    def close(self) -> None:
        """Begin nothing more; threads that are at work are not waited for."""
        self._executor.shutdown(wait=False, cancel_futures=True)
