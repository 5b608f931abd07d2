"""Detects datasets that the draft fully expresses, to write them without our extension.

A foreign hierarchy thus keeps its documents when it is read and written. Such a
dataset has no name, netCDF kind or dimensions; only types that reading invents,
and attributes of types that plain JSON implies; members in name order; storage
as in the documents.
"""

from __future__ import annotations

from nczarr import names
from nczarr.arrays.values.elements import element_of
from nczarr.ast import ATOMIC, Attribute, Group, Variable
from nczarr.ast.plain import plain
from nczarr.ast.walk import groups
from nczarr.check.checked import Foreign
from nczarr.formats.zarr.core.attributes import untyped
from nczarr.formats.zarr.core.read_zarr import fill_of
from nczarr.formats.zarr.core.stored_types import Inventor
from nczarr.formats.zarr.draft2019.dtypes import has_odd_bits
from nczarr.formats.zarr.extension.documents import MODEL, PlainNames, array_extension
from nczarr.plan.plans import StorePlan
from nczarr.plan.storage_roundtrip import own_type


def is_bare(plan: StorePlan) -> bool:
    """Return whether the documents of the draft express everything."""
    dataset = plan.checked.dataset
    if dataset.name or dataset.kind is not None or dataset.version != MODEL:
        return False
    return all(_is_bare_group(plan, path, group) for path, group in groups(dataset))


def as_it_was(attribute: Attribute, foreign: Foreign) -> bool:
    """Return whether an attribute still equals JSON that the tree represents differently."""
    originals = foreign.attributes
    return attribute.name in originals and untyped(originals[attribute.name]) == attribute.value


def _is_bare_group(plan: StorePlan, path: str, group: Group) -> bool:
    foreign = plan.checked.foreign.get(path, Foreign())
    if group.dimensions or not all(_is_bare_attribute(attribute, foreign) for attribute in group.attributes):
        return False
    for children in ([child.name for child in group.variables], [child.name for child in group.groups]):
        if children != sorted(children):
            return False
    children = [*(child.name for child in group.variables), *(child.name for child in group.groups)]
    if any(plan.prefix(names.join(path, name)).rpartition("/")[0].rpartition("/")[2] != name for name in children):
        return False
    inventor = Inventor(path, set(children))
    return all(_is_bare_variable(plan, path, variable, inventor) for variable in group.variables) and (
        tuple(inventor.made.values()) == group.types
    )


def _is_bare_variable(plan: StorePlan, path: str, variable: Variable, inventor: Inventor) -> bool:
    fqn = names.join(path, variable.name)
    whole = plan.targets[fqn].get("")
    if whole is None or any(isinstance(dimension, str) for dimension in variable.dimensions):
        return False
    if has_odd_bits(whole.layout.dtype, whole.layout.fill):
        return False
    dtype = whole.layout.dtype
    if element_of(dtype) is not None:
        inferred = inventor.type_of(dtype, variable.name) if element_of(dtype) != "float16" else "float"
    elif isinstance(dtype, str) and dtype[1] in "iuf":
        inferred = variable.type if variable.type in ATOMIC else ""
    else:
        return False
    extension = array_extension(plan, fqn, variable, PlainNames(), inferred)
    if inferred != variable.type or extension._replace(dimensions=None).to_json():
        return False
    fill_type = own_type(variable.type, plan.checked.types)
    foreign = plan.checked.foreign.get(fqn, Foreign())
    return all(_is_bare_attribute(attribute, foreign, fill_type) for attribute in variable.attributes)


def _is_bare_attribute(attribute: Attribute, foreign: Foreign, owner: str = "") -> bool:
    """Return whether an attribute reads back from plain JSON, `_FillValue` in its `owner` type."""
    shown = plain(attribute.value).value
    if shown is None or names.problem(attribute.name) is not None:
        return False
    if attribute.name == "_FillValue" and owner:
        return fill_of(owner, shown) == attribute.value
    return untyped(shown) == attribute.value or as_it_was(attribute, foreign)
