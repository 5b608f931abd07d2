"""Arrays of values as texts in the spelling of CDL's `data:` section.

Numbers (1-D arrays in the dtypes of `arrays/values/parts.py`) are formatted in bulk
and verified to read back bit-exactly; the few others get more digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, assert_never

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.parts import Types
from nczarr.ast import ATOMIC, CompoundType, EnumType, OpaqueType, VlenType
from nczarr.ast.types import Atomic
from nczarr.formats.cdl.spelling import identifier, plain_float, quoted


def value_texts(values: NDArray[Any], type_name: str, types: Types, fill: bytes | None = None) -> list[str]:
    """Return the texts of all values; those bit-equal to `fill` are `_`. For chars see `char_texts`.

    `values`: shape (values,), the packed dtype of the type, or objects for
    strings. Raises TypeError for vlens.
    """
    declared = types.get(type_name)
    match declared:
        case None if type_name == "string":
            return string_texts(values.tolist(), fill)
        case None:
            texts = _numbers(values, ATOMIC[type_name])
        case EnumType():
            texts = _enumerated(values, declared, types)
        case OpaqueType():
            texts = _hexadecimal(values, declared.size)
        case CompoundType():
            columns = [
                field_texts(values[field.name], field.type, field.shape, len(values), types)
                for field in declared.fields
            ]
            texts = [f"{{{', '.join(row)}}}" for row in zip(*columns, strict=True)]
        case VlenType():
            raise TypeError(f"values of {type_name} are not one array")
        case _:
            assert_never(declared)
    if fill is not None:
        _mark(texts, values, fill)
    return texts


def is_word(type_name: str, types: Types) -> bool:
    """Return whether texts of the type contain no blanks: numbers and opaque values."""
    declared = types.get(type_name)
    return isinstance(declared, OpaqueType) or (declared is None and type_name not in ("string", "char"))


def string_texts(values: Sequence[bytes | None], fill: bytes | None = None) -> list[str]:
    """Return the texts of strings; None is NIL."""
    return ["NIL" if value is None else "_" if value == fill else quoted(value) for value in values]


def field_texts(values: NDArray[Any], type_name: str, shape: tuple[int, ...], count: int, types: Types) -> list[str]:
    """Return one text per record for a field, in braces if it is an array.

    `values`: shape (count, *shape), the packed dtype of the field's type.
    """
    flat = values.reshape(-1)
    if type_name == "char":
        return char_texts(flat.tobytes(), shape, count)
    return grouped(value_texts(flat, type_name, types), shape, count)


def grouped(texts: list[str], shape: tuple[int, ...], count: int) -> list[str]:
    """Join element texts to the texts of `count` fields."""
    if not shape:
        return texts
    size = math.prod(shape)
    return [f"{{{', '.join(texts[at * size : (at + 1) * size])}}}" for at in range(count)]


def char_texts(data: bytes, shape: tuple[int, ...], count: int) -> list[str]:
    """Return char fields; arrays have one string per row, full length except the last, to keep rows separate."""
    if not shape:
        return [quoted(data[at : at + 1]) for at in range(count)]
    size, width = math.prod(shape), shape[-1]
    texts = []
    for start in range(0, count * size, size):
        rows = [data[at : at + width] for at in range(start, start + size, width)]
        rows[-1] = rows[-1].rstrip(b"\0")
        texts.append(f"{{{', '.join(map(quoted, rows))}}}")
    return texts


def _mark(texts: list[str], values: NDArray[Any], fill: bytes) -> None:
    """Replace the texts of values bit-equal to the fill value, in place. `values`: one for each text, any dtype."""
    plain = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    same = (plain == np.frombuffer(fill, np.uint8)).all(axis=1)
    if same.all():
        texts[:] = ["_"] * len(texts)
        return
    for at in np.flatnonzero(same).tolist():
        texts[at] = "_"


def _numbers(values: NDArray[Any], atomic: Atomic) -> list[str]:
    listed = values.tolist()
    if not atomic.is_float:
        return repr(listed)[1:-1].split(", ") if listed else []
    if not listed:
        return []
    digits = "%.7g " if atomic.code == "f" else "%.15g "
    joined = (digits * len(listed)) % tuple(listed)
    texts = joined.split()
    # Reading back in bulk finds the values that ncdump's number of digits does not tell exactly.
    with np.errstate(over="ignore"):
        again = np.fromstring(joined, sep=" ", dtype="<f8").astype(values.dtype)
    bits = "<u4" if atomic.code == "f" else "<u8"
    inexact = again.view(bits) != np.ascontiguousarray(values).view(bits)
    unusual = inexact | ~np.isfinite(values) | (np.signbit(values) & (values == 0))
    for at in np.flatnonzero(unusual).tolist():
        texts[at] = plain_float(listed[at], atomic)
    return texts


def _enumerated(values: NDArray[Any], declared: EnumType, types: Types) -> list[str]:
    """Return constants by name; as `enum.name` if another enum has the name, because ncgen takes the first match.

    `values`: integers, shape (values,). Values without a name become numbers.
    """
    enums = [other for other in types.values() if isinstance(other, EnumType) and other is not declared]
    others = {constant.name for other in enums for constant in other.constants}
    unique = all(other.name != declared.name for other in enums) and "." not in declared.name
    labels = {
        constant.value: f"{identifier(declared.name)}.{names.escape_cdl(constant.name)}"
        if constant.name in others and unique and "." not in constant.name
        else identifier(constant.name)
        for constant in reversed(declared.constants)
    }
    return [labels.get(value) or str(value) for value in values.tolist()]


def _hexadecimal(values: NDArray[Any], size: int) -> list[str]:
    text = values.tobytes().hex().upper()
    return [f"0X{text[at : at + 2 * size]}" for at in range(0, len(text), 2 * size)]
