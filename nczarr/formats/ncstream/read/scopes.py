"""Scope of a header group: visible dimensions, enums and types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from nczarr import names
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType, EnumType, Field, OpaqueType, UserType, VlenType
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb

LONGEST = 240
"""Maximum bytes of a generated name."""

LARGEST = 2**63 - 1
"""Maximum length of a dimension."""

VALUES = "values"
"""Member name of records generated for the dimensions after a ragged one."""


class UnreadableVariableError(ValueError):
    """A variable that the model cannot represent."""


class StreamScope(NamedTuple):
    """A group that is being read."""

    path: str
    """FQN of the group."""
    dimensions: Mapping[str, tuple[str, int]]
    """Visible dimensions by name: FQN and length."""
    enums: Mapping[str, tuple[TypeName, EnumType]]
    """Visible enums by name: FQN and type."""
    taken: set[str]
    """Used names."""
    types: dict[str, UserType]
    """Types so far."""

    def free(self, preferred: str) -> str:
        """Return an unused type name."""
        name = names.normal(preferred).encode()[:LONGEST].decode(errors="ignore")
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def declare(self, user_type: UserType) -> TypeName:
        """Declare a type; return its FQN."""
        self.types[user_type.name] = user_type
        return names.join(self.path, user_type.name)

    def opaque(self, size: int) -> TypeName:
        """Return the FQN of the opaque type of a size, shared in the group."""
        for name, declared in self.types.items():
            if isinstance(declared, OpaqueType) and declared.size == size:
                return names.join(self.path, name)
        return self.declare(OpaqueType(name=self.free(f"opaque_{size}"), size=size))

    def listed(self, base: TypeName, stars: int, inner: tuple[int, ...], name: str) -> TypeName:
        """Return the type of `stars` nested lists. Elements of shape `inner` become records."""
        if inner:
            rows = Field(name=VALUES, type=base, shape=inner)
            base = self.declare(CompoundType(name=self.free(f"{name}_row"), fields=(rows,)))
        for number in range(stars):
            suffix = "list" if number == stars - 1 else "item" * (stars - 1 - number)
            base = self.declare(VlenType(name=self.free(f"{name}_{suffix}"), base=base))
        return base


def split(dimensions: Iterable[pb.Dimension]) -> tuple[list[pb.Dimension], int, list[pb.Dimension]]:
    """Return the dimensions before the first ragged one, the count of ragged ones, and later dimensions."""
    outer: list[pb.Dimension] = []
    inner: list[pb.Dimension] = []
    stars = 0
    for dimension in dimensions:
        if dimension.isVlen:
            stars += 1
        else:
            (inner if stars else outer).append(dimension)
    return outer, stars, inner


def lengths_of(dimensions: Iterable[pb.Dimension]) -> tuple[int, ...]:
    """Return lengths within a record. Raises UnreadableVariableError."""
    lengths = tuple(int(dimension.length) for dimension in dimensions)
    if not all(0 < length <= LARGEST for length in lengths):
        raise UnreadableVariableError("a member has no elements, or too many")
    return lengths


def reference(dimension: pb.Dimension, scope: StreamScope) -> str | int:
    """Return the FQN of a shared dimension, else its length. Raises UnreadableVariableError."""
    if dimension.length > LARGEST:
        raise UnreadableVariableError(f"{dimension.length} is not a dimension length")
    shared_dimension = scope.dimensions.get(names.normal(dimension.name.decode("utf-8", "surrogateescape")))
    shared = not dimension.isPrivate and shared_dimension is not None and shared_dimension[1] == dimension.length
    return shared_dimension[0] if shared and shared_dimension is not None else int(dimension.length)
