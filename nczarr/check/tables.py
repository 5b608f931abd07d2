"""Declarations by FQN: lookup tables for the passes."""

from __future__ import annotations

from typing import NamedTuple

from nczarr import names
from nczarr.ast import Dataset, Dimension, Group, UserType, Variable
from nczarr.ast.walk import groups


class Tables(NamedTuple):
    """Declarations of a tree by FQN. For equal names the first counts (the second was reported)."""

    groups: dict[str, Group]
    types: dict[str, UserType]
    dimensions: dict[str, Dimension]
    variables: dict[str, Variable]


def tables(dataset: Dataset) -> Tables:
    """Return the tables of a tree in definition order, parents before children."""
    found = Tables({}, {}, {}, {})
    for path, group in groups(dataset):
        found.groups.setdefault(path, group)
        for declared in group.types:
            found.types.setdefault(names.join(path, declared.name), declared)
        for dimension in group.dimensions:
            found.dimensions.setdefault(names.join(path, dimension.name), dimension)
        for variable in group.variables:
            found.variables.setdefault(names.join(path, variable.name), variable)
    return found
