"""Unique names for header items whose names are equal in NFC.

Data messages use the sender's spelling of names, so both spellings are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr import names
from nczarr.check.checked import Namesake
from nczarr.check.duplicate_names import apart, namesakes
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
    made = pb.Header()
    made.CopyFrom(header)
    naming = _Naming()
    naming.group(made.root, "/", "/", {}, {})
    return UniqueHeader(made, naming.namesakes, naming.spelled)


def _groups(group: pb.Group) -> Iterator[pb.Group]:
    pending = [group]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(each.groups)


def _unsettled(group: pb.Group) -> bool:
    """Return whether names of a group may clash: some are not ASCII, or occur twice."""
    dimensions = [each.name for each in group.dims if not (each.isPrivate or each.isVlen)]
    own = [each.name for kind in (group.enumTypes, group.vars, group.structs, group.groups) for each in kind]
    labels = [[item.value for item in each.map] for each in group.enumTypes]
    members = list(_members(group.structs))
    return any(
        len(set(scope)) < len(scope) or not all(each.isascii() for each in scope)
        for scope in (dimensions, own, *labels, *members)
    )


def _members(structs: Any) -> Iterator[list[bytes]]:
    pending = list(structs)
    while pending:
        each = pending.pop()
        yield [member.name for member in (*each.vars, *each.structs)]
        pending.extend(each.structs)


class _Naming:
    """State of one run; changes the header."""

    def __init__(self) -> None:
        self.namesakes: list[Namesake] = []
        self.spelled: dict[str, str] = {}

    def group(
        self, group: pb.Group, path: str, written: str, dimensions: dict[bytes, bytes], enums: dict[bytes, bytes]
    ) -> None:
        """Rename everything below a group at sender's path `written`; the dicts hold new names from outer groups."""
        dims = [each for each in group.dims if not (each.isPrivate or each.isVlen)]
        below = [each.name for each in group.groups]
        things: list[tuple[str, Any]] = [
            *(("type", each) for each in group.enumTypes),
            *(("dimension", each) for each in dims),
            *(("variable", each) for each in group.vars),
            *(("variable", each) for each in group.structs),
            *(("group", each) for each in group.groups),
        ]
        known: dict[str, dict[bytes, bytes]] = {"type": dict(enums), "dimension": dict(dimensions)}
        told: set[tuple[str, bytes]] = set()  # of two things of one spelling, others mean the first
        for (kind, each), before in zip(things, self._apart(things, path), strict=True):
            if (kind, before) in told:
                continue
            told.add((kind, before))
            if kind in known:
                known[kind][before] = each.name
            elif kind == "variable" and (before != each.name or path != written):
                self.spelled[names.join(path, from_bytes(each.name))] = names.join(written, from_bytes(before))
        for each in group.enumTypes:
            self._apart(
                [("enum constant", item) for item in each.map], names.join(path, from_bytes(each.name)), "value"
            )
        variables: list[Any] = [*group.vars, *group.structs]
        for each in variables:
            self._variable(each, names.join(path, from_bytes(each.name)), known["dimension"], known["type"])
        for child, name in zip(group.groups, below, strict=True):
            inside = names.join(path, from_bytes(child.name)), names.join(written, from_bytes(name))
            self.group(child, *inside, known["dimension"], known["type"])

    def _variable(self, given: Any, path: str, dimensions: dict[bytes, bytes], enums: dict[bytes, bytes]) -> None:
        """Rename the members of a structure; apply the new names of dimensions and enums."""
        for dimension in given.shape:
            if not dimension.isPrivate and dimension.name in dimensions:
                dimension.name = dimensions[dimension.name]
        if isinstance(given, pb.Variable):
            if given.enumType in enums:
                given.enumType = enums[given.enumType]
            return
        members = [*given.vars, *given.structs]
        self._apart([("field", each) for each in members], path)
        for each in members:
            self._variable(each, names.join(path, from_bytes(each.name)), dimensions, enums)

    def _apart(self, things: list[tuple[str, Any]], scope: str, member: str = "name") -> list[bytes]:
        """Give the items of one scope unique names; return their old names."""
        before = [getattr(each, member) for _, each in things]
        items = [(kind, from_bytes(name)) for (kind, _), name in zip(things, before, strict=True)]
        shown = apart(items)
        self.namesakes += namesakes(items, shown, scope)
        for (_, each), (name, _) in zip(things, shown, strict=True):
            setattr(each, member, name.encode("utf-8", "surrogateescape"))
        return before
