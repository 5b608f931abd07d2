"""Tar archives: their members, by the headers before them, and the files below a folder as a store of keys."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from nczarr.plugins.common.raw_file import ChangedError
from nczarr.plugins.downloads.faults import AGAIN, damage, fault
from nczarr.sdk import Store
from nczarr.stores import allowance, base, local_paths
from nczarr.stores.base import cut, is_safe, safe_key, with_prefix
from nczarr.stores.places import find_remote_file
from nczarr.stores.ranges import BoundedCache, Range, read

if TYPE_CHECKING:
    from tarfile import TarFile, TarInfo

MOST_MEMBERS = 100_000
"""Maximum members of a tar archive, which are in memory."""

LONGEST_HEADER = 1 << 20
"""Maximum bytes of an extended header of tar, which is in memory."""

BLOCK = 512
"""Bytes of a header; a block of zeros ends an archive."""

Identity = tuple[int, ...]


class TarEntry(NamedTuple):
    """A file in a tar archive."""

    offset: int
    """Place of the bytes in the archive."""
    size: int
    """Bytes of the content."""
    packed: int
    """Bytes in the archive."""
    sparse: TarInfo | None
    """Header of a file with holes, whose content is not in one piece."""


class TarDirectory(NamedTuple):
    """Members of a tar archive; of repeated names the last one counts, as tar extracts them."""

    entries: dict[str, TarEntry]
    """Regular files by path."""
    links: dict[str, str]
    """Paths that links name, symbolic and hard ones, by their own."""
    names: list[str]
    """Paths of both, sorted."""
    identity: Identity | None
    """Facts that distinguish a local archive from a later one at its place."""


_known: BoundedCache[tuple[str, Identity], TarDirectory] = BoundedCache(
    2 * MOST_MEMBERS, lambda one: len(one.names) + 1
)
"""Directories of local archives: each of the stores in an archive needs the same one."""


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """Provide the bytes of a local or remote file. Raises OSError."""
    remote = find_remote_file(path)
    with open(path, "rb") if remote is None else remote.open_file() as file:
        yield file


def identify(path: str) -> Identity | None:
    """Return facts that distinguish a local file from a later one at its place; None for others. Raises OSError."""
    if find_remote_file(path) is not None:
        return None
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def read_tar(path: str, name: str) -> TarDirectory:
    """Return the members of a tar archive; `name`: that in messages.

    Raises OSError, CompileError with `damaged-archive` or `oversized-content`.
    """
    identity = identify(path)
    known: TarDirectory | None = None if identity is None else _known.get((path, identity))
    if known is None:
        known = _list_members(path, name, identity)
        if identity is not None:
            _known.put((path, identity), known)
    return known


def _list_members(path: str, name: str, identity: Identity | None) -> TarDirectory:
    import tarfile

    entries: dict[str, TarEntry] = {}
    links: dict[str, str] = {}
    with open_bytes(path) as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(0)
        try:
            with tarfile.open(fileobj=file, mode="r:", tarinfo=_make_header_type()) as archive:
                for info in _list_headers(archive, name):
                    key = _find_key(info.name)
                    if key is None:
                        continue
                    entries.pop(key, None)
                    links.pop(key, None)
                    if info.issym() or info.islnk():
                        links[key] = _resolve(key, info)
                    elif info.isreg():
                        entries[key] = _make_entry(info)
                        if not info.issparse() and info.offset_data + info.size > end:
                            raise fault("damaged-archive", name, f"ends before its member `{key}` does", AGAIN)
                _check_end(file, archive.offset, name)
        except tarfile.TarError as error:
            raise damage(name, error) from None
    return TarDirectory(entries, links, sorted((*entries, *links)), identity)


def _list_headers(archive: TarFile, name: str) -> Iterator[TarInfo]:
    """Yield the headers of an archive, which keeps none of them. Raises CompileError with `oversized-content`."""
    number = 0
    while (info := archive.next()) is not None:
        archive.members.clear()  # type: ignore[attr-defined]
        number += 1
        if number > MOST_MEMBERS:
            text = f"has more than {MOST_MEMBERS} members"
            raise fault("oversized-content", name, text, "unpack it yourself, if you trust it")
        yield info


def _check_end(file: BinaryIO, offset: int, name: str) -> None:
    """Raise CompileError unless zeros end the archive: the library stops at an invalid header without a word."""
    file.seek(offset)
    block = file.read(BLOCK)
    if len(block) < BLOCK:
        raise fault("damaged-archive", name, "is cut off: no block of zeros ends it", AGAIN)
    if block.strip(b"\0"):
        raise fault("damaged-archive", name, f"has no valid header at byte {offset}", AGAIN)


def _find_key(name: str) -> str | None:
    """Return the path of a member without `.`; None if it leads out of the archive."""
    key = "/".join(part for part in name.split("/") if part not in ("", "."))
    return key if key and not name.startswith("/") and is_safe(key) else None


def _resolve(key: str, info: TarInfo) -> str:
    """Return the path that a link names in the archive: a symbolic one from its folder, a hard one from the root."""
    parts = key.split("/")[:-1] if info.issym() else []
    for part in info.linkname.split("/"):
        if part == "..":
            parts = parts[:-1] if parts else [".."]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _make_entry(info: TarInfo) -> TarEntry:
    if not info.issparse():
        return TarEntry(info.offset_data, info.size, info.size, None)
    pieces: Any = info.sparse or ()
    return TarEntry(info.offset_data, info.size, sum(length for _, length in pieces), info)


def _make_header_type() -> type[TarInfo]:
    import tarfile

    class BoundedHeader(tarfile.TarInfo):
        """Header whose extensions have a limit: the library reads them into memory."""

        def _proc_member(self, archive: tarfile.TarFile) -> BoundedHeader:
            if self.size < 0 or (self.type in _EXTENSIONS and self.size > LONGEST_HEADER):
                raise tarfile.ReadError(f"a header has {self.size} bytes")
            found: BoundedHeader = super()._proc_member(archive)  # type: ignore[misc]
            if found.size < 0:  # as an extended header states it, and the next header would be one before
                raise tarfile.ReadError(f"a member has {found.size} bytes")
            return found

    return BoundedHeader


_EXTENSIONS = frozenset((b"x", b"g", b"X", b"L", b"K"))
"""Types of headers of tar that name or describe the next member, or all."""


class _PartReader(io.RawIOBase):
    """Bytes of a file from an offset on, so many."""

    def __init__(self, file: BinaryIO, offset: int, size: int) -> None:
        super().__init__()
        self._file = file
        self._left = size
        file.seek(offset)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`."""
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


@contextmanager
def open_entry(path: str, entry: TarEntry) -> Iterator[IO[bytes]]:
    """Provide the content of a file in a tar archive. Raises OSError."""
    import tarfile

    with open_bytes(path) as file:
        if entry.sparse is None:
            yield cast("IO[bytes]", _PartReader(file, entry.offset, entry.size))
            return
        with tarfile.open(fileobj=file, mode="r:") as archive:
            content = archive.extractfile(entry.sparse)
            assert content is not None
            with content:
                yield content


ENTRY = 400
"""Approximate bytes of memory of a member."""

LINK = "a link in an archive, which is not followed; archive its target (`tar -h --hard-dereference`)"


class TarStore(Store):
    """Files of a tar archive below a folder, read-only. Links are not followed, and reading one raises OSError."""

    archive = True

    def __init__(self, file: str, name: str, folder: str = "") -> None:
        """Open an archive; `name`: that in messages, `folder`: with final slash, empty for all files."""
        self.file = local_paths.absolute(file) if find_remote_file(file) is None else file
        self.path = name
        self.folder = folder
        self._remote = find_remote_file(file)
        self.distant = self._remote is not None
        self._identity: Identity | None = identify(file)

    @property
    def title(self) -> str:
        """The folder of the store in the archive, if it is in one: an array there has its name."""
        return self.folder.rstrip("/") or self.path

    def __getstate__(self) -> dict[str, Any]:
        """Return the description, without what the archive lists."""
        own = ("file", "path", "folder", "distant", "_remote", "_identity")
        return {name: self.__dict__[name] for name in own}

    def open_below(self, folder: str, name: str) -> TarStore:
        """Return the store in a folder of the archive; `folder`: with final slash, `name`: that in messages."""
        return TarStore(self.file, name, folder)

    @cached_property
    def _directory(self) -> TarDirectory:
        """Members of the archive. Raises OSError if it has changed."""
        directory = read_tar(self.file, self.path)
        if directory.identity != self._identity:
            raise ChangedError
        return directory

    @cached_property
    def _index(self) -> dict[str, list[str]]:
        """Next segments by prefix, without links."""
        links = self._directory.links
        names = with_prefix(self._directory.names, self.folder)
        return base.index_segments(name[len(self.folder) :] for name in names if name not in links)

    @property
    def held(self) -> int:  # type: ignore[override]
        """Approximate bytes of memory of what the archive lists, once it is read."""
        return ENTRY * len(self._directory.names) if "_directory" in self.__dict__ else 0

    def find(self, key: str) -> TarEntry | None:
        """Return the place of a key, None if it is absent.

        Raises OSError for a link, and if the archive was replaced; UnsafeKeyError.
        """
        if identify(self.file) != self._identity:
            raise ChangedError
        name = self.folder + safe_key(key)
        entry = self._directory.entries.get(name)
        if entry is None and self._directory.links:
            above = name
            while above and above not in self._directory.links:
                above = above.rpartition("/")[0]
            if above:
                raise self._refuse_link(above)
        return entry

    def _refuse_link(self, name: str) -> OSError:
        return OSError(errno.ELOOP, LINK, f"{self.path}/{name.removeprefix(self.folder)}")

    def lacks(self, key: str) -> bool:
        """Return whether the archive has no such file and no link."""
        name = self.folder + key
        return name not in self._directory.entries and not self._directory.links

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError, CompileError for a file of holes."""
        entry = self.find(key)
        if entry is None:
            return None
        if entry.sparse is None:
            return read(Range(self.file, entry.offset, entry.size))
        self._check_size(key, entry, None)
        with open_entry(self.file, entry) as content:
            return content.read()

    def part(self, key: str, offset: int, length: int) -> bytes | None:
        """Return a range of a key, or None; negative offsets count from the end. Raises OSError if it is too short."""
        place = self.locate(key)
        begin = offset if place is None or offset >= 0 else place.length + offset
        if place is None or begin < 0 or begin + length > place.length:
            data = self.get(key)
            return None if data is None else cut(data, key, offset, length)
        return read(Range(place.path, place.offset + begin, length))

    def check_chunk(self, key: str, decoded: int | None) -> None:
        """Raise CompileError if a file with holes has more bytes than a chunk can have."""
        entry = self.find(key)
        if entry is not None:
            self._check_size(key, entry, decoded)

    def _check_size(self, key: str, entry: TarEntry, decoded: int | None) -> None:
        """Raise CompileError if a file with holes has more bytes than it can stand for."""
        if entry.sparse and (excess := allowance.find_excess(entry.size, entry.packed, decoded)):
            base.refuse(self.path, key, excess)

    def several(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the files of a remote archive, from few requests. Raises OSError, UnsafeKeyError."""
        if self._remote is None:
            return {}
        places = {key: (entry.offset, entry.size) for key in keys if (entry := self.find(key)) and not entry.sparse}
        return dict(zip(places, self._remote.several(list(places.values())), strict=True))

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted. Raises OSError for a link below a prefix that may be a folder."""
        links, entries = self._directory.links, self._directory.entries
        names = with_prefix(self._directory.names, self.folder + prefix)
        for name in names if links and prefix else ():
            if name in links and links[name] not in entries:
                raise self._refuse_link(name)  # it may hold chunks, which would read as fill
        return (name[len(self.folder) :] for name in names)

    def children(self, prefix: str) -> list[str]:
        """Return the next segments after `prefix`, without links."""
        return self._index.get(prefix, [])

    def entries(self, prefix: str) -> tuple[list[str], list[str]]:
        """Return the children, and the names of links that may lead to folders."""
        links, above = self._directory.links, self.folder + prefix
        names = [name[len(above) :] for name in links if name.startswith(above)] if links else []
        found = [name for name in names if "/" not in name and links[above + name] not in self._directory.entries]
        return self.children(prefix), sorted(found)

    def locate(self, key: str) -> Range | None:
        """Return the file range of a key; None if it is absent or has holes. Raises OSError, UnsafeKeyError."""
        entry = self.find(key)
        return None if entry is None or entry.sparse else Range(self.file, entry.offset, entry.size)
