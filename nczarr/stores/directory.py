"""Folders of files as stores; a new one appears whole or not at all.

A target is written as the sibling `<name>.partial-<id>` and renamed once at the
end. With `overwrite` the old target is first renamed to `<name>.replaced-<id>`,
and removed when the new one is in place. A target with a journal can be resumed
after its process was killed: each data key appears by a rename, so existing
ones are complete. Many small files are limited by the file system, so system
calls are minimal: each folder is created once, files are not checked before
writing, and there is no fsync per file.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from nczarr.stores import local_paths, ranges
from nczarr.stores.base import JOURNAL, NO_SEGMENTS, Store, StoreJournal, parse_journal, safe_key
from nczarr.stores.commitment import CommittedError
from nczarr.stores.finish import delay_signals, leftovers, partial, put_in_place, unfinished
from nczarr.stores.ranges import Range

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_READ |= getattr(os, "O_NONBLOCK", 0)  # a pipe is opened, and left, without waiting for who writes to it

_HAS_PREAD = hasattr(os, "pread")
_SEES_LINKS = os.access in os.supports_follow_symlinks

_ENDLESS = (stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK)

GROWING = ".nczarr-growing-"
"""Prefix of incomplete files that are renamed at the end."""

_BLOCK = 1 << 14
"""Bytes of most documents at most, which one call reads."""


def _read_whole(file: int, *, is_document: bool) -> bytes | None:
    """Return the bytes of an open file; None for a pipe or device, which may never end. Raises OSError.

    `is_document`: the file is likely short; chunks, which mostly are not, would be begun twice.
    """
    if is_document and _HAS_PREAD:
        try:
            data = os.pread(file, _BLOCK, 0)
        except OSError as error:
            if error.errno != errno.ESPIPE:
                raise
            return None
        if 0 < len(data) < _BLOCK:  # a regular file gives less than asked for only at its end
            return data
    status = os.fstat(file)
    if stat.S_IFMT(status.st_mode) in _ENDLESS:
        return None
    size = status.st_size
    data = os.read(file, size + 1)
    if len(data) == size > 0:  # a regular file gives less than asked for only at its end
        return data
    while more := os.read(file, max(1, size - len(data) + 1)):
        data += more
    return data


class DirectoryStore(Store):
    """Files of a folder by relative path, read-only.

    Links below it could leave it or cycle: they are not followed, and reading
    one raises OSError.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._real = local_paths.real(path)
        self._folders: dict[str, bool] = {"": True}

    def lacks(self, key: str) -> bool:
        """Return whether no such file exists."""
        path = f"{self._real}/{key}"
        return not (os.access(path, os.F_OK, follow_symlinks=False) if _SEES_LINKS else os.path.lexists(path))

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None. Raises OSError, UnsafeKeyError."""
        folder, _, name = key.rpartition("/")
        try:
            is_known = name not in NO_SEGMENTS and "\0" not in name and self._folders.get(folder)
            if not (is_known or self._is_inside(safe_key(key).rpartition("/")[0])):
                raise self._link(key)
            file = os.open(f"{self._real}/{key}", _READ)
            try:
                return _read_whole(file, is_document=name[:1] == "." or name == "zarr.json")
            finally:
                os.close(file)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError, UnicodeEncodeError):
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):  # EMLINK: on FreeBSD
                raise self._link(key) from None
            if error.errno in (errno.ENAMETOOLONG, errno.ENXIO):  # a socket
                return None
            error.filename = error.filename or f"{self._real}/{key}"  # reading an open file names none
            raise

    def _link(self, key: str) -> OSError:
        """Return the error for a key that exists through a symbolic link alone."""
        return OSError(errno.ELOOP, "a symbolic link, which is not followed; copy its target", f"{self.path}/{key}")

    def _is_inside(self, folder: str) -> bool:
        """Return whether no link leads to a subfolder; cached."""
        is_inside = self._folders.get(folder)
        if is_inside is None:
            above = folder.rpartition("/")[0]
            is_inside = self._is_inside(above) and not os.path.islink(f"{self._real}{os.sep}{folder}")
            self._folders[folder] = is_inside
        return is_inside

    def locate(self, key: str) -> Range | None:
        """Return the file of a key. Raises OSError, UnsafeKeyError."""
        folder = safe_key(key).rpartition("/")[0]
        path = os.path.join(self._real, key.replace("/", os.sep))
        try:
            status = os.stat(path, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode) or not self._is_inside(folder):
                raise self._link(key)
            if not stat.S_ISREG(status.st_mode):
                return None
        except (FileNotFoundError, NotADirectoryError, UnicodeEncodeError):
            return None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return None
            raise
        return Range(path, 0, status.st_size)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys with `prefix`, sorted. Raises OSError for a link to a folder below a prefix."""
        keys: list[str] = []
        for folder, below, files in local_paths.walk(os.path.join(self._real, prefix.rpartition("/")[0])):
            relative = folder.removeprefix(self._real).replace(os.sep, "/").strip("/")
            start = f"{relative}/" if relative else ""
            keys += [key for name in files if (key := start + name).startswith(prefix)]
            for name in below if prefix else ():
                if os.path.islink(os.path.join(folder, name)):
                    raise self._link(start + name)  # it may hold chunks, which would read as fill
        keys.sort()
        return iter(keys)

    def children(self, prefix: str) -> list[str]:
        """Return the names in one folder, without links."""
        return self.entries(prefix)[0]

    def expect(self, keys: Iterable[str]) -> None:
        """List the folder around that of the first document: then no folder in it is asked whether it is a link.

        Where the folder cannot be listed, each is asked.
        """
        folder = next(iter(keys), "").rpartition("/")[0]
        if folder not in self._folders:
            with suppress(PermissionError):
                self.entries(folder[: folder.rfind("/") + 1])

    def entries(self, prefix: str) -> tuple[list[str], list[str]]:
        """Return the names in one folder without links, and the names of links to folders; both sorted."""
        try:
            with os.scandir(os.path.join(self._real, prefix)) as entries:
                names, links = [], []
                inside = prefix in ("", prefix.rstrip("/") + "/") and self._is_inside(prefix.rstrip("/"))
                for entry in entries:
                    if not entry.is_symlink():
                        names.append(entry.name)
                        if inside:
                            self._folders[prefix + entry.name] = True
                    elif os.path.isdir(entry.path):  # `entry.is_dir` raises for a circle of links
                        links.append(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return [], []
        return sorted(names), sorted(links)


class DirectoryTarget(DirectoryStore):
    """An unfinished folder. Raises FileExistsError if the target exists and may not be overwritten.

    A `journal` makes it resumable; `resume` continues an existing one of the
    same run. A copy in another process puts keys into the same folder, but only
    the original finishes it.
    """

    def __init__(
        self, path: str, *, overwrite: bool = False, journal: StoreJournal | None = None, resume: bool = False
    ) -> None:
        """Make an unfinished folder next to the target, or go on with one of the same journal."""
        path = local_paths.tidy(path)
        if not overwrite and os.path.lexists(path):
            raise FileExistsError(f"{path} exists")
        begun = _find_unfinished(path, journal) if resume and journal is not None else None
        super().__init__(begun or partial(path))
        self.target = path
        self.overwrite = overwrite
        self.kept = resume and journal is not None and journal.fingerprint is not None
        if self.kept:
            unfinished.discard(self.path)
        self._made: set[str] = {""}
        self._open = True
        self._has_journal = journal is not None
        self._resumed = begun is not None
        self._shared = False
        if begun is None:
            os.mkdir(self.path)
        self._real = local_paths.real(self.path)
        if journal is not None and begun is None:
            self._write(JOURNAL, (journal.bytes(),))

    def __getstate__(self) -> dict[str, Any]:
        """Return the folder for another process, which may repeat keys or be killed, and cannot finish it."""
        self._shared = True
        changed = {"path": self._real, "_open": False, "_has_journal": True, "_made": {""}, "_folders": {}}
        return {**self.__dict__, **changed}

    def is_done(self, key: str) -> bool:
        """Return whether an earlier run put this key. Raises OSError."""
        return self._resumed and os.path.exists(f"{self._real}/{safe_key(key)}")

    def put(self, key: str, data: bytes) -> None:
        """Write a new file. Raises OSError, UnsafeKeyError."""
        self._write(key, (data,))

    def put_pieces(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Write a new file; the kernel copies ranges. Raises OSError, UnsafeKeyError."""
        self._write(key, ranges.join(pieces))

    def _write(self, key: str, pieces: Iterable[bytes | Range]) -> None:
        """Write the file of a key; in a resumable folder under a temporary name, so that it appears whole."""
        folder = safe_key(key).rpartition("/")[0]
        if folder not in self._made:
            self._make(folder)
        path = f"{self._real}/{key}"
        growing = f"{self._real}/{folder}/{GROWING}{os.urandom(8).hex()}" if self._has_journal else path
        file = os.open(growing, _NEW, 0o666)
        try:
            for piece in pieces:
                if isinstance(piece, Range):
                    ranges.copy_to(piece, file)
                else:
                    ranges.write(file, piece)
        except BaseException as error:
            if isinstance(error, OSError) and error.filename is None:
                error.filename = self._real
            if self._has_journal:
                os.unlink(growing)
            raise
        finally:
            os.close(file)
        if self._has_journal:
            os.replace(growing, path)

    def _make(self, folder: str) -> None:
        parent = folder.rpartition("/")[0]
        if parent not in self._made:
            self._make(parent)
        with suppress(FileExistsError):  # another thread, process or run was faster
            os.mkdir(f"{self._real}/{folder}")
        self._made.add(folder)

    def finish(self) -> None:
        """Rename the folder to its final name. Raises OSError, and then leaves an old target unchanged."""
        if self._resumed or self._shared:
            self._remove_partial_files()
        if self._has_journal:
            os.unlink(f"{self._real}/{JOURNAL}")
        with delay_signals():
            try:
                put_in_place(self.path, self.target, overwrite=self.overwrite)
            except CommittedError:  # the old target stays under another name
                self._open = False
                raise
            self._open = False

    def _remove_partial_files(self) -> None:
        """Remove incomplete files of killed processes."""
        for folder, _, files in local_paths.walk(self._real):
            for name in files:
                if name.startswith(GROWING):
                    os.unlink(os.path.join(folder, name))

    def suspend(self) -> bool:
        """Retain the folder if it can be resumed."""
        if self._open and self.kept:
            self._open = False
            return True
        return False

    def abort(self) -> None:
        """Remove the folder unless it is finished or suspended; `remains` names what is removed in the background."""
        if self._open:
            from nczarr.stores.finish import PATIENCE, remove_folder  # only where something went wrong

            with delay_signals():
                with suppress(OSError):
                    self.remains = remove_folder(self.path, patience=PATIENCE)
                unfinished.discard(self.path)
                self._open = False


def _find_unfinished(path: str, journal: StoreJournal) -> str | None:
    """Return an unfinished sibling folder of the same run, or None. Raises OSError."""
    for word, place in leftovers(path):
        data = DirectoryStore(place).get(JOURNAL) if word == "partial" else None
        if data is not None and parse_journal(data).is_of(journal):
            return place
    return None
