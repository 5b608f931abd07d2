"""The values of a message as trees of columns: what messages are decoded to, and encoded from (ncstream §5, §6).

Cells are flat, in C order. Numbers are numpy arrays of either byte order, texts and opaque values `bytes` (None: NIL);
lists are counts and the items of all of them, one behind the other; records are one column a member, in the order of
the wire, where a member of several elements a record has them one behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Numbers(NamedTuple):
    """Numbers, chars (`S1`) or the integers of enums: one dimension."""

    values: NDArray[Any]


class Texts(NamedTuple):
    """Texts in bytes; None is NIL."""

    items: Sequence[bytes | None]


class Opaque(NamedTuple):
    """Opaque values."""

    items: Sequence[bytes]


class Lists(NamedTuple):
    """Lists: how many items each has, and the items of all of them."""

    counts: NDArray[np.int64]
    content: Tree


class Records(NamedTuple):
    """Records: `length` of them, and the members by name."""

    length: int
    names: tuple[str, ...]
    members: tuple[Tree, ...]


Tree: TypeAlias = Numbers | Texts | Opaque | Lists | Records
