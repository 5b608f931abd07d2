"""Datasets, groups, dimensions, variables, attributes: the NCZarr data model, extended to all of netCDF-4.

Invariants after the passes: every `TypeName` is an atomic name or the FQN of a declared type; every
dimension reference is the FQN of a declared dimension or the size of an anonymous one. Variables hold no data.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt

from nczarr.ast.node import Name, Node, TypeName
from nczarr.ast.storage import DEFAULT_STORAGE, Storage
from nczarr.ast.types import UserType
from nczarr.ast.values import Constant

Kind = Literal["nc3", "nc6", "nc5", "nc4", "nc7"]
"""The kinds of netCDF file: classic, 64-bit offset, CDF-5, netCDF-4, netCDF-4 classic model."""


class Dimension(Node):
    """A named extent. `size` is the current length, whether or not it may grow."""

    name: Name
    size: NonNegativeInt
    unlimited: bool = False


class Attribute(Node):
    """A named constant of one type; `_FillValue` is an attribute as any other."""

    name: Name
    value: Constant


DimensionRef = Annotated[str | NonNegativeInt, Field(union_mode="left_to_right")]
"""The FQN of a dimension, or the size of an anonymous one (the specification's `dimref`)."""


class Variable(Node):
    """A named array: a scalar if it has no dimensions."""

    name: Name
    type: TypeName
    dimensions: tuple[DimensionRef, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    storage: Storage = DEFAULT_STORAGE


class Group(Node):
    """A scope: declarations in the order of definition, one tuple a kind of thing."""

    name: Name
    types: tuple[UserType, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    variables: tuple[Variable, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    groups: tuple[Group, ...] = ()


class Dataset(Group):
    """The root group. Its name is never part of a FQN, and may be empty.

    `version` is the data model's (the specification's ZARRVERSION); `kind` is the kind of netCDF file that the
    dataset came from or asks for, None if nothing was said.
    """

    name: str
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")] = "2.0.0"
    kind: Kind | None = None
