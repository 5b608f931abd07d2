"""External files in links, external storage and virtual datasets of an HDF5 file.

A server must know them before reading, because HDF5 opens them with the rights
of the process. Nothing outside of the file is opened here. Source: the HDF5
reference manual (H5L, H5P).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from ctypes import byref, c_int64, c_size_t, c_uint64, create_string_buffer

from nczarr.arrays.execution.library_lock import LOCK
from nczarr.formats.netcdf4.hdf5 import (
    BASIC,
    DATASET,
    GROUP,
    Hdf5,
    ObjectInfo,
    closing,
    hdf5,
    links,
    opened_file,
)
from nczarr.formats.netcdf4.isolation import called
from nczarr.formats.netcdf4.library import MissingLibraryError, library
from nczarr.names import from_bytes

HARD, SOFT, EXTERNAL = 0, 1, 64
"""Kinds of links (H5L_type_t); programs may define others."""

VIRTUAL = 3
"""H5D_layout_t."""

LONGEST = 1 << 16
"""Largest size of a file name or link value, in bytes."""

_PIECES = {"b": "[0-9]+", "%": "%"}
"""Patterns for the `%` sequences in the name of a virtual dataset's source."""


def leading(path: str) -> list[str]:
    """Return the distinct external files of a file, as written; `?` for unknown links.

    Empty if the library is missing or cannot open it. Raises OSError.
    """
    found: list[str] = called(path, _leading, path)
    return found


def _leading(path: str) -> list[str]:
    try:
        lib = library()
    except MissingLibraryError:
        return []
    with LOCK:
        h5 = hdf5(lib)
        with opened_file(h5, path) as file:
            return [] if file < 0 else list(dict.fromkeys(_LinkWalk(h5, file, path).names()))


class _LinkWalk:
    """One walk along hard links; soft links add no objects."""

    def __init__(self, h5: Hdf5, file: int, path: str) -> None:
        self._h5 = h5
        self._path = path
        self._file = file
        self._seen: set[bytes] = set()

    def names(self) -> Iterator[str]:
        pending = [b"/"]
        while pending:
            group = pending.pop()
            for name, kind, size in links(self._h5, self._file, group):
                path = group.rstrip(b"/") + b"/" + name
                if kind == HARD:
                    yield from self._object(path, pending)
                elif kind == EXTERNAL:
                    yield self._target(path, size)
                elif kind != SOFT:
                    yield "?"

    def _object(self, path: bytes, pending: list[bytes]) -> Iterator[str]:
        """Yield the files that a dataset names, or queue a group; each object once."""
        info = ObjectInfo()
        if self._h5.H5Oget_info_by_name3(self._file, path, byref(info), BASIC, 0) < 0:
            return
        token = bytes(info.token)
        if token in self._seen:
            return
        self._seen.add(token)
        if info.type == GROUP:
            pending.append(path)
        elif info.type == DATASET:
            yield from self._dataset(path)

    def _target(self, path: bytes, size: int) -> str:
        """Return the file of an external link: after a byte of flags, up to a NUL."""
        if not 1 < size <= LONGEST:
            return "?"
        value = create_string_buffer(size)
        self._h5.do("H5Lget_val", self._file, path, value, size, 0)
        return from_bytes(value.raw[1:].partition(b"\0")[0])

    def _dataset(self, path: bytes) -> Iterator[str]:
        h5 = self._h5
        dataset = h5.H5Dopen2(self._file, path, 0)
        if dataset < 0:
            return
        with (
            closing(h5, "H5Dclose", dataset),
            closing(h5, "H5Pclose", h5.do("H5Dget_create_plist", dataset)) as made,
        ):
            for name, counted in files_of_values(h5, made):
                yield from _counted(os.path.dirname(self._path), name) if counted else (name,)


def files_of_values(h5: Hdf5, made: int) -> Iterator[tuple[str, bool]]:
    """Yield the other files with values of a dataset, as written, and whether a name is a pattern with `%`.

    `made`: the dataset's creation properties. `?` for unknown names. Raises OSError.
    """
    for number in range(max(0, h5.H5Pget_external_count(made))):
        name, offset, length = create_string_buffer(LONGEST), c_int64(), c_uint64()
        h5.do("H5Pget_external", made, number, LONGEST, name, byref(offset), byref(length))
        yield from_bytes(name.value), False
    if h5.H5Pget_layout(made) != VIRTUAL:
        return
    count = c_size_t()
    h5.do("H5Pget_virtual_count", made, byref(count))
    for number in range(count.value):
        name = create_string_buffer(LONGEST)
        if h5.H5Pget_virtual_filename(made, number, name, LONGEST) < 0:
            yield "?", False
        elif name.value != b".":  # the file itself
            yield from_bytes(name.value), b"%" in name.value


def _counted(home: str, pattern: str) -> Iterator[str]:
    """Yield existing files for a name with block numbers `%b` and literal `%%`. Raises OSError.

    Yields `?` if the folder contains them.
    """
    folder, name = os.path.split(pattern)
    if "%" in folder:
        yield "?"
        return
    parts = re.split(r"(%[0-9]*b|%%)", name)
    wanted = re.compile("".join(_PIECES.get(each[-1:], "") if each[:1] == "%" else re.escape(each) for each in parts))
    for place in {home, os.getcwd()}:
        try:
            found = os.listdir(os.path.join(place, folder))
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield from (os.path.join(folder, each) for each in found if wanted.fullmatch(each))
