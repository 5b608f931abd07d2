"""Values of messages as columns: one model for both kinds of data message.

A tree holds all cells in C order: numbers as one array each, texts as lists of
bytes. Invariant: record members have one cell per record times their own
dimensions; list content has as many elements as the counts sum to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire.element_types import data_type_of
from nczarr.formats.ncstream.wire.limits import bad


@dataclass(frozen=True, slots=True, eq=False)
class FixedNumbers:
    """Fixed-width values in either byte order."""

    data_type: int
    """Number of the type."""
    values: NDArray[Any]
    """The values in any shape; chars are `S1`."""

    def __len__(self) -> int:
        return int(self.values.size)


@dataclass(frozen=True, slots=True, eq=False)
class RawStrings:
    """Undecoded strings; None for NIL."""

    items: Sequence[bytes | None]
    """Undecoded strings; None for NIL."""

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """Opaque values."""

    items: Sequence[bytes]
    """The values, whose lengths may differ."""

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, eq=False)
class RaggedLists:
    """Lists."""

    counts: NDArray[np.int64]
    """Number of elements of each list."""
    content: Tree
    """Elements of all lists."""
    inner: tuple[int, ...] = ()
    """Shape of an element, if dimensions follow the ragged one."""

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True, eq=False)
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
            return _lists(tree, shape)
        case Records():
            return _records(tree).reshape(shape)


def objects(items: Sequence[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of objects: dtype object, this shape."""
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)


def _texts(items: Sequence[bytes | None]) -> list[Any]:
    try:
        return list(map(bytes.decode, items))  # type: ignore[arg-type]
    except (UnicodeDecodeError, TypeError):
        return [_text(text) for text in items]


def _text(item: bytes | None) -> str | bytes | None:
    if item is None:
        return None
    try:
        return str(item, "utf-8")
    except UnicodeDecodeError:
        return bytes(item)


def _lists(tree: RaggedLists, shape: tuple[int, ...]) -> NDArray[Any]:
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


def _records(tree: Records) -> NDArray[Any]:
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
        return _of_objects(array.reshape(-1).tolist(), data_type)
    if array.dtype.kind == "U":
        return RawStrings([text.encode("utf-8", "surrogatepass") for text in array.reshape(-1).tolist()])
    if array.dtype.kind == "S" and array.dtype.itemsize != 1:
        raise ValueError("strings of one length are chars: add a dimension")
    return FixedNumbers(data_type_of(array.dtype) if data_type is None else data_type, array)


def _of_objects(items: list[Any], data_type: int | None) -> Tree:
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
