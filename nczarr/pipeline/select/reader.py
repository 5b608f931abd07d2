"""Values of variables as NumPy objects, assembled from the parts of their type (arrays/values/parts.py)."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.arrays.chunks.chunk_grid_array import TIMES
from nczarr.arrays.execution.thread_pool import processors, run_each
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, all_of, lengths_of, linear_block
from nczarr.arrays.sources.decoded_parts import read_together
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize, little, numpy_dtype
from nczarr.arrays.values.parts import NUMPY, Types, descr, escape, is_fixed
from nczarr.ast import ATOMIC, Attribute, CompoundType, Constant, VlenType
from nczarr.ast.plain_json import get_json
from nczarr.ast.rectilinear import largest
from nczarr.pipeline.select.selection import IndexRun, Indices, PointBox, outer_boxes, point_boxes

if TYPE_CHECKING:
    from nczarr.semantics.checked import Checked

LARGEST_SPAN = 1 << 22
"""Elements of a box with unwanted cells above which it is divided, unless a chunk has more."""

LARGEST_VIEW = 1 << 22
"""Maximum bytes of a view of a file that one thread copies."""


def dtype_of(type_name: str, types: Types) -> np.dtype[Any]:
    """Return the dtype of values: the array's for fixed sizes, else object, or a record with object fields."""
    declared = types.get(type_name)
    if is_fixed(type_name, types):
        return numpy_dtype(descr(type_name, types))
    return record_dtype(declared, types) if isinstance(declared, CompoundType) else np.dtype(object)


def record_dtype(declared: CompoundType, types: Types) -> np.dtype[Any]:
    """Return the dtype of a record with variable-size members."""
    return np.dtype([(field.name, dtype_of(field.type, types), field.shape) for field in declared.fields])


def reader_of(checked: Checked, path: str) -> PartAssembler:
    """Return the reader of a variable's parts; without data it is fill, at no cost in the shape."""
    parts = checked.parts.get(path)
    kind, shape, fill = checked.variables[path].type, checked.shapes[path], checked.fills[path]
    if parts is not None:
        return PartAssembler(parts, checked.types)
    if is_fixed(kind, checked.types) or kind == "string":
        return PartAssembler(all_fill(fill, kind, shape, checked.types), checked.types)
    return Constantly(all_fill(fill, kind, (), checked.types), checked.types)


class PartAssembler:
    """Assembles the parts of one variable."""

    def __init__(self, parts: Parts, types: Types) -> None:
        self.parts = parts
        self.types = types
        self._ends: dict[str, NDArray[np.int64]] = {}

    def outer(self, type_name: str, axes: Sequence[Indices]) -> NDArray[Any]:
        """Return the values where the indices of all dimensions meet, in their shape. For the dtypes see `box`.

        `axes`: ranges, and arrays of int64 in any order. Raises MemoryError.
        """
        shape = [len(axis) for axis in axes]
        dtype = dtype_of(type_name, self.types)
        if 0 in shape:
            return np.empty(shape, dtype)
        if math.prod(shape) * dtype.itemsize > sys.maxsize // 4:  # NumPy would call it an invalid value
            raise MemoryError(f"{math.prod(shape)} values of {dtype.itemsize} bytes do not fit into memory")
        ordered: list[Indices] = []
        repeated: dict[int, NDArray[np.int64]] = {}
        for number, axis in enumerate(axes):
            if isinstance(axis, range) or (np.diff(axis) > 0).all():
                ordered.append(axis)
            else:
                unique, repeated[number] = np.unique(axis, return_inverse=True)
                ordered.append(unique)
        boxes = list(outer_boxes(ordered, self._cells(len(axes)), LARGEST_SPAN))
        if len(boxes) == 1:
            region = self._cut(type_name, boxes[0])
            if 2 * region.size < math.prod(run.high - run.low for run in boxes[0]):
                region = region.copy()  # the box has many other values
            region = little(region) if is_fixed(type_name, self.types) else region
        else:
            region = np.empty([len(axis) for axis in ordered], dtype)
            self._fill(type_name, region, boxes)
        for number, places in repeated.items():
            region = region.take(places, axis=number)
        return region

    def points(
        self,
        type_name: str,
        points: Mapping[int, NDArray[np.int64]],
        others: Mapping[int, range],
        shape: tuple[int, ...],
    ) -> NDArray[Any]:
        """Return the values at points, in the shape of the points and then of the other dimensions.

        `points`: coordinates by dimension, int64 of one dimension and one length.
        `others`: indices of all other dimensions of the variable, whose shape is
        `shape`.
        """
        count = len(next(iter(points.values())))
        out = np.empty([count, *map(len, others.values())], dtype_of(type_name, self.types))
        if not out.size:
            return out
        whole = [slice(0)] * len(shape)
        index: list[Any] = [slice(None)] * len(shape)
        for axis, other in others.items():
            whole[axis] = slice(min(other[0], other[-1]), max(other[0], other[-1]) + 1)
            index[axis] = slice(None, None, other.step)
        are_neighbours = max(points) - min(points) == len(points) - 1
        lengths = self._cells(len(shape)) or linear_block(shape, LARGEST_SPAN)
        boxes = list(point_boxes(points, dict(enumerate(lengths)), tuple(whole)))

        def put(box: PointBox) -> None:
            chosen = list(index)
            for axis, inside in zip(points, box.inside, strict=True):
                chosen[axis] = inside
            values = self._read(type_name, box.selection)[tuple(chosen)]
            out[box.outside] = np.moveaxis(values, min(points), 0) if are_neighbours else values

        size = max(math.prod(lengths_of(box.selection)) for box in boxes)
        self._each(type_name, put, boxes, size)
        return out

    def _cells(self, rank: int) -> tuple[int, ...] | None:
        """Return the chunk lengths of the variable; None if a read costs no more than its region."""
        source = next(iter(self.parts.values()), None)
        if source is None or source.viewed or len(source.layout.chunks) < rank:
            return None
        return tuple(max(1, length) for length in largest(source.layout.chunks[:rank]))

    def _fill(self, type_name: str, out: NDArray[Any], boxes: Sequence[tuple[IndexRun, ...]]) -> None:
        def put(box: tuple[IndexRun, ...]) -> None:
            place: Any = (*(run.outside for run in box), ...)
            out[place] = self._cut(type_name, box)

        size = max(math.prod(run.high - run.low for run in box) for box in boxes)
        self._each(type_name, put, boxes, size)

    def _each(self, type_name: str, put: Callable[[Any], None], boxes: Sequence[Any], size: int) -> None:
        """Call a function with each box of at most `size` elements, in several threads where that gains time."""
        is_shared = is_fixed(type_name, self.types) and len(boxes) >= 2 * processors() and not self.parts[""].viewed
        need = TIMES * size * itemsize(self.parts[""].layout.dtype) if is_shared else None
        # The last boxes first: the counts of lists are read from the beginning up to the end of a box.
        run_each(put, boxes if is_shared else reversed(boxes), need)

    def _cut(self, type_name: str, box: tuple[IndexRun, ...]) -> NDArray[Any]:
        """Return the chosen values of a box, in their shape; numbers may have any byte order."""
        selection = tuple(slice(run.low, run.high) for run in box)
        if is_fixed(type_name, self.types) and all(
            isinstance(run.inside, slice) and run.inside.step == 1 for run in box
        ):
            return self._read_fixed(self.parts[""], selection)
        values = self._read(type_name, selection)
        for axis, run in enumerate(box):
            before: Any = (slice(None),) * axis
            values = values[(*before, run.inside)]
        return values

    def _read(self, type_name: str, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape. For the dtypes see `box`; numbers may have any byte order."""
        if is_fixed(type_name, self.types):
            return self.parts[""].read(selection)
        lengths = lengths_of(selection)
        parts_in_memory = read_together(self.parts, selection) if all(lengths) else None
        if parts_in_memory is None:
            return self.box("", type_name, selection)
        return PartAssembler(parts_in_memory, self.types).box(
            "", type_name, tuple(map(slice, (0,) * len(lengths), lengths))
        )

    def _read_fixed(self, source: ArraySource, selection: Selection) -> NDArray[Any]:
        """Return little-endian values of a region of fixed size. Large views of a file are copied in parallel."""
        values = source.read(selection)
        is_copy = values.flags.owndata or values.flags.writeable or not source.viewed
        if is_copy or values.nbytes <= LARGEST_VIEW:
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
            return self._read_sequences(inside, declared, selection)
        return _decode(self.parts[path].read(selection))

    def _records(self, inside: str, declared: CompoundType, selection: Selection) -> NDArray[Any]:
        out = np.empty(lengths_of(selection), record_dtype(declared, self.types))
        for field in declared.fields:
            whole = all_of(field.shape)
            out[field.name] = self.box(inside + escape(field.name), field.type, (*selection, *whole))
        return out

    def _read_sequences(self, inside: str, declared: VlenType, selection: Selection) -> NDArray[Any]:
        """Return vlen values as an object array of arrays; the contents of all are read at once."""
        ends, shape = self._ends_of(inside + "counts", selection)
        places = np.arange(len(ends)).reshape(shape)[selection]
        out = np.empty(places.shape, dtype=object)
        flat = places.reshape(-1)
        if not len(flat):
            return out
        starts = np.concatenate(([0], ends))
        low, high = int(starts[flat].min()), int(ends[flat].max())
        content = self.box(inside + "content", declared.base, (slice(low, high),))
        sequences = np.empty(len(flat), dtype=object)
        for position, place in enumerate(flat.tolist()):
            sequences[position] = content[starts[place] - low : ends[place] - low]
        out[...] = sequences.reshape(places.shape)
        return out

    def _ends_of(self, path: str, selection: Selection) -> tuple[NDArray[np.int64], tuple[int, ...]]:
        """Return each sequence's end in the content, and the shape of their counts.

        Includes all counts before and in the region, none after its last row.
        """
        source: ArraySource = self.parts[path]
        whole = source.layout.shape
        shape = (selection[0].stop, *whole[1:]) if whole else ()
        sums = self._ends.get(path)
        if sums is None or len(sums) < math.prod(shape):
            counts = source.read(all_of(shape))
            sums = self._ends[path] = np.cumsum(counts.reshape(-1), dtype=np.int64)
        return sums[: math.prod(shape)], shape


class Constantly(PartAssembler):
    """Reader of one value everywhere; its parts contain only that value."""

    def box(self, path: str, type_name: str, selection: Selection) -> NDArray[Any]:
        """Return the value repeated in the region's shape."""
        if path:
            return super().box(path, type_name, selection)
        element = super().box(path, type_name, ())
        out = np.empty(lengths_of(selection), element.dtype)
        out.fill(element[()])
        return out


def _decode(raw: NDArray[Any]) -> NDArray[Any]:
    out = np.empty(raw.shape, dtype=object)
    flat, source = out.reshape(-1), raw.reshape(-1)
    for position, item in enumerate(source.tolist()):
        flat[position] = None if item is None else item.decode("utf-8", "surrogateescape")
    return out


def without_padding(value: Any) -> Any:
    """Return the value of an attribute; texts lack the NULs at their end, which are padding."""
    if isinstance(value, list):
        return [without_padding(element) for element in value]
    return value.rstrip("\0") if isinstance(value, str) else value


LARGEST_SHARED = 64
"""Bytes of the longest constants whose values attributes share."""


def values_of(
    attributes: Sequence[Attribute], shared: dict[int, Any], convert: Callable[[Attribute], Any]
) -> dict[str, Any]:
    """Return attributes as values by name, which `convert` makes; JSON of a store as Python objects.

    `shared`: short texts and numbers of the same tree, by the `id` of their constant,
    to which new ones are added. Front ends share constants.
    """
    values: dict[str, Any] = {}
    for attribute in attributes:
        if attribute.json is not None:
            value = json.loads(attribute.json)
            if isinstance(value, str | int) or get_json(attribute) is not None:
                values[attribute.name] = value
                continue
        constant = attribute.value
        value = shared.get(id(constant))
        if value is None:
            value = convert(attribute)
            if isinstance(value, str | np.number) and len(constant.data) <= LARGEST_SHARED:
                shared[id(constant)] = value
        values[attribute.name] = value
    return values


def value_of(constant: Constant, types: Types) -> Any:
    """Return a constant as a Python value.

    char: one `str`. Strings: a `str`, or a list of them; NIL is None. All other
    types: one value as a NumPy scalar, several as an array of one dimension, in
    the dtypes of `PartAssembler.box`. A value of a vlen is an array.
    """
    data = constant.data
    if constant.type == "char" and isinstance(data, bytes):
        return names.from_bytes(data)
    if constant.type == "string":
        texts = [names.from_bytes(text) if isinstance(text, bytes) else None for text in data]
        return texts[0] if len(texts) == 1 else texts
    if constant.type in ATOMIC and isinstance(data, bytes) and constant.count == 1:
        return np.frombuffer(data, NUMPY[constant.type])[0]
    values = array_of(constant, types)
    return values[0] if constant.count == 1 else values


def array_of(constant: Constant, types: Types) -> NDArray[Any]:
    """Return the values of a constant, in one dimension. For the dtypes see `PartAssembler.box`."""
    declared, data = types.get(constant.type), constant.data
    if isinstance(data, bytes) and is_fixed(constant.type, types):
        return np.frombuffer(data, numpy_dtype(descr(constant.type, types))).copy()
    out = np.empty(constant.count, dtype_of(constant.type, types))
    if constant.type == "string":
        for number, text in enumerate(data):
            out[number] = names.from_bytes(text) if isinstance(text, bytes) else None
        return out
    items = [array_of(nested, types) for nested in data if isinstance(nested, Constant)]
    if not isinstance(declared, CompoundType):
        for number, item in enumerate(items):
            out[number] = item
        return out
    width = len(declared.fields)
    for place, field in enumerate(declared.fields):
        for number in range(constant.count):
            item = items[number * width + place]
            out[field.name][number] = item.reshape(field.shape) if field.shape else item[0]
    return out
