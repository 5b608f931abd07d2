"""Sequential reads in stretches shorter than chunks, where each chunk is decoded once; blobs of archives.

A band is the part of an array covered by some whole rows of chunks: a linear
range in C order. The current band is held in memory or, if it is too long, in a
temporary file. Without room for either, chunks are decoded again for each
stretch.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import IO, Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, all_of, cut_along, inside, lengths_of, linear_pieces, repeat_chunks
from nczarr.arrays.sources.source import ArraySource, itemsize, little, numpy_dtype
from nczarr.ast.plain_json import is_utf8
from nczarr.ast.rectilinear import largest
from nczarr.names.records import NamedTuple

HELD = 64 << 20
"""Maximum bytes of a band in memory."""

SPOOLED = 4 << 30
"""Maximum bytes of a band in a temporary file."""


class Bands:
    """Reader of consecutive linear ranges (C order) of an array, or of its region `whole`.

    `room`: maximum elements of a band of several chunk rows; `held`: maximum
    bytes of a band in memory.
    """

    def __init__(
        self, source: ArraySource, room: int, whole: Selection | None = None, *, held: int | None = None
    ) -> None:
        """Choose the axis of bands and, for encoded arrays, their rows: whole rows of chunks that fit in memory."""
        shape, chunks = source.layout.shape, largest(source.layout.chunks)
        self._source = source
        self._whole = all_of(shape) if whole is None else whole
        self._encoded = bool(shape) and _is_encoded(source)
        self._held = HELD if held is None else held
        self._key: tuple[int, ...] | None = None
        self._values: NDArray[Any] | None = None
        self._file: IO[bytes] | None = None
        self._region: Selection = ()
        self._axis = next((axis for axis, chunk in enumerate(chunks[:-1]) if chunk > 1), max(0, len(shape) - 1))
        if self._encoded:
            row = chunks[self._axis] * math.prod(lengths_of(self._whole[self._axis + 1 :]))
            room = min(room, self._held // _size(source))
            self._rows = chunks[self._axis] * max(1, room // max(1, row))

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype. May be a view. Raises OSError."""
        axis = self._axis
        if not self._encoded or self._is_of_whole_bands(selection):
            return self._source.read(selection)
        part = selection[axis]
        pieces = []
        for number in range(part.start // self._rows, -(-part.stop // self._rows)):
            first = max(part.start, number * self._rows)
            last = min(part.stop, (number + 1) * self._rows)
            pieces.append(self._of_band(number, (*selection[:axis], slice(first, last), *selection[axis + 1 :])))
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis)

    def close(self) -> None:
        """Release memory and file."""
        if self._file is not None:
            self._file.close()
        self._values = self._file = self._key = None

    def _is_of_whole_bands(self, selection: Selection) -> bool:
        """Return whether no other region shares the bands of this one."""
        axis = self._axis
        if any(part.stop - part.start != 1 for part in selection[:axis]):
            return True  # a linear range is whole along all dimensions behind such a one
        part, outer = selection[axis], self._whole[axis]
        return (
            (part.start % self._rows == 0 or part.start == outer.start)
            and (part.stop % self._rows == 0 or part.stop == outer.stop)
            and selection[axis + 1 :] == self._whole[axis + 1 :]
        )

    def _of_band(self, number: int, selection: Selection) -> NDArray[Any]:
        """Return a region within one band, in its shape and the layout's dtype."""
        key = (*(part.start for part in selection[: self._axis]), number)
        if key != self._key:
            self._load(number, selection[: self._axis])
            self._key = key
        place = inside(selection, self._region)
        if self._values is not None:
            return self._values[place]
        if self._file is None:
            return self._source.read(selection)
        # a copy, because pages of the file that are in use would count as memory
        return np.array(np.memmap(self._file, self._dtype, "r", shape=lengths_of(self._region))[place])

    def _load(self, number: int, leading: Selection) -> None:
        """Read a band; into a file if it is long, unless its elements are texts."""
        self.close()
        outer = self._whole[self._axis]
        rows = slice(max(outer.start, number * self._rows), min(outer.stop, (number + 1) * self._rows))
        self._region = (*leading, rows, *self._whole[self._axis + 1 :])
        count = math.prod(lengths_of(self._region))
        if count * _size(self._source) <= self._held:
            self._values = self._source.read(self._region)
        elif not self._dtype.hasobject and count * self._dtype.itemsize <= SPOOLED and self._is_written():
            self._file = _room_for(count * self._dtype.itemsize)
            if self._file is not None:
                self._spool(self._file)

    def _is_written(self) -> bool:
        """Return whether a chunk of the band may hold more than fill, which needs no file."""
        region = tuple(range(part.start, part.stop) for part in self._region)
        return any(True for _ in self._source.list_occupied(largest(self._source.layout.chunks), region))

    @property
    def _dtype(self) -> np.dtype[Any]:
        return numpy_dtype(self._source.layout.dtype)

    def _spool(self, file: IO[bytes]) -> None:
        """Write the band to a file in blocks of whole chunks."""
        shape, dtype = lengths_of(self._region), self._dtype
        chunks, room = largest(self._source.layout.chunks), self._held // 2 // dtype.itemsize
        for part in cut_along(self._region, repeat_chunks(chunks, shape, room)):
            mapped = np.memmap(file, dtype, "r+", shape=shape)
            self._source.read_into(part, mapped[inside(part, self._region)])
            del mapped  # or its pages would count as memory


def _is_encoded(source: ArraySource) -> bool:
    """Return whether reading part of a chunk costs as much as all of it."""
    layout, stored = source.layout, source.stored
    return layout.chunks != layout.shape if stored is None else bool(stored.codecs)


def _room_for(size: int) -> IO[bytes] | None:
    """Return an allocated temporary file, or None; writes to a mapped file on a full disk kill the process."""
    import os
    import tempfile

    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115  closed by `close`
    except OSError:
        return None
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
    except OSError:
        file.close()
        return None
    return file


def _size(source: ArraySource) -> int:
    """Estimate the bytes of an element in memory."""
    return itemsize(source.layout.dtype) or 64


PIECE = 1 << 22
"""Approximate bytes of a piece."""

TEXTS = 1 << 16
"""Texts inspected at once."""


class BlobWrite(NamedTuple):
    """A blob to write."""

    number: int
    pieces: Callable[[], Iterator[bytes]]
    """Returns its content in pieces."""
    size: int
    """Size in bytes."""
    packed: bool
    """True if it is to be compressed."""

    def write_pieces(self) -> Iterator[bytes]:
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
    counts, nil = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    utf8, at = True, 0
    for values in slabs(source, TEXTS):
        for number, text in enumerate(values.tolist(), at):
            if text is None:
                nil[number] = True
                continue
            counts[number] = len(text)
            utf8 = utf8 and (text.isascii() or is_utf8(text))
        at += len(values)
    return TextProperties(counts, nil if nil.any() else None, utf8)
