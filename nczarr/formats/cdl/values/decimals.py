"""Bulk parsing of decimal fractions: as exact as C's `strtod`, in two thirds of its time.

Numbers without exponents become the nearest doubles, or None if any is
uncertain. A fraction with digits up to 2^53 and at most 22 decimal places is
the quotient of two exact doubles, so one division rounds it correctly. Source:
W. D. Clinger, "How to read floating point numbers accurately", 1990.
"""

from __future__ import annotations

import warnings
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np

MOST_DIGITS = 22
"""Exponent of the last exact power of ten."""

_POWERS = tuple(float(10**exponent) for exponent in range(MOST_DIGITS + 1))

LARGEST = 2**53
"""Limit up to which integers are exact as doubles."""


def decimals(text: bytes, count: int) -> NDArray[Any] | None:
    """Return `count` numbers: float64, shape (count,). None: the exact value needs another parser.

    Expects only digits, points, signs before numbers, commas and white space.
    """
    digits = parsed(text.translate(None, b"."), np.int64)
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


def parsed(text: bytes, dtype: Any) -> NDArray[Any] | None:
    """Return comma-separated numbers parsed by NumPy: this dtype, shape (numbers,). None on anything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, dtype=dtype, sep=",")
        except (DeprecationWarning, ValueError):
            return None
