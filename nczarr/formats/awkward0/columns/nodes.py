"""Ragged data as columns: the content of Awkward 0.x documents, with NumPy only.

Each node is an array of `len(node)` items over shared NumPy arrays; numeric
lists copy nothing. Names follow awkward0's classes where these are descriptive.
Nodes are immutable by convention and compare by identity; `items.py` returns
the values as Python objects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np

Integers: TypeAlias = "NDArray[Any]"
"""One-dimensional array of any integer type."""


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """Fixed-size elements in one or more dimensions, any byte order; a structured dtype is packed."""

    values: NDArray[Any]
    """The elements."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class ListNode:
    """Lists: item i is `content[offsets[i]:offsets[i + 1]]`."""

    offsets: Integers
    """Bounds of the lists: one more than there are lists."""
    content: Column
    """Elements of all lists."""

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True, eq=False)
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


def offsets_of(counts: Any) -> NDArray[np.int64]:
    """Return the offsets of consecutive lists with these item counts: int64, shape (lists + 1,)."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, dtype=np.int64, out=offsets[1:])
    return offsets


def regular(content: Column, count: int, size: int) -> ListNode:
    """Return `count` consecutive lists of `size` items each."""
    return ListNode(np.arange(count + 1, dtype=np.int64) * size, content)


@dataclass(frozen=True, slots=True, eq=False)
class TextNode:
    """Texts in byte lists (`Flat` of `uint8`)."""

    bytes: ListNode | Spans
    """The byte lists."""
    encoding: str | None = "utf-8"
    """Encoding of the texts; None: bytes."""

    def __len__(self) -> int:
        return len(self.bytes)


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """Optional items: item i is missing if `bool(mask[i])` is `masked_when`."""

    mask: NDArray[Any]
    """One bool or byte per item."""
    content: Column
    """The items."""
    masked_when: bool = True
    """Mask value of missing items."""

    def __len__(self) -> int:
        return min(len(self.mask), len(self.content))


@dataclass(frozen=True, slots=True, eq=False)
class BitMasked:
    """Optional items as in `Masked`, with one bit per item."""

    mask: NDArray[Any]
    """The bits in bytes."""
    content: Column
    """The items."""
    masked_when: bool = True
    """Mask value of missing items."""
    lsb_order: bool = True
    """True if the lowest bit of a byte is its first item."""

    def __len__(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """Selected items: item i is `content[index[i]]`."""

    index: Integers
    """Index of each item."""
    content: Column
    """The items."""
    optional: bool = False
    """True if a negative index means a missing item."""

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """Few items at given positions, and a default elsewhere."""

    length: int
    """Number of items."""
    index: Integers
    """Ascending positions; position k has item k of the content."""
    content: Column
    """The items."""
    default: Any = None
    """Value of all other items."""

    def __len__(self) -> int:
        return self.length


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """Items of several columns: item i is `contents[tags[i]][index[i]]`."""

    tags: Integers
    """Column of each item."""
    index: Integers
    """Index of each item in its column."""
    contents: tuple[Column, ...]
    """The columns."""

    def __len__(self) -> int:
        return len(self.tags)


@dataclass(frozen=True, slots=True, eq=False)
class ArrayPieces:
    """Consecutive pieces of one array."""

    pieces: tuple[Column, ...]
    """The pieces in order."""

    def __len__(self) -> int:
        return sum(map(len, self.pieces))


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True, eq=False)
class BackReference:
    """Reference to an enclosing array. Only item-wise traversal may follow it."""

    id: int
    """Id of the array in the document."""
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
