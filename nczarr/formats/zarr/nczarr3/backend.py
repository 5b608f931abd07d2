"""`nczarr3`: metadata of an NCZarr store on Zarr v3, from a plan: `zarr3`, and the whole model in hidden attributes.

The attributes are those of `nczarr` (nczarr-storage §5, §9, §18), inside the `attributes` of each node. They differ in
what the plain documents say already: a char has a type of its own, a scalar has shape `[]`, every array has a fill
value, and all arrays are listed. `_FillValue` stands in xarray's code (`fill_attribute`), with its own type beside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.arrays.parts import NUMPY
from nczarr.arrays.source import Layout
from nczarr.ast import Attribute, Dataset, Group, Variable
from nczarr.ast.plain import Plain, plain
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.extension import documents
from nczarr.formats.zarr.nczarr.extension_diff import array_extension, parts_extension
from nczarr.formats.zarr.v3.dtypes import fill_attribute
from nczarr.formats.zarr.v3.tree import Entry, Tree
from nczarr.plan.plans import StorePlan

SUPERBLOCK_VERSION = "3.0.0"

Json = dict[str, Any]


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Every key of metadata with its document, children first, the root last."""
    return Tree(plan, _NCZarr3(plan)).entries()


class _NCZarr3:
    """The dialect with the extension; `known` remembers dimension names without escapes."""

    def __init__(self, plan: StorePlan) -> None:
        self.plan = plan
        self.known = documents.PlainNames()

    def group_attributes(self, path: str, group: Group) -> Json:
        shown, hidden = documents.attributes(group.attributes)
        arrays = [
            variable.name for variable in group.variables if "" in self.plan.targets[names.join(path, variable.name)]
        ]
        children = [child.name for child in group.groups]
        shown["_nczarr_group"] = documents.group(
            group, lambda name: self.plan.axes[names.join(path, name)], arrays, children
        )
        if isinstance(group, Dataset):
            shown["_nczarr_superblock"] = documents.superblock(group, SUPERBLOCK_VERSION, format=3)
        shown["_nczarr_attr"] = hidden
        return shown

    def variable_attributes(self, path: str, variable: Variable) -> Json:
        shown, hidden = documents.attributes(variable.attributes, _form)
        if "" in self.plan.targets[path]:
            axes, said = self.plan.axes[path], _said_type(self.plan.targets[path][""].layout)
            extension = array_extension(self.plan, path, variable, self.known, said)
            shown["_nczarr_array"] = documents.array(path, variable, axes, self.known, extension)
        else:
            shown["_nczarr_group"] = documents.group_of_parts(parts_extension(self.plan, path, variable, self.known))
        shown["_nczarr_attr"] = hidden
        return shown


def _form(attribute: Attribute) -> Plain:
    return fill_attribute(attribute.value) if attribute.name == "_FillValue" else plain(attribute.value)


def _said_type(layout: Layout) -> str:
    """The atomic type that the data type says to a reader who finds nothing else."""
    if not isinstance(layout.dtype, str):
        return ""
    little = layout.dtype.replace(">", "<")
    return next((name for name, known in NUMPY.items() if known == little), "")
