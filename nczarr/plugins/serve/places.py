"""Lookup of URL paths below the root.

Invariant: no segment leads out of the root. `.`, `..`, path separators of any system, NUL, and links that leave the
root find nothing. Hidden names and unfinished targets are invisible. References in documents are checked when they are
opened (`stores/reference_policy.py`). The library itself opens files that an HDF5 file names, so these are checked
first, against the same roots (`plugins/common/linked_files.py`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from nczarr.stores import local_paths
from nczarr.stores.ranges import BoundedCache

UNFINISHED = re.compile(r"\.(?:partial|replaced)-")
"""Pattern in the names of unfinished and replaced targets."""

KNOWN_FOLDERS = 4096
"""Maximum folders for which the check for a store is cached."""


class ServedPlace(NamedTuple):
    """A folder or dataset below the root."""

    path: str
    """Path in the file system."""
    segments: tuple[str, ...]
    """Segments of its name."""
    behind: tuple[str, ...] = ()
    """Further URL segments; of datasets only."""
    folder: bool = False
    """True for a folder that is not a dataset."""
    store: bool = False
    """True for a dataset that is a folder in the file system."""

    @property
    def name(self) -> str:
        """Path below the root."""
        return "/".join(self.segments)

    @property
    def key(self) -> tuple[str, str]:
        """File and name: what is derived from a dataset has the name by which it was asked for, maybe a link's."""
        return self.path, self.name


def is_visible(name: str) -> bool:
    """Return whether a name may be served."""
    return bool(name) and name[0] != "." and not UNFINISHED.search(name) and not re.search(r"[/\\\0]", name)


class Root:
    """A folder of datasets, or a single dataset. Raises OSError if it is unreachable."""

    def __init__(self, path: str) -> None:
        self.real = local_paths.real(path)
        status = os.stat(self.real)
        self._stores: BoundedCache[tuple[str, int, int], bool] = BoundedCache(KNOWN_FOLDERS)
        folder = stat.S_ISDIR(status.st_mode)
        if not folder and not stat.S_ISREG(status.st_mode):
            raise OSError(None, "it is neither a folder nor a file", path)
        os.listdir(self.real) if folder else os.close(os.open(self.real, os.O_RDONLY))
        self.only = not folder or self._is_store(self.real)
        self.title = local_paths.name_of(self.real) or "data"
        self.home = local_paths.parent_of(self.real) if self.only and not folder else self.real
        """The folder out of which nothing leads."""

    def find(self, segments: Sequence[str]) -> ServedPlace | None:
        """Return the place that the segments name, None if nothing is served there. Raises OSError."""
        path_segments = tuple(segments)
        if self.only:
            if not path_segments:
                return ServedPlace(self.real, (), folder=True)
            if path_segments[0] != self.title:
                return None
            return ServedPlace(self.real, path_segments[:1], path_segments[1:], store=os.path.isdir(self.real))
        path = self.real
        for number, segment in enumerate(path_segments, 1):
            entry = self._find_entry(path, segment)
            if entry is None:
                return None
            path, mode = entry
            if stat.S_ISREG(mode):
                return ServedPlace(path, path_segments[:number], path_segments[number:])
            if self._is_store(path):
                return ServedPlace(path, path_segments[:number], path_segments[number:], store=True)
        return ServedPlace(path, path_segments, folder=True)

    def _find_entry(self, folder: str, name: str) -> tuple[str, int] | None:
        """Return the real path and mode of an entry of a folder; None if it is not served."""
        if not is_visible(name):
            return None
        path = local_paths.join(folder, name)
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                path = local_paths.real(path, must_exist=True)
                if not self._holds(path):
                    return None
                status = os.lstat(path)
        except (OSError, ValueError):  # not there, a circle of links, a name that no file can have
            return None
        return (path, status.st_mode) if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) else None

    def _holds(self, real: str) -> bool:
        """Return whether a real path is below the root without a hidden folder in between."""
        segments = local_paths.segments_below(real, self.real)
        return segments is not None and all(map(is_visible, segments))

    def _is_store(self, path: str) -> bool:
        """Return whether a folder is a store of any format."""
        status = os.stat(path)
        key = path, status.st_ino, status.st_mtime_ns
        known: bool | None = self._stores.get(key)
        if known is None:
            from nczarr.registry import detect_store
            from nczarr.stores.directory import DirectoryStore

            known = detect_store(DirectoryStore(path)) is not None
            self._stores.put(key, known)
        return known

    def names(self, folder: ServedPlace) -> list[str]:
        """Return the sorted visible names in a folder, without inspecting them. Raises OSError."""
        if self.only:
            return [self.title]
        with os.scandir(folder.path) as entries:
            return sorted(entry.name for entry in entries if is_visible(entry.name))

    def list_sorted(self, folder: ServedPlace, key: str) -> list[str]:
        """Return the visible names in a folder by `name`, `size` or `date`, backward behind a minus. Raises OSError."""
        found = self.names(folder)
        if key.endswith("name") or self.only:
            return found[::-1] if key.startswith("-") else found
        facts: dict[str, int] = {}
        with os.scandir(folder.path) as entries:
            for entry in entries:
                with suppress(OSError):  # it has gone in the meantime
                    status = entry.stat(follow_symlinks=False)
                    is_file = stat.S_ISREG(status.st_mode)
                    facts[entry.name] = status.st_mtime_ns if key.endswith("date") else status.st_size * is_file
        return sorted(found, key=lambda name: facts.get(name, 0), reverse=key.startswith("-"))

    def child(self, folder: ServedPlace, name: str) -> ServedPlace | None:
        """Return the place of a name in a folder. Raises OSError."""
        return self.find((*folder.segments, name))
