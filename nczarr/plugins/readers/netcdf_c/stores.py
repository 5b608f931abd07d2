"""netCDF-C's view of a store, and its faults with whole stores and groups: documents, lists, older layouts.

Groups and arrays are from NCZarr's lists, or from the keys without a superblock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr import names
from nczarr.formats.common.documents import Json
from nczarr.plugins.readers.documents import StoreDocuments, StoreNode, step
from nczarr.plugins.readers.rule import Finding, faults

NOW = "4.9.3, 4.10.1"
BOTH = "4.9.3, 4.10.1, 4.10.2"
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
    """A store as the library sees it. `nczarr`: whether it is NCZarr; `groups` and `placed`: in opening order.

    `revealed`: path of a member that counts as listed.
    """

    def __init__(self, documents: StoreDocuments, revealed: str = "") -> None:
        self.documents = documents
        self._revealed = revealed
        self.root = documents.tree(2)
        self.has_version_2 = any(node.document is not None for node in self.root.walk())
        self.has_version_3 = documents.get("zarr.json") is not None
        self.superblock, self.superblock_key, self.superblock_pointer = self.root.read_hidden("superblock")
        self.nczarr = self.superblock is not None
        self.older = self.superblock_key == ".zgroup"
        self.groups: list[OpenedGroup] = []
        self.placed: list[tuple[OpenedGroup, StoreNode]] = []
        """The arrays, each with its group."""
        if not self.root.is_array and self.has_version_2:
            self._enter(self.root)

    def _enter(self, node: StoreNode) -> None:
        """Open a node and all groups below it as the library does, in its order."""
        opened = self._open(node) if self.nczarr else self._pure(node)
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

    def _open(self, node: StoreNode) -> OpenedGroup:
        """Open a group by the names in its hidden attribute; members that it does not list are lost."""
        home, key, pointer = node.read_hidden("group")
        home = home if isinstance(home, dict) else {}
        by_name = {member.name: member for member in node.members}
        entries = []
        for member, is_array in (("arrays", True), ("vars", True), ("groups", False)):
            names = home.get(member)
            for place, name in enumerate(names if isinstance(names, list) else ()):
                child = by_name.get(name) if isinstance(name, str) else None
                entries.append(ListedName(name, f"{pointer}/{member}/{place}", is_array, child))
        entries += [
            ListedName(child.name, f"{pointer}/{'arrays' if child.is_array else 'groups'}", child.is_array, child)
            for child in node.members
            if child.path == self._revealed
        ]
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


def quote(value: Any) -> str:
    """Return a JSON value for messages."""
    return f"`{short(json.dumps(value, ensure_ascii=False))}`"


def short(text: str) -> str:
    """Return a text with an ellipsis at its end if it is long."""
    return text if len(text) < 40 else text[:39] + "…"


FAULTS = faults(
    NOW,
    ("unread-format", "cannot open it (-51)", "write Zarr v2: `nczarr convert SRC DST --to nczarr`", BOTH),
    ("mixed-versions", "reads v2, and from 4.10.2 refuses the store", "write one version", BOTH),
    ("zipped-store", "needs a build with support for zip archives, which most builds lack (-128)", "write a folder",
     "4.9.0, 4.9.3, 4.10.1"),
    ("broken-document", DATASET,
     "write the document again; releases leave the old end of a document that became shorter", BOTH),
    ("escaped-text", "drops the backslash", "write UTF-8 directly, without `\\u`", BOTH),
    ("doubled-attribute", "lists it twice, with the last value", "write each attribute once", BOTH),
    ("odd-format-number", DATASET, 'write `"zarr_format": 2`'),
    ("odd-superblock", DATASET, 'write `"_nczarr_superblock": {"version": "2.0.0"}`'),
    ("odd-superblock:empty", "treats it as pure Zarr from 4.10.2", 'write `{"version": "2.0.0"}`', "4.10.2"),
    ("missing-superblock",
     "treats the store as pure Zarr: text is string, no dimension is unlimited, no attribute is hidden",
     'write the root attribute `"_nczarr_superblock": {"version": "2.0.0"}`'),
    ("missing-lists", "hides all members",
     'write `"_nczarr_group": {"dimensions": {…}, "arrays": […], "groups": […]}`'),
    ("missing-group", "crashes", 'write a `.zgroup`: `{"zarr_format": 2}`'),
    ("missing-array", "refuses the whole dataset (-36)", "write the array, or remove its name from the list", BOTH),
    ("hidden-member", "hides it", "", BOTH),
    ("missing-description", DATASET, 'write `"_nczarr_array": {"dimension_references": […]}`'),
    ("illegal-name", "refuses the whole dataset (-59)", "write a name that netCDF allows"),
    ("root-array", "shows an empty dataset", "write the array in a group"),
    ("old-layout", "treats the store as pure Zarr from 4.9.3", "write the current layout: `nczarr convert SRC DST`",
     BOTH),
    ("read-only-layout", "reads it, but refuses to change it (-37)",
     "write the current layout: `nczarr convert SRC DST`"),
)  # fmt: skip

_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_OLD = ("_NCZARR_SUPERBLOCK", "_NCZARR_GROUP", "_NCZARR_ARRAY")


def find_versions(view: NetcdfView) -> Iterator[Finding]:
    """Find stores of other versions, forms and layouts."""
    if view.has_version_3 and not view.has_version_2:
        yield Finding("unread-format", "zarr.json", "/zarr_format", "the store is Zarr v3")
    if view.has_version_3 and view.has_version_2:
        yield Finding("mixed-versions", "zarr.json", "", "the root has documents of Zarr v2 and v3")
    if view.documents.store.ranged:  # of archives only ZIP is
        yield Finding("zipped-store", "", "", "the store is a zip archive")
    if view.root.is_array:
        yield Finding("root-array", ".zarray", "", "the root of the store is an array")
    for node in view.root.walk():
        for name in node.meta:
            if name in _OLD:
                yield node.at("old-layout", f"/{name}", f"`{name}` of netCDF-C 4.8.1 to 4.9.0 describes `{node.path}`")
    for key in (".nczarr", ".nczgroup"):
        if view.documents.get(key) is not None:
            yield Finding("old-layout", key, "", "the store has the documents of netCDF-C 4.8.0")
    document = view.root.document
    version = view.root.meta.get("zarr_format", 2)
    if document is not None and isinstance(document.value, dict) and not view.root.is_array and version != 2:
        yield view.root.at("odd-format-number", "/zarr_format", f"`zarr_format` of the root is {version}")
    for _, array in view.placed:
        version = array.meta.get("zarr_format", 2)
        if version != 2:
            yield array.at("odd-format-number", "/zarr_format", f"`zarr_format` is {version}")


def find_documents(view: NetcdfView) -> Iterator[Finding]:
    """Find documents that the parser refuses, or reads otherwise."""
    for node in view.nodes():
        for document in (node.document, node.attributes):
            if document is None:
                continue
            if document.broken:
                text = f"the document is not JSON: {document.broken}"
                text = f"the document {document.broken}" if "after its end" in document.broken else text
                yield Finding("broken-document", document.key, "", text)
            elif not isinstance(document.value, dict):
                yield Finding("broken-document", document.key, "", "the document is not a JSON object")
            if document.escaped is not None and isinstance(document.value, dict):
                yield from _find_escapes(document.key, "", document.value, document.escaped)
        for pointer in () if node.attributes is None else node.attributes.repeated:
            if pointer.count("/") == 1:
                yield Finding("doubled-attribute", node.attrs_key, pointer, "the attribute occurs twice")


def _find_escapes(key: str, pointer: str, right: object, wrong: object) -> Iterator[Finding]:
    """Find texts with escapes that the parser splits."""
    if isinstance(right, dict) and isinstance(wrong, dict):
        for (name, item), (other, read) in zip(right.items(), wrong.items(), strict=False):
            where = f"{pointer}/{step(name)}"
            if name != other:
                text = f"the name `{name}` is written with an escape"
                yield Finding("escaped-text", key, where, text, f"sees `{other}`")
            else:
                yield from _find_escapes(key, where, item, read)
    elif isinstance(right, list) and isinstance(wrong, list):
        for place, (item, read) in enumerate(zip(right, wrong, strict=False)):
            yield from _find_escapes(key, f"{pointer}/{place}", item, read)
    elif right != wrong and isinstance(right, str):
        text = f"`{short(right)}` is written with an escape"
        yield Finding("escaped-text", key, pointer, text, f"sees `{short(str(wrong))}`")


def find_superblock(view: NetcdfView) -> Iterator[Finding]:
    """Find an invalid superblock, or lists of members without the superblock that makes them effective."""
    superblock, place = view.superblock, (view.superblock_key, view.superblock_pointer)
    if superblock is None:
        described, key, pointer = view.root.read_hidden("group")
        if described is not None and not view.root.is_array:
            text = "the root has `_nczarr_group` and no `_nczarr_superblock`"
            yield Finding("missing-superblock", key, pointer, text)
        return
    if view.older:
        yield Finding("read-only-layout", *place, "the store has the layout of netCDF-C 4.9.1 and 4.9.2")
    if superblock == {}:
        yield Finding("odd-superblock:empty", *place, "the superblock has no version")
    if not isinstance(superblock, dict):
        yield Finding("odd-superblock", *place, "the superblock is not an object")
        return
    version = superblock.get("version")
    if isinstance(version, str) and not _VERSION.fullmatch(version):
        text = f"the version of the superblock is `{version}`"
        yield Finding("odd-superblock", place[0], f"{place[1]}/version", text)


def find_groups(view: NetcdfView) -> Iterator[Finding]:
    """Find groups without `.zgroup`."""
    root = view.root
    if not view.has_version_2 or root.is_array:
        return
    if root.document is None:
        does = "crashes" if view.nczarr else "opens it, and from 4.10.2 refuses the store (-143)"
        text = "the root has no `.zgroup`" + (", but its `.zattrs` has a superblock" if view.nczarr else "")
        yield Finding("missing-group", ".zgroup", "", text, does)
    for group in view.groups:
        for entry in group.listed if view.nczarr else ():
            node = entry.node
            if node is not None and not entry.is_array and entry.is_stored and node.document is None:
                text = f"group `{node.path}` is listed but has no `.zgroup`"
                yield node.at("missing-group", "", text, does="crashes")
        for node in () if view.nczarr else group.hidden:
            text = f"`{node.path}` has members but no `.zgroup`"
            yield node.at("missing-group", "", text, does="hides its content")


def find_lists(view: NetcdfView) -> Iterator[Finding]:
    """Find groups of an NCZarr store without lists of members, and members that lists or the store lack."""
    for group in view.groups if view.nczarr else ():
        node = group.node
        if not group.home and node.attributes is None and not view.older:
            text = f"group `{group.path}` has no `.zattrs`"
            yield Finding("missing-lists", node.attrs_key, "", text, "crashes")
        elif not group.home and node.has_arrays:
            yield Finding("missing-lists", group.home_key, "", f"group `{group.path}` has no `_nczarr_group`")
        for entry in group.listed:
            if entry.is_array and not entry.is_stored and isinstance(entry.name, str) and "/" not in entry.name:
                text = f"`{group.path.rstrip('/')}/{entry.name}` is listed as an array but has no `.zarray`"
                yield Finding("missing-array", group.home_key, entry.pointer, text)
        for member, old, is_array in (("arrays", "vars", True), ("groups", "", False)) if group.home else ():
            is_list = isinstance(group.home.get(member, group.home.get(old)), list)
            if not is_list and any(node.is_array == is_array for node in group.hidden):
                text = f"`_nczarr_group` of group `{group.path}` has no list `{member}`"
                yield group.at("missing-lists", "", text)


def find_descriptions(view: NetcdfView) -> Iterator[Finding]:
    """Find listed arrays without their NCZarr attribute, and names that are invalid in netCDF."""
    if not view.nczarr:
        return
    for _, array in view.placed:
        described, key, _ = array.read_hidden("array")
        unreadable = array.attributes is not None and not isinstance(array.attributes.value, dict)
        if described is None and not unreadable:
            what = "`_nczarr_array`" if array.attributes else "`.zattrs`"
            yield Finding("missing-description", key, "", f"array `{array.path}` has no {what}")
    for group in view.groups:
        for entry in group.listed:
            if isinstance(entry.name, str) and "/" in entry.name:
                yield Finding("illegal-name", group.home_key, entry.pointer, f"the name `{entry.name}` has a `/`")
        for member in ("dimensions", "dims"):
            dimensions = group.home.get(member)
            for name in dimensions if isinstance(dimensions, dict) else ():
                if names.problem(names.normal(name)) is not None or name.endswith(" "):
                    yield group.at("illegal-name", f"/{member}/{step(name)}", f"`{name}` is not a dimension name")


FIND = (find_versions, find_documents, find_superblock, find_groups, find_lists, find_descriptions)
