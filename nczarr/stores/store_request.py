"""One fsspec request with a time limit; pending requests can be cancelled when a run is interrupted.

A waiting thread cannot be interrupted, and a server may never answer.
Asynchronous requests are cancelled in their event loop, which wakes the waiting
threads.
"""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

    from fsspec import AbstractFileSystem

T = TypeVar("T")

HURRIED = 5.0
"""Timeout in seconds after an interruption, when started work may have to be removed."""

_under_way: dict[asyncio.Task[Any], asyncio.AbstractEventLoop] = {}
_interrupted = False


class GivenUpError(OSError):
    """A request cancelled because the run was interrupted."""


def asked(
    system: AbstractFileSystem, what: str, arguments: tuple[Any, ...], named: dict[str, Any], seconds: float
) -> Any:
    """Execute one request. Raises the library's errors; if asynchronous, also TimeoutError and GivenUpError."""
    if not getattr(system, "async_impl", False) or not hasattr(system, f"_{what}"):
        return getattr(system, what)(*arguments, **named)
    return awaited(system, partial(getattr(system, f"_{what}"), *arguments, **named), seconds)


def awaited(system: AbstractFileSystem, request: Callable[[], Awaitable[T]], seconds: float) -> T:
    """Execute one asynchronous request. Raises its errors, TimeoutError, GivenUpError."""
    import asyncio

    from fsspec.asyn import sync

    async def limited() -> T:
        task = asyncio.current_task()
        assert task is not None
        _under_way[task] = asyncio.get_running_loop()
        try:
            limit = min(seconds, HURRIED) if _interrupted else seconds
            return await asyncio.wait_for(request(), limit)
        except asyncio.CancelledError:
            raise GivenUpError(errno.EINTR, "the run was interrupted") from None
        finally:
            del _under_way[task]

    answer: T = sync(system.loop, limited)
    return answer


def is_interrupted() -> bool:
    """Return whether the run was interrupted, so that nothing is retried."""
    return _interrupted


def give_up() -> None:
    """Cancel all pending requests of an interrupted run, and shorten later ones. Signal handlers may call it."""
    global _interrupted
    _interrupted = True
    for task, loop in list(_under_way.items()):
        loop.call_soon_threadsafe(task.cancel)
