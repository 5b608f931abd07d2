"""The operations of the draft over its store interface: create, discover, delete, and whether a node exists.

Source: the draft, "Protocol operations"; where it leaves them open, all nodes are discovered by
one `listpre`, never by recursion; a node is deleted chunks first, then what is below it, then its document, so that a
deletion that is cut short leaves a node that is still found; a node exists if its document does, or a key below it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from nczarr.arrays.blocks import grid_of
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Severity
from nczarr.formats.zarr.draft2019 import keys, wire
from nczarr.formats.zarr.draft2019.keys import Kind
from nczarr.json.strict import StrictError, parse
from nczarr.stores.keyvalue import KeyValues, NotListedError, Operations, operations

MOST_CHUNKS = 1 << 20
"""Chunks that are deleted one by one where nothing tells which of them there are."""


class ContradictionError(ValueError):
    """A node that would be an array and a group at once, or differ from a sibling by the case of letters alone."""


class Children(NamedTuple):
    """The children of a group by name, sorted: arrays, groups with a document, and groups that descendants imply."""

    arrays: tuple[str, ...]
    groups: tuple[str, ...]
    implied: tuple[str, ...]


class Nodes(NamedTuple):
    """All nodes of a hierarchy by path: those with documents, of one kind or contradictory of both, and the groups that
    others imply. `nameless`: keys of documents that lead to no path, because a name in it is empty.
    """

    documents: Mapping[str, frozenset[Kind]]
    implied: frozenset[str]
    nameless: tuple[str, ...] = ()

    def kinds(self, path: str) -> frozenset[Kind]:
        """What a node is; more than one thing if the store contradicts itself; nothing if it is not there."""
        implied: frozenset[Kind] = frozenset({"group"}) if path in self.implied else frozenset()
        return self.documents.get(path, frozenset()) | implied

    def below(self) -> dict[str, list[str]]:
        """The names of the children of every group, sorted."""
        found: dict[str, set[str]] = {}
        for path in {*self.documents, *self.implied} - {"/"}:
            found.setdefault(keys.parent_of(path), set()).add(keys.name_of(path))
        return {path: sorted(names) for path, names in found.items()}


def nodes_of(listed: Iterable[str]) -> Nodes:
    """The nodes whose documents these keys are, and those that they imply."""
    documents: dict[str, frozenset[Kind]] = {}
    implied: set[str] = set()
    nameless = []
    for key in sorted(listed):
        node = keys.node_of(key)
        if node is None:
            continue
        if key.startswith(keys.META) and "" in node.path[1:].split("/"):
            nameless.append(key)
            continue
        documents[node.path] = documents.get(node.path, frozenset()) | {node.kind}
        for above in keys.ancestors(node.path):
            if above in implied:
                break
            implied.add(above)
    return Nodes(documents, frozenset(implied), tuple(nameless))


class Hierarchy:
    """A hierarchy in a store that has `get`, `set` and `delete`, and perhaps lists."""

    def __init__(self, store: KeyValues | Operations) -> None:
        self.store = store if isinstance(store, Operations) else operations(store)

    def create_group(self, path: str, document: Mapping[str, Any]) -> None:
        """Create a group; its ancestors are implied. Raises ValueError for a path that is none, ContradictionError,
        CompileError for a document that is none, OSError.
        """
        self._create(path, "group", document)

    def create_array(self, path: str, document: Mapping[str, Any]) -> None:
        """Create an array; its ancestors are implied. Raises what `create_group` does."""
        self._create(path, "array", document)

    def _create(self, path: str, kind: Kind, document: Mapping[str, Any]) -> None:
        wrong = keys.path_problem(path)
        if wrong is not None:
            raise ValueError(f"`{path}` is no path of a node: {wrong}")
        key = keys.document_key(path, kind)
        found = [
            Diagnostic(fault.code, Severity.ERROR, fault.message, Label(key=key, pointer=fault.where))
            for fault in wire.faults(dict(document), kind)
            if fault.weight in ("lost", "refused") or fault.code == "foreign-member"
        ]
        if found:
            raise CompileError(found)
        self._check(path, kind)
        self.store.set(key, wire.encode(dict(document)))

    def _check(self, path: str, kind: Kind) -> None:
        """Raise ContradictionError where a node cannot be, as far as the store can tell."""
        other: Kind = "group" if kind == "array" else "array"
        if self.store.get(keys.document_key(path, other)) is not None:
            raise ContradictionError(f"`{path}` is there already, as {'an array' if other == 'array' else 'a group'}")
        for above in keys.ancestors(path):
            if self.store.get(keys.array_key(above)) is not None:
                raise ContradictionError(f"`{above}` is an array, which has no children")
        if not self.store.lists:
            return
        if kind == "array" and self.store.listpre(keys.children_prefix(path)):
            raise ContradictionError(f"`{path}` is a group that its descendants imply")
        while path != "/":
            parent, name = keys.parent_of(path), keys.name_of(path)
            siblings = self.children(parent)
            for sibling in sorted({*siblings.arrays, *siblings.groups, *siblings.implied} - {name}):
                if sibling.lower() == name.lower():
                    raise ContradictionError(
                        f"`{path}` differs from `{sibling}` beside it by the case of letters alone"
                    )
            path = parent

    def exists(self, path: str) -> bool:
        """Whether a node exists: its document, or, where keys can be listed, a key below it. Raises OSError."""
        if any(self.store.get(keys.document_key(path, kind)) is not None for kind in keys.KINDS):
            return True
        return self.store.lists and any(map(keys.node_of, self.store.listpre(keys.children_prefix(path))))

    def children(self, path: str) -> Children:
        """The children of a group, by one `listdir`. Raises NotListedError, OSError."""
        prefix = keys.children_prefix(path)
        listed, below = self.store.listdir(prefix)
        found: dict[Kind, set[str]] = {"array": set(), "group": set()}
        for key in listed:
            node = keys.node_of(key)
            if node is not None:
                found[node.kind].add(keys.name_of(node.path))
        implied = {each[len(prefix) : -1] for each in below} - found["group"]
        return Children(tuple(sorted(found["array"])), tuple(sorted(found["group"])), tuple(sorted(implied)))

    def discover(self, given: Iterable[str] | None = None) -> Nodes:
        """All nodes, by one `listpre`; or, where nothing can be listed, those of the `given` paths that exist, and
        their ancestors. Raises NotListedError if neither is possible, OSError.
        """
        if self.store.lists:
            return nodes_of([*self.store.listpre(keys.META), *self.standing(["/"])])
        if given is None:
            raise NotListedError("the store lists no keys: the paths of nodes have to be given")
        wanted = dict.fromkeys(each for path in given for each in (path, *keys.ancestors(path)))
        return nodes_of(self.standing([*wanted, "/"]))

    def standing(self, paths: Iterable[str]) -> list[str]:
        """The keys of documents of these nodes that there are."""
        wanted = (keys.document_key(path, kind) for path in dict.fromkeys(paths) for kind in keys.KINDS)
        return [key for key in wanted if self.store.get(key) is not None]

    def delete(self, path: str) -> None:
        """Delete a node with all below it: chunks, then documents below, the deepest first, then its own.

        Where nothing can be listed, arrays alone can be deleted: their grid tells what chunks there may be. Raises
        NotListedError, OSError.
        """
        if self.store.lists:
            chunks: Iterable[str] = sorted(self.store.listpre(keys.chunk_prefix(path)))
            below = self.store.listpre(keys.children_prefix(path))
        else:
            chunks, below = self._chunks(path), set()
        for key in chunks:
            self.store.delete(key)
        for key in sorted(below, key=lambda key: (-key.count("/"), key)):
            self.store.delete(key)
        for kind in keys.KINDS:
            self.store.delete(keys.document_key(path, kind))

    def _chunks(self, path: str) -> Iterator[str]:
        """The keys that chunks of an array may have, by its document. Raises NotListedError if it is no array whose
        document can be read.
        """
        data = self.store.get(keys.array_key(path))
        try:
            document = None if data is None else parse(data).value
        except StrictError:
            document = None
        if document is None or any(fault.weight == "lost" for fault in wire.faults(document, "array")):
            raise NotListedError(f"the store lists no keys, and `{path}` is no array whose document tells them")
        grid = document["chunk_grid"]
        counts = grid_of(tuple(document["shape"]), tuple(grid["chunk_shape"]))
        if math.prod(counts) > MOST_CHUNKS:
            raise NotListedError(f"the store lists no keys, and `{path}` may have {math.prod(counts)} chunks")
        for index in itertools.product(*map(range, counts)):
            yield keys.data_key(path, *index, separator=grid.get("separator", "."))
