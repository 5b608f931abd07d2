"""A store as text: sorted `== key` blocks, JSON pretty, anything else by its size.

Used by `compile` without a target, by `dump --as keys` and by golden files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from nczarr.stores.memory import is_metadata


def blocks(content: Mapping[str, bytes], sizes: Mapping[str, int] | None = None) -> Iterator[bytes]:
    """The blocks of a store in the order of its keys; `sizes` are of keys whose bytes are not at hand."""
    lengths = {key: len(data) for key, data in content.items()} | dict(sizes or {})
    for key in sorted(lengths):
        document = content.get(key)
        if is_metadata(key) and document is not None:
            text = json.dumps(json.loads(document), ensure_ascii=False, indent=2)
            yield f"== {key}\n{text}\n".encode("utf-8", "surrogateescape")
        else:
            yield f"== {key} ({lengths[key]} bytes)\n".encode("utf-8", "surrogateescape")
