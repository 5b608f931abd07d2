"""Conversion between array parts of variables (members in type order) and value trees (in wire order)."""

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
from nczarr.formats.ncstream._generated.ncstream_pb2 import UBYTE
from nczarr.formats.ncstream.wire.element_types import in_order, is_structure, wire_type
from nczarr.formats.ncstream.wire.trees import FixedNumbers, Opaque, RaggedLists, RawStrings, Records, Tree, objects


class UnsuitedError(ValueError):
    """A tree that does not match its type, or has the wrong number of items."""


class Cursor:
    """Reader of a variable's parts in C order; tracks its position in ragged parts."""

    def __init__(self, sources: Parts, type_name: TypeName, types: Types) -> None:
        self._sources = sources
        self._types = types
        self._parts = part_tree(type_name, types)
        self._at: dict[str, int] = {}

    def tree(self, region: Selection) -> Tree:
        """Return the values of a region, which must follow the previous region. Raises OSError."""
        return self._tree(self._parts, region)

    def _tree(self, parts: PartTree, region: Selection) -> Tree:
        match parts:
            case ListTree(counts=PartLeaf(path=path)):
                counts = self._sources[path].read(region).reshape(-1).astype(np.int64)
                start = self._at.get(path, 0)
                self._at[path] = start + int(counts.sum())
                return RaggedLists(counts, self._tree(parts.content, (slice(start, self._at[path]),)))
            case RecordTree():
                inner = sorted(parts.members, key=lambda member: is_structure(member[0].type, self._types))
                members = tuple(self._tree(member, (*region, *all_of(field.shape))) for field, member in inner)
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


def arrays(tree: Tree, type_name: TypeName, shape: tuple[int, ...], types: Types) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of a type's parts, in the order of `nczarr.arrays.values.parts.parts`.

    Raises UnsuitedError if the tree does not match the type and shape.
    """
    return _arrays(tree, part_tree(type_name, types), shape, types)


def _arrays(tree: Tree, parts: PartTree, shape: tuple[int, ...], types: Types) -> Iterator[tuple[str, NDArray[Any]]]:
    match parts:
        case ListTree():
            lists = _lists(tree, single=not shape)
            yield parts.counts.path, _shaped(lists.counts, shape)
            yield from _arrays(lists.content, parts.content, (int(lists.counts.sum()),), types)
        case RecordTree():
            members = _members(tree, [field for field, _ in parts.members], types)
            for (field, inner), (_, member) in zip(parts.members, members, strict=True):
                yield from _arrays(member, inner, (*shape, *field.shape), types)
        case PartLeaf():
            yield parts.path, fixed(tree, parts.type, shape, types)


def fixed(tree: Tree, type_name: TypeName, shape: tuple[int, ...], types: Types) -> NDArray[Any]:
    """Return values of fixed size, or strings, in this shape. Raises UnsuitedError.

    They have the packed little-endian dtype of the type; strings are objects
    (`bytes | None`).
    """
    declared = types.get(type_name)
    if type_name == "string":
        if not isinstance(tree, RawStrings):
            raise UnsuitedError("it does not contain strings")
        return _shaped(objects(tree.items, (len(tree),)), shape)
    dtype = numpy_dtype(descr(type_name, types))
    if isinstance(declared, OpaqueType):
        if not isinstance(tree, Opaque) or any(len(opaque) != declared.size for opaque in tree.items):
            raise UnsuitedError(f"it does not contain opaque values of {declared.size} bytes")
        return _shaped(np.frombuffer(b"".join(tree.items), dtype), shape)
    if isinstance(declared, CompoundType):
        out = np.zeros(shape, dtype)
        for field, member in _members(tree, declared.fields, types):
            out[field.name] = fixed(member, field.type, (*shape, *field.shape), types)
        return out
    if not isinstance(tree, FixedNumbers) or tree.values.dtype.itemsize != size(type_name, types):
        raise UnsuitedError(f"it does not contain values of type {type_name}")
    values = little(tree.values)
    return _shaped(values if values.dtype == dtype else values.view(dtype), shape)


def _members(tree: Tree, fields: Sequence[Field], types: Types) -> Iterator[tuple[Field, Tree]]:
    """Yield the fields with their members, in type order. Raises UnsuitedError."""
    if not isinstance(tree, Records):
        if len(fields) == 1:  # rows of elements behind a ragged dimension
            yield fields[0], tree
            return
        raise UnsuitedError("it does not contain records")
    if len(tree.members) != len(fields):
        raise UnsuitedError(f"its records have {len(tree.members)} members, but its type has {len(fields)}")
    by_name = dict(zip(tree.names, tree.members, strict=True))
    if len(by_name) < len(tree.members) or any(field.name not in by_name for field in fields):
        by_name = {field.name: member for field, member in zip(in_order(fields, types), tree.members, strict=True)}
    for field in fields:
        yield field, by_name[field.name]


def _lists(tree: Tree, *, single: bool) -> RaggedLists:
    """Return a tree as lists; opaque values become byte lists. Raises UnsuitedError."""
    if isinstance(tree, Opaque):
        counts = np.fromiter(map(len, tree.items), np.int64, len(tree.items))
        return RaggedLists(counts, FixedNumbers(UBYTE, np.frombuffer(b"".join(tree.items), np.uint8)))
    if not isinstance(tree, RaggedLists) and single:  # a list that is all of a variable comes as its elements
        return RaggedLists(np.array([len(tree)], np.int64), tree)
    if not isinstance(tree, RaggedLists):
        raise UnsuitedError("it does not contain lists")
    return tree


def _shaped(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if values.size != math.prod(shape):
        raise UnsuitedError(f"it contains {values.size} values instead of {math.prod(shape)}")
    return values.reshape(shape)
