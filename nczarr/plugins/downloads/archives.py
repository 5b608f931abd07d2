"""Members of ZIP and tar archives: stores of keys in folders, and files, those without compression read in place."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast
from zlib import crc32

from nczarr import registry
from nczarr.plugins.downloads.faults import damage, fault
from nczarr.plugins.downloads.tar_archive import TarEntry, TarStore, open_bytes, open_entry, read_tar
from nczarr.plugins.remote.connection import FileConnection
from nczarr.plugins.remote.range_request import RangeAnswer
from nczarr.plugins.remote.ranged_file import RangedFile
from nczarr.stores import local_paths
from nczarr.stores.base import ROOT_KEYS, is_safe
from nczarr.stores.places import RemoteFile, find_remote_file
from nczarr.stores.ranges import Range, read
from nczarr.stores.spool import add_folder
from nczarr.stores.zip import ENCRYPTED, ZipStore, read_directory

if TYPE_CHECKING:
    from zipfile import ZipInfo

STEP = 1 << 12
"""Bytes of a member that are unpacked at once, by methods without a limit of their own."""


class ArchiveMember(NamedTuple):
    """A file in an archive."""

    name: str
    """Path in the archive."""
    size: int
    """Bytes of the content."""
    packed: int
    """Bytes in the archive."""
    offset: int | None
    """Place of the bytes in the archive, if they are stored as they are."""
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    """Opens the content. Raises CompileError with `unreadable-member` or `damaged-archive`, OSError."""
    checksum: int | None = None
    """CRC-32 of the content, which a ZIP archive states."""


class StoreMember(NamedTuple):
    """A store of keys in a folder of an archive, and all that is below."""

    name: str
    """Path in the archive; empty if the archive is the store."""
    whole: ZipStore | TarStore
    """The archive, with all files as keys."""


def list_archive(
    whole: ZipStore | TarStore, list_files: Callable[[Any, Sequence[str]], list[ArchiveMember]]
) -> list[StoreMember | ArchiveMember]:
    """Return the members of an archive by name: stores, and the files that are in no store.

    `list_files`: function that lists these for the folders of the stores. Raises OSError, CompileError with
    `damaged-archive` or `oversized-content`.
    """
    roots = find_roots(whole)
    files = [] if "" in roots else list_files(whole, roots)
    return sorted((*(StoreMember(root, whole) for root in roots), *files), key=lambda member: member.name)


def find_roots(whole: ZipStore | TarStore) -> list[str]:
    """Return the outermost folders with documents of a store, `""` for the archive. Raises OSError, CompileError.

    Formats without such documents are found in the archive as a whole.
    """
    if any(next(iter(whole.keys(key)), None) == key for key in ROOT_KEYS):
        return [""]
    folders = {folder for folder, _, name in (key.rpartition("/") for key in whole.keys("")) if name in ROOT_KEYS}
    roots = [folder for folder in sorted(folders) if not any(above in folders for above in _list_above(folder))]
    listed = [root for root in roots if _is_listed(root)]
    return listed or ([""] if registry.detect_store(whole) is not None else [])


def _list_above(path: str) -> Iterator[str]:
    """Yield the folders above a path, the next one first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _choose_files(names: Iterable[str], roots: Sequence[str]) -> list[str]:
    """Return the paths of members that may be datasets by their path, sorted: not hidden, and below no root."""
    stores = frozenset(roots)
    return sorted(name for name in names if _is_listed(name) and stores.isdisjoint(_list_above(name)))


def _is_listed(name: str) -> bool:
    """Return whether a member may be a dataset by its path: not hidden, no resource fork, and below the archive."""
    return is_safe(name) and not any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


# ---- ZIP -------------------------------------------------------------------------------------------------------------
def list_zip(store: ZipStore, roots: Sequence[str]) -> list[ArchiveMember]:
    """Return the files of a ZIP archive that are in no store. Raises OSError, CompileError with `damaged-archive`."""
    with open_bytes(store.file) as file:
        entries = {
            info.filename: info for info in read_directory(file, store.path).filelist if not info.filename.endswith("/")
        }
    return [_zip_member(store, entries[name]) for name in _choose_files(entries, roots)]


class _SmallReads(io.RawIOBase):
    """Content of a member that is read in small steps: of bzip2 and LZMA, `zipfile` unpacks all that it has read."""

    def __init__(self, content: IO[bytes]) -> None:
        super().__init__()
        self._content = content

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`."""
        return self._content.read(STEP if size < 0 else min(size, STEP))


def _zip_member(store: ZipStore, info: ZipInfo) -> ArchiveMember:
    from zipfile import ZIP_DEFLATED, ZIP_STORED

    path, name, place = store.file, store.path, store.locate(info.filename)

    @contextmanager
    def open_member() -> Iterator[IO[bytes]]:
        shown = f"{name}/{info.filename}"
        if info.flag_bits & ENCRYPTED:
            help_ = "unpack it with its password, such as by `unzip`, and name the unpacked file"
            raise fault("unreadable-member", shown, "is protected by a password", help_)
        with open_bytes(path) as file:
            try:
                content = read_directory(file, name).open(info)
            except NotImplementedError as error:
                text = f"is compressed by a method that Python does not know: {error}"
                raise fault("unreadable-member", shown, text, "unpack it, and name the unpacked file") from None
            except (ValueError, EOFError, RuntimeError) as error:
                raise damage(shown, error) from None
            except Exception as error:
                if type(error).__name__ != "BadZipFile":
                    raise
                raise damage(shown, error) from None
            with content:
                yield (
                    content
                    if info.compress_type in (ZIP_STORED, ZIP_DEFLATED)
                    else cast("IO[bytes]", _SmallReads(content))
                )

    offset = None if place is None else place.offset
    return ArchiveMember(info.filename, info.file_size, info.compress_size, offset, open_member, info.CRC)


# ---- tar -------------------------------------------------------------------------------------------------------------
def list_tar(store: TarStore, roots: Sequence[str]) -> list[ArchiveMember]:
    """Return the files of a tar archive that are in no store. Raises OSError, CompileError with `damaged-archive`."""
    entries = read_tar(store.file, store.path).entries
    return [_tar_member(store.file, name, entries[name]) for name in _choose_files(entries, roots)]


def _tar_member(path: str, key: str, entry: TarEntry) -> ArchiveMember:
    offset = None if entry.sparse else entry.offset
    return ArchiveMember(key, entry.size, entry.packed, offset, partial(open_entry, path, entry))


class MemberConnection(FileConnection):
    """The bytes of a member as an object that answers requests for ranges.

    `place`: its bytes in the archive; `member`: its name; `shown`: name in messages; `checksum`: CRC-32 of its bytes,
    if the archive states it.
    """

    def __init__(self, place: Range, member: str, shown: str, checksum: int | None) -> None:
        super().__init__(f"file://{local_paths.absolute(shown)}")
        self.shown = shown
        self.checksum = checksum
        self.place_of_bytes = place._replace(path=local_paths.absolute(place.path))
        self._archive = find_remote_file(place.path)
        """The archive, if it is remote itself: its blocks are kept as long as this connection."""
        self.root = f"{self.place_of_bytes.path}/{member}"

    def __getstate__(self) -> dict[str, Any]:
        """Return the description, with that of a remote archive."""
        own = {name: self.__dict__[name] for name in ("place_of_bytes", "_archive", "root", "checksum")}
        return {**super().__getstate__(), **own}

    def read_range(self, begin: int, end: int, size: int | None = None) -> RangeAnswer:
        """Return the bytes of a range; `begin` below 0: so many at the end. Raises OSError."""
        size = self.place_of_bytes.length
        first, stop = (max(0, size + begin), size) if begin < 0 else (begin, min(end, size))
        data = read(Range(self.place_of_bytes.path, self.place_of_bytes.offset + first, max(0, stop - first)))
        return RangeAnswer(data, self._describe())

    def _describe(self) -> dict[str, Any]:
        """Return size of the member, and what changes with the archive."""
        if self._archive is not None:
            return {**self._archive.info, "size": self.place_of_bytes.length}
        return {"size": self.place_of_bytes.length, "mtime": os.stat(self.place_of_bytes.path).st_mtime_ns}


class MemberFile(RangedFile):
    """A member of an archive."""

    connection: MemberConnection

    @property
    def inside(self) -> Range:  # type: ignore[override]
        """Its bytes in the archive."""
        return self.connection.place_of_bytes

    def is_sound(self) -> bool | None:
        """Return whether the bytes have the checksum of the archive; None without one. Raises OSError."""
        if self.connection.checksum is None:
            return None
        found = 0
        for at in range(0, self.size, _PIECE):
            found = crc32(self.value(at, min(self.size, at + _PIECE)), found)
        return found == self.connection.checksum

    def copy(self) -> str:
        """Return the path of a copy, which exists as long as this process. Raises OSError."""
        return copy_member(self, self.name, local_paths.name_of(self.path))


def copy_member(file: RemoteFile, name: str, stem: str) -> str:
    """Return the path of a temporary copy of a member; `name`: that in messages. Raises OSError."""
    path = local_paths.join(add_folder(name), stem)
    with open(path, "wb") as target:
        target.writelines(file.value(at, min(file.size, at + _PIECE)) for at in range(0, file.size, _PIECE))
    return path


_PIECE = 8 << 20
