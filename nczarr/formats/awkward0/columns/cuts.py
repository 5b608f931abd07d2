"""Slices of columns, and replacements that awkward0 can read back."""

from __future__ import annotations

from typing import Any, assert_never

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.awkward0.columns import nodes as nodes


class ColumnSlicer:
    """Slicer of columns. Equal slices of one column are one object, so shared parts remain shared."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], tuple[Any, nodes.Column]] = {}

    def __call__(self, column: nodes.Column, start: int, stop: int) -> nodes.Column:
        """Return items `start` to `stop`, which must exist. Copies only mask bits.

        As in awkward0, contents referenced by lists, indexes and tags stay
        whole.
        """
        if start == 0 and stop == len(column):
            return column
        whole = column.values if isinstance(column, nodes.Flat) else column
        key = (id(whole), start, stop)
        if key not in self._known:
            self._known[key] = (whole, self._cut(column, start, stop))
        return self._known[key][1]

    def _cut(self, column: nodes.Column, start: int, stop: int) -> nodes.Column:
        match column:
            case nodes.Flat():
                return nodes.Flat(column.values[start:stop])
            case nodes.ListNode():
                if start == stop:
                    return nodes.ListNode(column.offsets[:1] * 0, self(column.content, 0, 0))
                return nodes.ListNode(column.offsets[start : stop + 1], column.content)
            case nodes.Spans():
                return nodes.Spans(column.starts[start:stop], column.stops[start:stop], column.content)
            case nodes.TextNode():
                bytes_ = self(column.bytes, start, stop)
                assert isinstance(bytes_, nodes.ListNode | nodes.Spans)
                return nodes.TextNode(bytes_, column.encoding)
            case nodes.TableNode():
                columns = tuple(self(inner, start, stop) for inner in column.columns)
                return nodes.TableNode(column.names, columns, stop - start)
            case nodes.Masked():
                return nodes.Masked(column.mask[start:stop], self(column.content, start, stop), column.masked_when)
            case nodes.BitMasked():
                mask = bits(column.mask, stop, lsb_order=column.lsb_order)[start:]
                return nodes.Masked(mask, self(column.content, start, stop), column.masked_when)
            case nodes.Indexed():
                return nodes.Indexed(column.index[start:stop], column.content, column.optional)
            case nodes.Sparse():
                return self._sparse(column, start, stop)
            case nodes.Union():
                return nodes.Union(column.tags[start:stop], column.index[start:stop], column.contents)
            case nodes.ArrayPieces():
                return nodes.ArrayPieces(tuple(self._pieces(column, start, stop)))
            case nodes.Objects():
                return nodes.Objects(self(column.content, start, stop), column.function, column.args, column.kwargs)
            case nodes.BackReference():
                return nodes.Indexed(np.arange(start, stop), column)
            case _:
                assert_never(column)

    def _sparse(self, column: nodes.Sparse, start: int, stop: int) -> nodes.Column:
        low, high = (int(place) for place in np.searchsorted(column.index, [start, stop]))
        index = np.asarray(column.index[low:high]).astype("<i8") - start
        return nodes.Sparse(stop - start, index, self(column.content, low, high), column.default)

    def _pieces(self, column: nodes.ArrayPieces, start: int, stop: int) -> list[nodes.Column]:
        pieces: list[nodes.Column] = []
        at = 0
        for piece in column.pieces:
            low, high = max(start - at, 0), min(stop - at, len(piece))
            if low < high or not pieces:  # the first, even without items, for its type
                pieces.append(self(piece, min(low, len(piece)), max(high, min(low, len(piece)))))
            at += len(piece)
        return pieces


def bits(mask: NDArray[Any], count: int, *, lsb_order: bool) -> NDArray[Any]:
    """Return the first `count` bits of a mask: bool, shape (count,)."""
    raw = np.asarray(mask).view(np.uint8)
    return np.unpackbits(raw, count=count, bitorder="little" if lsb_order else "big").view(np.bool_)


def missing(column: nodes.Masked | nodes.BitMasked) -> NDArray[Any]:
    """Return which items are missing: bool, shape (items,)."""
    length = len(column)
    if isinstance(column, nodes.Masked):
        mask = column.mask[:length] != 0
    else:
        mask = bits(column.mask, length, lsb_order=column.lsb_order)
    is_missing: NDArray[Any] = mask == column.masked_when
    return is_missing


def stand_in(column: nodes.Column) -> nodes.Column:
    """Return an equivalent column that awkward0 can read back, mostly the column itself.

    Empty chunks become their first piece, for its type; rows without elements
    empty lists, because buffers cannot be cut into them; an empty union no
    items of a union with one; a sparse array of defaults stores one as value.
    """
    match column:
        case nodes.ArrayPieces() if column.pieces and not any(map(len, column.pieces)):
            return stand_in(column.pieces[0])
        case nodes.Flat() if 0 in column.values.shape[1:]:
            count, size, *rest = column.values.shape
            inner = np.empty((count * size, *rest), column.values.dtype)
            return nodes.regular(nodes.Flat(inner), count, size)
        case nodes.Union() if not len(column.tags) and column.contents:
            contents = list(column.contents)
            filled = next((tag for tag, content in enumerate(contents) if len(content)), 0)
            if not len(contents[filled]):
                contents[filled] = one_item(contents[filled])
            union = nodes.Union(np.array([filled], "|u1"), np.zeros(1, "<i8"), tuple(contents))
            return nodes.Indexed(np.zeros(0, "<i8"), union)
        case nodes.Sparse(content=nodes.Flat(values=values)) if (
            column.length and not len(column.index) and values.ndim == 1
        ):
            value = np.array([0 if column.default is None else column.default])
            same = value.astype(values.dtype) if value.dtype.kind in "biuf" and values.dtype.kind in "biufc" else value
            if same.dtype == values.dtype and (same == value).all():
                return nodes.Sparse(column.length, np.zeros(1, "<i8"), nodes.Flat(same), column.default)
            return column
        case _:
            return column


def one_item(column: nodes.Column) -> nodes.Column:
    """Return a column of the same type with one arbitrary item; awkward0's unions need nonempty contents."""
    match column:
        case nodes.Flat():
            return nodes.Flat(np.zeros((1, *column.values.shape[1:]), column.values.dtype))
        case nodes.ListNode() | nodes.Spans():
            return nodes.ListNode(np.zeros(2, "<i8"), column.content)
        case nodes.TextNode():
            return nodes.TextNode(nodes.ListNode(np.zeros(2, "<i8"), column.bytes.content), column.encoding)
        case nodes.TableNode():
            return nodes.TableNode(column.names, tuple(map(one_item, column.columns)), 1)
        case nodes.Masked() | nodes.BitMasked():
            return nodes.Masked(np.array([column.masked_when]), one_item(column.content), column.masked_when)
        case nodes.Indexed() if column.optional:
            return nodes.Indexed(np.array([-1]), column.content, optional=True)
        case nodes.Indexed() | nodes.Sparse():
            return one_item(column.content)
        case nodes.Union():
            return nodes.Union(np.zeros(1, "|u1"), np.zeros(1, "<i8"), tuple(map(one_item, column.contents)))
        case nodes.ArrayPieces():
            return one_item(column.pieces[0]) if column.pieces else nodes.Flat(np.zeros(1))
        case nodes.Objects():
            return nodes.Objects(one_item(column.content), column.function, column.args, column.kwargs)
        case nodes.BackReference():
            return nodes.Indexed(np.zeros(1, "<i8"), column)
        case _:
            assert_never(column)
