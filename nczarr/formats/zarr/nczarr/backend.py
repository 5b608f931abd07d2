"""`nczarr`: plan → metadata of an NCZarr store: hidden attributes of netCDF-C with our extension."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from nczarr import names
from nczarr.arrays.sources.source import Descr, Layout
from nczarr.arrays.values.elements import element_of
from nczarr.ast import Attribute, Dataset, Group, Variable
from nczarr.ast.plain import JsonConstant, plain
from nczarr.ast.walk import groups
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.stored_types import plain_type
from nczarr.formats.zarr.core.writer import Entry, Writer
from nczarr.formats.zarr.extension import documents
from nczarr.formats.zarr.v2.backend import Zarr2Writer
from nczarr.plan.plans import StorePlan
from nczarr.plan.requested_storage import fill_alone

SCALAR_AXES = ("_scalar_",)
"""The library's name for the single dimension of a scalar."""


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Yield every metadata key with its document, children first, the root last."""
    return NCZarrWriter(plan).entries()


class HiddenAttributes(Writer):
    """Hidden attributes of `nczarr` and `nczarr3`; `known` caches unescaped dimension names."""

    superblock: Mapping[str, Any]
    """netCDF-C's members of the superblock."""

    def __init__(self, plan: StorePlan) -> None:
        super().__init__(plan)
        self.known = documents.PlainNames()

    def lists(self, path: str, member: Variable | Group) -> bool:
        """Return whether a group lists a member; the library cannot see others."""
        return isinstance(member, Group) or "" in self.plan.targets[path]

    def said_type(self, dtype: Descr) -> str:
        return "" if element_of(dtype) is not None else plain_type(dtype) or ""

    def attribute_form(self, attribute: Attribute) -> JsonConstant:
        """Return an attribute in plain JSON."""
        return plain(attribute.value)

    def _without_fill(self, attribute: Attribute) -> JsonConstant:
        """Return an attribute in plain JSON; `_FillValue` has none, so that the extension holds it."""
        return JsonConstant(None, False) if attribute.name == "_FillValue" else self.attribute_form(attribute)

    def group_attributes(self, path: str, group: Group) -> Json:
        """Return the attributes and `_nczarr_group`, `_nczarr_superblock` (root), `_nczarr_attr`."""
        shown, hidden = documents.attributes(group.attributes)
        arrays, children = (
            [member.name for member in members if self.lists(names.join(path, member.name), member)]
            for members in (group.variables, group.groups)
        )
        axes = self.plan.axes
        shown["_nczarr_group"] = documents.group(group, lambda name: axes[names.join(path, name)], arrays, children)
        if isinstance(group, Dataset):
            shown["_nczarr_superblock"] = documents.superblock(group, self.superblock)
        shown["_nczarr_attr"] = hidden
        return shown

    def variable_attributes(self, path: str, variable: Variable) -> Json:
        """Return the attributes, `_nczarr_array` or `_nczarr_group`, and `_nczarr_attr`."""
        form = self.attribute_form
        if fill_alone(self.plan, path, variable):
            form = self._without_fill
        shown, hidden = documents.attributes(variable.attributes, form)
        whole = self.plan.targets[path].get("")
        if whole is not None:
            shown |= self.axes_attributes(path)
            said_type = self.said_type(whole.layout.dtype)
            shown["_nczarr_array"] = documents.array(self.plan, path, variable, self.known, said_type)
        else:
            shown["_nczarr_group"] = documents.group_of_parts(self.plan, path, variable, self.known)
        shown["_nczarr_attr"] = hidden
        return shown


class NCZarrWriter(HiddenAttributes, Zarr2Writer):
    """NCZarr for netCDF-C 4.9.3 and later. Scalars have shape `[1]`: the library drops shape `[]`.

    `order`: index of each group in the library's walk.
    """

    scalar_shape = (1,)
    superblock = MappingProxyType({"version": "2.0.0"})

    def __init__(self, plan: StorePlan) -> None:
        super().__init__(plan)
        self.order: dict[str, int] = {}

    def lists(self, path: str, member: Variable | Group) -> bool:
        """Return whether the netCDF library can see a member without losing the dataset.

        It cannot read groups of parts and unknown types, and crashes on
        dimensions that it meets after the variable: it walks groups in list
        order, parents first.
        """
        if names.problem(member.name) is not None or isinstance(member, Group):
            return names.problem(member.name) is None
        whole = self.plan.targets[path].get("")
        if whole is None or not _is_known(whole.layout):
            return False
        met = self._met(path)
        return all(self._met(ref) <= met for ref in member.dimensions if isinstance(ref, str))

    def _met(self, fqn: str) -> int:
        """Return the walk index of an object's group; names in a store have no slash."""
        if not self.order:
            walk = groups(self.plan.checked.dataset)
            self.order.update(("" if path == "/" else path, number) for number, (path, _) in enumerate(walk))
        return self.order[fqn.rpartition("/")[0]]

    def said_type(self, dtype: Descr) -> str:
        return "string" if dtype == "|S1" else super().said_type(dtype)

    def axes_attributes(self, path: str) -> Json:
        """Return the dimension names for xarray; the library requires those of a scalar."""
        axes = self.plan.axes[path]
        return {"_ARRAY_DIMENSIONS": axes or SCALAR_AXES} if self.plan.options.xarray or not axes else {}


def _is_known(layout: Layout) -> bool:
    """Return whether the library can read an array: numbers, and fixed-length texts with a known fill value."""
    if not isinstance(layout.dtype, str) or layout.dtype[1] in "VO":
        return False
    if layout.dtype[1] == "S" and layout.dtype[0] == "|":
        return layout.fill is None or not layout.fill.strip(b"\0")
    return True
