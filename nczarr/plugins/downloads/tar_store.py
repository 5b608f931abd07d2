"""Tar archives as stores of keys: the files below a folder by name, in place."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from nczarr.plugins.common.raw_file import ChangedError
from nczarr.plugins.downloads.tar_directory import Identity, TarDirectory, TarEntry, identify, open_entry, read_tar
from nczarr.sdk import Store
from nczarr.stores import allowance, base, local_paths
from nczarr.stores.base import cut, safe_key, with_prefix
from nczarr.stores.places import find_remote_file
from nczarr.stores.ranges import Range, read

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
