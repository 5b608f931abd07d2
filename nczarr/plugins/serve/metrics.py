"""Finished requests: counts of them in the text format of Prometheus, and the access log.

The counts of all processes lie in shared memory, a row for each process, so that any of them can tell the sums. Paths
of requests are no labels: their number has no bound. Source: https://prometheus.io/docs/instrumenting/exposition_formats

The log has one line for each request, in the Common Log Format or as JSON, written at once, so that several processes
can append to one file. What clients send is escaped: no request can forge a line or reach a terminal.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from nczarr.plugins.serve.request import first_segment, header
from nczarr.stores import local_paths

KIND = "text/plain; version=0.0.4; charset=utf-8"
"""Content type of the text."""

OPERATIONS, OTHER = "operations", "other"
"""Labels of requests of those who watch the server, and of unknown ones."""

WATCHED = frozenset({"healthz", "metrics"})
"""Paths for those who watch the server."""

STATUSES = (200, 204, 206, 303, 304, 400, 403, 404, 405, 406, 413, 414, 416, 431, 500, 501, 503, 0)
"""Labels of answers; 0 stands for others."""

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the classes of seconds."""

SECONDS = len(STATUSES)
"""First column of a route's classes of seconds, after its counts; then their sum, the bytes and the cut answers."""
SUM = SECONDS + len(BOUNDS) + 1
SENT, CUT = SUM + 1, SUM + 2
WIDTH = SUM + 3
"""Columns of a route."""

ACTIVE, USED, START = 0, 1, 2
"""Columns of a process: its requests in progress, the bytes of memory of its answers, its start."""
FIRST = 3
"""First column of its routes."""


class Finished(NamedTuple):
    """One request and what became of it."""

    scope: dict[str, Any]
    """ASGI scope of the request."""
    status: int
    """HTTP status of the answer."""
    size: int
    """Bytes of the body that were sent."""
    seconds: float
    """Time from the request to the end of its answer."""
    note: str
    """Why an answer was cut; mostly empty."""

    @property
    def client(self) -> str:
        """Address of the client."""
        return str((self.scope.get("client") or ("-",))[0])

    @property
    def target(self) -> str:
        """Path and query as received."""
        query = bytes(self.scope.get("query_string", b""))
        raw = bytes(self.scope.get("raw_path") or b"") + (b"?" + query if query else b"")
        return raw.decode("latin-1")

    @property
    def line(self) -> str:
        """The entry of the verbose log."""
        found = f"{self.client} {self.scope['method']} {self.target} {self.status} {self.size}"
        return f"{found} {self.seconds * 1000:.0f}ms {self.note}".rstrip()


class Metrics:
    """Counts of a server. `routes`: first segments of its paths, of pages first; `rows`: number of its processes."""

    def __init__(self, routes: Sequence[str], rows: int = 1) -> None:
        self._labels = (*routes, OPERATIONS, OTHER)
        self._columns = FIRST + WIDTH * len(self._labels)
        self._memory = mmap.mmap(-1, rows * self._columns * 8)
        self._cells = memoryview(self._memory).cast("d")
        self._rows = rows
        self._first = 0

    def use(self, row: int) -> None:
        """Count in a row, which another process may have used before: its sums stay."""
        self._first = row * self._columns
        self._cells[self._first + ACTIVE] = self._cells[self._first + USED] = 0
        self._cells[self._first + START] = time.time()

    def begin(self) -> None:
        """Count a request that begins."""
        self._cells[self._first + ACTIVE] += 1

    def __call__(self, finished: Finished, used: int) -> None:
        """Count a finished request. `used`: bytes of memory of all answers."""
        segment = first_segment(finished.scope)
        label = OPERATIONS if segment in WATCHED else segment or self._labels[0]
        number = self._labels.index(label if label in self._labels else OTHER)
        cells, first = self._cells, self._first + FIRST + WIDTH * number
        cells[self._first + ACTIVE] -= 1
        cells[self._first + USED] = used
        status = finished.status if finished.status in STATUSES else 0
        cells[first + STATUSES.index(status)] += 1
        within = next((number for number, bound in enumerate(BOUNDS) if finished.seconds <= bound), len(BOUNDS))
        cells[first + SECONDS + within] += 1
        cells[first + SUM] += finished.seconds
        cells[first + SENT] += finished.size
        cells[first + CUT] += bool(finished.note)

    def _total(self, column: int) -> float:
        return sum(self._cells[row * self._columns + column] for row in range(self._rows))

    def text(self) -> str:
        """Return the sums of all processes."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _head("nczarr_requests_total", "counter", "Answered requests.")
        for route, first in self._routes():
            for number, status in enumerate(STATUSES):
                count = self._total(first + number)
                if count:
                    yield f'nczarr_requests_total{{route="{route}",status="{status or "other"}"}} {count:.0f}'
        yield from _head("nczarr_request_seconds", "histogram", "Time from a request to the end of its answer.")
        for route, first in self._routes():
            counts = [self._total(first + SECONDS + number) for number in range(len(BOUNDS) + 1)]
            if any(counts):
                total = 0.0
                for bound, count in zip((*BOUNDS, "+Inf"), counts, strict=True):
                    total += count
                    yield f'nczarr_request_seconds_bucket{{route="{route}",le="{bound}"}} {total:.0f}'
                yield f'nczarr_request_seconds_sum{{route="{route}"}} {self._total(first + SUM):.6f}'
                yield f'nczarr_request_seconds_count{{route="{route}"}} {total:.0f}'
        for name, column, words in (
            ("nczarr_sent_bytes_total", SENT, "Bytes of bodies."),
            ("nczarr_cut_answers_total", CUT, "Answers that ended before their end."),
        ):
            yield from _head(name, "counter", words)
            for route, first in self._routes():
                count = self._total(first + column)
                if count:
                    yield f'{name}{{route="{route}"}} {count:.0f}'
        yield from _head("nczarr_requests_in_progress", "gauge", "Requests that are being answered.")
        yield f"nczarr_requests_in_progress {self._total(ACTIVE):.0f}"
        yield from _head("nczarr_answers_memory_bytes", "gauge", "Memory of all answers in progress.")
        yield f"nczarr_answers_memory_bytes {self._total(USED):.0f}"
        yield from _head("nczarr_process_start_time_seconds", "gauge", "Start of each process, in seconds since 1970.")
        for row in range(self._rows):
            start = self._cells[row * self._columns + START]
            if start:
                yield f'nczarr_process_start_time_seconds{{process="{row}"}} {start:.3f}'

    def _routes(self) -> Iterator[tuple[str, int]]:
        """Yield the routes with the first of their columns."""
        return ((route, FIRST + number * WIDTH) for number, route in enumerate(self._labels))


def _head(name: str, kind: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"


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
        return cls(form, local_paths.absolute(path) if path else None)


class AccessLog:
    """An open log. Raises OSError if its file cannot be written."""

    def __init__(self, destination: Destination) -> None:
        self.destination = destination
        self._file = self._open()

    def _open(self) -> int | None:
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
            old, self._file = self._file, self._open()
            if old is not None:
                os.close(old)


def _common(finished: Finished, now: float) -> str:
    """Return the line in the Common Log Format; times are in UTC."""
    when = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now))
    version = finished.scope.get("http_version", "1.1")
    request = _escape(f"{finished.scope['method']} {finished.target} HTTP/{version}")
    return f'{_escape(finished.client)} - - [{when}] "{request}" {finished.status} {finished.size or "-"}'


def _escape(text: str) -> str:
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
        "referer": header(finished.scope, b"referer"),
        "user_agent": header(finished.scope, b"user-agent"),
    }
    if finished.note:
        members["note"] = finished.note
    return json.dumps(members)
