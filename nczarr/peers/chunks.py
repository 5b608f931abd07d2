"""Chunk lengths of unencoded arrays, which determine a reader's behaviour."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nczarr.peers.documents import Documents, Node


def odd_lengths(documents: Documents, array: Node, itemsize: int) -> Iterator[tuple[str, int, int]]:
    """Yield chunks of the wrong length: key, length, correct length.

    Only for Zarr v2 arrays without codecs. Raises OSError.
    """
    chunks = array.meta.get("chunks")
    if array.version != 2 or array.meta.get("compressor") or array.meta.get("filters"):
        return
    if not isinstance(chunks, list) or not all(type(length) is int and length > 0 for length in chunks):
        return
    shape = array.meta.get("shape")
    if not isinstance(shape, list) or len(shape) != len(chunks):
        return
    wanted = itemsize * math.prod(chunks)
    for key, length in documents.chunks(array):
        if length != wanted:
            yield key, length, wanted
