"""Places of members in a JSON text, computed on demand for diagnostics.

From a JSON text and a path of keys and indices to JSON pointer, line and column
of the value.
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator

from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Source, Span

Path = tuple[str | int, ...]

CHEAP = 1 << 22
"""Maximum bytes of documents with line numbers."""

FEW = 100
"""Maximum faults of a document with line and column."""

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False)


@functools.lru_cache(maxsize=4096)
def pointer(*steps: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of a path."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


class Faults:
    """Reporter of faults in a document, each at a path."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self._known: Places | None = None
        self._placed = 0

    def error(self, code: str, message: str, path: Path = (), helps: Iterable[str] = ()) -> None:
        """Report an error."""
        self._add(Severity.ERROR, code, message, path, helps)

    def warning(self, code: str, message: str, path: Path = (), helps: Iterable[str] = ()) -> None:
        """Report a warning."""
        self._add(Severity.WARNING, code, message, path, helps)

    def lose(self, code: str, message: str, *, allowed: bool, helps: Iterable[str] = ()) -> None:
        """Report dropped content: an error, or a warning if allowed."""
        place = Label(Span(self.source, 0, 0), key=self.source.name if self.source.key is None else self.source.key)
        diagnostic = Diagnostic(code, Severity.ERROR, message, place, helps=() if allowed else tuple(helps))
        self.report.lose(diagnostic, allowed=allowed)

    def _add(self, severity: Severity, code: str, message: str, path: Path, helps: Iterable[str]) -> None:
        """Report a fault at a path; of a few faults in short documents, with line and column."""
        span = Span(self.source, 0, 0)
        notes: tuple[str, ...] = ()
        if path and len(self.source.data) <= CHEAP and self._placed < FEW:
            self._known = self._known or Places(bytes(self.source.data).decode("utf-8", "surrogateescape"))
            self._placed += 1
            start = self._known.start(path)
            span = Span(self.source, start, start)
            line, column = self.source.position(start)
            notes = () if self.source.key is not None else (f"line {line}, column {column}",)
        name = self.source.name if self.source.key is None else self.source.key
        place = Label(span, key=name, pointer=pointer(*path))
        self.report.add(Diagnostic(code, severity, message, place, notes=notes, helps=tuple(helps)))


class Places:
    """Starts of values in a text; visited objects and arrays are cached."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._inside: dict[int, dict[str | int, int]] = {}

    def start(self, path: Path) -> int:
        """Return the byte offset of the value at a path, or of its deepest existing ancestor."""
        return len(self._text[: self.index(path)].encode("utf-8", "surrogateescape"))

    def index(self, path: Path) -> int:
        """Return the index in the text of the value at a path, or of its deepest existing ancestor."""
        text = self._text
        at = skip_blank(text, 1 if text.startswith("\ufeff") else 0)
        for part in path:
            if at not in self._inside:  # of equal names the last counts
                self._inside[at] = dict(members(text, at) if isinstance(part, str) else _items(text, at))
            if part not in self._inside[at]:
                break
            at = self._inside[at][part]
        return at


def skip_blank(text: str, at: int) -> int:
    """Return the end of the blanks at `at`."""
    blank = _BLANK.match(text, at)
    return at if blank is None else blank.end()


def members(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """Yield names and value starts of an object at `at`; nothing for other values."""
    if text[at : at + 1] != "{":
        return
    at = skip_blank(text, at + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        start = skip_blank(text, skip_blank(text, end) + 1)
        yield name, start
        at = _next(text, start)


def _items(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """Yield indices and value starts of an array."""
    if text[at : at + 1] != "[":
        return
    at, index = skip_blank(text, at + 1), 0
    while text[at] != "]":
        yield index, at
        at, index = _next(text, at), index + 1


def _next(text: str, start: int) -> int:
    """Return the start of the next value, or of the closing bracket."""
    _, end = _DECODER.raw_decode(text, start)
    end = skip_blank(text, end)
    return skip_blank(text, end + 1) if text[end] == "," else end


_KINDS = ((bool, "a boolean"), (str, "text"), (int, "an integer"), (float, "a real number"),
          (list | tuple, "a list"), (dict, "an object"))  # fmt: skip


def kind(value: object) -> str:
    """Describe the kind of a JSON value."""
    return (
        "null"
        if value is None
        else next((word for class_of_kind, word in _KINDS if isinstance(value, class_of_kind)), "no JSON")
    )
