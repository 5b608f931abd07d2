"""Element types of stores that the model lacks (booleans, halves, complex numbers, times, UTF-32), and their tree form.

| stored | in the tree | |
|---|---|---|
| `|b1` | an enum `bool` of byte with FALSE = 0, TRUE = 1 | the same byte |
| `<f2` | float | every half is a float |
| `<c8`, `<c16` | a compound `complex64`, `complex128` of two floats or doubles, r and i | the same bytes |
| `<M8[s]`, `<m8[25us]` | int64 with the attributes `units` and `calendar`; NaT is the `_FillValue` | the same bytes |
| `<U3`, `|S3`, bytes of any length | string | the same text |
| a record with such fields | a compound; a field `M8[s]` is an int64, `S3` three chars, `U3` three uint | its bytes |

h5py makes the same enum and compounds of NumPy's types in HDF5 files, and reads
them back as such. `Storage.element` records the store's element type, so that
nothing is lost.
"""

from __future__ import annotations

import functools
import json
import math
import re
import struct
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import Descr, itemsize, numpy_dtype
from nczarr.arrays.values.parts import NUMPY, Types, descr, inner_types, is_fixed
from nczarr.ast import CompoundType, Constant, EnumConstant, EnumType, Field, UserType, Variable
from nczarr.ast.dataset import Element
from nczarr.registry import Arrays

NAT = -(2**63)
"""Integer of `NaT`, the missing time."""

RAW: Element = "bytes"
"""Texts of any length that are bytes in a store, whatever their encoding."""

ELEMENT_TYPES = frozenset({"bool", "complex64", "complex128"})
"""Elements with a user type of their own in the tree."""

_STORED: dict[Element, str] = {"bool": "|b1", "float16": "<f2", "complex64": "<c8", "complex128": "<c16"}
_ELEMENTS: dict[str, Element] = {written[1:]: name for name, written in _STORED.items()}
_TIMES = {"M": "datetime64", "m": "timedelta64"}
UNITS = {"Y": "years", "M": "months", "W": "weeks", "D": "days", "h": "hours", "m": "minutes", "s": "seconds",
         "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds", "ps": "picoseconds", "fs": "femtoseconds",
         "as": "attoseconds"}  # fmt: skip
"""Words for NumPy's units of times."""
_TIME = r"[<>][Mm]8(?:\[([0-9]*)([a-zA-Z]+)\])?"
_PARTS = {"c8": "f4", "c16": "f8"}
_RECORD = "struct"
Record: TypeAlias = tuple[tuple[str, Descr, tuple[int, ...]], ...]
"""Dtype of a record: name, dtype and shape of each field."""


def element_of(stored: Descr) -> Element | None:
    """Return the element name of a stored dtype that the model lacks, else None.

    A record with such fields is named by its dtype as in Zarr v2, little-endian.
    """
    if not isinstance(stored, str):
        return _RECORD + json.dumps(_spell(stored), separators=(",", ":")) if _is_foreign(stored) else None
    if stored[1] in _TIMES:
        return _TIMES[stored[1]] + stored[3:]
    return f"utf32[{stored[2:]}]" if stored[1] == "U" else _ELEMENTS.get(stored[1:])


def text_element(stored: Descr) -> Element | None:
    """Return the element name of texts of several bytes, which only pure Zarr tells from other strings, else None."""
    return f"bytes[{stored[2:]}]" if isinstance(stored, str) and stored[1] == "S" and stored[2:] != "1" else None


def is_text(element: Element) -> bool:
    """Return whether an element is a text of fixed length."""
    return element.startswith(("utf32", "bytes"))


def _is_foreign(stored: Descr) -> bool:
    """Return whether a field of a record is not one of the model, or text of several bytes."""
    if isinstance(stored, str):
        return element_of(stored) is not None or (stored[1] == "S" and stored != "|S1")
    return any(_is_foreign(field) for _, field, _ in stored)


def _spell(stored: Descr) -> Any:
    if isinstance(stored, str):
        return stored.replace(">", "<")
    return [[name, _spell(field), *([shape] if shape else [])] for name, field, shape in stored]


def _record_of(name: str) -> Descr:
    """Return the dtype of a record's element name. Raises ValueError if no record has this name."""

    def read(spelled: Any) -> Descr:
        if isinstance(spelled, str):
            return spelled
        return tuple((field[0], read(field[1]), tuple(field[2]) if len(field) > 2 else ()) for field in spelled)

    try:
        record = read(json.loads(name.removeprefix(_RECORD)))
        if element_of(record) == name and numpy_dtype(record).itemsize == itemsize(record):
            return record
    except (TypeError, IndexError, KeyError, RecursionError) as fault:
        raise ValueError(f"not a record: {fault}") from None
    raise ValueError("not a record")


def is_record(element: Element | None) -> bool:
    """Return whether an element is a record."""
    return element is not None and element.startswith(_RECORD)


def is_element_name(name: object) -> bool:
    """Return whether a name is that of an element."""
    if not isinstance(name, str):
        return False
    if name == RAW or re.fullmatch(r"(?:utf32|bytes)\[[1-9][0-9]{0,8}\]", name):
        return True
    if is_record(name):
        try:
            return bool(_record_of(name))
        except ValueError:
            return False
    time = re.fullmatch(r"(?:datetime64|timedelta64)(?:\[(?:[1-9][0-9]{0,9})?([a-zA-Z]+)\])?", name)
    return name in _STORED or (time is not None and (time[1] is None or time[1] in UNITS))


def is_time(element: Element) -> bool:
    """Return whether an element is a time or a time difference."""
    return element.startswith(("datetime64", "timedelta64"))


def is_utf32(dtype: Descr) -> bool:
    """Return whether elements are texts in UTF-32."""
    return isinstance(dtype, str) and dtype[1] == "U"


def find_stored_dtype(element: Element) -> Descr:
    """Return the NumPy dtype of an element, little-endian. Raises ValueError for an invalid record."""
    if element == RAW:
        return "|O"
    if is_record(element):
        return _record_of(element)
    name, bracket, unit = element.partition("[")
    if is_text(element):
        return f"<U{unit[:-1]}" if name == "utf32" else f"|S{unit[:-1]}"
    return f"<{'M' if name == 'datetime64' else 'm'}8{bracket}{unit}" if name in _TIMES.values() else _STORED[element]


@functools.lru_cache(maxsize=256)
def time_unit(stored: Descr) -> tuple[int, str | None]:
    """Return the number and NumPy's name of the units of stored times; the name is None for all other elements."""
    match_of_time = re.fullmatch(_TIME, stored) if isinstance(stored, str) else None
    return (1, None) if match_of_time is None else (int(match_of_time[1] or 1), match_of_time[2])


def is_nat(data: bytes, dtype: Descr = "<i8") -> bool:
    """Return whether one element of times, in the byte order of the dtype, is NaT."""
    return int.from_bytes(data, "big" if dtype[0] == ">" else "little", signed=True) == NAT


def is_odd_nan(fill: bytes, dtype: str) -> bool:
    """Return whether a little-endian number is a NaN with unusual bits."""
    code = {"f2": "<e", "f4": "<f", "f8": "<d"}.get(dtype[1:])
    if code is None:
        return False
    return math.isnan(struct.unpack(code, fill)[0]) and fill != struct.pack(code, math.nan)


def time_attributes(stored: Descr) -> dict[str, str]:
    """Return the attributes that describe stored times in CF; empty for other elements and generic times."""
    factor, short = time_unit(stored)
    if short is None:
        return {}
    unit = UNITS[short] if factor == 1 else f"{factor} {UNITS[short]}"
    if stored[1] == "m":
        return {"units": unit}
    return {"units": f"{unit} since 1970-01-01 00:00:00", "calendar": "proleptic_gregorian"}  # NumPy counts from 1970


def model_dtype(stored: Descr) -> Descr:
    """Return the tree's dtype for stored elements, in the same byte order. Fields of text are arrays."""
    if not isinstance(stored, str):
        return tuple((name, *_model_field(field, shape)) for name, field, shape in stored)
    if stored[1] in _TIMES:
        return stored[0] + "i8"
    match _ELEMENTS.get(stored[1:]):
        case "bool":
            return "|i1"
        case "float16":
            return stored[0] + "f4"
        case None:
            return stored
        case _:
            real, imaginary = halves(stored)
            return (("r", real, ()), ("i", imaginary, ()))  # as h5py stores complex numbers


def _model_field(stored: Descr, shape: tuple[int, ...]) -> tuple[Descr, tuple[int, ...]]:
    """Return the tree's dtype and shape of a record's field."""
    inner, length = field_of(stored)
    return model_dtype(inner), (*shape, *length)


def field_of(stored: Descr) -> tuple[Descr, tuple[int, ...]]:
    """Return a record's field as an array: texts are bytes or, in UTF-32, code points."""
    if isinstance(stored, str) and stored[1] == "U":
        return stored[0] + "u4", (int(stored[2:]),)
    if isinstance(stored, str) and stored[1] == "S" and stored != "|S1":
        return "|S1", (int(stored[2:]),)
    return stored, ()


def suits(element: Element, type_name: str, types: Types) -> bool:
    """Return whether values of a type can be stored as such elements."""
    declared = types.get(type_name)
    if is_record(element):
        try:
            expected = model_dtype(_record_of(element))
        except ValueError:
            return False
        return isinstance(declared, CompoundType) and is_fixed(type_name, types) and descr(type_name, types) == expected
    if element == "bool":
        return is_boolean(type_name, types)
    if element == "float16":
        return type_name == "float"
    if is_time(element):
        return type_name == "int64"
    if is_text(element):
        return type_name == "string"
    if not isinstance(declared, CompoundType) or not is_fixed(type_name, types):
        return False
    return descr(type_name, types) == model_dtype(find_stored_dtype(element))


def is_boolean(type_name: str, types: Types) -> bool:
    """Return whether a type is the enum that h5py stores booleans as."""
    declared = types.get(type_name)
    if not isinstance(declared, EnumType) or declared.base != "byte":
        return False
    return {constant.name: constant.value for constant in declared.constants} == {"FALSE": 0, "TRUE": 1}


def find_element(variable: Variable, types: Types) -> Element | None:
    """Return a variable's element; of types that h5py makes of booleans, and records of them, the boolean one."""
    declared = types.get(variable.type)
    if variable.storage.element is not None or not isinstance(declared, EnumType | CompoundType):
        return variable.storage.element
    if not any(is_boolean(inner, types) for inner in inner_types(variable.type, types)):
        return None
    return element_of(_boolean_descr(variable.type, types)) if is_fixed(variable.type, types) else None


def _boolean_descr(type_name: str, types: Types) -> Descr:
    declared = types.get(type_name)
    if isinstance(declared, CompoundType):
        return tuple((field.name, _boolean_descr(field.type, types), field.shape) for field in declared.fields)
    return "|b1" if is_boolean(type_name, types) else descr(type_name, types)


def find_booleans(constant: Constant, types: Types) -> bool | list[bool] | None:
    """Return the JSON of values that h5py makes of booleans, one without a list; None for others."""
    if not is_boolean(constant.type, types) or not set(constant.data) <= {0, 1} or not constant.count:
        return None
    booleans = [value == 1 for value in constant.data]
    return booleans[0] if len(booleans) == 1 else booleans


def choose_kept_dtype(element: Element, type_name: str, types: Types, arrays: Arrays) -> Descr | None:
    """Return the dtype in which a store keeps an element of values of a type; None if it cannot."""
    if not arrays.elements or not suits(element, type_name, types):
        return None
    stored = find_stored_dtype(element)
    if not arrays.numpy_types and (is_record(element) or is_time(element) or is_text(element)):
        return None
    return None if _has_raw_field(stored, nested=arrays.nested_records) else stored


def _has_raw_field(stored: Descr, *, nested: bool) -> bool:
    """Return whether a field of a record is an array, or a record where these cannot nest, which Zarr has as bytes."""
    if isinstance(stored, str):
        return False
    inner = ((field, bool(shape) or (not nested and not isinstance(field, str))) for _, field, shape in stored)
    return any(is_raw or _has_raw_field(field, nested=nested) for field, is_raw in inner)


def declare_type(element: Element, name: str) -> UserType:
    """Return the user type `name` for such elements; not for halves, which are floats."""
    if element == "bool":
        constants = (EnumConstant(name="FALSE", value=0), EnumConstant(name="TRUE", value=1))  # as h5py's booleans
        return EnumType(name=name, base="byte", constants=constants)
    part = "float" if element == "complex64" else "double"
    return CompoundType(name=name, fields=(Field(name="r", type=part), Field(name="i", type=part)))


def convert_to_stored(data: bytes, dtype: Descr) -> bytes:
    """Convert one little-endian element of the tree to a stored dtype.

    Records are always little-endian. Raises OverflowError if the element does
    not fit.
    """
    if not isinstance(dtype, str):
        return (
            as_stored(np.frombuffer(data, widen(numpy_dtype(dtype))), dtype).tobytes() if _has_halves(dtype) else data
        )
    if dtype[1] in "SVOU":
        return data
    if dtype == "|b1" and data not in (b"\0", b"\1"):
        raise OverflowError(f"{int.from_bytes(data, signed=True)} is no boolean")
    if dtype[1:] == "f2":
        data = as_stored(np.frombuffer(data, "<f4"), "<f2").tobytes()
    return swap(data, dtype) if dtype[0] == ">" else data


def model_bytes(data: bytes, dtype: Descr) -> bytes:
    """Invert `convert_to_stored`; a record may have any byte order."""
    if not isinstance(dtype, str):
        return _record_model_bytes(data, dtype)
    if dtype[1] in "SVOU":
        return data
    little = swap(data, dtype) if dtype[0] == ">" else data
    return little if dtype[1:] != "f2" else np.frombuffer(little, "<f2").astype("<f4").tobytes()


def _record_model_bytes(data: bytes, dtype: Record) -> bytes:
    pieces, start = [], 0
    for _, field, shape in dtype:
        size = itemsize(field)
        for _ in range(math.prod(shape)):
            pieces.append(model_bytes(data[start : start + size], field))
            start += size
    return b"".join(pieces)


def as_stored(values: NDArray[Any], dtype: Descr) -> NDArray[Any]:
    """Convert floats to halves if the stored dtype requires it. Raises OverflowError for inexact values.

    `values`: any shape, the tree's dtype, records little-endian.
    """
    if not isinstance(dtype, str):
        return _record_as_stored(values, dtype) if _has_halves(dtype) else values
    if dtype[1:] != "f2" or values.dtype.itemsize == 2:
        return values
    with np.errstate(over="ignore", under="ignore"):
        halves = values.astype("<f2")
    back = halves.astype(values.dtype)
    same = (back == values) | (np.isnan(back) & np.isnan(values))
    if not same.all():
        raise OverflowError(f"{values[~same].flat[0]} has no exact 16-bit representation")
    return halves


def _has_halves(dtype: Descr) -> bool:
    return dtype[1:] == "f2" if isinstance(dtype, str) else any(_has_halves(field) for _, field, _ in dtype)


def _record_as_stored(values: NDArray[Any], dtype: Record) -> NDArray[Any]:
    """Convert records by fields: `values` in any shape, the result too. Raises OverflowError."""
    wide = values.view(widen(numpy_dtype(dtype)))
    records = np.empty(values.shape, numpy_dtype(dtype))
    for name, field, _ in dtype:
        records[name] = as_stored(wide[name], field)
    return records


def widen(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype with float32 for float16 fields of records, which the model lacks."""
    if dtype.names is None or dtype.fields is None:
        if dtype.subdtype is not None:
            return np.dtype((widen(dtype.subdtype[0]), dtype.subdtype[1]))
        return np.dtype("f4").newbyteorder(dtype.byteorder) if dtype.kind == "f" and dtype.itemsize == 2 else dtype
    return np.dtype([(name, widen(dtype.fields[name][0])) for name in dtype.names])


def is_element(data: bytes, dtype: Descr) -> bool:
    """Return whether one element of the tree fits the stored dtype."""
    try:
        convert_to_stored(data, dtype)
    except OverflowError:
        return False
    return True


def halves(dtype: str) -> tuple[str, str]:
    """Return the dtypes of the two parts of a complex number."""
    part = dtype[0] + _PARTS[dtype[1:]]
    return part, part


def swap(data: bytes, dtype: str) -> bytes:
    """Swap the byte order of one element; of a complex number, each part's."""
    if dtype[1] != "c":
        return data[::-1]
    half = len(data) // 2
    return data[:half][::-1] + data[half:][::-1]  # NumPy swaps the parts of a complex number one by one


def in_order(data: bytes, dtype: Descr, ordered: Descr) -> bytes:
    """Convert one element to the byte order of `ordered`, a dtype that is equal otherwise."""
    if dtype == ordered:
        return data
    if isinstance(dtype, str):
        return swap(data, dtype)
    return np.frombuffer(data, numpy_dtype(dtype)).astype(numpy_dtype(ordered)).tobytes()


@functools.lru_cache(maxsize=256)
def plain_type(stored: Descr) -> str | None:
    """Return the atomic type of a dtype; one byte of text is char, raw bytes and records None."""
    model = model_dtype(stored)
    if not isinstance(stored, str) or stored[1] in "Vb" or not isinstance(model, str):
        return None
    if model[1] in "SOU":
        return "char" if model[1:] == "S1" else "string"
    return next(name for name, numpy in NUMPY.items() if numpy[1:] == model[1:])


def with_times(attributes: dict[str, Any], dtype: Descr, fill: bytes | None) -> dict[str, Any]:
    """Return the attributes of an array with those that describe times, unless it has others of these names.

    Arrays of times are int64 in the tree, described as CF does. Documents of
    stores lack these attributes.
    """
    times = time_attributes(dtype)
    if not times:
        return attributes
    missing = {"_FillValue": NAT} if fill is not None and is_nat(fill, dtype) else {}
    return {**times, **missing, **attributes}


def without_times(attributes: dict[str, Any], dtype: Descr, fill: bytes | None) -> dict[str, Any]:
    """Invert `with_times` for a stored dtype."""
    times = with_times({}, dtype, fill)
    return {name: value for name, value in attributes.items() if times.get(name, attributes) != value}
