"""Targets of links of an HDF5 file, in the file itself and in others."""

from __future__ import annotations

import os
from typing import NamedTuple

from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, header_file
from nczarr.formats.netcdf4.header.file_objects import EXTERNAL, SOFT, FileObject, Link, ObjectTable, read_objects
from nczarr.stores import remote_file

MOST_LINKS = 16
"""Maximum soft and external links that lead to each other."""


class LocatedObject(NamedTuple):
    """Object with the file that has it, and its name in a group."""

    name: str
    """Name of the link."""
    table: ObjectTable
    address: int

    @property
    def object(self) -> FileObject:
        """The object."""
        return self.table.objects[self.address]

    @property
    def identity(self) -> tuple[str, int]:
        """Path of the file and address."""
        return self.table.path, self.address


class LinkedFiles:
    """A file, and the others that its external links lead to. It raises UnreadableHeaderError, and OSError."""

    def __init__(self, path: str) -> None:
        with header_file(path) as file:
            self.table = read_objects(file, path)
            """Objects of the file."""
        self.is_remote = remote_file.at(path) is not None
        """True for a remote file, whose links lead to no other file: not to those of this machine."""
        self._tables: dict[str, ObjectTable | None] = {path: self.table}

    def follow(self, link: Link, table: ObjectTable, group: int, depth: int = 0) -> tuple[ObjectTable, int] | None:
        """Return file and address of the object that a link of a group leads to; None for a broken link."""
        if link.is_hard:
            return (table, link.address) if link.address in table.objects else None
        if depth == MOST_LINKS:
            return None
        if link.kind == SOFT:
            return self._walk(link.target.rstrip(b"\0"), table, group, depth + 1)
        if link.kind != EXTERNAL or link.target[:1] != b"\0" or self.is_remote:
            return None
        name, _, path = link.target[1:].partition(b"\0")
        other = self._other_file(os.fsdecode(name), table.path)
        return None if other is None else self._walk(b"/" + path.rstrip(b"\0"), other, other.root, depth + 1)

    def _walk(self, path: bytes, table: ObjectTable, group: int, depth: int) -> tuple[ObjectTable, int] | None:
        """Return file and address of the object at a path from a group; None for a broken link."""
        here = table, table.root if path.startswith(b"/") else group
        for name in path.split(b"/"):
            if name in (b"", b"."):
                continue
            link = (here[0].objects[here[1]].links or {}).get(name)
            target = None if link is None else self.follow(link, *here, depth)
            if target is None:
                return None
            here = target
        return here

    def _other_file(self, name: str, path: str) -> ObjectTable | None:
        """Return the objects of the file that an external link names, as HDF5 finds it; None if it cannot be read."""
        prefix = os.environ.get("HDF5_EXT_PREFIX")
        folders = [*([] if prefix is None else [prefix]), os.path.dirname(path), ""]
        for candidate in (os.path.join(folder, name) for folder in folders):
            if candidate not in self._tables and os.path.isfile(candidate):
                try:
                    with header_file(candidate) as file:
                        self._tables[candidate] = read_objects(file, candidate)
                except (*DAMAGE, OSError):
                    self._tables[candidate] = None
            if candidate in self._tables:
                return self._tables[candidate]
        return None
