"""The way back from a flat dataset to its groups, by the attributes that the flattener left."""

from __future__ import annotations

from typing import Any

from nczarr import names
from nczarr.ast import Attribute, Dataset, Group, Variable
from nczarr.ast.dataset import map_owners
from nczarr.ast.renaming import NODE_KINDS, NodeKind, rename_tree
from nczarr.diagnostics.report import Report
from nczarr.plugins.flatten.group_map import KINDS, OWN, GroupMap, read_map
from nczarr.plugins.flatten.references import GRAMMARS, Kind, Scope, list_texts, replace_words, set_texts, spell_path
from nczarr.semantics.resolve import list_scopes

UNFOUND = "REF_NOT_FOUND_"
"""Prefix by netcdf-flattener of names in attributes without a node."""


def restore_groups(tree: Dataset, report: Report | None = None) -> Dataset:
    """Return a flat tree with its groups, by the attributes that `flatten_groups` or netcdf-flattener left in its root.

    Parameters
    ----------
    tree : Dataset
        A flat tree. What was added to its root since then stays there, except variables along dimensions of a group,
        which go to this group.
    report : Report
        Gets a warning if there is no way back, or an entry of it is wrong. By default warnings are dropped.

    Returns
    -------
    Dataset
        The tree with groups; one without these attributes is returned as it is.

    Examples
    --------
    >>> import nczarr
    >>> tree = nczarr.parse("netcdf d { variables: int v ; group: g { variables: int w ; } }")
    >>> nczarr.restore_groups(nczarr.flatten_groups(tree)) == tree
    True
    """
    report = report or Report()
    found = read_map(tree)
    if found is None:
        report.warning("no-group-map", f"the dataset has no attribute that leads back to groups, such as `{min(OWN)}`")
        return tree
    known, faults = found
    _place_new_variables(tree, known)
    _drop_clashes(tree, known, faults)
    for fault in faults:
        report.warning("bad-group-map", fault)
    renamed: dict[NodeKind, dict[str, str]] = {
        kind: {names.join("/", new): old for new, old in known.origins[kind].items()} if kind != "group" else {}
        for kind in NODE_KINDS
    }
    restored = _distribute(tree, rename_tree(tree, renamed), known)
    scope = Scope(restored)
    flat_names = {old: new for new, old in known.origins["variable"].items()}

    def change(path: str, node: Group | Variable) -> dict[str, Any]:
        """Return the attributes of a variable with the names before flattening."""
        if isinstance(node, Group) or not any(one.name in GRAMMARS for one in node.attributes):
            return {}
        noted = known.references.get(flat_names.get(path, ""), {})
        group = names.parent(path)
        changed = []
        for attribute in node.attributes:
            texts = list_texts(attribute.value) if attribute.name in GRAMMARS else None
            if texts is not None:
                flat, own = noted.get(attribute.name, ([], []))
                own = own if list(flat) == texts else restore_texts(texts, attribute.name, group, known, scope)
                attribute = set_texts(attribute, own)
            changed.append(attribute)
        return {"attributes": tuple(changed)}

    return map_owners(restored, change)


def restore_texts(texts: list[str], attribute: str, group: str, known: GroupMap, scope: Scope) -> list[str]:
    """Return the texts of an attribute with the shortest names that lead to the same nodes from a group."""
    grammar = GRAMMARS[attribute]

    def replace(word: str, kinds: tuple[Kind, ...]) -> str | None:
        paths = [known.origins[kind][word] for kind in kinds if word in known.origins[kind]]
        if not paths and (gone := known.gone.get(word)) is not None:  # it was removed since
            return names.last(gone) if names.parent(gone) == group else spell_path(gone)
        if not paths:
            return word.removeprefix(UNFOUND) or None
        return scope.spell(paths[0], group, kinds, are_coordinates=grammar.are_coordinates)

    return [replace_words(text, grammar, replace) for text in texts]


def _place_new_variables(tree: Dataset, known: GroupMap) -> None:
    """Place variables that were added, or renamed, in the innermost group of their dimensions, which they see there."""
    origins = known.origins["variable"]
    for variable in tree.variables:
        flat = [names.last(one) for one in variable.dimensions if isinstance(one, str)]
        homes = {names.parent(known.origins["dimension"].get(name, names.join("/", name))) for name in flat}
        group = max(homes, key=len, default="/")
        if group != "/" and variable.name not in origins and homes <= set(list_scopes(group)):
            origins[variable.name] = names.join(group, variable.name)


def _drop_clashes(tree: Dataset, known: GroupMap, faults: list[str]) -> None:
    """Leave nodes in the root whose place another one has, or whose group has the name of a variable or type."""
    flat = {kind: {one.name for one in getattr(tree, f"{kind}s")} for kind in KINDS}
    flat["attribute"] -= OWN
    count = -1
    while count != len(faults):  # a node that stays may take another place
        count = len(faults)
        places = {
            kind: {name: known.origins[kind].get(name, names.join("/", name)) for name in flat[kind]} for kind in KINDS
        }
        solid = {place for kind in ("type", "variable") for place in places[kind].values()}
        known.groups[:] = [path for path in known.groups if solid.isdisjoint((path, *_list_parents(path)))]
        for kind, origins in known.origins.items():
            taken = {places[kind][name] for name in flat[kind] if name not in origins}
            for new, old in list(origins.items()):
                home = names.join("/", new)
                if old != home and (old in taken or not solid.isdisjoint(_list_parents(old))):
                    faults.append(f"{kind} `{new}` stays in the root: its place `{old}` is taken")
                    origins[new] = home
                taken.add(origins[new])


def _list_parents(path: str) -> list[str]:
    """Return the FQNs of the groups around a node, outermost first, without the root."""
    parts = names.split(path)
    return [names.fqn(parts[:count]) for count in range(1, len(parts))]


def _distribute(flat: Dataset, renamed: Dataset, known: GroupMap) -> Dataset:
    """Return the tree with each node in its group. `renamed`: the flat tree with new names, in the same order."""
    members: dict[str, dict[str, list[Any]]] = {"/": {}}
    for path in known.groups:
        for group in (*_list_parents(path), path):
            members.setdefault(group, {})
    for kind in KINDS:
        nodes = zip(getattr(flat, f"{kind}s"), getattr(renamed, f"{kind}s"), strict=True)
        for old, new in nodes:
            if kind == "attribute" and old.name in OWN:
                continue
            path = known.origins[kind].get(old.name, names.join("/", old.name))
            for group in _list_parents(path):
                members.setdefault(group, {})
            node = new.model_copy(update={"name": names.last(path)}) if isinstance(new, Attribute) else new
            members[names.parent(path)].setdefault(f"{kind}s", []).append(node)
    children: dict[str, list[str]] = {}
    for path in members:
        if path != "/":
            children.setdefault(names.parent(path), []).append(path)

    def make(path: str) -> dict[str, Any]:
        """Return the members of a group with all below it."""
        own = {f"{kind}s": tuple(members[path].get(f"{kind}s", ())) for kind in KINDS}
        below = tuple(Group(name=names.last(child), **make(child)) for child in children.get(path, ()))
        return {**own, "groups": below}

    root = make("/")
    is_held = flat.kind == "nc4" or not root["groups"]  # classic files hold no groups
    return flat.model_copy(update={**root, "kind": flat.kind if is_held else None})
