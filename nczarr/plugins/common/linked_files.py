"""Files that the HDF5 library opens for a file: those of its links, external storage and virtual datasets.

A server must know them before reading, because HDF5 opens them with the rights
of the process. Nothing outside of the file is opened here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nczarr import registry
from nczarr.diagnostics.report import HEAD
from nczarr.formats.netcdf4.header.dataset_info import VIRTUAL
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, header_file
from nczarr.formats.netcdf4.header.file_objects import EXTERNAL, HARD, SOFT, ObjectTable, read_objects
from nczarr.formats.netcdf4.header_model import ask_library
from nczarr.names import from_bytes
from nczarr.options import Following
from nczarr.stores import local_paths
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy
from nczarr.stores.url import is_remote

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


DEEPEST = 16
"""Maximum depth of files that name further files."""

PREFIXES = ("HDF5_EXT_PREFIX", "HDF5_VDS_PREFIX", "HDF5_EXTFILE_PREFIX")
"""Environment variables with HDF5's search prefixes."""


LINKING = ("netcdf4",)
"""Formats whose library opens other files for a file."""


def find_forbidden(path: str, following: Following) -> str | None:
    """Return the first name in a file, or in a file it leads to, that may not be read; None if all may.

    Raises OSError.
    """
    pending, seen = [(path, 0)], {local_paths.real(path)}
    while pending:
        place, depth = pending.pop()
        for name in list_external_files(place):
            if depth == DEEPEST or "\0" in name or name == "?":
                return str(name)
            for found in _list_places(place, name):
                real = local_paths.real(found)  # as the system goes: a link first, and then `..`
                try:
                    Policy(local_paths.parent_of(place), following).follow(real)
                except ForbiddenTargetError:
                    return str(name)
                if real not in seen and os.path.isfile(real):
                    seen.add(real)
                    pending.append((real, depth + 1))
    return None


def _list_places(file: str, name: str) -> Iterator[str]:
    """Yield the places where HDF5 looks for a named file.

    These are beside the naming file; if it exists, also the working directory
    and the prefixes of the environment; and the last part of a missing absolute
    path.
    """
    home = local_paths.parent_of(file)
    yield local_paths.join(home, name)
    prefixes = [each for variable in PREFIXES for each in os.environ.get(variable, "").split(os.pathsep) if each]
    folders = [home, os.getcwd(), *(each.replace("${ORIGIN}", home) for each in prefixes)]
    for found in (local_paths.join(folder, part) for folder in folders for part in (name, local_paths.name_of(name))):
        if os.path.lexists(found):
            yield found


def find_forbidden_link(place: str, following: Following) -> str | None:
    """Return the first name in a local file that may not be read, if the run names its roots. Raises OSError."""
    if not following.roots or is_remote(place) or not os.path.isfile(place):
        return None
    with open(place, "rb") as file:
        form = registry.detect(place, file.read(HEAD))
    return None if form is None or form.name not in LINKING else find_forbidden(place, following)
