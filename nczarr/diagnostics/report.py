"""What the compiler has to say: diagnostics and the report that collects them.

Invariant: bad input never raises; it adds to a `Report`. `CompileError` is for callers in Python, who
want one exception that carries everything that was found.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from nczarr.diagnostics.value_losses import VALUE_LOSSES
from nczarr.source import NOWHERE, Span


class Severity(StrEnum):
    """How much a diagnostic matters: an error stops the back end, a warning does not, a note explains."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Label(NamedTuple):
    """A place and what is to be seen there: a span of a text, or a key and JSON pointer, or a byte offset; of documents
    that are read to the letter a key, a pointer and a span.

    A report gives every span of a binary source its offset.
    """

    span: Span = NOWHERE
    text: str = ""
    key: str | None = None
    pointer: str | None = None
    offset: int | None = None

    @property
    def has_lines(self) -> bool:
        """Whether it points to a line and a column. A key within one text is its place there."""
        source = self.span.source
        if source is None or self.offset is not None or (self.key is not None and source.key is None):
            return False
        return source.has_lines


class Diagnostic(NamedTuple):
    """One finding: a stable code (`codes/`), one line of message, a primary place, and what may help."""

    code: str
    severity: Severity
    message: str
    primary: Label = Label()
    others: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()

    def sort_key(self) -> tuple[str, str, int, int, str, str]:
        """Order of output: by text, then place, then code and message."""
        span = self.primary.span
        name = span.source.name if span.source is not None else ""
        return (name, self.primary.key or "", span.start, self.primary.offset or 0, self.code, self.message)


LEAST = 3
"""The rank of what matters least."""


def rank(diagnostic: Diagnostic) -> int:
    """Return how much a diagnostic matters: 0 an error, 1 a loss of values, 2 any other warning, 3 a note."""
    if diagnostic.severity is Severity.ERROR:
        return 0
    if diagnostic.severity is Severity.NOTE:
        return LEAST
    return 1 if diagnostic.code in VALUE_LOSSES else 2


class Report:
    """Collects diagnostics of one run; `sorted()` gives them once each, in order of place.

    `limit` bounds the number kept, so that a file of a million mistakes costs no memory; `dropped` counts the rest.
    Errors are kept before value losses, and these before all others.
    Under `strict` every warning is an error.
    """

    __slots__ = ("_errors", "_hushed", "_kept", "_worst", "dropped", "limit", "losses", "strict")

    def __init__(self, limit: int = 1000, *, strict: bool = False) -> None:
        self.limit = limit
        self.strict = strict
        self.dropped = 0
        self.losses: list[Diagnostic] = []
        """Losses in reading that the run allows, `limit` of them at most."""
        self._errors = 0
        self._worst = LEAST
        self._hushed: list[Span] = []
        self._kept: dict[tuple[object, ...], Diagnostic] = {}

    def add(self, diagnostic: Diagnostic) -> None:
        """Take one diagnostic; the same code at the same place with the same message is taken once."""
        if self.strict and diagnostic.severity is Severity.WARNING:
            diagnostic = diagnostic._replace(severity=Severity.ERROR)
        diagnostic = _with_offsets(diagnostic)
        key = (*diagnostic.sort_key(), diagnostic.primary.pointer)
        if key in self._kept:
            return
        if self.hushed(diagnostic.primary.span):
            self._errors += diagnostic.severity is Severity.ERROR
            return
        if diagnostic.severity is Severity.ERROR:
            self._errors += 1
        if len(self._kept) >= self.limit:
            self.dropped += 1
            if not self._evict(rank(diagnostic)):
                return
        self._kept[key] = diagnostic

    def _evict(self, better: int) -> bool:
        """Drop a diagnostic that matters less than `better`, the latest of the least; return whether there was one."""
        if better >= self._worst:
            return False
        ranks = {key: rank(found) for key, found in self._kept.items()}
        self._worst = max(ranks.values(), default=0)
        if better >= self._worst:
            return False
        del self._kept[next(key for key in reversed(ranks) if ranks[key] == self._worst)]
        return True

    def lose(self, diagnostic: Diagnostic, *, allowed: bool) -> None:
        """Add something that is left out in reading: an error, or a warning that is remembered if it is allowed."""
        severity = Severity.WARNING if allowed else Severity.ERROR
        diagnostic = diagnostic._replace(severity=severity)
        if allowed and len(self.losses) < self.limit:
            self.losses.append(diagnostic)
        self.add(diagnostic)

    def error(
        self,
        code: str,
        message: str,
        span: Span = NOWHERE,
        *,
        label: str = "",
        others: Iterable[Label] = (),
        notes: Iterable[str] = (),
        helps: Iterable[str] = (),
    ) -> None:
        """Add an error at a span of a text."""
        place = _label(span, label)
        self.add(Diagnostic(code, Severity.ERROR, message, place, tuple(others), tuple(notes), tuple(helps)))

    def warning(
        self,
        code: str,
        message: str,
        span: Span = NOWHERE,
        *,
        label: str = "",
        others: Iterable[Label] = (),
        notes: Iterable[str] = (),
        helps: Iterable[str] = (),
    ) -> None:
        """Add a warning at a span of a text."""
        place = _label(span, label)
        self.add(Diagnostic(code, Severity.WARNING, message, place, tuple(others), tuple(notes), tuple(helps)))

    def hush(self, span: Span) -> None:
        """Take nothing more at a place that holds a fault: whatever else is wrong there may follow from it."""
        self._hushed.append(span)

    def hushed(self, span: Span) -> bool:
        """Whether a place begins inside one that was hushed."""
        return any(span.source is known.source and known.start <= span.start < known.end for known in self._hushed)

    def annotate(self, note: str) -> None:
        """Add a note to everything found so far that has no place."""
        for key, found in self._kept.items():
            if found.primary.span.source is None and found.primary.key is None and note not in found.notes:
                self._kept[key] = found._replace(notes=(*found.notes, note))

    def consequence(self) -> None:
        """Count an error that is not said, because it follows from one that is."""
        self._errors += 1

    @property
    def errors(self) -> int:
        """How many errors were found, those over the limit and those that are not said included."""
        return self._errors

    def sorted(self) -> list[Diagnostic]:
        """All diagnostics kept, in order of place."""
        return sorted(self._kept.values(), key=Diagnostic.sort_key)


def _with_offsets(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with byte offsets where its places lie in binary sources."""
    labels = (diagnostic.primary, *diagnostic.others)
    if not any(label.span.source is not None and label.span.source.binary for label in labels):
        return diagnostic
    primary, *others = map(_with_offset, labels)
    return diagnostic._replace(primary=primary, others=tuple(others))


def _with_offset(label: Label) -> Label:
    source = label.span.source
    if source is None or not source.binary or label.offset is not None:
        return label
    return label._replace(offset=label.span.start)


class CompileError(ValueError):
    """Input that does not compile; `.diagnostics` holds everything that was found, warnings too."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = list(diagnostics)
        errors = [found for found in self.diagnostics if found.severity is Severity.ERROR]
        lines = [f"{found.code}: {found.message}{_place(found.primary)}" for found in errors[:5]]
        if len(errors) > 5:
            lines.append(f"and {len(errors) - 5} more")
        super().__init__("\n".join(lines) or "compilation failed")

    def __reduce__(self) -> tuple[type[CompileError], tuple[list[Diagnostic]]]:
        return CompileError, (self.diagnostics,)


def _label(span: Span, text: str) -> Label:
    """A place of a text, or that of a document of a store."""
    return Label(span, text, key=span.source.key if span.source is not None else None)


def _place(label: Label) -> str:
    if label.key is not None:
        where = ""
        if label.has_lines and label.span.source is not None:
            where = ":" + label.span.source.place(label.span.start)
        return f" (at {label.key}{where}{'#' + label.pointer if label.pointer else ''})"
    if label.span.source is None:
        return ""
    if label.offset is not None:
        return f" (at {label.span.source.name}@{label.offset})"
    line, column = label.span.source.position(label.span.start)
    return f" (at {label.span.source.name}:{line}:{column})"
