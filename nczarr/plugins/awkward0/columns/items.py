"""`items`: a column as Python objects, for comparison and for use without a ragged array library.

Lists become lists, records dictionaries, missing items None, texts `str`, bytes
`bytes`, numbers Python numbers, dates and times NumPy scalars. Invalid bytes in
texts become surrogates. `Objects` become the items of their content.
"""

from __future__ import annotations

import itertools
from typing import Any, assert_never

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.awkward0.columns import nodes

MOST = 100_000_000
"""Default maximum number of items, including nested ones."""

DEEPEST = 200
"""Maximum nesting of arrays."""


def items(column: nodes.Column, most: int = MOST) -> list[Any]:
    """Return all items. Raises ValueError for more than `most` items, or endless nesting."""
    return _ItemWalk(most).take(column, np.arange(len(column)))


class _ItemWalk:
    """Collector of items by number, level by level, so that a recursive array ends with its items."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._depth = 0

    def take(self, column: nodes.Column, where: NDArray[Any]) -> list[Any]:
        """Return the items at these positions as Python objects.

        `where`: integers, shape (items,). Raises ValueError for too many items
        or an infinite nesting.
        """
        self._left -= len(where)
        self._depth += 1
        if self._left < 0 or self._depth > DEEPEST:
            raise ValueError("the items exceed the limit, or their nesting is infinite")
        objects = self._take(column, where) if len(where) else []
        self._depth -= 1
        return objects

    def _take(self, column: nodes.Column, where: NDArray[Any]) -> list[Any]:
        """Return items by number as Python objects: numbers, strings, lists, dicts, None if missing."""
        match column:
            case nodes.Flat():
                return self._take_elements(column.values[where])
            case nodes.ListNode() | nodes.Spans():
                starts, stops = nodes.bounds(column)
                return self._take_lists(column.content, starts[where], stops[where])
            case nodes.TextNode():
                return self._take_texts(column, where)
            case nodes.TableNode():
                columns = [self.take(inner, where) for inner in column.columns]
                rows = zip(*columns, strict=True) if columns else ((),) * len(where)
                return [dict(zip(column.names, row, strict=True)) for row in rows]
            case nodes.Masked():
                return self._present(column.content, where, column.mask[where].astype(bool) != column.masked_when)
            case nodes.BitMasked():
                return self._present(column.content, where, bits(column, where) != column.masked_when)
            case nodes.Indexed():
                index = column.index[where]
                if column.optional:
                    return self._present(column.content, index, index >= 0)
                return self.take(column.content, index)
            case nodes.Sparse():
                return self._take_sparse(column, where)
            case nodes.Union():
                return self._mix(column.contents, column.tags[where], column.index[where])
            case nodes.ArrayPieces():
                return self._list_pieces(column, where)
            case nodes.Objects():
                return self.take(column.content, where)
            case nodes.BackReference():
                return self.take(column.found(), where)
            case _:
                assert_never(column)

    def _take_elements(self, values: NDArray[Any]) -> list[Any]:
        """Return an array as nested lists, with dicts for structured items. Raises ValueError beyond the limit."""
        self._left -= values.size
        if self._left < 0:
            raise ValueError("the items exceed the limit")
        if values.dtype.names is not None:
            if values.ndim > 1:
                return [self._take_elements(row) for row in values]
            fields = [self._take_elements(values[name]) for name in values.dtype.names]
            rows = zip(*fields, strict=True) if fields else ((),) * len(values)
            return [dict(zip(values.dtype.names, row, strict=True)) for row in rows]
        if values.dtype.kind in "mM":
            return list(values) if values.ndim == 1 else [self._take_elements(row) for row in values]
        return list(values.tolist())

    def _take_lists(self, content: nodes.Column, starts: NDArray[Any], stops: NDArray[Any]) -> list[Any]:
        """Return a list of the content's items [start, stop) for each start. Raises ValueError beyond the limit."""
        counts = np.subtract(stops, starts, dtype=np.int64)
        ends = np.cumsum(counts)
        total = int(ends[-1])
        if total > self._left:
            raise ValueError("the items exceed the limit")
        where = np.arange(total) - np.repeat(ends - counts - starts, counts)
        inner = self.take(content, where)
        cuts = [0, *ends.tolist()]
        return [inner[start:stop] for start, stop in itertools.pairwise(cuts)]

    def _take_texts(self, column: nodes.TextNode, where: NDArray[Any]) -> list[Any]:
        inside = column.bytes
        starts, stops = nodes.bounds(inside)
        if not isinstance(inside.content, nodes.Flat):
            raise TypeError("strings are lists of bytes")
        data = inside.content.values
        pairs = zip(starts[where].tolist(), stops[where].tolist(), strict=True)
        encoded = [data[start:stop].tobytes() for start, stop in pairs]
        if column.encoding is None:
            return list(encoded)
        return [text(data, column.encoding) for data in encoded]

    def _present(self, content: nodes.Column, where: NDArray[Any], present: NDArray[Any]) -> list[Any]:
        items = iter(self.take(content, where[present]))
        return [next(items) if there else None for there in present.tolist()]

    def _take_sparse(self, column: nodes.Sparse, where: NDArray[Any]) -> list[Any]:
        """Return items by number: the stored ones, and the default for all others (None of lists: an empty list)."""
        place = np.searchsorted(column.index, where)
        there = place < len(column.index)
        there[there] = column.index[place[there]] == where[there]
        items = iter(self.take(column.content, place[there]))
        default = column.default
        if isinstance(default, np.ndarray | np.generic):
            default = self._take_elements(np.asarray(default)[np.newaxis])[0]
        elif default is None and isinstance(column.content, nodes.ListNode | nodes.Spans):
            default = []
        return [next(items) if is_stored else default for is_stored in there.tolist()]

    def _list_pieces(self, column: nodes.ArrayPieces, where: NDArray[Any]) -> list[Any]:
        sizes = np.array([len(piece) for piece in column.pieces])
        ends = np.cumsum(sizes)
        piece = np.searchsorted(ends, where, side="right")
        return self._mix(column.pieces, piece, where - (ends - sizes)[piece])

    def _mix(self, columns: tuple[nodes.Column, ...], which: NDArray[Any], index: NDArray[Any]) -> list[Any]:
        """Return items of several columns as Python objects.

        Item i is item `index[i]` of column `which[i]`. `which`, `index`:
        integers, shape (items,).
        """
        items: list[Any] = [None] * len(which)
        for number in sorted(set(which.tolist())):
            places = (which == number).nonzero()[0]
            taken = self.take(columns[number], index[places])
            for place, item in zip(places.tolist(), taken, strict=True):
                items[place] = item
        return items


def bits(column: nodes.BitMasked, where: NDArray[Any]) -> NDArray[Any]:
    """Return the mask bits of the items at these positions: bool, shape (items,).

    `where`: integers, shape (items,).
    """
    bit = where & 7 if column.lsb_order else 7 - (where & 7)
    is_set: NDArray[Any] = (column.mask[where >> 3] >> bit.astype("u1")) & 1 == 1
    return is_set


def text(data: bytes, encoding: str) -> str:
    """Decode text; invalid bytes become surrogates, or U+FFFD in wide encodings."""
    wide = encoding.startswith(("utf-16", "utf-32"))
    return data.decode(encoding, "replace" if wide else "surrogateescape")
