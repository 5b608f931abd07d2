"""Headers as messages: merged, derived for streams without one, and with unique names.

Data messages use the sender's spelling of names, so both spellings are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from nczarr import names
from nczarr.names import from_bytes
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read.data_columns import MessageColumn
from nczarr.plugins.ncstream.read.scan import StreamEntry, is_counted
from nczarr.plugins.ncstream.wire.element_types import RAGGED, Declared, cdm_full_name
from nczarr.semantics.check_names import make_unique, namesakes
from nczarr.semantics.checked import Namesake

_KINDS = ("dims", "vars", "structs", "atts", "enumTypes")
"""Content of a group apart from groups, as message fields; groups come last."""


def merge(headers: Sequence[pb.Header]) -> pb.Header:
    """Merge headers. Later declarations replace earlier ones of the same name."""
    header_of_all = pb.Header()
    header_of_all.CopyFrom(headers[0])
    root = header_of_all.root
    known: dict[tuple[int, str, bytes], Any] = {}  # by group, kind and name

    def index(group: pb.Group) -> None:
        for kind in (*_KINDS, "groups"):
            for declared in getattr(group, kind):
                if known.setdefault((id(group), kind, declared.name), declared) is declared and kind == "groups":
                    index(declared)

    def add(group: pb.Group, more: pb.Group) -> None:
        """Add the declarations of a later header to a group; one with a known name replaces it, groups are merged."""
        for kind in (*_KINDS, "groups"):
            for declared in getattr(more, kind):
                key = (id(group), kind, declared.name)
                if kind == "groups" and key in known:
                    add(known[key], declared)
                    continue
                if key not in known:
                    known[key] = getattr(group, kind).add()
                known[key].CopyFrom(declared)
                if kind == "groups":
                    index(known[key])

    if len(headers) > 1:
        index(root)
    for header in headers[1:]:
        for field in ("location", "title", "id", "nczarr"):
            if header.HasField(field):
                setattr(header_of_all, field, getattr(header, field))
        header_of_all.fills.extend(header.fills)
        add(root, header.root)
    return header_of_all


def derive_header(entries: Iterable[StreamEntry]) -> pb.Header:
    """Return a header derived from data messages, whose sections are taken as whole variables."""
    header = pb.Header(root=pb.Group(name=b""))
    groups: dict[tuple[int, bytes], pb.Group] = {}
    taken: set[tuple[int, bytes]] = set()
    root = header.root
    for entry in entries:
        column, message = entry.column, entry.message
        if column is None and message.dataType in (pb.STRUCTURE, pb.SEQUENCE):
            continue  # nothing says what their members are
        full: bytes = message.varName if column is None else message.name
        *path, name = map(_unescape, full.removeprefix(b"/").split(b"/"))
        group = root
        for inner in path:
            key = (id(group), inner)
            if key not in groups:
                groups[key] = group.groups.add(name=inner)
            group = groups[key]
        if (id(group), name) in taken:
            continue
        taken.add((id(group), name))
        if column is not None:
            _column(group, column, name, 0)
            continue
        shape = _list_dimensions(message)
        if is_counted(message) and message.vdata:
            shape.append(pb.Dimension(name=b"*", isVlen=True, isPrivate=True))
        group.vars.add(name=name, dataType=message.dataType, shape=shape)
    return header


def _list_dimensions(message: pb.Data | pb.DataCol) -> list[pb.Dimension]:
    """Return the section of a message as dimensions, without ragged ones."""
    ranges = message.section.range
    return [pb.Dimension(length=part.size, isPrivate=True) for part in ranges if part.size != RAGGED]


def _column(into: pb.Group | pb.Structure, column: MessageColumn, name: bytes, rank: int) -> None:
    """Declare a column as variable or member; `rank`: number of dimensions of its structure."""
    message = column.message
    shape = _list_dimensions(message)[rank:]
    behind = 1 if message.isVlen else rank + len(shape)
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
    for member in inner.members:
        _column(structure, member, member.message.name, behind)


def _unescape(name: bytes) -> bytes:
    return re.sub(rb"\\(.)", rb"\1", name, flags=re.DOTALL)


def serialize_alone(path: str, declared: Declared | None) -> bytes:
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


class UniqueHeader(NamedTuple):
    """A header whose names are unique and in NFC."""

    header: pb.Header
    """A renamed copy, or the header itself if unchanged."""
    namesakes: list[Namesake]
    """Renamed items."""
    spelled: dict[str, str]
    """Sender's FQN by FQN in the tree, for variables where they differ."""

    def wire_name(self, path: str) -> str:
        """Return the full name of a variable in messages."""
        return cdm_full_name(self.spelled.get(path, path))


def find_named(header: pb.Header) -> UniqueHeader:
    """Return the header with unique names."""
    if not any(map(_may_clash, _scopes(header.root))):
        return UniqueHeader(header, [], {})
    renamed = pb.Header()
    renamed.CopyFrom(header)
    naming = _Naming()
    naming.group(renamed.root, "/", "/", {}, {})
    return UniqueHeader(renamed, naming.namesakes, naming.spelled)


def _may_clash(scope: list[bytes]) -> bool:
    return len(set(scope)) < len(scope) or not all(name.isascii() for name in scope)


def _is_shared(dimension: pb.Dimension) -> bool:
    return not (dimension.isPrivate or dimension.isVlen)


def _scopes(root: pb.Group) -> Iterator[list[bytes]]:
    """Yield the names of each scope of a header."""
    pending: list[Any] = [root]
    while pending:
        scope = pending.pop()
        inner = [*scope.vars, *scope.structs]
        pending.extend(scope.structs)
        if isinstance(scope, pb.Group):
            pending.extend(scope.groups)
            inner += [*scope.enumTypes, *scope.groups]
            yield [dimension.name for dimension in filter(_is_shared, scope.dims)]
            yield from ([item.value for item in enum.map] for enum in scope.enumTypes)
        yield [declared.name for declared in inner]


class _Naming:
    """State of one run; changes the header."""

    def __init__(self) -> None:
        self.namesakes: list[Namesake] = []
        self.spelled: dict[str, str] = {}

    def group(
        self, group: pb.Group, path: str, written: str, dimensions: dict[bytes, bytes], enums: dict[bytes, bytes]
    ) -> None:
        """Rename everything below a group at sender's path `written`; the dicts hold new names from outer groups."""
        below = [element.name for element in group.groups]
        kinds: list[tuple[str, Iterable[Any]]] = [
            ("type", group.enumTypes),
            ("dimension", filter(_is_shared, group.dims)),
            ("variable", group.vars),
            ("variable", group.structs),
            ("group", group.groups),
        ]
        entries = [(kind, element) for kind, elements in kinds for element in elements]
        renamed: dict[str, dict[bytes, bytes]] = {"type": dict(enums), "dimension": dict(dimensions)}
        seen: set[tuple[str, bytes]] = set()  # of two with one spelling, others mean the first
        for (kind, element), before in zip(entries, self._make_names_unique(entries, path), strict=True):
            if (kind, before) in seen:
                continue
            seen.add((kind, before))
            if kind in renamed:
                renamed[kind][before] = element.name
            elif kind == "variable" and (before != element.name or path != written):
                self.spelled[names.join(path, from_bytes(element.name))] = names.join(written, from_bytes(before))
        for element in group.enumTypes:
            self._make_names_unique(
                [("enum constant", item) for item in element.map], names.join(path, from_bytes(element.name)), "value"
            )
        variables: list[Any] = [*group.vars, *group.structs]
        for element in variables:
            self._rename_in_variable(
                element, names.join(path, from_bytes(element.name)), renamed["dimension"], renamed["type"]
            )
        for child, name in zip(group.groups, below, strict=True):
            inside = names.join(path, from_bytes(child.name)), names.join(written, from_bytes(name))
            self.group(child, *inside, renamed["dimension"], renamed["type"])

    def _rename_in_variable(
        self, variable: Any, path: str, dimensions: dict[bytes, bytes], enums: dict[bytes, bytes]
    ) -> None:
        """Rename the members of a structure; apply the new names of dimensions and enums."""
        for dimension in variable.shape:
            if not dimension.isPrivate and dimension.name in dimensions:
                dimension.name = dimensions[dimension.name]
        if isinstance(variable, pb.Variable):
            if variable.enumType in enums:
                variable.enumType = enums[variable.enumType]
            return
        members = [*variable.vars, *variable.structs]
        self._make_names_unique([("field", member) for member in members], path)
        for member in members:
            self._rename_in_variable(member, names.join(path, from_bytes(member.name)), dimensions, enums)

    def _make_names_unique(self, entries: list[tuple[str, Any]], scope: str, member: str = "name") -> list[bytes]:
        """Give the items of one scope unique names; return their old names."""
        before = [getattr(element, member) for _, element in entries]
        items = [(kind, from_bytes(name)) for (kind, _), name in zip(entries, before, strict=True)]
        shown = make_unique(items)
        self.namesakes += namesakes(items, shown, scope)
        for (_, element), (name, _) in zip(entries, shown, strict=True):
            setattr(element, member, name.encode("utf-8", "surrogateescape"))
        return before
