"""Editor of an HDF5 file: applies the changes of a header through h5py, and makes new variables and groups.

Links are moved by HDF5 (`H5Lmove`), first to temporary names, so that names can
be exchanged. Scales are replaced where a dimension gets or loses its coordinate
variable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import grid_of
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import ATOMIC, Dimension, Group, Variable
from nczarr.ast.dataset import DEFLATE, FLETCHER32, SHUFFLE
from nczarr.ast.renaming import NodeKind
from nczarr.formats.netcdf4.header.datatypes import NON_COORDINATE
from nczarr.plugins.edit.header_changes import (
    AttributeChange,
    AttributeOrder,
    DimensionChange,
    HeaderEdit,
    NodeAddition,
)
from nczarr.plugins.edit.netcdf4 import scales
from nczarr.plugins.edit.netcdf4.objects import (
    AttributeEditor,
    EditedObjects,
    RefusedEditError,
    coordinate_of,
    list_links,
    store_value,
)
from nczarr.plugins.edit.netcdf4.scales import ScaleEditor
from nczarr.semantics.checked import Checked

CHUNK = 4 << 20
"""Bytes of a chunk of a new variable, at most."""


def create_group(parent: Any, node: Group) -> Any:
    """Create a group with its attributes."""
    from h5py import h5g, h5p

    plist = h5p.create(h5p.GROUP_CREATE)
    plist.set_link_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
    plist.set_attr_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
    group = h5g.create(parent, node.name.encode(), gcpl=plist)
    editor = AttributeEditor(group, node.name)
    for attribute in node.attributes:
        if attribute.value.type not in ATOMIC:
            raise RefusedEditError(f"an attribute of the type `{attribute.value.type}`")
        editor.set(attribute.name, store_value(attribute.value, None, None))
    return group


def create_variable(group: Any, link: bytes, path: str, after: Checked, named_type: Any) -> Any:
    """Create the dataset of a variable without values, with its attributes; it is not attached to scales."""
    from h5py import h5d, h5p, h5s, h5t, string_dtype

    variable, shape, fill = after.variables[path], after.shapes[path], after.fills[path]
    storage = variable.storage
    grows = [isinstance(one, str) and after.dimensions[one].unlimited for one in variable.dimensions]
    most = tuple(h5s.UNLIMITED if one else length for one, length in zip(grows, shape, strict=True))
    space = h5s.create_simple(shape, most) if shape else h5s.create(h5s.SCALAR)
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_attr_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
    plist.set_obj_track_times(False)  # as netCDF-C: no times of creation
    if variable.type == "string":
        kind = h5t.C_S1.copy()
        kind.set_size(h5t.VARIABLE)
        kind.set_cset(h5t.CSET_UTF8)
        text = b"" if fill is None or not fill.data[0] else fill.data[0]
        plist.set_fill_value(np.array(text, dtype=string_dtype()))
    elif variable.type == "char":
        kind = h5t.C_S1.copy()
    elif variable.type in ATOMIC:
        dtype = np.dtype(NUMPY[variable.type])
        kind = h5t.py_create(dtype.newbyteorder(">") if storage.endian == "big" else dtype)
        if fill is not None and isinstance(fill.data, bytes):
            plist.set_fill_value(np.frombuffer(fill.data, dtype)[0:1].reshape(()))
    else:
        kind = named_type
    if any(grows) or storage.chunks or storage.codecs:
        size = ATOMIC[variable.type].size if variable.type in ATOMIC else 16
        plist.set_chunk(storage.chunks or _choose_chunks(shape, grows, size or 16))
    for codec in storage.codecs:
        match codec.id:
            case _ if codec.id == SHUFFLE:
                plist.set_shuffle()
            case _ if codec.id == DEFLATE:
                plist.set_deflate(codec.parameters[0] if codec.parameters else 6)
            case _ if codec.id == FLETCHER32:
                plist.set_fletcher32()
            case _:
                raise RefusedEditError(f"`{path}` with the filter {codec.id}")
    dataset = h5d.create(group, link, kind, space, plist)
    editor = AttributeEditor(dataset, path)
    for attribute in variable.attributes:
        declared = after.types.get(attribute.value.type)
        named = named_type if attribute.value.type == variable.type else None
        if declared is not None and named is None:
            raise RefusedEditError(f"an attribute of the type `{attribute.value.type}`")
        editor.set(attribute.name, store_value(attribute.value, declared, named))
    return dataset


def _choose_chunks(shape: tuple[int, ...], grows: list[bool], size: int) -> tuple[int, ...]:
    """Return chunk lengths: one along unlimited dimensions, all of the others if that is not too much."""
    lengths = [1 if one else max(1, length) for one, length in zip(grows, shape, strict=True)]
    if all(grows) and len(shape) == 1:
        return (1024,)
    for axis in range(len(lengths)):
        rest = math.prod(lengths[axis + 1 :]) * size
        lengths[axis] = max(1, min(lengths[axis], CHUNK // max(1, rest)))
    return tuple(lengths)


def is_fully_written(dataset: Any) -> bool:
    """Return whether all cells of a dataset are stored."""
    from h5py import h5d

    layout = dataset.get_create_plist().get_layout()
    if not math.prod(dataset.shape):
        return True
    if layout == h5d.CHUNKED:
        chunks = dataset.get_create_plist().get_chunk()
        total = math.prod(grid_of(dataset.shape, chunks))
        return bool(dataset.get_num_chunks() == total)
    return bool(layout == h5d.COMPACT or dataset.get_space_status() == h5d.SPACE_STATUS_ALLOCATED)


def read_fill(dataset: Any) -> bytes | None:
    """Return the fill value of cells that are not stored, little-endian; None if it is unknown."""
    from h5py import h5d, h5t

    plist = dataset.get_create_plist()
    kind = dataset.get_type()
    if plist.fill_value_defined() == h5d.FILL_VALUE_UNDEFINED or kind.get_class() not in (h5t.INTEGER, h5t.FLOAT):
        return None
    value = np.zeros((), kind.dtype.newbyteorder("<"))
    plist.get_fill_value(value)
    return value.tobytes()


FILL = "_FillValue"

MOST_MOVED = 1000
"""Maximum links that are moved so that a group keeps its order; HDF5's time grows with their square."""


class HeaderEditor:
    """Editor of one open file."""

    def __init__(self, work: HeaderEdit, root: Any) -> None:
        """Set up. `root`: `h5py.h5g.GroupID` of the root."""
        self.work = work
        self.before, self.after = work.before, work.after
        self.objects = EditedObjects(work, root)
        self._plans: dict[str, dict[bytes, bytes | None]] = {}
        self._moves: list[tuple[Any, bytes, bytes]] = []
        self._dead: list[tuple[Any, bytes]] = []

    def apply(self) -> None:
        """Apply all changes. Raises RefusedEditError, and the exceptions of h5py."""
        self._change_attributes()
        if all(isinstance(change, AttributeChange | AttributeOrder) for change in self.work.changes):
            return
        self.objects.collect()
        self._detach_removed()
        self._plan_links()
        self._move_aside()
        editor = ScaleEditor(self.objects)
        editor.change_dimensions()
        editor.replace_scales()
        self._add()
        self._put_in_place()

    # ---- attributes ----------------------------------------------------------------------------------------------
    def _change_attributes(self) -> None:
        """Apply changes and orders of attributes, owner by owner, in the order of their positions."""
        owners: dict[str, list[AttributeChange]] = {}
        for change in self.work.changes:
            if isinstance(change, AttributeChange | AttributeOrder):
                owners.setdefault(change.owner, [])
            if isinstance(change, AttributeChange):
                owners[change.owner].append(change)
        for owner, changes in owners.items():
            is_variable = owner in self.before.variables
            target = self.objects.dataset(owner) if is_variable else self.objects.group(owner)
            self.objects.check_single_name(owner)
            editor = AttributeEditor(target, owner)
            for change in sorted(changes, key=lambda change: change.position):
                if is_variable and change.name == FILL:
                    self._check_fill(owner, target, change)
                if change.after is None:
                    editor.remove(change.name)
                    continue
                old = self.objects.old_path("type", change.after.type)
                declared, named = (None, None) if old is None else (self.before.types[old], self.objects.type(old))
                editor.set(change.name, store_value(change.after, declared, named))
            new_path = self.work.new_path("variable" if is_variable else "group", owner)
            node: Variable | Group = self.after.variables[new_path] if is_variable else self.after.groups[new_path]
            editor.put_in_order(node.attributes)

    def _check_fill(self, path: str, dataset: Any, change: AttributeChange) -> None:
        """Raise RefusedEditError for a fill value that differs from that of cells without stored values."""
        from h5py import h5s

        if change.after is not None and change.after.data == read_fill(dataset):
            return
        if h5s.UNLIMITED in (dataset.get_space().get_simple_extent_dims(True) or ()):
            raise RefusedEditError(f"`_FillValue` of `{path}`: records that are added later would have the old value")
        if not is_fully_written(dataset):
            text = f"`_FillValue` of `{path}`: cells that were never written would no longer be missing"
            raise RefusedEditError(text)

    # ---- links ---------------------------------------------------------------------------------------------------
    def _detach_removed(self) -> None:
        """Detach dimension scales from the variables that are removed."""
        from h5py import h5ds

        for path in self.objects.gone["variable"]:
            if None in self.objects.scales_of(path):
                raise RefusedEditError(f"`{path}` cannot be removed: its dimensions are not stored in the file")
            if not h5ds.is_scale(self.objects.datasets[path]):
                scales.detach_all(self.objects.datasets[path], self.objects.scales_of(path))

    def _final_link(self, new_path: str) -> bytes:
        """Return the name of the link of a variable afterwards."""
        name = names.last(new_path)
        hides = new_path in self.after.dimensions and coordinate_of(self.after, new_path) is None
        return ((NON_COORDINATE if hides else "") + name).encode()

    def _plan_links(self) -> None:
        """Plan which links are removed or get other names."""
        for path in self.before.variables:
            link = self.objects.variable_link(path)
            final = None
            if path not in self.objects.gone["variable"]:
                final = self._final_link(self.work.new_path("variable", path))
            if final != link:
                self._plan(path, link, final)
        changed = {change.path for change in self.work.changes if isinstance(change, DimensionChange)}
        for path, scale in self.objects.scales.items():
            if scale is None:
                is_renamed = names.last(self.work.new_path("dimension", path)) != names.last(path)
                if path in self.objects.gone["dimension"] or is_renamed:
                    raise RefusedEditError(f"dimension `{path}` is not stored in the file: it follows from lengths")
            elif scales.is_without_variable(scale):
                new_path, link = self.work.new_path("dimension", path), names.last(path).encode()
                replaced = path in changed or coordinate_of(self.after, new_path) is not None
                if path in self.objects.gone["dimension"] or replaced:
                    self._plan(path, link, None)
                elif names.last(new_path) != names.last(path):
                    self._plan(path, link, names.last(new_path).encode())
        others: tuple[tuple[NodeKind, Iterable[str]], ...] = (
            ("type", self.before.types),
            ("group", self.before.groups),
        )
        for kind, paths in others:
            for path in paths:
                new_path = self.work.new_path(kind, path)
                if path in self.objects.gone[kind]:
                    self._plan(path, names.last(path).encode(), None)
                elif path != "/" and names.last(new_path) != names.last(path):
                    self._plan(path, names.last(path).encode(), names.last(new_path).encode())

    def _plan(self, path: str, link: bytes, final: bytes | None) -> None:
        """Plan the name of one link afterwards; None: it is removed."""
        self._plans.setdefault(names.parent(path), {})[link] = final

    def _move_aside(self) -> None:
        """Give the links that change temporary names, and those that follow them, so that all keep their order.

        In a large group, the links that change become the last ones, as with the netCDF library.
        """
        for path, plan in self._plans.items():
            group = self.objects.group(path)
            links = list_links(group)
            first = min((links.index(link) for link, final in plan.items() if final is not None), default=len(links))
            is_large = len(links) - first > MOST_MOVED
            for number, link in enumerate(links):
                final = plan.get(link, link)
                if final is not None and (number < first or (is_large and link not in plan)):
                    continue
                aside = f"_nczarr_edit_{number}".encode()
                group.links.move(link, group, aside)
                if final is None:
                    self._dead.append((group, aside))
                else:
                    self._moves.append((group, aside, final))

    def _put_in_place(self) -> None:
        for group, aside, final in self._moves:
            group.links.move(aside, group, final)
        for group, aside in reversed(self._dead):
            group.unlink(aside)

    # ---- additions -----------------------------------------------------------------------------------------------
    def _add(self) -> None:
        """Create new groups, dimensions and variables, in this order."""
        ids = [
            number
            for scale in self.objects.scales.values()
            if scale and (number := scales.read_dimension_id(scale)) is not None
        ]
        following = max(ids) + 1 if ids else None
        new_groups = {self.work.new_path("group", path): group for path, group in self.objects.groups.items()}
        new_scales = {self.work.new_path("dimension", path): scale for path, scale in self.objects.scales.items()}
        additions = [change for change in self.work.changes if isinstance(change, NodeAddition)]
        order = ("group", "type", "dimension", "variable")
        for change in sorted(additions, key=lambda change: (order.index(change.kind), change.path.count("/"))):
            group = new_groups.get(names.parent(change.path))
            match change.node:
                case Group() as node:
                    new_groups[change.path] = create_group(group, node)
                case Dimension() as node:
                    if coordinate_of(self.after, change.path) is not None:
                        raise RefusedEditError(f"the new dimension `{change.path}` has a variable of its name")
                    new_scales[change.path] = scales.create_scale(
                        group, node.name, node.size, unlimited=node.unlimited, dimension_id=following
                    )
                    following = None if following is None else following + 1
                case Variable() as node:
                    self._add_variable(change.path, node, group, new_scales)
                case _:
                    raise RefusedEditError(f"the new type `{change.path}`")

    def _add_variable(self, path: str, node: Variable, group: Any, new_scales: dict[str, Any]) -> None:
        from h5py import h5ds

        if coordinate_of(self.after, path) is not None:
            raise RefusedEditError(f"the new variable `{path}` would be the coordinate variable of its dimension")
        places = [new_scales.get(str(reference)) for reference in node.dimensions]
        if None in places:
            raise RefusedEditError(f"dimensions of the new variable `{path}` are not stored in the file")
        old_type = self.objects.old_path("type", node.type)
        named = None if old_type is None else self.objects.type(old_type)
        dataset = create_variable(group, self._final_link(path), path, self.after, named)
        for number, scale in enumerate(places):
            h5ds.attach_scale(dataset, scale, number)
