"""Chunk index of one HDF5 dataset, read in one walk, as columns.

HDF5 (1.10 to 2.2 at least) reports wrong positions for extensible arrays, the
index of newer file formats for exactly one unlimited dimension: chunks are
ordered as if it came first, but numbered in dimension order. Positions are
corrected here, and verified by the chunk sizes that HDF5 finds there.
"""

from __future__ import annotations

import math
from array import array
from ctypes import byref, c_int, c_uint, c_uint64
from typing import Any, NamedTuple

from nczarr.arrays.chunks.index_table import raveled
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import grid_of
from nczarr.formats.netcdf4.chunk_table import ChunkTable, in_grid_order, located
from nczarr.formats.netcdf4.hdf5 import ON_CHUNK, Hdf5, closing

EXTENSIBLE_ARRAY = 4
"""H5D_CHUNK_IDX_EARRAY."""

UNLIMITED = 2**64 - 1
"""H5S_UNLIMITED."""

UNDEFINED = 2**64 - 1
"""HADDR_UNDEF."""

_BATCH = 1 << 15
"""Chunks collected as Python numbers before conversion to columns."""

_PROOFS = 256
"""Corrected positions that are verified."""


class _IndexCorrection(NamedTuple):
    """Correction of positions in an index."""

    axis: int
    """The unlimited axis."""
    counts: tuple[int, ...]
    """Number of chunks along the other axes."""

    def right(self, reported: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the correct positions for reported ones: int64, shape (chunks, dimensions).

        A row has the index of a chunk along each dimension.
        """
        number = reported[:, self.axis].copy()
        for axis in range(self.axis + 1, reported.shape[1]):
            number = number * self.counts[axis] + reported[:, axis]
        positions = np.empty_like(reported)
        for axis in reversed([*range(self.axis), *range(self.axis + 1, reported.shape[1])]):
            number, positions[:, axis] = np.divmod(number, self.counts[axis])
        positions[:, self.axis] = number
        return positions


def chunk_table(
    h5: Hdf5, dataset: int, chunks: tuple[int, ...], extent: tuple[int, ...], shape: tuple[int, ...]
) -> ChunkTable:
    """Return allocated chunks within `extent`, indexed in the grid of `shape`. Raises OSError."""
    walk = _IndexWalk(chunks, extent, shape, _turn(h5, dataset, chunks))
    walk.through(h5, dataset)
    if not walk.proved(h5, dataset):
        walk = _IndexWalk(chunks, extent, shape, None)
        walk.through(h5, dataset)
    return walk.table()


def few_chunks(
    h5: Hdf5,
    dataset: int,
    chunks: NDArray[np.int64],
    lengths: tuple[int, ...],
    extent: tuple[int, ...],
    shape: tuple[int, ...],
) -> ChunkTable:
    """Return those of some chunks that are allocated within `extent`, as `chunk_table`. Raises OSError.

    `chunks`: indices in the grid of `shape`, int64, shape (chunks, dimensions), in C
    order; `lengths`: chunk lengths.
    """
    inside = chunks[(chunks < np.array(grid_of(extent, lengths), np.int64)).all(axis=1)]
    rows, mask, address, size = [], c_uint(), c_uint64(), c_uint64()
    for number, index in zip(raveled(inside, grid_of(shape, lengths)).tolist(), inside.tolist(), strict=True):
        first = (c_uint64 * len(lengths))(*(position * length for position, length in zip(index, lengths, strict=True)))
        h5.do("H5Dget_chunk_info_by_coord", dataset, first, byref(mask), byref(address), byref(size))
        if address.value != UNDEFINED:
            rows.append((number, address.value, size.value, mask.value))
    return located(np.array([row[0] for row in rows], np.int64), np.array([row[1:] for row in rows], np.uint64))


def _turn(h5: Hdf5, dataset: int, chunks: tuple[int, ...]) -> _IndexCorrection | None:
    """Return the correction for a dataset; None if its positions are right."""
    kind = c_int()
    if h5.H5Dget_chunk_index_type(dataset, byref(kind)) < 0 or kind.value != EXTENSIBLE_ARRAY:
        return None
    rank = len(chunks)
    most = (c_uint64 * rank)()
    with closing(h5, "H5Sclose", h5.do("H5Dget_space", dataset)) as space:
        h5.do("H5Sget_simple_extent_dims", space, (c_uint64 * rank)(), most)
    growing = [axis for axis in range(rank) if most[axis] == UNLIMITED]
    if len(growing) != 1 or not growing[0]:
        return None
    counts = (1 if axis in growing else -(-most[axis] // chunks[axis]) for axis in range(rank))
    return _IndexCorrection(growing[0], tuple(counts))


class _IndexWalk:
    """One walk through the index of a dataset, and its result."""

    def __init__(
        self, chunks: tuple[int, ...], extent: tuple[int, ...], shape: tuple[int, ...], turn: _IndexCorrection | None
    ) -> None:
        self._chunks, self._rank, self._turn = chunks, len(chunks), turn
        counts = grid_of(shape, chunks)
        self._steps = np.array([math.prod(counts[axis + 1 :]) for axis in range(self._rank)], np.int64)
        self._within = np.array(grid_of(extent, chunks), np.int64)
        self._places, self._facts = array("Q"), array("Q")
        self._columns: list[list[Any]] = [[], [], [], []]
        self._proofs: list[tuple[tuple[int, ...], int]] = []

    def through(self, h5: Hdf5, dataset: int) -> None:
        """Record all chunks. Raises OSError."""

        def note(place: Any, mask: int, address: int, size: int, data: Any) -> int:
            self._places.extend(place[: self._rank])
            self._facts.extend((address, size, mask))
            if len(self._facts) >= 3 * _BATCH:
                self._flush()
            return 0

        h5.do("H5Dchunk_iter", dataset, 0, ON_CHUNK(note), None)
        self._flush()

    def _flush(self) -> None:
        first = np.array(self._places, np.uint64).reshape(-1, self._rank)
        rest = np.array(self._facts, np.uint64).reshape(-1, 3)
        del self._places[:], self._facts[:]
        places = (first // np.array(self._chunks, np.uint64)).astype(np.int64)
        if self._turn is not None:
            reported, places = places, self._turn.right(places)
            turned = np.flatnonzero((reported != places).any(axis=1))[: _PROOFS - len(self._proofs)]
            self._proofs += [(tuple(places[row].tolist()), int(rest[row, 1])) for row in turned]
        inside = (places < self._within).all(axis=1)
        for column, values in zip(self._columns, located(places[inside] @ self._steps, rest[inside]), strict=True):
            column.append(values)

    def proved(self, h5: Hdf5, dataset: int) -> bool:
        """Return whether HDF5 finds chunks of the recorded sizes at the corrected positions."""
        size = c_uint64()
        for place, length in self._proofs:
            first = (c_uint64 * self._rank)(
                *(number * chunk_length for number, chunk_length in zip(place, self._chunks, strict=True))
            )
            if h5.H5Dget_chunk_storage_size(dataset, first, byref(size)) < 0 or size.value != length:
                return False
        return True

    def table(self) -> ChunkTable:
        """Return the recorded chunks in grid order."""
        columns = []
        for pieces in self._columns:
            columns.append(np.concatenate(pieces))
            pieces.clear()
        return in_grid_order(ChunkTable(*columns))
