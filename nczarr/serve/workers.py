"""Threads that do everything that reads or computes, a bounded number at a time, for the one thread that answers.

Bounded are: pieces of work at once, the memory that they say they need, how many wait, and for how long. A thread
cannot be stopped: work that takes too long is given up by its caller, and keeps its place until it ends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from nczarr.serve.limits import Limits

T = TypeVar("T")


class BusyError(Exception):
    """There is no room for more work now; the text says why."""


class Workers:
    """The threads of one server. Its methods are called by the thread of the event loop alone."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._executor = ThreadPoolExecutor(limits.concurrency, "nczarr-serve")
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._active = 0
        self._used = 0

    async def do(self, work: Callable[[], T], need: int = 0, *, begun: bool = False) -> T:
        """The result of a piece of work that needs so many bytes of memory. Raises BusyError, and whatever it raises.

        `begun`: an answer that is being given needs it, so that it waits before all others, however many wait.
        """
        await self._enter(need, begun=begun)
        loop = asyncio.get_running_loop()
        try:
            future = self._executor.submit(work)
        except RuntimeError:  # the server ends
            self._leave(need)
            raise BusyError("the server ends") from None

        def left(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._leave, need)

        future.add_done_callback(left)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), self.limits.timeout)
        except TimeoutError:
            if future.done() and not future.cancelled() and isinstance(future.exception(), TimeoutError):
                raise  # the system's own, of the work
            raise BusyError(f"it takes longer than {self.limits.timeout:g} seconds") from None

    async def _enter(self, need: int, *, begun: bool) -> None:
        """Wait for room."""
        if not self._waiting and self._fits(need):
            self._take(need)
            return
        if not begun and len(self._waiting) >= self.limits.queue:
            raise BusyError(f"{len(self._waiting)} requests wait already")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if begun else self._waiting.append)((turn, need))
        try:
            await asyncio.wait_for(turn, self.limits.timeout)
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._leave(need)
            else:
                self._waiting.remove((turn, need))
                self._admit()
            if isinstance(error, TimeoutError):
                raise BusyError(f"no turn came within {self.limits.timeout:g} seconds") from None
            raise

    def _fits(self, need: int) -> bool:
        return self._active < self.limits.concurrency and (
            not self._active or self._used + need <= self.limits.memory or not need
        )

    def _take(self, need: int) -> None:
        self._active += 1
        self._used += need

    def _leave(self, need: int) -> None:
        self._active -= 1
        self._used -= need
        self._admit()

    def _admit(self) -> None:
        """Let those in who wait, in their order, as long as there is room."""
        while self._waiting and self._fits(self._waiting[0][1]):
            turn, need = self._waiting.popleft()
            if not turn.done():
                self._take(need)
                turn.set_result(None)

    def close(self) -> None:
        """Begin nothing more; threads that are at work are not waited for."""
        self._executor.shutdown(wait=False, cancel_futures=True)
