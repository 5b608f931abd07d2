"""New datasets and groups of an HDF5 file that is edited, as the netCDF library creates them."""

from __future__ import annotations

import math
from typing import Any

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import grid_of
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import ATOMIC, Group
from nczarr.ast.dataset import DEFLATE, FLETCHER32, SHUFFLE
from nczarr.plugins.edit.netcdf4.attributes import AttributeEditor, RefusedEditError, store_value
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
