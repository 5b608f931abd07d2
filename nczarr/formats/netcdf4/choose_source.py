"""Choice of a netCDF-4 variable's array source: the one that uses the library least.

Contiguous data are a view of the file; chunks are decoded here; the library
reads other storage and elements without a `Descr`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from nczarr.arrays.codecs import chain as codecs
from nczarr.arrays.codecs import table
from nczarr.arrays.sources import decoded_parts
from nczarr.arrays.sources.memory import fill_source
from nczarr.arrays.sources.source import ArraySource, Layout, Parts, Stored, itemsize, little_descr
from nczarr.arrays.sources.strided import AffineArray
from nczarr.arrays.values.elements import in_order
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.formats.netcdf4.header.heaps import ELEMENT
from nczarr.formats.netcdf4.index_chunk_array import IndexChunkArray
from nczarr.formats.netcdf4.objects import CHUNKED, CONTIGUOUS, DatasetInfo
from nczarr.formats.netcdf4.stored_variable import StoredVariable


def sources(variable: StoredVariable, dataset: DatasetInfo | None) -> Parts:
    """Return the source of every part. `dataset`: HDF5 metadata, None if unknown."""
    read_here = _read_here(variable, dataset)
    if read_here is not None:
        return read_here
    variable = replace(variable, elements=_text_elements(variable, dataset))
    return decoded_parts.sources(variable, {"": variable.fill})


def _read_here(variable: StoredVariable, dataset: DatasetInfo | None) -> Parts | None:
    """Return a source that reads the file itself; None for types and storage that need the library."""
    if dataset is None or dataset.dtype is None or not is_fixed(variable.type, variable.types):
        return None
    dtype = descr(variable.type, variable.types)
    if little_descr(dataset.dtype) != dtype or dataset.extent is None or len(dataset.extent) != len(variable.shape):
        return None
    fill = None if dataset.fill is None else in_order(dataset.fill, dataset.dtype, dtype)
    layout = Layout(dtype, variable.shape, variable.shape, fill=fill)
    source = _contiguous(variable, dataset, layout) or _choose_chunked(variable, dataset, layout)
    return None if source is None else {"": source}


def _text_elements(variable: StoredVariable, dataset: DatasetInfo | None) -> ArraySource | None:
    """Return the elements of texts, which have the places of the texts; None if the library reads the variable."""
    if dataset is None or dataset.extent is None or dataset.fixed is not None:
        return None
    if variable.type != "string" or len(dataset.unwritten) != ELEMENT:
        return None
    inside = replace(variable, shape=dataset.extent, extent=None)
    elements = dataset._replace(dtype=f"|V{ELEMENT}", fill=dataset.unwritten)
    layout = Layout(f"|V{ELEMENT}", dataset.extent, dataset.extent, fill=dataset.unwritten)
    chunked = _choose_chunked(inside, elements, layout)
    if chunked is not None:
        return chunked if chunked.steps is not None else None
    return _contiguous(inside, elements, layout)


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


def _choose_chunked(variable: StoredVariable, dataset: DatasetInfo, layout: Layout) -> IndexChunkArray | None:
    """Return a source of chunked data; None for other datasets."""
    if (
        dataset.layout != CHUNKED
        or dataset.elsewhere
        or dataset.extent is None
        or dataset.chunk_index is None
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
    return IndexChunkArray(
        layout,
        variable.file,
        dataset.extent,
        stored,
        steps,
        edges,
        through_library,
        unwritten,
        dataset.chunk_index,
        undefined,
    )


def _steps(dataset: DatasetInfo, size: int) -> tuple[dict[str, Any], ...] | None:
    """Return the decoding steps of chunks; None if they cannot be decoded here."""
    if not codecs.expressible(dataset.filters, table.list_decoded_filters()) or dataset.shuffled not in (None, size):
        return None
    return tuple(codecs.to_configs(dataset.filters, size))
