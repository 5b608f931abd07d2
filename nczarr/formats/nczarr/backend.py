"""`nczarr`: metadata of an NCZarr store, from a plan: what netCDF-C 4.9.3 and later reads, plus the extension.

Contract: nczarr-storage §17 (what everybody reads) and §18 (where the extension is safe). An array or group that the
netCDF library would stumble over is left out of the lists of its group: stored, but hidden from the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nczarr import names
from nczarr.ast import Attribute, Dataset, Group, Storage, Variable
from nczarr.ast.plain import HIDDEN, plain
from nczarr.ast.walk import groups
from nczarr.data.codecs import from_configs, to_configs
from nczarr.diagnostics import Report
from nczarr.extension.model import ArrayExtension, AttributeExtension, GroupExtension, Superblock
from nczarr.formats.nczarr.dtypes import attribute_dtype, known_to_netcdf, said_type
from nczarr.formats.zarr2.dtypes import itemsize
from nczarr.formats.zarr2.tree import Entry, Tree
from nczarr.passes.planned import Planned

SUPERBLOCK_VERSION = "2.0.0"
SCALAR_AXES = ("_scalar_",)
"""The library's own name for the one dimension that it gives a scalar."""

Json = dict[str, Any]


def emit(planned: Planned, report: Report) -> Iterator[Entry]:
    """Every key of metadata with its document, children first, the root last."""
    return Tree(planned, _NCZarr(planned)).entries()


class _NCZarr:
    """The dialect of netCDF-C. A scalar has shape `[1]`: the library drops arrays of shape `[]`.

    `raw` and `order` remember dimension names without escapes, and the place of each group in the library's walk.
    """

    scalar_shape: tuple[int, ...] = (1,)

    def __init__(self, planned: Planned) -> None:
        self.planned = planned
        self.raw: dict[str, str] = {}
        self.order: dict[str, int] = {}

    def group_attributes(self, path: str, group: Group) -> Json:
        shown, types, others = _attributes(group.attributes)
        shown["_nczarr_group"] = self._group(path, group)
        if isinstance(group, Dataset):
            model = None if group.version == SUPERBLOCK_VERSION else group.version
            extension = Superblock(group.kind, group.name, model)
            shown["_nczarr_superblock"] = {"version": SUPERBLOCK_VERSION, "nczarr": extension.to_json()}
        return _with_types(shown, types, others)

    def _group(self, path: str, group: Group) -> Json:
        dimensions: Json = {
            dimension.name: {"size": dimension.size, "unlimited": 1} if dimension.unlimited else dimension.size
            for dimension in group.dimensions
        }
        anonymous = {
            name: reference
            for variable in group.variables
            for name, reference in zip(
                self.planned.axes[names.join(path, variable.name)], variable.dimensions, strict=True
            )
            if isinstance(reference, int) and name not in dimensions
        }
        arrays = [
            variable.name for variable in group.variables if self._listed(names.join(path, variable.name), variable)
        ]
        children = [child.name for child in group.groups if names.problem(child.name) is None]
        hidden = len(arrays) < len(group.variables) or len(children) < len(group.groups)
        everything = (*(variable.name for variable in group.variables), *(child.name for child in group.groups))
        members = everything if hidden else None
        extension = GroupExtension(group.types, members, tuple(anonymous)).to_json()
        lists = {"dimensions": dimensions | anonymous, "arrays": arrays, "groups": children}
        return {**lists, "nczarr": extension} if extension else lists

    def _listed(self, path: str, variable: Variable) -> bool:
        """Whether the netCDF library may see a variable without losing the dataset.

        Not what is a group of parts or of a type that it does not know, and not what uses a dimension
        that the library meets later than the variable, on which it crashes: it walks the groups in the order of
        their lists, parents first (nczarr-storage §5; tried on 4.10.1 with cousins too).
        """
        whole = self.planned.targets[path].get("")
        if whole is None or not known_to_netcdf(whole.layout) or names.problem(variable.name) is not None:
            return False
        met = self._met(path)
        return all(self._met(ref) <= met for ref in variable.dimensions if isinstance(ref, str))

    def _met(self, fqn: str) -> int:
        """When the library meets the group that something is in; no name in a store has a slash."""
        if not self.order:
            walk = groups(self.planned.checked.dataset)
            self.order.update(("" if path == "/" else path, number) for number, (path, _) in enumerate(walk))
        return self.order[fqn.rpartition("/")[0]]

    def variable_attributes(self, path: str, variable: Variable) -> Json:
        shown, types, others = _attributes(variable.attributes)
        if "" in self.planned.targets[path]:
            shown["_ARRAY_DIMENSIONS"] = self.planned.axes[path] or SCALAR_AXES
            shown["_nczarr_array"] = self._array(path, variable)
        else:
            extension = GroupExtension(variable=self._parts_extension(path, variable))
            lists: Json = {"dimensions": {}, "arrays": [], "groups": []}
            shown["_nczarr_group"] = {**lists, "nczarr": extension.to_json()}
        return _with_types(shown, types, others)

    def _array(self, path: str, variable: Variable) -> Json:
        axes = self.planned.axes[path]
        group = names.split(path)[:-1]
        references = [
            self._reference(ref) if isinstance(ref, str) else "/" + "/".join((*group, name))
            for ref, name in zip(variable.dimensions, axes, strict=True)
        ]
        document: Json = {"dimension_references": references}
        if not references:
            document["scalar"] = 1
        document["storage"] = "chunked"
        extension = self._array_extension(path, variable).to_json()
        return {**document, "nczarr": extension} if extension else document

    def _reference(self, fqn: str) -> str:
        """A dimension's FQN as the library has it: no escapes."""
        found = self.raw.get(fqn)
        if found is None:
            found = self.raw[fqn] = "/" + "/".join(names.split(fqn))
        return found

    def _references(self, variable: Variable) -> tuple[str | int, ...]:
        return tuple(self._reference(ref) if isinstance(ref, str) else ref for ref in variable.dimensions)

    def _array_extension(self, path: str, variable: Variable) -> ArrayExtension:
        """What the plain documents of an array leave unsaid."""
        target = self.planned.targets[path][""]
        layout = target.layout
        storage = self.planned.storage[path]
        written = to_configs(layout.codecs, itemsize(layout.dtype))
        dtype = layout.dtype if isinstance(layout.dtype, str) else "|V"
        number = dtype[1] in "iuf"
        said = Storage(
            layout=None,
            chunks=layout.chunks or None,
            codecs=from_configs(written) or (),
            endian="big" if number and dtype[0] == ">" else None,
            no_fill=number and layout.fill is None,
        )
        anonymous = any(isinstance(ref, int) for ref in variable.dimensions)
        return _unsaid(
            storage,
            said,
            type_name=variable.type if variable.type != said_type(layout) else None,
            dimensions=self._references(variable) if anonymous else None,
            nil={"": target.nil},
        )

    def _parts_extension(self, path: str, variable: Variable) -> ArrayExtension:
        """All that is to be said of a variable that is a group of parts."""
        nil = {part: target.nil for part, target in self.planned.targets[path].items() if target.nil}
        return _unsaid(
            self.planned.storage[path],
            Storage(),
            type_name=variable.type,
            dimensions=self._references(variable),
            nil=nil,
        )


def _unsaid(
    storage: Storage,
    said: Storage,
    *,
    type_name: str | None,
    dimensions: tuple[str | int, ...] | None,
    nil: dict[str, tuple[tuple[int, int], ...]],
) -> ArrayExtension:
    """The extension of a variable whose plain keys say `said` of its storage."""
    filters = tuple((codec.id, *codec.parameters) for codec in storage.codecs)
    return ArrayExtension(
        type=type_name,
        dimensions=dimensions,
        layout=storage.layout,
        chunks=(storage.chunks or ()) if storage.chunks != said.chunks else None,
        filters=filters if storage.codecs != said.codecs else None,
        endian=(storage.endian or "native") if storage.endian != said.endian else None,
        fill_mode=("nofill" if storage.no_fill else "fill") if storage.no_fill != said.no_fill else None,
        quantize=storage.quantize,
        nil=nil,
    )


def _attributes(attributes: Iterable[Attribute]) -> tuple[Json, dict[str, str], Json]:
    """Plain values, their dtypes, and the extension's entries for those that the plain form does not carry."""
    shown: Json = {}
    types: dict[str, str] = {}
    others: Json = {}
    for place, attribute in enumerate(attributes):
        name, constant = attribute.name, attribute.value
        form = plain(constant)
        visible = form.value is not None and name not in HIDDEN and names.problem(name) is None
        if visible:
            shown[name] = form.value
            types[name] = attribute_dtype(constant)
        if not (visible and form.exact):
            others[name] = AttributeExtension(constant, None if visible else place).to_json()
    return shown, types, others


def _with_types(shown: Json, types: dict[str, str], others: Json) -> Json:
    """The attributes with the hidden map of their types behind them."""
    shown["_nczarr_attr"] = {"types": types, "nczarr": others} if others else {"types": types}
    return shown
