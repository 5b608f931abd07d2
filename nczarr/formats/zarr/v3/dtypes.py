"""Element types and fill values of Zarr v3: `Descr` (NumPy notation) ↔ the JSON of `zarr.json`.

    <i4 "int32"    |S1 {"name": "null_terminated_bytes", "configuration": {"length_bytes": 1}}    |V16 raw_bytes so too
    |O "string", or "bytes" where a value is not UTF-8
    record {"name": "structured", "configuration": {"fields": [["t", "int64"], ["v", {"name": "raw_bytes", …}]]}}

zarr-python writes records as `struct` since release 3.4: each field is {"name":
…, "data_type": …}, and the fill value is an object. Both are read; `structured`
is written by default, because earlier releases read nothing else.

Numbers, `string` and `bytes` are registered names; the others are
zarr-python's, which reads them all, as does xarray. tensorstore supports
numbers, raw_bytes and records of numbers; an unknown array does not block the
others. Array fields have no type there: they are raw_bytes.
"""

import base64
import binascii
import math
import re
import struct
from contextlib import suppress
from typing import Any

from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.arrays.values.elements import Record, element_of, halves, is_element_name, is_utf32, time_unit
from nczarr.ast import Constant
from nczarr.ast.plain_json import JsonConstant, encode, plain
from nczarr.formats.zarr.core.array_metadata import record
from nczarr.formats.zarr.core.fill_values import Json, decode_base64, json_of, number, parts_of, show

_NUMBERS = {"i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32", "u4": "uint32", "i8": "int64",
            "u8": "uint64", "f4": "float32", "f8": "float64", "f2": "float16",
            "b1": "bool", "c8": "complex64", "c16": "complex128"}  # fmt: skip
_NAMES = {name: ("|" if code[1:] == "1" else "<") + code for code, name in _NUMBERS.items()}
_TEXTS_AND_BYTES = {"S": "null_terminated_bytes", "U": "fixed_length_utf32", "V": "raw_bytes"}
_RAW = re.compile(r"r([1-9][0-9]{0,8})")  # the specification's `r` and a number of bits


def data_type(descr: Descr, *, utf8: bool = True, registered: bool = False) -> str | Json:
    """Return the `data_type` member. The `bytes` codec declares the byte order. `registered`: records are `struct`."""
    if not isinstance(descr, str) and registered:
        members = [{"name": name, "data_type": _field(field, shape, registered=True)} for name, field, shape in descr]
        return {"name": "struct", "configuration": {"fields": members}}
    if not isinstance(descr, str):
        fields = [[name, _field(field, shape)] for name, field, shape in descr]
        return {"name": "structured", "configuration": {"fields": fields}}
    if descr == "|O":
        return "string" if utf8 else "bytes"
    if descr[1] in "Mm":
        factor, short = time_unit(descr)
        name = "numpy.datetime64" if descr[1] == "M" else "numpy.timedelta64"
        return {"name": name, "configuration": {"unit": short or "generic", "scale_factor": factor}}
    if descr[1] in "SUV":
        return _of_length(_TEXTS_AND_BYTES[descr[1]], itemsize(descr))
    return _NUMBERS[descr[1:]]


def _field(descr: Descr, shape: tuple[int, ...], *, registered: bool = False) -> str | Json:
    if shape:
        return _of_length("raw_bytes", itemsize(descr) * math.prod(shape))
    return data_type(descr, registered=registered)


def _of_length(name: str, length: int) -> Json:
    return {"name": name, "configuration": {"length_bytes": length}}


def descr(written: Any) -> Descr:
    """Invert `data_type`, little-endian; array fields become raw bytes.

    Reads `struct` and `structured`, like zarr-python 3.4. Raises ValueError.
    """
    match written:
        case {"name": str(name), **members} if not members or members == {"configuration": {}}:
            written = name  # the long form of a name alone
    if written in ("string", "bytes", "variable_length_bytes"):  # zarr-python's `variable_length_bytes`
        return "|O"
    if isinstance(written, str):
        raw = _RAW.fullmatch(written)
        if raw is not None and int(raw[1]) % 8 == 0:  # core types: `r` and a number of bits
            return f"|V{int(raw[1]) // 8}"
        if written in _NAMES:
            return _NAMES[written]
    match written:
        case {"name": "null_terminated_bytes", "configuration": {"length_bytes": int(length)}}:
            return f"|S{length}"
        case {"name": "raw_bytes", "configuration": {"length_bytes": int(length)}}:
            return f"|V{length}"
        case {"name": "fixed_length_utf32", "configuration": {"length_bytes": int(length)}} if length % 4 == 0:
            return f"<U{length // 4}"
        case {"name": "numpy.datetime64", "configuration": {"unit": str(unit), "scale_factor": int(factor)}}:
            return _time("<M8", unit, factor)
        case {"name": "numpy.timedelta64", "configuration": {"unit": str(unit), "scale_factor": int(factor)}}:
            return _time("<m8", unit, factor)
        case {"name": "struct" | "structured", "configuration": {"fields": [*fields]}}:
            return record(map(_field_of, fields))
        case {"name": str(name)} | str(name):
            raise ValueError(f"`{name[:60]}`")
    raise ValueError("a value that does not name a type")


def _time(code: str, unit: str, factor: int) -> Descr:
    """Return the dtype of times in so many units. Raises ValueError."""
    unit = "us" if unit == "μs" else unit  # zarr-python takes both spellings
    dtype = code if unit == "generic" and factor == 1 else f"{code}[{'' if factor == 1 else factor}{unit}]"
    if not is_element_name(element_of(dtype)):
        raise ValueError(f"times in {factor} units of `{unit[:60]}`")
    return dtype


def _field_of(written: Any) -> tuple[Any, Descr, tuple[int, ...]]:
    """Return a field: an object in `struct`, a pair in `structured`."""
    match written:
        case {"name": name, "data_type": inner} | [name, inner]:
            try:
                return name, descr(inner), ()
            except ValueError as fault:
                raise ValueError(f"a record whose field `{name}` has type {fault}") from None
    raise ValueError("a record whose fields are not pairs of name and type")


def fill_value(descr: Descr, fill: bytes | None, *, utf8: bool = True, registered: bool = False) -> Any:
    """Return the `fill_value` member, which is mandatory: zeros or an empty text by default.

    A float is a number, `NaN` or the like, or the hexadecimal bits of an
    unusual NaN; a text is itself; bytes and records are base64. `registered`:
    a record is an object of its fields, unless a field of text is not Unicode.
    """
    if descr == "|O":
        return (fill or b"").decode() if utf8 else base64.b64encode(fill or b"").decode()
    if is_utf32(descr):
        return (fill or b"").decode()
    data = (fill or b"").ljust(itemsize(descr), b"\0")
    if not isinstance(descr, str) and registered:
        with suppress(UnicodeDecodeError):  # else zarr-python reads base64 as well
            return _record_fill(descr, data)
    if not isinstance(descr, str) or descr[1] == "V":
        return base64.b64encode(data).decode()
    if descr[1] == "S":
        return base64.b64encode(data.rstrip(b"\0")).decode()
    if descr[1] == "c":
        return [fill_value(part, half) for part, half in parts_of(descr, data)]
    value = json_of(descr, data)
    if isinstance(value, str) and number(descr, value) != data:
        return "0x" + (data if descr[0] == ">" else data[::-1]).hex()
    return value


def _record_fill(descr: Record, data: bytes) -> Json:
    members, start = {}, 0
    for name, field, shape in descr:
        size = itemsize(field) * math.prod(shape)
        piece = data[start : start + size]
        start += size
        if is_utf32(field):
            piece = piece.decode("utf-32-le").rstrip("\0").encode()
        members[name] = fill_value(f"|V{size}" if shape else field, piece, registered=True)
    return members


def fill_bytes(descr: Descr, written: Any, *, utf8: bool = True) -> bytes:
    """Invert `fill_value` for one element in the dtype. Raises ValueError for an invalid value.

    A record is an object with a member for each field, or base64.
    """
    if isinstance(descr, str) and descr[1] in "OU":
        if not isinstance(written, str):
            raise ValueError(f"{show(written)} is not a string")
        if is_utf32(descr) and len(written) > itemsize(descr) // 4:
            raise ValueError(f"{show(written)} is too long")
        return encode(written) if utf8 or descr != "|O" else base64.b64decode(written, validate=True)
    if not isinstance(descr, str):
        return _record_bytes(descr, written) if isinstance(written, dict) else decode_base64(written, itemsize(descr))
    size = itemsize(descr)
    if descr[1] == "V" and isinstance(written, list):  # the specification: a list of integers
        if len(written) != size or not all(type(code) is int and 0 <= code <= 255 for code in written):
            raise ValueError(f"{show(written)} is not a list of {size} bytes")
        return bytes(written)
    if descr[1] in "SV":
        return decode_base64(written, size, shorter=descr[1] == "S")
    if descr[1] == "c" and isinstance(written, list) and len(written) == 2:
        return b"".join(fill_bytes(part, half) for part, half in zip(halves(descr), written, strict=True))
    if descr[1] == "f" and re.fullmatch(f"0x[0-9a-fA-F]{{{2 * size}}}", str(written)):  # Zarr v3: the bits of a NaN
        return bytes.fromhex(written[2:])[:: 1 if descr[0] == ">" else -1]
    return number(descr, written)


def _record_bytes(descr: Record, written: Json) -> bytes:
    for name in written.keys() - {name for name, _, _ in descr}:
        raise ValueError(f"the record has no field `{name}`")
    pieces = []
    for name, field, _ in descr:
        if name not in written:
            raise ValueError(f"field `{name}` has no value")
        try:
            value = fill_bytes(field, written[name])
            if is_utf32(field):
                value = value.decode().encode("utf-32-le")
            if len(value) > itemsize(field):
                raise ValueError(f"{show(written[name])} is too long")
            pieces.append(value.ljust(itemsize(field), b"\0"))
        except ValueError as fault:
            raise ValueError(f"field `{name}`: {fault}") from None
    return b"".join(pieces)


def fill_attribute(constant: Constant) -> JsonConstant:
    """Return a `_FillValue` attribute in xarray's encoding: integers plain, floats as base64 of a double.

    Other types are omitted: xarray would reject the group.
    """
    shown = plain(constant)
    if constant.type not in ("float", "double"):
        is_plain = constant.type not in ("char", "string") and isinstance(shown.value, int)
        return shown if is_plain else JsonConstant(None, False)
    text = base64.b64encode(struct.pack("<d", *constant.as_numbers())).decode()  # xarray's form: eight bytes
    return JsonConstant(text, fill_of_attribute(constant.type, text) == constant)


def fill_of_attribute(type_name: str, written: Any) -> Constant | None:
    """Invert `fill_attribute`; None for an invalid `_FillValue` of this type."""
    if type_name not in ("float", "double"):
        return Constant.numbers(type_name, [written]) if isinstance(written, int) else None
    try:
        (value,) = struct.unpack("<d", base64.b64decode(written, validate=True))
        return Constant.numbers(type_name, [value])
    except (TypeError, binascii.Error, struct.error, OverflowError):
        return None
