"""Data for a target of references: chunk locations are stored in columns and not read.

Other chunks are made and put by key as for any store: those shorter than a
reference, and those with other filters than the rest of their array.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from nczarr.arrays.chunks.chunk_references import Referred, referred, some
from nczarr.arrays.chunks.manifest import PlaceColumns
from nczarr.arrays.chunks.route import way
from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Index, grid_of, index_of, number_of
from nczarr.link.tasks import WrittenPart
from nczarr.stores.base import Store


class ReferringStore(Store, Protocol):
    """An unfinished store that accepts references."""

    def accepts(self, sources: tuple[str, ...]) -> bool:
        """Return whether the store can name all of these paths and URLs; otherwise it gets the chunks."""

    def add(self, referred: Referred) -> None:
        """Add the chunk locations of an array. Raises OSError."""


def refer(
    numbered: Iterable[tuple[int, WrittenPart]], store: ReferringStore, inline: int, counts: Counts
) -> Iterator[tuple[int, WrittenPart]]:
    """Put the references of arrays; yield the arrays, or their keys, that must be made. Raises OSError.

    `inline`: maximum bytes of an embedded chunk; distant chunks are always
    referenced.
    """
    for number, array in numbered:
        columns = referred(array.source, array.target.layout) if array.route == "reference" else None
        if columns is None:
            yield number, array
            continue
        if not store.accepts(columns.sources):
            assert array.source is not None
            yield number, array._replace(route=way(array.source, array.target.layout))
            continue
        grid = grid_of(array.target.layout.shape, array.unit)
        far = array.source is not None and array.source.distant
        long = (columns.length > (-1 if far else inline)) | (columns.length < 0)
        referred_columns = columns if long.all() else some(columns, long)
        if len(referred_columns.chunk):
            store.add(
                Referred(array.chunk_keys, grid, referred_columns, {} if array.source is None else array.source.noted)
            )
            size = int(referred_columns.length.clip(min=0).sum())
            counts.add(
                "reference",
                len(referred_columns.chunk),
                size,
                len(referred_columns.chunk) * array.chunk_size * array.element,
            )
        rest = _rest(array, grid, referred_columns, columns, ~long)
        if rest:
            assert array.source is not None
            yield number, array._replace(route=way(array.source, array.target.layout), only=rest)


def _rest(
    array: WrittenPart,
    grid: tuple[int, ...],
    referred_columns: PlaceColumns,
    columns: PlaceColumns,
    short: NDArray[Any],
) -> tuple[Index, ...]:
    """Return the existing chunks without reference, in C order.

    `short`: bool, shape (rows of `columns`,); True for chunks that are too
    short for a reference.
    """
    if len(columns.chunk) == math.prod(grid):
        return tuple(index_of(number, grid) for number in columns.chunk[short].tolist())
    numbers = set(referred_columns.chunk.tolist())
    return tuple(index for index in array.indices() if number_of(index, grid) not in numbers)
