"""The one rule of how types lie in arrays: `parts(T)`.

A fixed-size type is one array. Strings are one array of `bytes | None`. A vlen is `counts` (int64, of the
variable's shape) and `content` = parts of its base in one dimension. A compound with members of variable
size is one child a member. Nothing else exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, assert_never

from nczarr.arrays.source import Descr, itemsize
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType, EnumType, OpaqueType, UserType, VlenType

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


def parts(type_name: TypeName, shape: tuple[int | None, ...], types: Types, path: str = "") -> Iterator[Part]:
    """The arrays of a variable of this type and shape, in a fixed order: counts before content, fields in order."""
    declared = types.get(type_name)
    inside = path + "/" if path else ""
    if isinstance(declared, VlenType):
        yield Part(inside + "counts", "int64", shape, counts=True)
        yield from parts(declared.base, (None,), types, inside + "content")
    elif isinstance(declared, CompoundType) and not is_fixed(type_name, types):
        for field in declared.fields:
            yield from parts(field.type, (*shape, *field.shape), types, inside + escape(field.name))
    else:
        yield Part(path, type_name, shape)


def escape(name: str) -> str:
    """A field's name as one segment of a part's path: `%` and what stores keep for themselves as `%xx`."""
    text = name.replace("%", "%25").replace("/", "%2F")
    if text.startswith((".", "__")) or text == "zarr.json":
        return f"%{ord(text[0]):02X}{text[1:]}"
    return text
