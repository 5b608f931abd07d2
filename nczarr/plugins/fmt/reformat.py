"""Formatting of texts: the one style of a format, with the same tokens, comments and tree.

A format says for each token whether it begins a line, and how it is joined to
the token before it (`TokenPlace`). Comments lie in the source between tokens:
one on a line of its own gets the indentation of what follows, others stay on
the line of the token before them.

Each run proves that only blanks and line breaks change, and that a second run
would change nothing, before a file is replaced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from nczarr import registry
from nczarr.ast.dataset import building
from nczarr.diagnostics.report import HEAD, Report, Source, Span
from nczarr.diagnostics.secrets import NO_OPTIONS, show
from nczarr.names import plugin_index
from nczarr.options import Options
from nczarr.stores import local_paths

if TYPE_CHECKING:
    from nczarr.registry import Format
    from nczarr.semantics.checked import Unchecked


def reformat(source: Source, report: Report) -> bytes | None:
    """Return a text in the style of its format; None after a reported error.

    The format is found by content, then by suffix. Reports unknown-format, faults of
    syntax, and internal-error if the result would not be the same dataset. Other
    errors of the dataset, such as undefined names, are no obstacle.
    """
    form = _find_format(source, report)
    if form is None:
        return None
    lay_out = registry.load(find_style(form) or "")
    with building():
        layout: TextLayout | None = lay_out(source, report)
        if layout is None:
            return None
        result = Source(source.name, layout.text)
        is_same = _is_equal(source, result, form) and lay_out(result, Report()) == layout
    if is_same:
        return layout.text
    message = f"the formatted text of `{show(source.name)}` would not be the same"
    notes = ["this is a fault of nczarr; please report it with the input", "nothing was written"]
    report.error("internal-error", message, Span(source, 0, 0), notes=notes)
    return None


def find_style(form: Format) -> str | None:
    """Return the place of the style of a format; None for one that is not formatted."""
    return plugin_index.find_place("style", form.name)


def _is_equal(one: Source, other: Source, form: Format) -> bool:
    """Return whether two texts have equal trees and errors. Values in lists are compared by their tokens."""
    assert form.read is not None
    read = registry.load(form.read)
    reports = Report(), Report()
    trees: list[Unchecked | None] = [
        read(text, report, Options()) for text, report in zip((one, other), reports, strict=True)
    ]
    codes = [[diagnostic.code for diagnostic in report.list_sorted()] for report in reports]
    before, after = trees
    if before is None or after is None or codes[0] != codes[1]:
        return False
    lists = [(tree.lists, tree.attribute_lists) for tree in (before, after)]
    return before.dataset == after.dataset and lists[0] == lists[1]


def _find_format(source: Source, report: Report) -> Format | None:
    """Return the format of a text that can be formatted; None after a reported error."""
    form = registry.detect(source.name, bytes(source.data[:HEAD]))
    if form is not None and find_style(form):
        return form
    what = "its format is unknown" if form is None else f"its format is {form.name}"
    texts = " and ".join(f"`{name}`" for name in plugin_index.list_own("style"))
    text = f"`{show(source.name)}` cannot be formatted: {what}"
    report.error("unknown-format", text, helps=[f"formatted are {texts}"])
    return None


def replace_text(path: str, text: bytes, report: Report) -> bool:
    """Replace the content of a file at once, of that which a link names; return False after a reported error.

    The file keeps its mode. Reports busy-target. Raises OSError.
    """
    from nczarr.stores.finish import lock_target
    from nczarr.stores.open import write_beside

    target = local_paths.real(path)
    with lock_target(target, report, NO_OPTIONS, replaces=True) as lock:
        if lock is None:
            return False
        mode = os.stat(target).st_mode & 0o7777
        with write_beside(target) as unfinished:
            with open(unfinished.path, "xb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            with suppress(OSError):
                os.chmod(unfinished.path, mode)
    return True


_TRIVIA = re.compile(rb"\r\n|\r|\n|//[^\r\n]*+|/\*(?s:.*?)\*/")
_LINE_END = re.compile(rb"[ \t\f]*(?:\r\n|\r|\n)")
BOM = b"\xef\xbb\xbf"


class TokenPlace(NamedTuple):
    """Place of one token in the formatted text."""

    start: int
    """First byte in the source."""
    end: int
    """Byte after the last in the source."""
    text: bytes
    """Text of the token in the result."""
    indent: bytes | None = None
    """Indentation of a token that begins a line; None: it continues one."""
    margin: bytes = b""
    """Indentation where a comment, or a line break that stays, puts a continuing token on a new line."""
    blank: bool = True
    """A blank before a token that continues a line."""
    keeps_break: bool = False
    """The author's line break before a continuing token stays."""
    inner: bytes | None = None
    """Indentation of comments that the author indented more than this token; None: that of the token."""
    outer: bytes | None = None
    """Indentation of comments that the author indented less than this token; None: that of the token."""


class TextLayout(NamedTuple):
    """A formatted text, and what it must have in common with its source."""

    text: bytes
    """The text in UTF-8, with one newline at its end."""
    tokens: bytes
    """Digest of all tokens with their kinds."""
    comments: tuple[bytes, ...]
    """Comments in order, without blanks at the ends of their lines."""


_NONE, _TRAILING, _LINE, _LEADING = range(4)
"""The last comment before a token: none, behind a token, up to the end of its line, first on a line."""


class TextComposer:
    """Writer of a formatted text, token by token."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = len(BOM) if data.startswith(BOM) else 0
        self._pieces: list[bytes] = []
        self.comments: list[bytes] = []

    def compose(self, places: Iterable[TokenPlace]) -> bytes:
        """Return the text of all tokens in order."""
        for place in places:
            self._add(place)
        self._add_comments(TokenPlace(len(self._data), len(self._data), b"", indent=b""))
        return b"".join(self._pieces) + b"\n"

    def _add(self, place: TokenPlace) -> None:
        """Append a token after its comments, on a new line, behind a blank, or directly."""
        breaks, comment = self._add_comments(place)
        if place.indent is not None and not (comment == _LEADING and not breaks):
            self._break_line(breaks, place.indent)
        elif comment == _LINE or (breaks and (place.keeps_break or comment == _LEADING)):
            self._break_line(breaks if place.keeps_break else 1, place.margin)
        elif place.blank or (comment and place.text[:1] not in b",)"):
            self._pieces.append(b" ")
        self._pieces.append(place.text)
        self._at = place.end

    def _break_line(self, breaks: int, indent: bytes) -> None:
        """Begin a line, after an empty one if the author left some."""
        if self._pieces:
            self._pieces.append(b"\n\n" if breaks > 1 else b"\n")
        self._pieces.append(indent)

    def _add_comments(self, place: TokenPlace) -> tuple[int, int]:
        """Add the comments before a token; return the number of line breaks after them, and the last one's position."""
        gap = self._data[self._at : place.start]
        if b"/" not in gap and b"\r" not in gap:
            return gap.count(b"\n"), _NONE
        breaks, last = 0, _NONE
        for match in _TRIVIA.finditer(gap):
            piece = match.group()
            if not piece.startswith(b"/"):
                breaks += 1
                continue
            comment = _LINE_END.sub(b"\n", piece).rstrip(b" \t\f")
            self.comments.append(comment)
            if breaks or not self._pieces:
                stays = place.indent is not None or place.keeps_break
                self._break_line(breaks if stays else 1, self._indentation(place, self._at + match.start()))
                last = _LEADING
            else:
                self._pieces.append(b" ")
                last = _LEADING if last == _LEADING else _TRAILING
            self._pieces.append(comment)
            if piece.startswith(b"//"):
                last = _LINE
            breaks = 0
        return breaks, last

    def _indentation(self, place: TokenPlace, offset: int) -> bytes:
        """Return the indentation of a comment that stands first on its line."""
        if place.indent is None:
            return place.margin
        if place.inner is not None and column(self._data, offset) > column(self._data, place.start):
            return place.inner
        if place.outer is not None and column(self._data, offset) < column(self._data, place.start):
            return place.outer
        return place.indent


def column(data: bytes, offset: int) -> int:
    """Return the column of an offset, from 0, with tabs to multiples of eight."""
    start = data.rfind(b"\n", 0, offset) + 1
    start = max(start, data.rfind(b"\r", start, offset) + 1)
    return len(data[start:offset].decode("utf-8", "replace").expandtabs(8))
