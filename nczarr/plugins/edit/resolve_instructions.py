"""Instructions of an edit, resolved against the dataset that is edited."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from nczarr import names
from nczarr.ast import Attribute, Constant, Dataset, Group, Variable
from nczarr.ast.dataset import map_groups
from nczarr.ast.renaming import NODE_KINDS, NodeKind
from nczarr.diagnostics.report import NOWHERE, Report, Span, suggest
from nczarr.plugins.edit.instructions import AttributeAssignment, Deletion, Instruction, NameAssignment
from nczarr.semantics.check_names import clash
from nczarr.semantics.checked import Checked


class NodeInstructions(NamedTuple):
    """New names and removals of nodes."""

    renames: dict[NodeKind, dict[str, str]]
    """New simple names by kind and FQN."""
    deleted: frozenset[tuple[NodeKind, str]]
    """Kind and FQN of removed nodes."""


def resolve_nodes(checked: Checked, instructions: Iterable[Instruction], report: Report) -> NodeInstructions:
    """Return the new names and the removals of nodes. Reports bad-edit."""
    renames: dict[NodeKind, dict[str, str]] = {kind: {} for kind in NODE_KINDS}
    deleted: set[tuple[NodeKind, str]] = set()
    for instruction in instructions:
        if isinstance(instruction, AttributeAssignment) or instruction.attribute is not None:
            continue
        path = instruction.path if instruction.path.startswith("/") else names.join("/", instruction.path)
        kinds = [kind for kind in NODE_KINDS if path in getattr(checked, f"{kind}s")]
        if instruction.kind is not None:
            kinds = [kind for kind in kinds if kind == instruction.kind]
        if not kinds or path == "/":
            _report_missing(checked, instruction.kind, path, instruction.span, report)
        elif isinstance(instruction, NameAssignment):
            for kind in kinds:
                if renames[kind].setdefault(path, instruction.new) != instruction.new:
                    text = f"`{path}` gets two new names, `{renames[kind][path]}` and `{instruction.new}`"
                    report.error("bad-edit", text, instruction.span)
        else:
            deleted.add((next((kind for kind in ("group", "variable") if kind in kinds), kinds[0]), path))
    for kind, path in sorted(deleted):
        if path in renames[kind]:
            report.error("bad-edit", f"`{path}` is renamed and removed")
        if kind == "dimension":
            _report_uses(checked, path, deleted, report)
        if any(names.join(names.parent(other), new) == path for other, new in renames[kind].items()):
            text = f"`{path}` is removed, and its name given to another {kind}, which one edit cannot do"
            report.error("bad-edit", text, helps=["remove it first, and rename the other in a second edit"])
    _report_taken_names(checked, instructions, renames, deleted, report)
    _report_repeated_values(instructions, report)
    gone = [path for kind, path in deleted if kind in ("variable", "group")]
    for instruction in instructions:
        if isinstance(instruction, AttributeAssignment) or instruction.attribute is not None:
            path_text = instruction.owner if isinstance(instruction, AttributeAssignment) else instruction.path
            owner = names.join("/", path_text.lstrip("/"))
            if any(owner == path or owner.startswith(f"{path}/") for path in gone):
                report.error("bad-edit", f"`{owner}` gets other attributes and is removed", instruction.span or NOWHERE)
    new = {
        kind: {path: name for path, name in named.items() if name != names.last(path)}
        for kind, named in renames.items()
    }
    return NodeInstructions(new, frozenset(deleted))


def _report_taken_names(
    checked: Checked,
    instructions: Iterable[Instruction],
    renames: Mapping[NodeKind, Mapping[str, str]],
    deleted: Collection[tuple[NodeKind, str]],
    report: Report,
) -> None:
    """Report new names that other objects of the group have after the edit."""
    for instruction in instructions:
        if not isinstance(instruction, NameAssignment) or instruction.attribute is not None:
            continue
        path = names.join("/", instruction.path.lstrip("/"))
        place = names.join(names.parent(path), instruction.new)
        renamed = [kind for kind in NODE_KINDS if path in renames[kind]]
        for kind in NODE_KINDS:
            others = [other for other in _paths_after(kind, place, checked, renames, deleted) if other != path]
            if others and any(clash(kind, other) for other in renamed):
                text = (
                    f"`{path}` cannot be renamed to `{instruction.new}`, which {kind} `{others[0]}` has after the edit"
                )
                report.error("bad-edit", text, instruction.span)


def _paths_after(
    kind: NodeKind,
    place: str,
    checked: Checked,
    renames: Mapping[NodeKind, Mapping[str, str]],
    deleted: Collection[tuple[NodeKind, str]],
) -> list[str]:
    """Return the present FQNs of the objects of a kind that have an FQN after the renames, without the groups' ones."""
    new = [path for path, name in renames[kind].items() if names.join(names.parent(path), name) == place]
    stays = place in getattr(checked, f"{kind}s") and place not in renames[kind] and (kind, place) not in deleted
    return [place, *new] if stays else new


def _report_uses(checked: Checked, path: str, deleted: Collection[tuple[NodeKind, str]], report: Report) -> None:
    """Report variables that keep a dimension which is removed."""
    gone = [place for kind, place in deleted if kind != "dimension"]
    uses = [
        name
        for name, variable in checked.variables.items()
        if path in variable.dimensions and not any(name == place or name.startswith(f"{place}/") for place in gone)
    ]
    if uses:
        shown = names.list_first(uses, 5)
        report.error("bad-edit", f"dimension `{path}` cannot be removed: {shown} use{'s' * (len(uses) == 1)} it")


def _report_repeated_values(instructions: Iterable[Instruction], report: Report) -> None:
    """Report attributes that get two values."""
    owners: set[tuple[str, str]] = set()
    for instruction in instructions:
        if not isinstance(instruction, AttributeAssignment):
            continue
        owner = names.join("/", instruction.owner.lstrip("/"))
        if (owner, instruction.name) in owners:
            text = f"attribute `{instruction.name}` of `{owner}` gets two values"
            report.error("bad-edit", text, instruction.span or NOWHERE)
        owners.add((owner, instruction.name))


def _report_missing(checked: Checked, kind: NodeKind | None, path: str, span: Span, report: Report) -> None:
    candidates = [name for one in NODE_KINDS for name in getattr(checked, f"{one}s") if kind in (None, one)]
    text = "the root group cannot be renamed or removed" if path == "/" else f"there is no {kind or 'object'} `{path}`"
    report.error("bad-edit", text, span, helps=suggest(path, candidates))


def change_attributes_as_instructed(checked: Checked, instructions: Iterable[Instruction], report: Report) -> Dataset:
    """Return the tree with other attributes: first removals, then new names, then values. Reports bad-edit."""
    owners: dict[str, dict[str, Constant]] = {}
    instructions = list(instructions)
    for step in (Deletion, NameAssignment, AttributeAssignment):
        for instruction in instructions:
            if isinstance(instruction, step):
                _change_attribute(checked, instruction, owners, report)

    def freeze(owner: Group | Variable, path: str) -> tuple[Attribute, ...]:
        if path not in owners:
            return owner.attributes
        return tuple(Attribute(name=name, value=value) for name, value in owners[path].items())

    def change_group(path: str, group: Group) -> dict[str, Any]:
        variables = tuple(
            variable.model_copy(update={"attributes": freeze(variable, names.join(path, variable.name))})
            for variable in group.variables
        )
        return {"variables": variables, "attributes": freeze(group, path)}

    return map_groups(checked.dataset, change_group) if owners else checked.dataset


def _change_attribute(
    checked: Checked,
    instruction: Instruction,
    owners: dict[str, dict[str, Constant]],
    report: Report,
) -> None:
    """Apply an instruction to the attributes of its owner in `owners`, or report why it does not fit."""
    span = instruction.span or NOWHERE
    if isinstance(instruction, AttributeAssignment):
        path, name = instruction.owner, instruction.name
    elif instruction.attribute is None:
        return
    else:
        path, name = instruction.path, instruction.attribute
    path = path if path.startswith("/") else names.join("/", path)
    node = checked.variables.get(path) or checked.groups.get(path)
    if node is None:
        helps = suggest(path, [*checked.variables, *checked.groups])
        report.error("bad-edit", f"there is no variable or group `{path}`", span, helps=helps)
        return
    values = owners.setdefault(path, {attribute.name: attribute.value for attribute in node.attributes})
    if isinstance(instruction, AttributeAssignment):
        assert instruction.value is not None
        values[name] = instruction.value
    elif name not in values:
        helps = suggest(name, values)
        report.error("bad-edit", f"`{path}` has no attribute `{name}`", span, helps=helps)
    elif isinstance(instruction, Deletion):
        del values[name]
    elif instruction.new in values:
        report.error("bad-edit", f"`{path}` has an attribute `{instruction.new}` already", span)
    else:
        owners[path] = {instruction.new if other == name else other: value for other, value in values.items()}


def find_type(checked: Checked, assignment: AttributeAssignment) -> str | None:
    """Return the type that the values of an assignment must have: `_FillValue` has that of its variable."""
    path = assignment.owner if assignment.owner.startswith("/") else names.join("/", assignment.owner)
    if assignment.name == "_FillValue" and assignment.type is None and path in checked.variables:
        return checked.variables[path].type
    return assignment.type
