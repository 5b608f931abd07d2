"""A Zarr hierarchy → the tree, with or without hidden attributes.

With netCDF-C's hidden attributes, members and dimensions come from the lists of
groups, and types from our extension. The extension is verified: if another
program changed the store, the plain keys win, with a warning. A bad array gives
one diagnostic and affects no others. Groups with types and dimensions are read
first, then variables, which may refer to any group.

Without, members come from listing. A dimension belongs to the group of its
array; its length is that of its coordinate variable, else of the first array
that uses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from nczarr import names
from nczarr.arrays.chunks.key_segments import is_own
from nczarr.ast import ATOMIC, CompoundType, Dataset, Dimension, EnumType, Group, Kind, UserType
from nczarr.ast.dataset import building
from nczarr.ast.node import members_of
from nczarr.ast.types import MAX_DEPTH, sound_types
from nczarr.diagnostics.report import Severity
from nczarr.formats.common.documents import Json
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata, Inventor
from nczarr.formats.zarr.core.reader import NodeReader, name_list, unread_message
from nczarr.formats.zarr.core.variables import Variables
from nczarr.formats.zarr.extension.model import LARGEST_LENGTH, type_from_json
from nczarr.names import list_first, name_problem, stem
from nczarr.names.records import NamedTuple
from nczarr.semantics.check_types import find_oversized
from nczarr.semantics.checked import Unchecked
from nczarr.stores.base import is_node
from nczarr.syntax.json.positions import pointer

_SUPERBLOCK: dict[str, tuple[str, Callable[[str], object]]] = {
    "name": ("name", lambda name: True),
    "kind": ("kind", get_args(Kind).__contains__),
    "model": ("version", re.compile(r"[0-9]+\.[0-9]+\.[0-9]+").fullmatch),
}
"""Members of the superblock's extension: fields of `Dataset`, and tests of their values."""

_DOCUMENTS = (".zarray", ".zgroup", "zarr.json")
"""Documents of nodes in all versions of Zarr."""

Members = list[tuple[str, str]]
"""Names and prefixes of variables or groups."""


class ZarrGroup(NamedTuple):
    """A group from its documents."""

    name: str
    path: str
    """FQN of the group."""
    prefix: str
    """Prefix of its keys."""
    variables: Members
    children: tuple[ZarrGroup, ...]
    """Child groups."""
    types: tuple[UserType, ...] = ()
    """Declared types."""
    dimensions: tuple[Dimension, ...] = ()
    """Declared dimensions."""


def read(reader: NodeReader, *, hidden: bool = False) -> Unchecked:
    """Return the dataset of a store, without unreadable parts (reported). Raises OSError.

    `hidden`: the store has hidden attributes.
    """
    with building():
        return _Hierarchy(reader, Variables(reader, hidden=hidden)).read()


class _Hierarchy:
    """State of one run."""

    def __init__(self, reader: NodeReader, variables: Variables) -> None:
        self.reader = reader
        self.documents = reader.documents
        self.variables = variables
        self.implicit: list[str] = []
        """Paths of groups without a document."""
        self.ignored: list[str] = []
        """Paths of files and folders that are no nodes."""

    def read(self) -> Unchecked:
        """Return the dataset."""
        self.documents.fill_gaps()
        superblock, key = self.variables.read_hidden("", "superblock")
        described = self._read_superblock(superblock or {}, key)
        if self.reader.is_array(""):
            root = ZarrGroup("root", "/", "", [(names.normal(described["name"]) or "data", "")], ())
        else:
            root = self._read_node("", "/", "root", 0)
        types = self.variables.types
        sound = sound_types(types)
        large = find_oversized(sound)
        sound = sound_types({path: user_type for path, user_type in sound.items() if path not in large})
        for path in types.keys() - sound.keys():
            self._stale(f"type `{path}` is too large, or uses undefined types", key)
        self.variables.types = sound
        members = members_of(self._read_group(root))
        del members["name"]
        if self.reader.is_exact and not self.variables.has_hidden:
            described["name"] = ""
        dataset = Dataset(**described, **members)
        self.documents.compare_consolidated(self.reader.consolidated_key)
        if orphans := self.variables.orphans:
            text = f"the root has no metadata of NCZarr, which {list_first(orphans, 3)} had with it"
            self._stale(f"{text}: declared types, dimensions and types of attributes are not known", key)
        self._report_folders(dataset)
        return Unchecked(dataset, forward=True, parts=self.variables.parts, namesakes=self.documents.namesakes)

    def _read_superblock(self, document: Json, key: str) -> Json:
        """Return name, kind and version of the dataset from the extension; without it, only the file's name."""
        extension = document.get("nczarr")
        if extension is None:
            return {"name": stem(self.documents.store.title)}
        members: Json = {"name": ""}
        if not isinstance(extension, dict):
            self._stale("the extension of the superblock is not an object", key)
            return members
        for name, (field, is_valid) in _SUPERBLOCK.items():
            value = extension.get(name)
            if isinstance(value, str) and is_valid(value):
                members[field] = value
            elif value is not None:
                self._stale(f"`{name}` of the superblock is invalid: {value!r}", key)
        return members

    def _stale(self, message: str, key: str, where: str = "") -> None:
        self.documents.warn("stale-extension", message, key, where)

    # ---- groups ----------------------------------------------------------------------------------------------------
    def _read_node(self, prefix: str, path: str, name: str, depth: int) -> ZarrGroup:
        """Return the group at a prefix with its descendants; add its types and dimensions to those of variables."""
        document, key = self.variables.read_hidden(prefix, "group")
        document = document or {}
        extension = document.get("nczarr", {})
        if not isinstance(extension, dict):
            self._stale("the extension of the group is not an object", key)
            extension = {}
        variables, groups = self._list_members(prefix, path, document, extension, key)
        children = []
        for child, inside in groups:
            if depth >= MAX_DEPTH:
                text = f"groups are nested more than {MAX_DEPTH} deep; `{child}` is left out"
                self.documents.report_lost("unreadable-array", text, key)
            else:
                children.append(self._read_node(inside, names.join(path, child), child, depth + 1))
        taken = {member for member, _ in (*variables, *groups)}
        types = self._read_types(extension.get("types", []), key, taken)
        clashing = {declared for declared, _ in groups} | {declared.name for declared in types}
        dimensions = self._read_dimensions(document, path, key, clashing)
        hidden = extension.get("anonymous", [])
        stand_ins = (
            set(hidden) if isinstance(hidden, list) and all(isinstance(label, str) for label in hidden) else set()
        )
        declared = tuple(dimension for dimension in dimensions if dimension.name not in stand_ins)
        self.variables.types.update({names.join(path, user_type.name): user_type for user_type in types})
        for dimension in dimensions:
            place = self.variables.anonymous if dimension.name in stand_ins else self.variables.dimensions
            place[names.join(path, dimension.name)] = dimension
        return ZarrGroup(name, path, prefix, variables, tuple(children), types, declared)

    def _list_members(
        self, prefix: str, path: str, document: Json, extension: Json, key: str
    ) -> tuple[Members, Members]:
        """Return the variables and groups that are listed, in the order of the extension."""
        if not self.variables.has_hidden:
            below = self.documents.children(prefix)
            self.documents.expect((f"{prefix}{child}/" for child in below), self.reader.names)
            return self._split_members(path, below, prefix, set(), key)
        if document.get("subgroups"):  # the draft's documentation has `subgroups` for `groups`
            where = pointer("attributes", "_nczarr_group", "subgroups")
            self.documents.report_lost("draft-layout", unread_message("groups", document["subgroups"]), key, where)
        groups = name_list(self.documents, document, "groups", key)
        # `vars` until netCDF-C 4.9.2
        arrays = "vars" if "vars" in document and "arrays" not in document else "arrays"
        order = [*name_list(self.documents, document, arrays, key), *groups]
        added = extension.get("members", [])
        valid = isinstance(added, list) and all(isinstance(member, str) for member in added)
        if not valid:
            self._stale("the members of the extension are not a list of names", key)
        below = [*order, *added] if valid else order
        self.documents.expect((f"{prefix}{member}/" for member in below), self.reader.names)
        if valid and added:
            present = set(order)
            gone = {member for member in added if member not in present and not self._stands(prefix, member)}
            for missing in added:
                if missing in gone:
                    self._stale(f"`{missing}` was removed by a program that left its name", key)
            order = list(dict.fromkeys([*(member for member in added if member not in gone), *order]))
        unlisted = self._find_unlisted(prefix, set(order))
        if unlisted:
            self._stale(f"the group does not list {list_first(unlisted, 5)}, which another program added", key)
        return self._split_members(path, [*order, *unlisted], prefix, set(groups), key)

    def _find_unlisted(self, prefix: str, listed: set[str]) -> list[str]:
        """Return arrays and groups below a group that it does not list. A folder may be unreadable: lists suffice."""
        store = self.documents.store
        if not store.listed or store.distant:  # there, each listing is a request
            return []
        try:
            below = self.documents.children(prefix)
        except PermissionError:
            return []
        return [name for name in below if name not in listed and self._stands(prefix, name)]

    def _split_members(
        self, path: str, order: list[str], prefix: str, groups: set[str], key: str
    ) -> tuple[Members, Members]:
        nodes: list[tuple[str, str, str]] = []
        for written in order:
            if not _is_segment(written):
                self.documents.report_lost("bad-metadata", f"{written!r} is not the name of an array or group", key)
                continue
            inside = f"{prefix}{written}/"
            is_array, is_group = self.reader.is_array(inside), self.reader.is_group(inside)
            if not (is_array or is_group or written in groups):  # as netCDF-C: a listed group may lack `.zgroup`
                if self.variables.has_hidden:
                    self.documents.report_lost("bad-metadata", f"array `{written}` is listed but does not exist", key)
                    continue
                fault = self.reader.find_fault(inside)
                if fault is not None:
                    self.documents.report_lost("bad-metadata", fault[0], self.reader.key(inside), fault[1])
                elif self._has_nodes(inside, inside.count("/")):
                    self.implicit.append(f"/{inside[:-1]}")
                    is_group = True
                elif (other := self._find_other_document(inside)) is not None:
                    text = f"`/{inside[:-1]}` has documents of another version of Zarr alone, which are not read"
                    self.documents.report_lost("unreadable-array", text, other)
                else:
                    self.ignored.append(f"/{inside[:-1]}")
                if not is_group:
                    continue
            spelled = self.reader.name(inside)
            if self.documents.name(spelled, key, "", "an array or group") is None:
                continue
            if is_array and is_group:
                text = f"`/{inside[:-1]}` is both an array and a group; the nodes below it are left out"
                self.documents.report_lost("ambiguous-node", text, self.reader.key(inside))
            nodes.append(("variable" if is_array or self._is_variable(inside) else "group", spelled, inside))
        items = [(kind, spelled) for kind, spelled, _ in nodes]
        shown = self.documents.make_names_unique(items, (self.reader.key(inside) for _, _, inside in nodes), path)
        members: dict[str, Members] = {"variable": [], "group": []}
        for name, (kind, _, inside) in zip(shown, nodes, strict=True):
            members[kind].append((name, inside))
        return members["variable"], members["group"]

    def _has_nodes(self, prefix: str, depth: int) -> bool:
        """Return whether there is an array or group below a folder without a document."""
        if depth > MAX_DEPTH:
            return False
        inner = [f"{prefix}{name}/" for name in self.documents.children(prefix) if _is_segment(name)]
        self.documents.expect(inner, self.reader.names)
        return any(
            self.reader.is_array(path) or self.reader.is_group(path) or self.reader.find_fault(path) for path in inner
        ) or any(self._has_nodes(path, depth + 1) for path in inner)

    def _find_other_document(self, prefix: str) -> str | None:
        """Return the key of a document of a node in another version of Zarr; None without any."""
        others = (f"{prefix}{name}" for name in _DOCUMENTS if name not in self.reader.names)
        return next((key for key in others if self.documents.store.get(key) is not None), None)

    def _report_folders(self, dataset: Dataset) -> None:
        """Report groups without a document, and an empty dataset in a folder with other files."""
        root = self.reader.key("")
        if self.implicit:
            text = f"folders without a document are read as groups: {list_first(self.implicit, 5)}"
            self.documents.warn("implicit-group", text, root, severity=Severity.NOTE)
        if dataset.variables or dataset.groups:
            return
        store = self.documents.store
        ignored = self.ignored
        if store.refers:
            ignored = [f"/{name}" for name in store.children("") if _is_segment(name) and not is_node(name)]
        if ignored:
            text = f"the store has no array or group, but other files and folders: {list_first(ignored, 5)}"
            self.documents.warn("ignored-files", text, root)

    def _stands(self, prefix: str, name: str) -> bool:
        inside = f"{prefix}{name}/"
        return _is_segment(name) and (self.reader.is_array(inside) or self.reader.is_group(inside))

    def _is_variable(self, prefix: str) -> bool:
        """Return whether a group is a variable that is stored in parts."""
        document, _ = self.variables.read_hidden(prefix, "group")
        extension = (document or {}).get("nczarr")
        return isinstance(extension, dict) and isinstance(extension.get("variable"), dict)

    def _read_types(self, written: Any, key: str, taken: set[str]) -> tuple[UserType, ...]:
        """Return the extension's types that are valid individually."""
        types: dict[str, UserType] = {}
        for number, item in enumerate(written if isinstance(written, list) else []):
            where = pointer("_nczarr_group", "nczarr", "types", number)
            try:
                user_type = type_from_json(item)
                wrong = _find_fault(user_type)
            except (KeyError, TypeError, ValueError, AttributeError) as fault:
                text = f"a type cannot be read: {str(fault).splitlines()[0] if str(fault) else fault!r}"
                self._stale(text, key, where)
                continue
            if wrong is None and (user_type.name in taken or user_type.name in types):
                text = f"type `{user_type.name}` has a name that is in use, and is left out"
                self.documents.report_lost("duplicate-name", text, key, where)
            elif wrong is not None:
                self._stale(f"type `{user_type.name}` {wrong}", key, where)
            else:
                types[user_type.name] = user_type
        return tuple(types.values())

    def _read_dimensions(self, document: Json, path: str, key: str, clashing: set[str]) -> list[Dimension]:
        # `dims` until netCDF-C 4.9.2, `dimensions` since 4.9.3
        lengths: Any = next((document[name] for name in ("dimensions", "dims") if name in document), {})
        if not isinstance(lengths, dict):
            if isinstance(lengths, list):  # the draft's documentation has a list
                where = pointer("attributes", "_nczarr_group", "dimensions")
                self.documents.report_lost("draft-layout", unread_message("dimensions", lengths), key, where)
            else:
                self.documents.report_lost("bad-metadata", "the dimensions are not an object", key)
            return []
        dimensions: dict[str, Dimension] = {}
        shown = self.variables.dimension_names(path, list(lengths), [key] * len(lengths))
        for name, size in zip(shown, lengths.values(), strict=True):
            unlimited = False
            if isinstance(size, dict):
                # netCDF-C writes 1; `true` is of no release, and equal to 1 in Python
                unlimited = size.get("unlimited") == 1 and size.get("unlimited") is not True
                size = size.get("size")
            wrong = name_problem(name)
            if wrong is not None or name in clashing:
                text = wrong if wrong is not None else f"the name of dimension `{name}` is in use"
                self.documents.report_lost("bad-metadata", text, key)
            elif type(size) is not int or not 0 <= size <= LARGEST_LENGTH:
                self.documents.report_lost("bad-metadata", f"dimension `{name}` has no length", key)
            else:
                dimensions[name] = Dimension(name=name, size=size, unlimited=unlimited, span=self.documents.span(key))
        return list(dimensions.values())

    def _infer_dimensions(self, node: ZarrGroup, arrays: Mapping[str, ArrayMetadata]) -> tuple[Dimension, ...]:
        """Return the dimensions of a group without hidden attributes, in order of first use."""
        spelled: dict[str, str] = {}
        firsts: dict[tuple[object, ...], ArrayMetadata] = {}
        for array in arrays.values():
            firsts.setdefault((array.axes, array.shape), array)
        for array in firsts.values():
            for axis in array.axes or ():
                if axis is not None:
                    spelled.setdefault(axis, array.key)
        shown = self.variables.dimension_names(node.path, list(spelled), list(spelled.values()))
        called = dict(zip(spelled, shown, strict=True))
        span, taken = self.documents.span(self.reader.key(node.prefix)), {child.name for child in node.children}
        dimensions: dict[str, Dimension] = {}
        for array in firsts.values():
            for axis, length in zip(array.axes or (), array.shape, strict=False):
                if axis is None or len(array.axes or ()) != len(array.shape):
                    continue
                name = called[axis]
                coordinate = arrays.get(name)
                if coordinate is not None and coordinate.axes == (axis,) and len(coordinate.shape) == 1:
                    length = coordinate.shape[0]
                if name_problem(name) is None and name not in taken and name not in dimensions:
                    dimensions[name] = Dimension(name=name, size=length, span=span)
        self.variables.dimensions.update(
            {names.join(node.path, name): dimension for name, dimension in dimensions.items()}
        )
        return tuple(dimensions.values())

    def _read_group(self, node: ZarrGroup) -> Group:
        arrays: dict[str, ArrayMetadata] = {}
        for name, prefix in node.variables:
            is_array = not self.variables.has_hidden or self.reader.is_array(prefix)
            array = self.reader.array(prefix) if is_array else None
            if array is not None:
                arrays[name] = array
        inferred = () if self.variables.has_hidden else self._infer_dimensions(node, arrays)
        declared = (*node.types, *node.dimensions, *inferred, *node.children)
        inventor = Inventor(node.path, {*(item.name for item in declared), *(name for name, _ in node.variables)})
        variables = []
        for name, prefix in node.variables:
            variable = self.variables.read(node.path, name, prefix, arrays.get(name), inventor)
            if variable is not None:
                variables.append(variable)
        self.documents.namesakes += inventor.namesakes
        used = {ref for variable in variables for ref in variable.dimensions}
        sound = (item for item in node.types if names.join(node.path, item.name) in self.variables.types)
        named = (dimension for dimension in inferred if names.join(node.path, dimension.name) in used)
        attributes = {} if self.reader.is_array(node.prefix) else self.reader.attributes(node.prefix)
        return Group(
            name=node.name,
            types=(*sound, *inventor.types.values()),
            dimensions=(*node.dimensions, *named),
            variables=tuple(variables),
            attributes=self.variables.attributes(attributes, node.prefix),
            groups=tuple(map(self._read_group, node.children)),
            span=self.documents.span(self.reader.key(node.prefix)),
        )


def _is_segment(name: str) -> bool:
    """Return whether a name is a valid key segment and not reserved by stores."""
    return bool(name) and not is_own(name) and "/" not in name and "\0" not in name


def _find_fault(user_type: UserType) -> str | None:
    """Return the fault of a type by itself, or None."""
    problem = name_problem(user_type.name)
    if problem is not None:
        return f"is invalid: {problem}"
    inner = (
        user_type.constants
        if isinstance(user_type, EnumType)
        else user_type.fields
        if isinstance(user_type, CompoundType)
        else ()
    )
    if any(names.normal(declared.name) != declared.name for declared in (user_type, *inner)):
        return "has a name that is not in NFC"
    is_distinct = bool(inner) and len({declared.name for declared in inner}) == len(inner)
    if isinstance(user_type, EnumType):
        atomic, values = ATOMIC[user_type.base], {constant.value for constant in user_type.constants}
        if not is_distinct or len(values) < len(inner):
            return "has no constants, or two constants of the same name or value"
        if any(not atomic.low <= value <= atomic.high for value in values):
            return f"has a constant that is not of type {user_type.base}"
    if isinstance(user_type, CompoundType) and (not is_distinct or any(name_problem(field.name) for field in inner)):
        return "has no fields, two fields of the same name, or an invalid name"
    return None
