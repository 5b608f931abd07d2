"""Conversion of canonical columns to model types and arrays, the inverse of `backend.py`.

`ColumnTypes` infers types: numbers, strings, vlens for lists, compounds for tables.
`to_arrays` returns the parts of a type. `arrays/values/elements.py` covers element types
that the model lacks; dates and times become integers with a unit attribute.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from nczarr import names
from nczarr.arrays.chunks.grid import convert
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import numpy_dtype
from nczarr.arrays.values.elements import UNITS, declare_type, element_of, is_element, model_dtype
from nczarr.arrays.values.parts import NUMPY, PartTree, Types, descr
from nczarr.ast import CompoundType, Field, OpaqueType, VlenType
from nczarr.ast.node import TypeName
from nczarr.ast.types import MAX_DEPTH, DeclaredTypes
from nczarr.names import name_problem
from nczarr.plugins.awkward0.columns.canonical import NoVariableError, plain
from nczarr.plugins.awkward0.columns.nodes import Column, Flat, ListNode, Masked, Spans, TableNode, TextNode, regular
from nczarr.plugins.common.part_arrays import UnsuitedError, arrays_of, shape_values
from nczarr.semantics.check_types import default_fill

_KINDS = {code[1:]: name for name, code in NUMPY.items() if code[1] in "iuf"}

MOST_TYPES = 1 << 16
"""Maximum number of types in one type, repetitions included."""


def list_units(column: Column) -> Iterator[tuple[str, str]]:
    """Yield the units of dates (in CF words) and times, each with its dotted member path, empty for all items."""
    match column:
        case Masked() | ListNode():
            yield from list_units(column.content)
        case TableNode():
            for name, inner in _fields(column):
                yield from ((_join(name, path), unit) for path, unit in list_units(inner))
        case Flat():
            yield from _list_dtype_units(column.values.dtype)
        case _:
            return


def _list_dtype_units(dtype: np.dtype[Any]) -> Iterator[tuple[str, str]]:
    """Yield the path of each time or interval in the dtype ("" for the dtype itself), and its CF units."""
    for name in dtype.names or ():
        yield from ((_join(name, path), unit) for path, unit in _list_dtype_units(dtype[name].base))
    if dtype.kind in "mM":
        unit, many = np.datetime_data(dtype)
        if unit in UNITS:  # generic ones have none
            interval = UNITS[unit] if many == 1 else f"{many} {UNITS[unit]}"
            yield "", f"{interval} since 1970-01-01" if dtype.kind == "M" else interval


def _join(name: str, path: str) -> str:
    return f"{name}.{path}" if path else name


class ColumnTypes(DeclaredTypes):
    """Type declarations of one group. `masks`: places of missing items that no value can represent."""

    longest = 200

    def __init__(self, path: str, reserved: Iterable[str] = ()) -> None:
        super().__init__(path, map(names.normal, reserved))
        self.masks: list[str] = []

    def reserve(self, reserved: Iterable[str]) -> None:
        """Reserve names that other items of the group use."""
        self.taken.update(map(names.normal, reserved))

    @property
    def known(self) -> Types:
        """Types by FQN."""
        return {names.join(self.path, name): user_type for name, user_type in self.types.items()}

    def of(self, column: Column, name: str) -> TypeName:
        """Return the item type of a canonical column; `name`: its variable or member. Raises NoVariableError."""
        match column:
            case Masked():
                if not _has_nil(column.content):
                    self.masks.append(name)
                return self.of(column.content, name)
            case Flat() if column.values.ndim > 1:
                return self._vlen(self.of(rows(column).content, f"{name}_item"), name)
            case Flat():
                return self.element(column.values.dtype, name)
            case TextNode():
                return "string" if column.encoding is not None else self._vlen("ubyte", name)
            case ListNode():
                return self._vlen(self.of(column.content, f"{name}_item"), name)
            case TableNode():
                return self._compound(
                    [(member, *self._field(inner, f"{name}_{member}")) for member, inner in _fields(column)], name
                )
            case _:
                raise AssertionError(column)

    def element(self, dtype: np.dtype[Any], name: str) -> TypeName:
        """Return the type of fixed-size elements. Raises NoVariableError."""
        if dtype.names is not None:
            fields = []
            for member in dtype.names:
                inner = dtype[member]
                base, shape = inner.base, inner.shape
                if base.kind == "S":
                    fields.append((member, "char", (*shape, base.itemsize)))
                else:
                    fields.append((member, self.element(base, f"{name}_{member}"), shape))
            return self._compound(fields, name)
        kind = dtype.kind
        if kind in "SU":
            return "string"
        if kind in "mM":
            return "int64"
        if kind == "V" and dtype.itemsize:
            return self.share(OpaqueType(name=f"opaque_{dtype.itemsize}", size=dtype.itemsize))
        element = element_of(dtype.newbyteorder("<").str)
        if element is not None and element != "float16":
            return self.share(declare_type(element, element))
        type_name = _KINDS.get(f"{kind}{dtype.itemsize}") if element is None else "float"
        if type_name is None:
            raise NoVariableError("unreadable-array", f"the model has no type for elements {dtype}")
        return type_name

    def _field(self, column: Column, name: str) -> tuple[TypeName, tuple[int, ...]]:
        """Return type and shape of a member; rows of elements become an array field."""
        if isinstance(column, Flat) and column.values.ndim > 1 and column.values.dtype.kind not in "SU":
            return self.element(column.values.dtype, name), column.values.shape[1:]
        return self.of(column, name), ()

    def _compound(self, fields: list[tuple[str, TypeName, tuple[int, ...]]], name: str) -> TypeName:
        """Declare a compound type with members (name, type, shape), and return its name."""
        if not fields:
            raise NoVariableError("unreadable-array", "records without members")
        for member, _, shape in fields:
            problem = name_problem(member)
            if problem is not None or 0 in shape:
                raise NoVariableError("unreadable-array", f"a member of a record: {problem or 'rows of no elements'}")
        if len({names.normal(member) for member, _, _ in fields}) < len(fields):
            raise NoVariableError("duplicate-name", "members of a record have the same name in NFC")
        members = tuple(Field(name=names.normal(member), type=inner, shape=shape) for member, inner, shape in fields)
        return self.declare(CompoundType(name=self.free(f"{name}_t"), fields=members))

    def _vlen(self, base: TypeName, name: str) -> TypeName:
        return self.declare(VlenType(name=self.free(f"{name}_t"), base=base))


def _has_nil(column: Column) -> bool:
    """Return whether items become strings, which may be missing."""
    if isinstance(column, Flat):
        return column.values.ndim == 1 and column.values.dtype.kind in "SU"
    return isinstance(column, TextNode) and column.encoding is not None


def check_resolved(type_name: TypeName, types: Types) -> None:
    """Check that a type resolves completely. Raises NoVariableError for missing, recursive or too many types."""
    pending, seen = [(type_name, 0)], 0
    while pending:
        (name, depth), seen = pending.pop(), seen + 1
        declared = types.get(name)
        if declared is None and name not in NUMPY and name != "string":
            raise UnsuitedError(f"unknown type `{name}`")
        if seen > MOST_TYPES or depth > MAX_DEPTH:
            raise UnsuitedError(f"type `{type_name}` has too many parts, or contains itself")
        match declared:
            case VlenType():
                pending.append((declared.base, depth + 1))
            case CompoundType():
                pending.extend((field.type, depth + 1) for field in declared.fields)


def rows(column: Flat) -> ListNode:
    """Return rows of elements as lists."""
    values = column.values
    count, length = values.shape[:2]
    return regular(Flat(values.reshape(count * length, *values.shape[2:])), count, length)


def to_arrays(
    column: Column, tree: PartTree, shape: tuple[int, ...], types: Types
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield path and array of each part of a type, in the order of `nczarr.arrays.values.parts.parts`.

    An array has the shape of its part and a packed little-endian dtype; counts
    are int64, strings objects (`bytes | None`). Raises UnsuitedError if the type
    or number of items does not match.
    """

    def leaf(column: Column, type_name: TypeName, shape: tuple[int, ...]) -> NDArray[Any]:
        return _texts(column, shape) if type_name == "string" else _elements(column, type_name, types, shape)

    def lists(column: Column, shape: tuple[int, ...]) -> tuple[NDArray[Any], Column]:
        node = _lists(column)
        return np.diff(node.offsets), node.content

    def members(column: Column, fields: list[Field]) -> Iterator[Column]:
        table = _records(column)
        if table is None or len(table.columns) != len(fields):
            raise UnsuitedError(f"it does not contain records with {len(fields)} members")
        return (_flatten(values, field.shape) for field, values in zip(fields, table.columns, strict=True))

    return arrays_of(tree, column, shape, leaf=leaf, lists=lists, members=members)


def _records(column: Column) -> TableNode | None:
    """Return records as a table, None if they are not records. Members of missing records are missing."""
    if isinstance(column, Masked):
        inner = _records(column.content)
        if inner is None:
            return None
        columns = tuple(_missing(column.mask, inner_column) for inner_column in inner.columns)
        return TableNode(inner.names, columns, len(inner))
    if isinstance(column, Flat) and column.values.dtype.names is not None:
        values, members = column.values, column.values.dtype.names
        return TableNode(members, tuple(Flat(values[member]) for member in members), len(values))
    return column if isinstance(column, TableNode) else None


def _missing(mask: NDArray[Any], column: Column) -> Masked:
    """Return a column with additional missing items. `mask`: bool, shape (items,), True for missing items."""
    return Masked(mask | column.mask, column.content) if isinstance(column, Masked) else Masked(mask, column)


def _flatten(column: Column, shape: tuple[int, ...]) -> Column:
    """Flatten a column of rows (elements or lists)."""
    if isinstance(column, Masked) and shape:
        inner = _flatten(column.content, shape)
        return Masked(_spread(column.mask, len(inner)), inner)
    for length in shape:
        if isinstance(column, Flat):
            return column
        lists = _lists(column)
        if not bool((lists.offsets[1:] - lists.offsets[:-1] == length).all()):
            raise UnsuitedError(f"a member does not have {length} items")
        column = lists.content
    return column


def _spread(mask: NDArray[Any], count: int) -> NDArray[Any]:
    """Repeat each item of a mask to a total of `count`: bool, shape (count,)."""
    return mask.repeat(count // max(1, len(mask)))


def _lists(column: Column) -> ListNode:
    """Return a column as lists; missing ones are empty."""
    if isinstance(column, Masked):
        inner = _lists(column.content)
        starts, stops = inner.offsets[:-1], np.where(column.mask, inner.offsets[:-1], inner.offsets[1:])
        lists = plain(Spans(starts, stops, inner.content))
        assert isinstance(lists, ListNode)
        return lists
    if isinstance(column, TextNode):
        return _lists(column.bytes)
    if isinstance(column, Flat) and column.values.ndim > 1:
        return rows(column)
    if not isinstance(column, ListNode):
        raise UnsuitedError("it does not contain lists")
    return column


def _texts(column: Column, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return texts as objects (`bytes | None`) in this shape.

    Raises UnsuitedError if the column has other values.
    """
    mask = column.mask if isinstance(column, Masked) else None
    inner = column.content if isinstance(column, Masked) else column
    if isinstance(inner, Flat) and inner.values.dtype.kind in "SU":
        flat = inner.values.reshape(-1)
        items: list[bytes | None] = [text if isinstance(text, bytes) else text.encode() for text in flat.tolist()]
    elif isinstance(inner, TextNode):
        lists = _lists(inner.bytes)
        assert isinstance(lists.content, Flat)
        data, ends = lists.content.values.tobytes(), lists.offsets.tolist()
        items = [data[start:stop] for start, stop in itertools.pairwise(ends)]
        if inner.encoding not in (None, "utf-8", "ascii"):
            items = [
                data.decode(inner.encoding, "surrogateescape").encode("utf-8", "surrogateescape")
                for data in items
                if data is not None
            ]
    else:
        raise UnsuitedError("it does not contain strings")
    out = np.empty(len(items), dtype=object)
    out[:] = items
    if mask is not None:
        out[_spread(mask, len(out))] = None
    return shape_values(out, shape)


def _elements(column: Column, type_name: TypeName, types: Types, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return values of a fixed-size type in this shape, in its packed little-endian dtype.

    Missing items are zero. Raises UnsuitedError if the column has other
    values.
    """
    dtype = numpy_dtype(descr(type_name, types))
    if isinstance(column, Masked):
        elements = _elements(column.content, type_name, types, shape).copy()
        elements.reshape(-1)[_spread(column.mask, elements.size)] = np.zeros((), elements.dtype)
        return elements
    declared = types.get(type_name)
    table = None if isinstance(column, Flat) and column.values.dtype == dtype else _records(column)
    if table is not None:
        if not isinstance(declared, CompoundType) or len(table.columns) != len(declared.fields):
            raise UnsuitedError(f"it does not contain values of type `{type_name}`")
        out = np.zeros(shape, dtype)
        for field, inner in zip(declared.fields, table.columns, strict=True):
            out[field.name] = _elements(inner, field.type, types, (*shape, *field.shape))
        return out
    if isinstance(column, ListNode):  # rows of no elements, or of records
        column = _flatten(column, (0,)) if not len(column) else column
    if not isinstance(column, Flat):
        raise UnsuitedError(f"it does not contain values of type `{type_name}`")
    values = column.values
    if values.dtype.kind in "mM":
        values = values.astype(values.dtype.newbyteorder("<")).view("<i8")
    elif values.dtype.kind == "S" and type_name == "char":
        values = np.ascontiguousarray(values).view("S1")
    elif values.dtype.names is None and not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("<"))
    if not values.size:
        return shape_values(np.zeros(0, dtype), shape)
    model = model_dtype(values.dtype.str) if values.dtype.names is None else None
    suits = model == descr(type_name, types) if model is not None else values.dtype.itemsize == dtype.itemsize
    if not suits:
        raise UnsuitedError(f"it contains {values.dtype}, but values of type `{type_name}` are {dtype}")
    return shape_values(convert(np.ascontiguousarray(values), descr(type_name, types)), shape)


def _fields(table: TableNode) -> list[tuple[str, Column]]:
    return list(zip(table.names, table.columns, strict=True))


def free_value(values: NDArray[Any], mask: NDArray[Any]) -> tuple[NDArray[Any], Flat] | None:
    """Return an unused fill value (one little-endian element) and the values, filled where `mask` is true.

    `values`: shape (items,), any dtype; `mask`: bool, shape (items,). Returns
    None for non-numeric types or if all values are used. Tries netCDF's default
    fill first, which readers recognize without an attribute.
    """
    plain = values.astype("<i8") if values.dtype.kind in "mM" else values
    halves = plain.dtype.kind == "f" and plain.dtype.itemsize == 2
    if halves:
        plain = plain.astype("<f4")
    name = _KINDS.get(f"{plain.dtype.kind}{plain.dtype.itemsize}")
    if name is None:
        return None
    there = np.unique(plain[~mask])
    for fill in _candidates(name, plain.dtype, there):
        if halves and not is_element(np.array(fill, "<f4").tobytes(), "<f2"):
            continue
        taken = bool(np.isnan(there).any()) if fill != fill else bool((there == fill).any())
        if not taken:
            filled = np.array(plain, plain.dtype.newbyteorder("<"))
            filled[mask] = fill
            return np.array(fill, filled.dtype), Flat(filled)
    return None


def _candidates(name: str, dtype: Any, there: NDArray[Any]) -> Iterator[Any]:
    """Yield values that may be unused: the default fill value, special numbers, and more numbers than there are."""
    default, count = default_fill(name, {}), len(there) + 1
    if default is not None:
        yield dtype.type(default.as_numbers()[0])
    if dtype.kind == "f":
        yield from map(dtype.type, (np.nan, np.inf, -np.inf, *range(count)))
        return
    limits = np.iinfo(dtype)
    yield from map(dtype.type, (limits.min, limits.max, *range(min(count, int(limits.max) + 1))))
    yield from (dtype.type(-number) for number in range(1, min(-int(limits.min), count + 1)))
