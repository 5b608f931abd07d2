"""Values of messages as columns: one model for both kinds of data message.

A tree holds all cells in C order: numbers as one array each, texts as lists of
bytes. Members are in wire order, those of parts of variables in type order.
Invariant: record members have one cell per record times their own
dimensions; list content has as many elements as the counts sum to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, all_of, lengths_of
from nczarr.arrays.sources.source import Parts, little, numpy_dtype
from nczarr.arrays.values.parts import ListTree, PartLeaf, PartTree, RecordTree, Types, descr, part_tree, size
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType, Field, OpaqueType
from nczarr.names.records import frozen
from nczarr.plugins.common.part_arrays import UnsuitedError, arrays_of, shape_values
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire.element_types import data_type_of, in_order, is_structure, wire_type
from nczarr.plugins.ncstream.wire.limits import bad


@frozen
class FixedNumbers:
    """Fixed-width values in either byte order."""

    data_type: int
    values: NDArray[Any]
    """The values in any shape; chars are `S1`."""

    def __len__(self) -> int:
        return int(self.values.size)


@frozen
class RawStrings:
    """Undecoded strings; None for NIL."""

    items: Sequence[bytes | None]
    """Undecoded strings; None for NIL."""

    def __len__(self) -> int:
        return len(self.items)


@frozen
class Opaque:
    """Opaque values."""

    items: Sequence[bytes]
    """The values, whose lengths may differ."""

    def __len__(self) -> int:
        return len(self.items)


@frozen
class RaggedLists:
    """Lists."""

    counts: NDArray[np.int64]
    """Number of elements of each list."""
    content: Tree
    inner: tuple[int, ...] = ()
    """Shape of an element, if dimensions follow the ragged one."""

    def __len__(self) -> int:
        return len(self.counts)


@frozen
class Records:
    """Records."""

    length: int
    """Number of records."""
    names: tuple[str, ...]
    """Names of the members."""
    shapes: tuple[tuple[int, ...], ...]
    """Shapes of the members."""
    members: tuple[Tree, ...]
    """Values of the members."""
    rows: NDArray[Any] | None = None
    """Packed records, if available."""

    def __len__(self) -> int:
        return self.length


@frozen
class UnknownRows:
    """Records with unknown members."""

    values: NDArray[Any]
    """Rows as `V{length}`."""
    big: bool
    """True for big-endian rows."""
    heap: tuple[tuple[bytes, ...], ...] = ()
    """Strings that the rows may refer to."""

    def __len__(self) -> int:
        return int(self.values.size)


Tree = FixedNumbers | RawStrings | Opaque | RaggedLists | Records | UnknownRows


def element_type(tree: Tree) -> int:
    """Return the wire type of a tree; for lists, of their content."""
    while isinstance(tree, RaggedLists):
        tree = tree.content
    match tree:
        case FixedNumbers():
            return tree.data_type
        case RawStrings():
            return pb.STRING
        case Opaque():
            return pb.OPAQUE
        case _:
            return pb.STRUCTURE


def opaque_sizes(tree: Tree, members: tuple[str, ...]) -> set[int] | None:
    """Return the sizes of a member's (or the tree's) opaque values, None if it is not opaque."""
    for name in members:
        if not isinstance(tree, Records) or name not in tree.names:
            return None
        tree = tree.members[tree.names.index(name)]
    return {len(value) for value in tree.items} if isinstance(tree, Opaque) else None


# ---- as numpy has them -----------------------------------------------------------------------------------------------


def values(tree: Tree, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a tree as one array of this shape: numbers as views in their dtype, other values as objects.

    Strings become `str`, `bytes` if not UTF-8, or None; opaque values `bytes`;
    lists arrays; records a structured array.
    """
    match tree:
        case FixedNumbers() | UnknownRows():
            return tree.values.reshape(shape)
        case RawStrings():
            return objects(_texts(tree.items), shape)
        case Opaque():
            return objects(tree.items, shape)
        case RaggedLists():
            return _list_arrays(tree, shape)
        case Records():
            return _record_array(tree).reshape(shape)


def objects(items: Sequence[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of objects: dtype object, this shape."""
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)


def _texts(items: Sequence[bytes | None]) -> list[Any]:
    try:
        return list(map(bytes.decode, items))  # type: ignore[arg-type]
    except (UnicodeDecodeError, TypeError):
        return [_decode_text(text) for text in items]


def _decode_text(item: bytes | None) -> str | bytes | None:
    """Return a string's bytes as text, or as they are if they are not UTF-8; None stays None."""
    if item is None:
        return None
    try:
        return str(item, "utf-8")
    except UnicodeDecodeError:
        return bytes(item)


def _list_arrays(tree: RaggedLists, shape: tuple[int, ...]) -> NDArray[Any]:
    content = values(tree.content, (int(tree.counts.sum()), *tree.inner))
    stops = np.cumsum(tree.counts)
    cuts = map(slice, (stops - tree.counts).tolist(), stops.tolist())
    return np.fromiter(map(content.__getitem__, cuts), object, len(stops)).reshape(shape)


def is_fixed(tree: Tree) -> bool:
    """Return whether all values have the same size."""
    match tree:
        case FixedNumbers() | UnknownRows():
            return True
        case Records():
            return all(map(is_fixed, tree.members))
        case _:
            return False


def _dtype(tree: Tree) -> Any:
    match tree:
        case FixedNumbers() | UnknownRows():
            return tree.values.dtype
        case Records():
            fields = zip(tree.names, tree.members, tree.shapes, strict=True)
            return np.dtype([(name, _dtype(member), shape) for name, member, shape in fields])
        case _:
            return np.dtype(object)


def _record_array(tree: Records) -> NDArray[Any]:
    if tree.rows is not None and is_fixed(tree):
        return tree.rows
    records = np.empty(tree.length, _dtype(tree))
    _put(tree, records)
    return records


def _put(tree: Records, into: NDArray[Any]) -> None:
    """Fill a record array's fields; numbers are copied once. `into`: the structured dtype of the records, any shape."""
    for name, member, shape in zip(tree.names, tree.members, tree.shapes, strict=True):
        whole = (*into.shape, *shape)
        if not isinstance(member, Records):
            into[name] = values(member, whole)
        elif member.rows is not None and is_fixed(member):
            into[name] = member.rows.reshape(whole)
        else:
            _put(member, into[name])


# ---- from numpy ------------------------------------------------------------------------------------------------------


def tree_of(array: NDArray[Any], data_type: int | None = None) -> Tree:
    """Return the tree of an array such as `values` returns. Raises ValueError if unrepresentable.

    `data_type`: needed if the dtype does not imply it.
    """
    if array.dtype.names is not None:
        shapes = tuple(array.dtype[name].shape for name in array.dtype.names)
        members = tuple(tree_of(array[name]) for name in array.dtype.names)
        rows = array.reshape(-1)
        return Records(array.size, array.dtype.names, shapes, members, rows)
    if array.dtype.kind == "V":
        return UnknownRows(array.reshape(-1), big=True)
    if array.dtype.kind == "O":
        return _tree_of_objects(array.reshape(-1).tolist(), data_type)
    if array.dtype.kind == "U":
        return RawStrings([text.encode("utf-8", "surrogatepass") for text in array.reshape(-1).tolist()])
    if array.dtype.kind == "S" and array.dtype.itemsize != 1:
        raise ValueError("strings of one length are chars: add a dimension")
    return FixedNumbers(data_type_of(array.dtype) if data_type is None else data_type, array)


def _tree_of_objects(items: list[Any], data_type: int | None) -> Tree:
    """Return Python objects as a tree: arrays as ragged lists, bytes as opaque values, others as strings."""
    some = next((value for value in items if value is not None), None)
    if isinstance(some, np.ndarray):
        if not all(isinstance(value, np.ndarray) and value.ndim for value in items):
            raise ValueError("all lists must be arrays")
        counts = np.fromiter(map(len, items), np.int64, len(items))
        inner = some.shape[1:]
        filled = [value for value in items if len(value)] or [some]
        if any(value.shape[1:] != inner for value in filled):
            raise ValueError("lists have elements of different shapes")
        if len({value.dtype.kind for value in filled}) > 1:
            raise ValueError(
                "lists have elements of different kinds: " + ", ".join(str(value.dtype) for value in filled[:9])
            )
        content = filled[0] if len(filled) == 1 else np.concatenate(filled)
        return RaggedLists(counts, tree_of(content, data_type), inner)
    bare = some is not None and all(isinstance(value, bytes) for value in items)
    if data_type == pb.OPAQUE or (data_type is None and bare):
        if items and not bare:
            raise ValueError("opaque values must be bytes")
        return Opaque(items)
    for value in items:
        if not isinstance(value, str | bytes | None):
            raise ValueError(f"objects must be strings, bytes, None or arrays, not of type {type(value).__name__}")
    return RawStrings([text.encode("utf-8") if isinstance(text, str) else text for text in items])


# ---- strings that are NIL --------------------------------------------------------------------------------------------


def with_nil(items: list[Any], runs: NDArray[np.uint64], offset: int) -> list[Any]:
    """Replace the strings in `runs` by None, in place.

    `runs`: alternating start and count, uint64, shape (2 × runs,). Raises
    UnreadableStreamError for runs outside the strings.
    """
    if not len(runs):
        return items
    if len(runs) % 2:
        raise bad("a run of NIL strings has a position without a count", offset)
    after = 0
    for first, count in zip(runs[::2].tolist(), runs[1::2].tolist(), strict=True):
        if first < after or first + count > len(items):
            raise bad(f"a run of {count} NIL strings from {first} on, of {len(items)} strings", offset)
        after = first + count
        items[first:after] = [None] * count
    return items


def nil_runs(items: Sequence[bytes | None]) -> list[int]:
    """Return alternating start and count of the runs of NIL strings."""
    runs: list[int] = []
    if None not in items:
        return runs
    for place, item in enumerate(items):
        if item is not None:
            continue
        if runs and runs[-2] + runs[-1] == place:
            runs[-1] += 1
        else:
            runs += (place, 1)
    return runs


# ---- parts of variables ----------------------------------------------------------------------------------------------


class Cursor:
    """Reader of a variable's parts in C order; tracks its position in ragged parts."""

    def __init__(self, sources: Parts, type_name: TypeName, types: Types) -> None:
        self._sources = sources
        self._types = types
        self._parts = part_tree(type_name, types)
        self._at: dict[str, int] = {}

    def tree(self, region: Selection) -> Tree:
        """Return the values of a region, which must follow the previous region. Raises OSError."""
        return self._read_tree(self._parts, region)

    def _read_tree(self, parts: PartTree, region: Selection) -> Tree:
        """Read the values of a region; a ragged part goes on where its last read ended."""
        match parts:
            case ListTree(counts=PartLeaf(path=path)):
                counts = self._sources[path].read(region).reshape(-1).astype(np.int64)
                start = self._at.get(path, 0)
                self._at[path] = start + int(counts.sum())
                return RaggedLists(counts, self._read_tree(parts.content, (slice(start, self._at[path]),)))
            case RecordTree():
                inner = sorted(parts.members, key=lambda member: is_structure(member[0].type, self._types))
                members = tuple(self._read_tree(member, (*region, *all_of(field.shape))) for field, member in inner)
                return _records(math.prod(lengths_of(region)), [field for field, _ in inner], members)
            case PartLeaf():
                return flat(self._sources[parts.path].read(region).reshape(-1), parts.type, self._types)


def flat(values: NDArray[Any], type_name: TypeName, types: Types) -> Tree:
    """Convert values of a fixed-size type, or strings, to a tree.

    `values`: shape (cells,), the packed dtype of the type, or objects (`bytes |
    None`).
    """
    declared = types.get(type_name)
    if type_name == "string":
        return RawStrings(values.tolist())
    if isinstance(declared, OpaqueType):
        raw, width = values.tobytes(), declared.size
        return Opaque([raw[start : start + width] for start in range(0, len(raw), width)])
    if isinstance(declared, CompoundType):
        fields = in_order(declared.fields, types)
        members = tuple(flat(values[field.name].reshape(-1), field.type, types) for field in fields)
        return replace(_records(len(values), fields, members), rows=values)
    return FixedNumbers(wire_type(type_name, types).element, values)


def _records(count: int, fields: list[Field], members: tuple[Tree, ...]) -> Records:
    return Records(count, tuple(field.name for field in fields), tuple(field.shape for field in fields), members)


def to_arrays(
    tree: Tree, type_name: TypeName, shape: tuple[int, ...], types: Types
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of a type's parts, in the order of `nczarr.arrays.values.parts.parts`.

    Raises UnsuitedError if the tree does not match the type and shape.
    """
    return arrays_of(
        part_tree(type_name, types),
        tree,
        shape,
        leaf=lambda tree, type_name, shape: shape_fixed(tree, type_name, shape, types),
        lists=_lists,
        members=lambda tree, fields: _find_members(tree, fields, types),
    )


def shape_fixed(tree: Tree, type_name: TypeName, shape: tuple[int, ...], types: Types) -> NDArray[Any]:
    """Return values of fixed size, or strings, in this shape. Raises UnsuitedError.

    They have the packed little-endian dtype of the type; strings are objects
    (`bytes | None`).
    """
    declared = types.get(type_name)
    if type_name == "string":
        if not isinstance(tree, RawStrings):
            raise UnsuitedError("it does not contain strings")
        return shape_values(objects(tree.items, (len(tree),)), shape)
    dtype = numpy_dtype(descr(type_name, types))
    if isinstance(declared, OpaqueType):
        if not isinstance(tree, Opaque) or any(len(opaque) != declared.size for opaque in tree.items):
            raise UnsuitedError(f"it does not contain opaque values of {declared.size} bytes")
        return shape_values(np.frombuffer(b"".join(tree.items), dtype), shape)
    if isinstance(declared, CompoundType):
        out = np.zeros(shape, dtype)
        for field, member in zip(declared.fields, _find_members(tree, declared.fields, types), strict=True):
            out[field.name] = shape_fixed(member, field.type, (*shape, *field.shape), types)
        return out
    if not isinstance(tree, FixedNumbers) or tree.values.dtype.itemsize != size(type_name, types):
        raise UnsuitedError(f"it does not contain values of type {type_name}")
    values = little(tree.values)
    return shape_values(values if values.dtype == dtype else values.view(dtype), shape)


def _find_members(tree: Tree, fields: Sequence[Field], types: Types) -> list[Tree]:
    """Return the member of each field. Raises UnsuitedError."""
    if not isinstance(tree, Records):
        if len(fields) == 1:  # rows of elements behind a ragged dimension
            return [tree]
        raise UnsuitedError("it does not contain records")
    by_name = dict(zip(tree.names, tree.members, strict=True))
    if len(by_name) < len(tree.members) or any(field.name not in by_name for field in fields):
        if len(tree.members) != len(fields):
            raise UnsuitedError(f"its records have {len(tree.members)} members, but its type has {len(fields)}")
        by_name = {field.name: member for field, member in zip(in_order(fields, types), tree.members, strict=True)}
    return [by_name[field.name] for field in fields]


def _lists(tree: Tree, shape: tuple[int, ...]) -> tuple[NDArray[np.int64], Tree]:
    """Return the lengths and the content of lists; opaque values become byte lists. Raises UnsuitedError."""
    if isinstance(tree, RaggedLists):
        return tree.counts, tree.content
    if isinstance(tree, Opaque):
        counts = np.fromiter(map(len, tree.items), np.int64, len(tree.items))
        return counts, FixedNumbers(pb.UBYTE, np.frombuffer(b"".join(tree.items), np.uint8))
    if shape != ():
        raise UnsuitedError("it does not contain lists")
    return np.array([len(tree)], np.int64), tree  # a list that is all of a variable comes as its elements
