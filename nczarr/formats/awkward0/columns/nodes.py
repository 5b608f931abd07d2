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

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Lists: item i is `content[offsets[i]:offsets[i + 1]]`; `offsets` has one item more than there are lists."""

    offsets: Integers
    content: Column

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Lists: item i is `content[starts[i]:stops[i]]`, in any order, possibly overlapping; one per start."""

    starts: Integers
    stops: Integers
    content: Column

    def __len__(self) -> int:
        return len(self.starts)


def bounds(lists: Lists | Spans) -> tuple[Integers, Integers]:
    """Return the starts and stops of the lists in their content."""
    return (lists.offsets[:-1], lists.offsets[1:]) if isinstance(lists, Lists) else (lists.starts, lists.stops)


def offsets_of(counts: Any) -> NDArray[np.int64]:
    """Return the offsets of consecutive lists with these item counts."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, dtype=np.int64, out=offsets[1:])
    return offsets


def regular(content: Column, count: int, size: int) -> Lists:
    """Return `count` consecutive lists of `size` items each."""
    return Lists(np.arange(count + 1, dtype=np.int64) * size, content)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Byte lists (`Flat` of `uint8`) that are texts in an encoding, or bytes if it is None."""

    bytes: Lists | Spans
    encoding: str | None = "utf-8"

    def __len__(self) -> int:
        return len(self.bytes)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Records: one column per unique name, in order, each at least as long as the table."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    length: int

    def __len__(self) -> int:
        return self.length


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """Optional items: item i is missing if `bool(mask[i])` is `masked_when`; `mask` is bool or bytes."""

    mask: NDArray[Any]
    content: Column
    masked_when: bool = True

    def __len__(self) -> int:
        return min(len(self.mask), len(self.content))


@dataclass(frozen=True, slots=True, eq=False)
class BitMasked:
    """As `Masked` with one bit per item; `lsb_order`: the lowest bit of a byte is its first item."""

    mask: NDArray[Any]
    content: Column
    masked_when: bool = True
    lsb_order: bool = True

    def __len__(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """Item i is `content[index[i]]`; `optional`: a negative index means missing."""

    index: Integers
    content: Column
    optional: bool = False

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """`length` items: `content[k]` at ascending positions `index[k]`, `default` elsewhere."""

    length: int
    index: Integers
    content: Column
    default: Any = None

    def __len__(self) -> int:
        return self.length


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """Item i is `contents[tags[i]][index[i]]`."""

    tags: Integers
    index: Integers
    contents: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.tags)


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """Consecutive pieces of one array."""

    pieces: tuple[Column, ...]

    def __len__(self) -> int:
        return sum(map(len, self.pieces))


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Items that a function of another library would make of `content`; it is named, never called."""

    content: Column
    function: tuple[str, ...]
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True, eq=False)
class Later:
    """Reference to an enclosing array; only item-wise traversal may follow it."""

    id: int
    found: Callable[[], Column]

    def __len__(self) -> int:
        return len(self.found())


Column: TypeAlias = (
    Flat | Lists | Spans | Texts | Table | Masked | BitMasked | Indexed | Sparse | Union | Chunks | Objects | Later
)
"""Any array that can be persisted."""


def below(place: str, step: object) -> str:
    """Return the place of a part in a report: a column's name, `[]` for list items, `#n` for union contents."""
    return f"{place.rstrip('/')}/{step}"
