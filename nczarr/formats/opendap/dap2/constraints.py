"""Constraint expressions: projections of variables with hyperslabs. Datasets have no sequences, so no selections."""

from __future__ import annotations

import re
from urllib.parse import unquote

from nczarr.formats.opendap.common.constraints import MOST_CLAUSES, ConstraintError, missing
from nczarr.formats.opendap.dap2.declarations import DdsNode, Mapping, NodeAxis

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
        node = _projected(mapped, clause)
        nodes[node.name] = _merged(nodes[node.name], node, clause) if node.name in nodes else node
    return tuple(nodes[name] for name in mapped.nodes if name in nodes)


def _projected(mapped: Mapping, clause: str) -> DdsNode:
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


def _narrowed(node: DdsNode, path: Path, clause: str, mapped: Mapping) -> DdsNode:
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
    part = _narrowed(member, [(member.name, inner_slabs), *rest[1:]], clause, mapped)
    return node._replace(kind="parts" if node.kind == "grid" else node.kind, members=(part,))


def _merged(one: DdsNode, other: DdsNode, clause: str) -> DdsNode:
    """Return a node with the members that two projections request. Raises ConstraintError."""
    if one == other:
        return one
    if one.kind != other.kind or one.kind not in ("structure", "parts") or one.axes != other.axes:
        raise ConstraintError(f"`{one.name}` is requested twice in different ways: `{clause[:80]}`")
    members = {member.name: member for member in one.members}
    for member in other.members:
        members[member.name] = _merged(members.get(member.name, member), member, clause)
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
