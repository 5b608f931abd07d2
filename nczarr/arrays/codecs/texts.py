"""Texts of variable length in a chunk: the count, then each text after its length."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any


def texts_end(data: bytes | memoryview, count: int) -> None:
    """Check that `count` length-prefixed texts fill a chunk. Raises ValueError."""
    size = len(data)
    if size < 4:
        raise ValueError(f"there are {size} bytes, and a chunk of strings has at least 4")
    unpack = struct.Struct("<I").unpack_from
    (stated,) = unpack(data)
    if stated != count:
        raise ValueError(f"there are {stated} strings, and a chunk has {count}")
    at = 4
    for number in range(count):
        if at + 4 > size:
            raise ValueError(f"there are {size} bytes, and the first {number + 1} of {count} strings take {at + 4}")
        at += 4 + unpack(data, at)[0]
    if at != size:
        raise ValueError(f"there are {size} bytes, and the {count} strings of a chunk take {at}")


def vlen_texts(texts: Sequence[bytes]) -> bytes:
    """Return numcodecs' `vlen-utf8` or `vlen-bytes`: the count, then each text after its length (uint32)."""
    pieces = [struct.pack("<I", len(texts))]
    for text in texts:
        pieces += (struct.pack("<I", len(text)), text)
    return b"".join(pieces)


def texts_of(data: bytes, count: int) -> list[bytes]:
    """Split length-prefixed texts, as in `vlen-utf8` and `vlen-bytes`. Raises ValueError."""
    texts_end(data, count)
    unpack = struct.Struct("<I").unpack_from
    texts: list[bytes] = []
    at = 4
    for _ in range(count):
        end = at + 4 + unpack(data, at)[0]
        texts.append(data[at + 4 : end])
        at = end
    return texts


def listed_texts(document: Any) -> list[bytes]:
    """Return the texts of a chunk in numcodecs' form: the texts of all cells, then dtype and shape."""
    if not isinstance(document, list) or len(document) < 2 or not isinstance(document[-1], list):
        raise ValueError("the chunk is not a list of values, dtype and shape")
    values = document[:-2]
    for _ in document[-1][1:]:  # several dimensions are lists of lists
        values = [inner for row in values if isinstance(row, list) for inner in row]
    if not all(isinstance(text, str) for text in values):
        raise ValueError("the chunk holds values that are not texts")
    return [text.encode() for text in values]
