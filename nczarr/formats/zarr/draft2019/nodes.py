"""Documents of a hierarchy by node path: discovery, validation, contradictions."""

from __future__ import annotations

from collections.abc import Iterable

from nczarr.arrays.chunks.key_segments import problem
from nczarr.ast.walk import MAX_DEPTH
from nczarr.diagnostics.report import Report
from nczarr.formats.common.documents import Json
from nczarr.formats.common.strict_json import StrictDocuments
from nczarr.formats.zarr.draft2019 import keys, wire
from nczarr.formats.zarr.draft2019 import protocol_extension as extension
from nczarr.formats.zarr.draft2019.keys import Kind
from nczarr.formats.zarr.draft2019.protocol import Hierarchy, Nodes, nodes_of
from nczarr.options import Options
from nczarr.stores.base import Store
from nczarr.stores.keyvalue import operations


def path_of(prefix: str) -> str:
    """Return the draft's path of a node prefix."""
    return "/" + prefix[:-1]


class NodeDocuments(StrictDocuments):
    """Documents of a hierarchy by node. Discovery reports contradictions between them."""

    hides_attributes = False

    def __init__(self, store: Store, report: Report, options: Options) -> None:
        super().__init__(store, report, options)
        self._nodes: Nodes | None = None
        self._below: dict[str, list[str]] = {}
        self._valid: dict[str, Json | None] = {}
        self._given = options.nodes

    @property
    def nodes(self) -> Nodes:
        """All nodes: those listed, else those given and those named by our extension."""
        if self._nodes is None:
            self._nodes = self._discovered()
            self._below = self._nodes.below()
            self._check_names()
        return self._nodes

    def _discovered(self) -> Nodes:
        hierarchy = Hierarchy(operations(self.store))
        if hierarchy.store.lists:
            return hierarchy.discover()
        documents: set[str] = set()
        for path in self._given:
            standing = hierarchy.standing(
                ancestor for ancestor in (path, *keys.ancestors(path)) if not keys.path_problem(ancestor)
            )
            if not any(node.path == path for node in map(keys.node_of, standing) if node is not None):
                self.lost("unreadable-array", f"`{path}` is given but has no document", keys.children_prefix(path))
            documents.update(standing)
        documents.update(hierarchy.standing(["/"]))
        waiting = [node.path for key in documents if (node := keys.node_of(key)) and node.kind == "group"]
        while waiting:
            path = waiting.pop()
            members = self._members(path) if path.count("/") <= MAX_DEPTH else []
            self.store.expect(key for member in members for key in self._keys_of(keys.join(path, member)))
            for member in members:
                below = [key for key in self._keys_of(keys.join(path, member)) if key not in documents]
                standing = [key for key in below if self.store.get(key) is not None]
                documents.update(standing)
                waiting += [keys.join(path, member) for key in standing if key.endswith(".group.json")]
        if not documents:
            text = "the store cannot list keys: its content is unknown unless the paths of nodes are given"
            self.lost("unreadable-array", text, keys.META)
        return nodes_of(documents)

    @staticmethod
    def _keys_of(path: str) -> list[str]:
        return [keys.document_key(path, kind) for kind in keys.KINDS]

    def _members(self, path: str) -> list[str]:
        """Return a group's child names, or paths of a variable's arrays, in our extension."""
        document = self.get(keys.group_key(path))
        ours = None if document is None else extension.found(document.get("extensions"))
        members = (ours.members if ours else None) or []
        return [member for member in members if not any(map(problem, member.split("/")))]

    def _check_names(self) -> None:
        """Report nodes that are both array and group, and invalid names."""
        nodes = self.nodes
        for key in nodes.nameless:
            self.lost("bad-metadata", "the name of a node is empty: it is left out", key)
        for path in sorted(nodes.documents):
            if len(nodes.kinds(path)) > 1:
                what = "a group" if "group" in nodes.documents[path] else "a group implied by its descendants"
                text = f"`{path}` is both an array and {what}; the nodes below it are left out"
                self.lost("ambiguous-node", text, keys.array_key(path))
        for path, below in self._below.items():
            spellings: dict[str, str] = {}
            sound = []
            for name in below:
                inside = keys.join(path, name)
                wrong = problem(name)
                if wrong is None and name.lower() in spellings:
                    wrong = f"differs from `{spellings[name.lower()]}` only in the case of letters"
                if wrong is None:
                    spellings[name.lower()] = name
                    sound.append(name)
                else:
                    self.lost("bad-metadata", f"the name `{name}` of a node {wrong}: it is left out", self.key(inside))
            self._below[path] = sound

    def kind(self, path: str) -> Kind | None:
        """Return the kind of a node; array if contradictory; None if absent."""
        kinds = self.nodes.kinds(path)
        return "array" if "array" in kinds else "group" if kinds else None

    def key(self, path: str) -> str:
        """Return a node's document key; for an implied group, its children's key prefix."""
        kinds = self.nodes.documents.get(path)
        if not kinds:
            return keys.children_prefix(path)
        return keys.document_key(path, "array" if "array" in kinds else "group")

    def below(self, path: str, kind: Kind) -> list[str]:
        """Return the sorted key names of a group's children of one kind."""
        return [name for name in self.children_of(path) if self.kind(keys.join(path, name)) == kind]

    def children_of(self, path: str) -> list[str]:
        """Return the sorted key names of a group's children; an array has none."""
        return [] if self.kind(path) == "array" else self._below.get(path, [])

    def children(self, prefix: str) -> list[str]:
        """Return `children_of` for a prefix."""
        return self.children_of(path_of(prefix))

    def expect(self, prefixes: Iterable[str], documents: Iterable[str]) -> None:
        """Announce documents, which distant stores fetch in batches. Raises OSError."""
        if self.store.distant:
            paths = [path for path in map(path_of, prefixes) if self.nodes.documents.get(path)]
            self.store.expect(map(self.key, paths))

    def valid(self, path: str) -> Json | None:
        """Return the valid document of a node; None (reported) if invalid or absent."""
        key = self.key(path)
        if key not in self._valid:
            self._valid[key] = self._validated(key, path)
        return self._valid[key]

    def _validated(self, key: str, path: str) -> Json | None:
        if not self.nodes.documents.get(path):
            return None
        document = self.get(key)
        if document is None:
            if not self.has(key):
                self.lost("bad-metadata", "the document is listed but does not exist", key)
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
