"""Values of a data message by part, and whether the message agrees with its section and the header."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import cell_numbers
from nczarr.arrays.values.parts import Part, Types, part_tree, parts, spread
from nczarr.ast.node import TypeName
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read.data_columns import MessageColumn
from nczarr.plugins.ncstream.read.decode import MOST_OF_ONE
from nczarr.plugins.ncstream.read.scan import StreamEntry, is_counted
from nczarr.plugins.ncstream.wire.element_types import ENUM_BASES, NUMPY, UNSIGNED, Declared, check_type, name_of
from nczarr.plugins.ncstream.wire.limits import UnreadableStreamError, bad, contradictory
from nczarr.plugins.ncstream.wire.trees import Records, Tree, to_arrays

_RECORDS = frozenset({pb.STRUCTURE, pb.SEQUENCE})


def check_agreement(entry: StreamEntry, cells: int, declared: Declared | None) -> None:
    """Raise UnreadableStreamError for a type that the header does not give, or sizes that the section excludes."""
    message = entry.message
    check_type_of(entry, declared)
    if entry.column is not None:
        if message.dataType in NUMPY and not message.isVlen:
            start, end = entry.column.payload or (0, 0)
            _check_size(entry, cells, end - start)
        return
    if message.dataType in _RECORDS:
        return
    if message.compress not in (pb.Data.NONE, pb.Data.DEFLATE):
        raise bad(f"unknown compression {message.compress}", entry.offset, entry.end)
    assert entry.payload is not None
    size = entry.payload[1] - entry.payload[0]
    if is_counted(message):
        if not message.compress and not message.vdata and message.HasField("section") and entry.blocks != cells:
            raise _contradiction(entry, f"{entry.blocks} values, but the section has {cells} places")
        return
    expected = cells * _width(message.dataType)
    if message.compress == pb.Data.DEFLATE:
        if message.HasField("uncompressedSize") and message.uncompressedSize != expected & 0xFFFF_FFFF:
            text = f"{message.uncompressedSize} bytes are announced, but the section needs {expected}"
            raise _contradiction(entry, text)
        if expected > size * MOST_OF_ONE:
            raise _contradiction(entry, f"{size} bytes cannot be decompressed to {expected}")
    else:
        _check_size(entry, cells, size)


def check_type_of(entry: StreamEntry, declared: Declared | None) -> None:
    """Raise UnreadableStreamError for a message whose type, or that of a member, the header does not give."""
    check_type(entry.message.dataType, entry.offset)
    if declared is not None:
        _check_type(entry.message, declared, entry)
        if entry.column is not None:
            _check_members(entry.column, declared, entry)


def _check_size(entry: StreamEntry, cells: int, size: int) -> None:
    if size != cells * _width(entry.message.dataType):
        raise _contradiction(entry, f"{cells} values of type {name_of(entry.message.dataType)} in {size} bytes")


def _contradiction(entry: StreamEntry, text: str) -> UnreadableStreamError:
    return contradictory(text, entry.offset, entry.end)


def _check_type(message: Any, declared: Declared, entry: StreamEntry) -> None:
    """Raise UnreadableStreamError if a message or column has another type than its declaration."""
    here, there = int(message.dataType), int(declared.dataType)
    if not _are_alike(here, there, unsigned=isinstance(declared, pb.Variable) and declared.unsigned):
        name = declared.name.decode("utf-8", "replace")
        text = f"values of type {name_of(here)}, but the header gives `{name}` the type {name_of(there)}"
        raise _contradiction(entry, text)


def _are_alike(here: int, there: int, *, unsigned: bool) -> bool:
    """Return whether two data types of the protocol can hold the same values; `unsigned`: by the header's flag."""
    if here == there or (here in _RECORDS and there in _RECORDS):
        return True
    if here not in NUMPY or there not in NUMPY or _width(here) != _width(there):
        return False
    if unsigned and UNSIGNED.get(there) == here:  # a sender of the second generation, with a header of the first
        return True
    integers = {*UNSIGNED, *UNSIGNED.values(), *ENUM_BASES}
    return {here, there} <= integers and not {here, there}.isdisjoint(ENUM_BASES)


def _width(data_type: int) -> int:
    return int(NUMPY[data_type][1:])


def _check_members(column: MessageColumn, declared: Declared, entry: StreamEntry) -> None:
    """Check the types of members by name; those behind lists are elements of their column."""
    if not isinstance(declared, pb.Structure):
        return
    every: list[Declared] = [*declared.vars, *declared.structs]
    members = {member.name: member for member in every}
    for member in column.members:
        check_type(member.message.dataType, entry.offset)
        found = members.get(member.message.name)
        if found is not None:
            _check_type(member.message, found, entry)
            _check_members(member, found, entry)


Values: TypeAlias = "Mapping[str, NDArray[Any]]"
"""Values by part; when flat, with one row per cell or per element of content."""


def values_of(
    tree: Tree, ranges: tuple[range, ...], type_name: TypeName, shape: tuple[int, ...], types: Types
) -> dict[str, NDArray[Any]]:
    """Return the values of a section by part, in its shape. `shape`: that of the variable. Raises ValueError."""
    lengths = tuple(map(len, ranges))
    if isinstance(tree, Records) and len(tree) != math.prod(lengths) and len(tree) == math.prod(shape):
        whole = dict(to_arrays(tree, type_name, shape, types))  # a server that does not cut records
        cells = cell_numbers(ranges, shape).reshape(-1)
        return shape_parts(take(whole, cells, type_name, types), parts(type_name, lengths, types))
    return dict(to_arrays(tree, type_name, lengths, types))


def shape_parts(values: Values, every: Iterable[Part]) -> dict[str, NDArray[Any]]:
    """Reshape flat values to the shapes of the parts."""
    return {
        part.path: values[part.path].reshape([-1 if length is None else length for length in part.shape])
        for part in every
    }


def take(values: Values, cells: NDArray[np.int64], type_name: TypeName, types: Types) -> Values:
    """Return the values of the cells with these numbers by part: 1-D. `cells`: int64, shape (cells,)."""
    flat = {path: array.reshape(-1) for path, array in values.items()}

    def rows(cells: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
        width = math.prod(shape)
        return cells if width == 1 else (cells[:, None] * width + np.arange(width, dtype=np.int64)).reshape(-1)

    return dict(
        spread(
            part_tree(type_name, types),
            cells,
            lambda leaf, cells: flat[leaf.path][cells],
            lambda tree, cells: _items(flat[tree.counts.path], cells),
            lambda number, field, cells: rows(cells, field.shape),
        )
    )


def _items(counts: NDArray[Any], cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the item numbers of the lists in the given cells: int64, shape (items,).

    `counts`: items of each list, integers, shape (lists,); `cells`: int64,
    shape (cells,).
    """
    lengths = counts[cells]
    starts = (np.cumsum(counts) - counts)[cells]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total, dtype=np.int64)
