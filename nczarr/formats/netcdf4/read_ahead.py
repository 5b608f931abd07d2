"""Reads what the netCDF library will ask of a remote file: links and attributes, in every order.

The library reads an image of the bytes that were fetched before. What it lacks
there is noticed, but it might not survive the zeros.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from ctypes import create_string_buffer
from typing import NamedTuple

from nczarr.formats.netcdf4.hdf5 import Hdf5, closing
from nczarr.stores.remote_file import RemoteFile

HEADER, BLOCK, HEAP, NODE, SYMBOLS, LINKS, TREE, FRACTAL, INDIRECT = range(9)
"""Kinds of pieces: object header; further block of one; local heap; node of a group's B-tree; its symbols; direct block
of links; B-tree of version 2; fractal heap of links; indirect block of one."""

DATA = -1
"""Kind of a piece that leads nowhere."""

SIZES = {HEADER: 512, NODE: 544, SYMBOLS: 328, HEAP: 32, TREE: 38, FRACTAL: 146}
"""Bytes of the pieces whose size no other piece has."""

COLLECTION = 4096
"""Bytes of most collections of the global heap."""

_UNDEFINED = (1 << 64) - 1


class MetadataPiece(NamedTuple):
    """A piece of metadata in the file."""

    kind: int
    """Kind of the piece, or `DATA`."""
    address: int
    """Address relative to HDF5's data."""
    size: int
    """Size in bytes, perhaps an estimate."""


class Hints(NamedTuple):
    """Addresses in a piece."""

    pieces: tuple[MetadataPiece, ...] = ()
    """Pieces to fetch next."""
    chunks: tuple[int, ...] = ()
    """Addresses of the roots of chunk indexes."""


def hints(kind: int, data: bytes) -> Hints:
    """Return what a piece leads to; nothing if it is unknown or damaged."""
    pieces: list[MetadataPiece] = []
    chunks: list[int] = []
    try:
        for piece in _PARSERS[kind](data):
            if piece.address == _UNDEFINED or not piece.address:
                continue
            if piece.kind == _CHUNKS:
                chunks.append(piece.address)
            else:
                pieces.append(piece)
    except (struct.error, IndexError, KeyError):
        pass  # the rest of a piece that is damaged, or of another version
    return Hints(tuple(pieces), tuple(chunks))


_CHUNKS = -2
"""Kind of the root of a chunk index."""


def _number(data: bytes, at: int) -> int:
    number: int = struct.unpack_from("<Q", data, at)[0]
    return number


def _known(kind: int, address: int) -> MetadataPiece:
    return MetadataPiece(kind, address, SIZES[kind])


# ---- object headers -----------------------------------------------------------------------------------------------
def _header(data: bytes) -> Iterator[MetadataPiece]:
    if data[:4] == b"OHDR":
        flags = data[5]
        start = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        size = int.from_bytes(data[start : start + width], "little")
        begin = start + width
        yield from _messages(data[begin : begin + size], 6 if flags & 4 else 4, "<BHB")
    elif data[:1] == b"\x01":
        size = int.from_bytes(data[8:12], "little")
        yield from _messages(data[16 : 16 + size], 8, "<HHB")


def _block(data: bytes) -> Iterator[MetadataPiece]:
    if data[:4] == b"OCHK":  # whether messages have an order of creation is in the first block: both are tried
        messages = list(_messages(data[4:-4], 4, "<BHB"))
        yield from messages or _messages(data[4:-4], 6, "<BHB")
    else:
        yield from _messages(data, 8, "<HHB")


def _messages(data: bytes, head: int, form: str) -> Iterator[MetadataPiece]:
    at = 0
    while at + head <= len(data):
        kind, size, flags = struct.unpack_from(form, data, at)
        body = data[at + head : at + head + size]
        at += head + size
        if not flags & 2 and kind in _MESSAGES:  # a shared message is elsewhere
            yield from _MESSAGES[kind](body)


def _continuation(body: bytes) -> Iterator[MetadataPiece]:
    yield MetadataPiece(BLOCK, _number(body, 0), min(_number(body, 8), 1 << 16))


def _symbol_table(body: bytes) -> Iterator[MetadataPiece]:
    yield _known(NODE, _number(body, 0))
    yield _known(HEAP, _number(body, 8))


def _link_info(body: bytes) -> Iterator[MetadataPiece]:
    at = 2 + (8 if body[1] & 1 else 0)
    yield _known(FRACTAL, _number(body, at))
    yield _known(TREE, _number(body, at + 8))
    if body[1] & 2:
        yield _known(TREE, _number(body, at + 16))


def _attribute_info(body: bytes) -> Iterator[MetadataPiece]:
    at = 2 + (2 if body[1] & 1 else 0)
    yield _known(FRACTAL, _number(body, at))
    yield _known(TREE, _number(body, at + 8))
    if body[1] & 2:
        yield _known(TREE, _number(body, at + 16))


def _link(body: bytes) -> Iterator[MetadataPiece]:
    link = _link_at(body, 0)
    if link is not None and link[0]:
        yield _known(HEADER, link[0])


def _link_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Return the address of a hard link (0: another link) and its message's end; None if no message begins here."""
    if data[at] != 1:
        return None
    flags, at = data[at + 1], at + 2
    kind = data[at] if flags & 8 else 0
    at += (1 if flags & 8 else 0) + (8 if flags & 4 else 0) + (1 if flags & 16 else 0)
    width = 1 << (flags & 3)
    at += width + int.from_bytes(data[at : at + width], "little")
    if kind == 0:
        return _number(data, at), at + 8
    return 0, at + 2 + int.from_bytes(data[at : at + 2], "little")


def _layout(body: bytes) -> Iterator[MetadataPiece]:
    if body[:2] == b"\x03\x02":
        yield MetadataPiece(_CHUNKS, _number(body, 3), 0)


def _attribute(body: bytes) -> Iterator[MetadataPiece]:
    """Yield the collections of the global heap with the texts or lists of an attribute."""
    name, element, space = struct.unpack_from("<HHH", body, 2)
    at = 8 if body[0] < 3 else 9
    sizes = [(length + 7) // 8 * 8 if body[0] == 1 else length for length in (name, element, space)]
    if body[at + sizes[0]] & 15 != _LISTS:
        return
    at += sum(sizes)
    for place in range(at, len(body) - 15, 16):
        yield MetadataPiece(DATA, _number(body, place + 4), COLLECTION)


_LISTS = 9
"""Class of lists and texts of variable length (H5T_VLEN)."""

_MESSAGES: dict[int, Callable[[bytes], Iterator[MetadataPiece]]] = {
    0x02: _link_info,
    0x06: _link,
    0x08: _layout,
    0x0C: _attribute,
    0x10: _continuation,
    0x11: _symbol_table,
    0x15: _attribute_info,
}


# ---- groups -------------------------------------------------------------------------------------------------------
def _node(data: bytes) -> Iterator[MetadataPiece]:
    if data[:4] == b"TREE" and data[4] == 0:
        (entries,) = struct.unpack_from("<H", data, 6)
        for number in range(entries):
            yield _known(NODE if data[5] else SYMBOLS, _number(data, 32 + 16 * number))


def _symbols(data: bytes) -> Iterator[MetadataPiece]:
    if data[:4] == b"SNOD":
        (entries,) = struct.unpack_from("<H", data, 6)
        for number in range(entries):
            yield _known(HEADER, _number(data, 16 + 40 * number))


def _heap(data: bytes) -> Iterator[MetadataPiece]:
    if data[:4] == b"HEAP":
        yield MetadataPiece(DATA, _number(data, 24), min(_number(data, 8), 1 << 20))


def _tree(data: bytes) -> Iterator[MetadataPiece]:
    if data[:4] == b"BTHD":
        yield MetadataPiece(DATA, _number(data, 16), int.from_bytes(data[6:10], "little"))


# ---- fractal heaps ------------------------------------------------------------------------------------------------
def _fractal(data: bytes) -> Iterator[MetadataPiece]:
    if data[:4] == b"FRHP":
        size, rows = _number(data, 112), int.from_bytes(data[140:142], "little")
        width = int.from_bytes(data[110:112], "little")
        offset = (int.from_bytes(data[128:130], "little") + 7) // 8
        if rows == 0:
            yield MetadataPiece(LINKS, _number(data, 132), size)
        else:
            yield MetadataPiece(INDIRECT, _number(data, 132), 17 + offset + 8 * rows * width)


def _indirect(data: bytes) -> Iterator[MetadataPiece]:
    """Yield the direct blocks of the first two rows, which have the smallest size, and all others as if they had."""
    if data[:4] == b"FHIB":
        for at in range(len(data) - 4 - 8, 16, -8):
            yield MetadataPiece(LINKS, _number(data, at), COLLECTION)


def _links(data: bytes) -> Iterator[MetadataPiece]:
    """Yield the headers that the links in a direct block of a fractal heap lead to."""
    if data[:4] != b"FHDB":
        return
    for start in range(13, 26):  # the offset of the block has up to eight bytes, and a checksum may follow
        if data[start] == 1 and data[start + 1] < 32:
            at = start
            while (link := _link_at(data, at)) is not None:
                address, at = link
                if address:
                    yield _known(HEADER, address)
            return


_PARSERS: dict[int, Callable[[bytes], Iterator[MetadataPiece]]] = {
    HEADER: _header,
    BLOCK: _block,
    HEAP: _heap,
    NODE: _node,
    SYMBOLS: _symbols,
    LINKS: _links,
    TREE: _tree,
    FRACTAL: _fractal,
    INDIRECT: _indirect,
}


BY_NAME, BY_CREATION = 0, 1
"""Orders of links and attributes (H5_index_t)."""

INDEX = 3136
"""Bytes of a node of a chunk index in three dimensions."""

HARD = 0
"""H5L_TYPE_HARD."""

MOST = 1 << 17
"""Maximum pieces of metadata that are fetched in advance."""


class ReadAhead:
    """Fetches the metadata of one file. `base`: offset of HDF5's data, behind a user block."""

    def __init__(self, h5: Hdf5, file: RemoteFile, base: int) -> None:
        self._h5 = h5
        self._file = file
        self._base = base
        self._seen: set[int] = set()

    def headers(self, links: Iterable[tuple[bytes, int, int]]) -> None:
        """Fetch what hard links lead to, level by level: name, kind and address of each link. Raises OSError."""
        addresses = (address for _, kind, address in links if kind == HARD)
        pieces = [MetadataPiece(HEADER, address, SIZES[HEADER]) for address in addresses]
        while pieces := self._new(pieces):
            self._file.fetch((self._base + piece.address, piece.size) for piece in pieces)
            leads = [self._hints(piece) for piece in pieces]
            pieces = [piece for hints in leads for piece in hints.pieces]
            self._file.indexes += [(self._base + address, INDEX) for hints in leads for address in hints.chunks]

    def _new(self, pieces: Iterable[MetadataPiece]) -> list[MetadataPiece]:
        """Return the pieces that were not fetched before, at most `MOST` in all."""
        new = {piece.address: piece for piece in pieces if piece.address not in self._seen}
        if len(self._seen) > MOST:
            return []
        self._seen.update(new)
        return list(new.values())

    def _hints(self, piece: MetadataPiece) -> Hints:
        if piece.kind == DATA:
            return Hints()
        return hints(piece.kind, self._file.read(self._base + piece.address, piece.size))

    def links(self, group: int) -> None:
        """Read the links of an open group in the order of their creation, if it is known."""
        h5 = self._h5
        h5.links = []
        h5.H5Literate_by_name2(group, b".", BY_CREATION, 0, None, h5.on_link, None, 0)

    def attributes(self, opened: int, count: int) -> None:
        """Read the attributes of an open object. HDF5 reports those that it cannot read later, where they are used."""
        for order in (BY_NAME, BY_CREATION):
            for number in range(count):
                attribute = self._h5.H5Aopen_by_idx(opened, b".", order, 0, number, 0, 0)
                if attribute < 0:
                    break
                with closing(self._h5, "H5Aclose", attribute):
                    if order == BY_NAME:
                        self._value(attribute)

    def _value(self, attribute: int) -> None:
        """Read the value of an open attribute, with lists and texts, and release it."""
        h5 = self._h5
        with (
            closing(h5, "H5Tclose", h5.H5Aget_type(attribute)) as element,
            closing(h5, "H5Sclose", h5.H5Aget_space(attribute)) as space,
        ):
            size = h5.H5Tget_size(element) * max(0, h5.H5Sget_simple_extent_npoints(space))
            if size:
                memory = create_string_buffer(size)
                if h5.H5Aread(attribute, element, memory) >= 0:
                    h5.H5Treclaim(element, space, 0, memory)
