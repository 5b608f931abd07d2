"""Numbers of `fill_value` members ↔ bytes, without wrapping, rounding or overflow."""

import base64
import binascii
import math
import struct
from typing import Any

from nczarr.arrays.values.elements import NAT, halves
from nczarr.ast.values import SPECIAL_FLOATS, json_number

Json = dict[str, Any]

_CODES = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
          "f2": "e", "f4": "f", "f8": "d"}  # fmt: skip
_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
INVALID = "`fill_value` is not a value of the array's type"
FAULTS = (ValueError, TypeError, KeyError, AttributeError, struct.error, binascii.Error, OverflowError)
"""Exceptions that the decoders raise for an invalid fill value."""


def code(dtype: str) -> str:
    """Return the `struct` format of a number type, with its byte order."""
    return (">" if dtype[0] == ">" else "<") + ("q" if dtype[1] in "Mm" else _CODES[dtype[1:]])


def parts_of(dtype: str, data: bytes) -> list[tuple[str, bytes]]:
    """Split a complex number into the dtypes and bytes of its two parts."""
    half = len(data) // 2
    return list(zip(halves(dtype), (data[:half], data[half:]), strict=True))


def json_of(dtype: str, data: bytes) -> int | float | str | list[Any]:
    """Return one number as JSON; a complex number is a list of two."""
    if dtype[1] == "c":
        return [json_of(part, half) for part, half in parts_of(dtype, data)]
    return json_number(struct.unpack(code(dtype), data)[0])


def number(dtype: str, value: Any) -> bytes:
    """Return the bytes of a JSON int or float, a word such as `NaN`, a bool for `b1`, a list of two for complex types.

    Raises ValueError for others.
    """
    kind = dtype[1]
    if kind == "f" and isinstance(value, str):  # Zarr writes NaN and infinities as texts
        value = SPECIAL_FLOATS.get(value, value)
    if kind == "b":
        if not isinstance(value, bool):
            raise ValueError(f"{show(value)} is neither true nor false")
        return bytes([value])
    if kind == "c":
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError(f"{show(value)} is not a list of two numbers")
        return b"".join(number(part, half) for part, half in zip(halves(dtype), value, strict=True))
    if kind in "Mm":
        value = NAT if value == "NaT" else value  # NumPy's word for a missing time
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{show(value)} is not a number of type {type_name(dtype)}")
    if kind in "iuMm":
        if isinstance(value, float):
            raise ValueError(f"{show(value)} is not an integer")
    elif isinstance(value, float) and math.isinf(value) and any(map(str.isdigit, getattr(value, "spelled", ""))):
        # `1e999` is a number beyond the range; an infinity is a word, whose spelling has no digits.
        raise ValueError(f"{show(value)} is out of range for {type_name(dtype)}")
    try:
        return struct.pack(code(dtype), value)
    except (struct.error, OverflowError):
        raise ValueError(f"{show(value)} is out of range for {type_name(dtype)}") from None


def decode_base64(value: Any, size: int, *, shorter: bool = False) -> bytes:
    """Decode base64 of `size` bytes; `shorter` data are zero-padded. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{show(value)} is not a base64 text")
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{show(value)} is not a base64 text") from None
    if len(data) > size or (len(data) < size and not shorter):
        raise ValueError(f"{show(value)} has {len(data)} bytes, but the type has {size}")
    return data.ljust(size, b"\0")


def type_name(dtype: str) -> str:
    """Return the name of a number type: `int32` for `<i4`."""
    if dtype[1] in "Mm":
        return "datetime64" if dtype[1] == "M" else "timedelta64"
    return f"{_KINDS[dtype[1]]}{8 * int(dtype[2:])}"


def show(value: Any) -> str:
    """Return a JSON value as messages quote it, at most 40 characters."""
    import json

    spelled = getattr(value, "spelled", None)
    text = spelled if isinstance(spelled, str) else json.dumps(value, ensure_ascii=False)
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"
