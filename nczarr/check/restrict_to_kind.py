"""Removal of content that a kind of netCDF file cannot hold, for runs that accept the loss.

Expects: a checked dataset with reported conflicts (`kinds.py`). Ensures: no conflict remains. Groups, user
types, variables and attributes of other types are dropped, and too long dimensions with their variables.
Excess unlimited dimensions become fixed.
"""

from __future__ import annotations

from typing import TypeVar

from nczarr import names
from nczarr.ast import Attribute, Dataset, Group, Kind
from nczarr.ast.kinds import HDF5_KINDS, RESERVED_ATTRIBUTES
from nczarr.capabilities import NETCDF_KINDS
from nczarr.check.checked import Checked, remaining
from nczarr.check.kinds import LONGEST

AnyGroup = TypeVar("AnyGroup", bound=Group)


def reduced(checked: Checked, kind: Kind) -> Checked:
    """Return the part of a dataset that a file of this kind holds."""
    dataset = checked.dataset if kind == "nc4" else _classic(checked, kind)
    return remaining(checked, _with_attributes(dataset, kind))


def without(checked: Checked, gone: frozenset[str]) -> Checked:
    """Return a dataset without these variables; all else remains, even unused dimensions."""

    def rest(group: AnyGroup, path: str) -> AnyGroup:
        kept = tuple(each for each in group.variables if names.join(path, each.name) not in gone)
        groups = tuple(rest(child, names.join(path, child.name)) for child in group.groups)
        return group.model_copy(update={"variables": kept, "groups": groups})

    return remaining(checked, rest(checked.dataset, "/"))


def _classic(checked: Checked, kind: Kind) -> Dataset:
    """Return the root group with the dimensions and variables of the classic model."""
    root = checked.dataset
    growing = _growing(checked)
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


def _growing(checked: Checked) -> str | None:
    """Return the remaining unlimited dimension: the first one, if it comes first wherever it is used."""
    first = next((dimension for dimension in checked.dataset.dimensions if dimension.unlimited), None)
    if first is None:
        return None
    path = names.join("/", first.name)
    used = (variable.dimensions[1:] for variable in checked.dataset.variables)
    return None if any(path in behind for behind in used) else first.name


def _with_attributes(group: AnyGroup, kind: Kind) -> AnyGroup:
    """Return a group with only the attributes that the kind holds."""
    variables = tuple(
        variable.model_copy(update={"attributes": _attributes(variable.attributes, kind)})
        for variable in group.variables
    )
    groups = tuple(_with_attributes(child, kind) for child in group.groups)
    changes = {"attributes": _attributes(group.attributes, kind), "variables": variables, "groups": groups}
    return group.model_copy(update=changes)


def _attributes(attributes: tuple[Attribute, ...], kind: Kind) -> tuple[Attribute, ...]:
    held = NETCDF_KINDS[kind]
    return tuple(
        attribute
        for attribute in attributes
        if (attribute.value.type in held.atomic or held.attribute_user_types)
        and not (kind in HDF5_KINDS and attribute.name in RESERVED_ATTRIBUTES)
    )
