"""Zip archives as stores; a new one appears whole or not at all.

Entries are not compressed, because chunks already are, and have the format's
first date. They are in put order, which the linker derives from the plan, so
that equal datasets give equal bytes.
"""

from __future__ import annotations

import errno
import itertools
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.stores import allowance, base, local_paths, ranges
from nczarr.stores.base import ROOT_KEYS, Store, UnsafeKeyError, is_safe, safe_key, with_prefix
from nczarr.stores.commitment import CommittedError
from nczarr.stores.finish import delay_signals, partial, put_in_place, unfinished
from nczarr.stores.places import BLOCK, TAIL, RemoteFile, find_remote_file
from nczarr.stores.ranges import Range

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo


LARGEST_ENTRY = 1 << 32
"""Maximum size of an entry in a foreign archive."""

LONGEST_NAME = 0xFFFF
"""Maximum bytes of an entry's name."""

FIRST_DATE = (1980, 1, 1, 0, 0, 0)
UNIX, REGULAR_FILE = 3, 0o100644 << 16
LOCAL_HEADER, ENCRYPTED, UTF8 = 30, 1, 0x800

SEVERAL, MOST_HEADERS = 4, 1024
"""Single requests for headers of entries after which those of the next ones are fetched too; maximum of these."""

EXTRA = 32
"""Bytes of an extra field that only an entry's header has."""

LEAD = 1 << 18
"""Bytes requested with a long directory and before it: archives that are written in order end with the documents."""

END = struct.Struct("<4s4H2LH")
"""End of an archive: signature, four counts, size and offset of its directory, length of a comment."""

ENTRY = 700
"""Approximate bytes of memory of an entry of the directory."""

MOST_LOOKS = 1 << 14
"""Missing keys whose absence is confirmed at once."""

ENTRIES_PER_LOOK = 8
"""Entries whose names are compared in the time of a look for one missing key."""


class ZipStore(Store):
    """Entries of an archive by name, read-only. Names that are invalid keys are ignored."""

    archive = ranged = True

    def __init__(self, file: str, name: str | None = None) -> None:
        self.file = file
        self.path = file if name is None else name
        self._remote = find_remote_file(file)
        self._missed = 0
        """Headers of a remote archive that were requested one by one."""
        self.distant = self._remote is not None
        self._is_confirmed = False
        """True once the names of all entries were compared."""

    def __getstate__(self) -> dict[str, Any]:
        """Return only the path, without the open archive, and a remote file's description."""
        state = {"file": local_paths.absolute(self.file), "path": self.path, "folder": self.folder}
        return {**state, "_remote": self._remote, "distant": self.distant, "_missed": 0, "_is_confirmed": False}

    @cached_property
    def _names(self) -> list[str]:
        """Names of all entries that are valid keys, sorted."""
        return sorted(name for name in self._archive.NameToInfo if is_safe(name))

    @property
    def held(self) -> int:  # type: ignore[override]
        """Approximate bytes of memory of the directory, once it is read."""
        return ENTRY * len(self._archive.NameToInfo) if "_archive" in self.__dict__ else 0

    @cached_property
    def folder(self) -> str:
        """Common folder of all entries, with slash, as in the netCDF library's archives; mostly empty."""
        first = self._names[0].partition("/")[0] + "/" if self._names else ""
        if not first or not all(name.startswith(first) for name in self._names):
            return ""
        return first if any(first + key in self._archive.NameToInfo for key in ROOT_KEYS) else ""

    @cached_property
    def _index(self) -> dict[str, list[str]]:
        """Next segments by prefix."""
        return base.index_segments(self.keys())

    @cached_property
    def _archive(self) -> ZipFile:
        """The archive with its directory of entries, read on first use; unusual names are checked."""
        if self._remote is not None:
            _fetch_directory(self._remote)
        archive = read_directory(self.file if self._remote is None else self._remote.open_file(), self.path)
        for info in _list_odd(archive.filelist):
            self._check_name(info)
        return archive

    def open_below(self, folder: str, name: str) -> ZipStore:
        """Return the store in a folder, with final slash, which shares the directory; `name`: that in messages."""
        store = ZipStore(self.file, name)
        store.__dict__.update(_archive=self._archive, _names=self._names, folder=folder)
        return store

    def lacks(self, key: str) -> bool:
        """Return whether the archive has no such entry. Raises OSError."""
        if self.folder + key in self._archive.NameToInfo:
            return False
        self.confirm_absent(key)
        return True

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError, CompileError for a damaged entry."""
        info = self._archive.NameToInfo.get(self.folder + safe_key(key))
        if info is None:
            self.confirm_absent(key)
            return None
        if info.file_size > LARGEST_ENTRY:
            base.refuse(self.path, key, f"has {info.file_size} bytes")
        if base.is_document(key) and (excess := allowance.find_excess(info.file_size, info.compress_size)):
            base.refuse(self.path, key, excess)  # chunks are checked by `check_chunk`
        from zipfile import BadZipFile

        self._fetch([info])
        try:
            return self._archive.read(info)
        except (BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, zlib.error) as error:
            base.refuse(self.path, key, f"is damaged: {error}")

    def check_chunk(self, key: str, decoded: int | None) -> None:
        """Raise CompileError if a compressed entry declares more bytes than a chunk can have."""
        info = self._archive.NameToInfo.get(self.folder + safe_key(key))
        sizes = (0, 0) if info is None or not info.compress_type else (info.file_size, info.compress_size)
        if excess := allowance.find_excess(*sizes, decoded):
            base.refuse(self.path, key, excess)

    def _fetch(self, infos: Iterable[ZipInfo]) -> None:
        """Fetch entries of a remote archive in advance, so that those in a row are one request. Raises OSError."""
        if self._remote is not None:
            self._remote.fetch((info.header_offset, _span(info)) for info in infos)

    def expect(self, keys: Iterable[str]) -> None:
        """Fetch entries of a remote archive in advance. Raises OSError, UnsafeKeyError."""
        if self._remote is not None:
            entries = (self._archive.NameToInfo.get(self.folder + safe_key(key)) for key in keys)
            self._fetch([info for info in entries if info is not None])

    def several(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the entries of a remote archive, from few requests. Raises OSError, UnsafeKeyError."""
        expected = list(keys)
        self.expect(expected)
        return {key: data for key in expected if (data := self.get(key)) is not None}

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        cut = len(self.folder)
        return (name[cut:] for name in with_prefix(self._names, self.folder + prefix))

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`."""
        return self._index.get(prefix, [])

    def locate(self, key: str) -> Range | None:
        """Return the file range of an uncompressed entry. Raises OSError, UnsafeKeyError, CompileError."""
        info = self._archive.NameToInfo.get(self.folder + safe_key(key))
        if info is None:
            self.confirm_absent(key)
            return None
        if info.compress_type or info.flag_bits & ENCRYPTED or info.file_size != info.compress_size:
            return None
        header = self._check_name(info)
        if header is None:
            return None
        name, extra = struct.unpack_from("<HH", header, 26)  # its own lengths, which may differ from the directory's
        return Range(local_paths.absolute(self.file), info.header_offset + LOCAL_HEADER + name + extra, info.file_size)

    def confirm_absent(self, key: str) -> None:
        """Raise CompileError if an entry has this name, and the directory of the archive another one.

        Compares the headers of entries whose names differ in one bit, and of no
        others: a missing key costs no look at all entries.
        """
        for name in _neighbours(self.folder + key):
            info = self._archive.NameToInfo.get(name)
            if info is not None:
                self._check_name(info)

    def confirm_missing(self, keys: Iterable[str], count: int) -> None:
        """Raise CompileError if one of `count` keys is there, and the directory of the archive names it otherwise.

        Looks for up to `MOST_LOOKS` of the keys, or compares all names once if that is
        less work. The rest is confirmed when it is read.
        """
        entries = self._archive.filelist
        if self._remote is not None or len(entries) > ENTRIES_PER_LOOK * min(count, MOST_LOOKS):
            for key in itertools.islice(keys, MOST_LOOKS):
                self.confirm_absent(key)
        elif not self._is_confirmed:
            with open(self.file, "rb", buffering=0) as file:
                for info in entries:
                    self._check_name(info, file)
            self._is_confirmed = True

    def confirm_name(self, key: str) -> None:
        """Raise CompileError if the directory of the archive does not name an entry as the entry does."""
        info = self._archive.NameToInfo.get(self.folder + key)
        if info is not None:
            self._check_name(info)

    def _check_name(self, info: ZipInfo, file: BinaryIO | None = None) -> bytes | None:
        """Return the header of an entry; None for other bytes. Raises CompileError if it has another name."""
        length = LOCAL_HEADER + len(_encode(info))
        header = self._header(info, length, file)
        if len(header) < LOCAL_HEADER or header[:4] != b"PK\x03\x04":  # signature of a local header
            return None
        if struct.unpack_from("<H", header, 26)[0] == length - LOCAL_HEADER and header[LOCAL_HEADER:] == _encode(info):
            return header
        name = header[LOCAL_HEADER:].decode("utf-8", "backslashreplace")
        where = f"the directory of the archive has `{info.orig_filename}`, and the entry at byte {info.header_offset}"
        text = f"`{self.path}`: a name is damaged: {where} has `{name}`"
        raise CompileError([Diagnostic("damaged-archive", Severity.ERROR, text)])

    def _header(self, info: ZipInfo, length: int, file: BinaryIO | None) -> bytes:
        """Return the first bytes of an entry. `file`: the open archive, if it is open. Raises OSError."""
        if self._remote is not None:
            self._fetch_headers(info, length)
            return self._remote.read(info.header_offset, length)
        with nullcontext(file) if file is not None else open(self.file, "rb", buffering=0) as archive:
            archive.seek(info.header_offset)
            return archive.read(length)

    def _fetch_headers(self, info: ZipInfo, length: int) -> None:
        """Fetch the header of an entry, and after several single ones more and more that follow it. Raises OSError."""
        if self._remote is None or self._remote.holds(info.header_offset, length):
            return
        self._missed += 1
        if self._missed >= SEVERAL:
            entries = self._archive.infolist()
            first = entries.index(info)
            ahead = entries[first : first + min(MOST_HEADERS, 1 << self._missed)]
            self._remote.fetch((entry.header_offset, LOCAL_HEADER + len(_encode(entry))) for entry in ahead)


def _encode(info: ZipInfo) -> bytes:
    """Return the name of an entry as the archive has it."""
    return info.orig_filename.encode("utf-8" if info.flag_bits & UTF8 else "cp437", "replace")


def _list_odd(infos: Iterable[ZipInfo]) -> Iterator[ZipInfo]:
    """Yield the entries whose names no store has: repeated ones, and those that are no keys, folders aside."""
    entries: dict[str, ZipInfo] = {}
    for info in infos:
        first = entries.setdefault(info.filename, info)
        if first is not info:
            yield first
            yield info
        elif not is_safe(info.filename) and not (info.filename.endswith("/") and not info.file_size):
            yield info


def _neighbours(name: str) -> Iterator[str]:
    """Yield the names that differ in one bit."""
    if name.isascii():  # nearly all: an array asks for a missing document or two
        flipped = _list_flipped()
        for place, character in enumerate(name):
            before, after = name[:place], name[place + 1 :]
            for other in flipped[character]:
                yield before + other + after
        return
    data = name.encode("utf-8", "surrogateescape")
    for place, byte in enumerate(data):
        for bit in range(8):
            yield (data[:place] + bytes([byte ^ 1 << bit]) + data[place + 1 :]).decode("utf-8", "replace")


@cache
def _list_flipped() -> dict[str, str]:
    """Return, for each ASCII character, those that differ in one bit; the library takes bytes above for cp437."""
    return {chr(byte): bytes(byte ^ 1 << bit for bit in range(8)).decode("cp437") for byte in range(128)}


def read_tail(file: RemoteFile) -> tuple[int, bytes]:
    """Return the last bytes of a remote archive, and where they begin. Raises OSError."""
    start = max(0, file.size - TAIL + BLOCK)  # whole blocks of the first request
    file.fetch([(start, TAIL)])
    return start, file.read(start, TAIL)


def read_directory(file: str | BinaryIO, path: str) -> ZipFile:
    """Return an archive whose directory is read. Raises OSError; `path` is its name in messages."""
    from zipfile import BadZipFile, ZipFile

    try:
        return name_entries(ZipFile(file))
    except (BadZipFile, NotImplementedError, struct.error, ValueError) as error:
        if isinstance(error.__context__, OSError):  # the library takes a failed read for an invalid archive
            raise error.__context__ from None
        raise OSError(errno.EINVAL, f"invalid zip archive: {error}", path) from None


def name_entries(archive: ZipFile) -> ZipFile:
    """Name entries in UTF-8 that programs of Unix name so without saying it, as `zip` of Info-ZIP does."""
    odd = [info for info in archive.filelist if not info.flag_bits & UTF8 and not info.orig_filename.isascii()]
    with suppress(UnicodeError):  # another encoding, which the library takes for that of DOS
        names = [info.orig_filename.encode("cp437").decode() for info in odd]
        for info, name in zip(odd, names, strict=True) if all(info.create_system == UNIX for info in odd) else ():
            info.filename = info.orig_filename = name
            info.flag_bits |= UTF8
            archive.metadata_encoding = "utf-8"  # type: ignore[attr-defined]  # of the names before the entries
    archive.NameToInfo = {info.filename: info for info in archive.filelist}
    return archive


def _fetch_directory(file: RemoteFile) -> None:
    """Fetch the end of an archive, and its directory, a long one with the documents before it. Raises OSError."""
    start, tail = read_tail(file)
    at = tail.rfind(b"PK\x05\x06", 0, len(tail) - END.size + 4)
    if at >= 0:
        *_, length, offset, _ = END.unpack_from(tail, at)
        if offset < start and offset + length <= file.size:  # else a large archive's directory is named elsewhere
            begin = max(0, offset - LEAD)
            file.fetch([(begin, offset + length - begin)])


def _span(info: ZipInfo) -> int:
    """Return the approximate bytes of an entry with its header, and of what a file object reads with its last block.

    The header's extra field may be longer than the listed one.
    """
    return LOCAL_HEADER + len(info.filename.encode()) + len(info.extra) + EXTRA + info.compress_size + BLOCK


class ZipTarget(Store):
    """An unfinished archive. Raises FileExistsError if the target exists and may not be overwritten."""

    sequential = True

    def __init__(self, path: str, *, overwrite: bool = False) -> None:
        from zipfile import ZIP_STORED, ZipFile

        path = local_paths.tidy(path)
        if not overwrite and os.path.lexists(path):
            raise FileExistsError(f"{path} exists")
        self.path = partial(path)
        self.target = path
        self.overwrite = overwrite
        self._file = open(self.path, "x+b")  # noqa: SIM115 (closed by `finish` or `abort`)
        self._archive = ZipFile(self._file, "a", ZIP_STORED)  # "a" may read what was put
        self._open = True

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError."""
        info = self._archive.NameToInfo.get(safe_key(key))
        return None if info is None else self._archive.read(info)

    def put(self, key: str, data: bytes) -> None:
        """Append an entry. Raises OSError, FileExistsError for a repeated key, UnsafeKeyError."""
        self._archive.writestr(self._entry(key), data)

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Append an entry in pieces. Raises OSError, FileExistsError, UnsafeKeyError."""
        entry = self._entry(key)
        with self._archive.open(entry, "w", force_zip64=True) as out:  # its size is known only at the end
            for piece in pieces:
                for data in ranges.pieces(piece) if isinstance(piece, Range) else (piece,):
                    out.write(data)

    def _entry(self, key: str) -> ZipInfo:
        if safe_key(key) in self._archive.NameToInfo:
            raise FileExistsError(f"{key} was written before")
        return new_entry(key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted."""
        return iter(sorted(key for key in self._archive.NameToInfo if key.startswith(prefix)))

    def seal(self) -> None:
        """Write the central directory. Raises OSError."""
        self._archive.close()
        self._file.close()

    def finish(self) -> None:
        """Write the central directory and rename the archive to its final name. Raises OSError."""
        self.seal()
        with delay_signals():
            try:
                put_in_place(self.path, self.target, overwrite=self.overwrite)
            except CommittedError:  # the old target stays under another name
                self._open = False
                raise
            self._open = False

    def abort(self) -> None:
        """Remove the archive unless finished."""
        if self._open:
            with delay_signals():
                self._open = False
                for part in (self._archive, self._file):
                    with suppress(OSError, ValueError):  # what could not be written is not wanted any more
                        part.close()
                with suppress(OSError):
                    os.unlink(self.path)
                unfinished.discard(self.path)


def new_entry(key: str) -> ZipInfo:
    """Return a reproducible entry. Raises UnsafeKeyError for an invalid name."""
    from zipfile import ZipInfo

    entry = ZipInfo(entry_name(key), FIRST_DATE)
    entry.create_system, entry.external_attr = UNIX, REGULAR_FILE
    return entry


def entry_name(key: str) -> str:
    """Return the key as entry name. Raises UnsafeKeyError for an invalid name."""
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        raise UnsafeKeyError(f"not UTF-8, as names in a zip archive are: {key!r}") from None
    if length > LONGEST_NAME:
        raise UnsafeKeyError(f"too long for a name in a zip archive: {key[:64]!r}…")
    return key
