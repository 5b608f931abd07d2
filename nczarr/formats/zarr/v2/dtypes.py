"""Element types and fill values of Zarr v2: `Descr` (NumPy notation) ↔ the JSON of `.zarray`.

Records are lists of [name, dtype]. Array and record fields are valid Zarr v2,
but make zarr-python reject the whole group. They are written as raw bytes,
`|Vn`; the extension stores their type.
"""

from __future__ import annotations

import base64
import math
import re
from typing import Any

from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.arrays.values.elements import halves
from nczarr.formats.zarr.core.fill_values import decode_base64, json_of, number, show, type_name

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_REAL = r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|(?i:nan|inf(?:inity)?))"


def dtype(descr: Descr) -> str | list[list[str]]:
    """Return the `dtype` member."""
    if isinstance(descr, str):
        return descr
    return [[name, _field(field, shape)] for name, field, shape in descr]


def _field(descr: Descr, shape: tuple[int, ...]) -> str:
    if isinstance(descr, str) and not shape:
        return descr
    return f"|V{itemsize(descr) * math.prod(shape)}"


def descr(written: Any) -> Descr:
    """Invert `dtype`; nested fields become raw bytes. Raises ValueError."""
    if isinstance(written, str):
        return written
    if not isinstance(written, list) or not all(isinstance(field, list) and len(field) >= 2 for field in written):
        raise ValueError(f"not a dtype of Zarr v2: {written!r}")
    return tuple((field[0], descr(field[1]), tuple(field[2]) if len(field) > 2 else ()) for field in written)


def fill_value(descr: Descr, fill: bytes | None) -> Any:
    """Return the `fill_value` member: number, `NaN` or the like, text, else base64; null for none."""
    if fill is None:
        return None
    if not isinstance(descr, str) or descr[1] == "V":
        return base64.b64encode(fill).decode()
    if descr == "|O" or descr[1] == "U":
        return fill.decode("utf-8")
    if descr[1] == "S":
        if descr[0] == ">":  # netCDF's char, for the netCDF library alone, which does not decode base64
            return fill.rstrip(b"\0").decode("ascii")
        return base64.b64encode(fill).decode() if fill.strip(b"\0") else ""
    return json_of(descr, fill)


def fill_bytes(descr: Descr, written: Any) -> bytes | None:
    """Invert `fill_value`. Raises ValueError for an invalid value.

    Accepts other writers' variants: numbers as texts, integers as `1.0`,
    booleans as 0 and 1, complex numbers without imaginary part.
    """
    if written is None:
        return None
    if not isinstance(descr, str) or descr[1] == "V":
        return decode_base64(written, itemsize(descr))
    if descr == "|O" or descr[1] == "U":
        if isinstance(written, bool) or not isinstance(written, str | int | float):
            raise ValueError(f"{show(written)} is not a string")
        return ("" if descr != "|O" and written == 0 else str(written)).encode("utf-8")
    if descr[1] == "S":
        return decode_base64(written, itemsize(descr), shorter=True)
    if descr[1] == "b" and type(written) is int and written in (0, 1):
        return bytes([written])
    if descr[1] == "c":
        parts = written if isinstance(written, list) else [written, 0.0]
        if len(parts) != 2:
            raise ValueError(f"{show(written)} is not a list of two numbers")
        return b"".join(number(part, _plain(part, half)) for part, half in zip(halves(descr), parts, strict=True))
    return number(descr, _plain(descr, written))


def _plain(descr: str, written: Any) -> Any:
    """Convert a numeric text or integral float; return other values unchanged."""
    if isinstance(written, str):
        if descr[1] in "iu" and _INTEGER.fullmatch(written):
            return int(written)
        if descr[1] == "f" and re.fullmatch(_REAL, written):
            value = float(written)
            if not math.isinf(value) or not any(sign.isdigit() for sign in written):
                return value
            raise ValueError(f"{show(written)} is out of range for {type_name(descr)}")
    if descr[1] in "iu" and isinstance(written, float) and written.is_integer():
        return int(written)
    return written
