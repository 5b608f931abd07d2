"""New names of nodes in a whole tree, with all uses of these names."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from nczarr import names
from nczarr.ast.dataset import Attribute, Dataset, Dimension, Group, Variable, map_groups
from nczarr.ast.traversal import walk
from nczarr.ast.types import CompoundType, EnumType, OpaqueType, UserType, VlenType
from nczarr.ast.values import Constant

NodeKind = Literal["group", "type", "dimension", "variable"]
"""Kinds of nodes with a name."""

NODE_KINDS: tuple[NodeKind, ...] = ("group", "type", "dimension", "variable")
"""All kinds, in the order in which they refer to each other."""

Named = TypeVar("Named", Dimension, CompoundType, VlenType, Variable)

Renames = Mapping[NodeKind, Mapping[str, str]]
"""New FQNs by kind and old FQN, in which groups have their new names too."""


def complete_renames(dataset: Dataset, direct: Renames) -> dict[NodeKind, dict[str, str]]:
    """Return the new FQNs of all nodes whose FQN changes.

    `direct`: new simple names by kind and old FQN.
    """
    complete: dict[NodeKind, dict[str, str]] = {kind: {} for kind in NODE_KINDS}

    def visit(group: Group, old: str, new: str) -> None:
        """Note the changed FQNs of a group's nodes; `old` and `new` are the group's own."""
        for kind in NODE_KINDS:
            for child in getattr(group, f"{kind}s"):
                old_path = names.join(old, child.name)
                new_path = names.join(new, direct.get(kind, {}).get(old_path, child.name))
                if old_path != new_path:
                    complete[kind][old_path] = new_path
                if isinstance(child, Group):
                    visit(child, old_path, new_path)

    visit(dataset, "/", "/")
    return complete


def rename_tree(dataset: Dataset, renamed: Renames) -> Dataset:
    """Return the tree with new names; `renamed` is complete."""
    return dataset if not any(renamed.values()) else map_groups(dataset, _Renamer(renamed).change_group)


def rename(tree: Dataset, table: Mapping[str, str]) -> Dataset:
    """Return a tree in which declarations have new names, with all uses of these names.

    Parameters
    ----------
    tree : Dataset
        A tree with resolved names, as `nczarr.parse` returns it.
    table : Mapping of str to str
        New simple names by FQN of a group, type, dimension or variable. A dimension and its coordinate variable have
        one FQN, and both get the new name.

    Returns
    -------
    Dataset
        The new tree. Texts of attributes that name variables, such as `coordinates`, stay.

    Raises
    ------
    KeyError
        If nothing has a FQN of the table.

    Examples
    --------
    >>> import nczarr
    >>> from nczarr.ast import rename
    >>> tree = nczarr.parse("netcdf d { dimensions: x = 2 ; variables: float x(x), v(x) ; }")
    >>> [variable.dimensions for variable in rename(tree, {"/x": "lon"}).variables]
    [('/lon',), ('/lon',)]
    """
    direct: dict[NodeKind, dict[str, str]] = {kind: {} for kind in NODE_KINDS}
    unknown = set(table)
    for path, node in walk(tree):
        kind = next((name for name, classes in _CLASSES if isinstance(node, classes)), None)
        if kind is not None and path in table and path != "/":
            direct[kind][path] = table[path]
            unknown.discard(path)
    if unknown:
        raise KeyError(f"the tree has no {', '.join(sorted(unknown))}")
    return rename_tree(tree, complete_renames(tree, direct))


_CLASSES: tuple[tuple[NodeKind, tuple[type[Any], ...]], ...] = (
    ("group", (Group,)),
    ("type", (EnumType, OpaqueType, VlenType, CompoundType)),
    ("dimension", (Dimension,)),
    ("variable", (Variable,)),
)
"""Classes of nodes by kind."""


class _Renamer:
    """Renamer of one tree."""

    def __init__(self, renamed: Renames) -> None:
        self.renamed = renamed
        self.has_types = bool(renamed["type"])

    def change_group(self, path: str, group: Group) -> dict[str, Any]:
        """Return the members of a group with new names."""
        return {
            "name": names.last(self.renamed["group"][path]) if path in self.renamed["group"] else group.name,
            "types": tuple(self._change_type(declared, path) for declared in group.types),
            "dimensions": tuple(self._name("dimension", dimension, path) for dimension in group.dimensions),
            "variables": tuple(self._change_variable(variable, path) for variable in group.variables),
            "attributes": self._attributes(group.attributes),
        }

    def _name(self, kind: NodeKind, node: Named, parent: str) -> Named:
        new = self.renamed[kind].get(names.join(parent, node.name))
        return node if new is None else node.model_copy(update={"name": names.last(new)})

    def _use(self, type_name: str) -> str:
        return self.renamed["type"].get(type_name, type_name)

    def _change_type(self, declared: UserType, parent: str) -> UserType:
        if isinstance(declared, VlenType):
            declared = declared.model_copy(update={"base": self._use(declared.base)})
        elif isinstance(declared, CompoundType):
            fields = tuple(field.model_copy(update={"type": self._use(field.type)}) for field in declared.fields)
            declared = declared.model_copy(update={"fields": fields})
        return self._name("type", declared, parent)  # type: ignore[type-var]

    def _change_variable(self, variable: Variable, parent: str) -> Variable:
        dimensions = tuple(
            reference if isinstance(reference, int) else self.renamed["dimension"].get(reference, reference)
            for reference in variable.dimensions
        )
        members = {
            "type": self._use(variable.type),
            "dimensions": dimensions,
            "attributes": self._attributes(variable.attributes),
        }
        return self._name("variable", variable.model_copy(update=members), parent)

    def _attributes(self, attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
        if not self.has_types:
            return attributes
        return tuple(
            attribute.model_copy(update={"value": self._change_constant(attribute.value)}) for attribute in attributes
        )

    def _change_constant(self, constant: Constant) -> Constant:
        data = constant.data
        if isinstance(data, tuple):
            data = tuple(self._change_constant(item) if isinstance(item, Constant) else item for item in data)  # type: ignore[assignment]
        return constant.model_copy(update={"type": self._use(constant.type), "data": data})
