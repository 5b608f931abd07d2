"""Records of a digest: types, dimensions, attributes, variables and groups as bytes (docs/reference/digest.md).

Length or number prefixes make the encoding injective. Declarations of a group
are sorted by name, because definition order does not count; attributes are in
their order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import assert_never

from nczarr.arrays.values.parts import Types, is_fixed
from nczarr.ast import (
    ATOMIC,
    Attribute,
    CompoundType,
    Constant,
    EnumType,
    Group,
    OpaqueType,
    UserType,
    Variable,
    VlenType,
)

VERSION = "nczarr-digest-1"
"""Prefix of each record; other definitions need another number."""


def number(value: int) -> bytes:
    """Return a number in eight bytes, little-endian."""
    return value.to_bytes(8, "little")


def data(value: bytes) -> bytes:
    """Return length-prefixed bytes."""
    return number(len(value)) + value


def text(value: str) -> bytes:
    """Return a length-prefixed name in UTF-8; surrogate-escaped bytes are restored."""
    return data(value.encode("utf-8", "surrogateescape"))


def model_hash(group: Group, types: Types) -> bytes:
    """Return the hash of a group's declarations, without variables and groups."""
    return _hash(
        "model",
        attributes(group.attributes, types),
        _listed((declared.name, _definition(declared)) for declared in group.types),
        _listed(
            (dimension.name, number(dimension.size) + number(dimension.unlimited)) for dimension in group.dimensions
        ),
    )


def group_hash(model: bytes, variables: Iterable[tuple[str, bytes]], groups: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the hash of a group and its content: of its model, variables and groups by name."""
    return _hash("group", model, _listed(variables), _listed(groups))


def variable_hash(variable: Variable, shape: tuple[int, ...], values: bytes, types: Types) -> bytes:
    """Return the hash of a variable without its name. `values`: the hash of its values."""
    axes = (
        text(named if isinstance(named, str) else "") + number(length)
        for named, length in zip(variable.dimensions, shape, strict=True)
    )
    return _hash(
        "variable",
        text(variable.type),
        number(len(shape)) + b"".join(axes),
        attributes(variable.attributes, types),
        values,
    )


def attributes(declared: tuple[Attribute, ...], types: Types) -> bytes:
    """Return attributes in their order: name, type, number of values, values."""
    pieces = [number(len(declared))]
    for attribute in declared:
        value = attribute.value
        pieces += (
            text(attribute.name),
            text(value.type),
            number(value.count),
            data(elements(value.type, [value], types)),
        )
    return b"".join(pieces)


def elements(type_name: str, constants: Sequence[Constant], types: Types) -> bytes:
    """Return the concatenated values of constants of one type, as variables' values are hashed."""
    declared = types.get(type_name)
    if type_name == "string":
        return b"".join(map(_string, itertools.chain.from_iterable(constant.data for constant in constants)))
    if is_fixed(type_name, types):
        return b"".join(constant.data for constant in constants if isinstance(constant.data, bytes))
    inner = [item for constant in constants for item in constant.data if isinstance(item, Constant)]
    if isinstance(declared, VlenType):
        return b"".join(number(item.count) for item in inner) + elements(declared.base, inner, types)
    assert isinstance(declared, CompoundType)  # enums and opaque types are of fixed size
    fields = declared.fields
    members = (elements(field.type, inner[at :: len(fields)], types) for at, field in enumerate(fields))
    return b"".join(members)


def _string(value: object) -> bytes:
    return data(value) if isinstance(value, bytes) else b"\xff" * 8


def _definition(declared: UserType) -> bytes:
    match declared:
        case EnumType():
            size = ATOMIC[declared.base].size
            constants = (
                text(member.name) + member.value.to_bytes(size, "little", signed=member.value < 0)
                for member in declared.constants
            )
            return text("enum") + text(declared.base) + number(len(declared.constants)) + b"".join(constants)
        case OpaqueType():
            return text("opaque") + number(declared.size)
        case VlenType():
            return text("vlen") + text(declared.base)
        case CompoundType():
            fields = (
                text(field.name) + text(field.type) + number(len(field.shape)) + b"".join(map(number, field.shape))
                for field in declared.fields
            )
            return text("compound") + number(len(declared.fields)) + b"".join(fields)
        case _:
            assert_never(declared)


def _listed(named: Iterable[tuple[str, bytes]]) -> bytes:
    """Return items sorted by name bytes, after their number."""
    lines = sorted((name.encode("utf-8", "surrogateescape"), record) for name, record in named)
    return number(len(lines)) + b"".join(data(name) + record for name, record in lines)


def _hash(kind: str, *pieces: bytes) -> bytes:
    return sha256(text(VERSION) + text(kind) + b"".join(pieces)).digest()
