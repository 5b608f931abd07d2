"""Constants of the tree as Python and NumPy values."""

from __future__ import annotations

from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import numpy_dtype
from nczarr.arrays.values.parts import Types, descr, is_fixed
from nczarr.ast import CompoundType, Constant
from nczarr.select.reader import dtype_of


def without_padding(value: Any) -> Any:
    """Return the value of an attribute; texts lack the NULs at their end, which are padding."""
    if isinstance(value, list):
        return [without_padding(element) for element in value]
    return value.rstrip("\0") if isinstance(value, str) else value


def value_of(constant: Constant, types: Types) -> Any:
    """Return a constant as a Python value.

    char: one `str`. Strings: a `str`, or a list of them; NIL is None. All other
    types: one value as a NumPy scalar, several as an array of one dimension, in
    the dtypes of `PartAssembler.box`. A value of a vlen is an array.
    """
    data = constant.data
    if constant.type == "char" and isinstance(data, bytes):
        return _text(data)
    if constant.type == "string":
        texts = [_text(text) if isinstance(text, bytes) else None for text in data]
        return texts[0] if len(texts) == 1 else texts
    values = array_of(constant, types)
    return values[0] if constant.count == 1 else values


def array_of(constant: Constant, types: Types) -> NDArray[Any]:
    """Return the values of a constant, in one dimension. For the dtypes see `PartAssembler.box`."""
    declared, data = types.get(constant.type), constant.data
    if isinstance(data, bytes) and is_fixed(constant.type, types):
        return np.frombuffer(data, numpy_dtype(descr(constant.type, types))).copy()
    out = np.empty(constant.count, dtype_of(constant.type, types))
    if constant.type == "string":
        for number, text in enumerate(data):
            out[number] = _text(text) if isinstance(text, bytes) else None
        return out
    items = [array_of(nested, types) for nested in data if isinstance(nested, Constant)]
    if not isinstance(declared, CompoundType):
        for number, item in enumerate(items):
            out[number] = item
        return out
    width = len(declared.fields)
    for place, field in enumerate(declared.fields):
        for number in range(constant.count):
            item = items[number * width + place]
            out[field.name][number] = item.reshape(field.shape) if field.shape else item[0]
    return out


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
