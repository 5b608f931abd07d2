"""Indexing of a variable's values: as NumPy does, by outer indices, and by points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.select.boxes import Indices
from nczarr.select.index_keys import Axis, IndexKey, outer_axis, parsed
from nczarr.select.reader import PartAssembler, dtype_of, reader_of

if TYPE_CHECKING:
    from nczarr.check.checked import Checked


def read(checked: Checked, path: str, key: Any) -> Any:
    """Return the values of `variable[key]`, as NumPy does; without dimensions a scalar. For the errors see `parsed`."""
    type_name, shape = checked.variables[path].type, checked.shapes[path]
    index = parsed(key, shape)
    if index.place is None:
        axes = [axis for axis in index.axes if axis is not None]
        region = _outer(reader_of(checked, path), type_name, axes)
    else:
        region = _points(reader_of(checked, path), type_name, index, shape)
        count = len(index.broadcast)
        before = index.place - sum(position < index.place for position in index.new)
        region = np.moveaxis(region, range(count), range(before, before + count))
    values = np.expand_dims(region, index.new)
    return _owned(values if values.ndim else values[()])


def read_outer(checked: Checked, path: str, axes: Sequence[Any]) -> NDArray[Any]:
    """Return the values where the indices of all dimensions meet.

    `axes`: one integer, slice, integer array or mask for each dimension. An
    integer drops its dimension. For the errors see `parsed`.
    """
    type_name, shape = checked.variables[path].type, checked.shapes[path]
    if len(axes) != len(shape):
        raise IndexError(f"{len(axes)} indices for {len(shape)} dimensions")
    indices = [outer_axis(item, length, axis) for axis, (item, length) in enumerate(zip(axes, shape, strict=True))]
    values: NDArray[Any] = _owned(_outer(reader_of(checked, path), type_name, indices))
    return values


def read_points(checked: Checked, path: str, key: Any) -> NDArray[Any]:
    """Return the values at single points.

    `key`: as for `read`. The dimensions of the broadcast arrays are always the
    first of the result, then come those of slices. For the errors see `parsed`.
    """
    type_name, shape = checked.variables[path].type, checked.shapes[path]
    index = parsed(key, shape)
    reader = reader_of(checked, path)
    if index.place is None:
        region = _outer(reader, type_name, [axis for axis in index.axes if axis is not None])
    else:
        region = _points(reader, type_name, index, shape)
    count = len(index.broadcast)
    new = [position if index.place is None or position >= index.place else position + count for position in index.new]
    values: NDArray[Any] = _owned(np.expand_dims(region, tuple(new)))
    return values


def _owned(values: Any) -> Any:
    """Return values that belong to the caller: a copy of a view of a file or cache."""
    return values.copy() if isinstance(values, np.ndarray) and not values.flags.writeable else values


def _outer(reader: PartAssembler, type_name: str, axes: Sequence[Axis]) -> NDArray[Any]:
    """Return the values of an outer index; integers drop their dimensions."""
    region = reader.outer(type_name, [range(axis, axis + 1) if isinstance(axis, int) else axis for axis in axes])
    place: Any = (*(0 if isinstance(axis, int) else slice(None) for axis in axes), ...)
    dropped: NDArray[Any] = region[place]
    return dropped


def _points(reader: PartAssembler, type_name: str, index: IndexKey, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the values of an index with an advanced part, whose axes come first."""
    ranges = {axis: item for axis, item in enumerate(index.axes) if isinstance(item, range)}
    if 0 in index.broadcast:
        return np.empty((*index.broadcast, *map(len, ranges.values())), dtype_of(type_name, reader.types))
    owners = _orthogonal(index)
    if owners is None:
        flat = {axis: np.ascontiguousarray(indices).reshape(-1) for axis, indices in index.points.items()}
        region = reader.points(type_name, flat, ranges, shape)
        return region.reshape(*index.broadcast, *region.shape[1:])
    axes: list[Indices] = []
    for axis, item in enumerate(index.axes):
        indices = index.points.get(axis)
        if isinstance(item, range):
            axes.append(item)
        elif indices is not None:
            along = owners.get(axis)
            axes.append(
                indices[tuple(slice(None) if dimension == along else 0 for dimension in range(indices.ndim))].reshape(
                    -1
                )
            )
    region = reader.outer(type_name, axes)
    order = sorted(index.points, key=lambda axis: owners.get(axis, -1))
    moved = region.transpose(*order, *ranges)
    return moved.reshape(*index.broadcast, *moved.shape[len(order) :])


def _orthogonal(index: IndexKey) -> dict[int, int] | None:
    """Return the axis of the broadcast shape along which each index array varies; None if the index is not outer.

    An index is outer if no two arrays vary along the same axis, and each axis
    has an array, like the arrays of `numpy.ix_`.
    """
    owners: dict[int, int] = {}
    for axis, values in index.points.items():
        varying = [dimension for dimension, step in enumerate(values.strides) if step and values.shape[dimension] > 1]
        if len(varying) > 1 or (varying and varying[0] in owners.values()):
            return None
        if varying:
            owners[axis] = varying[0]
    needed = {dimension for dimension, length in enumerate(index.broadcast) if length > 1}
    return owners if needed == set(owners.values()) else None
