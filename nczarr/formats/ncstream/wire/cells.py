"""Parts of variables ↔ trees of messages: the one place where how the model lies meets how the wire lies.

`Cursor` reads the parts of a variable block by block; `arrays` turns a tree into the arrays of
the parts again. Members are in the order of the wire in trees, and in that of the type in parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from nczarr.arrays.blocks import Selection, lengths_of
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.parts import Leaf, ListTree, PartTree, RecordTree, Types, descr, part_tree, size
from nczarr.arrays.source import Parts, little, numpy_dtype
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType, Field, OpaqueType
from nczarr.formats.ncstream._generated.ncstream_pb2 import UBYTE
from nczarr.formats.ncstream.wire.dtypes import wire_type
from nczarr.formats.ncstream.wire.trees import Lists, Numbers, Opaque, Records, Texts, Tree
from nczarr.formats.ncstream.write.header_writer import in_order, is_structure


class UnsuitedError(ValueError):
    """A tree that is none of a type, or has not as many items."""


class Cursor:
    """Reads the parts of a variable in C order, and knows how far it has come in those that are ragged."""

    def __init__(self, sources: Parts, type_name: TypeName, types: Types) -> None:
        self._sources = sources
        self._types = types
        self._parts = part_tree(type_name, types)
        self._at: dict[str, int] = {}

    def tree(self, region: Selection) -> Tree:
        """The values of a region, whose cells follow those that were read before. Raises OSError."""
        return self._tree(self._parts, region)

    def _tree(self, parts: PartTree, region: Selection) -> Tree:
        match parts:
            case ListTree(counts=Leaf(path=path)):
                counts = self._sources[path].read(region).reshape(-1).astype(np.int64)
                start = self._at.get(path, 0)
                self._at[path] = start + int(counts.sum())
                return Lists(counts, self._tree(parts.content, (slice(start, self._at[path]),)))
            case RecordTree():
                inner = sorted(parts.members, key=lambda each: is_structure(each[0].type, self._types))
                members = tuple(
                    self._tree(each, (*region, *(slice(0, length) for length in field.shape))) for field, each in inner
                )
                return _records(math.prod(lengths_of(region)), [field for field, _ in inner], members)
            case Leaf():
                return flat(self._sources[parts.path].read(region).reshape(-1), parts.type, self._types)


def flat(values: NDArray[Any], type_name: TypeName, types: Types) -> Tree:
    """Values of a type of fixed size, or texts, as a tree."""
    declared = types.get(type_name)
    if type_name == "string":
        return Texts(values.tolist())
    if isinstance(declared, OpaqueType):
        raw, width = values.tobytes(), declared.size
        return Opaque([raw[start : start + width] for start in range(0, len(raw), width)])
    if isinstance(declared, CompoundType):
        fields = in_order(declared.fields, types)
        members = tuple(flat(values[field.name].reshape(-1), field.type, types) for field in fields)
        return replace(_records(len(values), fields, members), rows=values)
    return Numbers(wire_type(type_name, types).element, values)


def _records(count: int, fields: list[Field], members: tuple[Tree, ...]) -> Records:
    return Records(count, tuple(field.name for field in fields), tuple(field.shape for field in fields), members)


def arrays(tree: Tree, type_name: TypeName, shape: tuple[int, ...], types: Types) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of a type's parts, in the order of `data.parts`, for a tree with the cells of a shape.

    Raises UnsuitedError if the tree is none of the type, or has not as many items.
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
        case Leaf():
            yield parts.path, fixed(tree, parts.type, shape, types)


def fixed(tree: Tree, type_name: TypeName, shape: tuple[int, ...], types: Types) -> NDArray[Any]:
    """Values of a type of fixed size, or texts, little-endian and packed. Raises UnsuitedError."""
    declared = types.get(type_name)
    if type_name == "string":
        if not isinstance(tree, Texts):
            raise UnsuitedError("it holds no texts")
        texts = np.empty(len(tree.items), dtype=object)
        texts[:] = tree.items
        return _shaped(texts, shape)
    wanted = numpy_dtype(descr(type_name, types))
    if isinstance(declared, OpaqueType):
        if not isinstance(tree, Opaque) or any(len(each) != declared.size for each in tree.items):
            raise UnsuitedError(f"it holds no opaque values of {declared.size} bytes")
        return _shaped(np.frombuffer(b"".join(tree.items), wanted), shape)
    if isinstance(declared, CompoundType):
        out = np.zeros(shape, wanted)
        for field, member in _members(tree, declared.fields, types):
            out[field.name] = fixed(member, field.type, (*shape, *field.shape), types)
        return out
    if not isinstance(tree, Numbers) or tree.values.dtype.itemsize != size(type_name, types):
        raise UnsuitedError(f"it holds no values of type {type_name}")
    values = little(tree.values)
    return _shaped(values if values.dtype == wanted else values.view(wanted), shape)


def _members(tree: Tree, fields: Sequence[Field], types: Types) -> Iterator[tuple[Field, Tree]]:
    """The members of records with the fields that they are, in the order of the type. Raises UnsuitedError."""
    if not isinstance(tree, Records):
        if len(fields) == 1:  # rows of elements behind a ragged dimension
            yield fields[0], tree
            return
        raise UnsuitedError("it holds no records")
    if len(tree.members) != len(fields):
        raise UnsuitedError(f"its records have {len(tree.members)} members, and those of its type {len(fields)}")
    known = dict(zip(tree.names, tree.members, strict=True))
    if len(known) < len(tree.members) or any(field.name not in known for field in fields):
        known = {field.name: each for field, each in zip(in_order(fields, types), tree.members, strict=True)}
    for field in fields:
        yield field, known[field.name]


def _lists(tree: Tree, *, single: bool) -> Lists:
    """A tree as lists, or a `single` one; opaque values are lists of their bytes. Raises UnsuitedError."""
    if isinstance(tree, Opaque):
        counts = np.fromiter(map(len, tree.items), np.int64, len(tree.items))
        return Lists(counts, Numbers(UBYTE, np.frombuffer(b"".join(tree.items), np.uint8)))
    if not isinstance(tree, Lists) and single:  # a list that is all of a variable comes as its elements
        return Lists(np.array([len(tree)], np.int64), tree)
    if not isinstance(tree, Lists):
        raise UnsuitedError("it holds no lists")
    return tree


def _shaped(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if values.size != math.prod(shape):
        raise UnsuitedError(f"it holds {values.size} values where there are {math.prod(shape)}")
    return values.reshape(shape)
