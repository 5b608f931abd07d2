"""Declarations by FQN: the tables that passes look names up in."""

from __future__ import annotations

from typing import NamedTuple

from nczarr import names
from nczarr.ast import Dataset, Dimension, Group, UserType, Variable
from nczarr.ast.walk import groups


class Tables(NamedTuple):
    """What a tree declares, by FQN. Of two of one name the first counts (the second has been reported)."""

    groups: dict[str, Group]
    types: dict[str, UserType]
    dimensions: dict[str, Dimension]
    variables: dict[str, Variable]


def tables(dataset: Dataset) -> Tables:
    """The tables of a tree, in the order of definition, parents before children."""
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
