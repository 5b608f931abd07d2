"""Bulk reading of plain numbers: value list → NumPy array, or None if literals must be read one by one.

The text is read in slabs: pieces that end in a comma, without comments, which
fit the processor cache. NumPy parses them; fill marks, special words and
suffixes are first rewritten. Anything uncertain (octal numbers, values out of
range, unknown text) aborts; reading by literals then finds the exact value or
fault.
"""

from __future__ import annotations

import re
import struct
import warnings
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast import ATOMIC, Constant
from nczarr.ast.values import single
from nczarr.diagnostics.report import Buffer, Source
from nczarr.formats.cdl.values.literals import SPECIAL_WORDS, SUFFIXES

_COMMENT = re.compile(rb"//[^\r\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*\*/")
_BEGUN = re.compile(_COMMENT.pattern + rb"|/\*(?s:.*)")
"""A comment, perhaps without its end."""


def slabs(data: Buffer, start: int, end: int, size: int) -> Iterator[tuple[bytes, int]]:
    """Yield slabs of `data[start:end]` of about `size` bytes, cut after commas outside comments.

    A slab is its text with a blank for each comment, and its length in the source.
    """
    at, room = start, size
    while at < end:
        text = bytes(data[at : min(at + room, end)])
        if at + room < end:
            text = text[: _last_comma(text) + 1]
        if not text:
            room *= 2  # no comma as yet
            continue
        yield _COMMENT.sub(b" ", text) if b"/" in text else text, len(text)
        at, room = at + len(text), size


def _last_comma(text: bytes) -> int:
    """Return the offset of the last comma outside comments, or -1."""
    limit = len(text)
    for comment in reversed(list(_BEGUN.finditer(text)) if b"/" in text else ()):
        if (comma := text.rfind(b",", comment.end(), limit)) >= 0:
            return comma
        limit = comment.start()
    return text.rfind(b",", 0, limit)


MOST_DIGITS = 22
"""Exponent of the last exact power of ten."""

_POWERS = tuple(float(10**exponent) for exponent in range(MOST_DIGITS + 1))

LARGEST = 2**53
"""Limit up to which integers are exact as doubles."""


def decimals(text: bytes, count: int) -> NDArray[Any] | None:
    """Return `count` numbers: float64, shape (count,). None: the exact value needs another parser.

    Expects only digits, points, signs before numbers, commas and white space.
    """
    digits = parse_numbers(text.translate(None, b"."), np.int64)
    if digits is None or len(digits) != count or int(digits.max()) > LARGEST or int(digits.min()) < -LARGEST:
        return None
    codes = np.frombuffer(text + b",", np.uint8)
    places = np.flatnonzero(codes < 48)  # of all but digits
    marks = codes[places]
    item = np.cumsum(marks == 44, dtype=np.int32)  # which number a mark belongs to, that of a comma being the next
    points = np.flatnonzero(marks == 46)
    owners = item[points]
    if len(points) > 1 and int(np.diff(owners).min()) < 1:
        return None  # two points in one number
    behind = np.zeros(count, np.int64)
    behind[owners] = length = places[points + 1] - places[points] - 1
    if not ((length > 0) | (codes[places[points] - 1] >= 48)).all():
        return None  # a point without a digit on either side
    if int(behind.max()) > MOST_DIGITS:
        return None
    numbers: NDArray[Any] = digits / np.array(_POWERS)[behind]
    zero = digits == 0
    if zero.any():
        negative = item[marks == 45]
        negative = negative[zero[negative]]
        if not behind[negative].all():
            return None  # `-0` has no sign, `-0.` has
        numbers[negative] = -0.0
    return numbers


def parse_numbers(text: bytes, dtype: Any) -> NDArray[Any] | None:
    """Return comma-separated numbers parsed by NumPy: this dtype, shape (numbers,). None on anything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, dtype=dtype, sep=",")
        except (DeprecationWarning, ValueError):
            return None


SLAB = 1 << 17
"""Bytes read at once."""

MOST_ODD = 256
"""Odd bytes in a slab of fractions above which NumPy is faster than `decimals`."""

_INTEGER_ZERO = re.compile(rb"-0(?![0-9.eE])")
_EXPONENT = re.compile(rb"[+-]?(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)[eE][+-]?[0-9]++")
_ODD = re.compile(
    rb"([+-]?[0-9]++)([A-Za-z]{1,3})|(-?[A-Za-z]++|_)"
    rb"|([+-]?(?:[0-9]++\.[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)([fFdDlL])"
)
_WORDS = {word: b"%g" % value for word, (value, _) in SPECIAL_WORDS.items()}
"""Number words in NumPy's spelling."""


class _GiveUp(Exception):  # noqa: N818
    """Input that only literal-by-literal reading can handle."""


def read_numbers(source: Source, start: int, end: int, type_name: str, fill: Constant | None) -> NDArray[Any] | None:
    """Return the numbers of a flat list in the dtype of an atomic type. None: read literal by literal."""
    out = _Growing()
    at = start
    reader = _Slabs(type_name, fill)
    try:
        for text, length in slabs(source.data, start, end, SLAB):
            numbers = reader.read(text, last=at + length >= end)
            out.extend(numbers, remaining=(end - at) / length)
            at += length
    except _GiveUp:
        return None
    return out.values()


class _Growing:
    """Array under construction; the text size predicts its capacity, so that little is copied twice."""

    def __init__(self) -> None:
        self.room: NDArray[Any] | None = None
        self.length = 0

    def extend(self, numbers: NDArray[Any], *, remaining: float) -> None:
        """Append numbers: shape (numbers,), the same dtype in each call.

        `remaining`: ratio of the unread text, current slab included, to theirs.
        """
        length = self.length + len(numbers)
        if self.room is None or length > len(self.room):
            room = np.empty(self.length + int(len(numbers) * remaining * 1.1) + 1, numbers.dtype)
            if self.room is not None:
                room[: self.length] = self.room[: self.length]
            self.room = room
        self.room[self.length : length] = numbers
        self.length = length

    def values(self) -> NDArray[Any] | None:
        """Return all numbers, shape (numbers,); None before the first. Unused capacity costs no memory."""
        return None if self.room is None else self.room[: self.length]


class _Slabs:
    """Slab parser of one variable."""

    def __init__(self, type_name: str, fill: Constant | None) -> None:
        """Keep the fill value as text, which takes the place of each `_`."""
        from nczarr.arrays.values.parts import NUMPY

        self.atomic = ATOMIC[type_name]
        self.dtype = np.dtype(NUMPY[type_name])
        self.fractions = self.atomic.is_float
        self.fill = b""
        if fill is not None and isinstance(fill.data, bytes):
            self.fill = repr(struct.unpack(f"<{self.atomic.code}", fill.data)[0]).encode()

    def read(self, text: bytes, *, last: bool) -> NDArray[Any]:
        """Return the numbers of one slab: the variable's dtype, shape (numbers,). Raises _GiveUp."""
        if b"\v" in text:
            raise _GiveUp  # white space to numpy, but not to CDL
        codes = np.frombuffer(text, np.uint8)
        suspect = _is_suspect(text)
        odd = codes > 57  # every letter; what else is no part of a number, numpy refuses
        if self.fractions and not suspect:
            numbers = self._decimals(text, codes, odd, last=last)
            if numbers is not None:
                return self._narrow(numbers)
            self.fractions = False  # as the first slab, so the others
        if self.atomic.is_float:
            odd &= (codes | 32) != 101  # numpy reads exponents
        if odd.any():
            text = self._rewrite(text, odd)
        stripped = _strip(text, last=last)
        if suspect and _is_doubtful(stripped):
            raise _GiveUp
        return self._narrow(self._parse(stripped, _commas(stripped) + 1))

    def _rewrite(self, text: bytes, odd: NDArray[Any]) -> bytes:
        """Rewrite tokens with odd characters for NumPy. Raises _GiveUp.

        `odd`: bool, shape (bytes of `text`,).
        """
        pieces: list[bytes] = []
        done = 0
        for start, end in _odd_tokens(text, odd):
            pieces.append(text[done:start])
            pieces.append(self._plain(text[start:end].strip()))
            done = end
        pieces.append(text[done:])
        return b" ".join(pieces)

    def _decimals(self, text: bytes, codes: NDArray[Any], odd: NDArray[Any], *, last: bool) -> NDArray[Any] | None:
        """Return the numbers of a slab with few exponents: float64, shape (numbers,). None: try NumPy.

        `codes`: the bytes of `text`, uint8; `odd`: bool for each byte. Raises
        _GiveUp.
        """
        commas = codes == 44
        count = int(np.count_nonzero(commas)) + last
        if not odd.any():
            return decimals(_strip(text, last=last), count)
        if np.count_nonzero(odd) > MOST_ODD:
            return None
        pieces: list[bytes] = []
        places: list[int] = []
        values: list[float] = []
        done = place = 0
        for start, end in _odd_tokens(text, odd):
            token = text[start:end].strip()
            place += int(np.count_nonzero(commas[done:start]))
            places.append(place)
            values.append(float(token if _EXPONENT.fullmatch(token) else self._plain(token)))
            pieces += (text[done:start], b"0")
            done = end
        pieces.append(text[done:])
        numbers = decimals(_strip(b"".join(pieces), last=last), count)
        if numbers is not None:
            numbers[places] = values
        return numbers

    def _parse(self, text: bytes, count: int) -> NDArray[Any]:
        """Convert numbers of one slab; give up for any text that needs the careful reader."""
        wide: Any = np.float64
        if self.atomic.is_integer:
            wide = np.uint64 if self.atomic.name == "uint64" else np.int64
            if wide is np.uint64 and b"-" in text:
                raise _GiveUp
        numbers = parse_numbers(text, wide)
        if numbers is None or len(numbers) != count:
            raise _GiveUp
        if self.atomic.is_float and np.signbit(numbers[numbers == 0]).any() and _INTEGER_ZERO.search(text):
            raise _GiveUp  # `-0` is an integer, and has no sign; `-0.` has
        return numbers

    def _narrow(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers in the variable's dtype and the same shape. Raises _GiveUp if one does not fit."""
        if self.atomic.is_integer:
            low, high = int(numbers.min()), int(numbers.max())
            limits = np.iinfo(numbers.dtype)
            if not (self.atomic.low <= low and high <= self.atomic.high) or high == limits.max:
                raise _GiveUp
            if low == limits.min and limits.min < 0:
                raise _GiveUp
            return numbers.astype(self.dtype)
        if self.dtype.itemsize == 8:
            if np.isinf(numbers).any():
                raise _GiveUp  # a word or an overflow: the slow way knows
            return numbers
        with np.errstate(over="ignore"):
            narrow: NDArray[Any] = numbers.astype(self.dtype)
        if np.isinf(narrow).any():
            raise _GiveUp
        return narrow

    def _plain(self, token: bytes) -> bytes:
        """Return an odd token as the same number in NumPy's spelling. Raises _GiveUp."""
        match = _ODD.fullmatch(token)
        if match is None:
            raise _GiveUp
        integer, suffix, word, real, real_suffix = match.groups()
        if word is not None:
            if word == b"_" and self.fill:
                return self.fill
            spelled = _WORDS.get(word)
            if spelled is None or self.atomic.is_integer:
                raise _GiveUp
            return spelled
        if real is not None:
            if self.atomic.is_integer:
                raise _GiveUp
            return repr(single(float(real))).encode() if real_suffix in b"fF" else real
        declared = SUFFIXES.get(suffix.lower())
        if declared is None or (integer.lstrip(b"+-")[:1] == b"0" and len(integer.lstrip(b"+-")) > 1):
            raise _GiveUp
        value = int(integer)
        if not ATOMIC[declared].low <= value <= ATOMIC[declared].high:
            raise _GiveUp
        return b"%d" % value


def _odd_tokens(text: bytes, odd: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of tokens between commas that contain a marked byte.

    `odd`: bool, shape (bytes of `text`,).
    """
    done = 0
    for at in odd.nonzero()[0].tolist():
        if at < done:
            continue
        start = max(text.rfind(b",", done, at) + 1, done)
        end = text.find(b",", at)
        done = len(text) if end < 0 else end
        yield start, done


def _strip(text: bytes, *, last: bool) -> bytes:
    """Return a slab without its final comma."""
    text = text.rstrip()
    return text if last else text[:-1]


def _commas(text: bytes) -> int:
    """Return the number of commas; NumPy counts frequent bytes several times faster than `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == 44))


def _is_suspect(text: bytes) -> bool:
    """Return whether `_is_doubtful` must check: a quick filter with false positives (some exponents and words)."""
    codes = np.frombuffer(b" " + text + b" ", np.uint8)
    is_digit = (codes - ord("0")) < 10
    is_digit_or_point = is_digit | (codes == ord("."))
    is_minus = codes[1:-1] == ord("-")
    if (is_minus > is_digit_or_point[2:]).any() or b"+" in text:  # for booleans, `>` is "and not"
        return True
    is_leading_zero = (codes[1:-1] == ord("0")) & is_digit[2:]
    return bool((is_leading_zero > is_digit_or_point[:-2]).any())


_CLASSES = bytes(
    48 if code == 48 else 49 if 49 <= code <= 57 else 46 if code in b".eE" else 45 if code in b"+-" else 32
    for code in range(256)
)
"""Byte classes: `0` (zero), `1` (other digit), `.` (point, exponent), `-` (sign), blank."""


def _is_doubtful(text: bytes) -> bool:
    """Return whether an integer has a leading zero (octal in CDL), or a sign has no number."""
    codes = np.frombuffer(b"  " + text.translate(_CLASSES) + b" ", np.uint8)
    middle, following, before = codes[2:-1], codes[3:], codes[1:-2]
    if ((middle == 45) & (following != 46) & ((following | 1) != 49)).any():
        return True
    octal = np.flatnonzero((middle == 48) & ((following | 1) == 49) & ((before == 32) | (before == 45)))
    exponents = (before[octal] == 45) & (codes[octal] == 46)
    return bool((~exponents).any())
