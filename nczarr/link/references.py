"""Data on their way into a target that holds references: where chunks lie goes there in columns, without a look at
them.

What is left is made as for any other store, and put by key: chunks so short that a reference would be longer, and
chunks that lie behind other filters than the rest of their array.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from nczarr.arrays.blocks import Index, grid_of, index_of, number_of
from nczarr.arrays.chunk_references import Referred, referred, some
from nczarr.arrays.counts import Counts
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.manifest import Columns
from nczarr.arrays.route import way
from nczarr.link.tasks import Array
from nczarr.stores.base import Store


class ReferringStore(Store, Protocol):
    """A store in the making that takes references."""

    def add(self, referred: Referred) -> None:
        """Hold where the chunks of an array lie. Raises OSError."""


def refer(
    found: Iterable[tuple[int, Array]], store: ReferringStore, inline: int, counts: Counts
) -> Iterator[tuple[int, Array]]:
    """Put the references of arrays, and give what of them has to be made. `inline`: bytes of the longest chunk that is
    held itself; those that are far away are left there. Raises OSError.
    """
    for number, array in found:
        columns = referred(array.source, array.target.layout) if array.route == "reference" else None
        if columns is None:
            yield number, array
            continue
        grid = grid_of(array.target.layout.shape, array.unit)
        far = array.source is not None and array.source.distant
        long = (columns.length > (-1 if far else inline)) | (columns.length < 0)
        kept = columns if long.all() else some(columns, long)
        if len(kept.chunk):
            store.add(Referred(array.chunk_keys, grid, kept))
            size = int(kept.length.clip(min=0).sum())
            counts.add("reference", len(kept.chunk), size, len(kept.chunk) * array.chunk_size * array.element)
        rest = _rest(array, grid, kept, columns, ~long)
        if rest:
            assert array.source is not None
            yield number, array._replace(route=way(array.source, array.target.layout), only=rest)


def _rest(
    array: Array, grid: tuple[int, ...], kept: Columns, columns: Columns, short: NDArray[Any]
) -> tuple[Index, ...]:
    """The chunks that there are without a reference, in C order."""
    if len(columns.chunk) == math.prod(grid):
        return tuple(index_of(number, grid) for number in columns.chunk[short].tolist())
    known = set(kept.chunk.tolist())
    return tuple(index for index in array.indices() if number_of(index, grid) not in known)
