"""Constants as plain JSON attributes of Zarr stores, and whether that form is complete.

Numbers are exact: a float is the equal double. NaN and infinities are the texts
`NaN`, `Infinity` and `-Infinity`; char and string values are texts. A single
value is a scalar, several make a list. Bytes that JSON or the netCDF library's
parser cannot represent (NUL, control bytes, invalid UTF-8) are omitted, and
`exact` is False.
"""

import math
import re
from typing import Any

from nczarr.ast.types import ATOMIC
from nczarr.ast.values import SPECIAL_FLOATS, Constant, json_number, pack
from nczarr.names.records import NamedTuple

CARRIED = "_nczarr"
"""Attribute with the metadata of a store of Zarr v3, which xarray carries into other files. It means nothing there."""

HIDDEN = frozenset({"_ARRAY_DIMENSIONS", "_NCProperties", CARRIED, "_nczarr_array", "_nczarr_attr", "_nczarr_group",
                    "_nczarr_superblock"})  # fmt: skip
"""Attribute names reserved by Zarr stores."""

_UNSPEAKABLE = re.compile("[\x00-\x07\x0b\x0e-\x1f]")
r"""Control characters without a short JSON escape; the netCDF library does not decode `\uXXXX`."""

_INTEGERS = ("int", "uint", "int64", "uint64")


class JsonConstant(NamedTuple):
    """A constant as JSON."""

    value: Any
    """The JSON value; None if no readable form exists."""
    exact: bool
    """True if the value is complete together with the type."""


def plain(constant: Constant) -> JsonConstant:
    """Return the plain form of a constant. User-defined types and empty lists have none."""
    data = constant.data
    atomic = ATOMIC.get(constant.type)
    if atomic is None or (constant.count == 0 and constant.type != "char"):
        return JsonConstant(None, False)
    if constant.type == "char":
        assert isinstance(data, bytes)
        text, exact = _readable(data)
        return JsonConstant(text, exact and constant.count > 0)
    if constant.type == "string":
        texts = [_readable(item if isinstance(item, bytes) else None) for item in data]
        return JsonConstant(_alone([text for text, _ in texts]), all(exact for _, exact in texts))
    if atomic.is_integer:
        return JsonConstant(_alone(list(constant.as_numbers())), True)
    values = [json_number(item) for item in constant.as_numbers()]
    return JsonConstant(_alone(values), pack(constant.type, values) == data)


def show_untyped(constant: Constant) -> Any:
    """Return the plain form of a constant without its type: NaN and infinities are numbers; None if it has none."""
    value = plain(constant).value
    if is_finite(constant):
        return value
    return [SPECIAL_FLOATS.get(item, item) for item in value] if isinstance(value, list) else SPECIAL_FLOATS[value]


def guess_constant(value: Any) -> Constant | None:
    """Return the constant of an untyped plain JSON value; None for other than texts or numbers.

    A text is char, several are strings; integers take the first of int, uint,
    int64, uint64 that fits all; reals, and `NaN` and infinities among numbers,
    are double, unless that rounds an integer among them.
    """
    values = value if isinstance(value, list) else [value]
    if isinstance(value, str):
        return Constant.text(encode(value))
    if values and all(isinstance(element, str) for element in values):
        return Constant.strings([encode(element) for element in values])
    if any(_is_number(element) for element in values):
        values = [SPECIAL_FLOATS.get(element, element) if isinstance(element, str) else element for element in values]
    if not values or not all(map(_is_number, values)):
        return None
    if all(isinstance(element, int) for element in values):
        for name in _INTEGERS:
            if all(ATOMIC[name].low <= element <= ATOMIC[name].high for element in values):
                return Constant.numbers(name, values)
    try:
        reals = [float(element) for element in values]
    except OverflowError:
        return None
    exact = all(real == element for real, element in zip(reals, values, strict=True) if isinstance(element, int))
    return Constant.numbers("double", reals) if exact else None


def encode(text: str) -> bytes:
    """Return the bytes of a document's text; surrogate-escaped bytes are restored."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(constant: Constant) -> bool:
    """Return whether a constant has no NaN or infinity, which plain JSON shows as texts."""
    atomic = ATOMIC.get(constant.type)
    return atomic is None or not atomic.is_float or all(map(math.isfinite, constant.as_numbers()))


def is_utf8(text: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _alone(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _readable(data: bytes | None) -> tuple[str, bool]:
    """Return the text that JSON can represent, and whether it is complete. NIL is an empty text."""
    if data is None:
        return "", False
    text = data.decode("utf-8", "ignore")
    spoken = _UNSPEAKABLE.sub("", text) if _UNSPEAKABLE.search(text) else text
    return spoken, spoken.encode("utf-8") == data
