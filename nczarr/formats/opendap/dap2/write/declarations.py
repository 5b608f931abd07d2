"""Declarations: the variables of a checked dataset as DAP2 nodes, and the document (DDS) of some nodes.

    number             array of its element type         opaque     array of Byte with one more dimension
    char               String over the last dimension    compound   Structure
    string             String                            enum       its integers
    vlen               left out

A variable whose dimensions all have coordinate variables is a Grid. Groups are
flattened: `/g/v` is `g_v`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from nczarr.ast import CompoundType, EnumType, OpaqueType, Variable, VlenType
from nczarr.ast.types import Field
from nczarr.check.checked import Checked
from nczarr.formats.opendap.common.type_words import WIDE, WORDS, TypeWords
from nczarr.formats.opendap.dap2.spelling import wire_name
from nczarr.formats.opendap.dap2.write.identifiers import Identifiers

TEXT_SIZE = 64
"""Estimated bytes of a text of unknown length."""

STEP = "    "


class NodeAxis(NamedTuple):
    """One dimension of a node."""

    name: str | None
    """Identifier; None: anonymous."""
    indices: range
    """Requested indices."""


class ElementNode(NamedTuple):
    """A scalar or an array of one element type."""

    name: str
    """Identifier."""
    fqn: str
    """FQN of the variable that has the values."""
    type: str
    """Type of the values in the model: atomic or opaque."""
    element: TypeWords
    """Type of the elements."""
    axes: tuple[NodeAxis, ...]
    """Dimensions, without those of a record around it."""
    hidden: int | None = None
    """Length of the last dimension of chars, which a text replaces; None for other types."""


class StructureNode(NamedTuple):
    """A structure, or an array of them. Without `fqn`: requested parts of a grid."""

    name: str
    """Identifier."""
    fqn: str | None
    """FQN of the variable that has the values."""
    axes: tuple[NodeAxis, ...]
    """Dimensions, without those of a record around it."""
    members: tuple[ElementNode | StructureNode, ...]
    """Members in order."""
    fields: tuple[str, ...] = ()
    """Names of the members in the model."""


class GridNode(NamedTuple):
    """An array with its coordinate variables."""

    name: str
    """Identifier."""
    array: ElementNode
    """The array."""
    maps: tuple[ElementNode, ...]
    """Coordinate variable of each dimension."""


Node: TypeAlias = ElementNode | StructureNode | GridNode


class Mapping(NamedTuple):
    """A dataset in DAP2."""

    checked: Checked
    """The dataset."""
    name: str
    """Identifier of the dataset."""
    nodes: dict[str, Node]
    """Nodes of all variables by identifier, in definition order."""
    spellings: dict[str, str]
    """Identifiers by their decoded spelling, and by paths with slashes."""
    identifiers: Identifiers
    """Identifiers of groups, dimensions and variables."""
    left_out: tuple[str, ...]
    """Messages about variables without a node."""

    @property
    def is_complete(self) -> bool:
        """True if clients read all variables under their names and as numbers or texts of the same values."""
        nested = any(fqn.count("/") > 1 for fqn in self.checked.variables)
        changed = any(isinstance(node, StructureNode) for node in self.nodes.values())
        changed |= any(
            variable.type in WIDE or isinstance(self.checked.types.get(variable.type), EnumType | OpaqueType)
            for variable in self.checked.variables.values()
        )
        return not (self.left_out or nested or changed)


class _UnsayableError(Exception):
    """Reason why a variable has no node."""


def mapping(checked: Checked, name: str) -> Mapping:
    """Return the nodes of a dataset; `name`: name of the dataset in the documents."""
    identifiers = Identifiers(checked)
    nodes: dict[str, Node] = {}
    left_out: list[str] = []
    for fqn, variable in checked.variables.items():
        try:
            declared = _variable(checked, identifiers, fqn, variable)
            nodes[declared.name] = declared
        except _UnsayableError as reason:
            left_out.append(f"{fqn}: {reason}")
    for key, node in nodes.items():
        nodes[key] = _as_grid(node, nodes, checked)
    spellings = identifiers.old_spellings() | {unquote(key): key for key in nodes}
    return Mapping(checked, wire_name((name,)).replace("%2E", "."), nodes, spellings, identifiers, tuple(left_out))


def _variable(checked: Checked, identifiers: Identifiers, fqn: str, variable: Variable) -> ElementNode | StructureNode:
    shape = checked.shapes[fqn]
    if 0 in shape:
        raise _UnsayableError("it has a dimension of length 0")
    declared = checked.types.get(variable.type)
    lengths = (*shape, declared.size) if isinstance(declared, OpaqueType) else shape
    named = identifiers.axes(variable, shape)
    axes = tuple(NodeAxis(name, range(length)) for name, length in zip(named, lengths, strict=True))
    return _node(checked, fqn, identifiers[fqn], variable.type, axes)


def _node(
    checked: Checked, fqn: str, name: str, type_name: str, axes: tuple[NodeAxis, ...]
) -> ElementNode | StructureNode:
    """Return the node of a variable or member. Raises _UnsayableError.

    The last axis of opaque values has their bytes.
    """
    declared = checked.types.get(type_name)
    match declared:
        case EnumType():
            return ElementNode(name, fqn, declared.base, WORDS[declared.base], axes)
        case OpaqueType():
            return ElementNode(name, fqn, type_name, WORDS["ubyte"], axes)
        case VlenType():
            raise _UnsayableError("DAP2 has no lists of variable length")
        case CompoundType():
            members = tuple(
                _node(checked, fqn, wire_name((field.name,)), field.type, _unnamed(checked, field))
                for field in declared.fields
            )
            return StructureNode(name, fqn, axes, members, tuple(field.name for field in declared.fields))
    if type_name == "char":
        return ElementNode(name, fqn, type_name, WORDS["char"], axes[:-1], len(axes[-1].indices) if axes else 1)
    return ElementNode(name, fqn, type_name, WORDS[type_name], axes)


def _unnamed(checked: Checked, field: Field) -> tuple[NodeAxis, ...]:
    """Return the axes of a member, of opaque values with that of their bytes."""
    declared = checked.types.get(field.type)
    lengths = (*field.shape, declared.size) if isinstance(declared, OpaqueType) else field.shape
    return tuple(NodeAxis(None, range(length)) for length in lengths)


def _as_grid(node: Node, nodes: dict[str, Node], checked: Checked) -> Node:
    """Return an array as a grid if all its dimensions have coordinate variables, and it is not one itself."""
    if not isinstance(node, ElementNode) or not node.axes:
        return node
    axis_names = {axis.name for axis in node.axes}
    if node.name in axis_names or len(axis_names) < len(node.axes):
        return node
    maps: list[ElementNode] = []
    for axis in node.axes:
        coordinate = nodes.get(axis.name or "")
        if not isinstance(coordinate, ElementNode) or coordinate.axes != (axis,) or coordinate.element.dap2 == "String":
            return node
        maps.append(coordinate)
    return GridNode(node.name, node, tuple(maps))


def hidden_name(node: ElementNode, mapped: Mapping) -> str | None:
    """Return the identifier of the dimension of chars that a text replaces; None if it has no name."""
    variable = mapped.checked.variables[node.fqn]
    axes = mapped.identifiers.axes(variable, mapped.checked.shapes[node.fqn])
    return axes[-1] if axes else None


def dds(mapped: Mapping, nodes: tuple[Node, ...]) -> str:
    """Return the declarations of nodes."""
    lines = [f"{STEP}{line}" for node in nodes for line in _lines(node)]
    return "\n".join(["Dataset {", *lines, f"}} {mapped.name};", ""])


def _lines(node: Node) -> Iterator[str]:
    match node:
        case ElementNode():
            yield f"{node.element.dap2} {node.name}{_brackets(node.axes)};"
        case GridNode():
            yield "Grid {"
            yield "  Array:"
            yield from (STEP + line for line in _lines(node.array))
            yield "  Maps:"
            yield from (STEP + line for part in node.maps for line in _lines(part))
            yield f"}} {node.name};"
        case StructureNode():
            yield "Structure {"
            yield from (STEP + line for part in node.members for line in _lines(part))
            yield f"}} {node.name}{_brackets(node.axes)};"


def _brackets(axes: tuple[NodeAxis, ...]) -> str:
    return "".join(
        f"[{len(axis.indices)}]" if axis.name is None else f"[{axis.name} = {len(axis.indices)}]" for axis in axes
    )


def leaves(node: Node) -> Iterator[tuple[ElementNode, int]]:
    """Yield the arrays of a node, each with how often it occurs."""
    match node:
        case ElementNode():
            yield node, 1
        case GridNode():
            yield from ((part, 1) for part in (node.array, *node.maps))
        case StructureNode():
            cells = count(node.axes)
            yield from ((leaf, cells * often) for part in node.members for leaf, often in leaves(part))


def count(axes: tuple[NodeAxis, ...]) -> int:
    """Return the number of requested elements."""
    return math.prod(len(axis.indices) for axis in axes)


def size_of(nodes: tuple[Node, ...]) -> int:
    """Return the bytes of the values of nodes, estimated for texts."""
    return sum(often * count(leaf.axes) * _width(leaf) for node in nodes for leaf, often in leaves(node))


def _width(leaf: ElementNode) -> int:
    if not leaf.element.array:
        return 4 + (TEXT_SIZE if leaf.hidden is None else leaf.hidden)
    return int(leaf.element.array[2:])
