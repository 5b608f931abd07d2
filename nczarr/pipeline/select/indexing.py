"""Indexing of a variable's values: as NumPy does, by outer indices, and by points."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.pipeline.select.reader import PartAssembler, dtype_of, reader_of
from nczarr.pipeline.select.selection import Indices

if TYPE_CHECKING:
    from nczarr.semantics.checked import Checked


Axis: TypeAlias = "int | range | NDArray[np.int64]"
"""Non-negative indices of one dimension. An integer drops the dimension; an array has int64 and one dimension."""


class IndexKey(NamedTuple):
    """An index of an array, with its bounds checked."""

    axes: tuple[int | range | None, ...]
    """Basic index of each dimension; None where `points` has one."""
    points: Mapping[int, NDArray[np.int64]] = MappingProxyType({})
    """Non-negative indices by dimension, broadcast together: int64, of shape `broadcast_shape`."""
    broadcast_shape: tuple[int, ...] = ()
    """Shape of the advanced part."""
    place: int | None = None
    """First axis of the advanced part in the result; None without an advanced part."""
    new: tuple[int, ...] = ()
    """Axes of length 1 that the result has besides, ascending."""


def parse(key: Any, shape: tuple[int, ...]) -> IndexKey:
    """Return the index of an array of this shape.

    Raises IndexError out of bounds, for too many indices, and for masks and
    arrays of wrong shapes; TypeError for anything that is not an index.
    """
    items = [_read_item(part) for part in (key if isinstance(key, tuple) else (key,))]
    dots = [number for number, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have only one `...`")
    used = sum(map(_count_consumed, items))
    if used > len(shape):
        raise IndexError(f"{used} indices for {len(shape)} dimensions")
    if not dots:
        items.append(Ellipsis)
    is_advanced = any(isinstance(item, np.ndarray) for item in items)
    axes: list[int | range | None] = []
    arrays: list[tuple[int | None, NDArray[np.int64]]] = []
    new: list[int] = []
    places: list[tuple[int, int]] = []
    rank = 0
    for number, item in enumerate(items):
        axis = len(axes)
        if item is Ellipsis:
            axes += map(range, shape[axis : axis + len(shape) - used])
            rank += len(shape) - used
        elif item is None:
            new.append(rank)
            rank += 1
        elif isinstance(item, slice):
            axes.append(range(*item.indices(shape[axis])))
            rank += 1
        elif isinstance(item, int) and not is_advanced:
            axes.append(check_index(item, shape[axis], axis))
        else:
            places.append((number, rank))
            arrays += _arrays_of(item, shape, axis)
            axes += [None] * _count_consumed(item)
    return _broadcast(tuple(axes), arrays, places, new)


def outer_axis(item: Any, length: int, axis: int) -> Axis:
    """Return the indices of one dimension: an integer, a slice, or an array or mask of one dimension.

    For the errors see `parse`.
    """
    indices = _read_item(item)
    if isinstance(indices, slice):
        return range(*indices.indices(length))
    if isinstance(indices, int):
        return check_index(indices, length, axis)
    if not isinstance(indices, np.ndarray) or indices.ndim != 1:
        raise IndexError("an outer index has one integer, slice or one-dimensional array for each dimension")
    return _arrays_of(indices, (0,) * axis + (length,), axis)[0][1]


def check_index(index: int, length: int, axis: int) -> int:
    """Return a non-negative index. Raises IndexError out of bounds."""
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for dimension {axis} of length {length}")
    return index + length if index < 0 else index


def _read_item(part: Any) -> Any:
    """Return one part of a key as None, Ellipsis, a slice, an integer, or an array of int64 or bool."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    is_array = hasattr(part, "__array__") and not isinstance(part, np.generic)
    is_bool = isinstance(part, bool | np.bool_) or getattr(part, "dtype", None) == np.bool_
    if not is_bool and hasattr(part, "__index__") and not (is_array and part.ndim):
        return operator.index(part)
    if isinstance(part, str | bytes) or not (is_array or isinstance(part, Sequence | bool | np.bool_)):
        raise _no_index(part)
    try:
        values = np.asarray(part)
    except ValueError:
        raise IndexError("the lists of an index have unequal lengths") from None
    if not values.size and not is_array:
        values = values.astype(np.int64)
    if values.dtype == np.bool_:
        return values
    if values.dtype.kind not in "iu":
        raise _no_index(part)
    if values.dtype == np.uint64 and values.size and values.max() > np.iinfo(np.int64).max:
        raise IndexError(f"index {values.max()} is out of bounds")
    return values.astype(np.int64)


def _no_index(part: Any) -> TypeError:
    what = type(part).__name__ if not hasattr(part, "dtype") else f"an array of {part.dtype}"
    return TypeError(f"an index must be an integer, a slice, `...`, None, or an array of integers or bool, not {what}")


def _count_consumed(item: Any) -> int:
    """Return the number of dimensions that a part of a key indexes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == np.bool_ else 1


def _arrays_of(item: Any, shape: tuple[int, ...], axis: int) -> list[tuple[int | None, NDArray[np.int64]]]:
    """Return the index arrays of an integer, array or mask that begins at a dimension, with the dimension of each.

    A mask without dimensions has an array of length 0 or 1 for no dimension.
    """
    if not isinstance(item, np.ndarray) or item.dtype != np.bool_:
        indices = np.asarray(item, np.int64)
        length = shape[axis]
        wrong = (indices < -length) | (indices >= length)
        if wrong.any():
            check_index(int(indices[wrong].flat[0]), length, axis)
        return [(axis, np.where(indices < 0, indices + length, indices))]
    if not item.ndim:
        return [(None, np.zeros(int(item), np.int64))]
    if item.shape != shape[axis : axis + item.ndim]:
        expected = shape[axis : axis + item.ndim]
        raise IndexError(f"a mask of shape {item.shape} cannot index dimensions of shape {expected}")
    return [(axis + number, places.astype(np.int64)) for number, places in enumerate(np.nonzero(item))]


def _broadcast(
    axes: tuple[int | range | None, ...],
    arrays: list[tuple[int | None, NDArray[np.int64]]],
    places: list[tuple[int, int]],
    new: list[int],
) -> IndexKey:
    """Return the key with its arrays broadcast, and the place of its advanced part.

    It stands where its parts stand if they are neighbours, and otherwise first.
    """
    if not arrays:
        return IndexKey(axes, new=tuple(new))
    try:
        broadcast = np.broadcast_shapes(*(indices.shape for _, indices in arrays))
    except ValueError:
        shapes = ", ".join(str(indices.shape) for _, indices in arrays)
        raise IndexError(f"index arrays of the shapes {shapes} cannot be broadcast together") from None
    first, place = places[0]
    if [number for number, _ in places] != list(range(first, first + len(places))):
        place = 0
    moved = tuple(position + len(broadcast) if position >= place else position for position in new)
    points = {axis: np.broadcast_to(indices, broadcast) for axis, indices in arrays if axis is not None}
    return IndexKey(axes, points, broadcast, place, moved)


def _read(checked: Checked, path: str, key: Any, *, first: bool) -> NDArray[Any]:
    """Return the values of an index; with `first`, the axes of its advanced part come first."""
    type_name, shape = checked.variables[path].type, checked.shapes[path]
    index, reader = parse(key, shape), reader_of(checked, path)
    if index.place is None:
        return np.expand_dims(_outer(reader, type_name, [axis for axis in index.axes if axis is not None]), index.new)
    region, count = _points(reader, type_name, index, shape), len(index.broadcast_shape)
    if first:
        new = (position if position >= index.place else position + count for position in index.new)
        return np.expand_dims(region, tuple(new))
    before = index.place - sum(position < index.place for position in index.new)
    return np.expand_dims(np.moveaxis(region, range(count), range(before, before + count)), index.new)


def read(checked: Checked, path: str, key: Any) -> Any:
    """Return the values of `variable[key]`, as NumPy does; without dimensions a scalar. For the errors see `parse`."""
    values = _read(checked, path, key, first=False)
    return _copy_view(values if values.ndim else values[()])


def read_outer(checked: Checked, path: str, axes: Sequence[Any]) -> NDArray[Any]:
    """Return the values where the indices of all dimensions meet.

    `axes`: one integer, slice, integer array or mask for each dimension. An
    integer drops its dimension. For the errors see `parse`.
    """
    type_name, shape = checked.variables[path].type, checked.shapes[path]
    if len(axes) != len(shape):
        raise IndexError(f"{len(axes)} indices for {len(shape)} dimensions")
    indices = [outer_axis(item, length, axis) for axis, (item, length) in enumerate(zip(axes, shape, strict=True))]
    values: NDArray[Any] = _copy_view(_outer(reader_of(checked, path), type_name, indices))
    return values


def read_points(checked: Checked, path: str, key: Any) -> NDArray[Any]:
    """Return the values at single points.

    `key`: as for `read`. The dimensions of the broadcast arrays are always the
    first of the result, then come those of slices. For the errors see `parse`.
    """
    values: NDArray[Any] = _copy_view(_read(checked, path, key, first=True))
    return values


def _copy_view(values: Any) -> Any:
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
    if 0 in index.broadcast_shape:
        return np.empty((*index.broadcast_shape, *map(len, ranges.values())), dtype_of(type_name, reader.types))
    dimension_of = _match_dimensions(index)
    if dimension_of is None:
        flat = {axis: np.ascontiguousarray(indices).reshape(-1) for axis, indices in index.points.items()}
        region = reader.points(type_name, flat, ranges, shape)
        return region.reshape(*index.broadcast_shape, *region.shape[1:])
    axes: list[Indices] = []
    for axis, item in enumerate(index.axes):
        indices = index.points.get(axis)
        if isinstance(item, range):
            axes.append(item)
        elif indices is not None:
            along = dimension_of.get(axis)
            line = tuple(slice(None) if dimension == along else 0 for dimension in range(indices.ndim))
            axes.append(indices[line].reshape(-1))
    region = reader.outer(type_name, axes)
    order = sorted(index.points, key=lambda axis: dimension_of.get(axis, -1))
    moved = region.transpose(*order, *ranges)
    return moved.reshape(*index.broadcast_shape, *moved.shape[len(order) :])


def _match_dimensions(index: IndexKey) -> dict[int, int] | None:
    """Return the axis of the broadcast shape along which each index array varies; None if the index is not outer.

    An index is outer if no two arrays vary along the same axis, and each axis
    has an array, like the arrays of `numpy.ix_`.
    """
    dimension_of: dict[int, int] = {}
    for axis, indices in index.points.items():
        varying = [dimension for dimension, step in enumerate(indices.strides) if step and indices.shape[dimension] > 1]
        if len(varying) > 1 or (varying and varying[0] in dimension_of.values()):
            return None
        if varying:
            dimension_of[axis] = varying[0]
    needed = {dimension for dimension, length in enumerate(index.broadcast_shape) if length > 1}
    return dimension_of if needed == set(dimension_of.values()) else None
