"""Merging of headers, and creation of a header for streams without one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from nczarr import names
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read.scan import StreamEntry, is_counted
from nczarr.formats.ncstream.wire.data_columns import MessageColumn
from nczarr.formats.ncstream.wire.definitions import Declared
from nczarr.formats.ncstream.wire.element_types import RAGGED

_KINDS = ("dims", "vars", "structs", "atts", "enumTypes")
"""Content of a group apart from groups, as message fields."""


def merged(headers: Sequence[pb.Header]) -> pb.Header:
    """Merge headers. Later declarations replace earlier ones of the same name."""
    made = pb.Header()
    made.CopyFrom(headers[0])
    root = _Merged(made.root) if len(headers) > 1 else None
    for header in headers[1:]:
        for field in ("location", "title", "id", "nczarr"):
            if header.HasField(field):
                setattr(made, field, getattr(header, field))
        made.fills.extend(header.fills)
        if root is not None:
            root.add(header.root)
    return made


class _Merged:
    """A group under merge, indexed by kind and name so that each lookup is fast."""

    def __init__(self, group: pb.Group) -> None:
        self._group = group
        self._known: dict[str, dict[bytes, Any]] = {}
        self._groups: dict[bytes, _Merged] = {}
        for kind in _KINDS:
            known = self._known.setdefault(kind, {})
            for each in getattr(group, kind):
                known.setdefault(each.name, each)
        for inner in group.groups:
            if inner.name not in self._groups:
                self._groups[inner.name] = _Merged(inner)

    def add(self, more: pb.Group) -> None:
        """Merge the content of another group."""
        for kind in _KINDS:
            known = self._known[kind]
            for each in getattr(more, kind):
                if each.name not in known:
                    known[each.name] = getattr(self._group, kind).add()
                known[each.name].CopyFrom(each)
        for inner in more.groups:
            if inner.name in self._groups:
                self._groups[inner.name].add(inner)
            else:
                made = self._group.groups.add()
                made.CopyFrom(inner)
                self._groups[inner.name] = _Merged(made)


def made_up(entries: Iterable[StreamEntry]) -> pb.Header:
    """Return a header derived from data messages, whose sections are taken as whole variables."""
    header = pb.Header(root=pb.Group(name=b""))
    root = _Made(header.root)
    for entry in entries:
        if entry.kind == "column" and entry.column is not None:
            home, name = root.home(entry.column.message.name)
            if home.takes(name):
                _column(home.group, entry.column, name, 0)
        elif entry.kind == "data":
            _data(root, entry)
    return header


class _Made:
    """A derived group and the names in it."""

    def __init__(self, group: pb.Group) -> None:
        self.group = group
        self._taken: set[bytes] = set()
        self._inner: dict[bytes, _Made] = {}

    def takes(self, name: bytes) -> bool:
        """Reserve a variable name; return whether it was free."""
        new = name not in self._taken
        self._taken.add(name)
        return new

    def home(self, full: bytes) -> tuple[_Made, bytes]:
        """Return the group of a variable, created if missing, and its name, from the full name."""
        *groups, name = full.removeprefix(b"/").split(b"/")
        home = self
        for each in map(_unescaped, groups):
            if each not in home._inner:
                home._inner[each] = _Made(home.group.groups.add(name=each))
            home = home._inner[each]
        return home, _unescaped(name)


def _data(root: _Made, entry: StreamEntry) -> None:
    message: pb.Data = entry.message
    if message.dataType in (pb.STRUCTURE, pb.SEQUENCE):
        return  # nothing says what their members are
    home, name = root.home(message.varName)
    if not home.takes(name):
        return
    ranges = [each for each in message.section.range if each.size != RAGGED]
    shape = [pb.Dimension(length=each.size, isPrivate=True) for each in ranges]
    if is_counted(message) and message.vdata:
        shape.append(pb.Dimension(name=b"*", isVlen=True, isPrivate=True))
    home.group.vars.add(name=name, dataType=message.dataType, shape=shape)


def _column(into: pb.Group | pb.Structure, column: MessageColumn, name: bytes, rank: int) -> None:
    """Declare a column as variable or member; `rank`: number of dimensions of its structure."""
    message = column.message
    ranges: list[Any] = [each for each in message.section.range if each.size != RAGGED][rank:]
    shape = [pb.Dimension(length=each.size, isPrivate=True) for each in ranges]
    inner = column
    while inner.message.isVlen:
        shape.append(pb.Dimension(name=b"*", isVlen=True, isPrivate=True))
        if len(inner.members) != 1 or inner.members[0].message.name:
            break
        inner = inner.members[0]
    if message.dataType not in (pb.STRUCTURE, pb.SEQUENCE):
        into.vars.add(name=name, dataType=message.dataType, shape=shape)
        return
    made = into.structs.add(name=name, dataType=pb.STRUCTURE, shape=shape)
    behind = 1 if message.isVlen else rank + len(ranges)
    for member in inner.members:
        _column(made, member, member.message.name, behind)


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
