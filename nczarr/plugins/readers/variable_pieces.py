"""Pieces of variables: what their storage costs a reader by ranges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from nczarr.arrays.regions import count_blocks, grid_of
from nczarr.arrays.sources.source import ArraySource, IndexPlace, itemsize
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast.rectilinear import volume
from nczarr.plan.chunk_sizes import LEAST
from nczarr.semantics.checked import Checked

SMALL_FILE = 1 << 20
"""Bytes of a file that a reader fetches whole."""

MANY_PIECES = 64
"""Pieces of a small variable that a reader notices."""


class VariablePieces(NamedTuple):
    """Pieces of a variable: what one request brings, a chunk, a shard, or the record of a classic file."""

    number: int
    length: int
    """Decoded bytes of a piece."""
    step: int
    """Bytes of one step along the first of several dimensions."""

    @property
    def is_small(self) -> bool:
        """True if a piece has less than the least size, even with one step more, as CMIP7 allows."""
        return self.length + self.step < LEAST

    @property
    def matters(self) -> bool:
        """True if a reader of all values notices the pieces."""
        return self.number >= MANY_PIECES or self.number * self.length > SMALL_FILE


def find_array(checked: Checked, path: str) -> ArraySource | None:
    """Return the array of a variable's values; None for variables of several parts and without values."""
    return checked.parts.get(path, {}).get("")


def measure_value(checked: Checked, path: str) -> int:
    """Return the bytes of one value; 0 for values of variable length."""
    variable = checked.variables[path]
    return size(variable.type, checked.types) if is_fixed(variable.type, checked.types) else 0


def count_pieces(checked: Checked, path: str, *, stored: bool = False) -> VariablePieces | None:
    """Return the pieces of a variable; None for one piece, and for values of variable length. Raises OSError.

    `stored`: count only those that exist.
    """
    source = find_array(checked, path)
    if source is None or not measure_value(checked, path):
        return None
    lengths = source.layout.shards or source.layout.chunks
    count = math.prod(grid_of(source.layout.shape, lengths)) if lengths else 1
    if stored and count > 1:
        count = count_blocks(source.list_occupied(lengths))
    step = volume(lengths[1:]) if len(lengths) > 1 else 0
    width = itemsize(source.layout.dtype)
    return VariablePieces(count, volume(lengths) * width, step * width) if count > 1 else None


def place_indexes(checked: Checked) -> Iterator[tuple[str, IndexPlace]]:
    """Yield the places of chunk indexes in a file. Raises OSError."""
    for path, parts in checked.parts.items():
        place = next(iter(parts.values())).place_index()
        if place is not None:
            yield path, place
