"""Values that a document states: of attributes, of variables and of coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout, Parts, numpy_dtype
from nczarr.arrays.values.parts import Types, descr
from nczarr.arrays.values.time_units import CALENDARS, Units, date
from nczarr.ast import ATOMIC, Constant, EnumType
from nczarr.ast.types import is_number
from nczarr.plugins.common.xml_reader import XmlElement

MOST_VALUES = 1 << 22
"""Maximum values of a variable that are computed or converted."""

MOST_OF_DOCUMENT = 1 << 24
"""Maximum values of all variables of a document that are stated, computed or converted: they are in memory."""

TYPES = {
    # of Java: a long has 64 bits
    "byte": "byte", "ubyte": "ubyte", "char": "char", "short": "short", "ushort": "ushort", "int": "int",
    "uint": "uint", "long": "int64", "ulong": "uint64", "float": "float", "double": "double", "string": "string",
}  # fmt: skip
"""Atomic types by the words of NcML in lower case."""

ENUM_BASES = {"enum1": "ubyte", "enum2": "ushort", "enum4": "int"}

UNSIGNED = {"byte": "ubyte", "short": "ushort", "int": "uint", "int64": "uint64"}


class StatedValueError(ValueError):
    """A value that a document states wrongly; the text says why."""


def split_values(text: str, separator: str | None) -> list[str]:
    """Return the texts of values, which any of the separating characters divides."""
    if not separator or not separator.strip():
        return text.split()  # NcML: blanks separate
    for character in separator[1:]:
        text = text.replace(character, separator[0])
    return [piece for piece in text.split(separator[0]) if piece]


def parse_numbers(texts: Sequence[str], type_name: str) -> NDArray[Any]:
    """Return numbers of an atomic type, shape (texts,). Raises StatedValueError."""
    atomic = ATOMIC[type_name]
    numbers: list[int | float] = []
    for text in texts:
        try:
            value: int | float = float(text) if atomic.is_float or not text.lstrip("+-").isdecimal() else int(text)
            if "_" in text or (atomic.is_integer and value != int(value)):
                raise ValueError
            numbers.append(int(value) if atomic.is_integer else value)
        except (ValueError, OverflowError):
            raise StatedValueError(f"`{text[:40]}` is not a value of type {type_name}") from None
        if atomic.is_integer and not atomic.low <= numbers[-1] <= atomic.high:
            raise StatedValueError(f"`{text[:40]}` does not fit type {type_name}")
    with np.errstate(over="ignore"):
        return np.array(numbers, numpy_dtype(descr(type_name, {})))


def are_numbers(texts: Sequence[str]) -> bool:
    """Return whether all texts are numbers."""
    try:
        parse_numbers(texts, "double")
    except StatedValueError:
        return False
    return True


def constant_of(element: XmlElement, type_name: str | None = None) -> Constant:
    """Return the value of an attribute; `type_name`: that of a fill value. Raises StatedValueError."""
    text = element.attributes.get("value")
    if text is None:
        text = " ".join(element.text.split())
    separator = element.attributes.get("separator")
    if type_name in ("char", "string"):  # a fill value, whose NULs XML does not have
        return Constant.strings([text.encode()]) if type_name == "string" else Constant.text(text.encode() or b"\0")
    if type_name is None:
        type_name = _parse_type(element)
    if type_name not in ("char", "string"):
        texts = split_values(text, separator)
        unsigned = UNSIGNED.get(type_name) if element.attributes.get("isUnsigned", "").lower() == "true" else None
        # numbers of the signed type are the same bits, as in older documents
        values = parse_numbers(texts, unsigned if unsigned and "-" not in text else type_name)
        return Constant(type=unsigned or type_name, count=len(values), data=values.tobytes())
    if separator is None:
        return Constant.text(text.encode())
    return Constant.strings(piece.encode() for piece in split_values(text, separator))


def _parse_type(element: XmlElement) -> str:
    word = element.attributes.get("type", "String")  # the schema's default
    type_name = TYPES.get(word.lower())
    if type_name is None:
        raise StatedValueError(f"`{word[:40]}` is not a type of attributes")
    return type_name


def parts_of(values: NDArray[Any], type_name: str, shape: tuple[int, ...], types: Types) -> Parts:
    """Return values in memory as the parts of a variable; `values`: any shape with as many elements."""
    dtype = descr(type_name, types)
    chunks = tuple(max(1, length) for length in shape)
    return {"": ArrayInMemory(Layout(dtype, shape, chunks), values.astype(numpy_dtype(dtype)).reshape(shape))}


def read_values(element: XmlElement, type_name: str, shape: tuple[int, ...], types: Types) -> Parts:
    """Return the parts of a variable that an element `values` states. Raises StatedValueError."""
    size = math.prod(shape)
    if size > MOST_VALUES:
        raise StatedValueError(f"a variable of {size} values cannot be stated; the limit is {MOST_VALUES}")
    start, increment = (element.attributes.get(name) for name in ("start", "increment"))
    if start is not None and increment is not None:
        return parts_of(_progress(start, increment, size, type_name), type_name, shape, types)
    if start is not None or increment is not None:
        raise StatedValueError("`values` has one of `start` and `increment` without the other")
    declared = types.get(type_name)
    texts = split_values(element.text, element.attributes.get("separator"))
    if type_name == "char":
        data = element.text.encode()
        data = data if len(data) == size else data.strip()
        values: NDArray[Any] = np.frombuffer(data, "S1")
    elif type_name == "string":
        texts = [element.text.strip()] if size == 1 and "separator" not in element.attributes else texts
        values = np.array([text.encode() for text in texts], object)
    elif isinstance(declared, EnumType):
        codes = {constant.name: str(constant.value) for constant in declared.constants}
        values = parse_numbers([codes.get(text, text) for text in texts], declared.base)
    elif is_number(type_name):
        values = parse_numbers(texts, type_name)
    else:
        raise StatedValueError(f"values of type `{type_name}` cannot be stated")
    if len(values) != size:
        raise StatedValueError(f"{len(values)} values are stated for a variable of {size}")
    return parts_of(values, type_name, shape, types)


def _progress(start: str, increment: str, size: int, type_name: str) -> NDArray[Any]:
    """Return `size` evenly spaced numbers of a type. Raises StatedValueError."""
    if not is_number(type_name):
        raise StatedValueError(f"`start` and `increment` do not suit type `{type_name}`")
    atomic = ATOMIC[type_name]
    if atomic.is_integer and all(text.strip().lstrip("+-").isdecimal() for text in (start, increment)):
        begin, stride = int(start), int(increment)
        ends = (str(begin), str(begin + stride * max(size - 1, 0)))
        parse_numbers(ends, type_name)  # reports the one that does not fit; doubles would round long numbers
        modulo = 1 << 64
        steps = np.arange(size, dtype="u8") * np.uint64(stride % modulo) + np.uint64(begin % modulo)
        return steps.astype(numpy_dtype(descr(type_name, {})))
    first, step = parse_numbers([start, increment], "double").tolist()
    values = first + step * np.arange(size)
    return _convert_exactly(np.trunc(values) if atomic.is_integer else values, type_name, rounding=True)


def convert_constant(value: Constant, type_name: str) -> Constant:
    """Return numbers as those of another type. Raises StatedValueError."""
    numbers = np.array(value.as_numbers(), numpy_dtype(descr(value.type, {})))
    return Constant(
        type=type_name, count=value.count, data=_convert_exactly(numbers, type_name, rounding=True).tobytes()
    )


def _convert_exactly(values: NDArray[Any], type_name: str, *, rounding: bool = False) -> NDArray[Any]:
    """Return numbers in another type; `rounding`: floats may be rounded. Raises StatedValueError."""
    with np.errstate(all="ignore"):
        converted = values.astype(numpy_dtype(descr(type_name, {})))
        same = (converted == values) | ((values != values) & (converted != converted))
    if not (same.all() or (rounding and ATOMIC[type_name].is_float)):
        wrong = values.reshape(-1)[np.flatnonzero(~same)[0]]
        raise StatedValueError(f"{wrong} is not a value of type {type_name}")
    return converted


def convert_values(
    values: NDArray[Any], old: str, new: str, units: Units | None, shape: tuple[int, ...], types: Types
) -> Parts:
    """Return the values of a variable in another type; texts are numbers, or dates that `units` count.

    Raises StatedValueError.
    """
    if is_number(old) and is_number(new):
        return parts_of(_convert_exactly(values, new), new, shape, types)
    if old == "string" and is_number(new):
        texts = [(text or b"").decode("utf-8", "replace") for text in values.reshape(-1).tolist()]
        if units is not None and not are_numbers(texts):
            return parts_of(count_dates(texts, units, new), new, shape, types)
        return parts_of(parse_numbers(texts, new), new, shape, types)
    raise StatedValueError(f"values of type `{old}` cannot become `{new}`")


def count_dates(texts: Sequence[str], units: Units, type_name: str) -> NDArray[Any]:
    """Return dates as numbers of units. Raises StatedValueError."""
    calendar = CALENDARS[(units.calendar or "standard").lower()]
    try:
        counts = [(date(text, calendar) - units.start) / units.unit for text in texts]
    except ValueError as error:
        raise StatedValueError(str(error)) from None
    if ATOMIC[type_name].is_integer and any(count.denominator != 1 for count in counts):
        raise StatedValueError(f"the dates are no whole numbers of `{units.text}`")
    return _convert_exactly(np.array([float(count) for count in counts]), type_name, rounding=True)
