"""Consolidated metadata as text: the documents of a store as they stand, joined to one.

Our writer copies the bytes of documents, so a reader that has them recognises
its own text without decoding it.
"""

import json
from collections.abc import Callable, Iterable

_BEFORE, _BETWEEN, _AFTER = b'{"metadata": {', b", ", b'}, "zarr_consolidated_format": 1}'


def join_documents(documents: Iterable[tuple[str, bytes]]) -> bytes:
    """Join encoded documents, by key, as the members of a JSON object, without re-encoding."""
    members = ((json.dumps(key, ensure_ascii=False), document) for key, document in documents)
    return _BETWEEN.join(key.encode("utf-8", "surrogateescape") + b": " + document for key, document in members)


def consolidate(documents: Iterable[tuple[str, bytes]]) -> bytes:
    """Return `.zmetadata` of the documents of a store of Zarr v2, by key."""
    return _BEFORE + join_documents(documents) + _AFTER


def match_documents(text: bytes, get: Callable[[str], bytes | None]) -> list[str] | None:
    """Return the keys in a `.zmetadata` that `consolidate` made of the documents of a store; None for any other.

    `get` returns the document of a key, or None; what it raises passes. It is asked until a document differs.
    """
    keys: list[str] = []
    place, end = len(_BEFORE), len(text) - len(_AFTER)
    if not (text.startswith(_BEFORE) and text.endswith(_AFTER)):
        return None
    while place < end:
        colon = text.find(b'": ', place)
        key = text[place + 1 : colon].decode("utf-8", "surrogateescape")
        if colon < 0 or text[place : place + 1] != b'"' or "\\" in key or '"' in key:
            return None
        document = get(key)
        if document is None or not text.startswith(document, colon + 3):
            return None
        keys.append(key)
        place = colon + 3 + len(document)
        if not text.startswith(_BETWEEN, place):
            break
        place += len(_BETWEEN)
    return keys if place == end else None
