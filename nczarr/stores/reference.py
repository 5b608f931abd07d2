"""References: where the bytes of keys lie that are elsewhere, or the bytes themselves, for stores made of them.

How documents say it is the business of `formats/reference`; how the bytes are fetched, that of `references.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol


class Reference(NamedTuple):
    """Some bytes of a target. `url`: as the document says it, None: the target that the reader was given. `length`:
    None for all that there is behind `offset`.
    """

    url: str | None
    offset: int = 0
    length: int | None = None


class References(Protocol):
    """Where the bytes of keys are. Pickles: a description, or few enough bytes."""

    @property
    def noted(self) -> Any:
        """What was noted of the targets when they were referred to, as `{"targets": {URL: {"size": …}}}`, or whatever
        stands in its place; None: nothing.
        """

    def find(self, key: str) -> bytes | Reference | None:
        """The bytes of a key, or where they lie; None if there is no such key. Raises OSError, CompileError."""

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with `prefix`, sorted. Raises OSError."""

    def children(self, prefix: str) -> list[str]:
        """The next segments of all keys that begin with `prefix`, which is empty or ends in a slash; sorted.

        Raises OSError.
        """

    def entries(self) -> Iterator[tuple[str, bytes | Reference]]:
        """All keys and what stands there, in any order; perhaps also entries that another of the same key replaces.

        Raises as `find`.
        """

    def odd(self) -> list[str]:
        """Some of the keys that no store has: with empty segments, `.` or `..`; empty if there are none."""

    def named(self) -> Iterator[tuple[str | None, str]]:
        """Every URL that is named, each at least once, and a key that names it. Raises OSError."""
