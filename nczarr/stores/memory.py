"""In-memory stores: complete, or with metadata and chunk sizes only; and the text form of a store."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nczarr.ast.plain_json import Real, write_json
from nczarr.stores.base import Store, is_metadata, safe_key, with_prefix
from nczarr.stores.ranges import Range


class MemoryStore(Store):
    """Store in a dict; `abort` empties it unless finished."""

    path = "<memory>"

    def __init__(self, content: Mapping[str, bytes] | None = None) -> None:
        self.content: dict[str, bytes] = dict(content or {})
        self.finished = False
        self._sorted: list[str] = []

    def lacks(self, key: str) -> bool:
        """Return whether there is no such key."""
        return key not in self.content

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None."""
        return self.content.get(key)

    def put(self, key: str, data: bytes) -> None:
        """Set a key."""
        self.content[safe_key(key)] = data

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        if len(self._sorted) != len(self.content):  # keys are only added
            self._sorted = sorted(self.content)
        return iter(with_prefix(self._sorted, prefix))

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


WIDTH = 100
"""Maximum columns of a JSON value on one line."""


def blocks(content: Mapping[str, bytes], sizes: Mapping[str, int] | None = None) -> Iterator[bytes]:
    """Yield a store as sorted `== key` blocks with pretty JSON, or sizes for other values.

    Used by `compile` without a target, by `dump --as keys` and by golden files.
    `sizes`: of keys without bytes.
    """
    lengths = {key: len(data) for key, data in content.items()} | dict(sizes or {})
    for key in sorted(lengths):
        document = content.get(key)
        if is_metadata(key) and document is not None:
            text = pretty(json.loads(document.decode("utf-8", "surrogateescape"), parse_float=Real.of))
            yield f"== {key}\n{text}\n".encode("utf-8", "surrogateescape")
        else:
            yield f"== {key} ({lengths[key]} bytes)\n".encode("utf-8", "surrogateescape")


def pretty(value: Any, indent: int = 0) -> str:
    """Return readable JSON: short values on one line, larger ones with one member per line."""
    line = write_json(value)
    if len(line) + indent <= WIDTH or not value or not isinstance(value, list | dict):
        return line
    inside = " " * (indent + 2)
    if isinstance(value, dict):
        keys = [json.dumps(key, ensure_ascii=False) + ": " for key in value]
        members = [key + pretty(item, indent + 2) for key, item in zip(keys, value.values(), strict=True)]
    else:
        members = [pretty(item, indent + 2) for item in value]
    left, right = "{}" if isinstance(value, dict) else "[]"
    body = ",\n".join(inside + member for member in members)
    return f"{left}\n{body}\n{' ' * indent}{right}"
