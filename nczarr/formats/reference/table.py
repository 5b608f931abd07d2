"""Entries of `refs`: a mapping that packs byte ranges into integers, and a reader of large documents.

Large documents are searched for overlong texts in bounded memory, then read in
pieces: text from the start of a member to the end of a value, if valid JSON
within braces, contains whole members. The caller parses other documents at once
and reports faults.
"""

import json
import mmap
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nczarr.ast.dataset import building
from nczarr.diagnostics.report import Buffer
from nczarr.formats.reference.limits import LARGEST_END
from nczarr.syntax.json.tolerant import RepeatedError, check_unrepeated, too_deep

LARGE = 1 << 22
"""Minimum size in bytes of a document read in pieces."""

PIECE = 1 << 20
"""Initial size of a piece, in bytes."""

WIDEST = 1 << 27
"""Maximum size of a piece, in bytes, for long members."""

SCANNED = 8 << 20
"""Bytes searched at once for overlong texts; scanning pays off above that size."""

FAST = LARGEST_END // 2
"""Exclusive limit of packed offsets and lengths (62 bits), with valid sums."""

TOP, INNER = "{", '{"refs":{'
"""Text before members of a document; text before members of `refs` with others after them."""

_BITS = 62
_MASK = FAST - 1
_TRIES = 3

_DROP: int | None = getattr(mmap, "MADV_DONTNEED", None)
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*")
_REFS = re.compile(rb'"refs"[ \t\r\n]*:[ \t\r\n]*\{[ \t\r\n]*')
_ESCAPED = re.compile(rb"\\u00(?:72|65|66|73)")  # `refs`, spelled with escapes
_NEXT = re.compile(rb'[ \t\r\n]*,[ \t\r\n]*(?=")')


class _Odd(NamedTuple):
    """An integer value of the document, as opposed to a packed range."""

    value: int


class ReferenceTable(Mapping[str, Any]):
    """JSON values by key; ranges of targets are packed and rebuilt on access."""

    __slots__ = ("_numbers", "_urls", "_values")

    def __init__(self, members: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {}
        self._numbers: dict[str, int] = {}
        self._urls: list[str] = []
        self.put(members or {})

    def put(self, members: Mapping[str, Any]) -> None:
        """Add members, replacing those with equal keys."""
        values, numbers = self._values, self._numbers
        for key, value in members.items():
            if type(value) is list and len(value) == 3 and type(value[0]) is str:
                url, offset, length = value
                if type(offset) is int and type(length) is int and 0 <= offset < FAST and 0 <= length < FAST:
                    number = numbers.get(url)
                    if number is None:
                        number = numbers[url] = len(self._urls)
                        self._urls.append(url)
                    values[key] = (((number << _BITS) | offset) << _BITS) | length
                    continue
            values[key] = _Odd(value) if type(value) is int else value

    def discard(self, key: str) -> None:
        """Remove a key if present."""
        self._values.pop(key, None)

    def rename(self, key: str, name: str) -> None:
        """Give a member another key. Raises KeyError."""
        self._values[name] = self._values.pop(key)

    def odd(self) -> Iterator[tuple[str, Any]]:
        """Yield all members that are not packed ranges."""
        for key, value in self._values.items():
            if type(value) is not int:
                yield key, self._read(value)

    def list_named(self) -> Iterator[tuple[str | None, str]]:
        """Yield every URL once, with the first key that names it."""
        seen: set[str | None] = set()
        last = -1
        for key, value in self._values.items():
            if type(value) is int:
                number = value >> (2 * _BITS)
                if number == last:
                    continue
                last, url = number, self._urls[number]
            elif isinstance(value, list):
                url = value[0]
            else:
                continue
            if url not in seen:
                seen.add(url)
                yield url, key

    def _read(self, value: Any) -> Any:
        if type(value) is int:
            return [self._urls[value >> (2 * _BITS)], (value >> _BITS) & _MASK, value & _MASK]
        return value.value if isinstance(value, _Odd) else value

    def __getitem__(self, key: str) -> Any:
        return self._read(self._values[key])

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def give_back(data: Buffer) -> None:
    """Release pages of a mapped file; later access reads them again."""
    if _DROP is not None and isinstance(data, mmap.mmap):
        data.madvise(_DROP)


def long_text(data: Buffer, longest: int) -> int | None:
    """Return the start of more than `longest` bytes without a quote, or None; small documents are not scanned.

    In JSON, only texts and blanks are so long.
    """
    if len(data) <= SCANNED:
        return None
    last = -1
    for start in range(0, len(data), SCANNED):
        piece = bytes(data[start : start + SCANNED])
        give_back(data)
        first = piece.find(b'"')
        if first < 0:
            if start + len(piece) - last > longest:
                return last + 1
            continue
        if start + first - last > longest:
            return last + 1
        last = start + piece.rfind(b'"')
    return None


def read(data: Buffer) -> Mapping[str, Any] | None:
    """Return the members of a large document, all or `refs` as a table; None to parse it whole."""
    begin = _BEGIN.match(data)
    if len(data) < LARGE or begin is None:
        return None
    try:
        with building():
            return _read(data, begin.end())
    except (ValueError, RecursionError, RepeatedError):
        return None


def _read(data: Buffer, start: int) -> Mapping[str, Any] | None:
    """Read a document in pieces. Raises ValueError, RecursionError, RepeatedError."""
    table = ReferenceTable()
    place = data.find(b'"refs"')
    if place < 0:
        rest = _take_members(data, start, table)
        if rest == start:
            return None
        _add(table, _object(TOP, data[rest:], ""))
        return table
    match = _REFS.match(data, place)
    if match is None or data.find(b'"refs"', place + 1) >= 0 or _ESCAPED.search(data):
        return None  # perhaps `refs` twice
    head = data[start:place].rstrip()
    if head and not head.endswith(b","):
        return None
    members = _object(TOP, head[:-1], "}")
    rest = _take_members(data, match.end(), table)
    if rest == match.end():
        return None
    behind = _object(INNER, data[rest:], "")
    _add(table, behind.pop("refs"))
    if not members.keys().isdisjoint(behind):
        raise RepeatedError
    return {**members, "refs": table, **behind}


def _take_members(data: Buffer, at: int, table: ReferenceTable) -> int:
    """Add members in pieces; return the start of the rest. Raises ValueError, RecursionError."""
    size = PIECE
    while len(data) - at > size:
        taken = _piece(data[at : at + size], table)
        behind = _NEXT.match(data, at + taken) if taken else None
        if behind is not None:
            at, size = behind.end(), PIECE
            give_back(data)
        elif not taken and size < WIDEST:
            size *= 4
        else:
            break
    return at


def _piece(window: bytes, table: ReferenceTable) -> int:
    """Add the members that end in a window; return their size in bytes, 0 if unknown."""
    end = len(window)
    for closing in (b"],", b"},", b'",'):
        for _ in range(_TRIES):
            end = window.rfind(closing, 0, end)
            if end < 0:
                break
            try:
                members = _object(TOP, window[: end + 1], "}")
            except json.JSONDecodeError:
                continue
            _add(table, members)
            return end + 1
        end = len(window)
    return 0


def _add(table: ReferenceTable, members: dict[str, Any]) -> None:
    """Add members to a table. Raises RepeatedError for existing keys."""
    before = len(table)
    table.put(members)
    if len(table) < before + len(members):
        raise RepeatedError


def _object(before: str, text: bytes, behind: str) -> dict[str, Any]:
    """Parse an object from a text between two others. Raises ValueError, RecursionError, RepeatedError."""
    parsed = json.loads(before + text.decode("utf-8") + behind, strict=False, object_pairs_hook=check_unrepeated)
    if not isinstance(parsed, dict) or too_deep([parsed]):
        raise ValueError("not an object, or nested too deeply")
    return parsed
