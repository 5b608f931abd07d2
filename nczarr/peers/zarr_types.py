"""Types, fill values and codecs that zarr-python 3.1.6 knows, by the names of either version of Zarr."""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any

from nczarr.hierarchy.documents import Json

DTYPE_2 = re.compile(
    r"\|[iub]1|[<>](?:[iu][248]|f[248]|c8|c16|[mM]8(?:\[[^\]]+\])?|U[1-9][0-9]{0,8})|\|[SV][1-9][0-9]{0,8}"
)
"""Types of Zarr v2. Those of one byte and of bytes have no byte order, all others have one."""

TYPES_3 = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128", "string", "variable_length_bytes", "bytes",
})  # fmt: skip
CONFIGURED_3 = frozenset({
    "fixed_length_utf32", "null_terminated_bytes", "raw_bytes", "numpy.datetime64", "numpy.timedelta64", "structured",
})  # fmt: skip
"""Types of Zarr v3, by name and with a configuration."""

CODECS_2 = frozenset(
    "adler32 astype base64 bitround blosc bz2 categorize crc32 crc32c delta fixedscaleoffset fletcher32 gzip "
    "jenkins_lookup3 json2 lz4 lzma msgpack2 packbits pcodec pickle quantize shuffle vlen-array vlen-bytes vlen-utf8 "
    "zfpy zlib zstd".split()
)
"""Codecs of Zarr v2 that numcodecs has."""

_OLD = {"base64", "categorize", "json2", "msgpack2", "pickle", "vlen-array", "vlen-bytes", "vlen-utf8"}
CODECS_3 = frozenset("blosc bytes crc32c gzip sharding_indexed transpose vlen-bytes vlen-utf8 zstd".split()) | {
    f"numcodecs.{name}" for name in CODECS_2 - _OLD
}
"""Codecs of Zarr v3."""

OF_TEXTS = frozenset({"vlen-utf8", "vlen-bytes"})
"""Codecs of Zarr v2 that make a type of `|O`."""


def knows(array: Json, version: int) -> bool:
    """Whether it knows the type of an array."""
    given = array.get("dtype" if version == 2 else "data_type")
    if version == 3:
        if isinstance(given, dict):
            name = given.get("name")
            configured = isinstance(name, str) and name in CONFIGURED_3 and isinstance(given.get("configuration"), dict)
            return configured and _fields_3(given)
        return isinstance(given, str) and given in TYPES_3
    if given == "|O":
        filters = array.get("filters")
        found = [each.get("id") for each in filters if isinstance(each, dict)] if isinstance(filters, list) else []
        return any(isinstance(name, str) and name in OF_TEXTS for name in found)
    if isinstance(given, list):
        return bool(given) and all(_field_2(field) for field in given)
    return isinstance(given, str) and DTYPE_2.fullmatch(given) is not None


def _field_2(field: Any) -> bool:
    """Whether it knows a field of a record: no field of a record, no array."""
    return (
        isinstance(field, list)
        and len(field) == 2
        and isinstance(field[1], str)
        and DTYPE_2.fullmatch(field[1]) is not None
    )


def _fields_3(given: Json) -> bool:
    fields = given["configuration"].get("fields")
    if given["name"] != "structured":
        return True
    return isinstance(fields, list) and all(
        isinstance(field, list) and len(field) == 2 and knows({"data_type": field[1]}, 3) for field in fields
    )


def kind(array: Json, version: int) -> tuple[str, int]:
    """The kind of a type it knows, as numpy's letter, and its size in bytes; `O` and 0 for what has none."""
    given = array.get("dtype" if version == 2 else "data_type")
    if isinstance(given, list) or (isinstance(given, dict) and given.get("name") == "structured"):
        return "V", 0
    if isinstance(given, dict):
        letters = {"fixed_length_utf32": "U", "null_terminated_bytes": "S", "raw_bytes": "V"}
        return letters.get(str(given.get("name")), "M"), 0
    if version == 3:
        text = str(given)
        found = re.fullmatch(r"(u?int|float|complex)([0-9]+)", text)
        letters = {"int": "i", "uint": "u", "float": "f", "complex": "c"}
        return (letters[found[1]], int(found[2]) // 8) if found else ("b" if text == "bool" else "O", 0)
    if given == "|O" or not isinstance(given, str):
        return "O", 0
    if not knows(array, version):
        return "O", 0
    letter, size = given[1], re.match(r"[0-9]*", given[2:])
    number = int(size[0]) if size and size[0] else 0
    return letter, number * 4 if letter == "U" else number


def refuses_fill(value: Any, array: Json, version: int) -> bool:
    """Whether it cannot convert the fill value of an array whose type it knows."""
    letter, size = kind(array, version)
    if value is None:
        return version == 3 and letter in "iufcb"
    match letter:
        case "i" | "u":
            return _no_integer(value, letter, size)
        case "f":
            return _no_real(value, version)
        case "c":
            return not (
                isinstance(value, list) and len(value) == 2 and not any(_no_real(part, version) for part in value)
            )
        case "S" | "V":
            return not _is_base64(value)
        case "U":
            return not isinstance(value, str)
        case "m" | "M":
            return not (type(value) is int or value == "NaT")
        case _:
            return False


def _no_integer(value: Any, letter: str, size: int) -> bool:
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return True
    if not isinstance(value, int | float) or (isinstance(value, float) and not value.is_integer()):
        return True
    low, high = (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if letter == "i" else (0, (1 << 8 * size) - 1)
    return not low <= value <= high


def _no_real(value: Any, version: int) -> bool:
    if isinstance(value, str):
        if version == 3 and re.fullmatch(r"0x(?:[0-9a-fA-F]{2})+", value):
            return False
        try:
            math.copysign(float(value), 1)
        except ValueError:
            return True
        return False
    return not isinstance(value, int | float)


def _is_base64(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        base64.standard_b64decode(value.encode("ascii"))
    except (binascii.Error, ValueError):
        return False
    return True
