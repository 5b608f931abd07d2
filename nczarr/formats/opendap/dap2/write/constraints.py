"""Constraint expressions: projections of variables with hyperslabs. Datasets have no sequences, so no selections."""

from __future__ import annotations

import re
from urllib.parse import unquote

from nczarr import names
from nczarr.formats.opendap.dap2.write.declarations import ElementNode, GridNode, Mapping, Node, NodeAxis, StructureNode

MOST_CLAUSES = 1000
"""Maximum projections of one expression."""

_SLAB = re.compile(r"\[\s*(?:(\*)|([0-9]{1,18})\s*(?::\s*([0-9]{1,18})\s*)?(?::\s*([0-9]{1,18})\s*)?)\]")
_STEP = re.compile(r"([^.\[\],()&]+)((?:\[[^\[\]]{0,80}\])*)")

Slabs = list[range | None]
Path = list[tuple[str, str]]


class ConstraintError(ValueError):
    """An invalid constraint expression; the text says why."""


def select(known: Mapping, expression: str) -> tuple[Node, ...]:
    """Return the requested nodes in definition order; all for an empty expression.

    libnetcdf misreads grids in another order.

    `expression`: the part of the URL after `?`, percent-encoded. Names may be
    encoded once more, as in the declarations. Raises ConstraintError.
    """
    projection, _, selection = unquote(_protected(expression)).partition("&")
    if selection.strip("&"):
        raise ConstraintError("selections apply to sequences; the dataset has arrays only")
    clauses = [each.strip() for each in projection.split(",")] if projection.strip() else []
    if len(clauses) > MOST_CLAUSES:
        raise ConstraintError(f"an expression has at most {MOST_CLAUSES} projections")
    if not clauses:
        return tuple(known.nodes.values())
    made: dict[str, Node] = {}
    for clause in clauses:
        node = _projected(known, clause)
        made[node.name] = _merged(made[node.name], node, clause) if node.name in made else node
    return tuple(made[name] for name in known.nodes if name in made)


def _protected(expression: str) -> str:
    """Return an expression whose names stay encoded: only brackets, separators and blanks are decoded."""
    return re.sub(r"%(?!5[BbDd]|2[Cc]|3[Aa]|2[Aa]|20|26|25)", "%25", expression)


def _projected(known: Mapping, clause: str) -> Node:
    """Return the node of one projection. Raises ConstraintError."""
    path = _path(clause)
    found = _find(known, path)
    if found is None:
        name = path[0][0]
        meant = names.closest(name[:80], known.nodes)
        hint = f"; did you mean `{meant}`?" if meant else ""
        raise ConstraintError(f"there is no variable `{name[:80]}`{hint}")
    node, rest = found
    return _narrowed(node, rest, clause, known)


def _path(clause: str) -> Path:
    """Return the steps of a projection: names with their brackets. Raises ConstraintError."""
    if "(" in clause:
        raise ConstraintError(f"the server has no functions: `{clause[:80]}`")
    steps: Path = []
    at = 0
    while True:
        found = _STEP.match(clause, at)
        if found is None:
            raise ConstraintError(f"`{clause[:80]}` is not a projection: `var`, `var[start:stride:stop]`, `var.member`")
        steps.append((found[1].strip(), found[2]))
        at = found.end()
        if at == len(clause):
            return steps
        if clause[at] != ".":
            raise ConstraintError(f"`{clause[:80]}` is not a projection: unexpected `{clause[at]}`")
        at += 1


def _find(known: Mapping, path: Path) -> tuple[Node, Path] | None:
    """Return the node that the first steps name, and the steps from it on: a name may contain dots."""
    for stop in range(len(path), 0, -1):
        if any(slabs for _, slabs in path[: stop - 1]):
            continue
        written = ".".join(name for name, _ in path[:stop])
        node = known.nodes.get(written) or known.nodes.get(known.spellings.get(unquote(written), ""))
        if node is not None:
            return node, [(node.name, path[stop - 1][1]), *path[stop:]]
    return None


def _narrowed(node: Node, path: Path, clause: str, known: Mapping) -> Node:
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
                return GridNode(node.name, array, tuple(each._replace(axes=(axis,)) for each, axis in pairs))
            if slabs:
                raise ConstraintError(f"brackets belong behind the member: `{clause[:80]}`")
            part = _member((node.array, *node.maps), path[1:], node.name, clause, known)
            return StructureNode(node.name, None, (), (part,))
        case StructureNode():
            axes = _cut(node.axes, slabs, clause)
            if len(path) == 1:
                return node._replace(axes=axes)
            part = _member(node.members, path[1:], node.name, clause, known)
            field = node.fields[[each.name for each in node.members].index(part.name)]
            return node._replace(axes=axes, members=(part,), fields=(field,))


def _member(
    members: tuple[ElementNode | StructureNode, ...], path: Path, owner: str, clause: str, known: Mapping
) -> ElementNode | StructureNode:
    written, slabs = path[0]
    plain = unquote(written)
    alike = (written, known.spellings.get(plain)) if "/" in plain else (written,)
    found = next((each for each in members if each.name in alike or unquote(each.name) == plain), None)
    if found is None:
        raise ConstraintError(f"`{owner}` has no member `{written[:80]}`")
    narrowed = _narrowed(found, [(found.name, slabs), *path[1:]], clause, known)
    assert not isinstance(narrowed, GridNode)
    return narrowed


def _merged(one: Node, other: Node, clause: str) -> Node:
    """Return a node with the members that two projections request. Raises ConstraintError."""
    if one == other:
        return one
    if isinstance(one, StructureNode) and isinstance(other, StructureNode) and one.axes == other.axes:
        own = {each.name: each for each in one.members}
        fields = dict(zip(own, one.fields, strict=False))
        for number, each in enumerate(other.members):
            if each.name in own and own[each.name] != each:
                merged = _merged(own[each.name], each, clause)
                assert not isinstance(merged, GridNode)
                own[each.name] = merged
            own.setdefault(each.name, each)
            if other.fields:
                fields.setdefault(each.name, other.fields[number])
        return one._replace(members=tuple(own.values()), fields=tuple(fields.values()))
    raise ConstraintError(f"`{one.name}` is requested twice in different ways: `{clause[:80]}`")


def _slabs(text: str, clause: str) -> Slabs:
    """Return the ranges of brackets; None for `[*]`. Raises ConstraintError."""
    found: Slabs = []
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
            found.append(None)
            continue
        first = int(start)
        last = int(third if third is not None else second if second is not None else start)
        stride = int(second) if third is not None else 1
        if stride < 1:
            raise ConstraintError(f"`{clause[:80]}`: a stride is at least 1")
        if last < first:
            raise ConstraintError(f"`{clause[:80]}`: the section {slab[0]} is empty")
        found.append(range(first, last + 1, stride))
    return found


def _cut(axes: tuple[NodeAxis, ...], slabs: Slabs, clause: str) -> tuple[NodeAxis, ...]:
    """Return the axes with the requested indices. Raises ConstraintError."""
    if not slabs:
        return axes
    if len(slabs) != len(axes):
        raise ConstraintError(f"`{clause[:80]}` has {len(slabs)} brackets for {len(axes)} dimensions")
    made = []
    for axis, slab in zip(axes, slabs, strict=True):
        indices = axis.indices if slab is None else slab
        if indices.stop > axis.indices.stop:
            raise ConstraintError(f"`{clause[:80]}`: indices of a dimension end at {axis.indices.stop - 1}")
        made.append(axis._replace(indices=indices))
    return tuple(made)
