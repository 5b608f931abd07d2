"""Access log: one line for each request, in the Common Log Format or as JSON.

A line is written at once, so that several processes can append to one file. What
clients send is escaped: no request can forge a line or reach a terminal.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from typing import NamedTuple

from nczarr.serve.operations.metrics import Finished

FORMS = ("common", "json")
"""Forms of a line."""

MODE = 0o640
"""Permissions of a new file."""


class Destination(NamedTuple):
    """Form and place of an access log."""

    form: str
    """Form of a line."""
    path: str | None
    """File; None for standard error."""

    @classmethod
    def of(cls, text: str) -> Destination:
        """Return the destination that `FORM` or `FORM:FILE` names. Raises ValueError."""
        form, colon, path = text.partition(":")
        if form not in FORMS or (colon and not path):
            raise ValueError(f"{text!r} is not {' or '.join(FORMS)}, with `:FILE` or without")
        return cls(form, os.path.abspath(path) if path else None)


class AccessLog:
    """An open log. Raises OSError if its file cannot be written."""

    def __init__(self, destination: Destination) -> None:
        self.destination = destination
        self._file = self._opened()

    def _opened(self) -> int | None:
        path = self.destination.path
        return None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)

    def __call__(self, finished: Finished) -> None:
        """Write the line of a request. A full disk loses the line, and no answer."""
        form = _json if self.destination.form == "json" else _common
        data = f"{form(finished, time.time())}\n".encode("ascii")
        with suppress(OSError):
            os.write(sys.stderr.fileno() if self._file is None else self._file, data)

    def reopen(self) -> None:
        """Open the file again, after it was renamed. The old one stays in use if that fails."""
        with suppress(OSError):
            old, self._file = self._file, self._opened()
            if old is not None:
                os.close(old)


def _common(finished: Finished, now: float) -> str:
    """Return the line in the Common Log Format; times are in UTC."""
    when = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now))
    version = finished.scope.get("http_version", "1.1")
    request = _escaped(f"{finished.scope['method']} {finished.target} HTTP/{version}")
    return f'{_escaped(finished.client)} - - [{when}] "{request}" {finished.status} {finished.size or "-"}'


def _escaped(text: str) -> str:
    """Return printable ASCII without quotes."""
    shown = (each if " " <= each <= "~" and each not in '"\\' else f"\\x{ord(each):02x}" for each in text)
    return "".join(shown)


def _json(finished: Finished, now: float) -> str:
    members = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z",
        "client": finished.client,
        "method": finished.scope["method"],
        "target": finished.target,
        "status": finished.status,
        "bytes": finished.size,
        "seconds": round(finished.seconds, 6),
        "referer": finished.header(b"referer"),
        "user_agent": finished.header(b"user-agent"),
    }
    if finished.note:
        members["note"] = finished.note
    return json.dumps(members)
