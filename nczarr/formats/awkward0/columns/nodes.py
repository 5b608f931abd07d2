"""Ragged data as plain columns: what a document of Awkward 0.x persistence describes, without any library but numpy.

Each node is one array of `len(node)` items over numpy arrays; lists of numbers share what they can and copy nothing.
The names are those of awkward0's classes where these say what a node is.

Nodes are immutable by agreement: nobody writes into their arrays. They compare by identity, as numpy arrays do not
compare to one truth value; `items.py` gives the values as Python objects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray

Integers: TypeAlias = "NDArray[Any]"
"""One-dimensional, of any integer type."""


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """Elements of fixed size, one or more dimensions; a structured dtype is packed. Of either byte order."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Item i is `content[offsets[i]:offsets[i + 1]]`; `offsets` has one item more than there are lists."""

    offsets: Integers
    content: Column

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Item i is `content[starts[i]:stops[i]]`, in any order, overlapping or not; as many as there are `starts`."""

    starts: Integers
    stops: Integers
    content: Column

    def __len__(self) -> int:
        return len(self.starts)


def bounds(lists: Lists | Spans) -> tuple[Integers, Integers]:
    """Return where each list begins and ends in its content."""
    return (lists.offsets[:-1], lists.offsets[1:]) if isinstance(lists, Lists) else (lists.starts, lists.stops)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Lists of bytes (`Flat` of `uint8`) that are texts of this encoding, or bytes where it is None."""

    bytes: Lists | Spans
    encoding: str | None = "utf-8"

    def __len__(self) -> int:
        return len(self.bytes)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Records: one column a name, in order, each at least as long as the table. Names may not repeat."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    length: int

    def __len__(self) -> int:
        return self.length


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """Item i is missing where `bool(mask[i])` is `masked_when`; `mask` is of bool or one byte an item."""

    mask: NDArray[Any]
    content: Column
    masked_when: bool = True

    def __len__(self) -> int:
        return min(len(self.mask), len(self.content))


@dataclass(frozen=True, slots=True, eq=False)
class BitMasked:
    """As `Masked`, one bit an item; `lsb_order`: the lowest bit of a byte is its first item."""

    mask: NDArray[Any]
    content: Column
    masked_when: bool = True
    lsb_order: bool = True

    def __len__(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """Item i is `content[index[i]]`; `optional`: a negative index is a missing item."""

    index: Integers
    content: Column
    optional: bool = False

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """`length` items: `content[k]` at `index[k]`, which ascend, and `default` everywhere else."""

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
    """Pieces of one array, one behind the other."""

    pieces: tuple[Column, ...]

    def __len__(self) -> int:
        return sum(map(len, self.pieces))


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Items that a function of another library would make of those of `content`; it is named, never called."""

    content: Column
    function: tuple[str, ...]
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True, eq=False)
class Later:
    """A reference to an array that encloses it, which only a walk that takes it item by item may follow."""

    id: int
    found: Callable[[], Column]

    def __len__(self) -> int:
        return len(self.found())


Column: TypeAlias = (
    Flat | Lists | Spans | Texts | Table | Masked | BitMasked | Indexed | Sparse | Union | Chunks | Objects | Later
)
"""One array of anything that can be persisted."""
