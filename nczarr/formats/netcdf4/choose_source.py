"""Choice of a netCDF-4 variable's array source: the one that uses the library least.

Contiguous data are a view of the file; chunks are decoded here; the library
reads other storage and elements without a `Descr`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.codecs import table
from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.regions import grid_of
from nczarr.arrays.sources import decoded_parts
from nczarr.arrays.sources.memory import fill_source
from nczarr.arrays.sources.source import ArraySource, Layout, Parts, Stored, itemsize, little_descr
from nczarr.arrays.sources.strided import AffineArray
from nczarr.arrays.values.elements import in_order
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.formats.netcdf4.chunk_index import ChunkTable
from nczarr.formats.netcdf4.chunked_array import ChunkedArray
from nczarr.formats.netcdf4.hdf5 import hdf5, opened_file
from nczarr.formats.netcdf4.library import library
from nczarr.formats.netcdf4.objects import CHUNKED, CONTIGUOUS, DatasetInfo
from nczarr.formats.netcdf4.stored_variable import StoredVariable


def sources(variable: StoredVariable, dataset: DatasetInfo | None) -> Parts:
    """Return the source of every part. `dataset`: HDF5 metadata, None if unknown."""
    return _read_here(variable, dataset) or decoded_parts.sources(variable, {"": variable.fill})


def _read_here(variable: StoredVariable, dataset: DatasetInfo | None) -> Parts | None:
    """Return a source that reads the file itself; None for types and storage that need the library."""
    if dataset is None or dataset.dtype is None or not is_fixed(variable.type, variable.types):
        return None
    dtype = descr(variable.type, variable.types)
    if little_descr(dataset.dtype) != dtype or dataset.extent is None or len(dataset.extent) != len(variable.shape):
        return None
    fill = None if dataset.fill is None else in_order(dataset.fill, dataset.dtype, dtype)
    layout = Layout(dtype, variable.shape, variable.shape, fill=fill)
    source = _contiguous(variable, dataset, layout) or _chunked(variable, dataset, layout)
    return None if source is None else {"": source}


def _contiguous(variable: StoredVariable, dataset: DatasetInfo, layout: Layout) -> ArraySource | None:
    """Return a source of contiguous or unallocated data; None for other datasets."""
    if dataset.layout != CONTIGUOUS or dataset.elsewhere or dataset.extent != variable.shape:
        return None
    assert dataset.dtype is not None
    if dataset.address is None:
        return fill_source(layout, undefined=dataset.undefined)
    if dataset.dtype != layout.dtype:
        layout = layout._replace(dtype=dataset.dtype, fill=dataset.fill)
    row = math.prod(variable.shape[1:]) * itemsize(dataset.dtype)
    return AffineArray(layout, variable.file, dataset.address, row)


def _chunked(variable: StoredVariable, dataset: DatasetInfo, layout: Layout) -> ArraySource | None:
    """Return a source of chunked data; None for other datasets."""
    if (
        dataset.layout != CHUNKED
        or dataset.elsewhere
        or dataset.extent is None
        or len(dataset.chunks) != len(variable.shape)
    ):
        return None
    assert dataset.dtype is not None
    through_library = decoded_parts.DecodedCells(
        variable, "", decoded_parts.in_one_piece(layout.dtype, variable.shape, variable.fill)
    )
    unwritten, undefined = layout.fill, dataset.undefined
    if dataset.extent != variable.shape:
        beyond = bytes(itemsize(layout.dtype)) if variable.fill is None else variable.fill
        layout = layout._replace(fill=beyond)
        if undefined:  # then the same value may stand everywhere
            unwritten, undefined = beyond, False
    layout = layout._replace(chunks=dataset.chunks, codecs=dataset.filters)
    stored = Stored(dataset.dtype, dataset.chunks, dataset.filters)
    steps = _steps(dataset, itemsize(dataset.dtype))
    edges = dataset.unfiltered_edges
    return ChunkedArray(
        layout, variable.file, dataset.extent, stored, steps, edges, through_library, unwritten, undefined
    )


def _steps(dataset: DatasetInfo, size: int) -> tuple[dict[str, Any], ...] | None:
    """Return the decoding steps of chunks; None if they cannot be decoded here."""
    if not codecs.expressible(dataset.filters, table.decoded_filters()) or dataset.shuffled not in (None, size):
        return None
    return tuple(codecs.to_configs(dataset.filters, size))


SMALL_TABLES = 4096
"""Chunks, and one for each array, whose places are read with the header of a file."""


def small_tables(parts: Mapping[str, Parts], path: str) -> dict[tuple[str, str], ChunkTable]:
    """Return the chunk tables of small arrays by variable and part, up to `SMALL_TABLES` chunks in all.

    Raises OSError if the file cannot be opened; a damaged index is left out.
    """
    tables: dict[tuple[str, str], ChunkTable] = {}
    left = SMALL_TABLES
    with LOCK, opened_file(hdf5(library()), path, needed=True):  # it stays open for all of them
        for fqn, parts_of_variable in parts.items():
            for part, source in parts_of_variable.items():
                if not isinstance(source, ChunkedArray):
                    continue
                chunks = 1 + math.prod(grid_of(source.layout.shape, source.layout.chunks))
                if chunks > left:
                    continue
                left -= chunks
                with suppress(OSError):  # whoever asks for it learns why
                    tables[fqn, part] = source.looked_up()
    return tables
