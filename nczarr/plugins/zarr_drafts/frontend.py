"""`zarr3-2019`: a hierarchy of the draft → `Unchecked`, with or without our extension.

The four hidden attributes are derived from one extension object.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from nczarr import names
from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.sources.source import Descr
from nczarr.ast.types import MAX_DEPTH
from nczarr.diagnostics.report import Report, Severity
from nczarr.formats.common.documents import Json
from nczarr.formats.zarr.core import hierarchy
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata, chain
from nczarr.formats.zarr.core.reader import BadDocumentError, NodeReader, adapt
from nczarr.options import Options, RunOptions
from nczarr.plugins.zarr_drafts import dtypes, keys, wire
from nczarr.plugins.zarr_drafts import protocol_extension as extension
from nczarr.plugins.zarr_drafts.keys import Kind, problem, suits
from nczarr.plugins.zarr_drafts.keyvalue import operations
from nczarr.plugins.zarr_drafts.protocol import Hierarchy, Nodes, nodes_of
from nczarr.plugins.zarr_drafts.protocol_extension import ExtensionObject
from nczarr.plugins.zarr_drafts.strict_json import StrictDocuments
from nczarr.registry import ChunkKeys
from nczarr.semantics.checked import Foreign, Unchecked
from nczarr.stores.base import Store
from nczarr.syntax.json.positions import pointer

_SEVERITIES = {"refused": Severity.ERROR, "warning": Severity.WARNING, "note": Severity.NOTE}


def path_of(prefix: str) -> str:
    """Return the draft's path of a node prefix."""
    return "/" + prefix[:-1]


class NodeDocuments(StrictDocuments):
    """Documents of a hierarchy by node. Discovery reports contradictions between them."""

    hides_attributes = False

    def __init__(self, store: Store, report: Report, run: RunOptions, given: tuple[str, ...]) -> None:
        super().__init__(store, report, run)
        self._given = given
        self._valid: dict[str, Json | None] = {}
        self.refused = False
        """True if something ended the reading."""

    @functools.cached_property
    def nodes(self) -> Nodes:
        """All nodes: those listed, else those given and those named by our extension."""
        return self._discover()

    def _discover(self) -> Nodes:
        """Return the nodes of the store: listed, or the given ones with their ancestors and members."""
        hierarchy = Hierarchy(operations(self.store))
        if hierarchy.store.lists:
            return hierarchy.discover()
        documents: set[str] = set()
        for path in self._given:
            standing = hierarchy.list_existing(
                ancestor for ancestor in (path, *keys.ancestors(path)) if not keys.path_problem(ancestor)
            )
            if not any(node.path == path for node in map(keys.node_of, standing) if node is not None):
                self.report_lost(
                    "unreadable-array", f"`{path}` is given but has no document", keys.children_prefix(path)
                )
            documents.update(standing)
        documents.update(hierarchy.list_existing(["/"]))
        waiting = [node.path for key in documents if (node := keys.node_of(key)) and node.kind == "group"]
        while waiting:
            path = waiting.pop()
            members = self._list_members(path) if path.count("/") <= MAX_DEPTH else []
            below = [keys.document_key(keys.join(path, member), kind) for member in members for kind in keys.KINDS]
            self.store.expect(below)
            standing = [key for key in below if key not in documents and self.store.get(key) is not None]
            documents.update(standing)
            waiting += [node.path for key in standing if (node := keys.node_of(key)) and node.kind == "group"]
        if not documents:
            text = "the store cannot list keys: its content is unknown unless the paths of nodes are given"
            self.report_lost("unreadable-array", text, keys.META)
        return nodes_of(documents)

    def _list_members(self, path: str) -> list[str]:
        """Return a group's child names, or paths of a variable's arrays, in our extension."""
        document = self.get(keys.group_key(path))
        ours = None if document is None else extension.find_extension(document.get("extensions"))
        members = (ours.members if ours else None) or []
        return [member for member in members if not any(map(problem, member.split("/")))]

    @functools.cached_property
    def _below(self) -> dict[str, list[str]]:
        """Sound key names of the children of each group; others, and nodes of both kinds, are reported."""
        for key in self.nodes.nameless:
            self.report_lost("bad-metadata", "the name of a node is empty: it is left out", key)
        for path, kinds in sorted(self.nodes.documents.items()):
            if len(self.nodes.kinds(path)) > 1:
                what = "a group" if "group" in kinds else "a group implied by its descendants"
                text = f"`{path}` is both an array and {what}; the nodes below it are left out"
                self.report_lost("ambiguous-node", text, keys.array_key(path))
        sound: dict[str, list[str]] = {}
        for path, below in self.nodes.below().items():
            spellings: dict[str, str] = {}
            for name in below:
                wrong = problem(name)
                if wrong is None and name.lower() in spellings:  # the draft: unique whatever the case
                    wrong = f"differs from `{spellings[name.lower()]}` only in the case of letters"
                if wrong is None:
                    spellings[name.lower()] = name
                else:
                    key = self.key(keys.join(path, name))
                    self.report_lost("bad-metadata", f"the name `{name}` of a node {wrong}: it is left out", key)
            sound[path] = list(spellings.values())
        return sound

    def kind(self, path: str) -> Kind | None:
        """Return the kind of a node; array if contradictory; None if absent."""
        kinds = self.nodes.kinds(path)
        return "array" if "array" in kinds else "group" if kinds else None

    def key(self, path: str) -> str:
        kinds = self.nodes.documents.get(path)
        if not kinds:
            return keys.children_prefix(path)  # an implied group has no document
        return keys.document_key(path, "array" if "array" in kinds else "group")

    def children_of(self, path: str) -> list[str]:
        """Return the sorted key names of a group's children; an array has none."""
        return [] if self.kind(path) == "array" else self._below.get(path, [])

    def children(self, prefix: str) -> list[str]:
        return self.children_of(path_of(prefix))

    def expect(self, prefixes: Iterable[str], documents: Iterable[str]) -> None:
        if self.store.distant:
            paths = [path for path in map(path_of, prefixes) if self.nodes.documents.get(path)]
            self.store.expect(map(self.key, paths))

    def valid(self, path: str) -> Json | None:
        """Return the valid document of a node; None (reported) if invalid or absent."""
        key = self.key(path)
        if key not in self._valid:
            self._valid[key] = self._validate(key, path)
        return self._valid[key]

    def _validate(self, key: str, path: str) -> Json | None:
        """Return a node's document after reporting its faults; None if it is missing or cannot be read."""
        if not self.nodes.documents.get(path):
            return None
        document = self.get(key)
        if document is None:
            if not self.has(key):
                self.report_lost("bad-metadata", "the document is listed but does not exist", key)
            return None
        try:
            document = self._adapt(document, key)
        except BadDocumentError as error:
            self.report_lost(error.code, str(error), key, pointer(error.member))
            return None
        sound = True
        ours = extension.find_extension(document.get("extensions")) is not None
        for fault in wire.faults(document, self.kind(path) or "group"):
            sound = sound and fault.weight not in ("refused", "lost")
            self.refused = self.refused or fault.weight == "refused"
            if fault.weight == "lost":
                self.report_lost(fault.code, fault.message, key, fault.where)
            elif fault.weight != "note" or not ours:  # which writes all chunks then
                self.warn(fault.code, fault.message, key, fault.where, _SEVERITIES[fault.weight])
        return document if sound else None

    def _adapt(self, document: Json, key: str) -> Json:
        """Return a document with what plugins read for points of unknown extensions. Raises BadDocumentError."""
        points = [document.get(member) for member in ("data_type", "chunk_grid")]
        uris = [point.get("extension", extension.URI) for point in points if isinstance(point, dict)]
        return adapt(self, key, document, "extension") if uris.count(extension.URI) != len(uris) else document


def holds(store: Store) -> bool:
    """Return whether the root has a document, or any node exists below `meta/`."""
    if any(store.get(keys.document_key("/", kind)) is not None for kind in keys.KINDS):
        return True
    return store.listed and any(keys.node_of(key) is not None for key in store.keys(keys.META))


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a store. Reports unreadable parts; raises OSError."""
    version = Draft2019Reader(NodeDocuments(store, report, options.run, options.reading.nodes))
    unchecked = hierarchy.read(version, hidden=version.is_extended())
    if version.documents.refused:
        return None
    for path, fqn in version.fqns().items():
        foreign = version.foreign(path[1:] + "/" if path != "/" else "")
        if foreign != Foreign():
            unchecked.foreign[fqn] = foreign
    return unchecked


class Draft2019Reader(NodeReader):
    """Documents of the draft."""

    is_exact = True
    names = ("",)
    documents: NodeDocuments

    def __init__(self, documents: NodeDocuments) -> None:
        super().__init__(documents)
        self._called: dict[str, dict[str, str]] = {}

    def is_array(self, prefix: str) -> bool:
        return self.documents.kind(path_of(prefix)) == "array"

    def is_group(self, prefix: str) -> bool:
        return self.documents.kind(path_of(prefix)) == "group"

    def key(self, prefix: str) -> str:
        return self.documents.key(path_of(prefix))

    def _document(self, prefix: str) -> Json:
        return self.documents.valid(path_of(prefix)) or {}

    def attributes(self, prefix: str) -> Json:
        attributes: Json = self._document(prefix).get("attributes", {})
        return attributes

    def extension(self, prefix: str) -> ExtensionObject | None:
        """Return our extension object, or None."""
        return extension.find_extension(self._document(prefix).get("extensions"))

    def is_extended(self) -> bool:
        """Return whether any node has our extension object."""
        if self.extension("") is not None:
            return True
        self.documents.expect((path[1:] + "/" for path in self.documents.nodes.documents if path != "/"), self.names)
        return any(self.extension(path[1:] + "/") is not None for path in self.fqns() if path != "/")

    def foreign(self, prefix: str) -> Foreign:
        """Return other extensions, and the separator of chunk keys."""
        document = self._document(prefix)
        others = tuple(other for other in document.get("extensions", []) if other.get("extension") != extension.URI)
        grid = document.get("chunk_grid", {})
        return Foreign(others, grid.get("separator") if isinstance(grid, dict) else None)

    def name(self, prefix: str) -> str:
        """Return the extension's name if it fits the key and is unique, else the key's."""
        path = path_of(prefix)
        parent = keys.parent_of(path)
        if parent not in self._called:
            self._called[parent] = self._names(parent)
        segment = keys.name_of(path)
        return self._called[parent].get(segment, segment)

    def _names(self, parent: str) -> dict[str, str]:
        """Return the true names of a group's children by their names in keys."""
        called: dict[str, str] = {}
        below = self.documents.children_of(parent)
        taken = set(below)
        for segment in below:
            path = keys.join(parent, segment)
            extension_object = self.extension(path[1:] + "/")
            if extension_object is None or "name" not in extension_object.document or extension_object.name == segment:
                continue
            name = extension_object.name or ""
            if not suits(segment, name):
                text = f"the name `{name}` does not match the key; the node is named `{segment}`"
            elif name in taken:
                text = f"the name `{name}` is the name of another node; this one is named `{segment}`"
            else:
                called[segment] = name
                taken.add(name)
                continue
            self.documents.warn("stale-extension", text, self.documents.key(path))
        return called

    def read_hidden(self, prefix: str, what: str) -> tuple[Json | None, str]:
        """Return a hidden attribute of netCDF-C, derived from our extension object."""
        extension_object = self.extension(prefix)
        path, key = path_of(prefix), self.key(prefix)
        if what == "group":
            kinds = {name: self.documents.kind(keys.join(path, name)) for name in self.documents.children_of(path)}
            arrays, groups = ([name for name in kinds if kinds[name] == kind] for kind in keys.KINDS)
            empty = {"dimensions": {}, "arrays": arrays, "groups": groups}
            return (empty if extension_object is None else extension_object.read_hidden(what, arrays, groups)), key
        return (None if extension_object is None else extension_object.read_hidden(what, [], [])), key

    def describe(self, prefix: str) -> ArrayMetadata | None:
        path = path_of(prefix)
        document = self.documents.valid(path)
        if document is None:
            return None
        used = wire.find_used_type(document["data_type"])
        dtype, shape = dtypes.descr(used), tuple(document["shape"])
        grid = document["chunk_grid"]
        chunks = wire.read_chunks(grid, shape)
        backwards = document["chunk_memory_layout"] == "F"  # `F`: the first index varies fastest
        steps = dtypes.configs(document["chunk_codecs"])
        return ArrayMetadata(
            self.documents.key(path),
            prefix,
            shape,
            chunks,
            Encoding(dtype, steps, tuple(reversed(range(len(shape)))) if backwards else None),
            self._fill(prefix, dtype, used, document["fill_value"]),
            chain([dict(step) for step in steps]),
            None,
            document["attributes"],
            None,
            ChunkKeys(keys.chunk_prefix(path), grid.get("separator", ".")),  # `.` is the draft's default
        )

    def _fill(self, prefix: str, dtype: Descr, used: Any, written: Any) -> bytes | None:
        """Return the fill value, with the extension's bits if they still match it."""
        fill, extension_object = dtypes.fill_bytes(used, written), self.extension(prefix)
        bits = None if extension_object is None else extension_object.fill
        if fill is None or bits is None or len(bits) != len(fill):
            return fill
        return bits if dtypes.fill_value(dtype, bits) == dtypes.fill_value(dtype, fill) else fill

    def fqns(self) -> dict[str, str]:
        """Return the FQNs of all named nodes by path."""
        fqns: dict[str, str] = {"/": "/"}
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            for segment in self.documents.children_of(path):
                inside = keys.join(path, segment)
                fqns[inside] = names.join(fqns[path], names.normal(self.name(inside[1:] + "/")))
                waiting.append(inside)
        return fqns
