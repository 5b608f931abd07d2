"""Dimension scales of an HDF5 file that is edited.

A dimension is a dataset with the class of a scale: its coordinate variable, or a
dataset without values (`NO_VARIABLE`). All variables refer to it, by address. So
a new name of a dimension is a new link; only where another dataset becomes the
scale, references change.
"""

from __future__ import annotations

from typing import Any

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
from nczarr.plugins.edit.netcdf4.attributes import RefusedEditError

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


def states_coordinates(dataset: Any) -> bool:
    """Return whether a variable names its dimensions by ids."""
    return has_attribute(dataset, COORDINATES)
