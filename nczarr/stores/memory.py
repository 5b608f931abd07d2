"""In-memory stores: complete, or with metadata and chunk sizes only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nczarr.stores.base import Store, safe_key
from nczarr.stores.ranges import Range


class MemoryStore(Store):
    """Store in a dict; `abort` empties it unless finished."""

    path = "<memory>"

    def __init__(self, content: Mapping[str, bytes] | None = None) -> None:
        self.content: dict[str, bytes] = dict(content or {})
        self.finished = False

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None."""
        return self.content.get(key)

    def put(self, key: str, data: bytes) -> None:
        """Set a key."""
        self.content[safe_key(key)] = data

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        return iter(sorted(key for key in self.content if key.startswith(prefix)))

    def finish(self) -> None:
        """Mark the store as finished."""
        self.finished = True

    def abort(self) -> None:
        """Remove everything unless finished."""
        if not self.finished:
            self.content.clear()


class MeasuringStore(MemoryStore):
    """Store of metadata and chunk sizes, for displaying stores."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, int] = {}

    def put(self, key: str, data: bytes) -> None:
        """Set a metadata key, or measure another."""
        if is_metadata(key):
            super().put(key, data)
        else:
            self.sizes[safe_key(key)] = len(data)

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Measure a data key."""
        self.sizes[safe_key(key)] = sum(piece.length if isinstance(piece, Range) else len(piece) for piece in pieces)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted, measured ones included."""
        return iter(sorted(key for key in (*self.content, *self.sizes) if key.startswith(prefix)))


def is_metadata(key: str) -> bool:
    """Return whether a Zarr key is a JSON document.

    Its last segment is `zarr.json`, begins with `.z`, or ends like documents of the draft of 2019.
    """
    last = key.rpartition("/")[2]
    return last.startswith(".z") or last == "zarr.json" or last.endswith((".array.json", ".group.json"))
