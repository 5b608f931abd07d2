"""Requests that fail: which errors may pass, their numbers, and lines for people while a server does not answer."""

from __future__ import annotations

import errno
import re
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from nczarr.diagnostics.secrets import StorageOptions
from nczarr.plugins.remote.range_request import GivenUpError

_LASTING = (
    GivenUpError, FileNotFoundError, PermissionError, FileExistsError, IsADirectoryError, NotADirectoryError,
    NotImplementedError, TypeError, ValueError, KeyError, AttributeError,
)  # fmt: skip
"""Permanent failures."""

_PASSING_WORDS = ("connect", "timeout", "httpclient", "streaming", "incomplete", "checksum", "closed")
"""Words in names of transient botocore exceptions; the others are invalid requests."""


def number_of(error: Exception) -> int:
    """Return the errno of a failure; a broken pipe becomes ECONNRESET, to differ from our own output."""
    if isinstance(error, OSError) and error.errno:
        return errno.ECONNRESET if error.errno in (errno.EPIPE, errno.ESHUTDOWN) else error.errno
    kinds = ((FileNotFoundError, errno.ENOENT), (PermissionError, errno.EACCES), (FileExistsError, errno.EEXIST))
    return next((number for kind, number in kinds if isinstance(error, kind)), errno.EIO)


def may_pass(error: BaseException) -> bool:
    """Return whether a retry may succeed."""
    status = _status(error)
    if status is not None:
        return status >= 500 or status in (408, 425, 429)
    if isinstance(error, _LASTING):
        return False
    if type(error).__module__.startswith("botocore"):
        return any(word in type(error).__name__.lower() for word in _PASSING_WORDS)
    return True


def find_reason(error: Exception) -> Exception:
    """Return why a request failed; `info` of fsspec's HTTP says of every failure that the file is missing."""
    cause, status = error.__cause__, _status(error)
    if not isinstance(error, FileNotFoundError) or not isinstance(cause, Exception):
        return error
    is_of_web = isinstance(cause, OSError) or type(cause).__module__.startswith("aiohttp")
    is_absence = isinstance(cause, FileNotFoundError) if status is None else status < 500
    return cause if is_of_web and not is_absence else error


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of an error or its cause, or None."""
    for failure in (error, error.__cause__):
        status = getattr(failure, "status", None)
        if isinstance(status, int):
            return status
        response = getattr(failure, "response", None)
        metadata = response.get("ResponseMetadata") if isinstance(response, dict) else None
        if isinstance(metadata, dict) and isinstance(metadata.get("HTTPStatusCode"), int):
            return int(metadata["HTTPStatusCode"])
    return None


def scrub(text: str, url: str, options: StorageOptions) -> str:
    """Return a message of a library without secrets."""
    from nczarr.plugins.common import secret_texts  # only where something failed

    return secret_texts.scrub(text, url, options)


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
