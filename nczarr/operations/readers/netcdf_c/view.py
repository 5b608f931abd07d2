"""netCDF-C's view of a store: groups and arrays from NCZarr's lists, or from the keys without a superblock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nczarr.formats.common.documents import Json
from nczarr.operations.readers.documents import StoreDocuments, StoreNode

NOW = "4.10.1"
BOTH = "4.10.1, 4.10.2"
DATASET = "refuses the whole dataset (-137)"

HIDDEN = frozenset({"_nczarr_superblock", "_nczarr_group", "_nczarr_array", "_nczarr_attr"})
RESERVED = frozenset({
    "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Coordinates", "_Netcdf4Dimid",
})  # fmt: skip
"""Attribute names that the library reserves."""

DTYPE = re.compile(r"[<>|]?(?:[iu][1248]|f[48]|S[1-9][0-9]{0,8})")
"""Dtypes that the library knows."""

RANGES = {f"{kind}{size}": bounds for size in (1, 2, 4, 8) for kind, bounds in (
    ("i", (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1)), ("u", (0, (1 << 8 * size) - 1)),
)}  # fmt: skip
"""Minimum and maximum of each integer type."""


@dataclass(frozen=True, slots=True)
class ListedName:
    """One name in a group's list."""

    name: Any
    """The name."""
    pointer: str
    """JSON pointer of the name."""
    is_array: bool
    """True if an array is listed."""
    node: StoreNode | None
    """The node; None if it is not stored."""


@dataclass(frozen=True, slots=True)
class OpenedGroup:
    """One group as the library opens it."""

    node: StoreNode
    """Its node."""
    home: Json
    """Its `_nczarr_group`."""
    home_key: str
    """Key of the document with `_nczarr_group`."""
    home_pointer: str
    """JSON pointer of `_nczarr_group`."""
    listed: tuple[ListedName, ...]
    """Listed members."""
    hidden: tuple[StoreNode, ...]
    """Members that are stored and not listed."""

    @property
    def path(self) -> str:
        """Name of the group."""
        return self.node.path


class NetcdfView:
    """A store as the library sees it. `nczarr`: whether it is NCZarr; `groups` and `arrays`: in opening order."""

    def __init__(self, documents: StoreDocuments) -> None:
        self.documents = documents
        self.has_version_2 = any(node.document is not None for node in documents.tree(2).walk())
        self.has_version_3 = documents.get("zarr.json") is not None
        self.root = documents.tree(2)
        self.superblock, self.superblock_key, self.superblock_pointer = hidden(self.root, "superblock")
        self.nczarr = self.superblock is not None
        self.older = self.superblock_key == ".zgroup"
        self.groups: list[OpenedGroup] = []
        self.arrays: list[tuple[OpenedGroup, StoreNode]] = []
        if not self.root.is_array and self.has_version_2:
            self._enter(self.root)

    def _enter(self, node: StoreNode) -> None:
        seen = self._seen(node)
        self.groups.append(seen)
        for entry in seen.listed:
            if entry.node is not None and entry.is_array and entry.node.is_array:
                self.arrays.append((seen, entry.node))
        for entry in seen.listed:
            if entry.node is not None and not entry.is_array and not entry.node.is_array:
                self._enter(entry.node)

    def _seen(self, node: StoreNode) -> OpenedGroup:
        if not self.nczarr:
            members = [member for member in node.members if member.document is not None]
            listed = tuple(ListedName(member.name, "", member.is_array, member) for member in members)
            lost = tuple(member for member in node.members if member.document is None)
            return OpenedGroup(node, {}, node.key, "", listed, lost)
        home, key, pointer = hidden(node, "group")
        home = home if isinstance(home, dict) else {}
        byname = {member.name: member for member in node.members}
        entries = []
        for member, is_array in (("arrays", True), ("vars", True), ("groups", False)):
            names = home.get(member)
            for place, name in enumerate(names if isinstance(names, list) else ()):
                child = byname.get(name) if isinstance(name, str) else None
                entries.append(ListedName(name, f"{pointer}/{member}/{place}", is_array, child))
        listed_names = {(entry.name, entry.is_array) for entry in entries if isinstance(entry.name, str)}
        lost = tuple(
            child_node
            for child_node in node.members
            if (child_node.name, child_node.is_array) not in listed_names and holds(child_node)
        )
        return OpenedGroup(node, home, key, pointer, tuple(entries), lost)

    def nodes(self) -> Iterator[StoreNode]:
        """All groups and arrays that the library opens."""
        for group in self.groups:
            yield group.node
        for _, array in self.arrays:
            yield array


def holds(node: StoreNode) -> bool:
    """Return whether there is an array at or below a node."""
    return any(descendant.is_array for descendant in node.walk())


def hidden(node: StoreNode, what: str) -> tuple[Any, str, str]:
    """Return the hidden attribute of a node, its key and pointer; before 4.9.3 it was in the other document."""
    name = f"_nczarr_{what}"
    if name in node.attrs:
        return node.attrs[name], node.attrs_key, f"{node.attrs_pointer}/{name}"
    if name in node.meta:
        return node.meta[name], node.key, f"/{name}"
    return None, node.attrs_key, ""


def integers(value: Any) -> list[int] | None:
    """Return a list of integers, or None."""
    if isinstance(value, list) and all(type(number) is int for number in value):
        return value
    return None


def short(text: str) -> str:
    """Return a text with an ellipsis at its end if it is long."""
    return text if len(text) < 40 else text[:39] + "…"
