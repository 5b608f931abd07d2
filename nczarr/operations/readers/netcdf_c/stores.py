"""Faults of netCDF-C with whole stores and groups: documents, member lists, older layouts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr import names
from nczarr.operations.readers.documents import StoreDocument, StoreNode, step
from nczarr.operations.readers.netcdf_c.view import BOTH, DATASET, DTYPE, NOW, NetcdfView, hidden, holds, short
from nczarr.operations.readers.rule import FindingPlace, Rules

RULES = Rules(NOW)

_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*")


@RULES.add("unread-format", "cannot open it (-51)", "write Zarr v2: `nczarr convert SRC DST --to nczarr`", seen=BOTH)
def version_3(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find Zarr v3 stores, which no release reads."""
    if view.has_version_3 and not view.has_version_2:
        yield FindingPlace("zarr.json", "/zarr_format", "the store is Zarr v3")


@RULES.add("mixed-versions", "reads v2, and from 4.10.2 refuses the store", "write one version", seen=BOTH)
def both_versions(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find a root in both versions."""
    if view.has_version_3 and view.has_version_2:
        yield FindingPlace("zarr.json", "", "the root has documents of Zarr v2 and v3")


@RULES.add(
    "zipped-store",
    "needs a build with support for zip archives, which most builds lack (-128)",
    "write a folder",
    seen="4.9.0, 4.10.1",
)
def archive(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find stores in a zip file."""
    if view.documents.store.archive:
        yield FindingPlace("", "", "the store is a zip archive")


def _opened(view: NetcdfView) -> Iterator[StoreDocument]:
    for node in view.nodes():
        for document in (node.document, node.attributes):
            if document is not None:
                yield document


@RULES.add(
    "broken-document",
    DATASET,
    "write the document again; releases leave the old end of a document that became shorter",
    seen=BOTH,
)
def broken(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find documents that the parser refuses."""
    for document in _opened(view):
        if document.broken:
            behind = "after its end" in document.broken
            yield FindingPlace(
                document.key,
                "",
                f"the document {document.broken}" if behind else f"the document is not JSON: {document.broken}",
            )
        elif not isinstance(document.value, dict):
            yield FindingPlace(document.key, "", "the document is not a JSON object")


@RULES.add("escaped-text", "drops the backslash", "write UTF-8 directly, without `\\u`", seen=BOTH)
def escaped(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find escapes that the parser splits."""
    for document in _opened(view):
        if document.escaped is not None and isinstance(document.value, dict):
            yield from _differing(document.key, "", document.value, document.escaped)


def _differing(key: str, pointer: str, right: object, wrong: object) -> Iterator[FindingPlace]:
    if isinstance(right, dict) and isinstance(wrong, dict):
        for (name, item), (other, read) in zip(right.items(), wrong.items(), strict=False):
            if name != other:
                yield FindingPlace(
                    key,
                    f"{pointer}/{step(name)}",
                    f"the name `{name}` is written with an escape",
                    does=f"sees `{other}`",
                )
            else:
                yield from _differing(key, f"{pointer}/{step(name)}", item, read)
    elif isinstance(right, list) and isinstance(wrong, list):
        for place, (item, read) in enumerate(zip(right, wrong, strict=False)):
            yield from _differing(key, f"{pointer}/{place}", item, read)
    elif right != wrong and isinstance(right, str):
        yield FindingPlace(
            key, pointer, f"`{short(right)}` is written with an escape", does=f"sees `{short(str(wrong))}`"
        )


@RULES.add("doubled-attribute", "lists it twice, with the last value", "write each attribute once", seen=BOTH)
def repeated(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find duplicate attributes."""
    for node in view.nodes():
        if node.attributes is None:
            continue
        for pointer in node.attributes.repeated:
            if pointer.count("/") == 1:
                yield FindingPlace(node.attributes.key, pointer, "the attribute occurs twice")


@RULES.add("odd-format-number", DATASET, 'write `"zarr_format": 2`')
def format_number(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find a `zarr_format` other than 2."""
    if view.root.document is not None and not view.root.is_array:
        version = view.root.meta.get("zarr_format", 2)
        if version != 2 and isinstance(view.root.document.value, dict):
            yield FindingPlace(view.root.key, "/zarr_format", f"`zarr_format` of the root is {version}")
    for _, array in view.arrays:
        version = array.meta.get("zarr_format", 2)
        if version != 2:
            yield FindingPlace(array.key, "/zarr_format", f"`zarr_format` is {version}")


@RULES.add("odd-superblock", DATASET, 'write `"_nczarr_superblock": {"version": "2.0.0"}`')
def superblock(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find a superblock with an invalid version."""
    members = view.superblock
    key, pointer = view.superblock_key, view.superblock_pointer
    if members is None:
        return
    if not isinstance(members, dict):
        yield FindingPlace(key, pointer, "the superblock is not an object")
        return
    version = members.get("version")
    if isinstance(version, str) and not _VERSION.fullmatch(version):
        yield FindingPlace(key, f"{pointer}/version", f"the version of the superblock is `{version}`")


@RULES.add("odd-superblock", "treats it as pure Zarr from 4.10.2", 'write `{"version": "2.0.0"}`', seen="4.10.2")
def empty_superblock(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find a superblock without a version."""
    if view.superblock == {}:
        yield FindingPlace(view.superblock_key, view.superblock_pointer, "the superblock has no version")


@RULES.add(
    "missing-superblock",
    "treats the store as pure Zarr: text is string, no dimension is unlimited, no attribute is hidden",
    'write the root attribute `"_nczarr_superblock": {"version": "2.0.0"}`',
)
def no_superblock(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find member lists without the superblock that makes them effective."""
    if view.nczarr or view.root.is_array:
        return
    described, key, pointer = hidden(view.root, "group")
    if described is not None:
        yield FindingPlace(key, pointer, "the root has `_nczarr_group` and no `_nczarr_superblock`")


@RULES.add(
    "missing-lists", "hides all members", 'write `"_nczarr_group": {"dimensions": {…}, "arrays": […], "groups": […]}`'
)
def no_lists(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find groups of an NCZarr store without member lists."""
    if not view.nczarr:
        return
    for group in view.groups:
        node = group.node
        if not group.home:
            if node.attributes is None and not view.older:
                yield FindingPlace(node.attrs_key, "", f"group `{group.path}` has no `.zattrs`", does="crashes")
            elif holds(node):
                yield FindingPlace(group.home_key, "", f"group `{group.path}` has no `_nczarr_group`")
            continue
        for member, other, is_array in (("arrays", "vars", True), ("groups", "", False)):
            member_names = group.home.get(member, group.home.get(other))
            lost = [node.path for node in group.hidden if node.is_array == is_array]
            if not isinstance(member_names, list) and lost:
                yield FindingPlace(
                    group.home_key,
                    group.home_pointer,
                    f"`_nczarr_group` of group `{group.path}` has no list `{member}`",
                )


@RULES.add("missing-group", "crashes", 'write a `.zgroup`: `{"zarr_format": 2}`')
def no_group(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find groups without `.zgroup`."""
    root = view.root
    if not view.has_version_2 or root.is_array:
        return
    if root.document is None and view.nczarr:
        yield FindingPlace(
            ".zgroup", "", "the root has no `.zgroup`, but its `.zattrs` has a superblock", does="crashes"
        )
    elif root.document is None:
        yield FindingPlace(
            ".zgroup", "", "the root has no `.zgroup`", does="opens it, and from 4.10.2 refuses the store (-143)"
        )
    for group in view.groups:
        if view.nczarr:
            for entry in group.listed:
                if (
                    not entry.is_array
                    and entry.node is not None
                    and not entry.node.is_array
                    and entry.node.document is None
                ):
                    yield FindingPlace(
                        entry.node.key, "", f"group `{entry.node.path}` is listed but has no `.zgroup`", does="crashes"
                    )
        else:
            for node in group.hidden:
                yield FindingPlace(
                    node.key, "", f"`{node.path}` has members but no `.zgroup`", does="hides its content"
                )


@RULES.add(
    "missing-array", "refuses the whole dataset (-36)", "write the array, or remove its name from the list", seen=BOTH
)
def listed(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find listed names that are not stored."""
    for group in view.groups if view.nczarr else ():
        for entry in group.listed:
            there = entry.node is not None and entry.node.is_array
            if entry.is_array and not there and isinstance(entry.name, str) and "/" not in entry.name:
                text = f"`{group.path.rstrip('/')}/{entry.name}` is listed as an array but has no `.zarray`"
                yield FindingPlace(group.home_key, entry.pointer, text)


@RULES.add("hidden-member", "hides it", seen=BOTH)
def unlisted(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find stored members that are not listed."""
    for group in view.groups:
        if not view.nczarr or not group.home:
            continue
        for node in group.hidden:
            member = "arrays" if node.is_array else "groups"
            if not isinstance(group.home.get(member, group.home.get("vars" if node.is_array else "")), list):
                continue  # said of the list
            what = "array" if node.is_array else "group"
            text = f"{what} `{node.path}` is stored but not listed in `_nczarr_group`"
            yield FindingPlace(group.home_key, f"{group.home_pointer}/{member}", text, instead=_listing(node))


def _listing(node: StoreNode) -> str:
    dtype = node.meta.get("dtype")
    if isinstance(dtype, str) and DTYPE.fullmatch(dtype):
        return f"add `{node.name}` to the list"
    if node.is_array:
        return "nothing is required: netCDF-C does not support the type, and refuses the dataset if the array is listed"
    return "add it to the list, unless it is a variable of a type that netCDF-C does not support"


@RULES.add("missing-description", DATASET, 'write `"_nczarr_array": {"dimension_references": […]}`')
def undescribed(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find listed arrays without their NCZarr attribute."""
    if not view.nczarr:
        return
    for _, array in view.arrays:
        described, key, _ = hidden(array, "array")
        unreadable = array.attributes is not None and not isinstance(array.attributes.value, dict)
        if described is None and not unreadable:
            what = "`_nczarr_array`" if array.attributes else "`.zattrs`"
            yield FindingPlace(key, "", f"array `{array.path}` has no {what}")


@RULES.add("illegal-name", "refuses the whole dataset (-59)", "write a name that netCDF allows")
def illegal_names(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find names of members and dimensions that are invalid in netCDF."""
    if not view.nczarr:
        return
    for group in view.groups:
        for entry in group.listed:
            if isinstance(entry.name, str) and "/" in entry.name:
                yield FindingPlace(group.home_key, entry.pointer, f"the name `{entry.name}` has a `/`")
        for member in ("dimensions", "dims"):
            dimensions = group.home.get(member)
            for name in dimensions if isinstance(dimensions, dict) else ():
                fault = names.problem(names.normal(name))
                if fault is not None or name.endswith(" "):
                    place = f"{group.home_pointer}/{member}/{step(name)}"
                    yield FindingPlace(group.home_key, place, f"`{name}` is not a dimension name")


@RULES.add("root-array", "shows an empty dataset", "write the array in a group")
def root_array(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find an array at the root."""
    if view.root.is_array:
        yield FindingPlace(".zarray", "", "the root of the store is an array")


@RULES.add(
    "old-layout",
    "treats the store as pure Zarr from 4.9.3",
    "write the current layout: `nczarr convert SRC DST`",
    seen=BOTH,
)
def capitals(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find the layouts of 4.8.0 and of 4.8.1 to 4.9.0."""
    for node in view.root.walk():
        for name in node.meta:
            if name in ("_NCZARR_SUPERBLOCK", "_NCZARR_GROUP", "_NCZARR_ARRAY"):
                yield FindingPlace(node.key, f"/{name}", f"`{name}` of netCDF-C 4.8.1 to 4.9.0 describes `{node.path}`")
    for key in (".nczarr", ".nczgroup"):
        if view.documents.get(key) is not None:
            yield FindingPlace(key, "", "the store has the documents of netCDF-C 4.8.0")


@RULES.add(
    "read-only-layout",
    "reads it, but refuses to change it (-37)",
    "write the current layout: `nczarr convert SRC DST`",
)
def read_only(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find the layout of 4.9.1 and 4.9.2."""
    if view.nczarr and view.older:
        yield FindingPlace(
            view.superblock_key, view.superblock_pointer, "the store has the layout of netCDF-C 4.9.1 and 4.9.2"
        )
