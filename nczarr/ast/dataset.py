"""Datasets, groups, dimensions, variables, attributes: the NCZarr data model, extended to all of netCDF-4.

Invariants after the passes: every `TypeName` is an atomic name or the FQN of a
declared type; every dimension reference is the FQN of a declared dimension or
an anonymous size. Variables hold no data.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt

from nczarr.ast.node import Name, Node, TypeName
from nczarr.ast.storage import DEFAULT_STORAGE, Storage
from nczarr.ast.types import UserType
from nczarr.ast.values import Constant

Kind = Literal["nc3", "nc6", "nc5", "nc4", "nc7"]
"""Kinds of netCDF file: classic, 64-bit offset, CDF-5, netCDF-4, netCDF-4 classic model."""


class Dimension(Node):
    """A named extent."""

    name: Name
    """Name of the dimension."""
    size: NonNegativeInt
    """Current length, also of an unlimited dimension."""
    unlimited: bool = False
    """True if the dimension can grow."""


class Attribute(Node):
    """A named constant of one type; `_FillValue` is an ordinary attribute."""

    name: Name
    """Name of the attribute."""
    value: Constant
    """Type and values."""


DimensionRef = Annotated[str | NonNegativeInt, Field(union_mode="left_to_right")]
"""FQN of a dimension, or an anonymous size (the specification's `dimref`)."""


class Variable(Node):
    """A named array; a scalar without dimensions."""

    name: Name
    """Name of the variable."""
    type: TypeName
    """Atomic type, or FQN of a declared type."""
    dimensions: tuple[DimensionRef, ...] = ()
    """FQNs of dimensions; an integer is an anonymous dimension."""
    attributes: tuple[Attribute, ...] = ()
    """Attributes in definition order."""
    storage: Storage = DEFAULT_STORAGE
    """Layout, codecs and byte order."""


class Group(Node):
    """A scope: declarations in definition order, one tuple per kind."""

    name: Name
    """Name of the group."""
    types: tuple[UserType, ...] = ()
    """Types in definition order."""
    dimensions: tuple[Dimension, ...] = ()
    """Dimensions in definition order."""
    variables: tuple[Variable, ...] = ()
    """Variables in definition order."""
    attributes: tuple[Attribute, ...] = ()
    """Attributes in definition order."""
    groups: tuple[Group, ...] = ()
    """Child groups in definition order."""


class Dataset(Group):
    """The root group. Its name is not part of FQNs, and may be empty.

    `version` is that of the data model (the specification's ZARRVERSION);
    `kind` is the original or requested kind of netCDF file, or None.
    """

    name: str
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")] = "2.0.0"
    kind: Kind | None = None
