"""Ragged data as columns: the content of Awkward 0.x documents, with NumPy only.

Each node is an array of `len(node)` items over shared NumPy arrays; numeric
lists copy nothing. Names follow awkward0's classes where these are descriptive.
Nodes are immutable by convention and compare by identity; `items.py` returns
the values as Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, TypeAlias, assert_never

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.names.records import frozen

Integers: TypeAlias = "NDArray[Any]"
"""One-dimensional array of any integer type."""


@frozen
class Flat:
    """Fixed-size elements in one or more dimensions, any byte order; a structured dtype is packed."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)


@frozen
class ListNode:
    """Lists: item i is `content[offsets[i]:offsets[i + 1]]`."""

    offsets: Integers
    """Bounds of the lists: one more than there are lists."""
    content: Column

    def __len__(self) -> int:
        return len(self.offsets) - 1


@frozen
class Spans:
    """Lists in any order, possibly overlapping: item i is `content[starts[i]:stops[i]]`."""

    starts: Integers
    """Start of each list."""
    stops: Integers
    """End of each list; may be longer than `starts`."""
    content: Column
    """Elements of all lists."""

    def __len__(self) -> int:
        return len(self.starts)


def bounds(lists: ListNode | Spans) -> tuple[Integers, Integers]:
    """Return the starts and stops of the lists in their content: integers, shape (lists,).

    The stops of `Spans` may be longer.
    """
    return (lists.offsets[:-1], lists.offsets[1:]) if isinstance(lists, ListNode) else (lists.starts, lists.stops)


def contents(column: Column) -> tuple[Column, ...]:
    """Return the columns that a column is made of."""
    inner = (getattr(column, name, ()) for name in ("content", "bytes", "columns", "contents", "pieces"))
    return tuple(chain.from_iterable(part if isinstance(part, tuple) else (part,) for part in inner))


def offsets_of(counts: Any) -> NDArray[np.int64]:
    """Return the offsets of consecutive lists with these item counts: int64, shape (lists + 1,)."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, dtype=np.int64, out=offsets[1:])
    return offsets


def regular(content: Column, count: int, size: int) -> ListNode:
    """Return `count` consecutive lists of `size` items each."""
    return ListNode(np.arange(count + 1, dtype=np.int64) * size, content)


@frozen
class TextNode:
    """Texts in byte lists (`Flat` of `uint8`)."""

    bytes: ListNode | Spans
    """The byte lists."""
    encoding: str | None = "utf-8"
    """Encoding of the texts; None: bytes."""

    def __len__(self) -> int:
        return len(self.bytes)


@frozen
class TableNode:
    """Records: one column per name."""

    names: tuple[str, ...]
    """Unique names in order."""
    columns: tuple[Column, ...]
    """Columns, each at least as long as the table."""
    length: int
    """Number of records."""

    def __len__(self) -> int:
        return self.length


@frozen
class Masked:
    """Optional items: item i is missing if `bool(mask[i])` is `masked_when`."""

    mask: NDArray[Any]
    """One bool or byte per item."""
    content: Column
    masked_when: bool = True
    """Mask value of missing items."""

    def __len__(self) -> int:
        return min(len(self.mask), len(self.content))


@frozen
class BitMasked:
    """Optional items as in `Masked`, with one bit per item."""

    mask: NDArray[Any]
    """The bits in bytes."""
    content: Column
    masked_when: bool = True
    """Mask value of missing items."""
    lsb_order: bool = True
    """True if the lowest bit of a byte is its first item."""

    def __len__(self) -> int:
        return len(self.content)


@frozen
class Indexed:
    """Selected items: item i is `content[index[i]]`."""

    index: Integers
    content: Column
    optional: bool = False
    """True if a negative index means a missing item."""

    def __len__(self) -> int:
        return len(self.index)


@frozen
class Sparse:
    """Few items at given positions, and a default elsewhere."""

    length: int
    """Number of items."""
    index: Integers
    """Ascending positions; position k has item k of the content."""
    content: Column
    default: Any = None
    """Value of all other items."""

    def __len__(self) -> int:
        return self.length


@frozen
class Union:
    """Items of several columns: item i is `contents[tags[i]][index[i]]`."""

    tags: Integers
    """Column of each item."""
    index: Integers
    """Index of each item in its column."""
    contents: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.tags)


@frozen
class ArrayPieces:
    """Consecutive pieces of one array."""

    pieces: tuple[Column, ...]
    """The pieces in order."""

    def __len__(self) -> int:
        return sum(map(len, self.pieces))


@frozen
class Objects:
    """Items that a function of another library would make. The function is never called."""

    content: Column
    """Arguments of the items."""
    function: tuple[str, ...]
    """Name of the function."""
    args: tuple[Any, ...] = ()
    """Further arguments."""
    kwargs: tuple[tuple[str, Any], ...] = ()
    """Further named arguments."""

    def __len__(self) -> int:
        return len(self.content)


@frozen
class BackReference:
    """Reference to an enclosing array. Only item-wise traversal may follow it."""

    id: int
    found: Callable[[], Column]
    """Returns the array."""

    def __len__(self) -> int:
        return len(self.found())


Column: TypeAlias = (
    Flat
    | ListNode
    | Spans
    | TextNode
    | TableNode
    | Masked
    | BitMasked
    | Indexed
    | Sparse
    | Union
    | ArrayPieces
    | Objects
    | BackReference
)
"""Any array that can be persisted."""


def below(place: str, step: object) -> str:
    """Return the place of a part in a report: a column's name, `[]` for list items, `#n` for union contents."""
    return f"{place.rstrip('/')}/{step}"


_BY_ITEM = ("values", "starts", "stops", "mask", "index", "tags")
"""Fields with one element per item."""


class ColumnSlicer:
    """Slicer of columns. Equal slices of one column are one object, so shared parts remain shared."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], tuple[Any, Column]] = {}

    def __call__(self, column: Column, start: int, stop: int) -> Column:
        """Return items `start` to `stop`, which must exist. Copies only mask bits.

        As in awkward0, contents referenced by lists, indexes and tags stay
        whole.
        """
        if start == 0 and stop == len(column):
            return column
        whole = column.values if isinstance(column, Flat) else column
        key = (id(whole), start, stop)
        if key not in self._known:
            self._known[key] = (whole, self._cut(column, start, stop))
        return self._known[key][1]

    def _cut(self, column: Column, start: int, stop: int) -> Column:
        """Return items [start, stop) of a column, as views where the form allows it."""
        arrays: dict[str, Any] = {name: getattr(column, name)[start:stop] for name in _BY_ITEM if hasattr(column, name)}
        match column:
            case Flat() | Spans() | Indexed() | Union():
                return replace(column, **arrays)
            case ListNode() if start == stop:
                return ListNode(column.offsets[:1] * 0, self(column.content, 0, 0))
            case ListNode():
                return ListNode(column.offsets[start : stop + 1], column.content)
            case TextNode():
                return replace(column, bytes=self(column.bytes, start, stop))  # type: ignore[arg-type]
            case TableNode():
                return TableNode(
                    column.names, tuple(self(inner, start, stop) for inner in column.columns), stop - start
                )
            case Masked() | Objects():
                return replace(column, content=self(column.content, start, stop), **arrays)
            case BitMasked():
                mask = bits(column.mask, stop, lsb_order=column.lsb_order)[start:]
                return Masked(mask, self(column.content, start, stop), column.masked_when)
            case Sparse():
                low, high = (int(place) for place in np.searchsorted(column.index, [start, stop]))
                index = np.asarray(column.index[low:high]).astype("<i8") - start
                return Sparse(stop - start, index, self(column.content, low, high), column.default)
            case ArrayPieces():
                return ArrayPieces(tuple(self._slice_pieces(column, start, stop)))
            case BackReference():
                return Indexed(np.arange(start, stop), column)
            case _:
                assert_never(column)

    def _slice_pieces(self, column: ArrayPieces, start: int, stop: int) -> Iterator[Column]:
        """Yield the parts of the pieces that are within items [start, stop); at least one, which may be empty."""
        at = 0
        is_first = True
        for piece in column.pieces:
            low, high = max(start - at, 0), min(stop - at, len(piece))
            if low < high or is_first:  # the first, even without items, for its type
                low = min(low, len(piece))
                yield self(piece, low, max(high, low))
                is_first = False
            at += len(piece)


def bits(mask: NDArray[Any], count: int, *, lsb_order: bool) -> NDArray[Any]:
    """Return the first `count` bits of a mask: bool, shape (count,)."""
    raw = np.asarray(mask).view(np.uint8)
    return np.unpackbits(raw, count=count, bitorder="little" if lsb_order else "big").view(np.bool_)


def missing(column: Masked | BitMasked) -> NDArray[Any]:
    """Return which items are missing: bool, shape (items,)."""
    length = len(column)
    if isinstance(column, Masked):
        mask = column.mask[:length] != 0
    else:
        mask = bits(column.mask, length, lsb_order=column.lsb_order)
    is_missing: NDArray[Any] = mask == column.masked_when
    return is_missing


def one_item(column: Column) -> Column:
    """Return a column of the same type with one arbitrary item; awkward0's unions need nonempty contents."""
    match column:
        case Flat():
            return Flat(np.zeros((1, *column.values.shape[1:]), column.values.dtype))
        case ListNode() | Spans():
            return ListNode(np.zeros(2, "<i8"), column.content)
        case TextNode():
            return replace(column, bytes=one_item(column.bytes))  # type: ignore[arg-type]
        case TableNode():
            return TableNode(column.names, tuple(map(one_item, column.columns)), 1)
        case Masked() | BitMasked():
            return Masked(np.array([column.masked_when]), one_item(column.content), column.masked_when)
        case Indexed() if column.optional:
            return replace(column, index=np.array([-1]))
        case Indexed() | Sparse():
            return one_item(column.content)
        case Union():
            return Union(np.zeros(1, "|u1"), np.zeros(1, "<i8"), tuple(map(one_item, column.contents)))
        case ArrayPieces():
            return one_item(column.pieces[0]) if column.pieces else Flat(np.zeros(1))
        case Objects():
            return replace(column, content=one_item(column.content))
        case BackReference():
            return Indexed(np.zeros(1, "<i8"), column)
        case _:
            assert_never(column)
