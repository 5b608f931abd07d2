"""A folder of files as a store, and a new one that appears whole or not at all.

A target grows under `<name>.partial-<id>` beside its final place and is renamed once, at the end; with
`overwrite` the old one steps aside under `<name>.replaced-<id>` first and is removed when the new one stands.
Writing ten thousand small files is the work of the file system, so nothing here adds a call to it: a folder
is made once, no file is looked at before it is written, and nothing is synced one by one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress

from nczarr.stores import ranges
from nczarr.stores.base import Range, ReadOnly, safe_key
from nczarr.stores.place import put_in_place, sibling

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def _whole(file: int) -> bytes:
    """The bytes of an open file. Raises OSError."""
    size = os.fstat(file).st_size
    data = os.read(file, size + 1)
    if len(data) == size > 0:  # a regular file gives less than asked for only at its end
        return data
    while more := os.read(file, max(1, size - len(data) + 1)):
        data += more
    return data


class DirectoryStore(ReadOnly):
    """The files of an existing folder by their relative paths. Read-only; symbolic links below it are not followed:
    they may lead out of it, or round in a circle.
    """

    sequential = False

    def __init__(self, path: str) -> None:
        self.path = path
        self._real = os.path.realpath(path)
        self._folders: dict[str, bool] = {"": True}

    def get(self, key: str) -> bytes | None:
        """The bytes of a key, None if there is no such file. Raises OSError, UnsafeKeyError."""
        folder, _, name = safe_key(key).rpartition("/")
        try:
            if not self._is_inside(folder):
                return None
            file = os.open(f"{self._real}{os.sep}{folder}{os.sep}{name}", _READ)
            try:
                return _whole(file)
            finally:
                os.close(file)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError, UnicodeEncodeError):
            return None
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.ELOOP, errno.EMLINK):  # the last two: a link
                return None
            raise

    def _is_inside(self, folder: str) -> bool:
        """Whether a folder below is reached without a link; looked up once."""
        known = self._folders.get(folder)
        if known is None:
            above = folder.rpartition("/")[0]
            known = self._is_inside(above) and not os.path.islink(f"{self._real}{os.sep}{folder}")
            self._folders[folder] = known
        return known

    def locate(self, key: str) -> Range | None:
        """The file of a key. Raises OSError, UnsafeKeyError."""
        path = os.path.join(self._real, safe_key(key).replace("/", os.sep))
        try:
            status = os.stat(path, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode) or os.path.realpath(path) != path:
                return None
        except (FileNotFoundError, NotADirectoryError, UnicodeEncodeError):
            return None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return None
            raise
        return Range(path, 0, status.st_size)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin with `prefix`, sorted."""
        found = []
        for folder, _, files in os.walk(os.path.join(self._real, prefix.rpartition("/")[0])):
            relative = os.path.relpath(folder, self._real).replace(os.sep, "/")
            found += [name if relative == "." else f"{relative}/{name}" for name in files]
        return iter(sorted(key for key in found if key.startswith(prefix)))

    def children(self, prefix: str) -> list[str]:
        """The names in one folder; no links."""
        try:
            with os.scandir(os.path.join(self._real, prefix)) as entries:
                return sorted(entry.name for entry in entries if not entry.is_symlink())
        except (FileNotFoundError, NotADirectoryError):
            return []


class DirectoryTarget(DirectoryStore):
    """A folder in the making. Raises FileExistsError if the target is there already and may not be overwritten."""

    sequential = False

    def __init__(self, path: str, *, overwrite: bool = False) -> None:
        path = os.path.normpath(path)
        if not overwrite and os.path.lexists(path):
            raise FileExistsError(f"{path} exists")
        super().__init__(sibling(path, "partial"))
        self.target = path
        self.overwrite = overwrite
        self._made: set[str] = {""}
        self._open = True
        os.mkdir(self.path)
        self._real = os.path.realpath(self.path)

    def put(self, key: str, data: bytes) -> None:
        """Write a new file. Raises OSError, UnsafeKeyError."""
        file = self._new(key)
        try:
            ranges.write(file, data)
        finally:
            os.close(file)

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Write a new file; the kernel moves the ranges. Raises OSError, UnsafeKeyError."""
        file = self._new(key)
        try:
            for piece in ranges.joined(pieces):
                if isinstance(piece, Range):
                    ranges.move(piece, file)
                else:
                    ranges.write(file, piece)
        finally:
            os.close(file)

    def _new(self, key: str) -> int:
        """An open file for a key."""
        folder = safe_key(key).rpartition("/")[0]
        if folder not in self._made:
            self._make(folder)
        return os.open(f"{self._real}/{key}", _NEW, 0o666)

    def _make(self, folder: str) -> None:
        parent = folder.rpartition("/")[0]
        if parent not in self._made:
            self._make(parent)
        with suppress(FileExistsError):  # another thread was faster
            os.mkdir(f"{self._real}/{folder}")
        self._made.add(folder)

    def finish(self) -> None:
        """Put the folder in its place, in one rename. Raises OSError, and leaves an old target as it was."""
        put_in_place(self.path, self.target, overwrite=self.overwrite)
        self._open = False

    def abort(self) -> None:
        """Remove what was written, unless it is finished."""
        if self._open:
            import shutil  # only where something went wrong

            shutil.rmtree(self.path, ignore_errors=True)
            self._open = False
