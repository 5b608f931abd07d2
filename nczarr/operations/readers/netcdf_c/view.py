"""netCDF-C's view of a store: groups and arrays from NCZarr's lists, or from the keys without a superblock."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.formats.common.documents import Json
from nczarr.operations.readers.documents import StoreDocuments, StoreNode
from nczarr.operations.readers.rule import Finding

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

SPECIAL = re.compile(r"-?(?:nan|infinity)f?", re.IGNORECASE)
"""Texts that the library reads as floating-point numbers."""

RANGES = {f"{kind}{size}": bounds for size in (1, 2, 4, 8) for kind, bounds in (
    ("i", (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1)), ("u", (0, (1 << 8 * size) - 1)),
)}  # fmt: skip
"""Minimum and maximum of each integer type."""


class ListedName(NamedTuple):
    """One name in a group's list."""

    name: Any
    """The name."""
    pointer: str
    """JSON pointer of the name."""
    is_array: bool
    """True if an array is listed."""
    node: StoreNode | None
    """The node; None if it is not stored."""

    @property
    def is_stored(self) -> bool:
        """True if there is a node of the listed kind."""
        return self.node is not None and self.node.is_array == self.is_array


class OpenedGroup(NamedTuple):
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

    def at(self, fault: str, pointer: str, what: str, **more: Any) -> Finding:
        """Return a finding in the `_nczarr_group` of the group."""
        return Finding(fault, self.home_key, self.home_pointer + pointer, what)._replace(**more)


class NetcdfView:
    """A store as the library sees it. `nczarr`: whether it is NCZarr; `groups` and `placed`: in opening order."""

    def __init__(self, documents: StoreDocuments) -> None:
        self.documents = documents
        self.root = documents.tree(2)
        self.has_version_2 = any(node.document is not None for node in self.root.walk())
        self.has_version_3 = documents.get("zarr.json") is not None
        self.superblock, self.superblock_key, self.superblock_pointer = self.root.hidden("superblock")
        self.nczarr = self.superblock is not None
        self.older = self.superblock_key == ".zgroup"
        self.groups: list[OpenedGroup] = []
        self.placed: list[tuple[OpenedGroup, StoreNode]] = []
        """The arrays, each with its group."""
        if not self.root.is_array and self.has_version_2:
            self._enter(self.root)

    def _enter(self, node: StoreNode) -> None:
        opened = self._opened(node) if self.nczarr else self._pure(node)
        self.groups.append(opened)
        stored = [(entry.is_array, entry.node) for entry in opened.listed if entry.node is not None and entry.is_stored]
        self.placed += [(opened, member) for is_array, member in stored if is_array]
        for is_array, member in stored:
            if not is_array:
                self._enter(member)

    def _pure(self, node: StoreNode) -> OpenedGroup:
        """Return a group of a store that is not NCZarr."""
        members = [member for member in node.members if member.document is not None]
        listed = tuple(ListedName(member.name, "", member.is_array, member) for member in members)
        lost = tuple(member for member in node.members if member.document is None)
        return OpenedGroup(node, {}, node.key, "", listed, lost)

    def _opened(self, node: StoreNode) -> OpenedGroup:
        home, key, pointer = node.hidden("group")
        home = home if isinstance(home, dict) else {}
        by_name = {member.name: member for member in node.members}
        entries = []
        for member, is_array in (("arrays", True), ("vars", True), ("groups", False)):
            names = home.get(member)
            for place, name in enumerate(names if isinstance(names, list) else ()):
                child = by_name.get(name) if isinstance(name, str) else None
                entries.append(ListedName(name, f"{pointer}/{member}/{place}", is_array, child))
        listed = {(entry.name, entry.is_array) for entry in entries if isinstance(entry.name, str)}
        lost = [child for child in node.members if (child.name, child.is_array) not in listed and child.has_arrays]
        return OpenedGroup(node, home, key, pointer, tuple(entries), tuple(lost))

    def nodes(self) -> Iterator[StoreNode]:
        """Yield all groups and arrays that the library opens."""
        yield from (group.node for group in self.groups)
        yield from (array for _, array in self.placed)

    @property
    def arrays(self) -> Iterator[StoreNode]:
        """Arrays whose document is an object."""
        for _, array in self.placed:
            if array.document is not None and isinstance(array.document.value, dict):
                yield array


def element(dtype: Any) -> str | None:
    """Return a dtype without byte order, such as `i4`; None if the library does not know it."""
    return dtype.lstrip("<>|") if isinstance(dtype, str) and DTYPE.fullmatch(dtype) else None


def quoted(value: Any) -> str:
    """Return a JSON value for messages."""
    return f"`{short(json.dumps(value, ensure_ascii=False))}`"


def short(text: str) -> str:
    """Return a text with an ellipsis at its end if it is long."""
    return text if len(text) < 40 else text[:39] + "…"
