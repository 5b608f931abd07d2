"""Parts of variables ↔ trees of messages: the one place where how the model lies meets how the wire lies.

`Cursor` reads the parts of a variable block by block; `arrays` turns a tree into the arrays of
the parts again. Members are in the order of the wire in trees, and in that of the type in parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nczarr.arrays.parts import Types, descr, escape, is_fixed, size
from nczarr.arrays.source import Parts, Selection, little, numpy_dtype
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType, Field, OpaqueType, VlenType
from nczarr.formats.ncstream._generated.ncstream_pb2 import UBYTE
from nczarr.formats.ncstream.wire.dtypes import wire_type
from nczarr.formats.ncstream.wire.trees import Lists, Numbers, Opaque, Records, Texts, Tree
from nczarr.formats.ncstream.write.header_writer import in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray


class UnsuitedError(ValueError):
    """A tree that is none of a type, or has not as many items."""


class Cursor:
    """Reads the parts of a variable in C order, and knows how far it has come in those that are ragged."""

    def __init__(self, sources: Parts, types: Types) -> None:
        self._sources = sources
        self._types = types
        self._at: dict[str, int] = {}

    def tree(self, type_name: TypeName, region: Selection, path: str = "") -> Tree:
        """The values of a region, whose cells follow those that were read before. Raises OSError."""
        import numpy as np

        declared = self._types.get(type_name)
        inside = path + "/" if path else ""
        if isinstance(declared, VlenType):
            counts = self._sources[inside + "counts"].read(region).reshape(-1).astype(np.int64)
            base = inside + "content"
            start = self._at.get(base, 0)
            self._at[base] = start + int(counts.sum())
            return Lists(counts, self.tree(declared.base, (slice(start, self._at[base]),), base))
        if isinstance(declared, CompoundType) and not is_fixed(type_name, self._types):
            count = math.prod(part.stop - part.start for part in region)
            fields = in_order(declared, self._types)
            members = tuple(
                self.tree(
                    field.type,
                    (*region, *(slice(0, length) for length in field.shape)),
                    inside + escape(field.name),
                )
                for field in fields
            )
            return _records(count, fields, members)
        return flat(self._sources[path].read(region).reshape(-1), type_name, self._types)


def flat(values: NDArray[Any], type_name: TypeName, types: Types) -> Tree:
    """Values of a type of fixed size, or texts, as a tree."""
    declared = types.get(type_name)
    if type_name == "string":
        return Texts(values.tolist())
    if isinstance(declared, OpaqueType):
        raw, width = values.tobytes(), declared.size
        return Opaque([raw[start : start + width] for start in range(0, len(raw), width)])
    if isinstance(declared, CompoundType):
        fields = in_order(declared, types)
        members = tuple(flat(values[field.name].reshape(-1), field.type, types) for field in fields)
        return replace(_records(len(values), fields, members), rows=values)
    return Numbers(wire_type(type_name, types).element, values)


def _records(count: int, fields: list[Field], members: tuple[Tree, ...]) -> Records:
    return Records(count, tuple(field.name for field in fields), tuple(field.shape for field in fields), members)


def arrays(
    tree: Tree, type_name: TypeName, shape: tuple[int, ...], types: Types, path: str = ""
) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of a type's parts, in the order of `data.parts`, for a tree with the cells of a shape.

    Raises UnsuitedError if the tree is none of the type, or has not as many items.
    """
    declared = types.get(type_name)
    inside = path + "/" if path else ""
    if isinstance(declared, VlenType):
        lists = _lists(tree, single=not shape)
        yield inside + "counts", _shaped(lists.counts, shape)
        length = int(lists.counts.sum())
        yield from arrays(lists.content, declared.base, (length,), types, inside + "content")
    elif isinstance(declared, CompoundType) and not is_fixed(type_name, types):
        for field, member in _members(tree, declared, types):
            yield from arrays(member, field.type, (*shape, *field.shape), types, inside + escape(field.name))
    else:
        yield path, fixed(tree, type_name, shape, types)


def fixed(tree: Tree, type_name: TypeName, shape: tuple[int, ...], types: Types) -> NDArray[Any]:
    """Values of a type of fixed size, or texts, little-endian and packed. Raises UnsuitedError."""
    import numpy as np

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
        for field, member in _members(tree, declared, types):
            out[field.name] = fixed(member, field.type, (*shape, *field.shape), types)
        return out
    if not isinstance(tree, Numbers) or tree.values.dtype.itemsize != size(type_name, types):
        raise UnsuitedError(f"it holds no values of type {type_name}")
    values = little(tree.values)
    return _shaped(values if values.dtype == wanted else values.view(wanted), shape)


def _members(tree: Tree, declared: CompoundType, types: Types) -> Iterator[tuple[Any, Tree]]:
    """The members of records with the fields that they are, in the order of the type. Raises UnsuitedError."""
    if not isinstance(tree, Records):
        if len(declared.fields) == 1:  # rows of elements behind a ragged dimension
            yield declared.fields[0], tree
            return
        raise UnsuitedError("it holds no records")
    if len(tree.members) != len(declared.fields):
        raise UnsuitedError(
            f"its records have {len(tree.members)} members, and those of its type {len(declared.fields)}"
        )
    known = dict(zip(tree.names, tree.members, strict=True))
    if len(known) < len(tree.members) or any(field.name not in known for field in declared.fields):
        known = {field.name: each for field, each in zip(in_order(declared, types), tree.members, strict=True)}
    for field in declared.fields:
        yield field, known[field.name]


def _lists(tree: Tree, *, single: bool) -> Lists:
    """A tree as lists, or a `single` one; opaque values are lists of their bytes. Raises UnsuitedError."""
    import numpy as np

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
