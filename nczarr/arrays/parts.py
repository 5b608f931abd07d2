"""The one rule of how types lie in arrays: the columnar tree of a type, and `parts(T)`, its arrays.

A fixed-size type is one array. Strings are one array of `bytes | None`. A vlen is `counts` (int64, of the
variable's shape) and `content` = parts of its base in one dimension. A compound with members of variable
size is one child a member. Nothing else exists.

`part_tree` makes the tree, `spread` is the walk through it; formats map their wire onto both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeVar, assert_never

from nczarr.arrays.source import Descr, itemsize
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType, EnumType, Field, OpaqueType, UserType, VlenType

NUMPY: dict[str, str] = {
    "byte": "|i1", "ubyte": "|u1", "char": "|S1", "short": "<i2", "ushort": "<u2", "int": "<i4", "uint": "<u4",
    "int64": "<i8", "uint64": "<u8", "float": "<f4", "double": "<f8", "string": "|O",
}  # fmt: skip
"""numpy's name of each atomic type, little-endian."""

Types = Mapping[str, UserType]
"""Declared types by FQN."""


class Part(NamedTuple):
    """One array of a variable: `shape` of the array, None in a ragged dimension whose length only data tells."""

    path: str
    type: TypeName
    shape: tuple[int | None, ...]
    counts: bool = False


def is_fixed(type_name: TypeName, types: Types) -> bool:
    """Whether every value of the type takes the same number of bytes."""
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
    """The type itself, and all that its elements and fields are made of."""
    yield type_name
    declared = types.get(type_name)
    if isinstance(declared, VlenType):
        yield from inner_types(declared.base, types)
    elif isinstance(declared, CompoundType):
        for field in declared.fields:
            yield from inner_types(field.type, types)


def descr(type_name: TypeName, types: Types) -> Descr:
    """The element type of a fixed-size type (or string) as one array: packed, little-endian."""
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
    """Bytes of one packed value of a fixed-size type."""
    return itemsize(descr(type_name, types))


class Leaf(NamedTuple):
    """One array: a type of fixed size, strings, or the lengths of lists (`counts`)."""

    path: str
    type: TypeName
    counts: bool = False


class ListTree(NamedTuple):
    """Lists: their lengths, and the elements of all of them, which are of the type `base`."""

    counts: Leaf
    base: TypeName
    content: PartTree


class RecordTree(NamedTuple):
    """Records with members of variable size."""

    members: tuple[tuple[Field, PartTree], ...]


PartTree: TypeAlias = Leaf | ListTree | RecordTree
"""How the values of one type lie in arrays."""


def part_tree(type_name: TypeName, types: Types, path: str = "") -> PartTree:
    """Return the columnar tree of a type, whose arrays lie at and below a path."""
    declared = types.get(type_name)
    inside = path + "/" if path else ""
    if isinstance(declared, VlenType):
        content = part_tree(declared.base, types, inside + "content")
        return ListTree(Leaf(inside + "counts", "int64", counts=True), declared.base, content)
    if isinstance(declared, CompoundType) and not is_fixed(type_name, types):
        members = ((each, part_tree(each.type, types, inside + escape(each.name))) for each in declared.fields)
        return RecordTree(tuple(members))
    return Leaf(path, type_name)


Cells = TypeVar("Cells")
Found = TypeVar("Found")


def spread(
    tree: PartTree,
    cells: Cells,
    array: Callable[[Leaf, Cells], Found],
    elements: Callable[[ListTree, Cells], Cells],
    member: Callable[[int, Field, Cells], Cells],
) -> Iterator[tuple[str, Found]]:
    """Yield path and `array` of each array, counts before content, fields in order.

    `cells` says of what: some cells of the variable, their values or their shape. `elements` makes of cells what the
    content of their lists is, `member` what a member of records is, by number and field.
    """
    match tree:
        case Leaf():
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
    """The arrays of a variable of this type and shape, in a fixed order: counts before content, fields in order."""
    found = spread(
        part_tree(type_name, types),
        shape,
        lambda leaf, shape: Part(leaf.path, leaf.type, shape, leaf.counts),
        lambda tree, shape: (None,),
        lambda number, field, shape: (*shape, *field.shape),
    )
    return (part for _, part in found)


def escape(name: str) -> str:
    """A field's name as one segment of a part's path: `%` and what stores keep for themselves as `%xx`."""
    text = name.replace("%", "%25").replace("/", "%2F")
    if text.startswith((".", "__")) or text == "zarr.json":
        return f"%{ord(text[0]):02X}{text[1:]}"
    return text
