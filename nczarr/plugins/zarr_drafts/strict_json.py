"""Strict JSON (RFC 8259) with the place of each value.

Where the RFC leaves a choice: repeated members in an object are errors, because
software disagrees on the valid one. So are escapes of lone surrogates, which
UTF-8 cannot encode. A byte order mark is skipped with a remark. Depth and
digits are limited.
"""

from __future__ import annotations

import codecs
import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import NoReturn

from nczarr.ast.plain_json import Real
from nczarr.diagnostics.report import Label, Report, Source, Span
from nczarr.formats.common.documents import DocumentCache
from nczarr.options import RunOptions
from nczarr.stores.base import Store
from nczarr.syntax.json.positions import pointer, skip_blank
from nczarr.syntax.json.tolerant import (
    DEEPEST,
    Parsed,
    RepeatedError,
    check_unrepeated,
    lone_surrogate,
    reason,
    too_deep,
)

LONGEST_INTEGER = 4000  # Python converts at most 4,300
"""Maximum digits of an integer; Python reads no longer ones."""

_WORD = re.compile(r'[^ \t\n\r{}\[\],:"]+')
_CONSTANTS = ("NaN", "Infinity", "-Infinity")  # `json` takes them, RFC 8259 does not

Places = dict[str, tuple[int, int]]
"""Character ranges of values by JSON pointer."""


class StrictError(ValueError):
    """Invalid JSON: message, byte offset, and pointer of the value if known."""

    def __init__(self, message: str, offset: int, pointer: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        self.pointer = pointer


class _NotStrictError(ValueError):
    """Content that the decoder would accept."""


def parse(data: bytes) -> Parsed:
    """Return the JSON value of a document; numbers keep their spelling as `Real`. Raises StrictError."""
    text, shift = _decode(data)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        message, place = _explain(text, error)
        raise StrictError(message, shift + _bytes(text, place)) from None
    except RecursionError:
        raise StrictError("it is nested too deeply", shift) from None
    except (_NotStrictError, RepeatedError):
        try:
            _walk(text, 0, "", {}, 0)
        except StrictError as fault:
            raise StrictError(str(fault), shift + _bytes(text, fault.offset), fault.pointer) from None
        raise
    if text.count("[") + text.count("{") > DEEPEST and too_deep(value):
        raise StrictError(f"it is nested more than {DEEPEST} deep", shift)
    return Parsed(value, ("begins with a byte order mark",) if shift else ())


def place(data: bytes, where: str, places: Places) -> tuple[int, int]:
    """Return the byte range of a value by JSON pointer, or of its nearest existing ancestor.

    Expects a document that `parse` accepts. `places` starts empty and caches all
    places.
    """
    text, shift = _decode(data)
    if not places:
        _walk(text, 0, "", places, 0)
    while where and where not in places:
        where = where.rpartition("/")[0]
    start, end = places[where]
    return shift + _bytes(text, start), shift + _bytes(text, end)


def _decode(data: bytes) -> tuple[str, int]:
    """Return the text, and the bytes before it. Raises StrictError."""
    bare = data.removeprefix(codecs.BOM_UTF8)
    shift = len(data) - len(bare)
    try:
        text = bare.decode()
    except UnicodeDecodeError as error:
        raise StrictError("this byte is not UTF-8", shift + error.start) from None
    half = lone_surrogate(text)
    if half is not None:
        raise StrictError("a lone surrogate is not a character", shift + _bytes(text, half.start()))
    return text, shift


def _bytes(text: str, place: int) -> int:
    """Return the byte offset of a character."""
    return len(text[:place].encode())


def _explain(text: str, error: json.JSONDecodeError) -> tuple[str, int]:
    """Return message and character of an error.

    Python releases differ in the place of a comma before a closing bracket: at
    the comma, or after it.
    """
    place = error.pos
    comma = place if text[place : place + 1] == "," else len(text[:place].rstrip(" \t\n\r")) - 1
    behind = skip_blank(text, comma + 1)
    if comma >= 0 and text[comma] == "," and text[behind : behind + 1] in ("}", "]"):
        return f"a comma is not allowed before the closing `{text[behind]}`", comma
    return reason(error), place


def _no_constant(word: str) -> NoReturn:
    raise _NotStrictError


def _integer(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise _NotStrictError
    return int(digits)


_DECODER = json.JSONDecoder(
    object_pairs_hook=check_unrepeated,
    parse_float=Real.of,
    parse_int=_integer,
    parse_constant=_no_constant,
    strict=True,  # RFC 8259, 7: no control characters
)


def _walk(text: str, at: int, where: str, places: Places, depth: int) -> int:
    """Find value places while the text is valid; return the end at `at`. Raises StrictError (character offset)."""
    end: int
    at = start = skip_blank(text, at)
    if depth > DEEPEST:
        raise StrictError(f"it is nested more than {DEEPEST} deep", at, where)
    match text[at]:
        case '"':
            end = scanstring(text, at + 1, True)[1]
        case "{":
            end = _walk_object(text, at, where, places, depth)
        case "[":
            at, number = skip_blank(text, at + 1), 0
            while text[at] != "]":
                at = skip_blank(text, _walk(text, at, where + pointer(number), places, depth + 1))
                at, number = _behind_comma(text, at), number + 1
            end = at + 1
        case _:
            word = _WORD.match(text, at)
            end = word.end() if word else at + 1
            if text[at:end] in _CONSTANTS:
                raise StrictError(f"`{text[at:end]}` is not a JSON value", at, where)
            if text[at:end].removeprefix("-").isdigit() and end - at > LONGEST_INTEGER:
                raise StrictError("an integer has thousands of digits", at, where)
    places[where] = start, end
    return end


def _walk_object(text: str, at: int, where: str, places: Places, depth: int) -> int:
    """Note the places of an object's members; return the position behind it. Raises StrictError."""
    at = skip_blank(text, at + 1)
    taken: set[str] = set()
    while text[at] != "}":
        name, colon = scanstring(text, at + 1, True)
        inside = where + pointer(name)
        if name in taken:
            raise StrictError(f"member `{name}` occurs twice in one object", at, inside)
        taken.add(name)
        at = skip_blank(text, _walk(text, skip_blank(text, colon) + 1, inside, places, depth + 1))
        at = _behind_comma(text, at)
    return at + 1


def _behind_comma(text: str, at: int) -> int:
    return skip_blank(text, at + 1) if text[at] == "," else at


class StrictDocuments(DocumentCache):
    """Strictly read documents; diagnostics have line and column in addition to the pointer."""

    def __init__(self, store: Store, report: Report, run: RunOptions) -> None:
        super().__init__(store, report, run)
        self._sources: dict[str, Source] = {}
        self._places: dict[str, Places] = {}
        self._faults: dict[str, StrictError] = {}

    def parse(self, key: str, data: bytes) -> Parsed | None:
        """Parse a document; None after a reported fault, which stays known by its key."""
        self._sources[key] = Source(self.store.path, data, key=key)
        try:
            return parse(data)
        except StrictError as fault:
            self._faults[key] = fault
            self.report_lost("bad-metadata", f"the document is not JSON: {fault}", key, fault.pointer)
            return None

    def place(self, key: str, pointer: str) -> Label:
        """Return the place of a member, or of its nearest existing ancestor."""
        source, fault = self._sources.get(key), self._faults.get(key)
        if source is None:
            return super().place(key, pointer)
        if fault is not None:
            start, end = fault.offset, min(fault.offset + 1, len(source.data))
        else:
            start, end = place(bytes(source.data), pointer, self._places.setdefault(key, {}))
        return Label(Span(source, start, end), key=key, pointer=pointer)
