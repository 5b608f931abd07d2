"""Decimal fractions in bulk: as exact as the C library's `strtod`, in two thirds of its time.

Comes in: a text of numbers without exponents between commas. Goes out: the doubles nearest to them, or None where
this way cannot vouch for every one. A fraction of at most 2^53 in its digits and at most 22 of them behind the point
is the quotient of two doubles that are exact, so that one division rounds it rightly.
Source: W. D. Clinger, "How to read floating point numbers accurately", 1990.
"""

from __future__ import annotations

import warnings
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np

MOST_DIGITS = 22
"""10^22 is the last power of ten that is a double."""

_POWERS = tuple(float(10**exponent) for exponent in range(MOST_DIGITS + 1))

LARGEST = 2**53
"""Up to here every integer is a double."""


def decimals(text: bytes, count: int) -> NDArray[Any] | None:
    """`count` doubles. Expects digits, points, signs, commas and white space alone; no sign without a number."""
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
    found: NDArray[Any] = digits / np.array(_POWERS)[behind]
    zero = digits == 0
    if zero.any():
        negative = item[marks == 45]
        negative = negative[zero[negative]]
        if not behind[negative].all():
            return None  # `-0` has no sign, `-0.` has
        found[negative] = -0.0
    return found


def parsed(text: bytes, dtype: Any) -> NDArray[Any] | None:
    """The numbers of a text, between commas, as numpy reads them; None if anything else stands there."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, dtype=dtype, sep=",")
        except (DeprecationWarning, ValueError):
            return None
