"""Checked datasets made by hand, for tests of what comes after the passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nczarr import names
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import ArraySource, Layout, Parts, numpy_dtype
from nczarr.arrays.values.parts import descr, is_fixed, size
from nczarr.ast import ATOMIC, CompoundType, Constant, Dataset, EnumType, UserType, VlenType
from nczarr.ast.dataset import groups
from nczarr.semantics.checked import Checked

DEFAULT_FILLS = {"byte": -127, "ubyte": 255, "short": -32767, "ushort": 65535, "int": -2147483647, "uint": 4294967295,
                 "int64": -9223372036854775806, "uint64": 18446744073709551614, "float": 9.969209968386869e36,
                 "double": 9.969209968386869e36}  # fmt: skip


def checked(dataset: Dataset, data: Mapping[str, Any] | None = None) -> Checked:
    """A tree that is right already, with its facts; `data`: an array, or a dict of them by part, by FQN."""
    found = dict(groups(dataset))
    types = {names.join(path, item.name): item for path, group in found.items() for item in group.types}
    dimensions = {names.join(path, item.name): item for path, group in found.items() for item in group.dimensions}
    variables = {names.join(path, item.name): item for path, group in found.items() for item in group.variables}
    shapes = {
        path: tuple(ref if isinstance(ref, int) else dimensions[ref].size for ref in item.dimensions)
        for path, item in variables.items()
    }
    fills = {}
    for path, item in variables.items():
        own = [attribute.value for attribute in item.attributes if attribute.name == "_FillValue"]
        fills[path] = own[0] if own else default_fill(item.type, types)
    parts: dict[str, Parts] = {}
    for path, values in (data or {}).items():
        by_part = values if isinstance(values, dict) else {"": values}
        parts[path] = {
            part: source(value, fills[path], variables[path].type, part, types) for part, value in by_part.items()
        }
    return Checked(dataset, found, types, dimensions, variables, shapes, fills, parts)


def default_fill(type_name: str, types: Mapping[str, UserType]) -> Constant | None:
    declared = types.get(type_name)
    if type_name == "string":
        return Constant.strings([b""])
    if type_name == "char":
        return Constant.text(b"\0")
    if type_name in ATOMIC:
        return Constant.numbers(type_name, [DEFAULT_FILLS[type_name]])
    if isinstance(declared, EnumType):
        return None
    if isinstance(declared, VlenType):
        return Constant(type=type_name, count=1, data=(Constant(type=declared.base, count=0, data=b""),))
    if isinstance(declared, CompoundType) and not is_fixed(type_name, types):
        return None
    return Constant(type=type_name, count=1, data=bytes(size(type_name, types)))


def source(values: Any, fill: Constant | None, type_name: str, part: str, types: Mapping[str, UserType]) -> ArraySource:
    """An array in memory; a ready source stays what it is."""
    if hasattr(values, "layout"):
        return values  # type: ignore[no-any-return]
    array = np.asarray(values)
    if array.dtype.hasobject:
        element = fill.data[0] if part == "" and fill is not None else b""
        return ArrayInMemory(Layout("|O", array.shape, array.shape, (), element), array)
    kind = descr(type_name, types) if part == "" else array.dtype.str
    array = array.astype(numpy_dtype(kind))
    element = fill.data if part == "" and fill is not None else None
    return ArrayInMemory(Layout(kind, array.shape, array.shape, (), element), array)
