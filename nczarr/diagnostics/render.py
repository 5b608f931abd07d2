"""Rendering of diagnostics as terminal text and as JSON lines.

Output is a sequence of texts, each ending in a newline. Invariants: control
characters from input never reach the terminal; memory is bounded for any line
length and number of diagnostics.
"""

import json
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from nczarr.diagnostics.report import Diagnostic, Label, Severity, Source, rank
from nczarr.names import DECEPTIVE

WINDOW = 110
"""Terminal cells of a shown source line; longer lines are clipped around the marked place."""

REACH = 4 * WINDOW
"""Characters before and after the start of the marked place that are looked at."""

TAB = 4
LIMIT = 100

ALIKE, LISTED = 3, 8
"""Diagnostics of one code that become one message, and the others that it lists."""

_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
_FRAME, _STRONG = "1;34", "1"
_HIDDEN = frozenset(map(chr, DECEPTIVE))


def wants_colour(stream: IO[str]) -> bool:
    """Return whether a stream is a terminal with colours; never under NO_COLOR or TERM=dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def human(diagnostics: Sequence[Diagnostic], *, colour: bool = False, limit: int = LIMIT) -> Iterator[str]:
    """Yield each diagnostic with place, source line and marker; those above the limit are only counted.

    Several of one code without a source line are one message with a list. If some are
    only counted, errors come first, and value losses before other warnings.
    """
    paint = _paint if colour else _plain
    alike = _collect_alike(diagnostics)
    if len(alike) > limit:
        alike.sort(key=lambda members: rank(members[0]))
    for first, *others in alike[:limit]:
        lines = _lines(first._replace(notes=(*_note_others(first, others), *first.notes)) if others else first, paint)
        yield "".join(line + "\n" for line in lines) + "\n"
    if len(alike) > limit:
        yield f"and {sum(map(len, alike[limit:]))} more; `--message-format json` prints all\n"


def _collect_alike(diagnostics: Sequence[Diagnostic]) -> list[list[Diagnostic]]:
    """Return diagnostics in their order; `ALIKE` or more of one code and remedy, without source lines, are together."""
    keys = [_find_kind(diagnostic) for diagnostic in diagnostics]
    counts = Counter(keys)
    groups: dict[object, list[Diagnostic]] = {}
    for diagnostic, kind in zip(diagnostics, keys, strict=True):
        groups.setdefault(kind if counts[kind] >= ALIKE else id(diagnostic), []).append(diagnostic)
    return list(groups.values())


def _find_kind(diagnostic: Diagnostic) -> object:
    """Return what diagnostics have in common that can be one message."""
    if diagnostic.others or diagnostic.primary.has_lines:
        return id(diagnostic)
    return diagnostic.code, diagnostic.severity, diagnostic.notes, diagnostic.helps


def _note_others(first: Diagnostic, others: Sequence[Diagnostic]) -> Iterator[str]:
    """Yield notes on further diagnostics of a code: their places, and their messages if these differ."""
    for other in others[:LISTED]:
        home, label = first.primary.span.source, other.primary
        is_near = home is not None and label.span.source is not None and home.path == label.span.source.path
        where = label.key if is_near and label.key is not None else place(label)
        yield f"also at {where}" if other.message == first.message else f"also: {other.message}"
    if len(others) > LISTED:
        yield f"and {len(others) - LISTED} more; `--message-format json` prints all"


def summary(diagnostics: Sequence[Diagnostic], dropped: int = 0) -> str:
    """Return the numbers of errors and warnings in words, empty without any."""
    parts = []
    for severity in (Severity.ERROR, Severity.WARNING):
        count = sum(diagnostic.severity is severity for diagnostic in diagnostics)
        if count:
            parts.append(f"{count} {severity}{'s' if count > 1 else ''}")
    if dropped:
        parts.append(f"{dropped} more were dropped")
    return ", ".join(parts)


def json_lines(diagnostics: Iterable[Diagnostic], subject: str = "") -> Iterator[str]:
    """Yield one JSON object per line, with fixed members (`offset` only in binary files).

    `subject`: file of diagnostics without a place.
    """
    for diagnostic in diagnostics:
        record = json_record(diagnostic)
        yield json.dumps({**record, "file": record["file"] or subject or None}, ensure_ascii=True) + "\n"


def json_record(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return the members of one JSON object."""
    primary = diagnostic.primary
    line, column, end_line, end_column = _corners(primary)
    source = primary.span.source
    record: dict[str, Any] = {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "file": source.name if source is not None else None,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "notes": [*(_as_note(label) for label in diagnostic.others), *diagnostic.notes],
        "helps": list(diagnostic.helps),
        "key": primary.key,
        "pointer": primary.pointer,
    }
    if primary.offset is not None:
        record["offset"] = primary.offset
    return record


def gcc_lines(diagnostics: Iterable[Diagnostic]) -> Iterator[str]:
    """Yield lines as compilers of C print them, for lists of errors in editors: `file:line:column: error: text [code]`.

    Other places, notes and remedies follow as lines of the severity `note`.
    """
    for diagnostic in diagnostics:
        home = place(diagnostic.primary) or "nczarr"
        yield f"{home}: {diagnostic.severity}: {visible(diagnostic.message)} [{diagnostic.code}]\n"
        for label in diagnostic.others:
            yield f"{place(label) or home}: note: {visible(label.text or 'see also')}\n"
        for text in (*diagnostic.notes, *diagnostic.helps):
            yield f"{home}: note: {visible(text)}\n"


def _corners(label: Label) -> tuple[int | None, int | None, int | None, int | None]:
    source = label.span.source
    if source is None or not label.has_lines:
        return None, None, None, None
    return *source.position(label.span.start), *source.position(max(label.span.start, label.span.end))


def place(label: Label) -> str:
    """Return the position of a label, empty if it has none.

    Forms: `file:line:column`, `key#/pointer`, `key:line:column#/pointer`,
    `file@offset`.
    """
    source = label.span.source
    if label.key is not None:
        home = f"{source.name}/" if source is not None and source.name != label.key else ""
        where = f":{source.place(label.span.start)}" if source is not None and label.has_lines else ""
        return home + label.key + where + (f"#{label.pointer}" if label.pointer else "")
    if source is None:
        return f"byte {label.offset}" if label.offset is not None else ""
    if label.offset is not None:
        return f"{source.name}@{label.offset}"
    line, column = source.position(label.span.start)
    return f"{source.name}:{line}:{column}"


def _as_note(label: Label) -> str:
    return f"{label.text or 'see also'} ({place(label)})"


def _plain(_style: str, text: str) -> str:
    return text


def _paint(style: str, text: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def _lines(diagnostic: Diagnostic, paint: Any) -> Iterator[str]:
    head = paint(_COLOURS[diagnostic.severity], f"{diagnostic.severity}[{diagnostic.code}]")
    yield head + paint(_STRONG, ": " + visible(diagnostic.message))
    shown = [label for label in (diagnostic.primary, *diagnostic.others) if label.has_lines]
    margin = max((len(str(_first_line(label))) for label in shown), default=1) + 1
    where = place(diagnostic.primary)
    if where:
        yield paint(_FRAME, " " * margin + "--> ") + visible(where)
    yield from _snippets(diagnostic, shown, margin, paint)
    for label in diagnostic.others:
        if label not in shown:
            yield f"{' ' * margin} {paint(_FRAME, '=')} note: {visible(_as_note(label))}"
    for kind, texts in (("note", diagnostic.notes), ("help", diagnostic.helps)):
        for text in texts:
            yield f"{' ' * margin} {paint(_FRAME, '=')} {kind}: {visible(text)}"


def _first_line(label: Label) -> int:
    assert label.span.source is not None
    return label.span.source.position(label.span.start)[0]


def _snippets(diagnostic: Diagnostic, labels: list[Label], margin: int, paint: Any) -> Iterator[str]:
    """Yield source lines with markers, those of the primary label's text first."""
    if not labels:
        return
    home = labels[0].span.source
    bar = paint(_FRAME, " " * margin + " |")
    yield bar
    current: Source | None = home
    last, last_text = 0, ""
    for label in sorted(labels, key=lambda label: (label.span.source is not home, label.span.start)):
        source = label.span.source
        assert source is not None
        line = _first_line(label)
        if source is not current:
            yield paint(_FRAME, " " * margin + "::: ") + visible(place(label))
            current, last = source, 0
        elif last and line > last + 1:
            yield paint(_FRAME, "...")
        text, marker = _mark_line(label, "^" if label is diagnostic.primary else "-")
        if line != last or text != last_text:  # the same long line, clipped elsewhere, is shown again
            yield paint(_FRAME, f" {line:>{margin - 1}} |") + (" " + text if text else "")
        style = _COLOURS[diagnostic.severity] if label is diagnostic.primary else _FRAME
        marks = marker.lstrip(" ")
        words = " " + visible(label.text) if label.text else ""
        yield f"{bar} {' ' * (len(marker) - len(marks))}{paint(style, marks + words)}"
        last, last_text = line, text


def _mark_line(label: Label, mark: str) -> tuple[str, str]:
    """Return the label's source line and its marker, both clipped to the window."""
    source = label.span.source
    assert source is not None
    line, column = source.position(label.span.start)
    end_line, end_column = source.position(max(label.span.start, label.span.end))
    text = source.line_text(line)
    # characters of the line, from 0
    begin = column - 1  # columns count from 1
    end = end_column - 1 if end_line == line else len(text)
    # Only a stretch around the place is ever measured: a line may be as long as the file.
    stretch_begin = max(0, begin - REACH)
    cells = _cells(text[stretch_begin : begin + REACH])
    # cells of the stretch, one for each character
    first_cell = begin - stretch_begin
    end_cell = max(first_cell, min(end - stretch_begin, len(cells)))
    # widths on the terminal
    width_before = sum(map(_width, cells[:first_cell]))
    mark_width = max(1, sum(map(_width, cells[first_cell:end_cell])))
    line_width = sum(map(_width, cells))
    if line_width > WINDOW or stretch_begin:
        return _clip(cells, width_before, mark_width, mark, line_width, cut_before=stretch_begin > 0)
    return "".join(cells).rstrip(), " " * width_before + mark * mark_width


def _clip(
    cells: list[str], width_before: int, mark_width: int, mark: str, line_width: int, *, cut_before: bool
) -> tuple[str, str]:
    """Return a window of cells around the marked place, with an ellipsis at cut ends."""
    left = max(0, min(width_before - WINDOW // 2, line_width - WINDOW))
    out: list[str] = []
    position = skipped = used = 0
    for cell in cells:
        width = _width(cell)
        if position < left:
            skipped = position + width
        elif used + width <= WINDOW:
            out.append(cell)
            used += width
        position += width
    lead = "…" if skipped or cut_before else ""
    blanks = width_before - skipped
    marker = " " * (blanks + len(lead)) + mark * max(1, min(mark_width, WINDOW - blanks))
    return lead + "".join(out) + ("…" if skipped + used < line_width else ""), marker


def _cells(text: str) -> list[str]:
    """Return each character as displayed: tabs as blanks, control characters as pictures."""
    cells: list[str] = []
    position = 0
    for character in text:
        cell = " " * (TAB - position % TAB) if character == "\t" else _make_visible(character)
        cells.append(cell)
        position += _width(cell)
    return cells


def _make_visible(character: str) -> str:
    """Return a visible sign for a control character, U+FFFD for a surrogate or an invisible one."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if 0xD800 <= code < 0xE000 or character in _HIDDEN else character


def _width(cell: str) -> int:
    """Return the terminal width of a text: wide East Asian characters 2, combining ones 0."""
    return len(cell) if cell.isascii() else sum(_wide(character) for character in cell)


def _wide(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def visible(text: str) -> str:
    """Return a text with control characters, lone surrogates and direction marks replaced by pictures."""
    return text if text.isascii() and text.isprintable() else "".join(map(_make_visible, text))
