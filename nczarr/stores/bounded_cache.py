"""Caches of a bounded size, from which the least recently used entries go first."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from cachetools import LRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Thread-safe cache. Without `size_of`, each entry has size 1.

    An entry whose size exceeds `most` is the only one, until the next.
    """

    def __init__(self, most: int, size_of: Callable[[V], int] | None = None) -> None:
        self.most = most
        self._size_of = size_of
        self._entries: LRUCache[K, V] | None = None
        self._lock = RLock()

    def get(self, key: K, default: Any = None) -> V | Any:
        """Return an entry, which becomes the most recently used one, or the default."""
        with self._lock:
            return default if self._entries is None else self._entries.get(key, default)

    def put(self, key: K, value: V) -> None:
        """Add or replace an entry."""
        with self._lock:
            if self._entries is None:
                self._entries = self._make()
            self._entries[key] = value

    def _make(self) -> LRUCache[K, V]:
        from cachetools import LRUCache

        most, size_of = self.most, self._size_of
        return LRUCache(most, None if size_of is None else lambda value: min(most, size_of(value)))

    def entries(self) -> dict[K, V]:
        """Return all entries, the least recently used first."""
        with self._lock:
            return {} if self._entries is None else dict(self._entries.items())

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return self._entries is not None and key in self._entries

    def __len__(self) -> int:
        with self._lock:
            return 0 if self._entries is None else len(self._entries)
