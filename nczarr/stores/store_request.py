"""One request of a file system behind fsspec, within a time; those under way can be given up when a run is interrupted.

A thread that waits for an answer cannot be interrupted, and a server may never answer. Asynchronous requests are
cancelled in their loop, which wakes the threads that wait for them.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from fsspec import AbstractFileSystem

HURRIED = 5.0
"""Seconds that a request may take once the run was interrupted: what it has begun may have to be removed."""

_under_way: dict[asyncio.Task[Any], asyncio.AbstractEventLoop] = {}
_interrupted = False


class GivenUpError(OSError):
    """A request that was given up because the run was interrupted."""


def asked(
    system: AbstractFileSystem, what: str, arguments: tuple[Any, ...], named: dict[str, Any], seconds: float
) -> Any:
    """One request. Raises whatever the library raises; TimeoutError after `seconds`, GivenUpError when it is given up,
    both only where it is asynchronous.
    """
    if not getattr(system, "async_impl", False) or not hasattr(system, f"_{what}"):
        return getattr(system, what)(*arguments, **named)
    import asyncio

    from fsspec.asyn import sync

    async def limited() -> Any:
        task = asyncio.current_task()
        assert task is not None
        _under_way[task] = asyncio.get_running_loop()
        try:
            limit = min(seconds, HURRIED) if _interrupted else seconds
            return await asyncio.wait_for(getattr(system, f"_{what}")(*arguments, **named), limit)
        except asyncio.CancelledError:
            raise GivenUpError(errno.EINTR, "the run was interrupted") from None
        finally:
            del _under_way[task]

    return sync(system.loop, limited)


def is_interrupted() -> bool:
    """Whether the run was interrupted: nothing is tried again."""
    return _interrupted


def give_up() -> None:
    """The run is interrupted: cancel all requests that are under way, and have patience with none that follow.

    May be called by a handler of signals.
    """
    global _interrupted
    _interrupted = True
    for task, loop in list(_under_way.items()):
        loop.call_soon_threadsafe(task.cancel)
