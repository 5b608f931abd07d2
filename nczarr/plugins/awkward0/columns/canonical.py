"""Canonical columns, the few forms of the data model.

`plain` returns `Flat`, `ListNode` with offsets from 0 and exactly their content,
`TextNode` of such lists, `TableNode` with columns of its length, and `Masked` with one
boolean per item, True if missing. Other columns raise NoVariableError. Lists and
indexes may repeat items; `Room` limits the expansion.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, assert_never
from weakref import WeakValueDictionary

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.awkward0.columns import nodes
from nczarr.plugins.awkward0.columns.nodes import missing, one_item
from nczarr.plugins.common.part_arrays import UnsuitedError

DEEPEST = 100
"""Maximum nesting of arrays."""

EXPANDED = 256 << 20
"""Bytes that items may take beyond the input."""

UNLIMITED = 2**63


class NoVariableError(UnsuitedError):
    """A part of an array that the data model cannot represent."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Room:
    """Budget of bytes that items may take beyond the input."""

    def __init__(self, budget: int = EXPANDED) -> None:
        self._budget = budget
        self._taken: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()

    def take(self, values: NDArray[Any], count: int) -> None:
        """Charge for a copy of `count` items of an array of shape (items, …), any dtype. Raises NoVariableError.

        The first copy is free up to the size of the array.
        """
        copied = count * values.itemsize * math.prod(values.shape[1:])
        again = self._taken.get(id(values)) is values
        self._taken[id(values)] = values
        self.spend(copied if again else copied - values.nbytes)

    def spend(self, size: int) -> None:
        """Charge bytes without a counterpart in the input. Raises NoVariableError."""
        if max(size, 0) > self._budget:
            text = f"items that occur several times take over {EXPANDED} bytes more than the input"
            raise NoVariableError("unreadable-array", text)
        self._budget -= max(size, 0)


class Deep(NamedTuple):
    """Nesting level and byte budget."""

    level: int
    """Nesting level."""
    room: Room
    """Byte budget."""


def plain(column: nodes.Column, where: NDArray[Any] | None = None, deep: Deep | None = None) -> nodes.Column:
    """Return the items at `where` (None: all) in canonical form.

    `where`: integers, shape (items,). Raises NoVariableError for unions, cycles
    and excessive expansion.
    """
    level, room = deep or Deep(0, Room())
    if level > DEEPEST:
        raise NoVariableError("lost-union", "the nesting of arrays is infinite")
    deeper = Deep(level + 1, room)
    match column:
        case nodes.Flat():
            if where is None:
                return nodes.Flat(_days(column.values)) if column.values.dtype.kind == "M" else column
            room.take(column.values, len(where))
            return nodes.Flat(_days(column.values[where]))
        case nodes.ListNode():
            room.take(column.offsets, len(column.offsets) if where is None else len(where))
            return _lists(column.offsets[:-1], column.offsets[1:], column.content, where, deeper)
        case nodes.Spans():
            room.take(column.starts, len(column.starts) if where is None else len(where))
            return _lists(column.starts, column.stops[: len(column.starts)], column.content, where, deeper)
        case nodes.TextNode():
            inner = plain(column.bytes, where, deeper)
            assert isinstance(inner, nodes.ListNode)
            return nodes.TextNode(inner, column.encoding)
        case nodes.TableNode():
            rows = np.arange(len(column)) if where is None else where
            whole = where is None and all(len(inner) == len(column) for inner in column.columns)
            return nodes.TableNode(
                column.names,
                tuple(plain(inner, None if whole else rows, deeper) for inner in column.columns),
                len(rows),
            )
        case nodes.Masked() | nodes.BitMasked():
            room.take(column.mask, len(column) if where is None else len(where))
            return _mask(missing(column), column.content, np.arange(len(column)), where, deeper)
        case nodes.Indexed() if column.optional:
            return _mask(column.index < 0, column.content, column.index, where, deeper)
        case nodes.Indexed():
            return plain(column.content, column.index if where is None else column.index[where], deeper)
        case nodes.Sparse():
            return _sparse(column, where, deeper)
        case nodes.Union():
            return _union(column, where, deeper)
        case nodes.ArrayPieces():
            whole_column = join([plain(piece, None, deeper) for piece in column.pieces])
            return whole_column if where is None else plain(whole_column, where, deeper)
        case nodes.Objects():
            return plain(column.content, where, deeper)
        case nodes.BackReference():
            raise NoVariableError("lost-union", f"it refers to array {column.id}, which encloses it")
        case _:
            assert_never(column)


def _days(values: NDArray[Any]) -> NDArray[Any]:
    """Convert dates in years or months to days (`<M8[D]`), because calendar years vary in length.

    The shape and other dtypes stay. Raises NoVariableError if a number of days
    exceeds 64 bits.
    """
    if values.dtype.kind != "M" or np.datetime_data(values.dtype)[0] not in "YM":
        return values
    days = values.astype("<M8[D]")
    back = days.astype(values.dtype)
    if not bool(((back == values) | (np.isnat(back) & np.isnat(values))).all()):
        raise NoVariableError("unreadable-array", "dates with a number of days beyond 64 bits")
    return days


def _lists(
    starts: NDArray[Any], stops: NDArray[Any], content: nodes.Column, where: NDArray[Any] | None, deep: Deep
) -> nodes.ListNode:
    """Make lists with offsets from 0 of ranges [start, stop) of the content; `where`: numbers of lists, None: all."""
    if where is not None:
        starts, stops = starts[where], stops[where]
    counts = np.maximum(np.subtract(stops, starts, dtype=np.int64), 0)
    offsets = nodes.offsets_of(counts)
    total = int(offsets[-1])
    deep.room.spend((total - len(content)) * offsets.itemsize)
    filled = starts[counts > 0]
    first = int(filled[0]) if len(filled) else 0
    if bool((starts[counts > 0] == first + offsets[:-1][counts > 0]).all()):
        taken = None if (first, total) == (0, len(content)) else np.arange(first, first + total)
    else:
        taken = np.repeat(starts.astype(np.int64) - offsets[:-1], counts) + np.arange(total)
    return nodes.ListNode(offsets, plain(content, taken, deep))


def _mask(
    mask: NDArray[Any], content: nodes.Column, index: NDArray[Any], where: NDArray[Any] | None, deep: Deep
) -> nodes.Column:
    """Return the items at an index; missing ones have arbitrary values.

    `mask`: bool, True for missing items; `index`, `where`: integers. All have
    the shape (items,).
    """
    if where is not None:
        mask, index = mask[where], index[where]
    if not mask.any():
        return plain(content, index, deep)
    if not len(content):
        blank = nodes.Indexed(np.zeros(len(mask), np.int64), one_item(plain(content, None, deep)))
        return nodes.Masked(mask, plain(blank, None, Deep(0, Room(UNLIMITED))))
    items = plain(content, np.where(mask, 0, index), deep)
    if isinstance(items, nodes.Masked):
        return nodes.Masked(mask | items.mask, items.content)
    return nodes.Masked(mask, items)


def _sparse(column: nodes.Sparse, where: NDArray[Any] | None, deep: Deep) -> nodes.Column:
    """Make a dense array of a sparse one, with its default between; `where`: numbers of the items, None: all."""
    content = plain(column.content, None, deep)
    if not isinstance(content, nodes.Flat):
        raise NoVariableError("lost-union", "a sparse array of elements without a fixed size")
    positions = np.arange(len(column)) if where is None else where
    deep.room.take(content.values, len(positions))
    index = np.asarray(column.index)[: len(content.values)]
    shape = (len(positions), *content.values.shape[1:])
    out = np.zeros(shape, content.values.dtype)
    if column.default is not None:
        out[...] = column.default
    if len(index):
        place = np.minimum(np.searchsorted(index, positions), len(index) - 1)
        there = index[place] == positions
        out[there] = content.values[place[there]]
    return nodes.Flat(out)


def _union(column: nodes.Union, where: NDArray[Any] | None, deep: Deep) -> nodes.Column:
    """Return the items of a union that uses only one content; the model has no other unions.

    `where`: integers, shape (items,); None: all. Raises NoVariableError for
    other unions.
    """
    tags = column.tags if where is None else column.tags[where]
    index = column.index[: len(column)] if where is None else column.index[where]
    used = np.unique(tags)
    if len(used) > 1:
        kinds = ", ".join(type(column.contents[int(tag)]).__name__ for tag in used)
        raise NoVariableError("lost-union", f"a union of different types of items ({kinds})")
    if not column.contents:
        raise NoVariableError("lost-union", "a union without types")
    if not len(used):
        return plain(column.contents[0], np.arange(0), deep)
    return plain(column.contents[int(used[0])], index, deep)


def join(pieces: list[nodes.Column]) -> nodes.Column:
    """Concatenate canonical columns. Raises NoVariableError if their types of items differ."""
    filled = [piece for piece in pieces if len(piece)] or pieces[:1]
    if not filled:
        return nodes.Flat(np.zeros(0))
    first = filled[0]
    if len(filled) == 1:
        return first
    if any(isinstance(piece, nodes.Masked) for piece in filled):
        masks = [piece.mask if isinstance(piece, nodes.Masked) else np.zeros(len(piece), bool) for piece in filled]
        return nodes.Masked(
            np.concatenate(masks),
            join([piece.content if isinstance(piece, nodes.Masked) else piece for piece in filled]),
        )
    if any(type(piece) is not type(first) for piece in filled):
        raise NoVariableError("lost-union", "chunks of different types of items")
    match first:
        case nodes.Flat():
            arrays = [piece.values for piece in filled if isinstance(piece, nodes.Flat)]
            if len(set(map(_alike, arrays))) > 1:
                raise NoVariableError("lost-union", "chunks of different types of items")
            return nodes.Flat(np.concatenate(arrays))
        case nodes.ListNode():
            lists = [piece for piece in filled if isinstance(piece, nodes.ListNode)]
            counts = np.concatenate([np.diff(piece.offsets) for piece in lists])
            return nodes.ListNode(nodes.offsets_of(counts), join([piece.content for piece in lists]))
        case nodes.TextNode():
            texts = [piece for piece in filled if isinstance(piece, nodes.TextNode)]
            if len({piece.encoding for piece in texts}) > 1:
                raise NoVariableError("lost-union", "texts of different encodings")
            inner = join([piece.bytes for piece in texts])
            assert isinstance(inner, nodes.ListNode)
            return nodes.TextNode(inner, first.encoding)
        case nodes.TableNode():
            tables = [piece for piece in filled if isinstance(piece, nodes.TableNode)]
            if any(piece.names != first.names for piece in tables):
                raise NoVariableError("lost-union", "tables of different columns")
            columns = zip(*(piece.columns for piece in tables), strict=True)
            return nodes.TableNode(
                first.names, tuple(join(list(contents)) for contents in columns), sum(map(len, tables))
            )
        case _:
            raise AssertionError(first)


def _alike(values: NDArray[Any]) -> tuple[Any, ...]:
    """Return the properties that arrays must share to be concatenated: kind of dtype, and shape of an item.

    Numbers and texts may differ in size.
    """
    dtype = values.dtype
    return dtype.newbyteorder("<") if dtype.kind in "mMV" else dtype.kind, values.shape[1:]
