"""Selection and merging of cells, including ragged ones, for messages that overlap, leave gaps or hold too
much.

Values are flat arrays by part, with one row per cell or per element of content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.parts import Types, part_tree, spread
from nczarr.ast.node import TypeName

if TYPE_CHECKING:
    Values: TypeAlias = Mapping[str, NDArray[Any]]


def joined(every: Sequence[Values]) -> dict[str, NDArray[Any]]:
    """Concatenate values."""
    if len(every) == 1:
        return dict(every[0])
    return {part: np.concatenate([each[part].reshape(-1) for each in every]) for part in every[0]}


def taken(values: Values, cells: NDArray[np.int64], type_name: TypeName, types: Types) -> Values:
    """Return the values of the cells with these numbers."""
    flat = {path: each.reshape(-1) for path, each in values.items()}
    found = spread(
        part_tree(type_name, types),
        cells,
        lambda leaf, cells: flat[leaf.path][cells],
        lambda tree, cells: _items(flat[tree.counts.path], cells),
        lambda number, field, cells: _rows(cells, field.shape),
    )
    return dict(found)


def _items(counts: NDArray[Any], cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the item numbers of the lists in the given cells."""
    kept = counts[cells]
    starts = (np.cumsum(counts) - counts)[cells]
    ends = np.cumsum(kept)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - kept), kept) + np.arange(total, dtype=np.int64)


def _rows(cells: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the element numbers of an array field."""
    import math

    width = math.prod(shape)
    return cells if width == 1 else (cells[:, None] * width + np.arange(width, dtype=np.int64)).reshape(-1)


def numbers(ranges: Sequence[range], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the C-order cell numbers of a section of a shape."""
    found = np.zeros((), np.int64)
    for indices, length in zip(ranges, shape, strict=True):
        found = found[..., None] * length + np.arange(indices.start, indices.stop, indices.step, dtype=np.int64)
    return found.reshape(-1)
