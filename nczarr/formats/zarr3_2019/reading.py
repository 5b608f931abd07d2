"""Documents of the draft as the readers of hierarchies want them, with one extension object for four hidden attributes.

A node is named by its path in keys, as a prefix: `foo/bar/`. Source: zarr-v3-2019-draft §1 to §6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nczarr import names
from nczarr.ast import Constant
from nczarr.ast.plain import Plain, plain
from nczarr.ast.walk import MAX_DEPTH
from nczarr.data.segments import problem, suits
from nczarr.data.source import Descr
from nczarr.data.stored import Encoding
from nczarr.diagnostics import Report
from nczarr.extension import protocol as extension
from nczarr.extension.protocol import Found
from nczarr.formats.zarr3_2019 import dtypes, keys, wire
from nczarr.formats.zarr3_2019.codecs import configs
from nczarr.formats.zarr3_2019.keys import Kind
from nczarr.formats.zarr3_2019.protocol import Hierarchy, Nodes, nodes_of
from nczarr.hierarchy.attributes import untyped
from nczarr.hierarchy.described import Described, chain
from nczarr.hierarchy.documents import Json
from nczarr.hierarchy.strict import StrictDocuments
from nczarr.options import Options
from nczarr.passes.checked import Foreign
from nczarr.stores.base import Store
from nczarr.stores.keyvalue import operations


def path_of(prefix: str) -> str:
    """The path of a node in the draft's words."""
    return "/" + prefix[:-1]


class NodeDocuments(StrictDocuments):
    """The documents of a hierarchy, by node. Contradictions between them are reported when they are discovered."""

    hides_attributes = False

    def __init__(self, store: Store, report: Report, options: Options) -> None:
        super().__init__(store, report, options)
        self._nodes: Nodes | None = None
        self._below: dict[str, list[str]] = {}
        self._valid: dict[str, Json | None] = {}
        self._given = options.nodes

    @property
    def nodes(self) -> Nodes:
        """All nodes: those that the store lists; else those that are given, and those that our extension names."""
        if self._nodes is None:
            self._nodes = self._discovered()
            self._below = self._nodes.below()
            self._check_names()
        return self._nodes

    def _discovered(self) -> Nodes:
        hierarchy = Hierarchy(operations(self.store))
        if hierarchy.store.lists:
            return hierarchy.discover()
        found = {key for path in self._given for key in _standing(hierarchy, path)}
        found.update(_standing(hierarchy, "/"))
        waiting = [node.path for key in found if (node := keys.node_of(key)) and node.kind == "group"]
        while waiting:
            path = waiting.pop()
            members = self._members(path) if path.count("/") <= MAX_DEPTH else []
            self.store.expect(key for each in members for key in self._keys_of(keys.join(path, each)))
            for member in members:
                below = [key for key in self._keys_of(keys.join(path, member)) if key not in found]
                standing = [key for key in below if self.store.get(key) is not None]
                found.update(standing)
                waiting += [keys.join(path, member) for key in standing if key.endswith(".group.json")]
        if not found:
            text = "the store lists no keys: what is in it is not known, unless the paths of nodes are given"
            self.lost("unreadable-array", text, keys.META)
        return nodes_of(found)

    @staticmethod
    def _keys_of(path: str) -> list[str]:
        return [keys.document_key(path, kind) for kind in keys.KINDS]

    def _members(self, path: str) -> list[str]:
        """The names of a group's children that our extension knows, and paths of the arrays of a variable."""
        document = self.get(keys.group_key(path))
        known = None if document is None else extension.found(document.get("extensions"))
        members = (known.members if known else None) or []
        return [each for each in members if not any(map(problem, each.split("/")))]

    def _check_names(self) -> None:
        """Report nodes that are an array and a group at once, and names that no node may have."""
        nodes = self.nodes
        for key in nodes.nameless:
            self.lost("bad-metadata", "the name of a node is empty: it is left out", key)
        for path in sorted(nodes.documents):
            if len(nodes.kinds(path)) > 1:
                what = "a group" if "group" in nodes.documents[path] else "a group that its descendants imply"
                text = f"`{path}` is an array and {what}: what is below it is left out"
                self.lost("ambiguous-node", text, keys.array_key(path))
        for path, below in self._below.items():
            known: dict[str, str] = {}
            kept = []
            for name in below:
                inside = keys.join(path, name)
                wrong = problem(name)
                if wrong is None and name.lower() in known:
                    wrong = f"differs from `{known[name.lower()]}` beside it by the case of letters alone"
                if wrong is None:
                    known[name.lower()] = name
                    kept.append(name)
                else:
                    self.lost("bad-metadata", f"the name `{name}` of a node {wrong}: it is left out", self.key(inside))
            self._below[path] = kept

    def kind(self, path: str) -> Kind | None:
        """What a node is; an array, if it is contradictory; None if it is not there."""
        kinds = self.nodes.kinds(path)
        return "array" if "array" in kinds else "group" if kinds else None

    def key(self, path: str) -> str:
        """The key of a node's document, or, of a group that is implied, what keys below it begin with."""
        kinds = self.nodes.documents.get(path)
        return (
            keys.children_prefix(path)
            if not kinds
            else keys.document_key(path, "array" if "array" in kinds else "group")
        )

    def below(self, path: str, kind: Kind) -> list[str]:
        """The names in keys of the children of one kind, sorted."""
        return [name for name in self.children_of(path) if self.kind(keys.join(path, name)) == kind]

    def children_of(self, path: str) -> list[str]:
        """The names in keys of all children of a group, sorted; an array has none."""
        return [] if self.kind(path) == "array" else self._below.get(path, [])

    def children(self, prefix: str) -> list[str]:
        """The same by prefix."""
        return self.children_of(path_of(prefix))

    def expect(self, prefixes: Iterable[str], documents: Iterable[str]) -> None:
        """Documents of these nodes will be read: distant stores fetch many at once. Raises OSError."""
        if self.store.distant:
            paths = [path for path in map(path_of, prefixes) if self.nodes.documents.get(path)]
            self.store.expect(map(self.key, paths))

    def valid(self, path: str) -> Json | None:
        """The document of a node, if the protocol allows it; None (reported) if not, or if there is none."""
        key = self.key(path)
        if key not in self._valid:
            self._valid[key] = self._validated(key, path)
        return self._valid[key]

    def _validated(self, key: str, path: str) -> Json | None:
        if not self.nodes.documents.get(path):
            return None
        document = self.get(key)
        if document is None:
            return None
        sound = True
        ours = extension.found(document.get("extensions")) is not None
        for fault in wire.faults(document, self.kind(path) or "group"):
            match fault.weight:
                case "refused":
                    self.refuse(fault.code, fault.message, key, fault.where)
                    sound = False
                case "lost":
                    self.lost(fault.code, fault.message, key, fault.where)
                    sound = False
                case "warning":
                    self.warn(fault.code, fault.message, key, fault.where)
                case "note" if not ours:  # which writes all chunks then
                    self.note(fault.code, fault.message, key, fault.where)
        return document if sound else None


def _standing(hierarchy: Hierarchy, path: str) -> list[str]:
    """The keys of the documents of a node and its ancestors that there are."""
    wanted = [each for each in (path, *keys.ancestors(path)) if keys.path_problem(each) is None]
    found = (keys.document_key(each, kind) for each in wanted for kind in keys.KINDS)
    return [key for key in found if hierarchy.store.get(key) is not None]


def _is_shown(shown: Any, value: Any) -> bool:
    """Whether the JSON of an attribute of the tree is the same as the one that it was read from."""
    if isinstance(shown, list) and isinstance(value, list):
        return len(shown) == len(value) and all(map(_is_shown, shown, value))
    alike = isinstance(value, float) if isinstance(shown, float) else type(shown) is type(value)
    return alike and isinstance(value, str | int | float) and bool(shown == value)


class Version2019:
    """Reads the keys of the draft."""

    texts_are_strings = False
    axes_member = ""
    portable_names = True
    named_by_file = False
    fill_stands_for_attribute = False
    names: tuple[str, ...] = ("",)

    def __init__(self, documents: NodeDocuments) -> None:
        self.documents = documents
        self._called: dict[str, dict[str, str]] = {}

    def is_array(self, prefix: str) -> bool:
        """Whether an array stands there, readable or not."""
        return self.documents.kind(path_of(prefix)) == "array"

    def is_group(self, prefix: str) -> bool:
        """Whether a group stands there, if only because something is below it."""
        return self.documents.kind(path_of(prefix)) == "group"

    def key(self, prefix: str) -> str:
        """The document of the node."""
        return self.documents.key(path_of(prefix))

    def _document(self, prefix: str) -> Json:
        return self.documents.valid(path_of(prefix)) or {}

    def attributes(self, prefix: str) -> Json:
        """The member `attributes`."""
        found: Json = self._document(prefix).get("attributes", {})
        return found

    def extension(self, prefix: str) -> Found | None:
        """The object of our extension; None if the node has none."""
        return extension.found(self._document(prefix).get("extensions"))

    def foreign(self, prefix: str) -> Foreign:
        """The extensions that are not ours, in order, and the attributes that plain JSON of the tree does not show."""
        document = self._document(prefix)
        others = tuple(each for each in document.get("extensions", []) if each.get("extension") != extension.URI)
        attributes = {
            name: value
            for name, value in document.get("attributes", {}).items()
            if not _is_shown(plain(untyped(value)).value, value)
        }
        grid = document.get("chunk_grid", {})
        return Foreign(others, attributes, grid.get("separator") if isinstance(grid, dict) else None)

    def name(self, prefix: str) -> str:
        """The true name, where the extension has one that fits the key; a sibling's it must not be."""
        path = path_of(prefix)
        parent = keys.parent_of(path)
        if parent not in self._called:
            self._called[parent] = self._names(parent)
        own = keys.name_of(path)
        return self._called[parent].get(own, own)

    def _names(self, parent: str) -> dict[str, str]:
        """The names of a group's children by their names in keys."""
        found: dict[str, str] = {}
        below = self.documents.children_of(parent)
        taken = set(below)
        for segment in below:
            path = keys.join(parent, segment)
            known = self.extension(path[1:] + "/")
            name = None if known is None else known.name
            if name is None or name == segment:
                continue
            if not suits(segment, name):
                text = f"the name `{name}` does not fit the key; the node is called `{segment}`"
            elif name in taken:
                text = f"the name `{name}` is that of another node; this one is called `{segment}`"
            else:
                found[segment] = name
                taken.add(name)
                continue
            self.documents.warn("stale-extension", text, self.documents.key(path))
        return found

    def hidden(self, prefix: str, what: str) -> tuple[Json | None, str]:
        """What the netCDF library hides elsewhere, of the one object of our extension."""
        known = self.extension(prefix)
        path, key = path_of(prefix), self.key(prefix)
        if what == "group":
            arrays, groups = self.documents.below(path, "array"), self.documents.below(path, "group")
            empty = {"dimensions": {}, "arrays": arrays, "groups": groups}
            return (empty if known is None else known.hidden(what, arrays, groups)), key
        return (None if known is None else known.hidden(what, [], [])), key

    def own_fill(self, type_name: str, value: Any) -> Constant | None:
        """None: `_FillValue` stands among the attributes as any other."""
        return None

    def shown_fill(self, constant: Constant) -> Plain:
        """The plain form."""
        return plain(constant)

    def array(self, prefix: str) -> Described | None:
        """What the document says; None (reported) if it is no array that can be read."""
        path = path_of(prefix)
        document = self.documents.valid(path)
        if document is None:
            return None
        used = wire.used_type(document["data_type"])
        dtype, shape = dtypes.descr(used), tuple(document["shape"])
        grid = document["chunk_grid"]
        chunks = tuple(grid["chunk_shape"])
        backwards = document["chunk_memory_layout"] == "F"
        steps = configs(document["chunk_codecs"])
        return Described(
            self.documents.key(path),
            prefix,
            shape,
            chunks,
            Encoding(
                dtype,
                steps,
                tuple(reversed(range(len(shape)))) if backwards else None,
                grid.get("separator", "."),
            ),
            self._fill(prefix, dtype, used, document["fill_value"]),
            chain([dict(step) for step in steps]),
            None,
            document["attributes"],
            None,
            keys.chunk_prefix(path),
        )

    def _fill(self, prefix: str, dtype: Descr, used: Any, written: Any) -> bytes | None:
        """The fill value, with the bits that the extension knows of it if it is still the same."""
        fill, known = dtypes.fill_bytes(used, written), self.extension(prefix)
        bits = None if known is None else known.fill
        if fill is None or bits is None or len(bits) != len(fill):
            return fill
        return bits if dtypes.fill_value(dtype, bits) == dtypes.fill_value(dtype, fill) else fill

    def fqns(self) -> dict[str, str]:
        """The FQNs of all nodes that have names, by their paths."""
        found: dict[str, str] = {"/": "/"}
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            for segment in self.documents.children_of(path):
                inside = keys.join(path, segment)
                found[inside] = names.join(found[path], names.normal(self.name(inside[1:] + "/")))
                waiting.append(inside)
        return found
