"""Samples read block by block: indices of their cells, the coordinates there, and the values that rows have.

Memory holds a block, and the variables of the instances between the first and last instance of a block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.pipeline.select.indexing import read_outer
from nczarr.plugins.serve.features.sampling import InstanceLink, SampledColumn, Sampling, UnsuitedFeaturesError
from nczarr.plugins.serve.value_streams import chunk_size

BLOCK = 1 << 14
"""Samples read at once, unless chunks have more."""

MOST = 1 << 18
"""Maximum samples read at once."""

Cells: TypeAlias = "dict[str, NDArray[np.int64]]"
"""Index of each sample by dimension."""


class Box(NamedTuple):
    """Rectangle of longitudes and latitudes in degrees, which may cross any meridian."""

    west: float
    east: float
    south: float
    north: float

    def holds(self, latitudes: NDArray[np.float64], longitudes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether places are in the box; arrays of one shape."""
        with np.errstate(invalid="ignore"):
            inside = (latitudes >= self.south) & (latitudes <= self.north)
            if self.east - self.west < 360:
                inside &= (longitudes - self.west) % 360 <= (self.east - self.west) % 360
        return inside


class SampleFilter(NamedTuple):
    """Which samples are requested."""

    box: Box | None = None
    """Where; None for everywhere."""
    times: tuple[float, float] | None = None
    """First and last time in the units of the dataset; None for all."""
    instances: frozenset[str] | None = None
    """Names of instances, such as stations; None for all."""


class SampleBlock(NamedTuple):
    """Some samples."""

    places: NDArray[np.float64]
    """Time, latitude, longitude and altitude of each sample: shape (4, samples)."""
    columns: list[NDArray[Any]]
    """Values of each requested variable: shape (samples, *shape of the variable)."""


class SampleReader:
    """Reader of the samples of a dataset. Its functions raise OSError, CompileError and UnsuitedFeaturesError."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._slabs: dict[str, tuple[tuple[range, ...], NDArray[Any]]] = {}
        self._ends: dict[str, NDArray[np.int64]] = {}

    def blocks(self, columns: Sequence[SampledColumn], wanted: SampleFilter) -> Iterator[SampleBlock]:
        """Yield the requested samples that have a time and a place."""
        chosen = self._choose_instances(wanted)
        if wanted.instances is not None and chosen is None and not self._has_name(wanted.instances):
            return
        for cells in self._list_cells(columns, chosen):
            cells = self._complete(cells)
            if not len(cells[self._sampling.axes[0]]):
                continue
            if chosen is not None:
                cells = _take(cells, chosen[cells[self._sampling.instances or ""]])
            places = np.stack([self.read_numbers(column, cells) for column in self._sampling.places])
            taken: NDArray[np.bool_] = np.asarray(np.isfinite(places[:3]).all(axis=0))
            if wanted.box is not None:
                taken &= wanted.box.holds(places[1], places[2])
            if wanted.times is not None:
                taken &= (places[0] >= wanted.times[0]) & (places[0] <= wanted.times[1])
            if taken.any():
                cells = _take(cells, taken)
                yield SampleBlock(places[:, taken], [self.read(column, cells) for column in columns])

    def stations(self, wanted: SampleFilter) -> Iterator[tuple[list[str], NDArray[np.float64]]]:
        """Yield the names and the places of instances: latitude, longitude, altitude; shape (3, instances)."""
        axis, identity = self._sampling.instances, self._sampling.identity
        _, *where = self._sampling.places
        fixed = [one if one is not None and set(one.axes) <= {axis} else None for one in where]
        if identity is None or len(identity.axes) > 1 or None in fixed[:2]:
            raise UnsuitedFeaturesError("the dataset has no stations with names and fixed places")
        size = 1 if axis is None else self._sampling.checked.dimensions[axis].size
        for start in range(0, size, BLOCK):
            cells: Cells = {axis or "": np.arange(start, min(start + BLOCK, size))}
            labels = _as_texts(self.read(identity, cells))
            places = np.stack([self.read_numbers(column, cells) for column in fixed])
            taken = np.isfinite(places[:2]).all(axis=0)
            if wanted.box is not None:
                taken &= wanted.box.holds(places[0], places[1])
            if wanted.instances is not None:
                taken &= np.array([label in wanted.instances for label in labels], np.bool_)
            yield [labels[number] for number in np.flatnonzero(taken)], places[:, taken]

    # ---- cells ---------------------------------------------------------------------------------------------------

    def _choose_instances(self, wanted: SampleFilter) -> NDArray[np.bool_] | None:
        """Return which instances may have requested samples; None for all."""
        axis, identity = self._sampling.instances, self._sampling.identity
        if wanted.instances is not None and identity is None:
            raise UnsuitedFeaturesError("the dataset has no names of instances: no variable has `cf_role`")
        if axis is None or identity is None:
            return None
        cells: Cells = {axis: np.arange(self._sampling.checked.dimensions[axis].size)}
        _, latitude, longitude, _ = self._sampling.places
        chosen: NDArray[np.bool_] | None = None
        if wanted.instances is not None:
            labels = _as_texts(self.read(identity, cells))
            chosen = np.array([label in wanted.instances for label in labels], np.bool_)
        fixed = all(one is not None and one.axes == (axis,) for one in (latitude, longitude))
        if wanted.box is not None and fixed:
            inside = wanted.box.holds(self.read_numbers(latitude, cells), self.read_numbers(longitude, cells))
            chosen = inside if chosen is None else chosen & inside
        return chosen

    def _has_name(self, labels: frozenset[str]) -> bool:
        """Return whether the only instance has one of these names."""
        identity = self._sampling.identity
        if identity is None or identity.axes:
            raise UnsuitedFeaturesError("the names of the instances have more than one dimension")
        return not labels.isdisjoint(_as_texts(self.read(identity, {"": np.zeros(1, np.int64)})))

    def _list_cells(self, columns: Sequence[SampledColumn], chosen: NDArray[np.bool_] | None) -> Iterator[Cells]:
        """Yield the indices of samples by their own dimensions, those of one block at once."""
        axes, lengths = self._sampling.axes, self._sampling.lengths
        heights = (_chunk_height(self._sampling, column) for column in columns if column.axes[:1] == axes[:1])
        most = min(max(BLOCK, math.prod(lengths[1:]) * max(heights, default=1)), MOST)
        for rows in self._list_rows(chosen):
            for box in _list_boxes(rows, lengths[1:], most):
                grids = np.meshgrid(*map(np.array, box), indexing="ij")
                yield {axis: grid.reshape(-1).astype(np.int64) for axis, grid in zip(axes, grids, strict=True)}

    def _list_rows(self, chosen: NDArray[np.bool_] | None) -> list[range]:
        """Return the indices of the first dimension that may have requested samples."""
        first, axis = self._sampling.axes[0], self._sampling.instances or ""
        whole = [range(self._sampling.lengths[0])]
        link = self._sampling.links.get(axis)
        if chosen is None or not (first == axis or (link is not None and link.counts and link.child == first)):
            return whole
        edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]))).reshape(-1, 2)
        if first != axis and link is not None:
            ends = np.concatenate([[0], self._read_ends(link)])
            edges = np.minimum(ends[edges], whole[0].stop)
        return [range(start, stop) for start, stop in edges.tolist()]

    def _complete(self, cells: Cells) -> Cells:
        """Return samples with the indices of their instances, without those that belong to no instance."""
        links = self._sampling.links
        for _ in links:
            for parent, link in links.items():
                if parent in cells or link.child not in cells:
                    continue
                elements = cells[link.child]
                if link.counts:
                    indices = np.searchsorted(self._read_ends(link), elements, side="right")
                else:
                    indices = self._read_stored(link.path, (link.child,), cells).astype(np.int64)
                cells = {**cells, parent: indices}
                cells = _take(cells, (indices >= 0) & (indices < self._sampling.checked.dimensions[parent].size))
        return cells

    def _read_ends(self, link: InstanceLink) -> NDArray[np.int64]:
        """Return the index behind the last element of each instance."""
        if link.path not in self._ends:
            counts = read_outer(self._sampling.checked, link.path, [slice(None)])
            most = self._sampling.checked.dimensions[link.child].size
            self._ends[link.path] = np.cumsum(np.clip(counts, 0, most).astype(np.int64))
        return self._ends[link.path]

    # ---- values --------------------------------------------------------------------------------------------------

    def read_numbers(self, column: SampledColumn | None, cells: Cells) -> NDArray[np.float64]:
        """Return the numbers of samples, NaN for missing ones: shape (samples)."""
        count = len(next(iter(cells.values())))
        if column is None or column.conversion is None or column.shape:
            return np.full(count, np.nan)
        return column.conversion.floats(self._read_stored(column.path, column.axes, cells))

    def measure(self, column: SampledColumn) -> tuple[float, float] | None:
        """Return the lowest and highest number of a coordinate; None if all are missing."""
        lengths = tuple(self._sampling.checked.dimensions[axis].size for axis in column.axes)
        lowest, highest = math.inf, -math.inf
        for box in _list_boxes(range(lengths[0]), lengths[1:], MOST) if lengths else [()]:
            grids = np.meshgrid(*map(np.array, box), indexing="ij")
            cells = {axis: grid.reshape(-1) for axis, grid in zip(column.axes, grids, strict=True)}
            numbers = self.read_numbers(column, cells or {"": np.zeros(1, np.int64)})
            numbers = numbers[np.isfinite(numbers)]
            if len(numbers):
                lowest, highest = min(lowest, float(numbers.min())), max(highest, float(numbers.max()))
        return (lowest, highest) if lowest <= highest else None

    def read(self, column: SampledColumn, cells: Cells) -> NDArray[Any]:
        """Return the values of samples: shape (samples, *shape of the variable). Texts are bytes.

        Packed numbers are unpacked; missing ones of type float and double are NaN.
        """
        stored = self._read_stored(column.path, column.axes, cells)
        if column.conversion is None:
            return stored if column.type == "char" else _as_bytes(stored)
        values, absent = column.conversion.mask(stored)
        return np.where(absent, values.dtype.type(np.nan), values) if values.dtype.kind == "f" else values

    def _read_stored(self, path: str, axes: tuple[str, ...], cells: Cells) -> NDArray[Any]:
        """Return the stored values of samples; the slab between the first and last ones is kept for the next block."""
        checked, count = self._sampling.checked, len(next(iter(cells.values())))
        indices = [cells[axis] for axis in axes]
        box = tuple(range(int(one.min()), int(one.max()) + 1) if count else range(0) for one in indices)
        kept = self._slabs.get(path)
        if kept is None or not all(
            old.start <= new.start and new.stop <= old.stop for old, new in zip(kept[0], box, strict=True)
        ):
            inner = [slice(None)] * (len(checked.shapes[path]) - len(axes))
            slab = read_outer(checked, path, [*(slice(each.start, each.stop) for each in box), *inner])
            kept = self._slabs[path] = box, slab
        if not axes:
            return np.broadcast_to(kept[1], (count, *kept[1].shape))
        return kept[1][tuple(one - each.start for one, each in zip(indices, kept[0], strict=True))]


def _take(cells: Cells, mask: NDArray[np.bool_]) -> Cells:
    """Return the samples of a mask."""
    return cells if mask.all() else {axis: indices[mask] for axis, indices in cells.items()}


def _list_boxes(rows: range, lengths: tuple[int, ...], most: int) -> Iterator[tuple[range, ...]]:
    """Yield boxes of cells in order: some whole rows, or a part of one row. `lengths`: those behind."""
    inner = math.prod(lengths)
    if inner <= most:
        height = max(1, most // max(1, inner))
        for start in range(rows.start, rows.stop, height):
            yield (range(start, min(start + height, rows.stop)), *map(range, lengths))
        return
    for row in rows:
        for rest in _list_boxes(range(lengths[0]), lengths[1:], most):
            yield (range(row, row + 1), *rest)


def _chunk_height(sampling: Sampling, column: SampledColumn) -> int:
    """Return the length along its first dimension of the chunks of a variable that must be decoded whole."""
    parts = sampling.checked.parts.get(column.path, {}).values()
    return max((int(part.layout.chunks[0]) for part in parts if part.layout.chunks and chunk_size(part)), default=1)


def _as_bytes(texts: NDArray[Any]) -> NDArray[Any]:
    """Return strings as bytes; NIL is empty."""
    encoded = np.empty(texts.shape, object)
    encoded.reshape(-1)[:] = [
        names.to_bytes(text) if isinstance(text, str) else text or b"" for text in texts.reshape(-1).tolist()
    ]
    return encoded


def _as_texts(values: NDArray[Any]) -> list[str]:
    """Return the names of instances as texts: strings, rows of chars or numbers."""
    if values.dtype.kind == "S" and values.ndim > 1:
        rows = values.reshape(len(values), -1)
        joined = [b"".join(one or b"\0" for one in row).rstrip(b"\0 ") for row in rows.tolist()]
        return [text.decode("utf-8", "replace").strip() for text in joined]
    plain = values.reshape(len(values), -1)[:, 0].tolist()
    return [one.decode("utf-8", "replace").strip() if isinstance(one, bytes) else str(one) for one in plain]
