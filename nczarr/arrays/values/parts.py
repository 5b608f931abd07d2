"""Mapping of types to arrays: the columnar tree of a type, `parts(T)`, its arrays, and C structs.

A fixed-size type is one array. Strings are one array of `bytes | None`. A vlen
is `counts` (int64, of the variable's shape) and `content`, the parts of its
base in one dimension. A compound with members of variable size has one child
per member. There are no other cases.

`part_tree` makes the tree, `spread` walks through it; formats map their
encoding to both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, TypeVar, assert_never

from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast.node import TypeName
from nczarr.ast.types import ATOMIC, CompoundType, EnumType, Field, OpaqueType, UserType, VlenType, list_parts
from nczarr.ast.values import Constant
from nczarr.names.records import NamedTuple

NUMPY: dict[str, str] = {
    "byte": "|i1", "ubyte": "|u1", "char": "|S1", "short": "<i2", "ushort": "<u2", "int": "<i4", "uint": "<u4",
    "int64": "<i8", "uint64": "<u8", "float": "<f4", "double": "<f8", "string": "|O",
}  # fmt: skip
"""NumPy dtype of each atomic type, little-endian."""

Types = Mapping[str, UserType]
"""Declared types by FQN."""


class Part(NamedTuple):
    """One array of a variable."""

    path: str
    """Path within a value; empty for values of fixed size."""
    type: TypeName
    shape: tuple[int | None, ...]
    """Shape; None for a ragged dimension."""
    counts: bool = False
    """True if the elements are lengths of lists."""


def own_type(type_name: TypeName, types: Types) -> TypeName:
    """Return a type; the integers of an enum."""
    declared = types.get(type_name)
    return declared.base if isinstance(declared, EnumType) else type_name


def as_integers(constant: Constant, types: Types) -> Constant:
    """Return a constant; one of an enum as its integers."""
    plainly = own_type(constant.type, types)
    return constant if plainly == constant.type else Constant(type=plainly, count=constant.count, data=constant.data)


def is_fixed(type_name: TypeName, types: Types) -> bool:
    """Return whether all values of a type have the same size."""
    declared = types.get(type_name)
    match declared:
        case None:
            return type_name != "string"
        case EnumType() | OpaqueType():
            return True
        case VlenType():
            return False
        case CompoundType():
            return all(is_fixed(field.type, types) for field in declared.fields)
        case _:
            assert_never(declared)


def inner_types(type_name: TypeName, types: Types) -> Iterator[TypeName]:
    """Yield the type, and all types of its elements and fields."""
    yield type_name
    if type_name in types:
        for inner in list_parts(types[type_name]):
            yield from inner_types(inner, types)


def descr(type_name: TypeName, types: Types) -> Descr:
    """Return the dtype of a fixed-size type or string: packed, little-endian. Raises TypeError for vlens."""
    declared = types.get(type_name)
    match declared:
        case None:
            return NUMPY[type_name]
        case EnumType():
            return NUMPY[declared.base]
        case OpaqueType():
            return f"|V{declared.size}"
        case CompoundType():
            return tuple((field.name, descr(field.type, types), field.shape) for field in declared.fields)
        case VlenType():
            raise TypeError(f"{type_name} has no fixed size")
        case _:
            assert_never(declared)


def size(type_name: TypeName, types: Types) -> int:
    """Return the bytes of one packed value of a fixed-size type."""
    return itemsize(descr(type_name, types))


class PartLeaf(NamedTuple):
    """One array: a fixed-size type, strings, or lengths of lists."""

    path: str
    """Path within a value."""
    type: TypeName
    counts: bool = False
    """True if the elements are lengths of lists."""


class ListTree(NamedTuple):
    """Lists: their lengths and their elements."""

    counts: PartLeaf
    """Lengths of the lists."""
    base: TypeName
    content: PartTree


class RecordTree(NamedTuple):
    """Records with members of variable size."""

    members: tuple[tuple[Field, PartTree], ...]


PartTree: TypeAlias = PartLeaf | ListTree | RecordTree
"""Arrays of the values of one type."""


def part_tree(type_name: TypeName, types: Types, path: str = "") -> PartTree:
    """Return the columnar tree of a type, with arrays at and below a path."""
    declared = types.get(type_name)
    inside = path + "/" if path else ""
    if isinstance(declared, VlenType):
        content = part_tree(declared.base, types, inside + "content")
        return ListTree(PartLeaf(inside + "counts", "int64", counts=True), declared.base, content)
    if isinstance(declared, CompoundType) and not is_fixed(type_name, types):
        members = ((field, part_tree(field.type, types, inside + escape(field.name))) for field in declared.fields)
        return RecordTree(tuple(members))
    return PartLeaf(path, type_name)


Cells = TypeVar("Cells")
Found = TypeVar("Found")


def spread(
    tree: PartTree,
    cells: Cells,
    array: Callable[[PartLeaf, Cells], Found],
    elements: Callable[[ListTree, Cells], Cells],
    member: Callable[[int, Field, Cells], Cells],
) -> Iterator[tuple[str, Found]]:
    """Yield path and `array` result of each array, counts before content, fields in order.

    `cells` describes some cells of the variable: the cells themselves, their
    values or shape. `elements` derives the cells of a list's content, `member`
    those of a record member, by number and field.
    """
    match tree:
        case PartLeaf():
            yield tree.path, array(tree, cells)
        case ListTree():
            yield tree.counts.path, array(tree.counts, cells)
            yield from spread(tree.content, elements(tree, cells), array, elements, member)
        case RecordTree():
            for number, (field, inner) in enumerate(tree.members):
                yield from spread(inner, member(number, field, cells), array, elements, member)
        case _:
            assert_never(tree)


def parts(type_name: TypeName, shape: tuple[int | None, ...], types: Types) -> Iterator[Part]:
    """Return the arrays of a variable in a fixed order: counts before content, fields in order."""
    leaves = spread(
        part_tree(type_name, types),
        shape,
        lambda leaf, shape: Part(leaf.path, leaf.type, shape, leaf.counts),
        lambda tree, shape: (None,),
        lambda number, field, shape: (*shape, *field.shape),
    )
    return (part for _, part in leaves)


def escape(name: str) -> str:
    """Return a field name as a path segment: `%` and names that stores reserve become `%xx`."""
    text = name.replace("%", "%25").replace("/", "%2F")
    if text.startswith((".", "__")) or text == "zarr.json":
        return f"%{ord(text[0]):02X}{text[1:]}"
    return text


POINTER = 8
"""Bytes of a pointer: a string in memory; a list is an equally long length and a pointer."""


class Struct(NamedTuple):
    """Layout of a C struct."""

    size: int
    """Size of one value in bytes, with trailing padding."""
    alignment: int
    """Alignment in bytes."""
    offsets: tuple[int, ...] = ()
    """Byte offsets of a record's fields."""


def struct(type_name: str, types: Types) -> Struct:
    """Return the C struct of a type."""
    return _struct(type_name, types, {})


def measure_stored(type_name: str, types: Types) -> int:
    """Return the bytes of one value in a netCDF-4 file: as in memory, but 16 for each string, as for lists."""
    return struct(type_name, types).size + POINTER * _texts(type_name, types, {})


def _struct(type_name: str, types: Types, structs: dict[str, Struct]) -> Struct:
    """Return the C struct; `structs` caches types, because a type may occur many times in others."""
    declared = types.get(type_name)
    match declared:
        case None:
            width = ATOMIC[type_name].size or POINTER
            return Struct(width, width)
        case EnumType():
            width = ATOMIC[declared.base].size
            return Struct(width, width)
        case OpaqueType():
            return Struct(declared.size, 1)
        case VlenType():
            return Struct(2 * POINTER, POINTER)
        case CompoundType():
            if type_name not in structs:
                structs[type_name] = _lay_out_record(declared, types, structs)
            return structs[type_name]
        case _:
            assert_never(declared)


def _lay_out_record(declared: CompoundType, types: Types, structs: dict[str, Struct]) -> Struct:
    """Lay out a compound type as a C compiler does: aligned fields, and padding at the end."""
    at, widest, offsets = 0, 1, []
    for field in declared.fields:
        one = _struct(field.type, types, structs)
        at = -(-at // one.alignment) * one.alignment
        offsets.append(at)
        at += one.size * math.prod(field.shape)
        widest = max(widest, one.alignment)
    return Struct(-(-at // widest) * widest, widest, tuple(offsets))


def _texts(type_name: str, types: Types, counts: dict[str, int]) -> int:
    """Count the strings of one value, except those in lists."""
    declared = types.get(type_name)
    if not isinstance(declared, CompoundType):
        return int(type_name == "string")
    if type_name not in counts:
        counts[type_name] = sum(math.prod(field.shape) * _texts(field.type, types, counts) for field in declared.fields)
    return counts[type_name]
