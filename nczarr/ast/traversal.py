"""Ways through a tree: `walk` visits its nodes, `transform` makes another one.

Paths are fully qualified names; an attribute has the path of its owner, `@` and its name (`/temp@units`), a field or
enum constant that of its type, a dot and its name (`/obs.day`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from nczarr import names
from nczarr.ast.dataset import Attribute, Dataset, Dimension, Group, Variable
from nczarr.ast.node import Node
from nczarr.ast.types import CompoundType, EnumConstant, EnumType, Field, OpaqueType, VlenType
from nczarr.diagnostics.report import NOWHERE

G = TypeVar("G", bound=Group)

Change = Callable[[str, Any], "Node | Iterable[Node] | None"]
"""Change of one node: gets its path and the node; returns what takes its place: a node, several, or None."""

_CHILDREN: dict[type[Node], tuple[str, ...]] = {
    Variable: ("attributes",),
    EnumType: ("constants",),
    CompoundType: ("fields",),
}
_MEMBERS = ("types", "dimensions", "variables", "attributes", "groups")
"""Members of a group in the order in which languages declare them."""


def walk(tree: Node, path: str = "/") -> Iterator[tuple[str, Node]]:
    """Yield a node and all below it with their paths, each before its children, in definition order.

    Parameters
    ----------
    tree : Dataset, Group, Variable or a type
        Where to begin.
    path : str
        Path of that node.

    Yields
    ------
    tuple of str and Node
        Path and node: groups, types with their fields and constants, dimensions, variables, attributes.

    Examples
    --------
    >>> import nczarr
    >>> from nczarr.ast import walk
    >>> tree = nczarr.parse("netcdf d { dimensions: x = 2 ; variables: int v(x) ; v:units = 'K' ; }")
    >>> [path for path, node in walk(tree)]
    ['/', '/x', '/v', '/v@units']
    """
    yield path, tree
    for member in _list_members(tree):
        for child in getattr(tree, member):
            yield from walk(child, child_path(path, child))


def _list_members(tree: Node) -> tuple[str, ...]:
    return _MEMBERS if isinstance(tree, Group) else _CHILDREN.get(type(tree), ())


def child_path(path: str, child: Node) -> str:
    """Return the path of a child of the node at a path."""
    name: str = getattr(child, "name", "")
    if isinstance(child, Attribute):
        return f"{path}@{name}"
    if isinstance(child, Field | EnumConstant):
        return f"{path}.{names.escape_fqn_part(name)}"
    return names.join(path, name)


def transform(tree: G, changes: Mapping[type[Node], Change], path: str = "/") -> G:
    """Return a tree in which functions have replaced nodes of some types.

    A function gets a node after its children were changed. The rest of the tree is
    shared with the old one. A new node without a span has that of the node whose
    place it takes, so that messages about it name the source.

    References are not followed: `nczarr.ast.rename` gives declarations new names.

    Parameters
    ----------
    tree : Dataset or Group
        The tree; it stays as it is.
    changes : Mapping of type to function
        For each type of nodes, a function of a path and a node, which returns the node
        that takes its place (itself for no change), several nodes of one kind, or None
        to remove it. The function for `Node` gets every node without one of its own.
    path : str
        Path of `tree`.

    Returns
    -------
    Dataset or Group
        The new tree. It is not checked; `nczarr.analyse` does.

    Raises
    ------
    TypeError
        If the root is replaced by anything but one node of its type, or a child by a node that its place cannot hold.

    Examples
    --------
    >>> import nczarr
    >>> from nczarr.ast import Attribute, transform
    >>> tree = nczarr.parse("netcdf d { variables: int v ; v:units = 'K' ; v:note = 'x' ; }")
    >>> bare = transform(tree, {Attribute: lambda path, node: node if node.name == "units" else None})
    >>> [attribute.name for attribute in bare.variables[0].attributes]
    ['units']
    """
    changed = _transform(tree, changes, path)
    if len(changed) != 1 or not isinstance(changed[0], type(tree)):
        raise TypeError(f"the root must stay one {type(tree).__name__}")
    return changed[0]


def _transform(node: Node, changes: Mapping[type[Node], Change], path: str) -> list[Node]:
    """Return what takes the place of a node."""
    updates: dict[str, tuple[Node, ...]] = {}
    for member in _list_members(node):
        before = getattr(node, member)
        after = tuple(new for child in before for new in _transform(child, changes, child_path(path, child)))
        if len(after) != len(before) or any(new is not old for new, old in zip(after, before, strict=True)):
            _check_members(type(node), member, after, path)
            updates[member] = after
    changed = node.model_copy(update=updates) if updates else node
    change = changes.get(type(node)) or changes.get(Node)
    if change is None:
        return [changed]
    result = change(path, changed)
    found = () if result is None else result if isinstance(result, Iterable) else (result,)
    return [_with_span(new, node) for new in found]


_HELD: dict[str, tuple[type[Node], ...]] = {
    "types": (EnumType, OpaqueType, VlenType, CompoundType),
    "dimensions": (Dimension,),
    "variables": (Variable,),
    "attributes": (Attribute,),
    "groups": (Group,),
    "constants": (EnumConstant,),
    "fields": (Field,),
}
"""Classes of nodes by the member that holds them."""


def _check_members(owner: type[Node], member: str, nodes: tuple[Node, ...], path: str) -> None:
    """Check that nodes can stand in a member of their owner. Raises TypeError."""
    for new in nodes:
        if not isinstance(new, _HELD[member]) or isinstance(new, Dataset):
            raise TypeError(f"`{member}` of the {owner.__name__} `{path}` cannot hold {type(new).__name__}")


def _with_span(new: Node, old: Node) -> Node:
    """Return a new node with the span of the one whose place it takes, unless it has one. Raises TypeError."""
    if not isinstance(new, Node):
        raise TypeError(f"a change returns a node, several or None, not {type(new).__name__}")
    return new if new.span is not NOWHERE or old.span is NOWHERE else new.model_copy(update={"span": old.span})
