"""A zip archive as a store, and a new one that appears whole or not at all.

Entries are stored, not compressed, because chunks are compressed already, and carry the first date that the format
has. They lie in the order in which they were put: the linker puts them in the order of the plan, so the same dataset
gives the same bytes. Archives of more than 65,534 entries or 4 GiB are zip64 (PKWARE's APPNOTE, 4.3 and 4.5).
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nczarr.stores.base import UnsafeKeyError, safe_key
from nczarr.stores.place import put_in_place, sibling

if TYPE_CHECKING:
    from zipfile import ZipFile

LARGEST_ENTRY = 1 << 32
"""Bytes that one entry of somebody else's archive may inflate to."""

_MANY, _LONG = 0xFFFF, 0xFFFFFFFF
"""Values of a field that mean: see the zip64 field."""

_DATE = 1 << 5 | 1
"""1 January 1980, midnight."""

_UNIX = 3 << 8
_REGULAR = 0o100644 << 16
_UTF8 = 1 << 11


class ZipStore:
    """The entries of an archive by name, read-only. Names that are no keys of a store are not there."""

    sequential = True

    def __init__(self, path: str) -> None:
        self.path = path

    @cached_property
    def _archive(self) -> ZipFile:
        from zipfile import BadZipFile, ZipFile

        try:
            return ZipFile(self.path)
        except (BadZipFile, struct.error, ValueError) as error:
            raise OSError(errno.EINVAL, f"no zip archive: {error}", self.path) from None

    def get(self, key: str) -> bytes | None:
        """The bytes of a key, None if there is no such entry. Raises OSError, UnsafeKeyError."""
        info = self._archive.NameToInfo.get(safe_key(key))
        if info is None:
            return None
        if info.file_size > LARGEST_ENTRY:
            raise OSError(errno.EFBIG, f"`{key}` has {info.file_size} bytes", self.path)
        from zipfile import BadZipFile

        try:
            return self._archive.read(info)
        except (BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
            raise OSError(errno.EIO, f"`{key}` is damaged: {error}", self.path) from None

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with `prefix`, sorted."""
        return iter(sorted(name for name in self._archive.NameToInfo if name.startswith(prefix) and _is_key(name)))


def _is_key(name: str) -> bool:
    try:
        safe_key(name)
    except UnsafeKeyError:
        return False
    return True


class _Entry(NamedTuple):
    """Where one entry begins, how long its content is, and its CRC-32."""

    offset: int
    size: int
    checksum: int


class ZipTarget:
    """An archive in the making. Raises FileExistsError if the target is there and may not be overwritten."""

    sequential = True

    def __init__(self, path: str, *, overwrite: bool = False) -> None:
        path = os.path.normpath(path)
        if not overwrite and os.path.lexists(path):
            raise FileExistsError(f"{path} exists")
        self.path = sibling(path, "partial")
        self.target = path
        self.overwrite = overwrite
        self._entries: dict[str, _Entry] = {}
        self._file = open(self.path, "x+b")  # noqa: SIM115 (closed by `finish` or `abort`)
        self._end = 0
        self._open = True

    def get(self, key: str) -> bytes | None:
        """The bytes of a key, None if it was not put. Raises OSError, UnsafeKeyError."""
        entry = self._entries.get(safe_key(key))
        if entry is None:
            return None
        self._file.seek(entry.offset + len(_local(key, entry)))
        data = self._file.read(entry.size)
        self._file.seek(self._end)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Append an entry. Raises OSError, FileExistsError if the key was put before, UnsafeKeyError."""
        if safe_key(key) in self._entries:
            raise FileExistsError(f"{key} was written before")
        entry = _Entry(self._end, len(data), zlib.crc32(data))
        head = _local(key, entry)
        self._file.write(head)
        self._file.write(data)
        self._end += len(head) + len(data)
        self._entries[key] = entry

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with `prefix`, sorted."""
        return iter(sorted(key for key in self._entries if key.startswith(prefix)))

    def finish(self) -> None:
        """Write the directory of entries and put the archive in its place, in one rename. Raises OSError."""
        size = 0
        for key, entry in self._entries.items():
            record = _central(key, entry)
            self._file.write(record)
            size += len(record)
        self._file.write(_end(len(self._entries), size, self._end))
        self._file.close()
        put_in_place(self.path, self.target, overwrite=self.overwrite)
        self._open = False

    def abort(self) -> None:
        """Remove what was written, unless it is finished."""
        if self._open:
            self._open = False
            with suppress(OSError):  # what could not be flushed is not wanted any more
                self._file.close()
            with suppress(OSError):
                os.unlink(self.path)


def _name(key: str) -> tuple[bytes, int]:
    """An entry's name and its flags. Raises UnsafeKeyError for what no archive can name."""
    try:
        name = key.encode()
    except UnicodeEncodeError:
        raise UnsafeKeyError(f"not UTF-8, as names in a zip archive are: {key!r}") from None
    if len(name) > _MANY:
        raise UnsafeKeyError(f"too long for a name in a zip archive: {key[:64]!r}…")
    return name, 0 if key.isascii() else _UTF8


def _local(key: str, entry: _Entry) -> bytes:
    """What stands before an entry's content (4.3.7)."""
    name, flags = _name(key)
    extra, size = b"", entry.size
    if size >= _LONG:
        extra, size = struct.pack("<HHQQ", 1, 16, size, size), _LONG
    version = 45 if extra else 20
    fields = (version, flags, 0, 0, _DATE, entry.checksum, size, size, len(name), len(extra))
    return struct.pack("<4s5H3L2H", b"PK\3\4", *fields) + name + extra


def _central(key: str, entry: _Entry) -> bytes:
    """An entry of the directory (4.3.12)."""
    name, flags = _name(key)
    size, offset = entry.size, entry.offset
    large = [value for value in (size, size, offset) if value >= _LONG]
    extra = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    version = 45 if extra else 20
    fields = (_UNIX | version, version, flags, 0, 0, _DATE, entry.checksum, min(size, _LONG), min(size, _LONG))
    rest = (len(name), len(extra), 0, 0, 0, _REGULAR, min(offset, _LONG))
    return struct.pack("<4s6H3L5H2L", b"PK\1\2", *fields, *rest) + name + extra


def _end(count: int, size: int, offset: int) -> bytes:
    """The end of an archive (4.3.14 – 4.3.16), whose directory begins at `offset` and has `size` bytes."""
    head = b""
    if count >= _MANY or size >= _LONG or offset >= _LONG:
        head = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, _UNIX | 45, 45, 0, 0, count, count, size, offset)
        head += struct.pack("<4sLQL", b"PK\6\7", 0, offset + size, 1)
    counts = (min(count, _MANY), min(count, _MANY), min(size, _LONG), min(offset, _LONG))
    return head + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *counts, 0)
