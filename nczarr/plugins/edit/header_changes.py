"""Changes of a dataset's header, their application to its tree, and what a format makes of them.

Paths are FQNs before the edit, except of added nodes and of new names, which are
FQNs afterwards. Attributes of added nodes are part of the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nczarr import names
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Group, UserType, Variable
from nczarr.ast.dataset import map_groups
from nczarr.ast.renaming import NODE_KINDS, NodeKind, Renames, rename_tree
from nczarr.names import plugin_index
from nczarr.names.plugin_index import EditRow
from nczarr.semantics.checked import Checked, tables

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Source
    from nczarr.options import Options
    from nczarr.registry import Format
    from nczarr.stores.base import Store


class AttributeChange(NamedTuple):
    """An attribute that is added, removed or given another value."""

    owner: str
    """Group or variable."""
    name: str
    before: Constant | None
    """Old value; None: the attribute is added."""
    after: Constant | None
    """New value; None: the attribute is removed."""
    position: int
    """Index among the attributes of the owner afterwards; -1 if it is removed."""
    json: str | None = None
    """JSON of a store that the new value narrows."""


class AttributeOrder(NamedTuple):
    """Another order of the attributes that an owner has before and after."""

    owner: str
    """Group or variable."""
    before: tuple[str, ...]
    """Old order of their names."""
    after: tuple[str, ...]
    """New order of their names."""


class NodeRename(NamedTuple):
    """A new name of a group, type, dimension or variable, in the same group."""

    kind: NodeKind
    path: str
    new_path: str
    """FQN afterwards, in which groups have their new names too."""


class DimensionChange(NamedTuple):
    """A dimension that becomes unlimited or fixed, or an unused one of another length."""

    path: str
    before: Dimension
    after: Dimension


class NodeAddition(NamedTuple):
    """A new group, type, dimension or empty variable, behind the others of its kind."""

    kind: NodeKind
    path: str
    node: Group | UserType | Dimension | Variable
    """A group without its content, which is added by changes of its own."""


class NodeRemoval(NamedTuple):
    """A group, type, dimension or variable that is removed; a group with all its content."""

    kind: NodeKind
    path: str


HeaderChange = AttributeChange | AttributeOrder | NodeRename | DimensionChange | NodeAddition | NodeRemoval
"""One change of a header."""


class HeaderEdit(NamedTuple):
    """Checked changes of a dataset's header, which a format applies to its target."""

    target: str
    """Path or URL."""
    source: Source | Store
    """The target as it was opened."""
    form: Format
    before: Checked
    """The dataset as it is."""
    after: Checked
    """The dataset as it will be read, with the storage and arrays of `before` under their new names."""
    changes: tuple[HeaderChange, ...]
    """Differences: removals, new names, changes of attributes and dimensions, additions."""
    renamed: Mapping[NodeKind, Mapping[str, str]]
    """FQNs afterwards of all nodes whose FQN changes, also by the name of a group above them."""
    options: Options

    def new_path(self, kind: NodeKind, path: str) -> str:
        """Return the FQN afterwards of a node that is not removed."""
        return self.renamed[kind].get(path, path)


class PreparedEdit(Protocol):
    """An edit that a format has prepared; nothing is written yet."""

    def describe(self) -> Iterator[str]:
        """Yield lines for people about what is written where."""

    def undo(self) -> dict[str, Any]:
        """Return members of the undo file that restore the target: `form`, and what that form needs."""

    def commit(self) -> None:
        """Write the target, whole or not at all. Raises OSError."""

    def abandon(self) -> None:
        """Restore the target after `commit`, because it does not read as expected. Raises OSError."""

    def conclude(self) -> None:
        """Remove the journal after a commit that reads as expected. Raises OSError."""


def apply_changes(dataset: Dataset, changes: Sequence[HeaderChange], renamed: Renames) -> Dataset:
    """Return the tree after the changes; `renamed` is complete."""
    removed = {(change.kind, change.path) for change in changes if isinstance(change, NodeRemoval)}
    attributes: dict[str, list[AttributeChange | AttributeOrder]] = {}
    dimensions = {change.path: change.after for change in changes if isinstance(change, DimensionChange)}
    for change in changes:
        if isinstance(change, AttributeChange | AttributeOrder):
            attributes.setdefault(change.owner, []).append(change)

    def change_node(kind: NodeKind, node: Any, path: str) -> Any:
        if kind == "group":
            return change_group(node, path)
        if kind == "dimension" and path in dimensions:
            return dimensions[path].model_copy(update={"name": node.name})
        if kind == "variable" and path in attributes:
            return node.model_copy(update={"attributes": change_attributes(node.attributes, attributes[path])})
        return node

    def change_group(group: Any, path: str) -> Any:
        """Return a group with its own changes and those of its members, without the removed ones."""
        members: dict[str, Any] = {"attributes": change_attributes(group.attributes, attributes.get(path, ()))}
        for kind in NODE_KINDS:
            members[f"{kind}s"] = tuple(
                change_node(kind, node, place)
                for node in getattr(group, f"{kind}s")
                if (kind, place := names.join(path, node.name)) not in removed
            )
        return group.model_copy(update=members)

    changed = rename_tree(change_group(dataset, "/"), renamed)
    additions = [change for change in changes if isinstance(change, NodeAddition)]
    return _add(changed, "/", additions) if additions else changed


def list_growing(dataset: Dataset) -> list[str]:
    """Return the FQNs of variables along unlimited dimensions whose layout does not grow."""
    found = tables(dataset)
    unlimited = {path for path, dimension in found.dimensions.items() if dimension.unlimited}
    return [
        path
        for path, variable in found.variables.items()
        if variable.storage.layout not in (None, "chunked") and not unlimited.isdisjoint(variable.dimensions)
    ]


def free_layout(dataset: Dataset, paths: Sequence[str]) -> Dataset:
    """Return the tree without the layouts of some variables."""

    def change(path: str, group: Group) -> dict[str, Any]:
        """Return the variables of a group."""
        freed = (
            variable.model_copy(update={"storage": variable.storage.model_copy(update={"layout": None})})
            if names.join(path, variable.name) in paths
            else variable
            for variable in group.variables
        )
        return {"variables": tuple(freed)}

    return map_groups(dataset, change)


def change_attributes(
    attributes: tuple[Attribute, ...], changes: Iterable[AttributeChange | AttributeOrder]
) -> tuple[Attribute, ...]:
    """Return the attributes of one owner after its changes."""
    members = {attribute.name: attribute for attribute in attributes}
    added = []
    for change in changes:
        if isinstance(change, AttributeOrder):
            members = {name: members[name] for name in change.after if name in members} | members
        elif change.after is None:
            members.pop(change.name, None)
        elif change.name in members:
            members[change.name] = Attribute(name=change.name, value=change.after, json=change.json)
        else:
            added.append(change)
    result = list(members.values())
    for change in sorted(added, key=lambda addition: addition.position):
        assert change.after is not None
        result.insert(change.position, Attribute(name=change.name, value=change.after, json=change.json))
    return tuple(result)


def _add(group: Any, path: str, additions: Sequence[NodeAddition]) -> Any:
    """Return a group with the nodes that are added below its FQN."""
    members: dict[str, Any] = {}
    for kind in NODE_KINDS:
        new = [change.node for change in additions if change.kind == kind and names.parent(change.path) == path]
        members[f"{kind}s"] = (*getattr(group, f"{kind}s"), *new)
    prefix = "/" if path == "/" else path + "/"
    deeper = [change for change in additions if change.path.startswith(prefix)]
    members["groups"] = tuple(_add(child, names.join(path, child.name), deeper) for child in members["groups"])
    return group.model_copy(update=members)


_UNCHANGEABLE = EditRow()


def find_row(name: str) -> EditRow:
    """Return how the format of a name is changed in place; an empty row for one that is not."""
    row: EditRow | None = plugin_index.find_row("edit", name)
    return row or _UNCHANGEABLE
