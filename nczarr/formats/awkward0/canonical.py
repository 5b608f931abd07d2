"""Columns in the few forms that the data model has: no chunks, no indexes, no views, lists one behind the other.

`plain` gives `Flat`, `Lists` from 0 on whose content is exactly theirs, `Texts` of such lists, `Table` whose columns
have its length, and `Masked` with one truth value an item, True where it is missing. What cannot be one of them is a
`UnsayableError` that says where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from nczarr.formats.awkward0.columns import (
    BitMasked,
    Chunks,
    Column,
    Flat,
    Indexed,
    Later,
    Lists,
    Masked,
    Objects,
    Spans,
    Sparse,
    Table,
    Texts,
    Union,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEEPEST = 100
"""Levels of arrays in each other."""


class UnsayableError(Exception):
    """A part of an array that the data model has no form for."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def plain(column: Column, where: NDArray[Any] | None = None, depth: int = 0) -> Column:
    """The items at these places (None: all) in canonical form. Raises UnsayableError for unions and cycles."""
    import numpy as np

    if depth > DEEPEST:
        raise UnsayableError("lost-union", "arrays nest without an end")
    deeper = depth + 1
    match column:
        case Flat():
            return column if where is None else Flat(column.values[where])
        case Lists():
            return _lists(column.offsets[:-1], column.offsets[1:], column.content, where, deeper)
        case Spans():
            return _lists(column.starts, column.stops[: len(column.starts)], column.content, where, deeper)
        case Texts():
            inner = plain(column.bytes, where, deeper)
            assert isinstance(inner, Lists)
            return Texts(inner, column.encoding)
        case Table():
            rows = np.arange(len(column)) if where is None else where
            whole = where is None and all(len(each) == len(column) for each in column.columns)
            return Table(
                column.names,
                tuple(plain(each, None if whole else rows, deeper) for each in column.columns),
                len(rows),
            )
        case Masked():
            mask = column.mask[: len(column)].astype(bool) == column.masked_when
            return _masked(mask, column.content, np.arange(len(mask)), where, deeper)
        case BitMasked():
            bits = np.unpackbits(column.mask.view(np.uint8), bitorder="little" if column.lsb_order else "big")[
                : len(column)
            ]
            return _masked(bits.astype(bool) == column.masked_when, column.content, np.arange(len(bits)), where, deeper)
        case Indexed() if column.optional:
            return _masked(column.index < 0, column.content, column.index, where, deeper)
        case Indexed():
            return plain(column.content, column.index if where is None else column.index[where], deeper)
        case Sparse():
            return _sparse(column, where, deeper)
        case Union():
            return _union(column, where, deeper)
        case Chunks():
            whole_column = joined([plain(each, None, deeper) for each in column.pieces])
            return whole_column if where is None else plain(whole_column, where, deeper)
        case Objects():
            return plain(column.content, where, deeper)
        case Later():
            raise UnsayableError("lost-union", f"it refers to array {column.id}, which is around it")
        case _:
            assert_never(column)


def _lists(starts: NDArray[Any], stops: NDArray[Any], content: Column, where: NDArray[Any] | None, depth: int) -> Lists:
    import numpy as np

    if where is not None:
        starts, stops = starts[where], stops[where]
    counts = np.maximum(np.subtract(stops, starts, dtype=np.int64), 0)
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    total = int(offsets[-1])
    filled = starts[counts > 0]
    first = int(filled[0]) if len(filled) else 0
    if bool((starts[counts > 0] == first + offsets[:-1][counts > 0]).all()):
        taken = None if (first, total) == (0, len(content)) else np.arange(first, first + total)
    else:
        taken = np.repeat(starts.astype(np.int64) - offsets[:-1], counts) + np.arange(total)
    return Lists(offsets, plain(content, taken, depth))


def _masked(mask: NDArray[Any], content: Column, index: NDArray[Any], where: NDArray[Any] | None, depth: int) -> Column:
    """Items at an index, some of them missing; what stands in those is anything."""
    import numpy as np

    if where is not None:
        mask, index = mask[where], index[where]
    if not mask.any():
        return plain(content, index, depth)
    if not len(content):
        return Masked(mask, blank(plain(content, None, depth), len(mask)))
    found = plain(content, np.where(mask, 0, index), depth)
    if isinstance(found, Masked):
        return Masked(mask | found.mask, found.content)
    return Masked(mask, found)


def _sparse(column: Sparse, where: NDArray[Any] | None, depth: int) -> Column:
    import numpy as np

    content = plain(column.content, None, depth)
    if not isinstance(content, Flat):
        raise UnsayableError("lost-union", "a sparse array of anything but elements of fixed size")
    wanted = np.arange(len(column)) if where is None else where
    index = np.asarray(column.index)[: len(content.values)]
    shape = (len(wanted), *content.values.shape[1:])
    out = np.zeros(shape, content.values.dtype)
    if column.default is not None:
        out[...] = column.default
    if len(index):
        place = np.minimum(np.searchsorted(index, wanted), len(index) - 1)
        there = index[place] == wanted
        out[there] = content.values[place[there]]
    return Flat(out)


def _union(column: Union, where: NDArray[Any] | None, depth: int) -> Column:
    """A union of which all items are of one content is that; any other the model has not."""
    import numpy as np

    tags = column.tags if where is None else column.tags[where]
    index = column.index[: len(column)] if where is None else column.index[where]
    used = np.unique(tags)
    if len(used) > 1:
        kinds = ", ".join(type(column.contents[int(tag)]).__name__ for tag in used)
        raise UnsayableError("lost-union", f"a union of different types of items ({kinds})")
    if not len(used):
        return plain(column.contents[0], np.arange(0), depth)
    return plain(column.contents[int(used[0])], index, depth)


def joined(pieces: list[Column]) -> Column:
    """Canonical columns one behind the other."""
    import numpy as np

    filled = [each for each in pieces if len(each)] or pieces[:1]
    if not filled:
        return Flat(np.zeros(0))
    first = filled[0]
    if len(filled) == 1:
        return first
    if any(isinstance(each, Masked) for each in filled):
        masks = [each.mask if isinstance(each, Masked) else np.zeros(len(each), bool) for each in filled]
        return Masked(
            np.concatenate(masks), joined([each.content if isinstance(each, Masked) else each for each in filled])
        )
    if any(type(each) is not type(first) for each in filled):
        raise UnsayableError("lost-union", "chunks of different types of items")
    match first:
        case Flat():
            arrays = [each.values for each in filled if isinstance(each, Flat)]
            if len({each.dtype.kind for each in arrays}) > 1 or len({each.shape[1:] for each in arrays}) > 1:
                raise UnsayableError("lost-union", "chunks of different types of items")
            return Flat(np.concatenate(arrays))
        case Lists():
            lists = [each for each in filled if isinstance(each, Lists)]
            counts = np.concatenate([np.diff(each.offsets) for each in lists])
            offsets = np.zeros(len(counts) + 1, np.int64)
            np.cumsum(counts, out=offsets[1:])
            return Lists(offsets, joined([each.content for each in lists]))
        case Texts():
            texts = [each for each in filled if isinstance(each, Texts)]
            if len({each.encoding for each in texts}) > 1:
                raise UnsayableError("lost-union", "texts of different encodings")
            inner = joined([each.bytes for each in texts])
            assert isinstance(inner, Lists)
            return Texts(inner, first.encoding)
        case Table():
            tables = [each for each in filled if isinstance(each, Table)]
            if any(each.names != first.names for each in tables):
                raise UnsayableError("lost-union", "tables of different columns")
            columns = zip(*(each.columns for each in tables), strict=True)
            return Table(first.names, tuple(joined(list(each)) for each in columns), sum(map(len, tables)))
        case _:
            raise AssertionError(first)


def blank(column: Column, length: int) -> Column:
    """Items of the same type that nobody looks at."""
    import numpy as np

    match column:
        case Flat():
            return Flat(np.zeros((length, *column.values.shape[1:]), column.values.dtype))
        case Lists():
            return Lists(np.zeros(length + 1, np.int64), plain(column.content, np.arange(0)))
        case Texts():
            inner = blank(column.bytes, length)
            assert isinstance(inner, Lists)
            return Texts(inner, column.encoding)
        case Table():
            return Table(column.names, tuple(blank(each, length) for each in column.columns), length)
        case Masked():
            return Masked(np.ones(length, bool), blank(column.content, length))
        case _:
            raise AssertionError(column)
