"""External files in links, external storage and virtual datasets of an HDF5 file.

A server must know them before reading, because HDF5 opens them with the rights
of the process. Nothing outside of the file is opened here. Source: the HDF5
reference manual (H5L, H5P).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from ctypes import byref, c_size_t, create_string_buffer

from nczarr.arrays.execution.library_lock import LOCK
from nczarr.formats.netcdf4.hdf5 import closing, hdf5, opened_file
from nczarr.formats.netcdf4.header.dataset_info import VIRTUAL
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, header_file
from nczarr.formats.netcdf4.header.file_objects import ObjectTable, read_objects
from nczarr.formats.netcdf4.header.groups import EXTERNAL, HARD, SOFT
from nczarr.formats.netcdf4.isolation import called
from nczarr.formats.netcdf4.library import MissingLibraryError, library
from nczarr.names import from_bytes

LONGEST = 1 << 16
"""Largest size of a file name or link value, in bytes."""

_PIECES = {"b": "[0-9]+", "%": "%"}
"""Patterns for the `%` sequences in the name of a virtual dataset's source."""


def leading(path: str) -> list[str]:
    """Return the distinct external files of a file, as written; `?` for unknown links.

    Empty if the file is damaged. Raises OSError.
    """
    try:
        with header_file(path) as file:
            table = read_objects(file, path)
    except DAMAGE:
        return []
    return list(dict.fromkeys(_names(table)))


def _names(table: ObjectTable) -> Iterator[str]:
    """Yield the external files of a file; each object is visited once, along hard links."""
    pending, seen = [(b"", table.root)], {table.root}
    while pending:
        path, address = pending.pop()
        one = table.objects[address]
        for link in (one.links or {}).values():
            if link.kind == EXTERNAL:
                yield from_bytes(link.target[1:].partition(b"\0")[0])
            elif link.is_hard and link.address not in seen:
                seen.add(link.address)
                pending.append((path + b"/" + link.name, link.address))
            elif link.kind not in (HARD, SOFT):
                yield "?"
        if one.dataset is not None:
            yield from map(from_bytes, one.dataset.files)
            if one.dataset.info.layout == VIRTUAL:
                yield from _sources(table.path, path)


def _sources(path: str, dataset: bytes) -> Iterator[str]:
    """Yield the files that have the values of a virtual dataset. Raises OSError."""
    names: list[bytes | None] = called(path, _virtual_names, path, dataset)
    for name in names:
        if name is None:
            yield "?"
        elif b"%" in name:
            yield from _counted(os.path.dirname(path), from_bytes(name))
        elif name != b".":  # the file itself
            yield from_bytes(name)


def _virtual_names(path: str, dataset: bytes) -> list[bytes | None]:
    """Return the names of the sources of a virtual dataset, by HDF5; None for unknown ones. Raises OSError."""
    try:
        h5 = hdf5(library())
    except MissingLibraryError:
        return [None]
    names: list[bytes | None] = []
    with (
        LOCK,
        opened_file(h5, path, needed=True) as file,
        closing(h5, "H5Dclose", h5.do("H5Dopen2", file, dataset, 0)) as opened,
        closing(h5, "H5Pclose", h5.do("H5Dget_create_plist", opened)) as properties,
    ):
        count = c_size_t()
        h5.do("H5Pget_virtual_count", properties, byref(count))
        for number in range(count.value):
            name = create_string_buffer(LONGEST)
            length = h5.H5Pget_virtual_filename(properties, number, name, LONGEST)
            names.append(None if length < 0 else name.value)
    return names


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
