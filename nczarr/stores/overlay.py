"""A store in which some keys have other bytes, or are at other keys: the state that a store has next.

The state exists before it is published: an extended store is planned with it,
and a store whose extension was interrupted after its commit is read with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from nczarr.stores.base import Reference, Store, cut, next_segments, with_prefix
from nczarr.stores.ranges import Range


class DerivedStore(Store):
    """Another state of the store `base`, with its properties."""

    def __init__(self, base: Store) -> None:
        self.base = base
        self.path = base.path
        self.distant, self.listed, self.refers, self.ranged = base.distant, base.listed, base.refers, base.ranged
        self.archive, self.versioned, self.fill_places = base.archive, base.versioned, base.fill_places

    @property
    def title(self) -> str:
        """Value of the base."""
        return self.base.title

    @property
    def home(self) -> str:
        """Value of the base."""
        return self.base.home

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`."""
        return self.entries(prefix)[0]

    def survey(self) -> None:
        """Prepare to read the whole base."""
        self.base.survey()

    def check_chunk(self, key: str, decoded: int | None) -> None:
        """Check the declared length of a chunk of the base, at the same key."""
        self.base.check_chunk(key, decoded)


class Overlay(DerivedStore):
    """Another state of the store `base`, which it reads and never changes."""

    def __init__(
        self,
        base: Store,
        documents: Mapping[str, bytes],
        moved: Mapping[str, str] = MappingProxyType({}),
        removed: frozenset[str] = frozenset(),
    ) -> None:
        """Make the state. `documents`: bytes by key; `moved`: where a key is until it is in its place."""
        super().__init__(base)
        self.documents = documents
        self.moved = moved
        self.removed = removed
        self._added = sorted({*documents, *moved})

    def _other(self, key: str) -> str:
        """Return the place of a key that is not in its place yet; empty for other keys."""
        return self.moved.get(key, "")

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError."""
        if key in self.documents:
            return self.documents[key]
        if key in self.removed:
            return None
        other = self._other(key)
        data = self.base.get(other) if other else None
        return self.base.get(key) if data is None else data

    def part(self, key: str, offset: int, length: int) -> bytes | None:
        """Return a range of a key, or None. Raises OSError."""
        if key in self.documents or key in self.removed:
            data = self.get(key)
            return None if data is None else cut(data, key, offset, length)
        other = self._other(key)
        piece = self.base.part(other, offset, length) if other else None
        return self.base.part(key, offset, length) if piece is None else piece

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        return iter(sorted(({*self.base.keys(prefix), *with_prefix(self._added, prefix)}) - self.removed))

    def entries(self, prefix: str) -> tuple[list[str], list[str]]:
        """Return the children, and the links in the base."""
        below, links = self.base.entries(prefix)
        added = next_segments(with_prefix(self._added, prefix), prefix)
        return sorted({*below, *added}) if added else below, links

    def several(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of keys that few requests of the base can combine."""
        overlaid = (self.documents, self.moved, self.removed)
        return self.base.several(key for key in keys if not any(key in keys_here for keys_here in overlaid))

    def lacks(self, key: str) -> bool:
        """Return whether the name alone shows that the key is absent."""
        return key not in self.documents and key not in self.moved and self.base.lacks(key)

    def expect(self, keys: Iterable[str]) -> None:
        """Prepare to read these documents of the base."""
        self.base.expect(key for key in keys if key not in self.documents)

    def locate(self, key: str) -> Range | None:
        """Return the file range of a key. Raises OSError."""
        if key in self.documents or key in self.removed:
            return None
        other = self._other(key)
        place = self.base.locate(other) if other else None
        return self.base.locate(key) if place is None else place

    def refer(self, key: str) -> Reference | None:
        """Return the public location of a key; None for one that is not in its place yet."""
        overlaid: tuple[Any, ...] = (self.documents, self.moved, self.removed)
        return None if any(key in keys_here for keys_here in overlaid) else self.base.refer(key)

    def find_size(self, key: str) -> int | None:
        """Return a key's size from a listing of the base."""
        overlaid: tuple[Any, ...] = (self.documents, self.moved, self.removed)
        return None if any(key in keys_here for keys_here in overlaid) else self.base.find_size(key)
