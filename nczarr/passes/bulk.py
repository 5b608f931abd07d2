"""Plain numbers in bulk: megabytes of a value list → one numpy array, or None where the slow way must look closer.

The text is read in slabs cut at commas. A slab of digits, signs, points, exponents and white space is parsed by
numpy at once; comments, fill marks, special words and suffixes are first rewritten to what numpy reads. Whatever
this cannot vouch for (octal numbers, values out of range, anything unknown) makes it give up: the literal-by-literal
way then finds the exact value, or the exact place of the fault.
"""

from __future__ import annotations

import re
import struct
import warnings
from typing import TYPE_CHECKING, Any

from nczarr.ast import ATOMIC, Constant
from nczarr.diagnostics import Report
from nczarr.passes.literals import single
from nczarr.source import Buffer, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SLAB = 1 << 20
SMALL = 256
"""Shorter lists are read literal by literal: numpy's import alone costs more than they do."""

_CLEAN_INTEGERS = b"0123456789+-, \t\r\n\f"
_CLEAN = b"0123456789+-.eE, \t\r\n\f"
_COMMENT = re.compile(rb"//[^\r\n]*+|/\*(?s:.*?)\*/")
_ODD = re.compile(
    rb"(?<![^,\s])(?:([+-]?[0-9]++)([A-Za-z]{1,3})|(-?[A-Za-z]++|_)|([+-]?(?:[0-9]++\.[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)([fFdDlL]))(?![^,\s])"
)
_LEADING_ZERO = re.compile(rb"(?<![0-9.eE+\-])[+-]?0[0-9]")
_BARE_SIGN = re.compile(rb"[+-](?![0-9.])|[0-9.][ \t\r\n\f]++[0-9.+\-]|[0-9.][+-]")
_WORDS = {
    b"NaN": b"nan", b"nan": b"nan", b"NaNf": b"nan", b"nanf": b"nan",
    b"Infinity": b"inf", b"DoubleInf": b"inf", b"Infinityf": b"inf", b"Inff": b"inf", b"FloatInf": b"inf",
    b"-Infinity": b"-inf", b"-Infinityf": b"-inf", b"-Inff": b"-inf",
}  # fmt: skip
_SUFFIX_TYPES = {
    b"b": "byte", b"s": "short", b"l": "int", b"ll": "int64", b"ub": "ubyte", b"us": "ushort", b"u": "uint",
    b"ul": "uint", b"ull": "uint64", b"bu": "ubyte", b"su": "ushort", b"lu": "uint", b"llu": "uint64",
}  # fmt: skip


class _GiveUp(Exception):  # noqa: N818
    """Something that only the slow way can judge."""


def read_numbers(
    source: Source, start: int, end: int, type_name: str, fill: Constant | None, report: Report
) -> NDArray[Any] | None:
    """All numbers of a flat list in the dtype of an atomic type; None: read it literal by literal."""
    if end - start < SMALL:
        return None
    import numpy as np

    parts: list[NDArray[Any]] = []
    at = start
    reader = _Slabs(type_name, fill)
    try:
        while at < end:
            stop = _cut(source.data, at, end)
            last = stop >= end
            parts.append(reader.read(bytes(source.data[at:stop]), last=last))
            at = stop
    except _GiveUp:
        return None
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _cut(data: Buffer, at: int, end: int) -> int:
    """Where a slab that begins at `at` ends: behind a comma that no comment holds."""
    stop = min(at + SLAB, end)
    while stop < end:
        comma = data.rfind(b",", at, stop) + 1
        if comma <= at:
            stop = min(stop + SLAB, end)
            continue
        opened = data.rfind(b"/*", at, comma)
        if opened >= 0 and data.find(b"*/", opened, comma) < 0:
            closed = data.find(b"*/", opened, end)
            stop = end if closed < 0 else min(closed + SLAB, end)
            continue
        line = max(data.rfind(b"\n", at, comma), data.rfind(b"\r", at, comma), at)
        if data.find(b"//", line, comma) >= 0:
            following = data.find(b"\n", comma, end)
            next_comma = data.find(b",", following, end) if following >= 0 else -1
            if next_comma < 0:
                return end
            stop = next_comma + 1
            if data.find(b"//", following, stop) < 0 and data.find(b"/*", following, stop) < 0:
                return stop
            continue
        return comma
    return end


class _Slabs:
    """Parses slabs for one variable."""

    def __init__(self, type_name: str, fill: Constant | None) -> None:
        import numpy as np

        from nczarr.data.parts import NUMPY

        self.atomic = ATOMIC[type_name]
        self.dtype = np.dtype(NUMPY[type_name])
        self.fill = b""
        if fill is not None and isinstance(fill.data, bytes):
            value = struct.unpack(f"<{self.atomic.code}", fill.data)[0]
            self.fill = repr(value).encode()

    def read(self, text: bytes, *, last: bool) -> NDArray[Any]:
        """The numbers of one slab. Raises _GiveUp."""
        if b"/" in text:
            text = _COMMENT.sub(b" ", text)
        allowed = _CLEAN_INTEGERS if self.atomic.is_integer else _CLEAN
        if text.translate(None, allowed):
            text = _ODD.sub(self._plain, text)
            rest = text.translate(None, allowed)
            if rest and (self.atomic.is_integer or rest.translate(None, b"naif")):
                raise _GiveUp
        stripped = text.rstrip()
        if not last:
            stripped = stripped[:-1]  # the comma at which the slab was cut
        values = stripped.count(b",") + 1
        if _LEADING_ZERO.search(stripped) or _BARE_SIGN.search(stripped):
            raise _GiveUp
        return self._parse(stripped, values)

    def _parse(self, text: bytes, count: int) -> NDArray[Any]:
        import numpy as np

        wide: Any = np.float64
        if self.atomic.is_integer:
            wide = np.uint64 if self.atomic.name == "uint64" else np.int64
            if wide is np.uint64 and b"-" in text:
                raise _GiveUp
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = np.fromstring(text, dtype=wide, sep=",")
            except (DeprecationWarning, ValueError):
                raise _GiveUp from None
        if len(found) != count:
            raise _GiveUp
        return self._narrow(found)

    def _narrow(self, found: NDArray[Any]) -> NDArray[Any]:
        """The numbers in the variable's own type, if they all fit."""
        import numpy as np

        if self.atomic.is_integer:
            low, high = int(found.min()), int(found.max())
            limits = np.iinfo(found.dtype)
            if not (self.atomic.low <= low and high <= self.atomic.high) or high == limits.max:
                raise _GiveUp
            if low == limits.min and limits.min < 0:
                raise _GiveUp
            return found.astype(self.dtype)
        if self.dtype.itemsize == 8:
            if np.isinf(found).any():
                raise _GiveUp  # a word or an overflow: the slow way knows
            return found
        with np.errstate(over="ignore"):
            narrow: NDArray[Any] = found.astype(self.dtype)
        if np.isinf(narrow).any():
            raise _GiveUp
        return narrow

    def _plain(self, match: re.Match[bytes]) -> bytes:
        """An odd token in the form that numpy reads: the same number, exactly. Raises _GiveUp."""
        integer, suffix, word, real, real_suffix = match.groups()
        if word is not None:
            if word == b"_" and self.fill:
                return self.fill
            known = _WORDS.get(word)
            if known is None or self.atomic.is_integer:
                raise _GiveUp
            return known
        if real is not None:
            if self.atomic.is_integer:
                raise _GiveUp
            return repr(single(float(real))).encode() if real_suffix in b"fF" else real
        declared = _SUFFIX_TYPES.get(suffix.lower())
        if declared is None or (integer.lstrip(b"+-")[:1] == b"0" and len(integer.lstrip(b"+-")) > 1):
            raise _GiveUp
        value = int(integer)
        if not ATOMIC[declared].low <= value <= ATOMIC[declared].high:
            raise _GiveUp
        return b"%d" % value


if TYPE_CHECKING:
    _ = np
