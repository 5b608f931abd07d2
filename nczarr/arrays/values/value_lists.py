"""Columns: values of one list as runs, and their conversion to arrays; validation of constants against types.

A run is a stretch of values at one place of the leading dimensions. Its
position is known only when all lists are read and every unlimited dimension has
its length. Then `make_arrays` makes one array source per part (arrays/values/parts.py),
sparse where the list was.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Sequence
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import number_of
from nczarr.arrays.sources.memory import GivenValues, Runs
from nczarr.arrays.sources.source import ArraySource, Layout, Parts
from nczarr.arrays.values.parts import ListTree, PartLeaf, Types, descr, is_fixed, part_tree, size, spread
from nczarr.ast import ATOMIC, CompoundType, Constant, Field, TypeName, VlenType
from nczarr.names.records import NamedTuple


def find_problem(constant: Constant, types: Types) -> str | None:
    """Return what is wrong with a constant's data, or None; its type is atomic or in the sound `types`.

    `Constant` validates atomic types; this function validates user types
    recursively.
    """
    name, data = constant.type, constant.data
    declared = types.get(name)
    if declared is None:
        return None if name in ATOMIC else f"type `{name}` is not declared"
    if is_fixed(name, types):
        byte_count = constant.count * size(name, types)
        if isinstance(data, bytes) and len(data) == byte_count:
            return None
        return f"{constant.count} values of `{name}` take {byte_count} bytes"
    nested = [] if isinstance(data, bytes) else [item for item in data if isinstance(item, Constant)]
    if isinstance(data, bytes) or len(nested) != len(data):
        return f"values of `{name}` are constants, one an element or field"
    expected: list[tuple[str, int | None]]
    if isinstance(declared, VlenType):
        expected = [(declared.base, None)]
    else:
        assert isinstance(declared, CompoundType)  # enums and opaques are fixed
        expected = [(field.type, math.prod(field.shape)) for field in declared.fields]
    if len(nested) != constant.count * len(expected):
        return f"{constant.count} values of `{name}` take {constant.count * len(expected)} constants, not {len(nested)}"
    for item, (type_name, count) in zip(nested, itertools.cycle(expected), strict=False):
        if item.type != type_name:
            return f"a part of `{name}` has type `{type_name}`, not `{item.type}`"
        if count is not None and item.count != count:
            return f"a field of `{name}` has {count} values, not {item.count}"
        inside = find_problem(item, types)
        if inside is not None:
            return inside
    return None


class ListRuns:
    """Runs of one list: `prefixes[i]` is run i's place in the leading dimensions, `lengths[i]` its length.

    `extents`: the required length of each dimension; `values`: the runs' values
    in order, as constants, or (bulk numbers) as one NumPy array each.
    """

    __slots__ = ("extents", "lengths", "prefixes", "values")

    def __init__(self, extents: list[int]) -> None:
        self.extents = extents
        self.prefixes: list[tuple[int, ...]] = []
        self.lengths: list[int] = []
        self.values: list[Constant | NDArray[Any]] = []

    def add(self, prefix: tuple[int, ...], length: int, values: Constant | NDArray[Any]) -> None:
        """Append a run of `length` values: a constant, or numbers of shape (length,) in the variable's dtype."""
        self.prefixes.append(prefix)
        self.lengths.append(length)
        self.values.append(values)

    def starts(self, shape: tuple[int, ...]) -> list[int]:
        """Return the linear index of each run's first element in this shape."""
        zeros = (0,) * len(shape)
        return [number_of((*prefix, *zeros[len(prefix) :]), shape) for prefix in self.prefixes]


FILLED_LIMIT = 1 << 22
"""Maximum elements to write out for a variable-size fill value; more are refused (`no-fill-value`)."""


def is_plain_fill(fill: Constant | None, types: Types) -> bool:
    """Return whether one element per part describes a fill value: no vlen content, no unequal array elements."""
    if fill is None or is_fixed(fill.type, types) or fill.type == "string":
        return True
    items = [item for item in fill.data if isinstance(item, Constant)]
    if isinstance(types.get(fill.type), VlenType):
        return all(item.count == 0 for item in items)
    return all(
        is_plain_fill(item, types) if not is_fixed(item.type, types) and item.type != "string" else _is_even(item)
        for item in items
    )


def _is_even(constant: Constant) -> bool:
    """Return whether all values of a fixed-size or string constant are equal."""
    width = len(constant.data) // max(constant.count, 1)
    return constant.data == constant.data[:width] * constant.count


def fill_missing(columns: ListRuns, fill: Constant, shape: tuple[int, ...]) -> ListRuns:
    """Return the columns as one run, with the fill value for missing elements."""
    total = math.prod(shape)
    width = len(fill.data)
    items: list[Any] = list(fill.data) * total
    for start, length, values in zip(columns.starts(shape), columns.lengths, columns.values, strict=True):
        if isinstance(values, Constant):
            items[start * width : (start + length) * width] = values.data
    whole = ListRuns(columns.extents)
    whole.add((), total, Constant(type=fill.type, count=total, data=tuple(items)))
    return whole


def make_arrays(
    columns: ListRuns, type_name: TypeName, shape: tuple[int, ...], types: Types, fill: Constant | None
) -> Parts:
    """Return a variable's array sources from its columns."""
    starts = columns.starts(shape)
    first = columns.values[0] if columns.values else None
    if first is not None and not isinstance(first, Constant):
        layout = Layout(descr(type_name, types), shape, shape, fill=_to_bytes(fill))
        return {"": _place_runs(layout, starts, columns.lengths, first)}
    constants = [value for value in columns.values if isinstance(value, Constant)]
    return _to_arrays(_Given(join(type_name, constants, types), starts, columns.lengths, shape, fill), types)


def constant_parts(constant: Constant, shape: tuple[int, ...], types: Types, fill: Constant | None = None) -> Parts:
    """Return a variable's array sources from one constant of all (or its first) values."""
    return _to_arrays(_Given(constant, [0], [constant.count], shape, fill), types)


def _place_runs(layout: Layout, starts: list[int], lengths: Sequence[int], data: bytes | tuple[Any, ...] | Any) -> Runs:
    return Runs(layout, starts, [0, *itertools.accumulate(lengths)], GivenValues(layout.dtype, data))


def _to_bytes(fill: Constant | None) -> bytes | None:
    """Return a fill value as stored: packed bytes, or a string's text."""
    if fill is None:
        return None
    if isinstance(fill.data, bytes):
        return fill.data
    first = fill.data[0] if fill.data else None
    return first if isinstance(first, bytes) else b""


def join(type_name: TypeName, values: Sequence[Constant], types: Types) -> Constant:
    """Concatenate constants of one type."""
    count = sum(value.count for value in values)
    if len(values) == 1:
        return values[0]
    if is_fixed(type_name, types):
        return Constant(type=type_name, count=count, data=b"".join(value.data for value in values))  # type: ignore[misc]
    items = tuple(item for value in values for item in value.data)
    return Constant(type=type_name, count=count, data=items)  # type: ignore[arg-type]


class _Given(NamedTuple):
    """Values of one array, or of the arrays below it, as runs."""

    constant: Constant
    """The values."""
    starts: list[int]
    """Linear index of each run."""
    lengths: Sequence[int]
    shape: tuple[int, ...]
    fill: Constant | None = None
    """Value between runs."""


def _to_arrays(whole: _Given, types: Types) -> Parts:
    """Convert one constant to the arrays of its type."""

    def make_array(leaf: PartLeaf, placed: _Given) -> ArraySource:
        """Return one array of the type: the runs of values, and the fill value between them."""
        constant, shape, fill = placed.constant, placed.shape, _to_bytes(placed.fill)
        dtype = descr(leaf.type, types)
        if leaf.counts:
            counts = [item.count for item in constant.data if isinstance(item, Constant)]
            values = struct.pack(f"<{len(counts)}q", *counts)
            return _place_runs(Layout(dtype, shape, shape, fill=bytes(8)), placed.starts, placed.lengths, values)
        if leaf.type == "string" and fill is None:
            fill = b""
        layout = Layout(dtype, shape, shape, fill=fill)
        return _place_runs(layout, placed.starts, placed.lengths, constant.data)

    def elements(tree: ListTree, placed: _Given) -> _Given:
        lists = [item for item in placed.constant.data if isinstance(item, Constant)]
        content = join(tree.base, lists, types)
        return _Given(content, [0], [content.count], (content.count,))

    def select_field(number: int, field: Field, placed: _Given) -> _Given:
        """Return the values of one field of all records, with runs of its elements."""
        declared = types[placed.constant.type]
        assert isinstance(declared, CompoundType)
        items = placed.constant.data[number :: len(declared.fields)]
        values = join(field.type, [item for item in items if isinstance(item, Constant)], types)
        count = math.prod(field.shape)
        starts, lengths = ([count * number for number in numbers] for numbers in (placed.starts, placed.lengths))
        return _Given(values, starts, lengths, (*placed.shape, *field.shape), _field_fill(placed.fill, number))

    return dict(spread(part_tree(whole.constant.type, types), whole, make_array, elements, select_field))


def _field_fill(fill: Constant | None, index: int) -> Constant | None:
    """Return the fill of one field, if equal for all elements of an array field."""
    if fill is None or not isinstance(fill.data, tuple) or index >= len(fill.data):
        return None
    item = fill.data[index]
    if not isinstance(item, Constant) or item.count == 0:
        return None
    if isinstance(item.data, bytes):
        width = len(item.data) // item.count
        return Constant(type=item.type, count=1, data=item.data[:width]) if _is_even(item) else None
    if item.type == "string":
        return Constant.strings(item.data[:1])  # type: ignore[arg-type]
    return item
