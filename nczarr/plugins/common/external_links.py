"""External files in links, external storage and virtual datasets of an HDF5 file.

A server must know them before reading, because HDF5 opens them with the rights
of the process. Nothing outside of the file is opened here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nczarr.formats.netcdf4.header.dataset_info import VIRTUAL
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, header_file
from nczarr.formats.netcdf4.header.file_objects import EXTERNAL, HARD, SOFT, ObjectTable, read_objects
from nczarr.formats.netcdf4.header_model import ask_library
from nczarr.names import from_bytes
from nczarr.stores import local_paths

_PIECES = {"b": "[0-9]+", "%": "%"}
"""Patterns for the `%` sequences in the name of a virtual dataset's source."""


def list_external_files(path: str) -> list[str]:
    """Return the distinct external files of a file, as written; `?` for unknown links.

    Empty if the file is damaged. Raises OSError.
    """
    try:
        with header_file(path) as file:
            table = read_objects(file, path, ask_library)
    except DAMAGE:
        return []
    return list(dict.fromkeys(_names(table)))


def _names(table: ObjectTable) -> Iterator[str]:
    """Yield the external files of a file; each object is visited once, along hard links."""
    pending, seen = [table.root], {table.root}
    while pending:
        one = table.objects[pending.pop()]
        for link in (one.links or {}).values():
            if link.kind == EXTERNAL:
                yield from_bytes(link.target[1:].partition(b"\0")[0])
            elif link.is_hard and link.address not in seen:
                seen.add(link.address)
                pending.append(link.address)
            elif link.kind not in (HARD, SOFT):
                yield "?"
        for name in () if one.dataset is None else one.dataset.files:
            if name is None:
                yield "?"
            elif one.dataset is not None and one.dataset.info.layout == VIRTUAL and b"%" in name:
                yield from _list_numbered(local_paths.parent_of(table.path), from_bytes(name))
            else:
                yield from_bytes(name)


def _list_numbered(home: str, pattern: str) -> Iterator[str]:
    """Yield existing files for a name with block numbers `%b` and literal `%%`. Raises OSError.

    Yields `?` if the folder contains them.
    """
    folder, name = local_paths.split(pattern)
    if "%" in folder:
        yield "?"
        return
    parts = re.split(r"(%[0-9]*b|%%)", name)
    wanted = re.compile("".join(_PIECES.get(each[-1:], "") if each[:1] == "%" else re.escape(each) for each in parts))
    for place in {home, os.getcwd()}:
        try:
            found = os.listdir(local_paths.join(place, folder))
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield from (local_paths.join(folder, each) for each in found if wanted.fullmatch(each))
