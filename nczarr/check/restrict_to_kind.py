"""Removal of content that a kind of netCDF file cannot hold, for runs that accept the loss.

Expects: a checked dataset with reported conflicts (`kinds.py`). Ensures: no
conflict remains. Groups, user types, variables and attributes of other types
are dropped, and too long dimensions with their variables. Excess unlimited
dimensions become fixed.
"""

from __future__ import annotations

from typing import Any

from nczarr import names
from nczarr.ast import Dataset, Group, Kind, Variable
from nczarr.ast.kinds import HDF5_KINDS, RESERVED_ATTRIBUTES
from nczarr.ast.walk import mapped
from nczarr.check.checked import Checked, remaining
from nczarr.check.kinds import LONGEST
from nczarr.registry import NETCDF_KINDS


def reduced(checked: Checked, kind: Kind) -> Checked:
    """Return the part of a dataset that a file of this kind holds."""
    dataset = checked.dataset if kind == "nc4" else _classic(checked, kind)
    return remaining(checked, _with_attributes(dataset, kind))


def without(checked: Checked, gone: frozenset[str]) -> Checked:
    """Return a dataset without these variables; all else remains, even unused dimensions."""

    def rest(path: str, group: Group) -> dict[str, Any]:
        return {
            "variables": tuple(variable for variable in group.variables if names.join(path, variable.name) not in gone)
        }

    return remaining(checked, mapped(checked.dataset, rest))


def _classic(checked: Checked, kind: Kind) -> Dataset:
    """Return the root group with the dimensions and variables of the classic model."""
    root = checked.dataset
    growing = _growing(checked, kind)
    dimensions = {
        names.join("/", dimension.name): dimension.model_copy(update={"unlimited": dimension.name == growing})
        for dimension in root.dimensions
        if dimension.unlimited or dimension.size <= LONGEST.get(kind, dimension.size)
    }
    variables = tuple(
        variable
        for variable in root.variables
        if variable.type in NETCDF_KINDS[kind].atomic
        and all(isinstance(ref, int) or ref in dimensions for ref in variable.dimensions)
    )
    changes = {"types": (), "groups": (), "dimensions": tuple(dimensions.values()), "variables": variables}
    return root.model_copy(update=changes)


def _growing(checked: Checked, kind: Kind) -> str | None:
    """Return the remaining unlimited dimension: the first one, if a classic file can have it wherever it is used."""
    first = next((dimension for dimension in checked.dataset.dimensions if dimension.unlimited), None)
    if first is None:
        return None
    if kind in HDF5_KINDS:
        return first.name
    path = names.join("/", first.name)
    used = (variable.dimensions[1:] for variable in checked.dataset.variables)
    return None if any(path in behind for behind in used) else first.name


def _with_attributes(dataset: Dataset, kind: Kind) -> Dataset:
    """Return a dataset with only the attributes that the kind holds."""
    limits = NETCDF_KINDS[kind]

    def kept(owner: Group | Variable) -> dict[str, Any]:
        attributes = (
            attribute
            for attribute in owner.attributes
            if (attribute.value.type in limits.atomic or limits.attribute_user_types)
            and not (kind in HDF5_KINDS and attribute.name in RESERVED_ATTRIBUTES)
        )
        return {"attributes": tuple(attributes)}

    def changed(path: str, group: Group) -> dict[str, Any]:
        return {
            **kept(group),
            "variables": tuple(variable.model_copy(update=kept(variable)) for variable in group.variables),
        }

    return mapped(dataset, changed)
