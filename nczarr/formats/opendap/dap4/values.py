"""Data response: the document, then values in little-endian order, cut into chunks.

A checksum follows each variable. Fixed-size values are sent as they are in
memory; arrays are never held whole.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from nczarr.arrays.codecs.crc32c import crc32
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import all_of, linear_pieces
from nczarr.arrays.sources.bands import slabs
from nczarr.arrays.sources.source import itemsize
from nczarr.arrays.values.parts import (
    is_fixed,
    part_tree,
    size,
)
from nczarr.check.checked import Checked
from nczarr.formats.opendap.common.dmr_writer import Projection
from nczarr.formats.opendap.common.packed import PackedCells, packed
from nczarr.formats.opendap.common.words import escaped
from nczarr.formats.opendap.dap4.dmr_writer import dmr
from nczarr.formats.opendap.dap4.response import ERROR, HEADER, LAST, LITTLE, UNCHECKED
from nczarr.select.reader import selected_parts

PIECE = 2 << 20
"""Approximate bytes of values read at once: a checksum and the copies into chunks find them in the cache."""

CELLS = 1 << 12
"""Cells of variable size read at once."""

CHUNK = (1 << 20) - HEADER
"""Bytes of values in a chunk; the last has fewer."""

LONGEST = (1 << 24) - 1
"""Maximum bytes of a chunk."""

TEXT_SIZE = 64
"""Estimated bytes of a value of unknown size."""


def response(checked: Checked, projection: Projection, name: str, *, checksums: bool = True) -> Iterator[bytes]:
    """Yield the data response of a projection: whole chunks. Raises OSError."""
    flags = LITTLE | (0 if checksums else UNCHECKED)
    document = dmr(checked, projection, name).encode("utf-8", "replace") + b"\r\n"
    for start in range(0, len(document), LONGEST):
        yield _chunk(flags, document[start : start + LONGEST])
    pieces, size = list[bytes](), 0
    for piece in _values(checked, projection, checksums):
        start = 0
        while len(piece) - start > CHUNK - size:
            stop = start + CHUNK - size
            yield _chunk(flags, *pieces, piece[start:stop])
            pieces, size, start = [], 0, stop
        pieces.append(bytes(piece[start:]))  # a view of a mapped file must not be read when the file has changed
        size += len(pieces[-1])
    yield _chunk(flags | LAST, *pieces)


def _chunk(flags: int, *parts: bytes | memoryview) -> bytes:
    """Return a chunk with the bytes of all parts."""
    return b"".join((struct.pack(">I", flags << 24 | sum(map(len, parts))), *parts))


def error_chunk(status: int, message: str) -> bytes:
    """Return the last chunk of a response that failed."""
    document = error_document(status, message).encode("utf-8", "replace")
    return _chunk(LITTLE | ERROR | LAST, document)


def error_document(status: int, message: str) -> str:
    """Return the document of an error: an HTTP status and a text."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<Error xmlns="http://xml.opendap.org/ns/DAP/4.0#" httpcode="{status}">\n'
        f"    <Message>{escaped(message)}</Message>\n</Error>\n"
    )


def _values(checked: Checked, projection: Projection, checksums: bool) -> Iterator[bytes | memoryview]:
    for fqn, ranges in projection.variables.items():
        checksum = 0
        for piece in values(checked, fqn, ranges):
            checksum = crc32(piece, checksum) if checksums else 0
            yield piece
        if checksums:
            yield struct.pack("<I", checksum)


def values(checked: Checked, fqn: str, ranges: tuple[range, ...]) -> Iterator[bytes | memoryview]:
    """Yield the values of a variable. Raises OSError."""
    type_name, sources = checked.variables[fqn].type, selected_parts(checked, fqn, ranges)
    if is_fixed(type_name, checked.types):
        for part in slabs(sources[""], max(1, PIECE // max(1, itemsize(sources[""].layout.dtype)))):
            yield memoryview(packed(part, type_name, checked.types).view(np.uint8).data)
        return
    cells, tree = PackedCells(sources, checked.types), part_tree(type_name, checked.types)
    for region in linear_pieces(all_of(tuple(map(len, ranges))), CELLS):
        yield b"".join(cells.rows(tree, region))


def size_of(checked: Checked, projection: Projection) -> int:
    """Return the bytes of the values of a projection, estimated for types of variable size."""
    total = 0
    for fqn, ranges in projection.variables.items():
        type_name = checked.variables[fqn].type
        width = size(type_name, checked.types) if is_fixed(type_name, checked.types) else TEXT_SIZE
        total += math.prod(map(len, ranges)) * width
    return total
