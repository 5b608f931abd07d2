"""Size limits of types: bytes of one value, and members, counted recursively.

Expects: types without cycles; undeclared names count as zero. Reports:
oversized-type. The limits exist because short texts can declare values of
exabytes, and a fill value is a whole value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from nczarr.ast import ATOMIC, CompoundType, EnumType, OpaqueType, UserType, VlenType
from nczarr.ast.types import made_of
from nczarr.diagnostics.report import Report

LARGEST_VALUE = 1 << 27
"""Maximum bytes of one value, without its lists' content."""

MOST_MEMBERS = 1 << 16
"""Maximum members of a type."""


Types = Mapping[str, UserType]


class _Size(NamedTuple):
    """Size of a type."""

    value: int
    """Size of one value in bytes."""
    members: int = 1
    """Number of members."""

    @property
    def is_too_large(self) -> bool:
        return self.value > LARGEST_VALUE or self.members > MOST_MEMBERS


def check_type_sizes(types: Types, report: Report) -> bool:
    """Return whether all types have a valid size; report the innermost oversized ones."""
    sizes: dict[str, _Size] = {}
    large = _oversized(types, sizes)
    for path in large:
        declared, size = types[path], sizes[path]
        if not set(large).isdisjoint(made_of(declared)):
            continue
        what, limit = f"has {size.value} bytes", LARGEST_VALUE
        if size.value <= LARGEST_VALUE:
            what, limit = f"has {size.members} members, nested members included", MOST_MEMBERS
        text = f"a value of type `{declared.name}` {what}; the limit is {limit}"
        report.error("oversized-type", text, declared.span, helps=["give the variable more dimensions instead"])
    return not large


def oversized(types: Types) -> set[str]:
    """Return the FQNs of oversized types."""
    return set(_oversized(types, {}))


def _oversized(types: Types, sizes: dict[str, _Size]) -> list[str]:
    return [path for path in types if _size(path, types, sizes).is_too_large]


def _size(name: str, types: Types, sizes: dict[str, _Size]) -> _Size:
    if name in sizes:
        return sizes[name]
    match types.get(name):
        case None:
            size_of_type = _Size(max(1, ATOMIC[name].size) if name in ATOMIC else 0)
        case OpaqueType(size=size):
            size_of_type = _Size(size)
        case EnumType(base=base):
            size_of_type = _Size(ATOMIC[base].size)
        case VlenType(base=base):
            size_of_type = _Size(16, 1 + _size(base, types, sizes).members)
        case CompoundType(fields=fields):
            inner = [(math.prod(field.shape), _size(field.type, types, sizes)) for field in fields]
            value = sum(count * one.value for count, one in inner)
            size_of_type = _Size(value, sum(one.members for _, one in inner))
    sizes[name] = size_of_type
    return size_of_type
