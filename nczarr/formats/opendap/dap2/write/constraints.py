"""Constraint expressions: projections of variables with hyperslabs. Datasets have no sequences, so no selections."""

from __future__ import annotations

import re
from urllib.parse import unquote

from nczarr.formats.opendap.common.constraints import MOST_CLAUSES, ConstraintError, missing
from nczarr.formats.opendap.dap2.write.declarations import ElementNode, GridNode, Mapping, Node, NodeAxis, StructureNode

_SLAB = re.compile(r"\[\s*(?:(\*)|([0-9]{1,18})\s*(?::\s*([0-9]{1,18})\s*)?(?::\s*([0-9]{1,18})\s*)?)\]")
_STEP = re.compile(r"([^.\[\],()&]+)((?:\[[^\[\]]{0,80}\])*)")

Slabs = list[range | None]
Path = list[tuple[str, str]]


def select(mapped: Mapping, expression: str) -> tuple[Node, ...]:
    """Return the requested nodes in definition order; all for an empty expression.

    libnetcdf misreads grids in another order.

    `expression`: the part of the URL after `?`, percent-encoded. Names may be
    encoded once more, as in the declarations. Raises ConstraintError.
    """
    projection, _, selection = unquote(_protected(expression)).partition("&")
    if selection.strip("&"):
        raise ConstraintError("selections apply to sequences; the dataset has arrays only")
    clauses = [clause.strip() for clause in projection.split(",")] if projection.strip() else []
    if len(clauses) > MOST_CLAUSES:
        raise ConstraintError(f"an expression has at most {MOST_CLAUSES} projections")
    if not clauses:
        return tuple(mapped.nodes.values())
    nodes: dict[str, Node] = {}
    for clause in clauses:
        node = _projected(mapped, clause)
        nodes[node.name] = _merged(nodes[node.name], node, clause) if node.name in nodes else node
    return tuple(nodes[name] for name in mapped.nodes if name in nodes)


def _protected(expression: str) -> str:
    """Return an expression whose names stay encoded: only brackets, separators and blanks are decoded."""
    return re.sub(r"%(?!5[BbDd]|2[Cc]|3[Aa]|2[Aa]|20|26|25)", "%25", expression)


def _projected(mapped: Mapping, clause: str) -> Node:
    """Return the node of one projection. Raises ConstraintError."""
    path = _path(clause)
    place = _find(mapped, path)
    if place is None:
        raise missing("variable", path[0][0], path[0][0], mapped.nodes)
    node, rest = place
    return _narrowed(node, rest, clause, mapped)


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


def _find(mapped: Mapping, path: Path) -> tuple[Node, Path] | None:
    """Return the node that the first steps name, and the steps from it on: a name may contain dots."""
    for stop in range(len(path), 0, -1):
        if any(slabs for _, slabs in path[: stop - 1]):
            continue
        written = ".".join(name for name, _ in path[:stop])
        node = mapped.nodes.get(written) or mapped.nodes.get(mapped.spellings.get(unquote(written), ""))
        if node is not None:
            return node, [(node.name, path[stop - 1][1]), *path[stop:]]
    return None


def _narrowed(node: Node, path: Path, clause: str, mapped: Mapping) -> Node:
    """Return the requested part of a node. Raises ConstraintError."""
    slabs = _slabs(path[0][1], clause)
    match node:
        case ElementNode():
            if len(path) > 1:
                raise ConstraintError(f"`{node.name}` has no members")
            return node._replace(axes=_cut(node.axes, slabs, clause))
        case GridNode():
            if len(path) == 1:
                array = node.array._replace(axes=_cut(node.array.axes, slabs, clause))
                pairs = zip(node.maps, array.axes, strict=True)
                return GridNode(
                    node.name, array, tuple(coordinate._replace(axes=(axis,)) for coordinate, axis in pairs)
                )
            if slabs:
                raise ConstraintError(f"brackets belong behind the member: `{clause[:80]}`")
            part = _member((node.array, *node.maps), path[1:], node.name, clause, mapped)
            return StructureNode(node.name, None, (), (part,))
        case StructureNode():
            axes = _cut(node.axes, slabs, clause)
            if len(path) == 1:
                return node._replace(axes=axes)
            part = _member(node.members, path[1:], node.name, clause, mapped)
            field = node.fields[[member.name for member in node.members].index(part.name)]
            return node._replace(axes=axes, members=(part,), fields=(field,))


def _member(
    members: tuple[ElementNode | StructureNode, ...], path: Path, owner: str, clause: str, mapped: Mapping
) -> ElementNode | StructureNode:
    written, slabs = path[0]
    plain = unquote(written)
    alike = (written, mapped.spellings.get(plain)) if "/" in plain else (written,)
    member = next((member for member in members if member.name in alike or unquote(member.name) == plain), None)
    if member is None:
        raise ConstraintError(f"`{owner}` has no member `{written[:80]}`")
    narrowed = _narrowed(member, [(member.name, slabs), *path[1:]], clause, mapped)
    assert not isinstance(narrowed, GridNode)
    return narrowed


def _merged(one: Node, other: Node, clause: str) -> Node:
    """Return a node with the members that two projections request. Raises ConstraintError."""
    if one == other:
        return one
    if isinstance(one, StructureNode) and isinstance(other, StructureNode) and one.axes == other.axes:
        merged_members = {member.name: member for member in one.members}
        fields = dict(zip(merged_members, one.fields, strict=False))
        for number, member in enumerate(other.members):
            if member.name in merged_members and merged_members[member.name] != member:
                merged = _merged(merged_members[member.name], member, clause)
                assert not isinstance(merged, GridNode)
                merged_members[member.name] = merged
            merged_members.setdefault(member.name, member)
            if other.fields:
                fields.setdefault(member.name, other.fields[number])
        return one._replace(members=tuple(merged_members.values()), fields=tuple(fields.values()))
    raise ConstraintError(f"`{one.name}` is requested twice in different ways: `{clause[:80]}`")


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
        stride = int(second) if third is not None else 1
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
