"""Declarations: variables of a dataset as DAP2 nodes, those that an expression selects, and their document (DDS).

    number             array of its element type         opaque     array of Byte with one more dimension
    char               String over the last dimension    compound   Structure
    string             String                            enum       its integers
    vlen               left out                          integer    of the sign that `_Unsigned` says

A variable whose dimensions all have coordinate variables is a Grid. Groups are flattened: `/g/v` is `g_v`. Expressions
are projections with hyperslabs; datasets have no sequences, so no selections.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple
from urllib.parse import unquote

from nczarr.ast import CompoundType, EnumType, OpaqueType, Variable, VlenType
from nczarr.ast.types import Field
from nczarr.plugins.opendap.common.words import MOST_CLAUSES, WIDE, WORDS, ConstraintError, TypeWords, missing
from nczarr.plugins.opendap.dap2.dialect import Identifiers, find_meant_type, wire_name
from nczarr.semantics.checked import Checked

TEXT_SIZE = 64
"""Estimated bytes of a text of unknown length."""

STEP = "    "


class NodeAxis(NamedTuple):
    """One dimension of a node."""

    name: str | None
    """Identifier; None: anonymous."""
    indices: range
    """Requested indices."""


class DdsNode(NamedTuple):
    """A declaration, or a requested part of one."""

    name: str
    """Identifier."""
    kind: Literal["element", "structure", "grid", "parts"]
    """Scalar or array of one element type; records; array with its coordinate variables; some of these alone."""
    fqn: str
    """FQN of the variable that has the values; of a grid, that of its array."""
    type: str
    """Type of the values in the model; of integers that of the numbers that `_Unsigned` means."""
    axes: tuple[NodeAxis, ...] = ()
    """Dimensions, without those of a record around it."""
    members: tuple[DdsNode, ...] = ()
    """Members of a structure; of a grid its array, then the coordinate variable of each dimension."""
    field: str = ""
    """Name of a member in the model."""
    hidden: int | None = None
    """Length of the last dimension of chars, which a text replaces; None for other types."""

    @property
    def element(self) -> TypeWords:
        """Words of the element type; opaque values are bytes."""
        return WORDS.get(self.type, WORDS["ubyte"])

    @property
    def cells(self) -> int:
        """Number of requested elements."""
        return math.prod(len(axis.indices) for axis in self.axes)

    def leaves(self, often: int = 1) -> Iterator[tuple[DdsNode, int]]:
        """Yield the arrays of a node, each with how often it occurs."""
        if self.kind == "element":
            yield self, often
        for member in self.members:
            yield from member.leaves(often * self.cells)


class Mapping(NamedTuple):
    """A dataset in DAP2."""

    checked: Checked
    name: str
    """Identifier of the dataset."""
    nodes: dict[str, DdsNode]
    """Nodes of all variables by identifier, in definition order."""
    spellings: dict[str, str]
    """Identifiers by their decoded spelling, and by paths with slashes."""
    identifiers: Identifiers
    """Identifiers of groups, dimensions and variables."""
    left_out: dict[str, str]
    """Reasons why variables have no node, by FQN."""

    @property
    def is_complete(self) -> bool:
        """True if clients read all variables under their names and as numbers or texts of the same values."""
        nested = any(fqn.count("/") > 1 for fqn in self.checked.variables)
        changed = any(
            variable.type in WIDE or isinstance(self.checked.types.get(variable.type), EnumType | OpaqueType)
            for variable in self.checked.variables.values()
        )
        return not (self.left_out or nested or changed or any(node.kind == "structure" for node in self.nodes.values()))


class _UnsayableError(Exception):
    """Reason why a variable has no node."""


def mapping(checked: Checked, name: str, unsayable: dict[str, str] | None = None) -> Mapping:
    """Return the nodes of a dataset; `name`: name of the dataset in the documents.

    `unsayable`: reasons by FQN why values of variables have no type of DAP2.
    """
    identifiers = Identifiers(checked)
    nodes: dict[str, DdsNode] = {}
    left_out = dict(unsayable or {})
    for fqn, variable in checked.variables.items():
        if fqn in left_out:
            continue
        try:
            declared = _make_variable_node(checked, identifiers, fqn, variable)
            nodes[declared.name] = declared
        except _UnsayableError as reason:
            left_out[fqn] = str(reason)
    for key, node in nodes.items():
        nodes[key] = _as_grid(node, nodes)
    spellings = identifiers.old_spellings() | {unquote(key): key for key in nodes}
    return Mapping(checked, wire_name((name,)).replace("%2E", "."), nodes, spellings, identifiers, left_out)


def _make_variable_node(checked: Checked, identifiers: Identifiers, fqn: str, variable: Variable) -> DdsNode:
    shape = checked.shapes[fqn]
    if 0 in shape:
        raise _UnsayableError("it has a dimension of length 0")
    named = identifiers.axes(variable, shape)
    lengths = _lengths(checked, variable.type, shape)
    axes = tuple(NodeAxis(name, range(length)) for name, length in zip(named, lengths, strict=True))
    node = _convert_node(checked, DdsNode(identifiers[fqn], "element", fqn, variable.type, axes))
    return node._replace(type=find_meant_type(node.type, variable.attributes))


def _convert_node(checked: Checked, node: DdsNode) -> DdsNode:
    """Return the node of a variable or member as DAP2 has its type. Raises _UnsayableError.

    The last axis of opaque values has their bytes.
    """
    match checked.types.get(node.type):
        case EnumType(base=base):
            return node._replace(type=base)
        case VlenType():
            raise _UnsayableError("DAP2 has no lists of variable length")
        case CompoundType(fields=fields):
            return node._replace(kind="structure", members=tuple(_member(checked, node, field) for field in fields))
    if node.type == "char":
        return node._replace(axes=node.axes[:-1], hidden=len(node.axes[-1].indices) if node.axes else 1)
    return node


def _member(checked: Checked, owner: DdsNode, field: Field) -> DdsNode:
    """Return the node of a member. Raises _UnsayableError."""
    axes = tuple(NodeAxis(None, range(length)) for length in _lengths(checked, field.type, field.shape))
    return _convert_node(
        checked, DdsNode(wire_name((field.name,)), "element", owner.fqn, field.type, axes, field=field.name)
    )


def _lengths(checked: Checked, type_name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lengths of dimensions, of opaque values with that of their bytes."""
    declared = checked.types.get(type_name)
    return (*shape, declared.size) if isinstance(declared, OpaqueType) else shape


def _as_grid(node: DdsNode, nodes: dict[str, DdsNode]) -> DdsNode:
    """Return an array as a grid if all its dimensions have coordinate variables, and it is not one itself."""
    axis_names = {axis.name for axis in node.axes}
    if node.kind != "element" or not node.axes or node.name in axis_names or len(axis_names) < len(node.axes):
        return node
    maps = [nodes.get(axis.name or "") for axis in node.axes]  # DAP2: a Grid has a Map for each dimension
    suitable = [
        coordinate
        for axis, coordinate in zip(node.axes, maps, strict=True)
        if coordinate is not None
        and coordinate.kind == "element"
        and coordinate.axes == (axis,)
        and coordinate.element.dap2 != "String"
    ]
    return node if len(suitable) < len(maps) else DdsNode(node.name, "grid", node.fqn, node.type, (), (node, *suitable))


def dds(mapped: Mapping, nodes: tuple[DdsNode, ...]) -> str:
    """Return the declarations of nodes."""
    lines = [f"{STEP}{line}" for node in nodes for line in _write_lines(node)]
    return "\n".join(["Dataset {", *lines, f"}} {mapped.name};", ""])


def _write_lines(node: DdsNode) -> Iterator[str]:
    lengths = ((f"{axis.name} = " if axis.name is not None else "", len(axis.indices)) for axis in node.axes)
    brackets = "".join(f"[{name}{length}]" for name, length in lengths)
    if node.kind == "element":
        yield f"{node.element.dap2} {node.name}{brackets};"
        return
    yield "Grid {" if node.kind == "grid" else "Structure {"
    for number, member in enumerate(node.members):
        if node.kind == "grid" and number < 2:
            yield "  Maps:" if number else "  Array:"
        yield from (STEP + line for line in _write_lines(member))
    yield f"}} {node.name}{brackets};"


def size_of(nodes: tuple[DdsNode, ...]) -> int:
    """Return the bytes of the values of nodes, estimated for texts."""
    return sum(often * leaf.cells * _width(leaf) for node in nodes for leaf, often in node.leaves())


def _width(leaf: DdsNode) -> int:
    if not leaf.element.array:
        return 4 + (TEXT_SIZE if leaf.hidden is None else leaf.hidden)
    return int(leaf.element.array[2:])


_SLAB = re.compile(r"\[\s*(?:(\*)|([0-9]{1,18})\s*(?::\s*([0-9]{1,18})\s*)?(?::\s*([0-9]{1,18})\s*)?)\]")
_STEP = re.compile(r"([^.\[\],()&]+)((?:\[[^\[\]]{0,80}\])*)")

Slabs = list[range | None]
Path = list[tuple[str, str]]


def select(mapped: Mapping, expression: str) -> tuple[DdsNode, ...]:
    """Return the requested nodes in definition order; all for an empty expression.

    libnetcdf misreads grids in another order.

    `expression`: the part of the URL after `?`, percent-encoded. Names may be
    encoded once more, as in the declarations. Raises ConstraintError.
    """
    projection, _, selection = unquote(re.sub(r"%(?!5[BbDd]|2[Cc]|3[Aa]|2[Aa]|20|26|25)", "%25", expression)).partition(
        "&"
    )
    if selection.strip("&"):
        raise ConstraintError("selections apply to sequences; the dataset has arrays only")
    clauses = [clause.strip() for clause in projection.split(",")] if projection.strip() else []
    if len(clauses) > MOST_CLAUSES:
        raise ConstraintError(f"an expression has at most {MOST_CLAUSES} projections")
    if not clauses:
        return tuple(mapped.nodes.values())
    nodes: dict[str, DdsNode] = {}
    for clause in clauses:
        node = _project(mapped, clause)
        nodes[node.name] = _merge(nodes[node.name], node, clause) if node.name in nodes else node
    return tuple(nodes[name] for name in mapped.nodes if name in nodes)


def _project(mapped: Mapping, clause: str) -> DdsNode:
    """Return the node of one projection. Raises ConstraintError."""
    path = _path(clause)
    place = _find(mapped, path)
    if place is None:
        for fqn, reason in mapped.left_out.items():
            if mapped.identifiers[fqn] == path[0][0]:
                raise ConstraintError(f"`{path[0][0]}` is left out: {reason}")
        raise missing("variable", path[0][0], path[0][0], mapped.nodes)
    node, rest = place
    return _narrow(node, rest, clause, mapped)


def _path(clause: str) -> Path:
    """Return the steps of a projection: names with their brackets. Raises ConstraintError."""
    if "(" in clause:
        raise ConstraintError(f"the server has no functions: `{clause[:80]}`")
    steps: Path = []
    at = 0
    while True:
        match = _STEP.match(clause, at)
        if match is None:
            raise ConstraintError(f"`{clause[:80]}` is not a projection: `var`, `var[start:stride:stop]`, `var.member`")
        steps.append((match[1].strip(), match[2]))
        at = match.end()
        if at == len(clause):
            return steps
        if clause[at] != ".":
            raise ConstraintError(f"`{clause[:80]}` is not a projection: unexpected `{clause[at]}`")
        at += 1


def _find(mapped: Mapping, path: Path) -> tuple[DdsNode, Path] | None:
    """Return the node that the first steps name, and the steps from it on: a name may contain dots."""
    for stop in range(len(path), 0, -1):
        if any(slabs for _, slabs in path[: stop - 1]):
            continue
        written = ".".join(name for name, _ in path[:stop])
        node = mapped.nodes.get(written) or mapped.nodes.get(mapped.spellings.get(unquote(written), ""))
        if node is not None:
            return node, [(node.name, path[stop - 1][1]), *path[stop:]]
    return None


def _narrow(node: DdsNode, path: Path, clause: str, mapped: Mapping) -> DdsNode:
    """Return the requested part of a node. Raises ConstraintError."""
    slabs, rest = _slabs(path[0][1], clause), path[1:]
    if node.kind == "grid" and not rest:
        array = node.members[0]._replace(axes=_cut(node.members[0].axes, slabs, clause))
        pairs = zip(node.members[1:], array.axes, strict=True)
        return node._replace(members=(array, *(coordinate._replace(axes=(axis,)) for coordinate, axis in pairs)))
    if node.kind == "grid" and slabs:
        raise ConstraintError(f"brackets belong behind the member: `{clause[:80]}`")
    if node.kind == "element" and rest:
        raise ConstraintError(f"`{node.name}` has no members")
    node = node._replace(axes=_cut(node.axes, slabs, clause))
    if not rest:
        return node
    written, inner_slabs = rest[0]
    plain = unquote(written)
    alike = (written, mapped.spellings.get(plain)) if "/" in plain else (written,)
    member = next((member for member in node.members if member.name in alike or unquote(member.name) == plain), None)
    if member is None:
        raise ConstraintError(f"`{node.name}` has no member `{written[:80]}`")
    part = _narrow(member, [(member.name, inner_slabs), *rest[1:]], clause, mapped)
    return node._replace(kind="parts" if node.kind == "grid" else node.kind, members=(part,))


def _merge(one: DdsNode, other: DdsNode, clause: str) -> DdsNode:
    """Return a node with the members that two projections request. Raises ConstraintError."""
    if one == other:
        return one
    if one.kind != other.kind or one.kind not in ("structure", "parts") or one.axes != other.axes:
        raise ConstraintError(f"`{one.name}` is requested twice in different ways: `{clause[:80]}`")
    members = {member.name: member for member in one.members}
    for member in other.members:
        members[member.name] = _merge(members.get(member.name, member), member, clause)
    return one._replace(members=tuple(members.values()))


def _slabs(text: str, clause: str) -> Slabs:
    """Return the ranges of brackets; None for `[*]`. Raises ConstraintError."""
    slabs: Slabs = []
    at = 0
    while at < len(text):
        slab = _SLAB.match(text, at)
        if slab is None:
            raise ConstraintError(
                f"`{clause[:80]}`: brackets contain `start:stride:stop`, `start:stop`, `index` or `*`"
            )
        at = slab.end()
        every, start, second, third = slab.groups()
        if every:
            slabs.append(None)
            continue
        first = int(start)
        last = int(third if third is not None else second if second is not None else start)
        stride = int(second) if third is not None else 1  # DAP2: start, stride, stop
        if stride < 1:
            raise ConstraintError(f"`{clause[:80]}`: a stride is at least 1")
        if last < first:
            raise ConstraintError(f"`{clause[:80]}`: the section {slab[0]} is empty")
        slabs.append(range(first, last + 1, stride))
    return slabs


def _cut(axes: tuple[NodeAxis, ...], slabs: Slabs, clause: str) -> tuple[NodeAxis, ...]:
    """Return the axes with the requested indices. Raises ConstraintError."""
    if not slabs:
        return axes
    if len(slabs) != len(axes):
        raise ConstraintError(f"`{clause[:80]}` has {len(slabs)} brackets for {len(axes)} dimensions")
    cut_axes = []
    for axis, slab in zip(axes, slabs, strict=True):
        indices = axis.indices if slab is None else slab
        if indices.stop > axis.indices.stop:
            raise ConstraintError(f"`{clause[:80]}`: indices of a dimension end at {axis.indices.stop - 1}")
        cut_axes.append(axis._replace(indices=indices))
    return tuple(cut_axes)
