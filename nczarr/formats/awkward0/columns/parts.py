"""Parts of columns: consecutive items as a column of their own, and a made-up item of the same type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from nczarr.formats.awkward0.columns.columns import (
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


class Cuts:
    """Cuts columns; the same part of the same column is the same object, so that what is shared stays shared."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], tuple[Any, Column]] = {}

    def __call__(self, column: Column, start: int, stop: int) -> Column:
        """Items `start` to `stop`, which lie within the column; nothing is copied but bits of masks.

        As in awkward0, what lists, indexes and tags point to stays whole where they point anywhere.
        """
        if start == 0 and stop == len(column):
            return column
        whole = column.values if isinstance(column, Flat) else column
        key = (id(whole), start, stop)
        if key not in self._known:
            self._known[key] = (whole, self._cut(column, start, stop))
        return self._known[key][1]

    def _cut(self, column: Column, start: int, stop: int) -> Column:
        match column:
            case Flat():
                return Flat(column.values[start:stop])
            case Lists():
                if start == stop:
                    return Lists(column.offsets[:1] * 0, self(column.content, 0, 0))
                return Lists(column.offsets[start : stop + 1], column.content)
            case Spans():
                return Spans(column.starts[start:stop], column.stops[start:stop], column.content)
            case Texts():
                bytes_ = self(column.bytes, start, stop)
                assert isinstance(bytes_, Lists | Spans)
                return Texts(bytes_, column.encoding)
            case Table():
                columns = tuple(self(each, start, stop) for each in column.columns)
                return Table(column.names, columns, stop - start)
            case Masked():
                return Masked(column.mask[start:stop], self(column.content, start, stop), column.masked_when)
            case BitMasked():
                mask = bits(column.mask, stop, lsb_order=column.lsb_order)[start:]
                return Masked(mask, self(column.content, start, stop), column.masked_when)
            case Indexed():
                return Indexed(column.index[start:stop], column.content, column.optional)
            case Sparse():
                return self._sparse(column, start, stop)
            case Union():
                return Union(column.tags[start:stop], column.index[start:stop], column.contents)
            case Chunks():
                return Chunks(tuple(self._pieces(column, start, stop)))
            case Objects():
                return Objects(self(column.content, start, stop), column.function, column.args, column.kwargs)
            case Later():
                import numpy as np

                return Indexed(np.arange(start, stop), column)
            case _:
                assert_never(column)

    def _sparse(self, column: Sparse, start: int, stop: int) -> Column:
        import numpy as np

        low, high = (int(place) for place in np.searchsorted(column.index, [start, stop]))
        index = np.asarray(column.index[low:high]).astype("<i8") - start
        return Sparse(stop - start, index, self(column.content, low, high), column.default)

    def _pieces(self, column: Chunks, start: int, stop: int) -> list[Column]:
        pieces: list[Column] = []
        at = 0
        for piece in column.pieces:
            low, high = max(start - at, 0), min(stop - at, len(piece))
            if low < high or not pieces:  # the first, even without items, for its type
                pieces.append(self(piece, min(low, len(piece)), max(high, min(low, len(piece)))))
            at += len(piece)
        return pieces


def bits(mask: NDArray[Any], count: int, *, lsb_order: bool) -> NDArray[Any]:
    """The first `count` bits of a mask, one byte (0 or 1) each."""
    import numpy as np

    raw = np.asarray(mask).view(np.uint8)
    return np.unpackbits(raw, count=count, bitorder="little" if lsb_order else "big").view(np.bool_)


def stand_in(column: Column) -> Column:
    """What is written for a column that awkward0 could not read back; mostly the column itself. Values are the same.

    Pieces without an item are their first piece, because the pieces alone have the type; rows without elements are
    lists without items, because no buffer can be cut into them; a union without items is none of one that has an item;
    a sparse array of defaults alone has one of them as a value.
    """
    import numpy as np

    match column:
        case Chunks() if column.pieces and not any(map(len, column.pieces)):
            return stand_in(column.pieces[0])
        case Flat() if 0 in column.values.shape[1:]:
            count, size, *rest = column.values.shape
            inner = np.empty((count * size, *rest), column.values.dtype)
            return Lists(np.arange(count + 1, dtype="<i8") * size, Flat(inner))
        case Union() if not len(column.tags) and column.contents:
            contents = list(column.contents)
            filled = next((tag for tag, each in enumerate(contents) if len(each)), 0)
            if not len(contents[filled]):
                contents[filled] = one_item(contents[filled])
            union = Union(np.array([filled], "|u1"), np.zeros(1, "<i8"), tuple(contents))
            return Indexed(np.zeros(0, "<i8"), union)
        case Sparse(content=Flat(values=values)) if column.length and not len(column.index) and values.ndim == 1:
            value = np.array([0 if column.default is None else column.default])
            same = value.astype(values.dtype) if value.dtype.kind in "biuf" and values.dtype.kind in "biufc" else value
            if same.dtype == values.dtype and (same == value).all():
                return Sparse(column.length, np.zeros(1, "<i8"), Flat(same), column.default)
            return column
        case _:
            return column


def one_item(column: Column) -> Column:
    """A column of the same type with one item, whose value means nothing.

    For types whose arrays may not be empty (unions of awkward0).
    """
    import numpy as np

    match column:
        case Flat():
            return Flat(np.zeros((1, *column.values.shape[1:]), column.values.dtype))
        case Lists() | Spans():
            return Lists(np.zeros(2, "<i8"), column.content)
        case Texts():
            return Texts(Lists(np.zeros(2, "<i8"), column.bytes.content), column.encoding)
        case Table():
            return Table(column.names, tuple(map(one_item, column.columns)), 1)
        case Masked() | BitMasked():
            return Masked(np.array([column.masked_when]), one_item(column.content), column.masked_when)
        case Indexed() if column.optional:
            return Indexed(np.array([-1]), column.content, optional=True)
        case Indexed() | Sparse():
            return one_item(column.content)
        case Union():
            return Union(np.zeros(1, "|u1"), np.zeros(1, "<i8"), tuple(map(one_item, column.contents)))
        case Chunks():
            return one_item(column.pieces[0]) if column.pieces else Flat(np.zeros(1))
        case Objects():
            return Objects(one_item(column.content), column.function, column.args, column.kwargs)
        case Later():
            return Indexed(np.zeros(1, "<i8"), column)
        case _:
            assert_never(column)


__all__ = ["Cuts", "bits", "one_item", "stand_in"]
