r"""Open documents: their text with all that is derived from one version of it, and positions as the protocol has them.

Positions are lines, and columns in UTF-16, UTF-8 or UTF-32. Lines end in `\n`, `\r\n` or `\r` alone, as in the
protocol and in `Source`.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from lsprotocol.types import (
    MarkupContent,
    MarkupKind,
    Position,
    Range,
    TextDocumentContentChangeEvent,
    TextDocumentContentChangePartial,
)

from nczarr import registry
from nczarr.ast import Dataset
from nczarr.diagnostics.report import HEAD, Diagnostic, Report, Source
from nczarr.pipeline.check import check
from nczarr.pipeline.check_request import CheckRequest
from nczarr.pipeline.code_filter import CheckSettings, CodeFilter, find_settings
from nczarr.pipeline.endpoints import detect_format
from nczarr.plugins.languages.language import Language, Lexeme, TextMap, find_language
from nczarr.plugins.lsp.names_index import NameIndex
from nczarr.registry import Format
from nczarr.semantics.checked import Tables, tables

_CONTINUED = bytes(range(0x80, 0xC0))
_ABOVE_PLANE = bytes(range(0xF0, 0x100))


class Lines:
    """Places of the lines of a text in UTF-8. `encoding`: the client's, such as `utf-16`."""

    def __init__(self, data: bytes, encoding: str) -> None:
        self.data = data
        self.encoding = encoding
        self.starts = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
        if len(self.starts) > 1 and not data.endswith((b"\n", b"\r")):
            self.starts.pop()

    def _count(self, piece: bytes) -> int:
        """Return the columns of a piece of a line."""
        if piece.isascii() or self.encoding == "utf-8":
            return len(piece)
        characters = len(piece.translate(None, _CONTINUED))
        if self.encoding == "utf-32":
            return characters
        return characters + len(piece) - len(piece.translate(None, _ABOVE_PLANE))

    def _end_of(self, line: int) -> int:
        """Return the byte after the last one of a line, without its end."""
        start = self.starts[line]
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.data)
        return start + len(self.data[start:end].rstrip(b"\r\n"))

    def length_of(self, line: int) -> int:
        """Return the columns of a line."""
        return self._count(self.data[self.starts[line] : self._end_of(line)])

    def position(self, offset: int, *, after: bool = False) -> Position:
        """Return the position of a byte; inside a character that of the character, or with `after` of the next one."""
        data, offset = self.data, min(max(offset, 0), len(self.data))
        while 0 < offset < len(data) and 0x80 <= data[offset] < 0xC0:
            offset += 1 if after else -1
        line = bisect_right(self.starts, offset) - 1
        return Position(line, self.columns(self.starts[line], offset))

    def columns(self, start: int, end: int) -> int:
        """Return the columns between two bytes of a line."""
        return self._count(self.data[start:end].rstrip(b"\r\n"))

    def range(self, start: int, end: int) -> Range:
        """Return the range of some bytes."""
        return Range(self.position(start), self.position(max(start, end), after=True))

    def offset(self, position: Position) -> int:
        """Return the byte of a position; beyond the end of a line or of the text, that end."""
        if position.line < 0:
            return 0
        if position.line >= len(self.starts):
            return len(self.data)
        start, end = self.starts[position.line], self._end_of(position.line)
        column, piece = max(position.character, 0), self.data[start:end]
        if piece.isascii() or self.encoding == "utf-8":
            return min(start + column, end)
        at = start
        while at < end and column > 0:
            lead = self.data[at]
            length = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            column -= 2 if length == 4 and self.encoding == "utf-16" else 1
            if column < 0:
                break
            at = min(at + length, end)
        return at


_log = logging.getLogger(__name__)

LONG_LIST = 1 << 18
"""Bytes above which a list of values has no colours, and is no place for completion."""


def to_bytes(text: str) -> bytes:
    """Return a text of the client in UTF-8; half of a pair of surrogates becomes bytes that the scanners report."""
    return text.encode("utf-8", "surrogatepass")


def replace_invalid(text: str) -> str:
    """Return a text for a client: JSON has no invalid bytes, which a name may contain."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def find_format(uri: str, language_id: str, data: bytes) -> Format | None:
    """Return the format of a document with a language: by its suffix, else by the client's word, else by content."""
    written = [form for form in registry.formats() if find_language(form.name) is not None]
    suffix = PurePosixPath(unquote(urlsplit(uri).path)).suffix.lower()
    for form in written:
        if suffix in form.suffixes:
            return form
    for form in written:
        if language_id in (form.name, *(known.removeprefix(".") for known in form.suffixes)):
            return form
    guess = detect_format(Source(uri, data[:HEAD]))
    return guess if guess in written else None


class TextVersion:
    """One version of a document's text, which never changes."""

    def __init__(self, uri: str, version: int | None, data: bytes, form: Format, encoding: str) -> None:
        self.uri = uri
        self.version = version
        self.data = data
        self.form = form
        self.encoding = encoding
        language = find_language(form.name)
        assert language is not None
        self.language: Language = language

    @cached_property
    def lines(self) -> Lines:
        """Places of the lines."""
        return Lines(self.data, self.encoding)

    @cached_property
    def text_map(self) -> TextMap:
        """Names and structure."""
        return self.language.read(Source(self.uri, self.data))

    @cached_property
    def lexemes(self) -> list[Lexeme]:
        """All lexemes, except those of long lists of values."""
        long = [one.value for one in self.text_map.mentions if one.value and one.value[1] - one.value[0] > LONG_LIST]
        lexemes: list[Lexeme] = []
        at = 0
        for start, end in [*long, (len(self.data), len(self.data))]:
            found = self.language.split(self.data[at:start])
            lexemes += found if not at else [Lexeme(at + one.start, at + one.end, one.kind) for one in found]
            at = end
        return lexemes

    @cached_property
    def index(self) -> NameIndex:
        """Meaning of the names."""
        return NameIndex(self.text_map, self.data, self.language)

    def lexemes_before(self, offset: int) -> list[Lexeme]:
        """Return the lexemes that begin before an offset."""
        return self.lexemes[: bisect_right(self.lexemes, offset - 1, key=lambda lexeme: lexeme.start)]

    def change(self, changes: Sequence[TextDocumentContentChangeEvent], version: int | None) -> TextVersion:
        """Return the version after some changes, each of which counts in the text after those before it."""
        text = self
        for change in changes:
            new = to_bytes(change.text)
            if isinstance(change, TextDocumentContentChangePartial):
                start, end = text.lines.offset(change.range.start), text.lines.offset(change.range.end)
                new = text.data[:start] + new + text.data[max(start, end) :]
            text = TextVersion(self.uri, version, new, self.form, self.encoding)
        return text


class Analysis(NamedTuple):
    """Result of the pipeline for one version of a text."""

    text: TextVersion
    """The text that was read."""
    diagnostics: list[Diagnostic]
    """All findings, by place."""
    dataset: Dataset | None
    """The tree as far as the passes came; None if nothing could be read."""
    seconds: float
    """Time that it took."""

    def tables(self) -> Tables | None:
        """Return the declarations of the tree by FQN."""
        return None if self.dataset is None else tables(self.dataset)


def analyze(text: TextVersion, *, strict: bool = False) -> Analysis:
    """Read and check a text as `nczarr check` does in its folder; `strict`: warnings are errors."""
    start, report = time.perf_counter(), Report(strict=strict)
    trees: list[Dataset] = []

    def observe(name: str, dataset: Dataset) -> None:
        trees[:] = [dataset]

    address = urlsplit(text.uri)
    path = unquote(address.path) or text.uri
    settings = _find_settings(path) if address.scheme == "file" else CheckSettings()
    codes = CodeFilter(settings.select, settings.ignore)
    conventions, source = settings.conventions, Source(path, text.data)
    request = CheckRequest(path, source, text.form.name, conventions=conventions, codes=codes, observe=observe)
    check(request, report)
    return Analysis(text, report.list_sorted(), trees[0] if trees else None, time.perf_counter() - start)


def _find_settings(path: str) -> CheckSettings:
    """Return the settings of the project that a file belongs to; none for invalid ones, which are logged."""
    try:
        return find_settings(Path(path).parent)
    except (ValueError, OSError) as fault:
        _log.log(logging.WARNING, "%s", fault)
        return CheckSettings()


@dataclass(slots=True)
class View:
    """One version of a document as a request sees it."""

    text: TextVersion
    """Text that the request is about."""
    analysis: Analysis
    """Result of the pipeline for this text."""
    has_markdown: bool = True
    """True if the client shows Markdown."""

    def explain(self, text: str) -> MarkupContent | str:
        """Return an explanation in a form that the client shows."""
        return MarkupContent(MarkupKind.Markdown, text) if self.has_markdown else text

    def offset(self, position: Position) -> int:
        """Return the byte of a position."""
        return self.text.lines.offset(position)

    def range(self, start: int, end: int) -> Range:
        """Return the range of some bytes."""
        return self.text.lines.range(start, end)
