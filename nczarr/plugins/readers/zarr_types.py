"""Types, fill values and codecs of zarr-python 3.1.6 and 3.4.2 in both Zarr versions."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from nczarr.formats.common.documents import Json

DTYPE_2 = re.compile(
    r"\|[iub]1|[<>](?:[iu][248]|f[248]|c8|c16|[mM]8(?:\[[^\]]+\])?|U[1-9][0-9]{0,8})|\|[SV][1-9][0-9]{0,8}"
)
"""Zarr v2 dtypes. Single bytes and raw bytes have no byte order, all others have one."""

LENIENT_DTYPE_2 = re.compile(r"[<>](?:[iub]1|V[1-9][0-9]{0,8})")
"""Zarr v2 dtypes that release 3.4 also accepts: a superfluous byte order. It refuses `>S1`."""

SINCE_LENIENT = "3.4"
"""First measured release with these, with nested records, and with `struct` of Zarr v3."""

TYPES_3 = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128", "string", "variable_length_bytes", "bytes",
})  # fmt: skip
CONFIGURED_3 = frozenset({
    "fixed_length_utf32", "null_terminated_bytes", "raw_bytes", "numpy.datetime64", "numpy.timedelta64", "structured",
})  # fmt: skip
"""Zarr v3 data types by name with their configuration."""

CODECS_2 = frozenset(
    "adler32 astype base64 bitround blosc bz2 categorize crc32 crc32c delta fixedscaleoffset fletcher32 gzip "
    "jenkins_lookup3 json2 lz4 lzma msgpack2 packbits pcodec pickle quantize shuffle vlen-array vlen-bytes vlen-utf8 "
    "zfpy zlib zstd".split()
)
"""Zarr v2 codecs of numcodecs."""

_OLD = {"base64", "categorize", "json2", "msgpack2", "pickle", "vlen-array", "vlen-bytes", "vlen-utf8"}
CODECS_3 = frozenset("blosc bytes crc32c gzip sharding_indexed transpose vlen-bytes vlen-utf8 zstd".split()) | {
    f"numcodecs.{name}" for name in CODECS_2 - _OLD
}
"""Zarr v3 codecs."""

CODECS_SINCE = {"scale_offset": SINCE_LENIENT}
"""First measured release with each further codec of Zarr v3; `cast_value` needs another package in every release."""

OF_TEXTS = frozenset({"vlen-utf8", "vlen-bytes"})
"""Zarr v2 codecs that encode `|O`."""


def codec_since(name: str, version: int) -> str | None:
    """Return the first release that knows a codec; empty for all, None for none."""
    if name in (CODECS_2 if version == 2 else CODECS_3):
        return ""
    return CODECS_SINCE.get(name) if version == 3 else None


def knows(array: Json, version: int) -> bool:
    """Return whether any release knows the type of an array."""
    return find_release(array, version) is not None


def find_release(array: Json, version: int) -> str | None:
    """Return the first release that knows the type of an array; empty for all, None for none."""
    dtype = array.get("dtype" if version == 2 else "data_type")
    if version == 3:
        return _find_release_3(dtype)
    if dtype == "|O":
        filters = array.get("filters")
        codec_names = (
            [config.get("id") for config in filters if isinstance(config, dict)] if isinstance(filters, list) else []
        )
        return "" if any(isinstance(name, str) and name in OF_TEXTS for name in codec_names) else None
    return _find_release_2(dtype, top=True)


def _find_release_2(dtype: Any, *, top: bool = False) -> str | None:
    """Return the same for a Zarr v2 dtype. Releases before 3.4 do not nest records; none has array fields."""
    if isinstance(dtype, str):
        if DTYPE_2.fullmatch(dtype):
            return ""
        return SINCE_LENIENT if LENIENT_DTYPE_2.fullmatch(dtype) else None
    if not isinstance(dtype, list) or not dtype:
        return None
    since = "" if top else SINCE_LENIENT
    for field in dtype:
        since_field = _find_release_2(field[1]) if isinstance(field, list) and len(field) == 2 else None
        if since_field is None:
            return None
        since = since_field or since
    return since


def _find_release_3(data_type: Any) -> str | None:
    """Return the same for a Zarr v3 data type."""
    if isinstance(data_type, str):
        return "" if data_type in TYPES_3 else None
    name = data_type.get("name") if isinstance(data_type, dict) else None
    configuration = data_type.get("configuration") if isinstance(data_type, dict) else None
    if not isinstance(name, str) or not isinstance(configuration, dict):
        return None
    if name not in ("structured", "struct"):
        return "" if name in CONFIGURED_3 else None
    fields = configuration.get("fields")
    if not isinstance(fields, list) or not fields:
        return None
    since = SINCE_LENIENT if name == "struct" else ""
    for field in fields:
        pair = isinstance(field, list) and len(field) == 2
        if not pair and not (isinstance(field, dict) and {"name", "data_type"} <= field.keys()):
            return None
        since_field = _find_release_3(field[1] if pair else field["data_type"])
        if since_field is None:
            return None
        since = since_field or (since if pair else SINCE_LENIENT)
    return since


def kind(array: Json, version: int) -> tuple[str, int]:
    """Return NumPy's kind letter and the size in bytes of a known type; `O` and 0 if it has none."""
    dtype = array.get("dtype" if version == 2 else "data_type")
    if isinstance(dtype, list) or (isinstance(dtype, dict) and dtype.get("name") in ("structured", "struct")):
        return "V", 0
    if isinstance(dtype, dict):
        letters = {"fixed_length_utf32": "U", "null_terminated_bytes": "S", "raw_bytes": "V"}
        return letters.get(str(dtype.get("name")), "M"), 0
    if version == 3:
        text = str(dtype)
        number_type = re.fullmatch(r"(u?int|float|complex)([0-9]{1,9})", text)
        letters = {"int": "i", "uint": "u", "float": "f", "complex": "c"}
        return (
            (letters[number_type[1]], int(number_type[2]) // 8) if number_type else ("b" if text == "bool" else "O", 0)
        )
    if dtype == "|O" or not isinstance(dtype, str):
        return "O", 0
    if not knows(array, version):
        return "O", 0
    letter, size = dtype[1], re.match(r"[0-9]*", dtype[2:])
    number = int(size[0]) if size and size[0] else 0
    return letter, number * 4 if letter == "U" else number  # UCS-4


def holds_any_bytes(array: Json, version: int) -> bool:
    """Return whether the elements of an array are bytes of any length."""
    if version == 3:
        return array.get("data_type") in ("bytes", "variable_length_bytes")
    filters = array.get("filters")
    if array.get("dtype") != "|O" or not isinstance(filters, list):
        return False
    return any(isinstance(config, dict) and config.get("id") == "vlen-bytes" for config in filters)


def refuses_fill(value: Any, array: Json, version: int) -> bool:
    """Return whether the fill value of an array of known type cannot be converted."""
    letter, size = kind(array, version)
    if version == 3 and isinstance(value, dict) and isinstance(array.get("data_type"), dict):
        return False
    if value is None:
        return version == 3 and letter in "iufcb"
    match letter:
        case "i" | "u":
            return _is_no_integer(value, letter, size)
        case "f":
            return _is_unreadable_float(value, version)
        case "c":
            return not (
                isinstance(value, list)
                and len(value) == 2
                and not any(_is_unreadable_float(part, version) for part in value)
            )
        case "S" | "V":
            return not _is_base64(value)
        case "U":
            return not isinstance(value, str)
        case "m" | "M":  # NumPy's word for a missing time
            return not (type(value) is int or value == "NaT")
        case _:
            return False


def _is_no_integer(value: Any, letter: str, size: int) -> bool:
    """Return whether a fill value is not an integer of the type: `letter` i or u, `size` in bytes."""
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return True
    if not isinstance(value, int | float) or (isinstance(value, float) and not value.is_integer()):
        return True
    low, high = (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if letter == "i" else (0, (1 << 8 * size) - 1)
    return not low <= value <= high


def _is_unreadable_float(value: Any, version: int) -> bool:
    if isinstance(value, str):
        if version == 3 and re.fullmatch(r"0x(?:[0-9a-fA-F]{2})+", value):  # v3: the bits of a NaN
            return False
        try:
            float(value)
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
