"""Lines for people while a server does not answer: at a terminal, or with `--verbose`."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

PATIENT = 2.0
"""Seconds without an answer until the first line, and between the lines of all requests."""


class Waiting:
    """One request with its retries; as a context, it says so if the request takes long."""

    _next_line = 0.0
    """Time before which no request prints a line, because another one has."""
    _lines = threading.Lock()

    def __init__(self, shown: str, retries: int) -> None:
        self._shown = re.sub(r"\.([^/]+)\.nczarr-lock$", r"\1", shown)  # the lock of a target has its name
        self._retries = retries
        self._retry = 0
        self._late = time.monotonic() + PATIENT
        self._listener = _find_listener()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Waiting:
        """Begin to wait. Without a listener, no thread is started."""
        if self._listener is not None:
            self._timer = threading.Timer(PATIENT, self._say)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the wait."""
        if self._timer is not None:
            self._timer.cancel()

    def count(self, retry: int) -> None:
        """Note that this retry follows, and say so if the request is late."""
        self._retry = retry
        if time.monotonic() >= self._late:
            self._say()

    def _say(self) -> None:
        """Print a line, unless another request has just done so."""
        now = time.monotonic()
        with Waiting._lines:
            is_due = now >= Waiting._next_line
            if is_due:
                Waiting._next_line = now + PATIENT
        if self._listener is not None and is_due:
            what = f"retrying ({self._retry} of {self._retries}) …" if self._retry else "waiting …"
            self._listener(f"`{self._shown}` does not answer; {what}")


def _find_listener() -> Callable[[str], None] | None:
    """Return what prints a line for people; None outside the command line, and without a reader."""
    shared: Any = sys.modules.get("nczarr.cli.shared")
    listener: Callable[[str], None] | None = None if shared is None else shared.Messages.watcher
    return listener
