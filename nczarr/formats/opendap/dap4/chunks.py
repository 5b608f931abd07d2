"""Chunks of a data response: a DMR, then values. A chunk has a header of four bytes: flags, and its length.

Positions in the joined values map to positions in the response.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from nczarr.diagnostics.source import Buffer
from nczarr.formats.opendap.common.columns import BrokenValuesError

LAST, ERROR, LITTLE, UNCHECKED = 1, 2, 4, 8
"""Flags: the last chunk; an error document; little-endian values; values without checksums."""

HEADER = 4
"""Bytes of a chunk's header: flags, and a big-endian length of three bytes."""


class Response(NamedTuple):
    """A data response."""

    dmr: bytes
    """The DMR; if `failed`, the error document."""
    dmr_at: int
    """Its offset in the response."""
    values: Buffer
    """The values: the response itself from `at` on if they are in one chunk, else joined."""
    at: int
    """Offset of the first value in `values`."""
    end: int
    """Offset behind the last value in `values`."""
    starts: tuple[int, ...]
    """Ascending offsets in `values` at which chunks begin."""
    places: tuple[int, ...]
    """Offsets of these chunks in the response."""
    little: bool
    """True if values are little-endian."""
    checked: bool
    """True unless the response says that it has no checksums."""
    failed: bool
    """True if the server reports an error."""

    def place(self, at: int) -> int:
        """Return the offset in the response of an offset in `values`."""
        number = bisect_right(self.starts, at) - 1
        return self.places[number] + at - self.starts[number] if number >= 0 else at


def response(data: Buffer) -> Response:
    """Split a response into its DMR and values. Raises BrokenValuesError."""
    pieces: list[tuple[int, int]] = []
    flags, at, document = 0, 0, b""
    while not flags & LAST:
        if len(data) - at < HEADER:
            text = "the header of a chunk is cut" if at < len(data) else "the response ends without a last chunk"
            raise BrokenValuesError(text, at)
        chunk_flags, size = data[at], int.from_bytes(data[at + 1 : at + HEADER], "big")
        if chunk_flags & ~(LAST | ERROR | LITTLE | UNCHECKED):
            raise BrokenValuesError(f"0x{chunk_flags:02x} are not the flags of a chunk", at)
        start, stop = at + HEADER, at + HEADER + size
        if stop > len(data):
            raise BrokenValuesError(f"a chunk has {size} bytes, but {len(data) - start} are left", at)
        if chunk_flags & ERROR:
            message = bytes(data[start:stop])
            return Response(message, start, b"", 0, 0, (), (), little=False, checked=False, failed=True)
        flags |= chunk_flags
        if at:
            pieces.append((start, stop))
        else:
            document = bytes(data[start:stop])
        at = stop
    if at < len(data):
        raise BrokenValuesError(f"{len(data) - at} bytes follow the last chunk", at)
    little, checked = bool(flags & LITTLE), not flags & UNCHECKED
    filled = [(start, stop) for start, stop in pieces if stop > start]
    if len(filled) <= 1:
        start, stop = filled[0] if filled else (at, at)
        whole = data if stop == len(data) else bytes(data[:stop])
        return Response(document, HEADER, whole, start, stop, (0,), (0,), little, checked, failed=False)
    starts, total = [], 0
    for start, stop in filled:
        starts.append(total)
        total += stop - start
    joined = b"".join(data[start:stop] for start, stop in filled)
    places = tuple(start for start, _ in filled)
    return Response(document, HEADER, joined, 0, total, tuple(starts), places, little, checked, failed=False)
