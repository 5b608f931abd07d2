"""`nczarr`: metadata of an NCZarr store, from a plan: what netCDF-C 4.9.3 and later reads, plus the extension.

Contract: nczarr-storage §17 (what everybody reads) and §18 (where the extension is safe). An array or group that the
netCDF library would stumble over is left out of the lists of its group: stored, but hidden from the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.ast import Dataset, Group, Variable
from nczarr.ast.walk import groups
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.extension import documents
from nczarr.formats.zarr.nczarr.dtypes import known_to_netcdf, said_type
from nczarr.formats.zarr.nczarr.extension_diff import array_extension, parts_extension
from nczarr.formats.zarr.v2.tree import Entry, Tree
from nczarr.plan.plans import StorePlan

SUPERBLOCK_VERSION = "2.0.0"
SCALAR_AXES = ("_scalar_",)
"""The library's own name for the one dimension that it gives a scalar."""

Json = dict[str, Any]


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Every key of metadata with its document, children first, the root last."""
    return Tree(plan, _NCZarr(plan)).entries()


class _NCZarr:
    """The dialect of netCDF-C. A scalar has shape `[1]`: the library drops arrays of shape `[]`.

    `known` and `order` remember dimension names without escapes, and the place of each group in the library's walk.
    """

    scalar_shape: tuple[int, ...] = (1,)

    def __init__(self, plan: StorePlan) -> None:
        self.plan = plan
        self.known = documents.PlainNames()
        self.order: dict[str, int] = {}

    def group_attributes(self, path: str, group: Group) -> Json:
        shown, hidden = documents.attributes(group.attributes)
        arrays = [
            variable.name for variable in group.variables if self._listed(names.join(path, variable.name), variable)
        ]
        children = [child.name for child in group.groups if names.problem(child.name) is None]
        shown["_nczarr_group"] = documents.group(
            group, lambda name: self.plan.axes[names.join(path, name)], arrays, children
        )
        if isinstance(group, Dataset):
            shown["_nczarr_superblock"] = documents.superblock(group, SUPERBLOCK_VERSION)
        shown["_nczarr_attr"] = hidden
        return shown

    def _listed(self, path: str, variable: Variable) -> bool:
        """Whether the netCDF library may see a variable without losing the dataset.

        Not what is a group of parts or of a type that it does not know, and not what uses a dimension
        that the library meets later than the variable, on which it crashes: it walks the groups in the order of
        their lists, parents first (nczarr-storage §5; tried on 4.10.1 with cousins too).
        """
        whole = self.plan.targets[path].get("")
        if whole is None or not known_to_netcdf(whole.layout) or names.problem(variable.name) is not None:
            return False
        met = self._met(path)
        return all(self._met(ref) <= met for ref in variable.dimensions if isinstance(ref, str))

    def _met(self, fqn: str) -> int:
        """When the library meets the group that something is in; no name in a store has a slash."""
        if not self.order:
            walk = groups(self.plan.checked.dataset)
            self.order.update(("" if path == "/" else path, number) for number, (path, _) in enumerate(walk))
        return self.order[fqn.rpartition("/")[0]]

    def variable_attributes(self, path: str, variable: Variable) -> Json:
        shown, hidden = documents.attributes(variable.attributes)
        axes = self.plan.axes[path]
        if "" in self.plan.targets[path]:
            if self.plan.options.xarray or not axes:  # of a scalar the library wants to see that it is one
                shown["_ARRAY_DIMENSIONS"] = axes or SCALAR_AXES
            said = said_type(self.plan.targets[path][""].layout)
            extension = array_extension(self.plan, path, variable, self.known, said)
            shown["_nczarr_array"] = documents.array(path, variable, axes, self.known, extension)
        else:
            shown["_nczarr_group"] = documents.group_of_parts(parts_extension(self.plan, path, variable, self.known))
        shown["_nczarr_attr"] = hidden
        return shown
