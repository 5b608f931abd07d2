"""Array values as blobs of an archive, streamed in C order with one piece in memory."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import (
    Selection,
    all_of,
    lengths_of,
    linear_pieces,
)
from nczarr.arrays.sources.bands import Bands
from nczarr.arrays.sources.source import ArraySource, itemsize, little
from nczarr.ast.plain import is_utf8

PIECE = 1 << 22
"""Approximate bytes of a piece."""

TEXTS = 1 << 16
"""Texts inspected at once."""


class BlobWrite(NamedTuple):
    """A blob to write."""

    number: int
    """Number of the blob."""
    pieces: Callable[[], Iterator[bytes]]
    """Returns its content in pieces."""
    size: int
    """Size in bytes."""
    packed: bool
    """True if it is to be compressed."""

    def written(self) -> Iterator[bytes]:
        """Yield the stored bytes. Raises the errors of reading."""
        if not self.packed:
            yield from self.pieces()
            return
        packer = zlib.compressobj()
        for piece in self.pieces():
            yield packer.compress(piece)
        yield packer.flush()


class TextProperties(NamedTuple):
    """Properties of an array's texts."""

    counts: NDArray[Any]
    """Length of each text in bytes."""
    nil: NDArray[Any] | None
    """Mask of NIL strings; None without any."""
    utf8: bool
    """True if all texts are UTF-8."""


def slabs(source: ArraySource, room: int, region: Selection | None = None) -> Iterator[NDArray[Any]]:
    """Yield the values of an array or region in C order, as one-dimensional stretches of at most `room`.

    Each chunk is decoded once (bands.py). Raises OSError.
    """
    whole = all_of(source.layout.shape) if region is None else region
    if 0 in lengths_of(whole):
        return
    with closing(Bands(source, room, whole)) as bands:
        for region in linear_pieces(whole, room):
            yield bands.read(region).reshape(-1)


def elements(source: ArraySource, members: tuple[str, ...] = ()) -> Iterator[bytes]:
    """Yield fixed-size elements, little-endian; `members`: path of record members to take."""
    room = PIECE // max(1, itemsize(source.layout.dtype))
    for values in slabs(source, room):
        for name in members:
            values = values[name]
        yield little(values).tobytes()


def texts(source: ArraySource) -> TextProperties:
    """Inspect all texts."""
    count = math.prod(source.layout.shape)
    counts, nil, utf8, at = np.zeros(count, np.int64), np.zeros(count, np.bool_), True, 0
    for values in slabs(source, TEXTS):
        for number, text in enumerate(values.tolist(), at):
            if text is None:
                nil[number] = True
                continue
            counts[number] = len(text)
            utf8 = utf8 and (text.isascii() or is_utf8(text))
        at += len(values)
    return TextProperties(counts, nil if nil.any() else None, utf8)


def characters(source: ArraySource) -> Iterator[bytes]:
    """Yield the concatenated bytes of all texts."""
    for values in slabs(source, TEXTS):
        yield b"".join(text for text in values.tolist() if text)
