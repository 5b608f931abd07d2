"""Stores in memory: one that keeps everything, one that keeps metadata and only measures chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nczarr.stores.base import Store, safe_key
from nczarr.stores.ranges import Range


class MemoryStore(Store):
    """A dict of keys; `finish` does nothing, `abort` empties it."""

    path = "<memory>"

    def __init__(self, content: Mapping[str, bytes] | None = None) -> None:
        self.content: dict[str, bytes] = dict(content or {})
        self.finished = False

    def get(self, key: str) -> bytes | None:
        """The bytes of a key, None if it is absent."""
        return self.content.get(key)

    def put(self, key: str, data: bytes) -> None:
        """Set a key."""
        self.content[safe_key(key)] = data

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with `prefix`, sorted."""
        return iter(sorted(key for key in self.content if key.startswith(prefix)))

    def finish(self) -> None:
        """Note that all is written."""
        self.finished = True

    def abort(self) -> None:
        """Forget everything, unless it is finished."""
        if not self.finished:
            self.content.clear()


class MeasuringStore(MemoryStore):
    """Keeps the bytes of metadata and the mere size of chunks: for showing a store that nobody will read."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, int] = {}

    def put(self, key: str, data: bytes) -> None:
        """Set a key of metadata, measure any other."""
        if is_metadata(key):
            super().put(key, data)
        else:
            self.sizes[safe_key(key)] = len(data)

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Measure a key of data."""
        self.sizes[safe_key(key)] = sum(piece.length if isinstance(piece, Range) else len(piece) for piece in pieces)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with `prefix`, sorted, the measured ones among them."""
        return iter(sorted(key for key in (*self.content, *self.sizes) if key.startswith(prefix)))


def is_metadata(key: str) -> bool:
    """Whether a key of a Zarr store holds a JSON document: its last segment is `zarr.json`, begins with `.z`, or ends
    as documents of the draft of 2019 do.
    """
    last = key.rpartition("/")[2]
    return last.startswith(".z") or last == "zarr.json" or last.endswith((".array.json", ".group.json"))
