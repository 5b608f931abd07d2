"""`nczarr`: plan → metadata of an NCZarr store: hidden attributes of netCDF-C with our extension."""

from collections.abc import Iterator
from types import MappingProxyType

from nczarr import names
from nczarr.arrays.sources.source import Descr, Layout
from nczarr.ast import Group, Variable
from nczarr.ast.dataset import groups
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.writer import Entry
from nczarr.formats.zarr.extension.documents import HiddenAttributes
from nczarr.formats.zarr.v2.backend import Zarr2Writer
from nczarr.plan.plans import StorePlan

SCALAR_AXES = ("_scalar_",)
"""The library's name for the single dimension of a scalar."""


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Yield every metadata key with its document, children first, the root last."""
    return NCZarrWriter(plan).entries()


class NCZarrWriter(HiddenAttributes, Zarr2Writer):
    """NCZarr for netCDF-C 4.9.3 and later. Scalars have shape `[1]`: the library drops shape `[]`.

    `order`: index of each group in the library's walk.
    """

    scalar_shape = (1,)  # netCDF-C 4.10.1 does not show an array of shape `[]`
    superblock = MappingProxyType({"version": "2.0.0"})  # netCDF-C 4.9.0 to 4.10.1

    def __init__(self, plan: StorePlan) -> None:
        super().__init__(plan)
        self.order: dict[str, int] = {}

    def is_listed(self, path: str, member: Variable | Group) -> bool:
        """Return whether the netCDF library can see a member without losing the dataset.

        It cannot read groups of parts and unknown types, and crashes on
        dimensions that it meets after the variable: it walks groups in list
        order, parents first.
        """
        if names.problem(member.name) is not None:
            return False
        if isinstance(member, Group):
            return True
        target = self.plan.targets[path].get("")  # the array, if one holds all values
        if target is None or not _is_known(target.layout):
            return False
        own_turn = self._turn_in_walk(path)
        return all(self._turn_in_walk(fqn) <= own_turn for fqn in member.dimensions if isinstance(fqn, str))

    def _turn_in_walk(self, fqn: str) -> int:
        """Return the index in the library's walk of an object's group; names in a store have no slash."""
        if not self.order:
            walk = groups(self.plan.checked.dataset)
            self.order.update(("" if path == "/" else path, number) for number, (path, _) in enumerate(walk))
        return self.order[fqn.rpartition("/")[0]]

    def find_said_type(self, dtype: Descr) -> str:
        return "string" if dtype == "|S1" else super().find_said_type(dtype)  # as netCDF-C reads `|S1`

    def finish(self, path: str, shown: Json, hidden: Json) -> Json:
        return shown | {f"_nczarr_{what}": document for what, document in hidden.items()}

    def axes_attributes(self, path: str) -> Json:
        """Return the dimension names for xarray; the library requires those of a scalar."""
        axes = self.plan.axes[path]
        return {"_ARRAY_DIMENSIONS": axes or SCALAR_AXES} if self.plan.options.target.xarray or not axes else {}


def _is_known(layout: Layout) -> bool:
    """Return whether the library can read an array: numbers, and fixed-length texts with a known fill value."""
    if not isinstance(layout.dtype, str) or layout.dtype[1] in "VO":  # netCDF-C refuses them: -137
        return False
    if layout.dtype[1] == "S" and layout.dtype[0] == "|":
        return layout.fill is None or not layout.fill.strip(b"\0")  # netCDF-C does not decode base64 of a fill value
    return True
