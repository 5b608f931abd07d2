"""Unique names for header items whose names are equal in NFC.

Data messages use the sender's spelling of names, so both spellings are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr import names
from nczarr.check.check_names import apart, namesakes
from nczarr.check.checked import Namesake
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.names import from_bytes


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
        return names.cdm_full_name(self.spelled.get(path, path))


def named(header: pb.Header) -> UniqueHeader:
    """Return the header with unique names."""
    if not any(_unsettled(group) for group in _groups(header.root)):
        return UniqueHeader(header, [], {})
    renamed = pb.Header()
    renamed.CopyFrom(header)
    naming = _Naming()
    naming.group(renamed.root, "/", "/", {}, {})
    return UniqueHeader(renamed, naming.namesakes, naming.spelled)


def _groups(group: pb.Group) -> Iterator[pb.Group]:
    pending = [group]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(current.groups)


def _unsettled(group: pb.Group) -> bool:
    """Return whether names of a group may clash: some are not ASCII, or occur twice."""
    dimensions = [dimension.name for dimension in group.dims if not (dimension.isPrivate or dimension.isVlen)]
    declared = [member.name for kind in (group.enumTypes, group.vars, group.structs, group.groups) for member in kind]
    labels = [[item.value for item in enum.map] for enum in group.enumTypes]
    members = list(_members(group.structs))
    return any(
        len(set(scope)) < len(scope) or not all(name.isascii() for name in scope)
        for scope in (dimensions, declared, *labels, *members)
    )


def _members(structs: Any) -> Iterator[list[bytes]]:
    pending = list(structs)
    while pending:
        structure = pending.pop()
        yield [member.name for member in (*structure.vars, *structure.structs)]
        pending.extend(structure.structs)


class _Naming:
    """State of one run; changes the header."""

    def __init__(self) -> None:
        self.namesakes: list[Namesake] = []
        self.spelled: dict[str, str] = {}

    def group(
        self, group: pb.Group, path: str, written: str, dimensions: dict[bytes, bytes], enums: dict[bytes, bytes]
    ) -> None:
        """Rename everything below a group at sender's path `written`; the dicts hold new names from outer groups."""
        dims = [element for element in group.dims if not (element.isPrivate or element.isVlen)]
        below = [element.name for element in group.groups]
        things: list[tuple[str, Any]] = [
            *(("type", element) for element in group.enumTypes),
            *(("dimension", element) for element in dims),
            *(("variable", element) for element in group.vars),
            *(("variable", element) for element in group.structs),
            *(("group", element) for element in group.groups),
        ]
        renamed: dict[str, dict[bytes, bytes]] = {"type": dict(enums), "dimension": dict(dimensions)}
        seen: set[tuple[str, bytes]] = set()  # of two things of one spelling, others mean the first
        for (kind, element), before in zip(things, self._apart(things, path), strict=True):
            if (kind, before) in seen:
                continue
            seen.add((kind, before))
            if kind in renamed:
                renamed[kind][before] = element.name
            elif kind == "variable" and (before != element.name or path != written):
                self.spelled[names.join(path, from_bytes(element.name))] = names.join(written, from_bytes(before))
        for element in group.enumTypes:
            self._apart(
                [("enum constant", item) for item in element.map], names.join(path, from_bytes(element.name)), "value"
            )
        variables: list[Any] = [*group.vars, *group.structs]
        for element in variables:
            self._variable(element, names.join(path, from_bytes(element.name)), renamed["dimension"], renamed["type"])
        for child, name in zip(group.groups, below, strict=True):
            inside = names.join(path, from_bytes(child.name)), names.join(written, from_bytes(name))
            self.group(child, *inside, renamed["dimension"], renamed["type"])

    def _variable(self, variable: Any, path: str, dimensions: dict[bytes, bytes], enums: dict[bytes, bytes]) -> None:
        """Rename the members of a structure; apply the new names of dimensions and enums."""
        for dimension in variable.shape:
            if not dimension.isPrivate and dimension.name in dimensions:
                dimension.name = dimensions[dimension.name]
        if isinstance(variable, pb.Variable):
            if variable.enumType in enums:
                variable.enumType = enums[variable.enumType]
            return
        members = [*variable.vars, *variable.structs]
        self._apart([("field", member) for member in members], path)
        for member in members:
            self._variable(member, names.join(path, from_bytes(member.name)), dimensions, enums)

    def _apart(self, things: list[tuple[str, Any]], scope: str, member: str = "name") -> list[bytes]:
        """Give the items of one scope unique names; return their old names."""
        before = [getattr(element, member) for _, element in things]
        items = [(kind, from_bytes(name)) for (kind, _), name in zip(things, before, strict=True)]
        shown = apart(items)
        self.namesakes += namesakes(items, shown, scope)
        for (_, element), (name, _) in zip(things, shown, strict=True):
            setattr(element, member, name.encode("utf-8", "surrogateescape"))
        return before
