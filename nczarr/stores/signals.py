"""Signals that wait until a step is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_delayed: list[list[int]] = []
"""Signals that were delayed, by block."""


def is_signalled() -> bool:
    """Return whether a signal waits for the end of an `unstopped` block."""
    return any(_delayed)


@contextmanager
def unstopped() -> Iterator[None]:
    """Delay signals that end a run until the block is done. Python handles them in its main thread."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    delayed: list[int] = []
    _delayed.append(delayed)
    handlers = {}
    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            handler = None if number is None else signal.getsignal(number)
            if number is not None and handler not in (None, signal.SIG_IGN):
                handlers[number] = handler
                signal.signal(number, lambda number, frame: delayed.append(number))
        yield
    finally:
        _delayed.pop()  # blocks are nested
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in delayed[:1]:
            signal.raise_signal(number)
