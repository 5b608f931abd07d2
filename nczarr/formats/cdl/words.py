"""Names of CDL: conversion of tokens to names, with reports of faults."""

from __future__ import annotations

import re

from nczarr import names
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span

QUANTIZE = {
    "_QuantizeBitGroomNumberOfSignificantDigits": "bitgroom",
    "_QuantizeGranularBitRoundNumberOfSignificantDigits": "granularbitround",
    "_QuantizeBitRoundNumberOfSignificantDigits": "bitround",
    "_QuantizeBitRoundNumberOfSignificantBits": "bitround",
}
"""Algorithm by special attribute of quantization; the last name of an algorithm is written."""

RESERVED = frozenset(
    {
        *("char", "byte", "short", "int", "float", "double", "real", "long", "integer"),
        *("compound", "struct", "structure", "enum", "opaque", "unlimited", "UNLIMITED", "netcdf", "NETCDF", "netCDF"),
        *("NaN", "nan", "NaNf", "nanf", "Infinity", "Infinityf", "Inff", "DoubleInf", "FloatInf", "NIL", "nil", "Nil"),
        "_",
    }
)
"""Words that need a backslash as names of dimensions, types, variables and groups.

`string`, `ubyte`, `uint64` etc. are not included, because classic files use
them as names.
"""

_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_PATH_PIECE = re.compile(rb"/([^\\/]*+(?:\\.[^\\/]*+)*)", re.DOTALL)
_MAY_ESCAPE = frozenset(names.CDL_SPECIAL.encode())


class Words:
    """Reader of names in one source."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report

    def name(self, start: int, end: int) -> str:
        """Return the name in a token range, unescaped and in NFC. Reports faults, but always returns a name."""
        raw = bytes(self.source.data[start:end])
        if b"\\" in raw:
            raw = self._unescape(raw, start)
        try:
            return names.normal(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            message = f"byte 0x{raw[error.start]:02X} in a name is not valid UTF-8"
            at = start + bytes(self.source.data[start:end]).find(raw[error.start : error.start + 1])
            if (
                0x80 <= raw[error.start] < 0xA0
            ):  # the others are errors wherever they stand (formats/cdl/read/tokens.py)
                self.report.error("invalid-utf8", message, Span(self.source, at, at + 1))
            return names.normal(raw.decode("utf-8", "replace"))

    def _unescape(self, raw: bytes, start: int) -> bytes:
        def plain(match: re.Match[bytes]) -> bytes:
            escaped, at = match.group(1), start + match.start()
            if escaped == b"/":
                message = 'a netCDF name cannot contain "/"'
                self.report.error(
                    "slash-in-name", message, Span(self.source, at, at + 2), helps=["use another character"]
                )
                return b"_"
            first = match.start() == 0 and escaped.isalnum()
            if escaped[0] not in _MAY_ESCAPE and not first and escaped[0] < 0x80:
                message = f"`\\{escaped.decode('ascii', 'replace')}` is not an escape in a name"
                span = Span(self.source, at, at + 2)
                self.report.error(
                    "bad-escape", message, span, helps=["write a backslash only before special characters"]
                )
            return escaped

        return _ESCAPE.sub(plain, raw)

    def declared(self, start: int, end: int, what: str) -> str:
        """Return the name in a definition of `what` (`variable`, `dimension` …); reports reserved words and paths."""
        raw = bytes(self.source.data[start:end])
        if raw.startswith(b"/"):
            message = f"a path cannot name a {what}; definitions use simple names"
            self.report.error("slash-in-name", message, Span(self.source, start, end))
            raw = raw.rpartition(b"/")[2] or b"_"
            return names.normal(raw.decode("utf-8", "replace"))
        name = self.name(start, end)
        if raw.isascii() and raw.decode() in RESERVED:
            message = f"`{name}` is a reserved word and cannot be a {what} name"
            help_ = f"write `\\{name}` to use this name, or choose another one"
            help_ = help_ if name != "_" else "choose another name"
            self.report.error("reserved-word", message, Span(self.source, start, end), helps=[help_])
        return name

    def reference(self, start: int, end: int) -> str:
        """Return a referenced name, or a path as FQN."""
        raw = bytes(self.source.data[start:end])
        if not raw.startswith(b"/"):
            return self.name(start, end)
        pieces = _PATH_PIECE.finditer(raw)
        return names.fqn(self.name(start + piece.start(1), start + piece.end(1)) for piece in pieces)


def strange_character(source: Source, start: int, end: int) -> tuple[str, int, int] | None:
    """Return the first character of a range that needs an escape in names, and its bytes; None if no character does."""
    offset = start
    for character in source.text(start, end):
        after = offset + len(character.encode("utf-8", "surrogateescape"))
        if names.is_strange(character) and source.data[offset - 1 : offset] != b"\\":
            return character, offset, after
        offset = after
    return None
