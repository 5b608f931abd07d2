"""Sources, places in them, diagnostics, and the report that collects these.

Invariants: bad input never raises; it is added to a `Report`. `CompileError` is
for Python callers, and contains all diagnostics of a run. A `Span` is only a
position; it equals every other span, so that trees that differ only in layout
are equal. Lines and columns are computed only for output.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from mmap import mmap
from typing import Any

from nczarr.diagnostics.ignored import is_ignored
from nczarr.names import closest
from nczarr.names.records import NamedTuple

Buffer = bytes | mmap
"""Data of a text: both slice to bytes, and `re` searches both. Binary files may be remote, or read by position."""

_LINE_END = re.compile(rb"\r\n|\r|\n")

HEAD = 1 << 16
"""Bytes of a source by which its format is detected."""

LONGEST_DOCUMENT = 1 << 20
"""Maximum bytes of a store's document with line numbers."""


class Source:
    """A named text, or a file of a `binary` format, as undecoded bytes.

    Places in a binary source are byte offsets, without lines. `key`: of a
    store's document, which is one place unless its bytes are stored, as few
    readers do. `path`: file with the bytes, if not the name.
    """

    __slots__ = ("_starts", "binary", "data", "key", "name", "path")

    def __init__(
        self, name: str, data: Buffer, *, binary: bool = False, key: str | None = None, path: str | None = None
    ) -> None:
        self.name = name
        self.path = name if path is None else path
        self.key = key
        self.data = data
        self.binary = binary
        self._starts: list[int] | None = None

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.data)} bytes)"

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Pickle a mapped text by value, and a long or binary file without its bytes: its places are byte offsets."""
        state = {name: getattr(self, name) for name in Source.__slots__}
        if isinstance(self.data, mmap):
            state["binary"] = self.binary or len(self.data) > LONGEST_DOCUMENT
            state["data"] = b"" if state["binary"] else self.data[:]
        return None, state

    @property
    def has_lines(self) -> bool:
        """True if places have line and column; long documents of stores have none."""
        return not self.binary and (self.key is None or 0 < len(self.data) <= LONGEST_DOCUMENT)

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.data))]
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of a byte offset, from 1; columns are characters (an invalid byte counts as one)."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        before = bytes(self.data[starts[line - 1] : offset])
        return line, len(before.decode("utf-8", "surrogateescape")) + 1

    def place(self, offset: int) -> str:
        """Return an offset as text: `line:column`, or `byte offset` in a binary source."""
        return f"byte {offset}" if self.binary else ":".join(map(str, self.position(offset)))

    def line_text(self, line: int) -> str:
        """Return a line (from 1) without its end; invalid UTF-8 becomes U+FFFD."""
        starts = self._line_starts()
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.data)
        return bytes(self.data[starts[line - 1] : end]).rstrip(b"\r\n").decode("utf-8", "replace")

    def text(self, start: int, end: int) -> str:
        """Return the characters of a byte range; invalid bytes become surrogates, without loss."""
        return bytes(self.data[start:end]).decode("utf-8", "surrogateescape")


class Span:
    """A byte range of a source. All spans are equal, because positions are not part of values.

    `source`: None for no position. `start`: its first byte; `end`: the byte after the last.
    """

    __slots__ = ("end", "source", "start")

    def __init__(self, source: Source | None, start: int, end: int) -> None:
        self.source, self.start, self.end = source, start, end

    def __repr__(self) -> str:
        return f"Span({self.source!r}, {self.start}, {self.end})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span)

    def __hash__(self) -> int:
        return 0


NOWHERE = Span(None, 0, 0)
"""Span of a node without text."""

UNREAD = frozenset({
    "bad-metadata", "unreadable-array", "ambiguous-node", "draft-layout", "lost-union", "lost-mask",
    "duplicate-name", "unsafe-key",
})  # fmt: skip
"""Codes of unreadable store content; read-only uses skip it."""

VALUE_LOSSES = UNREAD | {
    *("lost-type", "lost-attribute", "altered-attribute", "lost-nil", "cut-string", "lost-length", "lost-fill"),
    *("renamed-dimension", "unnamed-value", "unsafe-name", "format-conflict", "unreferable-variable", "json-attribute"),
}
"""Losses that are errors unless `--allow-loss` names them."""

OMISSIONS = frozenset({"omitted-type", "omitted-shape", "omitted-link", "omitted-object", "omitted-name"})
"""Reasons why a reader leaves out content: its type, its link, its bytes, its name."""

OMITTED = "unread"
"""Code of the diagnostic that lists what a reader left out; as a loss, it is every loss of a reader."""

ALLOWED = VALUE_LOSSES | OMISSIONS | {"all", OMITTED}
"""Words of `--allow-loss`, without those of other distributions."""


class Severity(StrEnum):
    """Severity of a diagnostic: an error stops the back end, a warning does not, a note explains."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Fix(str):
    """Remedy that a program can apply: a text for people, and the change of the source.

    `new` replaces the word `wrong`, at the position or in the declaration there. Without
    `wrong`, it replaces the bytes `extent`, or the whole position.
    """

    def __new__(cls, text: str, new: str = "", wrong: str | None = None, extent: tuple[int, int] | None = None) -> Fix:
        """Return the remedy."""
        fix = super().__new__(cls, text)
        fix.new, fix.wrong, fix.extent = new, wrong, extent
        return fix

    new: str
    """Text of the change; a name is spelled as the language has it."""
    wrong: str | None
    """Word to replace, as the message has it."""
    extent: tuple[int, int] | None
    """First byte to replace, and the byte after the last."""


def did_you_mean(name: str, wrong: str | None = None) -> Fix:
    """Return the remedy that replaces a word by a name."""
    return Fix(f"did you mean `{name}`?", name, wrong)


def suggest(name: str, candidates: Iterable[str]) -> list[str]:
    """Return the remedy that replaces a name by the probably intended candidate, if there is one."""
    meant = closest(name, candidates)
    return [] if meant is None else [did_you_mean(meant, name)]


def hint(name: str, candidates: Iterable[str], otherwise: str = "") -> str:
    """Return the end of a message about an unknown name: the probably intended candidate, else `otherwise`."""
    ends = suggest(name, candidates) or [otherwise]
    return f"; {ends[0]}" if ends[0] else ""


class Label(NamedTuple):
    """A position with a text: a source span, a key and JSON pointer, or a byte offset."""

    span: Span = NOWHERE
    """Range of the source text."""
    text: str = ""
    """Text shown at the position."""
    key: str | None = None
    """Key of a document in a store."""
    pointer: str | None = None
    """JSON pointer within the document."""
    offset: int | None = None
    """Byte offset in a binary source, which `Report` computes from the span."""
    missing: str = ""
    """Text that is missing at the position."""

    @property
    def has_lines(self) -> bool:
        """True if the label has a line and a column. A key within one text is such a position."""
        source = self.span.source
        if source is None or self.offset is not None or (self.key is not None and source.key is None):
            return False
        return source.has_lines

    def is_ignored(self, code: str) -> bool:
        """Return whether a comment of the text hides warnings of a code here."""
        source = self.span.source
        if source is None or not self.has_lines:
            return False
        line, _ = source.position(self.span.start)
        return is_ignored(code, source.line_text(line), source.line_text(line - 1))


class Diagnostic(NamedTuple):
    """One finding, with its code and position."""

    code: str
    """Stable code, such as `value-range`; `nczarr explain CODE` describes it."""
    severity: Severity
    """Severity: error, warning or note."""
    message: str
    """Message of one line."""
    primary: Label = Label()
    """Position of the finding."""
    others: tuple[Label, ...] = ()
    """Related positions, such as a declaration."""
    notes: tuple[str, ...] = ()
    """Additional facts."""
    helps: tuple[str, ...] = ()
    """Remedies."""

    def __repr__(self) -> str:
        from nczarr.diagnostics.python_terms import in_python  # few commands print a diagnostic so

        return f"{self.severity.value}[{self.code}]: {in_python(self.message)}{_format_place(self.primary)}"

    def sort_key(self) -> tuple[str, str, int, int, str, str]:
        """Return the key by which diagnostics are sorted.

        Returns
        -------
        tuple
            Source name, document key, position, code and message.
        """
        span = self.primary.span
        name = span.source.name if span.source is not None else ""
        return (name, self.primary.key or "", span.start, self.primary.offset or 0, self.code, self.message)


LEAST = 3
"""Rank of the least important diagnostics."""


def rank(diagnostic: Diagnostic) -> int:
    """Return the importance of a diagnostic: 0 an error, 1 a value loss, 2 another warning, 3 a note."""
    if diagnostic.severity is Severity.ERROR:
        return 0
    if diagnostic.severity is Severity.NOTE:
        return LEAST
    return 1 if diagnostic.code in ALLOWED else 2


class Report:
    """Collector of the diagnostics of one run; `sorted()` returns each once, ordered by place.

    `limit` bounds the stored number, and so the memory; `dropped` counts the
    rest. Errors are stored before value losses, and these before others.
    `strict` turns every warning into an error. `announce` shows what is stored
    so far, where long work begins; it does nothing unless a command sets it.
    `subject` is the path or URL that the run opens first, for diagnostics without a place.
    `hides` tells which diagnostics are not stored, as a user asks.
    """

    __slots__ = (
        *("_deferred", "_errors", "_hushed", "_kept", "_worst", "announce", "dropped", "hides", "levels", "limit"),
        *("losses", "strict", "subject"),
    )

    def __init__(self, limit: int = 1000, *, strict: bool = False) -> None:
        """Begin an empty report, which keeps `limit` diagnostics; `strict` turns warnings into errors."""
        self.limit = limit
        self.strict = strict
        self.announce: Callable[[], None] = _nothing
        self.hides: Callable[[Diagnostic], bool] | None = None
        self.levels: Mapping[str, Severity | None] = {}
        """Severities that the run gives to warnings and notes by code; None: they are ignored."""
        self.subject = ""
        self.dropped = 0
        self.losses: list[Diagnostic] = []
        """Losses in reading that the run allows, `limit` of them at most."""
        self._deferred: list[tuple[Diagnostic, bool]] | None = None
        self._errors = 0
        self._worst = LEAST
        self._hushed: list[Span] = []
        self._kept: dict[tuple[object, ...], Diagnostic] = {}

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic, unless it is hidden or a repetition (same code, place and message)."""
        if self.hides is not None and self.hides(diagnostic):
            return
        if diagnostic.severity is not Severity.ERROR:
            usual = Severity.ERROR if self.strict and diagnostic.severity is Severity.WARNING else diagnostic.severity
            severity = self.levels.get(diagnostic.code, usual)
            if severity is None or diagnostic.primary.is_ignored(diagnostic.code):
                return
            diagnostic = diagnostic._replace(severity=severity)
        diagnostic = _with_offsets(diagnostic)
        key = (*diagnostic.sort_key(), diagnostic.primary.pointer)
        if key in self._kept:
            return
        if self.is_hushed(diagnostic.primary.span):
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
        """Drop the latest of the least important diagnostics below `better`; return whether there was one."""
        if better >= self._worst:
            return False
        ranks = {key: rank(found) for key, found in self._kept.items()}
        self._worst = max(ranks.values(), default=0)
        if better >= self._worst:
            return False
        del self._kept[next(key for key in reversed(ranks) if ranks[key] == self._worst)]
        return True

    def lose(self, diagnostic: Diagnostic, *, allowed: bool) -> None:
        """Add a loss in reading: an error, or a remembered warning if it is allowed."""
        if self._deferred is not None:
            self._deferred.append((diagnostic, allowed))
            return
        diagnostic = diagnostic._replace(severity=Severity.WARNING if allowed else Severity.ERROR)
        if allowed and len(self.losses) < self.limit:
            self.losses.append(diagnostic)
        self.add(diagnostic)

    def defer_losses(self) -> None:
        """Keep losses in reading apart, until it is known which part of the source the run uses."""
        self._deferred = []

    def settle_losses(self, concerns: Callable[[Diagnostic], bool]) -> None:
        """Add the deferred losses that concern the used part."""
        deferred, self._deferred = self._deferred or [], None
        for diagnostic, allowed in deferred:
            if concerns(diagnostic):
                self.lose(diagnostic, allowed=allowed)

    def retract(self, diagnostic: Diagnostic) -> None:
        """Remove a diagnostic that was added, with the same message and place, if it is stored or deferred."""
        if self._deferred is not None:
            self._deferred = [item for item in self._deferred if item[0].sort_key() != diagnostic.sort_key()]
        found = self._kept.pop((*diagnostic.sort_key(), diagnostic.primary.pointer), None)
        if found is not None:
            self._errors -= found.severity is Severity.ERROR
            self.losses = [loss for loss in self.losses if loss.sort_key() != diagnostic.sort_key()]

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
        missing: str = "",
    ) -> None:
        """Add an error at a span. `missing`: text that is missing there."""
        place = _label(span, label)
        if missing:
            place = place._replace(missing=missing)
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
        """Add a warning at a span."""
        place = _label(span, label)
        self.add(Diagnostic(code, Severity.WARNING, message, place, tuple(others), tuple(notes), tuple(helps)))

    def hush(self, span: Span) -> None:
        """Ignore further diagnostics at a faulty place, because they may be consequences."""
        self._hushed.append(span)

    def is_hushed(self, span: Span) -> bool:
        """Return whether a place begins inside a hushed one."""
        return any(span.source is known.source and known.start <= span.start < known.end for known in self._hushed)

    def annotate(self, note: str) -> None:
        """Add a note to all diagnostics without a place."""
        for key, found in self._kept.items():
            if found.primary.span.source is None and found.primary.key is None and note not in found.notes:
                self._kept[key] = found._replace(notes=(*found.notes, note))

    def consequence(self) -> None:
        """Count an error that is not shown because it follows from a shown one."""
        self._errors += 1

    @property
    def errors(self) -> int:
        """Number of errors, including dropped and hidden ones."""
        return self._errors

    @property
    def count(self) -> int:
        """Number of diagnostics, dropped ones included, and hidden ones not."""
        return len(self._kept) + self.dropped

    def list_sorted(self) -> list[Diagnostic]:
        """Return all stored diagnostics, ordered by place."""
        return sorted(self._kept.values(), key=Diagnostic.sort_key)


def _nothing() -> None:
    """Announce nothing. Reports can be pickled."""


def _with_offsets(diagnostic: Diagnostic) -> Diagnostic:
    """Return the diagnostic with byte offsets for places in binary sources."""
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
    """Error for input that does not compile.

    Its text has the first errors with their remedies. Options are named as keyword
    arguments there; `diagnostics` has them as the command line spells them.

    Attributes
    ----------
    diagnostics : list of Diagnostic
        All findings, warnings included.

    Examples
    --------
    >>> import nczarr
    >>> try:
    ...     nczarr.from_cdl("netcdf d { variables: byte v ; data: v = 300 ; }")
    ... except nczarr.CompileError as error:
    ...     [(each.code, each.message) for each in error.diagnostics]
    [('value-range', '300 does not fit type byte (-128 .. 127)')]
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = list(diagnostics)
        errors = [found for found in self.diagnostics if found.severity is Severity.ERROR]
        lines = [line for found in errors[:5] for line in _in_words(found)]
        if len(errors) > 5:
            lines.append(f"and {len(errors) - 5} more")
        super().__init__("\n".join(lines) or "compilation failed")

    def __reduce__(self) -> tuple[type[CompileError], tuple[list[Diagnostic]]]:
        return CompileError, (self.diagnostics,)


def _in_words(diagnostic: Diagnostic) -> Iterator[str]:
    """Yield the lines of a diagnostic for a Python caller."""
    from nczarr.diagnostics.python_terms import in_python

    yield f"{diagnostic.code}: {in_python(diagnostic.message)}{_format_place(diagnostic.primary)}"
    yield from (f"  {note}" for note in diagnostic.notes if diagnostic.code == OMITTED)
    yield from (f"  help: {in_python(text)}" for text in diagnostic.helps)


class DataWarning(UserWarning):
    """Warning of content that `nczarr.open` left out, because it is unreadable or its name is taken.

    The diagnostics of the handle have every case.
    """


def _label(span: Span, text: str) -> Label:
    """Return the label of a span in a text or store document."""
    return Label(span, text, key=span.source.key if span.source is not None else None)


def _format_place(label: Label) -> str:
    """Return the place of a label in brackets: ` (at FILE:LINE:COLUMN)`, `FILE@OFFSET`, or the key of a document."""
    if label.key is not None:
        where = ""
        if label.has_lines and label.span.source is not None:
            where = ":" + label.span.source.place(label.span.start)
        return f" (at {label.key}{where}{'#' + label.pointer if label.pointer else ''})"
    if label.span.source is None or label.span.source.name.startswith("--"):  # the text of an option
        return ""
    if label.offset is not None:
        return f" (at {label.span.source.name}@{label.offset})"
    line, column = label.span.source.position(label.span.start)
    return f" (at {label.span.source.name}:{line}:{column})"
