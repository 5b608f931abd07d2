"""Constants as arrays in memory, and arrays compared bit for bit."""

from __future__ import annotations

import math
from typing import Any

from nczarr.arrays.memory import ArrayInMemory
from nczarr.arrays.parts import Types, descr, escape, is_fixed
from nczarr.arrays.source import Layout, NDArray, Parts, little, numpy_dtype
from nczarr.ast import CompoundType, Constant, VlenType


def parts_of(constant: Constant, shape: tuple[int, ...], types: Types) -> Parts:
    """The arrays of a variable of this shape with the constant's values. Raises ValueError if the count differs."""
    if constant.count != math.prod(shape):
        raise ValueError(f"{constant.count} values do not make an array of shape {shape}")
    parts: Parts = {}
    _add(parts, "", constant, shape, types)
    return parts


def _add(parts: Parts, path: str, constant: Constant, shape: tuple[int, ...], types: Types) -> None:
    import numpy as np

    name, data = constant.type, constant.data
    inside = path + "/" if path else ""
    declared = types.get(name)
    if name == "string" or is_fixed(name, types):
        dtype = descr(name, types)
        if isinstance(data, bytes):
            values = np.frombuffer(data, numpy_dtype(dtype)).reshape(shape)
        else:
            values = np.empty(len(data), object)
            values[:] = data
            values = values.reshape(shape)
        parts[path] = ArrayInMemory(Layout(dtype, shape, shape), values)
        return
    items = [item for item in data if isinstance(item, Constant)] if isinstance(data, tuple) else []
    if isinstance(declared, VlenType):
        counts = np.array([item.count for item in items], "<i8").reshape(shape)
        parts[inside + "counts"] = ArrayInMemory(Layout("<i8", shape, shape), counts)
        content = _joined(declared.base, items, types)
        _add(parts, inside + "content", content, (content.count,), types)
    elif isinstance(declared, CompoundType):
        width = len(declared.fields)
        for at, field in enumerate(declared.fields):
            member = _joined(field.type, items[at::width], types)
            _add(parts, inside + escape(field.name), member, (*shape, *field.shape), types)


def _joined(type_name: str, items: list[Constant], types: Types) -> Constant:
    """One constant with the values of all, in order."""
    count = sum(item.count for item in items)
    if type_name != "string" and is_fixed(type_name, types):
        packed = b"".join(item.data for item in items if isinstance(item.data, bytes))
        return Constant(type=type_name, count=count, data=packed)
    values: list[Any] = []
    for item in items:
        values.extend(item.data)
    return Constant(type=type_name, count=count, data=tuple(values))


def differences(one: Parts, other: Parts) -> list[str]:
    """What differs between the arrays of two variables, a line a part; the empty list if all bits are equal."""
    found = [f"part {path!r} is only in one" for path in sorted(one.keys() ^ other.keys())]
    for path in sorted(one.keys() & other.keys()):
        first, second = whole(one, path), whole(other, path)
        if first.dtype != second.dtype or first.shape != second.shape:
            found.append(f"part {path!r}: {first.dtype}{first.shape} against {second.dtype}{second.shape}")
        elif first.tolist() != second.tolist() if first.dtype.hasobject else first.tobytes() != second.tobytes():
            found.append(f"part {path!r}: {first.tolist()} against {second.tolist()}")
    return found


def whole(parts: Parts, path: str = "") -> NDArray[Any]:
    """All values of one part, little-endian."""
    source = parts[path]
    return little(source.read(tuple(slice(0, length) for length in source.layout.shape)))
