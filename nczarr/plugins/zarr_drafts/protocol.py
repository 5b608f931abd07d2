"""Operations of the draft over its store interface: create, discover, delete, exists.

Source: the draft, "Protocol operations". Where it is open: one `listpre`
discovers all nodes. Deletion removes chunks, descendants, then the document, so
that an interrupted one leaves a discoverable node. A node exists if its
document, or a key below it, exists.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from nczarr.arrays.regions import grid_of
from nczarr.diagnostics.report import CompileError, Diagnostic, Label, Severity
from nczarr.plugins.zarr_drafts import keys, wire
from nczarr.plugins.zarr_drafts.keys import Kind
from nczarr.plugins.zarr_drafts.keyvalue import KeyValues, NotListedError, Operations, operations
from nczarr.plugins.zarr_drafts.strict_json import StrictError, parse

MOST_CHUNKS = 1 << 20
"""Maximum number of chunks deleted one by one without a listing."""


class ContradictionError(ValueError):
    """A node that is array and group, or differs from a sibling only by letter case."""


class Children(NamedTuple):
    """Names of the children of a group, each list sorted."""

    arrays: tuple[str, ...]
    """Names of arrays."""
    groups: tuple[str, ...]
    """Names of groups with a document."""
    implied: tuple[str, ...]
    """Names of groups without a document, which have nodes below them."""


class Nodes(NamedTuple):
    """All nodes of a hierarchy by path."""

    documents: Mapping[str, frozenset[Kind]]
    """Kinds of the documents of each node; both kinds if they contradict."""
    implied: frozenset[str]
    """Paths of groups without a document."""
    nameless: tuple[str, ...] = ()
    """Keys of documents whose path has an empty name."""

    def kinds(self, path: str) -> frozenset[Kind]:
        """Return the kinds of a node.

        Parameters
        ----------
        path : str
            Path of the node.

        Returns
        -------
        frozenset of {"array", "group"}
            Empty if the node is absent; both kinds if documents contradict.
        """
        implied: frozenset[Kind] = frozenset({"group"}) if path in self.implied else frozenset()
        return self.documents.get(path, frozenset()) | implied

    def below(self) -> dict[str, list[str]]:
        """Return the children of every group.

        Returns
        -------
        dict of str to list of str
            Sorted names by path of the group.
        """
        children: dict[str, set[str]] = {}
        for path in {*self.documents, *self.implied} - {"/"}:
            children.setdefault(keys.parent_of(path), set()).add(keys.name_of(path))
        return {path: sorted(names) for path, names in children.items()}


def nodes_of(listed: Iterable[str]) -> Nodes:
    """Return the nodes of document keys, and those that they imply."""
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
    """A hierarchy of nodes in a store, with the operations of the draft.

    Parameters
    ----------
    store : KeyValues or Operations
        An object with `get`, `set` and `delete`, and optionally `list`, `listpre` or
        `listdir`.

    Examples
    --------
    >>> import nczarr
    >>> hierarchy = nczarr.zarr3_2019.Hierarchy(nczarr.zarr3_2019.MemoryKeys())
    >>> document = {"zarr_format": "http://purl.org/zarr/spec/protocol/core/3.0", "extensions": [], "attributes": {}}
    >>> hierarchy.create_group("/model", document)
    >>> hierarchy.exists("/model"), hierarchy.exists("/other")
    (True, False)
    >>> hierarchy.children("/")
    Children(arrays=(), groups=('model',), implied=())
    """

    def __init__(self, store: KeyValues | Operations) -> None:
        self.store = store if isinstance(store, Operations) else operations(store)

    def create_group(self, path: str, document: Mapping[str, Any]) -> None:
        """Create a group. Its ancestors are implied.

        Parameters
        ----------
        path : str
            Path of the group, as `/foo/bar`.
        document : Mapping of str to object
            Metadata document.

        Raises
        ------
        ValueError
            If the path is invalid.
        CompileError
            If the document is invalid.
        ContradictionError
            If the node exists as an array, or an ancestor is an array.
        OSError
            If the store fails.
        """
        self._create_node(path, "group", document)

    def create_array(self, path: str, document: Mapping[str, Any]) -> None:
        """Create an array. Its ancestors are implied.

        Parameters
        ----------
        path : str
            Path of the array, as `/foo/bar`.
        document : Mapping of str to object
            Metadata document.

        Raises
        ------
        ValueError
            If the path is invalid.
        CompileError
            If the document is invalid.
        ContradictionError
            If the node exists as a group, or an ancestor is an array.
        OSError
            If the store fails.
        """
        self._create_node(path, "array", document)

    def _create_node(self, path: str, kind: Kind, document: Mapping[str, Any]) -> None:
        wrong = keys.path_problem(path)
        if wrong is not None:
            raise ValueError(f"`{path}` is not the path of a node: {wrong}")
        key = keys.document_key(path, kind)
        diagnostics = [
            Diagnostic(fault.code, Severity.ERROR, fault.message, Label(key=key, pointer=fault.where))
            for fault in wire.faults(dict(document), kind)
            if fault.weight in ("lost", "refused") or fault.code == "foreign-member"
        ]
        if diagnostics:
            raise CompileError(diagnostics)
        self._check(path, kind)
        self.store.set(key, wire.encode(dict(document)))

    def _check(self, path: str, kind: Kind) -> None:
        """Raise ContradictionError for an impossible node, as far as the store can list keys."""
        other: Kind = "group" if kind == "array" else "array"
        if self.store.get(keys.document_key(path, other)) is not None:
            raise ContradictionError(f"`{path}` already exists as {'an array' if other == 'array' else 'a group'}")
        for above in keys.ancestors(path):
            if self.store.get(keys.array_key(above)) is not None:
                raise ContradictionError(f"`{above}` is an array, which has no children")
        if not self.store.lists:
            return
        if kind == "array" and self.store.listpre(keys.children_prefix(path)):
            raise ContradictionError(f"`{path}` is a group implied by its descendants")
        while path != "/":
            parent, name = keys.parent_of(path), keys.name_of(path)
            siblings = self.children(parent)
            for sibling in sorted({*siblings.arrays, *siblings.groups, *siblings.implied} - {name}):
                if sibling.lower() == name.lower():  # the draft: siblings differ in more than the case of letters
                    raise ContradictionError(f"`{path}` differs from `{sibling}` only in the case of letters")
            path = parent

    def exists(self, path: str) -> bool:
        """Return whether a node exists.

        Parameters
        ----------
        path : str
            Path of the node.

        Returns
        -------
        bool
            True if the node has a document, or if a listed key stands below it.

        Raises
        ------
        OSError
            If the store fails.
        """
        if any(self.store.get(keys.document_key(path, kind)) is not None for kind in keys.KINDS):
            return True
        return self.store.lists and any(map(keys.node_of, self.store.listpre(keys.children_prefix(path))))

    def children(self, path: str) -> Children:
        """Return the children of a group, by one `listdir`.

        Parameters
        ----------
        path : str
            Path of the group.

        Returns
        -------
        Children
            Names of arrays, groups and implied groups.

        Raises
        ------
        NotListedError
            If the store cannot list keys.
        OSError
            If the store fails.
        """
        prefix = keys.children_prefix(path)
        listed, below = self.store.listdir(prefix)
        nodes: dict[Kind, set[str]] = {"array": set(), "group": set()}
        for key in listed:
            node = keys.node_of(key)
            if node is not None:
                nodes[node.kind].add(keys.name_of(node.path))
        # the draft: a prefix without a document is an implied group
        implied = {folder[len(prefix) : -1] for folder in below} - nodes["group"]
        return Children(tuple(sorted(nodes["array"])), tuple(sorted(nodes["group"])), tuple(sorted(implied)))

    def discover(self, given: Iterable[str] | None = None) -> Nodes:
        """Return all nodes, by one `listpre`.

        Parameters
        ----------
        given : Iterable of str, optional
            Paths to look for in a store that lists no keys.

        Returns
        -------
        Nodes
            All nodes; without listing, the given ones that exist, and their ancestors.

        Raises
        ------
        NotListedError
            If the store cannot list keys and no paths are given.
        OSError
            If the store fails.
        """
        if self.store.lists:
            return nodes_of([*self.store.listpre(keys.META), *self.list_existing(["/"])])
        if given is None:
            raise NotListedError("the store cannot list keys: give the paths of nodes")
        # the draft: ancestors are implied groups
        candidates = dict.fromkeys(ancestor for path in given for ancestor in (path, *keys.ancestors(path)))
        return nodes_of(self.list_existing([*candidates, "/"]))

    def list_existing(self, paths: Iterable[str]) -> list[str]:
        """Return the keys of existing documents.

        Parameters
        ----------
        paths : Iterable of str
            Paths of nodes.

        Returns
        -------
        list of str
            Keys of their documents, as far as they exist.
        """
        candidates = (keys.document_key(path, kind) for path in dict.fromkeys(paths) for kind in keys.KINDS)
        return [key for key in candidates if self.store.get(key) is not None]

    def delete(self, path: str) -> None:
        """Delete a node with everything below it: chunks, then documents from the deepest, then its own.

        Parameters
        ----------
        path : str
            Path of the node. Without listing it must be an array, whose grid gives the
            keys of its chunks.

        Raises
        ------
        NotListedError
            If the store cannot list keys and the node is not a readable array.
        OSError
            If the store fails.
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
        """Yield the possible chunk keys of an array. Raises NotListedError if it is unreadable."""
        data = self.store.get(keys.array_key(path))
        try:
            document = None if data is None else parse(data).value
        except StrictError:
            document = None
        if document is None or any(fault.weight == "lost" for fault in wire.faults(document, "array")):
            raise NotListedError(f"the store cannot list keys, and `{path}` is not an array whose document gives them")
        grid = document["chunk_grid"]
        counts = grid_of(tuple(document["shape"]), tuple(grid["chunk_shape"]))
        if math.prod(counts) > MOST_CHUNKS:
            raise NotListedError(f"the store cannot list keys, and `{path}` may have {math.prod(counts)} chunks")
        for index in itertools.product(*map(range, counts)):
            yield keys.data_key(path, *index, separator=grid.get("separator", "."))
