"""The content of all groups in the root, by the rules of CF's netcdf-flattener.

tree ─ _choose_names ─> origins ─ rename_tree, _hoist ─> flat tree
attributes that name variables or dimensions ─ Scope ─> flat names in them
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.ast import Attribute, Dataset, Group, Variable
from nczarr.ast.dataset import groups, map_owners
from nczarr.ast.renaming import NODE_KINDS, NodeKind, rename_tree
from nczarr.diagnostics.report import Report
from nczarr.plugins.flatten.group_map import KINDS, OWN, GroupMap, References, write_map
from nczarr.plugins.flatten.references import (
    GRAMMARS,
    METHODS,
    Grammar,
    Kind,
    Scope,
    list_texts,
    replace_words,
    set_texts,
    spell_path,
)
from nczarr.plugins.flatten.restoring import restore_texts

SEPARATOR = "__"
"""Characters between the names of groups and that of the node."""

LONGEST = 255
"""Maximum bytes of a flat name; a hash of the path stands for the groups of longer ones."""


def flatten_groups(tree: Dataset, report: Report | None = None, *, as_text: bool = False) -> Dataset:
    """Return a tree with the content of all groups in the root, by the rules of CF's netcdf-flattener.

    A node `/g/h/v` becomes `g__h__v`. Attributes that name variables or dimensions, such as `coordinates`, name
    the flat ones. Attributes of the root keep the way back, which `restore_groups` takes.

    Parameters
    ----------
    tree : Dataset
        A tree with resolved names, as `nczarr.parse` returns it, or `dataset` of an open dataset.
    report : Report
        Gets warnings about names in attributes that nothing has, and about coordinates in another group
        than their dimension. By default they are dropped.
    as_text : bool
        Keep the way back in texts in the place of lists of strings, which classic files cannot hold.

    Returns
    -------
    Dataset
        The flat tree; one without groups is returned as it is.

    Examples
    --------
    >>> import nczarr
    >>> tree = nczarr.parse("netcdf d { group: g { dimensions: x = 2 ; variables: int v(x) ; } }")
    >>> flat = nczarr.flatten_groups(tree)
    >>> flat.variables[0].name, flat.variables[0].dimensions
    ('g__v', ('/g__x',))
    >>> nczarr.restore_groups(flat) == tree
    True
    """
    report = report or Report()
    if not tree.groups:
        return tree
    flat_names, origins = _choose_names(tree)
    flattener = _Flattener(tree, flat_names, origins, report)
    renamed: dict[NodeKind, dict[str, str]] = {
        kind: {old: names.join("/", new) for new, old in origins[kind].items()} if kind != "group" else {}
        for kind in NODE_KINDS
    }
    moved = rename_tree(map_owners(tree, flattener.change), renamed)
    every = [(path, group) for path, group in groups(moved)]
    attributes = [
        one.model_copy(update={"name": flat_names[f"@{path}@{one.name}"]})
        for path, group in every
        for one in group.attributes
    ]
    known = GroupMap([path for path, _ in every[1:]], origins, flattener.references, {})
    members: dict[str, Any] = {
        f"{kind}s": tuple(node for _, group in every for node in getattr(group, f"{kind}s")) for kind in NODE_KINDS
    }
    members["attributes"] = (*attributes, *write_map(known, as_text=as_text))
    return tree.model_copy(update={**members, "groups": ()})


def flatten_for_classic(tree: Dataset, report: Report) -> Dataset:
    """Return the flat tree for a classic file: a pass."""
    return flatten_groups(tree, report, as_text=True)


def _choose_names(tree: Dataset) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the flat name of each node by FQN, of attributes by `@GROUP@NAME`; and the FQNs by kind and flat name.

    A dimension and its coordinate variable have one FQN, and get one name. Nodes of the root keep theirs.
    """
    chosen: dict[str, str] = {}
    origins: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    taken_nodes, taken_attributes = set[str](), set(OWN)
    for path, group in groups(tree):
        for kind in KINDS:
            taken = taken_attributes if kind == "attribute" else taken_nodes
            for node in getattr(group, f"{kind}s"):
                old = names.join(path, node.name)
                key = f"@{path}@{node.name}" if kind == "attribute" else old
                if key not in chosen:
                    chosen[key] = names.free(_join(path, node.name), taken.__contains__)
                    taken.add(chosen[key])
                origins[kind][chosen[key]] = old
    return chosen, origins


def _join(group: str, name: str) -> str:
    """Return the flat name of a node of a group; a hash takes the place of long paths."""
    flat = SEPARATOR.join((*names.split(group), name))
    if len(names.to_bytes(flat)) <= LONGEST or group == "/":
        return flat
    flat = f"{_hash(spell_path(group))}{SEPARATOR}{name}"
    return flat if len(names.to_bytes(flat)) <= LONGEST else _hash(spell_path(names.join(group, name)))


def _hash(path: str) -> str:
    return hashlib.sha1(names.to_bytes(path), usedforsecurity=False).hexdigest()


class _Flattener:
    """Replaces names in the attributes of one tree, and notes the texts that its inverse does not give."""

    def __init__(
        self, tree: Dataset, flat_names: dict[str, str], origins: dict[str, dict[str, str]], report: Report
    ) -> None:
        self.scope = Scope(tree)
        self.flat_names = flat_names
        self.origins = origins
        self.report = report
        self.references: References = {}
        external = (one for one in tree.attributes if one.name == "external_variables")
        self.external = {word for one in external for text in list_texts(one.value) or () for word in text.split()}

    def change(self, path: str, node: Group | Variable) -> dict[str, Any]:
        """Return the attributes of a variable with flat names."""
        if isinstance(node, Group):
            return {}
        self._find_detached(path, node)
        if not any(one.name in GRAMMARS for one in node.attributes):
            return {}
        return {"attributes": tuple(self._change_attribute(one, path, node) for one in node.attributes)}

    def _find_detached(self, path: str, node: Variable) -> None:
        """Report a coordinate variable whose dimension is in another group, and has another name then."""
        [axis] = node.dimensions if len(node.dimensions) == 1 else [None]
        if isinstance(axis, str) and axis != path and names.last(axis) == node.name:
            flat = self.flat_names
            text = f"`{path}` is no coordinate variable as `{flat[path]}`: its dimension `{axis}` is `{flat[axis]}`"
            self.report.warning("detached-coordinate", text, node.span)

    def _change_attribute(self, attribute: Attribute, path: str, node: Variable) -> Attribute:
        texts = list_texts(attribute.value) if attribute.name in GRAMMARS else None
        if texts is None:
            return attribute
        group, grammar = names.parent(path), GRAMMARS[attribute.name]
        scalars = set(self._list_scalars(group, node)) if attribute.name == METHODS else None
        missing: list[str] = []

        def replace(word: str, kinds: tuple[Kind, ...]) -> str | None:
            found = self._find(word, group, kinds, grammar, scalars)
            new = None if found is None else self.flat_names[found]
            if scalars is None and (new is None or " " in new) and word not in self.external:
                missing.append(word)
            return None if new is None or " " in new else new

        new_texts = [replace_words(text, grammar, replace) for text in texts]
        for word in dict.fromkeys(missing):
            text = f"`{attribute.name}` of `{path}` names `{word}`, which its scope does not have: the name stays"
            self.report.warning("unresolved-reference", text, attribute.span)
        known = GroupMap([], self.origins, {}, {})
        if texts != restore_texts(new_texts, attribute.name, group, known, self.scope):
            self.references.setdefault(self.flat_names[path], {})[attribute.name] = (new_texts, texts)
        return set_texts(attribute, new_texts)

    def _find(
        self, word: str, group: str, kinds: tuple[Kind, ...], grammar: Grammar, scalars: set[str] | None
    ) -> str | None:
        """Return the FQN that a word names; of variables only `scalars`, if these are given."""
        found = self.scope.find(word, group, kinds, are_coordinates=grammar.are_coordinates)
        is_right = scalars is None or found in scalars or found in self.scope.tables.dimensions
        return found if is_right else None

    def _list_scalars(self, group: str, node: Variable) -> Iterator[str]:
        """Yield the FQNs of the scalar coordinates of a variable."""
        grammar = GRAMMARS["coordinates"]
        every = (one for one in node.attributes if one.name == "coordinates")
        for word in (word for one in every for text in list_texts(one.value) or () for word in text.split()):
            found = self._find(word, group, grammar.words, grammar, None)
            if found is not None and not self.scope.tables.variables[found].dimensions:
                yield found
