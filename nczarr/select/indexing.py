"""Indexing of a variable's values as NumPy objects, assembled from the parts of its type (arrays/parts.py)."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nczarr.arrays.blocks import Selection, lengths_of
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.part_fills import all_fill
from nczarr.arrays.parts import Types, descr, escape, is_fixed
from nczarr.arrays.source import ArraySource, Parts, little, numpy_dtype
from nczarr.ast import CompoundType, VlenType

if TYPE_CHECKING:
    from nczarr.check.checked import Checked

LARGEST_SPAN = 1 << 22
"""Maximum elements of the box read for a stepped slice; larger ones are read piece by piece."""

LARGEST_VIEW = 1 << 22
"""Maximum bytes of a view of a file that one thread copies."""


def dtype_of(type_name: str, types: Types) -> np.dtype[Any]:
    """Return the dtype of values: the array's for fixed sizes, else object, or a record with object fields."""
    declared = types.get(type_name)
    if is_fixed(type_name, types):
        return numpy_dtype(descr(type_name, types))
    if isinstance(declared, CompoundType):
        return record_dtype(declared, types)
    return np.dtype(object)


def record_dtype(declared: CompoundType, types: Types) -> np.dtype[Any]:
    """Return the dtype of a record with variable-size members."""
    return np.dtype([(field.name, dtype_of(field.type, types), field.shape) for field in declared.fields])


def read(checked: Checked, path: str, key: Any) -> Any:
    """Return the values of `variable[key]`. Raises IndexError or TypeError like NumPy."""
    variable, shape = checked.variables[path], checked.shapes[path]
    axes = normal_key(key, shape)
    reader = _reader(checked, path)
    region = reader.stepped(
        variable.type, [axis if isinstance(axis, range) else range(axis, axis + 1) for axis in axes]
    )
    found = region[tuple(0 if isinstance(axis, int) else slice(None) for axis in axes)]
    is_view_of_file = isinstance(found, np.ndarray) and not found.flags.writeable
    return found.copy() if is_view_of_file else found


def normal_key(key: Any, shape: tuple[int, ...]) -> list[int | range]:
    """Return one integer or range per dimension. Raises IndexError out of bounds, TypeError for other indices."""
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [position for position, item in enumerate(keys) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have only one `...`")
    if len(keys) - len(dots) > len(shape):
        raise IndexError(f"{len(keys) - len(dots)} indices for {len(shape)} dimensions")
    missing = [slice(None)] * (len(shape) - len(keys) + len(dots))
    at = dots[0] if dots else len(keys)
    keys[at : at + 1] = missing
    return [_axis(item, length, axis) for axis, (item, length) in enumerate(zip(keys, shape, strict=True))]


def _axis(item: Any, length: int, axis: int) -> int | range:
    if isinstance(item, slice):
        return range(*item.indices(length))
    if isinstance(item, bool) or not hasattr(item, "__index__"):
        raise TypeError(f"an index must be an integer, a slice or `...`, not {type(item).__name__}")
    index = operator.index(item)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for dimension {axis} of length {length}")
    return index + length if index < 0 else index


def _reader(checked: Checked, path: str) -> Reader:
    """Return the reader of a variable's parts; without data it is fill, at no cost in the shape."""
    parts = checked.parts.get(path)
    kind, shape, fill = checked.variables[path].type, checked.shapes[path], checked.fills[path]
    if parts is not None:
        return Reader(parts, checked.types)
    if is_fixed(kind, checked.types) or kind == "string":
        return Reader(all_fill(fill, kind, shape, checked.types), checked.types)
    return Constantly(all_fill(fill, kind, (), checked.types), checked.types)


class Reader:
    """Assembles the parts of one variable."""

    def __init__(self, parts: Parts, types: Types) -> None:
        self.parts = parts
        self.types = types
        self._ends: dict[str, NDArray[np.int64]] = {}

    def stepped(self, type_name: str, axes: Sequence[range]) -> NDArray[Any]:
        """Return values at stepped ranges, in their shape: from the bounding box if it is small, else index by index.

        For the dtypes see `box`.
        """
        if any(not len(axis) for axis in axes):
            return np.empty([len(axis) for axis in axes], dtype_of(type_name, self.types))
        box = [(min(axis[0], axis[-1]), max(axis[0], axis[-1]) + 1) for axis in axes]
        size = math.prod(high - low for low, high in box)
        widest = max(range(len(axes)), key=lambda axis: abs(axes[axis].step), default=-1)
        if size > LARGEST_SPAN and widest >= 0 and abs(axes[widest].step) > 1 and len(axes[widest]) > 1:
            before, axis, after = axes[:widest], axes[widest], axes[widest + 1 :]
            rows = [self.stepped(type_name, [*before, axis[i : i + 1], *after]) for i in range(len(axis))]
            return np.concatenate(rows, axis=widest)
        selection = tuple(slice(low, high) for low, high in box)
        if is_fixed(type_name, self.types) and all(len(axis) == 1 or axis.step == 1 for axis in axes):
            return self._fixed(self.parts[""], selection)
        region = self.box("", type_name, selection)
        # The box begins and ends at chosen places, so that a step forth starts at its first and one back at its last.
        steps: tuple[Any, ...] = tuple(slice(None, None, axis.step) for axis in axes)
        stepped: NDArray[Any] = region[(*steps, ...)]  # an array, of a scalar too
        return stepped

    def _fixed(self, source: ArraySource, selection: Selection) -> NDArray[Any]:
        """Return little-endian values of a region of fixed size. Large views of a file are copied in parallel."""
        values = source.read(selection)
        if values.flags.owndata or values.flags.writeable or values.nbytes <= LARGEST_VIEW:
            return little(values)
        out = np.empty(values.shape, values.dtype.newbyteorder("<"))
        source.read_into(selection, out)
        return out

    def box(self, path: str, type_name: str, selection: Selection) -> NDArray[Any]:
        """Return a part's values in a region, in its shape.

        Fixed-size types have their packed little-endian dtype. Strings are
        objects (`str | None`), sequences are objects (one array each), and
        other records are structured arrays of such fields.
        """
        declared = self.types.get(type_name)
        inside = path + "/" if path else ""
        if is_fixed(type_name, self.types):
            return little(self.parts[path].read(selection))
        if isinstance(declared, CompoundType):
            return self._records(inside, declared, selection)
        if isinstance(declared, VlenType):
            return self._sequences(inside, declared, selection)
        return _decoded(self.parts[path].read(selection))

    def _records(self, inside: str, declared: CompoundType, selection: Selection) -> NDArray[Any]:
        out = np.empty(lengths_of(selection), record_dtype(declared, self.types))
        for field in declared.fields:
            whole = tuple(slice(0, length) for length in field.shape)
            out[field.name] = self.box(inside + escape(field.name), field.type, (*selection, *whole))
        return out

    def _sequences(self, inside: str, declared: VlenType, selection: Selection) -> NDArray[Any]:
        ends, shape = self._ends_of(inside + "counts", selection)
        places = np.arange(len(ends)).reshape(shape)[selection]
        out = np.empty(places.shape, dtype=object)
        flat = places.reshape(-1)
        if not len(flat):
            return out
        starts = np.concatenate(([0], ends))
        low, high = int(starts[flat].min()), int(ends[flat].max())
        content = self.box(inside + "content", declared.base, (slice(low, high),))
        found = np.empty(len(flat), dtype=object)
        for position, place in enumerate(flat.tolist()):
            found[position] = content[starts[place] - low : ends[place] - low]
        out[...] = found.reshape(places.shape)
        return out

    def _ends_of(self, path: str, selection: Selection) -> tuple[NDArray[np.int64], tuple[int, ...]]:
        """Return each sequence's end in the content, and the shape of their counts.

        Includes all counts before and in the region, none after its last row.
        """
        source: ArraySource = self.parts[path]
        whole = source.layout.shape
        shape = (selection[0].stop, *whole[1:]) if whole else ()
        known = self._ends.get(path)
        if known is None or len(known) < math.prod(shape):
            counts = source.read(tuple(slice(0, length) for length in shape))
            known = self._ends[path] = np.cumsum(counts.reshape(-1), dtype=np.int64)
        return known[: math.prod(shape)], shape


class Constantly(Reader):
    """Reader of one value everywhere; its parts contain only that value."""

    def box(self, path: str, type_name: str, selection: Selection) -> NDArray[Any]:
        """Return the value repeated in the region's shape."""
        if path:
            return super().box(path, type_name, selection)
        element = super().box(path, type_name, ())
        out = np.empty(lengths_of(selection), element.dtype)
        out.fill(element[()])
        return out


def _decoded(raw: NDArray[Any]) -> NDArray[Any]:
    out = np.empty(raw.shape, dtype=object)
    flat, source = out.reshape(-1), raw.reshape(-1)
    for position, item in enumerate(source.tolist()):
        flat[position] = None if item is None else item.decode("utf-8", "surrogateescape")
    return out
