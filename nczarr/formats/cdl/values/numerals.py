"""Exact parsing of single numeric constants into literals.

A constant that ncgen would silently wrap, truncate or misread is an error here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any
from typing import Literal as Choice

from nczarr.ast.types import ATOMIC
from nczarr.ast.values import single
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span

Kind = Choice["int", "float", "hex", "char", "string", "fill", "nil", "name", "list"]


@dataclass(slots=True)
class Literal:
    """One literal of a value list."""

    kind: Kind
    """Kind of the literal."""
    value: Any
    """An int, float, bytes (char, string; hex: its digits), name, or list of literals."""
    type: str
    """The constant's own type, by suffix, size or form; empty without one."""
    start: int
    """First byte."""
    end: int
    """Byte after the last."""


SUFFIXES = {
    b"b": "byte", b"s": "short", b"l": "int", b"ll": "int64",
    b"ub": "ubyte", b"us": "ushort", b"u": "uint", b"ul": "uint", b"ull": "uint64",
    b"bu": "ubyte", b"su": "ushort", b"lu": "uint", b"llu": "uint64",
}  # fmt: skip
"""Type by integer suffix."""


class Stop(Exception):  # noqa: N818
    """A reported fault that makes the rest of a list meaningless."""


class Numerals:
    """Parser of the numbers of one source."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report

    def error(self, code: str, message: str, start: int, end: int, help_: str = "") -> None:
        """Report an error at a byte range."""
        self.report.error(code, message, Span(self.source, start, end), helps=[help_] if help_ else ())

    def stop(self, code: str, message: str, start: int, end: int, help_: str = "") -> Stop:
        """Report a fatal error of a list; return the exception to raise."""
        self.error(code, message, start, end, help_)
        return Stop()

    def integer(self, text: bytes, start: int, end: int) -> Literal:
        """Return an integer with its suffix. Raises Stop."""
        digits = text.rstrip(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
        suffix = text[len(digits) :]
        declared = SUFFIXES.get(suffix.lower()) if suffix else ""
        if declared is None:
            raise self._bad_suffix(digits, suffix, start, end)
        bare = digits.lstrip(b"+-")
        if len(bare) > 1 and bare[:1] == b"0":
            value = self._octal(digits, bare, start, end)
        elif len(bare) > 40:
            raise self.stop("integer-overflow", "integer constant does not fit 64 bits", start, end)
        else:
            value = int(digits)
        if declared:
            return self._suffixed(value, declared, digits, start, end)
        # As ncgen has it: above uint a plain number is uint64, and int64 only below zero.
        for candidate in ("int", "uint", "uint64") if value >= 0 else ("int", "int64"):
            if ATOMIC[candidate].low <= value <= ATOMIC[candidate].high:
                return Literal("int", value, candidate, start, end)
        if value < 0:
            raise self.stop("integer-overflow", f"{value} does not fit int64", start, end)
        raise self.stop("integer-overflow", f"integer constant {value} does not fit 64 bits", start, end)

    def _octal(self, digits: bytes, bare: bytes, start: int, end: int) -> int:
        for bad in b"89":
            if bad in bare:
                message = f"{bare.decode()} starts with 0, so it is octal, and {chr(bad)} is not an octal digit"
                help_ = f"write {bare.lstrip(b'0').decode() or '0'} for a decimal number"
                raise self.stop("bad-number", message, start, end, help_)
        if len(bare) > 60:
            raise self.stop("integer-overflow", "integer constant does not fit 64 bits", start, end)
        return int(bare, 8) * (-1 if digits[:1] == b"-" else 1)

    def _suffixed(self, value: int, declared: str, digits: bytes, start: int, end: int) -> Literal:
        atomic = ATOMIC[declared]
        if atomic.low == 0:
            if digits[:1] == b"-":
                raise self.stop("bad-number", "an unsigned constant cannot be negative", start, end)
            top = atomic.high
        else:
            top = 2 * atomic.high + 1  # the unsigned spelling of a signed value is intended (255b is -1)
        if not atomic.low <= value <= top:
            message = f"{value} does not fit a {declared} constant ({atomic.low} .. {top})"
            code = "integer-overflow" if declared in ("int64", "uint64") else "suffix-range"
            raise self.stop(code, message, start, end, "use a wider suffix, or none")
        if value > atomic.high:
            value -= 2 * (atomic.high + 1)
        return Literal("int", value, declared, start, end)

    def _bad_suffix(self, digits: bytes, suffix: bytes, start: int, end: int) -> Stop:
        if suffix.lower() == b"e":
            return self.stop("bad-number", "exponent has no digits", start, end)
        if suffix.lower() in (b"f", b"d"):
            help_ = f"write `{show(digits)}.{show(suffix)}`"
            return self.stop("bad-number", f"`{show(suffix)}` is a suffix of numbers with a point", start, end, help_)
        help_ = "the suffixes are b, s, l, ll, each also with u before or after it"
        return self.stop("bad-number", f"unknown number suffix `{show(suffix)}`", start + len(digits), end, help_)

    def real(self, text: bytes, start: int, end: int) -> Literal:
        """Return a float or double. Raises Stop."""
        body, suffix = text, text[-1:].lower()
        if suffix in (b"f", b"d", b"l"):
            body = text[:-1]
        if not any(48 <= code <= 57 for code in body):
            raise self.stop("bad-number", f"`{show(text)}` is not a number", start, end)
        try:
            value = float(body)
        except ValueError:
            if re.search(rb"[eE][+-]?$", body):
                raise self.stop("bad-number", "exponent has no digits", start, end) from None
            raise self.stop("bad-number", f"`{show(text)}` is not a number", start, end) from None
        if b"_" in body:
            raise self.stop("bad-number", f"`{show(text)}` is not a number", start, end)
        declared = "float" if suffix == b"f" else "double"
        if declared == "float":
            value = single(value)
        if math.isinf(value):
            span = Span(self.source, start, end)
            self.report.warning("float-overflow", f"`{show(text)}` is too large for {declared}: infinity", span)
        return Literal("float", value, declared, start, end)

    def hexadecimal(self, text: bytes, start: int, end: int) -> Literal:
        """Return a hexadecimal constant, a number or opaque bytes depending on context. Raises Stop."""
        digits = text[2:]
        match = re.fullmatch(rb"([0-9a-fA-F]+)(?:[sS]|[lL]{1,2})?", digits)
        if match is None:
            raise self.stop("bad-number", f"`{show(text)}` is not a hexadecimal constant", start, end)
        return Literal("hex", match.group(1), "", start, end)


def show(text: bytes) -> str:
    """Return source text for a message, shortened if long."""
    shown = text.decode("utf-8", "replace")
    return shown if len(shown) <= 40 else shown[:40] + "…"
