"""Exact conversion of Python and NumPy values to constants; unsuitable ones are refused with code and reason.

Accepted are numbers for numbers; `str` or `bytes` for char data and for enum
constants; `str`, `bytes` or None (NIL) for strings; `bytes` for opaque values;
a dict or tuple for a record; a list for a vlen. Booleans are refused: netCDF
has none, and 1 would be written silently.
"""

import math
import operator
import struct
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from nczarr.api.builder.foreign_arrays import unmask
from nczarr.api.builder.pieces import UnsuitedValueError
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.parts import NUMPY, Types, is_fixed
from nczarr.ast import ATOMIC, CompoundType, Constant, EnumType, OpaqueType, VlenType
from nczarr.ast.types import Atomic

_FROM_NUMPY = {descr[1:]: name for name, descr in NUMPY.items() if name not in ("char", "string")}


def infer(value: Any) -> str:
    """Return the atomic type of an untyped value. Raises UnsuitedValueError without exactly one.

    Arrays keep their dtype. Text is char, a list of texts string. Integers are
    int, else int64, else uint64.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is not None and dtype.kind in "iuf":
        name = _FROM_NUMPY.get(f"{dtype.kind}{dtype.itemsize}")
        if name is None:
            raise UnsuitedValueError("type-mismatch", f"dtype {dtype} has no netCDF type")
        return name
    if dtype is not None and dtype.kind == "V":
        text = f"the type of values of dtype {dtype} is unknown; give it with `type=`"
        raise UnsuitedValueError("type-mismatch", text)
    if isinstance(value, str | bytes):
        return "char"
    items = _list_items(value)
    if not items:
        raise UnsuitedValueError("empty-attribute", "the type of an empty list is unknown; give it with `type=`")
    if all(isinstance(item, str | bytes | None) for item in items):
        return "string"
    if any(isinstance(item, str | bytes | None) for item in items):
        raise UnsuitedValueError("mixed-types", "text and numbers are mixed in one attribute")
    return _choose_numeric_type(items)


def _choose_numeric_type(items: list[Any]) -> str:
    for item in items:
        _refuse_bool(item)
    if any(isinstance(item, float) or getattr(getattr(item, "dtype", None), "kind", "") == "f" for item in items):
        return "double"
    numbers = [_convert_integer(item, "an attribute") for item in items]
    for name in ("int", "int64", "uint64"):
        if all(ATOMIC[name].low <= number <= ATOMIC[name].high for number in numbers):
            return name
    low, high = min(numbers), max(numbers)
    text = f"no integer type holds {high if low == high else f'both {low} and {high}'}"
    raise UnsuitedValueError("value-range", text)


def constant(value: Any, type_name: str, types: Types) -> Constant:
    """Return the constant of a declared type for one value or a list. Raises UnsuitedValueError."""
    if type_name == "char":
        return Constant.text(_encode_chars(value))
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iuf" and NUMPY.get(type_name):
        dtype = np.dtype(NUMPY[type_name])
        if value.dtype.newbyteorder("<") == dtype.newbyteorder("<"):  # the bits of NaNs are kept
            return Constant(type=type_name, count=value.size, data=value.astype(dtype.newbyteorder("<")).tobytes())
    return values(_several(value, type_name, types), type_name, types)


def attribute_constant(value: Any, kind: str | None, types: Types) -> Constant:
    """Return the constant of an attribute; `kind`: its type, None for that of the values. Raises UnsuitedValueError."""
    written = unmask(value, "it")
    if getattr(written, "ndim", 0) > 1:
        raise UnsuitedValueError("shape-mismatch", "it has several dimensions, and netCDF attributes have one")
    return constant(written, infer(written) if kind is None else kind, types)


def _several(value: Any, type_name: str, types: Types) -> list[Any]:
    """Return the value as a list of values of the type."""
    declared = types.get(type_name)
    if isinstance(declared, VlenType):
        inner = (str, bytes, list) if declared.base == "char" else (list,)
        items = _list_items(value)
        return items if items and all(isinstance(item, inner) or hasattr(item, "shape") for item in items) else [value]
    if isinstance(declared, CompoundType) and isinstance(value, tuple | dict):
        return [value]
    return _list_items(value)


def _list_items(value: Any) -> list[Any]:
    if hasattr(value, "__array__"):
        value = unmask(value, "a value")
        return list_elements(np.asarray(value))
    return list(value) if isinstance(value, list | tuple | range) else [value]


def list_elements(array: "NDArray[Any]") -> list[Any]:
    """Return the elements of an array in C order as Python values, records as dicts of their fields by name."""
    flat = array.reshape(-1)
    if flat.dtype.names is None:
        return list(flat.tolist())
    columns = []
    for name in flat.dtype.names:
        field = flat[name]
        items = np.empty(field.size, dtype=object)
        items[:] = list_elements(field)
        columns.append(items.reshape(field.shape).tolist())
    return [dict(zip(flat.dtype.names, record, strict=True)) for record in zip(*columns, strict=True)]


def values(items: Iterable[Any], type_name: str, types: Types) -> Constant:
    """Return the constant of a list of values. Raises UnsuitedValueError that names the unsuitable value."""
    items = list(items)
    count = len(items)
    declared = types.get(type_name)
    match declared:
        case None if type_name == "string":
            return Constant.strings(map(string, items))
        case None if type_name == "char":
            data: Any = b"".join(map(_character, items))
        case None:
            data = _pack(ATOMIC[type_name], items)
        case EnumType():
            named = {member.name: member.value for member in declared.constants}
            data = _pack(ATOMIC[declared.base], [_find_enum_value(item, named, declared.name) for item in items])
        case OpaqueType():
            data = b"".join(_check_opaque(item, declared) for item in items)
        case VlenType():
            data = tuple(_convert_vlen(item, declared, types) for item in items)
        case CompoundType():
            records = [_convert_record(item, declared, types) for item in items]
            if is_fixed(type_name, types):
                data = b"".join(field.data for record in records for field in record)  # type: ignore[misc]
            else:
                data = tuple(field for record in records for field in record)
        case _:
            assert_never(declared)
    return Constant(type=type_name, count=count, data=data)


def _pack(atomic: Atomic, items: list[Any]) -> bytes:
    make = _convert_real if atomic.is_float else _check_range
    return struct.pack(f"<{len(items)}{atomic.code}", *(make(item, atomic) for item in items))


def _check_range(item: Any, atomic: Atomic) -> int:
    number = _convert_integer(item, f"type {atomic.name}")
    if not atomic.low <= number <= atomic.high:
        text = f"{number} does not fit type {atomic.name} ({atomic.low} .. {atomic.high})"
        raise UnsuitedValueError("value-range", text)
    return number


def _convert_integer(item: Any, what: str) -> int:
    _refuse_bool(item)
    if isinstance(item, float) and item.is_integer():
        return int(item)
    try:
        return operator.index(item)
    except TypeError:
        pass
    if isinstance(item, float):
        raise UnsuitedValueError("value-range", f"{item!r} cannot be stored in {what}")
    raise UnsuitedValueError("type-mismatch", f"{_show(item)} cannot be stored in {what}")


def _convert_real(item: Any, atomic: Atomic) -> float:
    _refuse_bool(item)
    if isinstance(item, str | bytes) or item is None:
        raise UnsuitedValueError("type-mismatch", f"{_show(item)} cannot be stored in type {atomic.name}")
    try:
        number = float(item)
        if math.isfinite(number):
            struct.pack(f"<{atomic.code}", number)
    except OverflowError:
        raise UnsuitedValueError("value-range", f"{_show(item)} does not fit type {atomic.name}") from None
    except (TypeError, ValueError):
        raise UnsuitedValueError("type-mismatch", f"{_show(item)} cannot be stored in type {atomic.name}") from None
    return number


def _refuse_bool(item: Any) -> None:
    """Raise UnsuitedValueError for values that Python treats as numbers: booleans, durations, masked items."""
    if isinstance(item, bool):
        raise UnsuitedValueError("type-mismatch", f"{item} is a boolean, which netCDF does not support; write 0 or 1")
    dtype = getattr(item, "dtype", None)
    if dtype is None:
        return
    kind = getattr(dtype, "kind", "")
    if kind == "b":
        raise UnsuitedValueError("type-mismatch", f"{item} is a boolean, which netCDF does not support; write 0 or 1")
    if kind in ("M", "m"):
        raise UnsuitedValueError("type-mismatch", f"{dtype} is not a netCDF type")
    if hasattr(item, "filled"):  # of numpy.ma alone
        raise UnsuitedValueError("type-mismatch", "an item is masked and has no fill value")


def _encode_chars(value: Any) -> bytes:
    if isinstance(value, list | tuple):
        return b"".join(map(_encode_chars, value))
    if hasattr(value, "dtype") and value.dtype.kind == "S" and value.dtype.itemsize == 1:
        return bytes(value.tobytes())
    if isinstance(value, str | bytes):
        return _encode(value)
    raise UnsuitedValueError("type-mismatch", f"{_show(value)} is not text, and the type is char")


def _character(item: Any) -> bytes:
    data = _encode_chars(item) or b"\0"
    if len(data) != 1:
        raise UnsuitedValueError("bad-char-constant", f"{_show(item)} is {len(data)} bytes long; a char is one byte")
    return data


def _encode(text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise UnsuitedValueError(
            "invalid-utf8", f"{_show(text)} contains a lone surrogate; give bytes instead"
        ) from None


def string(item: Any) -> bytes | None:
    """Return a text as bytes, None for NIL. Raises UnsuitedValueError."""
    if item is None or isinstance(item, str | bytes):
        return None if item is None else _encode(item)
    raise UnsuitedValueError("type-mismatch", f"{_show(item)} is not a string")


def _find_enum_value(item: Any, named: Mapping[str, int], enum: str) -> int:
    if isinstance(item, str):
        if item not in named:
            listed = ", ".join(list(named)[:10])
            text = f"`{item}` is not a constant of enum `{enum}`, which has: {listed}"
            raise UnsuitedValueError("undefined-enum-constant", text)
        return named[item]
    return _convert_integer(item, f"enum `{enum}`")


def _check_opaque(item: Any, declared: OpaqueType) -> bytes:
    if not isinstance(item, bytes):
        raise UnsuitedValueError("type-mismatch", f"{_show(item)} is not bytes, and `{declared.name}` is opaque")
    if len(item) != declared.size:
        text = f"{len(item)} bytes are given for opaque({declared.size}) `{declared.name}`"
        raise UnsuitedValueError("opaque-length", text)
    return item


def _convert_vlen(item: Any, declared: VlenType, types: Types) -> Constant:
    if declared.base == "char":
        return Constant.text(_encode_chars(item))
    if not isinstance(item, list | tuple) and not hasattr(item, "tolist"):
        text = f"{_show(item)} is not a list, as required for a value of vlen `{declared.name}`"
        raise UnsuitedValueError("missing-braces", text)
    return values(_list_items(item) if not isinstance(item, tuple) else item, declared.base, types)


def _convert_record(item: Any, declared: CompoundType, types: Types) -> list[Constant]:
    """Return one constant per field. A dict names every field; a tuple lists them in order."""
    fields = declared.fields
    if isinstance(item, dict):
        unknown = sorted(set(item) - {field.name for field in fields})
        if unknown:
            raise UnsuitedValueError("undefined-field", f"`{unknown[0]}` is not a field of compound `{declared.name}`")
        field_values = [item.get(field.name, ...) for field in fields]
    elif isinstance(item, tuple | list):
        field_values = [*item, *[...] * (len(fields) - len(item))]
    else:
        text = f"{_show(item)} is not a record of compound `{declared.name}`: give a dict or tuple"
        raise UnsuitedValueError("missing-braces", text)
    if len(field_values) > len(fields):
        message = f"compound `{declared.name}` has {len(fields)} fields, {len(field_values)} values are given"
        raise UnsuitedValueError("too-many-values", message)
    out = []
    for field, value in zip(fields, field_values, strict=True):
        if value is ...:
            raise UnsuitedValueError(
                "expected-value", f"field `{field.name}` of compound `{declared.name}` has no value"
            )
        size = math.prod(field.shape)
        items = _flat(value, len(field.shape)) if field.shape else [value]
        if field.type == "char" and field.shape and isinstance(value, str | bytes):
            items = [bytes([byte]) for byte in _encode_chars(value).ljust(size, b"\0")]
        if len(items) != size:
            raise UnsuitedValueError(
                "too-many-values", f"field `{field.name}` holds {size} values, {len(items)} are given"
            )
        out.append(values(items, field.type, types))
    return out


def _flat(value: Any, depth: int) -> list[Any]:
    """Return the items of a nested list of `depth` levels in C order."""
    items = _list_items(value)
    return (
        items if depth <= 1 or hasattr(value, "dtype") else [leaf for item in items for leaf in _flat(item, depth - 1)]
    )


def _show(item: Any) -> str:
    text = repr(item).replace("\n", " ")
    return f"`{text[:40]}…`" if len(text) > 41 else f"`{text}`"
