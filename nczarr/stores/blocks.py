"""Text form of a store: sorted `== key` blocks with pretty JSON, or sizes for other values.

Used by `compile` without a target, by `dump --as keys` and by golden files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.stores.memory import is_metadata

WIDTH = 100
"""Maximum columns of a JSON value on one line."""


def blocks(content: Mapping[str, bytes], sizes: Mapping[str, int] | None = None) -> Iterator[bytes]:
    """Yield the blocks in key order; `sizes` are for keys without bytes."""
    lengths = {key: len(data) for key, data in content.items()} | dict(sizes or {})
    for key in sorted(lengths):
        document = content.get(key)
        if is_metadata(key) and document is not None:
            text = pretty(json.loads(document.decode("utf-8", "surrogateescape")))
            yield f"== {key}\n{text}\n".encode("utf-8", "surrogateescape")
        else:
            yield f"== {key} ({lengths[key]} bytes)\n".encode("utf-8", "surrogateescape")


def pretty(value: Any, indent: int = 0) -> str:
    """Return readable JSON: short values on one line, larger ones with one member per line."""
    line = json.dumps(value, ensure_ascii=False)
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
