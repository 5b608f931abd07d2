"""Merging of headers, and creation of a header for streams without one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from nczarr import names
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read.data_columns import MessageColumn
from nczarr.formats.ncstream.read.scan import StreamEntry, is_counted
from nczarr.formats.ncstream.wire.definitions import Declared
from nczarr.formats.ncstream.wire.element_types import RAGGED

_KINDS = ("dims", "vars", "structs", "atts", "enumTypes")
"""Content of a group apart from groups, as message fields."""


def merged(headers: Sequence[pb.Header]) -> pb.Header:
    """Merge headers. Later declarations replace earlier ones of the same name."""
    header_of_all = pb.Header()
    header_of_all.CopyFrom(headers[0])
    root = _Merged(header_of_all.root) if len(headers) > 1 else None
    for header in headers[1:]:
        for field in ("location", "title", "id", "nczarr"):
            if header.HasField(field):
                setattr(header_of_all, field, getattr(header, field))
        header_of_all.fills.extend(header.fills)
        if root is not None:
            root.add(header.root)
    return header_of_all


class _Merged:
    """A group under merge, indexed by kind and name so that each lookup is fast."""

    def __init__(self, group: pb.Group) -> None:
        self._group = group
        self._known: dict[str, dict[bytes, Any]] = {}
        self._groups: dict[bytes, _Merged] = {}
        for kind in _KINDS:
            by_name = self._known.setdefault(kind, {})
            for declared in getattr(group, kind):
                by_name.setdefault(declared.name, declared)
        for inner in group.groups:
            if inner.name not in self._groups:
                self._groups[inner.name] = _Merged(inner)

    def add(self, more: pb.Group) -> None:
        """Merge the content of another group."""
        for kind in _KINDS:
            by_name = self._known[kind]
            for declared in getattr(more, kind):
                if declared.name not in by_name:
                    by_name[declared.name] = getattr(self._group, kind).add()
                by_name[declared.name].CopyFrom(declared)
        for inner in more.groups:
            if inner.name in self._groups:
                self._groups[inner.name].add(inner)
            else:
                copy = self._group.groups.add()
                copy.CopyFrom(inner)
                self._groups[inner.name] = _Merged(copy)


def derived(entries: Iterable[StreamEntry]) -> pb.Header:
    """Return a header derived from data messages, whose sections are taken as whole variables."""
    header = pb.Header(root=pb.Group(name=b""))
    root = _DerivedGroup(header.root)
    for entry in entries:
        if entry.kind == "column" and entry.column is not None:
            home, name = root.home(entry.column.message.name)
            if home.takes(name):
                _column(home.group, entry.column, name, 0)
        elif entry.kind == "data":
            _data(root, entry)
    return header


class _DerivedGroup:
    """A derived group and the names in it."""

    def __init__(self, group: pb.Group) -> None:
        self.group = group
        self._taken: set[bytes] = set()
        self._inner: dict[bytes, _DerivedGroup] = {}

    def takes(self, name: bytes) -> bool:
        """Reserve a variable name; return whether it was free."""
        new = name not in self._taken
        self._taken.add(name)
        return new

    def home(self, full: bytes) -> tuple[_DerivedGroup, bytes]:
        """Return the group of a variable, created if missing, and its name, from the full name."""
        *groups, name = full.removeprefix(b"/").split(b"/")
        home = self
        for group_name in map(_unescaped, groups):
            if group_name not in home._inner:
                home._inner[group_name] = _DerivedGroup(home.group.groups.add(name=group_name))
            home = home._inner[group_name]
        return home, _unescaped(name)


def _data(root: _DerivedGroup, entry: StreamEntry) -> None:
    message: pb.Data = entry.message
    if message.dataType in (pb.STRUCTURE, pb.SEQUENCE):
        return  # nothing says what their members are
    home, name = root.home(message.varName)
    if not home.takes(name):
        return
    ranges = [indices for indices in message.section.range if indices.size != RAGGED]
    shape = [pb.Dimension(length=indices.size, isPrivate=True) for indices in ranges]
    if is_counted(message) and message.vdata:
        shape.append(pb.Dimension(name=b"*", isVlen=True, isPrivate=True))
    home.group.vars.add(name=name, dataType=message.dataType, shape=shape)


def _column(into: pb.Group | pb.Structure, column: MessageColumn, name: bytes, rank: int) -> None:
    """Declare a column as variable or member; `rank`: number of dimensions of its structure."""
    message = column.message
    ranges: list[Any] = [indices for indices in message.section.range if indices.size != RAGGED][rank:]
    shape = [pb.Dimension(length=indices.size, isPrivate=True) for indices in ranges]
    inner = column
    while inner.message.isVlen:
        shape.append(pb.Dimension(name=b"*", isVlen=True, isPrivate=True))
        if len(inner.members) != 1 or inner.members[0].message.name:
            break
        inner = inner.members[0]
    if message.dataType not in (pb.STRUCTURE, pb.SEQUENCE):
        into.vars.add(name=name, dataType=message.dataType, shape=shape)
        return
    structure = into.structs.add(name=name, dataType=pb.STRUCTURE, shape=shape)
    behind = 1 if message.isVlen else rank + len(ranges)
    for member in inner.members:
        _column(structure, member, member.message.name, behind)


def _unescaped(name: bytes) -> bytes:
    return re.sub(rb"\\(.)", rb"\1", name, flags=re.DOTALL)


def alone(path: str, declared: Declared | None) -> bytes:
    """Serialize a header that declares one variable."""
    header = pb.Header(root=pb.Group(name=b""))
    group = header.root
    for name in names.split(names.parent(path)):
        group = group.groups.add(name=name.encode("utf-8", "surrogateescape"))
    if isinstance(declared, pb.Structure):
        group.structs.append(declared)
    elif declared is not None:
        group.vars.append(declared)
    return header.SerializeToString()
