"""Datasets whose fill value libnetcdf 4.10.1 mistakes for a text, which corrupts memory on close.

The library reports fixed-length texts, and floats of other widths than 4 and 8 bytes, as strings. It reads
user-defined fill values as raw bytes, and frees them as char pointers. So it gets an image of the file
without these; HDF5 reads fill values from the file.

Source: HDF5 File Format Specification 3.0, IV.A.1 (object headers), IV.A.2.e and f (fill values).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from ctypes import byref, c_int
from typing import NamedTuple

from nczarr.formats.netcdf4.hdf5 import ON_LINK, Hdf5, ObjectInfo, closing
from nczarr.formats.netcdf4.object_headers import lookup3
from nczarr.formats.netcdf4.objects import FLOAT, STRING

_BASIC = 0x1
_GROUP, _DATASET = 0, 1
_OWN_FILL = 2
"""H5D_FILL_VALUE_USER_DEFINED."""

_NIL, _OLD_FILL, _FILL, _CONTINUATION = 0x00, 0x04, 0x05, 0x10
"""Types of messages."""

_SHARED = 0x02
"""Flag of a message that lies elsewhere."""

_CHECKSUM = 4


def fatal_datasets(h5: Hdf5, file: int) -> list[int]:
    """Return the header addresses of such datasets, relative to HDF5's data. Raises OSError."""
    found: list[int] = []
    seen: set[bytes] = set()
    pending = [b"/"]
    while pending:
        group = pending.pop()
        for name in _links(h5, file, group):
            path = group.rstrip(b"/") + b"/" + name
            info = ObjectInfo()
            if h5.H5Oget_info_by_name3(file, path, byref(info), _BASIC, 0) < 0:
                continue
            token = bytes(info.token)
            if token in seen:
                continue
            seen.add(token)
            if info.type == _GROUP:
                pending.append(path)
            elif info.type == _DATASET and _is_fatal(h5, file, path):
                found.append(int.from_bytes(token[:8], "little"))
    return found


def _links(h5: Hdf5, file: int, group: bytes) -> list[bytes]:
    found: list[bytes] = []

    def note(number: int, name: bytes, link: object, data: object) -> int:
        found.append(name)
        return 0

    h5.do("H5Literate_by_name2", file, group, 0, 0, None, ON_LINK(note), None, 0)
    return found


def _is_fatal(h5: Hdf5, file: int, path: bytes) -> bool:
    dataset = h5.H5Dopen2(file, path, 0)
    if dataset < 0:
        return False
    with closing(h5, "H5Dclose", dataset), closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as kind:
        family, size = h5.H5Tget_class(kind), h5.H5Tget_size(kind)
        text = family == STRING and size > 1 and h5.H5Tis_variable_str(kind) == 0
        if not text and not (family == FLOAT and size not in (4, 8)):
            return False
        status = c_int()
        with closing(h5, "H5Pclose", h5.do("H5Dget_create_plist", dataset)) as made:
            h5.H5Pfill_value_defined(made, byref(status))
        return status.value == _OWN_FILL


class _Span(NamedTuple):
    """Messages of a header block: start, end, checksum, size of a message head."""

    start: int
    end: int
    block: int
    """Start of the checksummed bytes."""
    checked: bool
    """Whether a checksum follows the end."""
    head: int
    """Bytes before the body of a message."""


def without_fill(data: memoryview, base: int, address: int) -> bool:
    """Remove a dataset's fill value from its header; False for an unsupported header.

    `base`: offset of HDF5's data. Addresses and lengths have eight bytes.
    """
    try:
        pending, done = [_first(data, base + address)], False
        while pending:
            span = pending.pop()
            changed = False
            for kind, flags, at, size in _messages(data, span):
                if kind == _CONTINUATION:
                    place, length = struct.unpack_from("<QQ", data, at)
                    pending.append(_further(data, base + place, length, span.head, checked=span.checked))
                elif kind in (_FILL, _OLD_FILL):
                    if flags & _SHARED or not _emptied(data, kind, at, size):
                        return False
                    changed = done = True
            if changed and span.checked:
                struct.pack_into("<I", data, span.end, lookup3(bytes(data[span.block : span.end])))
        return done
    except (struct.error, IndexError):
        return False


def _first(data: memoryview, at: int) -> _Span:
    """Return the messages of the first block of a header."""
    if bytes(data[at : at + 5]) == b"OHDR\x02":
        flags = data[at + 5]
        start = at + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        length = int.from_bytes(data[start : start + width], "little")
        start += width
        return _Span(start, start + length, at, True, 6 if flags & 0x04 else 4)
    version, length = data[at], struct.unpack_from("<I", data, at + 8)[0]
    if version != 1:
        raise IndexError
    return _Span(at + 16, at + 16 + length, at, False, 8)


def _further(data: memoryview, at: int, length: int, head: int, *, checked: bool) -> _Span:
    """Return the messages of a continuation block."""
    if checked:
        return _Span(at + 4, at + length - _CHECKSUM, at, True, head)
    return _Span(at, at + length, at, False, head)


def _messages(data: memoryview, span: _Span) -> Iterator[tuple[int, int, int, int]]:
    """Yield type, flags, offset and size of the body of each message."""
    at = span.start
    while at + span.head <= span.end:
        if span.checked:
            kind, size, flags = struct.unpack_from("<BHB", data, at)
        else:
            kind, size, flags = struct.unpack_from("<HHB", data, at)
        if at + span.head + size > min(span.end, len(data)):
            raise IndexError
        yield kind, flags, at + span.head, size
        at += span.head + size


def _emptied(data: memoryview, kind: int, at: int, size: int) -> bool:
    """Remove a fill value message's value, keeping its size; False for unknown versions."""
    if kind == _OLD_FILL:  # its size, and the value
        data[at : at + size] = bytes(size)
        return True
    version = data[at]
    if version in (1, 2) and size >= 4:  # allocation time, fill time, whether it is defined; then size and value
        # defined, of size 0: HDF5's default
        rest = size - 4
        data[at + 3] = 1 if rest >= 4 else 0
        data[at + 4 : at + size] = bytes(rest)
        return True
    if version == 3 and size >= 2:
        data[at + 1] = data[at + 1] & ~0x20
        data[at + 2 : at + size] = bytes(size - 2)
        return True
    return False
