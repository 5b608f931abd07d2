"""A hierarchy with netCDF-C's hidden attributes, and possibly our extension → the tree.

Members come from the lists of groups and the extension. The extension is
verified: if another program changed the store, the plain keys win, with a
warning. A bad array gives one diagnostic and affects no others. Groups with
types and dimensions are read first, then variables, which may refer to any
group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.values.validate_constant import sound_types
from nczarr.ast import Dimension, Group, Kind, UserType, Variable
from nczarr.ast.walk import MAX_DEPTH, building
from nczarr.check.checked import Unchecked
from nczarr.check.type_sizes import oversized
from nczarr.formats.common.documents import Json
from nczarr.formats.zarr.core.array_metadata import LARGEST_LENGTH
from nczarr.formats.zarr.core.attributes import NodeAttributes
from nczarr.formats.zarr.core.read_zarr import both_kinds, unchecked
from nczarr.formats.zarr.core.reader import NodeReader
from nczarr.formats.zarr.core.stored_types import Inventor
from nczarr.formats.zarr.extension.model import Superblock, type_from_json
from nczarr.formats.zarr.nczarr import unread_draft
from nczarr.formats.zarr.nczarr.variables import Frame, Variables
from nczarr.names import name_problem, stem
from nczarr.syntax.json.positions import pointer

KINDS: dict[str, Kind] = {"nc3": "nc3", "nc6": "nc6", "nc5": "nc5", "nc4": "nc4", "nc7": "nc7"}


class _Node(NamedTuple):
    """A group from its documents."""

    name: str
    """Name of the group."""
    path: str
    """FQN of the group."""
    prefix: str
    """Prefix of its keys."""
    types: tuple[UserType, ...]
    """Its types."""
    dimensions: tuple[Dimension, ...]
    """Its dimensions."""
    anonymous: tuple[Dimension, ...]
    """Dimensions that stand for sizes."""
    variables: tuple[tuple[str, str], ...]
    """Names and prefixes of its variables."""
    children: tuple[_Node, ...]
    """Child groups."""


def read(reader: NodeReader) -> Unchecked:
    """Return the dataset of a store, without unreadable parts (reported). Raises OSError."""
    with building():
        return _read(reader)


def _read(reader: NodeReader) -> Unchecked:
    hierarchy = _NczarrHierarchy(reader)
    superblock, key = reader.hidden("", "superblock")
    described = hierarchy.superblock(superblock or {}, key)
    node = hierarchy.node("", "/", described.name or "root", 0)
    frame = Frame({}, {}, {}, hierarchy.respelled)
    hierarchy.collect(node, frame)
    whole = sound_types(frame.types)
    large = oversized(whole)
    whole = sound_types({path: user_type for path, user_type in whole.items() if path not in large})
    for path in frame.types.keys() - whole.keys():
        reader.documents.warn("stale-extension", f"type `{path}` is too large, or uses undefined types", key)
    frame = frame._replace(types=whole)
    variables = Variables(reader, frame)
    root = hierarchy.group(node, variables)
    return unchecked(
        root, variables.parts, reader, name=described.name, kind=described.kind, version=described.model or "2.0.0"
    )


class _NczarrHierarchy:
    """State of one run."""

    def __init__(self, reader: NodeReader) -> None:
        self.reader = reader
        self.documents = reader.documents
        self.respelled: dict[str, str] = {}

    def superblock(self, document: Json, key: str) -> Superblock:
        """Return the extension's data about the dataset; without it, only the file's name."""
        extension = document.get("nczarr")
        if extension is None:
            return Superblock(name=stem(self.documents.store.title))
        if not isinstance(extension, dict):
            extension = {}
            self._stale("the extension of the superblock is not an object", key)
        kind, name, model = extension.get("kind"), extension.get("name", ""), extension.get("model")
        if kind is not None and not (isinstance(kind, str) and kind in KINDS):
            self._stale(f"the kind of netCDF file {kind!r} is unknown", key)
            kind = None
        if model is not None and not (isinstance(model, str) and _is_version(model)):
            self._stale(f"the version of the data model {model!r} is invalid", key)
            model = None
        if not isinstance(name, str):
            self._stale("the name of the dataset is not a string", key)
            name = ""
        return Superblock(KINDS.get(kind or ""), name, model)

    def _stale(self, message: str, key: str, where: str = "") -> None:
        self.documents.warn("stale-extension", message, key, where)

    # ---- groups ----------------------------------------------------------------------------------------------------
    def node(self, prefix: str, path: str, name: str, depth: int) -> _Node:
        """Return the group at a prefix with its descendants."""
        document, key = self.reader.hidden(prefix, "group")
        document = document or {}
        extension = document.get("nczarr", {})
        if not isinstance(extension, dict):
            self._stale("the extension of the group is not an object", key)
            extension = {}
        variables, groups = self._members(prefix, path, document, extension, key)
        children = []
        for child, inside in groups:
            if depth >= MAX_DEPTH:
                text = f"groups are nested more than {MAX_DEPTH} deep; `{child}` is left out"
                self.documents.lost("unreadable-array", text, key)
            else:
                children.append(self.node(inside, names.join(path, child), child, depth + 1))
        taken = {member for member, _ in (*variables, *groups)}
        types = self._types(extension.get("types", []), key, taken)
        clashing = {declared for declared, _ in groups} | {declared.name for declared in types}
        dimensions = self._dimensions(document, path, key, clashing)
        hidden = extension.get("anonymous", [])
        stand_ins = (
            set(hidden) if isinstance(hidden, list) and all(isinstance(label, str) for label in hidden) else set()
        )
        return _Node(
            name,
            path,
            prefix,
            types,
            tuple(dimension for dimension in dimensions if dimension.name not in stand_ins),
            tuple(dimension for dimension in dimensions if dimension.name in stand_ins),
            tuple(variables),
            tuple(children),
        )

    def _members(
        self, prefix: str, path: str, document: Json, extension: Json, key: str
    ) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return name and prefix of listed variables and groups, with the extension's, in its order."""
        for message, where in unread_draft.subgroups(document):
            self.documents.lost("draft-layout", message, key, where)
        listed = [
            *self._list(document, ("arrays", "vars"), key),
            *self._list(document, ("groups",), key),
        ]
        groups = set(self._list(document, ("groups",), key, quiet=True))
        added = extension.get("members")
        order = listed
        below = (
            [*listed, *(member for member in added if isinstance(member, str))] if isinstance(added, list) else listed
        )
        self.documents.expect((f"{prefix}{member}/" for member in below), self.reader.names)
        if isinstance(added, list) and all(isinstance(member, str) for member in added):
            present = set(listed)
            gone = [member for member in added if member not in present and not self._stands(prefix, member)]
            for missing in gone:
                self._stale(f"`{missing}` was removed by a program that left its name", key)
            order = list(dict.fromkeys([*(member for member in added if member not in gone), *listed]))
        elif added is not None:
            self._stale("the members of the extension are not a list of names", key)
        return self._sorted(prefix, path, order, groups, key)

    def _sorted(
        self, prefix: str, path: str, order: list[str], groups: set[str], key: str
    ) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Split the members into variables and groups."""
        nodes: list[tuple[str, str, str]] = []
        for written in order:
            if not _is_segment(written):
                self.documents.lost("bad-metadata", f"{written!r} is not the name of an array or group", key)
                continue
            inside = f"{prefix}{written}/"
            spelled = self.reader.name(inside)
            if self.documents.name(spelled, key, "", "an array or group") is None:
                continue
            is_array = self.reader.is_array(inside)
            if not is_array and written not in groups and not self.reader.is_group(inside):
                text = f"array `{written}` is listed but does not exist"
                self.documents.lost("bad-metadata", text, key)
                continue
            if is_array:
                both_kinds(self.reader, inside)
            nodes.append(("variable" if is_array or self._is_variable(inside) else "group", spelled, inside))
        items = [(kind, spelled) for kind, spelled, _ in nodes]
        shown = self.documents.apart(items, [self.reader.key(inside) for _, _, inside in nodes], path)
        members = [(kind, name, inside) for name, (kind, _, inside) in zip(shown, nodes, strict=True)]
        variables = [(name, inside) for kind, name, inside in members if kind == "variable"]
        return variables, [(name, inside) for kind, name, inside in members if kind == "group"]

    def _stands(self, prefix: str, name: str) -> bool:
        inside = f"{prefix}{name}/"
        return _is_segment(name) and (self.reader.is_array(inside) or self.reader.is_group(inside))

    def _is_variable(self, prefix: str) -> bool:
        """Return whether a group is a variable that is stored in parts."""
        document, _ = self.reader.hidden(prefix, "group")
        extension = (document or {}).get("nczarr")
        return isinstance(extension, dict) and isinstance(extension.get("variable"), dict)

    def _list(self, document: Json, spoken: tuple[str, ...], key: str, *, quiet: bool = False) -> list[str]:
        listed: Any = next((document[name] for name in spoken if name in document), [])
        if isinstance(listed, list) and all(isinstance(name, str) for name in listed):
            return list(dict.fromkeys(listed))
        if not quiet:
            self.documents.lost("bad-metadata", f"`{spoken[0]}` is not a list of names", key)
        return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []

    def _types(self, written: Any, key: str, taken: set[str]) -> tuple[UserType, ...]:
        """Return the extension's types that are valid individually."""
        types: dict[str, UserType] = {}
        for number, item in enumerate(written if isinstance(written, list) else []):
            where = pointer("_nczarr_group", "nczarr", "types", number)
            try:
                user_type = type_from_json(item)
                wrong = _wrong(user_type)
            except (KeyError, TypeError, ValueError, AttributeError) as fault:
                self._stale(
                    f"a type cannot be read: {str(fault).splitlines()[0] if str(fault) else fault!r}", key, where
                )
                continue
            if wrong is None and (user_type.name in taken or user_type.name in types):
                text = f"type `{user_type.name}` has a name that is in use, and is left out"
                self.documents.lost("duplicate-name", text, key, where)
            elif wrong is not None:
                self._stale(f"type `{user_type.name}` {wrong}", key, where)
            else:
                types[user_type.name] = user_type
        return tuple(types.values())

    def _dimensions(self, document: Json, path: str, key: str, clashing: set[str]) -> list[Dimension]:
        lengths: Any = next((document[name] for name in ("dimensions", "dims") if name in document), {})
        if not isinstance(lengths, dict):
            unread = list(unread_draft.dimensions(document))
            for message, where in unread:
                self.documents.lost("draft-layout", message, key, where)
            if not unread:
                self.documents.lost("bad-metadata", "the dimensions are not an object", key)
            return []
        dimensions: dict[str, Dimension] = {}
        shown = self.documents.apart([("dimension", written) for written in lengths], [key] * len(lengths), path)
        for name, (written, size) in zip(shown, lengths.items(), strict=True):
            if name != written:
                self.respelled[names.join(path, written)] = names.join(path, name)
            unlimited = False
            if isinstance(size, dict):
                unlimited = size.get("unlimited") == 1 and size.get("unlimited") is not True
                size = size.get("size")
            wrong = name_problem(name)
            if wrong is not None or name in clashing:
                text = wrong if wrong is not None else f"the name of dimension `{name}` is in use"
                self.documents.lost("bad-metadata", text, key)
            elif type(size) is not int or not 0 <= size <= LARGEST_LENGTH:
                self.documents.lost("bad-metadata", f"dimension `{name}` has no length", key)
            else:
                dimensions[name] = Dimension(name=name, size=size, unlimited=unlimited, span=self.documents.span(key))
        return list(dimensions.values())

    def collect(self, node: _Node, frame: Frame) -> None:
        """Add the types and dimensions of a group and its descendants to the frame."""
        frame.types.update({names.join(node.path, user_type.name): user_type for user_type in node.types})
        frame.dimensions.update({names.join(node.path, dimension.name): dimension for dimension in node.dimensions})
        frame.anonymous.update({names.join(node.path, dimension.name): dimension for dimension in node.anonymous})
        for child in node.children:
            self.collect(child, frame)

    def group(self, node: _Node, variables: Variables) -> Group:
        """Return the group with its variables."""
        frame = variables.frame
        taken = {
            *(declared.name for declared in (*node.types, *node.dimensions, *node.children)),
            *(name for name, _ in node.variables),
        }
        inventor = Inventor(node.path, taken)
        read: list[Variable] = []
        for name, prefix in node.variables:
            variable = variables.read(node.path, name, prefix, inventor)
            if variable is not None:
                read.append(variable)
        self.documents.namesakes += inventor.namesakes
        key = self.reader.key(node.prefix)
        hidden, _ = self.reader.hidden(node.prefix, "attr")
        types = tuple(user_type for user_type in node.types if names.join(node.path, user_type.name) in frame.types)
        return Group(
            name=node.name,
            types=(*types, *inventor.made.values()),
            dimensions=tuple(variables.sized(node.path, dimension) for dimension in node.dimensions),
            variables=tuple(read),
            attributes=NodeAttributes(self.documents, frame.types).read(
                self.reader.attributes(node.prefix), key, hidden
            ),
            groups=tuple(self.group(child, variables) for child in node.children),
            span=self.documents.span(key),
        )


def _is_segment(name: str) -> bool:
    """Return whether a name is a valid key segment and not reserved by stores."""
    return bool(name) and not name.startswith(".") and "/" not in name and "\0" not in name


def _is_version(text: str) -> bool:
    words = text.split(".")
    return len(words) == 3 and all(word.isascii() and word.isdigit() for word in words)


def _wrong(user_type: UserType) -> str | None:
    """Return the fault of a type by itself, or None."""
    from nczarr.ast import ATOMIC, CompoundType, EnumType

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
    if isinstance(user_type, EnumType):
        atomic = ATOMIC[user_type.base]
        keys, values = (
            {constant.name for constant in user_type.constants},
            {constant.value for constant in user_type.constants},
        )
        if not user_type.constants or len(keys) < len(user_type.constants) or len(values) < len(user_type.constants):
            return "has no constants, or two constants of the same name or value"
        if any(not atomic.low <= constant.value <= atomic.high for constant in user_type.constants):
            return f"has a constant that is not of type {user_type.base}"
    if isinstance(user_type, CompoundType):
        fields = {field.name for field in user_type.fields}
        if not user_type.fields or len(fields) < len(user_type.fields) or any(map(name_problem, fields)):
            return "has no fields, two fields of the same name, or an invalid name"
    return None
