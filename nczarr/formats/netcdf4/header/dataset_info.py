"""Metadata of datasets: the messages of a header → `DatasetInfo`, and where the index of the chunks is.

Source: HDF5 File Format Specification 3.0, IV.A.2.e and f (fill values), i (layout), l (filters).
"""

from __future__ import annotations

import math
from struct import unpack_from
from typing import NamedTuple

from nczarr.arrays.sources.source import Descr
from nczarr.ast import Codec
from nczarr.ast.dataset import FLETCHER32, SHUFFLE, SZIP
from nczarr.formats.netcdf4.header.chunk_addresses import (
    EXTENSIBLE_ARRAY,
    FIXED_ARRAY,
    IMPLICIT,
    NEW_TREE,
    OLD_TREE,
    SINGLE,
    ChunkIndex,
)
from nczarr.formats.netcdf4.header.datatypes import STRING, VLEN, Datatype, text_of
from nczarr.formats.netcdf4.header.file_bytes import UNDEFINED, UnknownStructureError, UnreadableHeaderError
from nczarr.formats.netcdf4.header.heaps import local_heap
from nczarr.formats.netcdf4.header.messages import (
    DATASPACE,
    DATATYPE,
    EXTERNAL_FILES,
    FILL,
    FILTERS,
    LAYOUT,
    OLD_FILL,
    SHARED,
    AttributeReader,
    Messages,
    only,
)

COMPACT, CONTIGUOUS, CHUNKED = 0, 1, 2
"""Layouts (H5D_layout_t), without virtual and unknown ones."""

SZIP_CHOICES = 4 | 32
"""User-defined bits of szip's first parameter: entropy coding or nearest neighbour."""


class DatasetInfo(NamedTuple):
    """Metadata of a dataset."""

    dtype: Descr | None
    """Type of the elements; None if no `Descr` fits."""
    extent: tuple[int, ...] | None
    """Shape of the dataset; None for a null dataspace."""
    layout: int
    """Layout (`H5D_layout_t`)."""
    chunks: tuple[int, ...]
    """Chunk length of each dimension."""
    filters: tuple[Codec, ...]
    """Filters in encoding order."""
    fill: bytes | None
    """Fill value in the bytes of `dtype`, by default zeros; None without `dtype`."""
    address: int | None
    """File offset of contiguous data; None if unallocated or external."""
    elsewhere: bool
    """True if the data are in other files."""
    unfiltered_edges: bool
    """True if chunks that exceed the extent are unfiltered."""
    shuffled: int | None = None
    """Element size of the shuffle filter; None without one."""
    undefined: bool = False
    """True if HDF5 does not initialize unwritten cells."""
    has_own_fill: bool = False
    """True if the fill value is user-defined."""
    text: bytes | None = None
    """Fill value of strings; None if missing or empty."""
    unwritten: bytes = b""
    """Element of an unwritten cell as it is stored; one of variable length has the place of the fill value."""
    compact: bytes | None = None
    """All elements, if they are in the header."""
    chunk_index: ChunkIndex | None = None
    """Where the chunks are; None for other layouts."""
    by_library: bool = False
    """True if the library reads the values: it described their type as it is in memory."""


VIRTUAL = 3
"""Layout of values in other datasets (H5D_layout_t)."""

_IN_OTHER_FILES = b"\x03\x01" + b"\xff" * 16
"""Layout of values in one piece that is in other files."""

_NEVER = 1
"""H5D_FILL_TIME_NEVER."""

_PARAMETERS = {SINGLE: 0, IMPLICIT: 0, FIXED_ARRAY: 1, EXTENSIBLE_ARRAY: 5, NEW_TREE: 6}
"""Bytes of parameters of the kinds of indexes."""

_KNOWN_FILE, _KNOWN_DATASET, _SAME_FILE = 1, 2, 4
"""Flags of a source in version 1: a name is that of an earlier source, by its number, or the file is the own one."""


def virtual_sources(data: bytes) -> list[bytes | None]:
    """Return the names of the sources of a virtual dataset; None if they are not known.

    Source: HDF5 File Format Specification 3.0, VII.E (virtual dataset storage) and the selections in it.
    """
    version, count = unpack_from("<BQ", data)
    if version > 1:
        return [None]
    names: list[bytes | None] = []
    at = 9
    for _ in range(count):
        flags = data[at] if version else 0
        at += version
        if flags & _SAME_FILE:
            names.append(b".")
        elif flags & _KNOWN_FILE:
            names.append(names[unpack_from("<Q", data, at)[0]])
            at += 8
        else:
            end = _nul(data, at)
            names.append(data[at:end])
            at = end + 1
        at = at + 8 if flags & _KNOWN_DATASET else _nul(data, at) + 1
        for _ in range(2):
            length = _selection(data, at)
            if not length:
                return [*names, None]
            at += length
    return names


def _nul(data: bytes, at: int) -> int:
    """Return the offset of the next NUL. Raises UnreadableHeaderError."""
    end = data.find(b"\0", at)
    if end < 0:
        raise UnreadableHeaderError("the sources of a virtual dataset are damaged")
    return end


def _selection(data: bytes, at: int) -> int:
    """Return the bytes of a selection; 0 for one that is not known."""
    kind, version = unpack_from("<II", data, at)
    if kind in (0, 3):  # none, all
        return 16
    if kind != 2:  # 2: hyperslab
        return 0
    if version == 1:
        return 16 + int(unpack_from("<I", data, at + 12)[0])
    if version == 2:
        return 13 + int(unpack_from("<I", data, at + 9)[0])
    flags, width, rank = unpack_from("<BBI", data, at + 8)
    if version != 3:
        return 0
    if flags & 1:
        return 14 + 4 * int(rank) * int(width)
    blocks = int.from_bytes(data[at + 14 : at + 14 + width], "little")
    return int(14 + width + 2 * rank * width * blocks)


class HeaderDataset(NamedTuple):
    """Dataset of a file."""

    info: DatasetInfo
    """Its metadata."""
    type: Datatype
    declared: int | None
    """Address of the named type; None for a type without a name."""
    most: tuple[int, ...]
    """Maximum length of each dimension."""
    fill: bytes
    """Fill value as it is stored; empty if none is."""
    files: tuple[bytes | None, ...] = ()
    """Names of other files that have the values; None for unknown ones."""


class DatasetReader:
    """Reader of the datasets of one file. `base`: place of address 0."""

    def __init__(self, types: AttributeReader, base: int) -> None:
        self._types = types
        self._base = base
        self._codecs: dict[tuple[int, tuple[int, ...]], Codec] = {}
        self._filters: dict[bytes, tuple[tuple[Codec, ...], int | None]] = {b"": ((), None)}

    def dataset(self, header: Messages) -> HeaderDataset:
        """Return the dataset of a header. Raises UnreadableHeaderError."""
        message = only(header, DATATYPE)
        kind, declared = self._types.type(message.body, shared=bool(message.flags & SHARED))
        space = self._types.space(only(header, DATASPACE).body)
        layout = only(header, LAYOUT).body
        filters, shuffled = self._pipeline(only(header, FILTERS).body if FILTERS in header else b"")
        stored_fill, undefined, has_own_fill = self._read_fill(header)
        files = self._files(header, layout)
        fill = stored_fill
        dtype = kind.descr
        text = None
        if has_own_fill:
            text = self._read_text(kind, fill)
        if not has_own_fill:  # HDF5's own default is zero bytes
            fill = bytes(kind.size)
        elif len(fill) != kind.size:
            raise UnreadableHeaderError("a fill value is damaged")
        if EXTERNAL_FILES in header:
            layout = _IN_OTHER_FILES
        number, chunks, address, index = _layout(layout, len(space.shape or ()), kind.size, bool(filters))
        extent = space.shape
        if address is not None and extent is not None:
            self._types.file.need(address, math.prod(extent) * kind.size)
        compact = None
        if number == COMPACT and extent is not None:
            compact = _compact(layout)
            if len(compact) != math.prod(extent) * kind.size:
                raise UnreadableHeaderError("the values in a header are damaged")
        info = DatasetInfo(
            dtype,
            extent,
            number,
            chunks,
            filters if number == CHUNKED else (),  # HDF5 applies filters to chunks alone
            fill if dtype is not None else None,
            None if address is None else self._base + address,
            bool(files),
            index is not None and index.unfiltered_edges,
            shuffled,
            undefined,
            has_own_fill,
            text,
            fill,
            compact,
            None if index is None else index._replace(most=space.most),
        )
        return HeaderDataset(info, kind, declared, space.most, stored_fill, files)

    def _files(self, header: Messages, layout: bytes) -> tuple[bytes | None, ...]:
        """Return the names of other files that have the values: of a list, or the sources of a virtual dataset."""
        if layout[0] >= 4 and layout[1] == VIRTUAL:  # version 4 brought virtual datasets
            address, index = unpack_from("<QI", layout, 2)  # IV.A.2.i: a global heap has the list of sources
            if address == UNDEFINED:
                return ()
            names = virtual_sources(self._types.texts.item(address, index))
            return tuple(name for name in dict.fromkeys(names) if name != b".")  # the file itself
        if EXTERNAL_FILES not in header:
            return ()
        body = only(header, EXTERNAL_FILES).body
        count, heap = unpack_from("<HQ", body, 6)  # IV.A.2.h: slots in use, address of the heap of names
        block = local_heap(self._types.file, heap)
        offsets = (unpack_from("<Q", body, 16 + 24 * place)[0] for place in range(count))  # slot: name, offset, size
        return tuple(block[offset:].partition(b"\0")[0] for offset in offsets)

    def _read_text(self, kind: Datatype, fill: bytes) -> bytes | None:
        """Return the fill value of strings; None if it is empty, or for other types."""
        kind = kind.cell
        if kind.family not in (STRING, VLEN):
            return None
        fill = fill[: kind.size]
        if kind.is_text:
            return self._types.texts.get(fill, 1) or None
        return text_of(fill, kind.form) or None if kind.family == STRING else None

    def _read_fill(self, header: Messages) -> tuple[bytes, bool, bool]:
        """Return the fill value, whether unwritten cells lack it, whether it is user-defined."""
        if FILL not in header:  # IV.A.2.e: the old message has the value alone
            old = only(header, OLD_FILL).body if OLD_FILL in header else bytes(4)
            size = int.from_bytes(old[:4], "little")
            return old[4 : 4 + size], not size, size > 0
        body = only(header, FILL).body
        version = body[0]
        if version in (1, 2):  # IV.A.2.f: allocation time, fill time, whether it is defined
            when, defined, at = body[2], bool(body[3]), 4
            size = unpack_from("<i", body, at)[0] if defined or version == 1 else -1  # version 1 always has a size
        elif version == 3:
            flags = body[1]  # bits 0-1: allocation time, 2-3: fill time, 4: undefined, 5: defined
            when, at = flags >> 2 & 3, 2
            size = unpack_from("<i", body, at)[0] if flags & 0x20 else -1 if flags & 0x10 else 0
        else:
            raise UnknownStructureError(f"version {version} of a fill value")
        data = body[at + 4 : at + 4 + size] if size > 0 else b""
        if len(data) != max(0, size):
            raise UnreadableHeaderError("a fill value is damaged")
        return data, size < 0 or when == _NEVER, size > 0

    def _pipeline(self, body: bytes) -> tuple[tuple[Codec, ...], int | None]:
        """Return the filters in encoding order, and shuffle's element size."""
        parsed = self._filters.get(body)
        if parsed is None:
            parsed = self._filters[body] = self._parse_pipeline(body)
        return parsed

    def _parse_pipeline(self, body: bytes) -> tuple[tuple[Codec, ...], int | None]:
        """Parse a filter pipeline message: codecs in encoding order, and shuffle's element size."""
        version, count = body[0], body[1]
        if version not in (1, 2):
            raise UnknownStructureError(f"version {version} of a list of filters")
        at = 8 if version == 1 else 2  # version 1 has six reserved bytes
        codecs, shuffled = [], None
        for _ in range(count):
            (number,) = unpack_from("<H", body, at)
            at += 2
            length = 0
            if version == 1 or number >= 256:  # IV.A.2.l: version 2 has no names of HDF5's own filters
                (length,) = unpack_from("<H", body, at)
                at += 2
            _, parameters = unpack_from("<HH", body, at)
            at += 4 + (length + 7) // 8 * 8 if version == 1 else 4 + length  # version 1 pads names to 8 bytes
            values = unpack_from(f"<{parameters}I", body, at)
            at += 4 * (parameters + (parameters & 1 if version == 1 else 0))  # version 1 pads an odd number of values
            if number == SHUFFLE:
                shuffled = values[0] if values else 0
            codec = self._codecs.get((number, values))
            if codec is None:
                codec = self._codecs[number, values] = codec_of(number, values)
            codecs.append(codec)
        return tuple(codecs), shuffled


def codec_of(number: int, values: tuple[int, ...]) -> Codec:
    """Return a filter without the parameters that HDF5 adds to those of a user."""
    if number in (SHUFFLE, FLETCHER32):
        values = ()
    elif number == SZIP and len(values) > 1:
        values = values[0] & SZIP_CHOICES, values[1]
    return Codec(id=number, parameters=values)


def _compact(body: bytes) -> bytes:
    """Return the values in a layout message."""
    if body[0] >= 3:  # versions 1 and 2 have the dimensions before the size
        (size,) = unpack_from("<H", body, 2)
        return body[4 : 4 + size]
    at = 8 + 4 * body[1]
    (size,) = unpack_from("<I", body, at)
    return body[at + 4 : at + 4 + size]


def _layout(
    body: bytes, rank: int, size: int, filtered: bool
) -> tuple[int, tuple[int, ...], int | None, ChunkIndex | None]:
    """Return the layout of a dataset: its number, chunk lengths, address of contiguous data, index of chunks."""
    version = body[0]
    if version in (3, 4, 5):
        kind = body[1]
        if kind == COMPACT:
            return kind, (), None, None
        if kind == CONTIGUOUS:
            (address,) = unpack_from("<Q", body, 2)
            return kind, (), None if address == UNDEFINED else address, None
        if kind == VIRTUAL:
            return kind, (), None, None
        if kind != CHUNKED:
            raise UnknownStructureError(f"layouts of class {kind}")
        if version == 3:
            (address,) = unpack_from("<Q", body, 3)
            return _read_chunked(OLD_TREE, address, unpack_from(f"<{body[2]}I", body, 11), rank, size, filtered)
        return _new_chunked(body, rank, size, filtered)
    if version not in (1, 2):
        raise UnknownStructureError(f"version {version} of a layout")
    dimensions, kind = body[1], body[2]
    if kind == COMPACT:
        return kind, (), None, None
    (address,) = unpack_from("<Q", body, 8)
    if kind == CONTIGUOUS:
        return kind, (), None if address == UNDEFINED else address, None
    if kind != CHUNKED:
        raise UnknownStructureError(f"layouts of class {kind}")
    return _read_chunked(OLD_TREE, address, unpack_from(f"<{dimensions}I", body, 16), rank, size, filtered)


def _read_chunked(
    kind: int, address: int, lengths: tuple[int, ...], rank: int, size: int, filtered: bool
) -> tuple[int, tuple[int, ...], None, ChunkIndex]:
    if len(lengths) != rank + 1 or lengths[-1] != size or 0 in lengths or not rank:  # last: bytes of an element
        raise UnreadableHeaderError("a layout is damaged")
    return CHUNKED, tuple(lengths[:-1]), None, ChunkIndex(kind, address, size, filtered)


def _new_chunked(body: bytes, rank: int, size: int, filtered: bool) -> tuple[int, tuple[int, ...], None, ChunkIndex]:
    """Return the layout in a message of version 4 or 5."""
    flags, dimensions, width = body[2], body[3], body[4]
    at = 5
    lengths = tuple(int.from_bytes(body[at + n * width : at + (n + 1) * width], "little") for n in range(dimensions))
    at += dimensions * width
    kind = body[at]
    at += 1
    single: tuple[int, int] | None = None
    if kind == SINGLE and flags & 2:  # bit 1: a single chunk with filters has its size and mask here
        single = unpack_from("<QI", body, at)
        at += 12
    elif kind in _PARAMETERS:
        at += _PARAMETERS[kind]
    else:
        raise UnknownStructureError(f"chunk indexes of kind {kind}")
    (address,) = unpack_from("<Q", body, at)
    layout, chunks, _, index = _read_chunked(kind, address, lengths, rank, size, filtered)
    return layout, chunks, None, index._replace(unfiltered_edges=bool(flags & 1), single=single)
