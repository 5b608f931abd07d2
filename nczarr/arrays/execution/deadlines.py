"""Actions at deadlines that are rarely reached, by one thread: a thread for each takes longer than a short call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread


class Deadlines:
    """Actions by deadline, in seconds of `time.monotonic`. Thread-safe; a forked process starts its own thread."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Start without actions and thread; a forked process has neither."""
        self._actions: dict[object, tuple[float, Callable[[], None]]] = {}
        self._changed = Condition()
        self._thread: Thread | None = None
        self._next: float | None = None

    @contextmanager
    def action(self, seconds: float, act: Callable[[], None]) -> Iterator[None]:
        """Call a function if the block takes longer."""
        key, end = object(), time.monotonic() + seconds
        with self._changed:
            self._actions[key] = end, act
            if self._thread is None:
                self._thread = Thread(target=self._watch, name="nczarr-deadlines", daemon=True)
                self._thread.start()
            elif self._next is None or end < self._next:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._actions.pop(key, None)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for key in [key for key, (end, _) in self._actions.items() if end <= now]:
                    self._actions.pop(key)[1]()
                self._next = min((end for end, _ in self._actions.values()), default=None)
                self._changed.wait(None if self._next is None else self._next - now)


DEADLINES = Deadlines()
