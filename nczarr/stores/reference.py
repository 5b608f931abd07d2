"""References: locations of keys' bytes, or the bytes themselves, for stores made of them.

`formats/reference` parses their documents; `references.py` fetches the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol


class Reference(NamedTuple):
    """Byte range of a target."""

    url: str | None
    """URL of the target; None: the reader's target."""
    offset: int = 0
    """Start in bytes."""
    length: int | None = None
    """Length in bytes; None: to the end."""


class References(Protocol):
    """Locations of keys' bytes; picklable as a description or few bytes."""

    @property
    def noted(self) -> Any:
        """Notes, unvalidated: `{"targets": {URL: {"size": …}}, "fill_values": {"t/": 0}}`; None: none.

        The first are recorded properties of the targets. The others are places
        of `_FillValue` among the attributes of arrays whose fill value states it.
        """

    def find(self, key: str) -> bytes | Reference | None:
        """Return the bytes of a key, their location, or None. Raises OSError, CompileError."""

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted. Raises OSError."""

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`, which is empty or ends in a slash; sorted. Raises OSError."""

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        """Yield all keys with their values in any order, possibly with replaced duplicates. Raises as `find`."""

    def odd(self) -> list[str]:
        """Return some invalid keys, with empty segments, `.` or `..`; empty without any."""

    def named(self) -> Iterator[tuple[str | None, str]]:
        """Yield every URL, at least once, with a key that uses it. Raises OSError."""
