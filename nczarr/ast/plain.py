"""Constants in plain JSON, as an attribute of a Zarr store shows them, and whether that form says everything.

Numbers are the exact values: a float is the double that equals it. NaN and the infinities are the texts `NaN`,
`Infinity` and `-Infinity`, char and string values texts; one value stands alone, several make a list. What JSON or the
netCDF library's parser cannot carry (NUL, control bytes, invalid UTF-8) is left out of the text: its readable part
stands, and `exact` is False.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any, NamedTuple

from nczarr.ast.types import ATOMIC
from nczarr.ast.values import SPECIAL_FLOATS, Constant, json_number

HIDDEN = frozenset({"_ARRAY_DIMENSIONS", "_NCProperties", "_nczarr_array", "_nczarr_attr", "_nczarr_group",
                    "_nczarr_superblock"})  # fmt: skip
"""Attribute names that a Zarr store needs for itself."""

_UNSPEAKABLE = re.compile("[\x00-\x07\x0b\x0e-\x1f]")
"""Control characters for which JSON has no short escape; the netCDF library does not decode `\\uXXXX`."""

_INTEGERS = ("int", "uint", "int64", "uint64")


class Plain(NamedTuple):
    """`value`: the JSON value, None where nothing readable can stand; `exact`: it and the type say everything."""

    value: Any
    exact: bool


def plain(constant: Constant) -> Plain:
    """The plain form of a constant. Values of user-defined types and empty lists have none."""
    data = constant.data
    atomic = ATOMIC.get(constant.type)
    if atomic is None or (constant.count == 0 and constant.type != "char"):
        return Plain(None, False)
    if constant.type == "char":
        assert isinstance(data, bytes)
        text, exact = _readable(data)
        return Plain(text, exact and constant.count > 0)
    if constant.type == "string":
        texts = [_readable(item if isinstance(item, bytes) else None) for item in data]
        return Plain(_alone([text for text, _ in texts]), all(exact for _, exact in texts))
    if atomic.is_integer:
        return Plain(_alone(list(constant.as_numbers())), True)
    values = [json_number(item) for item in constant.as_numbers()]
    return Plain(_alone(values), _packs_to(values, atomic.code, data))


def guessed(value: Any) -> Constant | None:
    """The constant of a plain JSON value that nothing says the type of; None for what is no text or number.

    A text is char, several are strings; integers take the first of int, uint, int64, uint64 that holds them all; reals,
    `NaN` and the infinities among numbers are double.
    """
    values = value if isinstance(value, list) else [value]
    if isinstance(value, str):
        return Constant.text(encoded(value))
    if values and all(isinstance(each, str) for each in values):
        return Constant.strings([encoded(each) for each in values])
    if any(_is_number(each) for each in values):
        values = [SPECIAL_FLOATS.get(each, each) if isinstance(each, str) else each for each in values]
    if not values or not all(map(_is_number, values)):
        return None
    if all(isinstance(each, int) for each in values):
        for name in _INTEGERS:
            if all(ATOMIC[name].low <= each <= ATOMIC[name].high for each in values):
                return Constant.numbers(name, values)
    try:
        return Constant.numbers("double", [float(each) for each in values])
    except OverflowError:
        return None


def encoded(text: str) -> bytes:
    """The bytes of a text of a document; what was no UTF-8 there comes out as it was."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(constant: Constant) -> bool:
    """Whether a constant holds no NaN or infinity, which plain JSON shows as texts."""
    atomic = ATOMIC.get(constant.type)
    return atomic is None or not atomic.is_float or all(map(math.isfinite, constant.as_numbers()))


def is_utf8(text: bytes) -> bool:
    """Whether bytes are a text in UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _alone(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _readable(data: bytes | None) -> tuple[str, bool]:
    """The text that JSON can carry, and whether it is all there is. NIL reads as an empty text."""
    if data is None:
        return "", False
    text = data.decode("utf-8", "ignore")
    spoken = _UNSPEAKABLE.sub("", text) if _UNSPEAKABLE.search(text) else text
    return spoken, spoken.encode("utf-8") == data


def _packs_to(values: list[Any], code: str, data: object) -> bool:
    plain_numbers = [SPECIAL_FLOATS[value] if isinstance(value, str) else value for value in values]
    return struct.pack(f"<{len(values)}{code}", *plain_numbers) == data
