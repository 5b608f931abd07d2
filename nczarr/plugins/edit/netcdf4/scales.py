"""Dimension scales of an HDF5 file that is edited, and the changes of them.

A dimension is a dataset with the class of a scale: its coordinate variable, or a
dataset without values (`NO_VARIABLE`). All variables refer to it, by address. So
a new name of a dimension is a new link; only where another dataset becomes the
scale, references change.
"""

from __future__ import annotations

from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.formats.netcdf4.dimension_scales import (
    CLASS,
    COORDINATES,
    DIMENSION_ID,
    DIMENSION_LIST,
    NAME,
    REFERENCE_LIST,
)
from nczarr.formats.netcdf4.header_model import NO_VARIABLE
from nczarr.plugins.edit.header_changes import DimensionChange
from nczarr.plugins.edit.netcdf4.objects import EditedObjects, RefusedEditError, coordinate_of

Attachment = tuple[Any, int]
"""A dataset, and the number of the dimension of it that has a scale."""


def has_attribute(owner: Any, name: str) -> bool:
    """Return whether an object has an attribute."""
    from h5py import h5a

    return bool(h5a.exists(owner, name.encode()))


def is_without_variable(scale: Any) -> bool:
    """Return whether a scale is a dimension without a variable."""
    from h5py import h5ds

    return bool(h5ds.is_scale(scale)) and h5ds.get_scale_name(scale).startswith(NO_VARIABLE)


def create_scale(group: Any, link: str, length: int, *, unlimited: bool, dimension_id: int | None) -> Any:
    """Create the dataset of a dimension without a variable, as the netCDF library does."""
    from h5py import h5d, h5ds, h5p, h5s, h5t

    space = h5s.create_simple((length,), (h5s.UNLIMITED if unlimited else length,))
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_attr_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
    plist.set_obj_track_times(False)
    if unlimited:
        plist.set_chunk((1,))
    dataset = h5d.create(group, link.encode(), h5t.IEEE_F32BE, space, plist)
    h5ds.set_scale(dataset, NO_VARIABLE + f".{length:10d}".encode())
    if dimension_id is not None:
        write_integers(dataset, DIMENSION_ID, [dimension_id], scalar=True)
    return dataset


def write_integers(owner: Any, name: str, numbers: list[int], *, scalar: bool = False) -> None:
    """Write an internal attribute of integers."""
    from h5py import h5a, h5s, h5t

    if has_attribute(owner, name):
        h5a.delete(owner, name.encode())
    space = h5s.create(h5s.SCALAR) if scalar else h5s.create_simple((len(numbers),))
    values = np.array(numbers[0] if scalar else numbers, "<i4")
    h5a.create(owner, name.encode(), h5t.NATIVE_INT32, space).write(values)


def read_dimension_id(scale: Any) -> int | None:
    """Return the id of a dimension that the file states; None if it states none."""
    from h5py import h5a

    if not has_attribute(scale, DIMENSION_ID):
        return None
    value = np.zeros((), "<i4")
    h5a.open(scale, DIMENSION_ID.encode()).read(value)
    return int(value)


def write_scale_name(dataset: Any, name: str) -> None:
    """Give the scale of a coordinate variable another name."""
    from h5py import h5a, h5s, h5t

    text = name.encode() + b"\0"
    kind = h5t.C_S1.copy()
    kind.set_size(len(text))
    h5a.delete(dataset, NAME.encode())
    attribute = h5a.create(dataset, NAME.encode(), kind, h5s.create(h5s.SCALAR))
    attribute.write(np.array(text, f"S{len(text)}"), mtype=kind)


def detach_all(dataset: Any, scales: list[Any]) -> None:
    """Detach a dataset from the scales of its dimensions, in order; None has no scale."""
    from h5py import h5ds

    for number, scale in enumerate(scales):
        if scale is not None and h5ds.is_attached(dataset, scale, number):
            h5ds.detach_scale(dataset, scale, number)


def replace_scale(old: Any, new: Any, users: list[Attachment]) -> None:
    """Attach the users of a scale to another one."""
    from h5py import h5ds

    attached = [(dataset, number) for dataset, number in users if h5ds.is_attached(dataset, old, number)]
    for dataset, number in attached:
        h5ds.detach_scale(dataset, old, number)
    for dataset, number in attached:
        h5ds.attach_scale(dataset, new, number)


def make_scale(dataset: Any, name: str, dimension_id: int | None) -> None:
    """Make a variable of one dimension, which is not attached to any scale, the scale of its dimension."""
    from h5py import h5a, h5ds

    if has_attribute(dataset, DIMENSION_LIST):
        h5a.delete(dataset, DIMENSION_LIST.encode())
    h5ds.set_scale(dataset, name.encode())
    if dimension_id is not None:
        write_integers(dataset, DIMENSION_ID, [dimension_id], scalar=True)
    elif has_attribute(dataset, DIMENSION_ID):
        h5a.delete(dataset, DIMENSION_ID.encode())


def make_variable(dataset: Any, scales: list[Any]) -> None:
    """Make the scale of a dimension an ordinary variable, attached to the scales of its dimensions."""
    from h5py import h5a, h5ds

    for name in (CLASS, NAME, REFERENCE_LIST):
        if has_attribute(dataset, name):
            h5a.delete(dataset, name.encode())
    for number, scale in enumerate(scales):
        if scale is None:
            raise RefusedEditError(f"its dimension {number} has no scale")
        h5ds.attach_scale(dataset, scale, number)


ASIDE = "_nczarr_edit_scale"
"""Name of the link of a scale that exists only during the edit."""


class ScaleEditor:
    """Editor of the scales of one file."""

    def __init__(self, objects: EditedObjects) -> None:
        self.objects = objects
        self.work = objects.work
        self.before, self.after = objects.before, objects.after

    def change_dimensions(self) -> None:
        """Make unused dimensions again, which are unlimited or have another length."""
        for change in self.work.changes:
            if not isinstance(change, DimensionChange):
                continue
            path, scale = change.path, self.objects.scales[change.path]
            if scale is None or not is_without_variable(scale) or self._users(path):
                what = "unlimited" if change.after.unlimited else "fixed"
                raise RefusedEditError(f"dimension `{path}` cannot become {what}: its variables have that extent")
            group, number = self.objects.group(names.parent(path)), self._require_id(scale)
            link = names.last(self.work.new_path("dimension", path))
            self.objects.scales[path] = create_scale(
                group, link, change.after.size, unlimited=change.after.unlimited, dimension_id=number
            )

    def replace_scales(self) -> None:
        """Give dimensions the scales that they have afterwards: coordinate variables, or datasets without values."""
        for path, scale in list(self.objects.scales.items()):
            if scale is None or path in self.objects.gone["dimension"]:
                continue
            new_path = self.work.new_path("dimension", path)
            coordinate = coordinate_of(self.after, new_path)
            old_variable = None if coordinate is None else self.objects.old_path("variable", coordinate)
            before = None if is_without_variable(scale) else path
            if before == old_variable:
                if before is not None and names.last(new_path) != names.last(path):
                    write_scale_name(scale, names.last(new_path))
            elif before is None and old_variable is not None:
                self._give_coordinate(path, new_path, self.objects.datasets[old_variable], old_variable)
            elif before is not None and coordinate is None:
                self._give_own_scale(path, new_path, names.last(new_path))
            elif old_variable is None:
                raise RefusedEditError(f"dimension `{path}` would get a new coordinate variable")
            else:
                group = self.objects.group(names.parent(path))
                self._give_own_scale(path, new_path, ASIDE)
                self._give_coordinate(path, new_path, self.objects.datasets[old_variable], old_variable)
                group.unlink(ASIDE.encode())

    def _give_coordinate(self, path: str, new_path: str, dataset: Any, variable: str) -> None:
        """Make a variable the scale of a dimension that had none."""
        if len(self.before.variables[variable].dimensions) != 1:
            raise RefusedEditError(f"`{variable}` would become a coordinate variable of several dimensions")
        scale, users = self.objects.scales[path], self._users(path, all_variables=True)
        number = self._require_id(scale)
        detach_all(dataset, self.objects.scales_of(variable))
        make_scale(dataset, names.last(new_path), number)
        users = [(user, axis) for user, axis in users if user != dataset]
        replace_scale(scale, dataset, users)
        self.objects.scales[path] = dataset

    def _give_own_scale(self, path: str, new_path: str, link: str) -> None:
        """Give a dimension with a coordinate variable a scale of its own, with a link of this name."""
        from h5py import h5s

        scale, users = self.objects.scales[path], self._users(path)
        dimension = self.after.dimensions[new_path]
        length, most = (extent[0] for extent in (scale.shape, scale.get_space().get_simple_extent_dims(True)))
        group = self.objects.group(names.parent(path))
        new = create_scale(
            group,
            link,
            length,
            unlimited=most == h5s.UNLIMITED and dimension.unlimited,
            dimension_id=self._require_id(scale),
        )
        replace_scale(scale, new, users)
        self.objects.scales[path] = new
        if path not in self.objects.gone["variable"]:
            make_variable(scale, self.objects.scales_of(path))

    def _require_id(self, scale: Any) -> int | None:
        """Return the id that the file states for a dimension.

        Raises RefusedEditError if it states none, and variables use ids: then the
        order of datasets numbers the dimensions.
        """
        number = read_dimension_id(scale)
        if number is None and any(has_attribute(one, COORDINATES) for one in self.objects.datasets.values()):
            raise RefusedEditError("its dimensions have no ids, by which variables name them")
        return number

    def _users(self, path: str, *, all_variables: bool = False) -> list[Attachment]:
        """Return the variables that use a dimension, without its coordinate variable unless `all_variables`."""
        own = None if all_variables else coordinate_of(self.before, path)
        return [
            (self.objects.datasets[user], number)
            for user, variable in self.before.variables.items()
            if user != own and user not in self.objects.gone["variable"]
            for number, reference in enumerate(variable.dimensions)
            if reference == path
        ]
