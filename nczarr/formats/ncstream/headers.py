"""Headers put together, and made up: later ones add to earlier ones, and a stream may have none (ncstream §2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from nczarr import names
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.columns import Column
from nczarr.formats.ncstream.definitions import Declared
from nczarr.formats.ncstream.elements import RAGGED
from nczarr.formats.ncstream.scanning import Entry, is_counted


def merged(headers: Sequence[pb.Header]) -> pb.Header:
    """One header of several: of two declarations of one name the later one counts."""
    made = pb.Header()
    made.CopyFrom(headers[0])
    for header in headers[1:]:
        for field in ("location", "title", "id", "nczarr"):
            if header.HasField(field):
                setattr(made, field, getattr(header, field))
        made.fills.extend(header.fills)
        _add(made.root, header.root)
    return made


def _add(into: pb.Group, more: pb.Group) -> None:
    for field in ("dims", "vars", "structs", "atts", "enumTypes"):
        known = getattr(into, field)
        for each in getattr(more, field):
            place = next((place for place, other in enumerate(known) if other.name == each.name), None)
            if place is None:
                known.append(each)
            else:
                known[place].CopyFrom(each)
    for group in more.groups:
        same = next((other for other in into.groups if other.name == group.name), None)
        if same is None:
            into.groups.append(group)
        else:
            _add(same, group)


def made_up(entries: Iterable[Entry]) -> pb.Header:
    """The header that data messages make up by themselves: their sections are whole variables."""
    header = pb.Header(root=pb.Group(name=b""))
    for entry in entries:
        if entry.kind == "column" and entry.column is not None:
            group, name = _home(header.root, entry.column.message.name)
            taken = {*(each.name for each in group.vars), *(each.name for each in group.structs)}
            if name not in taken:
                _column(group, entry.column, name, 0)
        elif entry.kind == "data":
            _data(header.root, entry)
    return header


def _data(root: pb.Group, entry: Entry) -> None:
    message: pb.Data = entry.message
    if message.dataType in (pb.STRUCTURE, pb.SEQUENCE):
        return  # nothing says what their members are
    ranges = [each for each in message.section.range if each.size != RAGGED]
    shape = [pb.Dimension(length=each.size, isPrivate=True) for each in ranges]
    if is_counted(message) and message.vdata:
        shape.append(pb.Dimension(name=b"*", isVlen=True, isPrivate=True))
    group, name = _home(root, message.varName)
    if all(each.name != name for each in group.vars):
        group.vars.add(name=name, dataType=message.dataType, shape=shape)


def _column(into: pb.Group | pb.Structure, column: Column, name: bytes, rank: int) -> None:
    """A column as a variable, or member of a structure whose own dimensions are `rank`."""
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


def _home(root: pb.Group, full: bytes) -> tuple[pb.Group, bytes]:
    """The group of a variable, made where it is not there, and its name, out of its full one (§9)."""
    *groups, name = full.removeprefix(b"/").split(b"/")
    for each in map(_unescaped, groups):
        root = next((group for group in root.groups if group.name == each), None) or root.groups.add(name=each)
    return root, _unescaped(name)


def _unescaped(name: bytes) -> bytes:
    return re.sub(rb"\\(.)", rb"\1", name, flags=re.DOTALL)


def alone(path: str, declared: Declared | None) -> bytes:
    """A header with one variable."""
    header = pb.Header(root=pb.Group(name=b""))
    group = header.root
    for name in names.split(names.parent(path)):
        group = group.groups.add(name=name.encode("utf-8", "surrogateescape"))
    if isinstance(declared, pb.Structure):
        group.structs.append(declared)
    elif declared is not None:
        group.vars.append(declared)
    return header.SerializeToString()
