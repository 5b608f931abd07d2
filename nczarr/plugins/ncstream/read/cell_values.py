"""Values of messages by part: those of a section, and those of single cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import cell_numbers
from nczarr.arrays.values.parts import Part, Types, part_tree, parts, spread
from nczarr.ast.node import TypeName
from nczarr.plugins.ncstream.wire.trees import Records, Tree, to_arrays

Values: TypeAlias = "Mapping[str, NDArray[Any]]"
"""Values by part; when flat, with one row per cell or per element of content."""


def values_of(
    tree: Tree, ranges: tuple[range, ...], type_name: TypeName, shape: tuple[int, ...], types: Types
) -> dict[str, NDArray[Any]]:
    """Return the values of a section by part, in its shape. `shape`: that of the variable. Raises ValueError."""
    lengths = tuple(map(len, ranges))
    if isinstance(tree, Records) and len(tree) != math.prod(lengths) and len(tree) == math.prod(shape):
        whole = dict(to_arrays(tree, type_name, shape, types))  # a server that does not cut records
        cells = cell_numbers(ranges, shape).reshape(-1)
        return shape_parts(take(whole, cells, type_name, types), parts(type_name, lengths, types))
    return dict(to_arrays(tree, type_name, lengths, types))


def shape_parts(values: Values, every: Iterable[Part]) -> dict[str, NDArray[Any]]:
    """Reshape flat values to the shapes of the parts."""
    return {
        part.path: values[part.path].reshape([-1 if length is None else length for length in part.shape])
        for part in every
    }


def take(values: Values, cells: NDArray[np.int64], type_name: TypeName, types: Types) -> Values:
    """Return the values of the cells with these numbers by part: 1-D. `cells`: int64, shape (cells,)."""
    flat = {path: array.reshape(-1) for path, array in values.items()}

    def rows(cells: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
        width = math.prod(shape)
        return cells if width == 1 else (cells[:, None] * width + np.arange(width, dtype=np.int64)).reshape(-1)

    return dict(
        spread(
            part_tree(type_name, types),
            cells,
            lambda leaf, cells: flat[leaf.path][cells],
            lambda tree, cells: _items(flat[tree.counts.path], cells),
            lambda number, field, cells: rows(cells, field.shape),
        )
    )


def _items(counts: NDArray[Any], cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the item numbers of the lists in the given cells: int64, shape (items,).

    `counts`: items of each list, integers, shape (lists,); `cells`: int64,
    shape (cells,).
    """
    lengths = counts[cells]
    starts = (np.cumsum(counts) - counts)[cells]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total, dtype=np.int64)
