"""Values in a format's form as arrays of the parts, and the fill values of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.sources.source import Parts, fill_of
from nczarr.arrays.values.parts import Cells, ListTree, PartLeaf, PartTree, RecordTree
from nczarr.ast import Field, TypeName


class UnsuitedError(ValueError):
    """Values that do not match their type, or have the wrong number of items."""

    code = "unreadable-array"


def shape_values(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return values in a shape. Raises UnsuitedError for another number of values."""
    if values.size != math.prod(shape):
        raise UnsuitedError(f"it contains {values.size} values instead of {math.prod(shape)}")
    return values.reshape(shape)


def arrays_of(
    tree: PartTree,
    values: Cells,
    shape: tuple[int, ...],
    leaf: Callable[[Cells, TypeName, tuple[int, ...]], NDArray[Any]],
    lists: Callable[[Cells, tuple[int, ...]], tuple[NDArray[Any], Cells]],
    members: Callable[[Cells, list[Field]], Iterable[Cells]],
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield path and array of each part of values in a format's form, counts before content, fields in order.

    `leaf` returns values of one type in a shape, `lists` the lengths and the
    content of lists, `members` the values of each field of records. They raise
    UnsuitedError for other values.
    """
    match tree:
        case PartLeaf():
            yield tree.path, leaf(values, tree.type, shape)
        case ListTree():
            counts, content = lists(values, shape)
            yield tree.counts.path, shape_values(counts, shape)
            yield from arrays_of(tree.content, content, (int(counts.sum()),), leaf, lists, members)
        case RecordTree():
            fields = [field for field, _ in tree.members]
            for (field, inner), member in zip(tree.members, members(values, fields), strict=True):
                yield from arrays_of(inner, member, (*shape, *field.shape), leaf, lists, members)


def own_fills(sources: Parts, usual: Parts) -> dict[str, bytes]:
    """Return the little-endian fills by part that differ from those of `all_fill` (`usual`)."""
    fills = {part: fill_of(source) for part, source in sources.items()}
    return {
        part: fill
        for part, fill in fills.items()
        if fill is not None and part in usual and fill != usual[part].layout.fill
    }
