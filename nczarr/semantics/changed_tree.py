"""A tree that takes the place of another one, with the values of its dataset.

A variable has the values of the one that the caller names, else of the one with
its span, which copies of a node keep, so that names may be exchanged; else of the
one with its path. Groups are found in the same way.
"""

from collections.abc import Mapping
from typing import Any

from nczarr.ast import CompoundType, Dataset, EnumType, Group, OpaqueType, UserType, Variable
from nczarr.ast.dataset import map_owners
from nczarr.ast.types import list_parts
from nczarr.diagnostics.report import NOWHERE, Report, Span
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked, remaining


def distinguish_nodes(checked: Checked) -> Checked:
    """Return the dataset with a span of its own for each group and variable, by which `change_tree` finds them again.

    Files have no spans, and the nodes of some documents share one.
    """
    nodes = (*checked.groups.values(), *checked.variables.values())
    seen = {id(NOWHERE)}
    if len(seen.union(id(node.span) for node in nodes)) > len(nodes):
        return checked

    def change(path: str, node: Group | Variable) -> dict[str, Any]:
        """Return the span of a node, or a copy of one that another node has."""
        span = node.span
        own = Span(span.source, span.start, span.end) if id(span) in seen else span
        seen.add(id(own))
        return {"span": own}

    return remaining(checked, map_owners(checked.dataset, change))


def change_tree(
    values: Checked, tree: Dataset, report: Report, renamed: Mapping[str, str] | None = None
) -> Checked | None:
    """Return a dataset with another tree; None after an error.

    `renamed`: new FQNs of variables by the FQN of their values. Reports invalid
    trees, values of another type or shape, and values whose variable is unknown.
    """
    before = report.errors
    bare = check(Unchecked(tree), Report())
    sources = {} if bare is None else _find_sources(bare, values, renamed or {}, report)
    if report.errors > before:
        return None
    owners = sources if bare is None else {**_pair(bare.groups, values.groups, {}), **sources}
    work = Unchecked(tree, omitted=list(values.omitted))
    work.parts = {new: values.parts[old] for new, old in sources.items() if old in values.parts}
    work.foreign = {new: values.foreign[old] for new, old in owners.items() if old in values.foreign}
    work.noted = frozenset(new for new, old in owners.items() if old in values.noted)
    checked = check(work, report)
    if checked is None:
        return None
    for new, old in sources.items():
        misfit = _find_misfit(checked, new, values, old) if old in values.parts else None
        if misfit is not None:
            helps = ["remove the variable, and add one of the new type"] if misfit[0] == "type-mismatch" else []
            report.error(*misfit, checked.variables[new].span, helps=helps)
    return checked if report.errors == before else None


def _find_sources(bare: Checked, values: Checked, renamed: Mapping[str, str], report: Report) -> dict[str, str]:
    """Return the FQN of the values of each variable; report where it is unknown."""
    for old, new in renamed.items():
        for path, known, what in ((old, values.variables, "dataset"), (new, bare.variables, "tree")):
            if path not in known:
                report.error("undefined-variable", f"`renamed` names `{path}`, which the {what} does not have")
    sources = _pair(bare.variables, values.variables, {new: old for old, new in renamed.items()})
    for span, old in _by_span(values.variables).items():  # copies beside a node have its values if these fit
        copies = [path for path, node in bare.variables.items() if id(node.span) == span and path not in sources]
        sources |= dict.fromkeys((new for new in copies if _find_misfit(bare, new, values, old) is None), old)
    unknown = [path for path in bare.variables if path not in sources]
    lost = values.parts.keys() - sources.values()
    if unknown and lost:
        text = f"it is unknown whether `{unknown[0]}` has the values of `{min(lost)}`"
        report.error("undefined-variable", text, bare.variables[unknown[0]].span, helps=HELPS)
    return sources


HELPS = (
    "rename by `nczarr.ast.rename`, and the values follow; `with_tree` takes `renamed={old: new}` as well",
    "or remove the old variable and add the new one in two steps, such as two passes",
)
"""Remedies for values whose variable is unknown."""


def _pair(
    after: Mapping[str, Group | Variable], before: Mapping[str, Group | Variable], given: Mapping[str, str]
) -> dict[str, str]:
    """Return the old FQN of each node that has one, by its new FQN; `given`: those that are known."""
    paired, origins = dict(given), _by_span(before)
    for span, new in _by_span(after).items():
        if span in origins and new not in given and origins[span] not in given.values():
            paired[new] = origins[span]
    taken = set(paired.values())
    return {path: path for path in after if path in before and path not in taken} | paired


def _by_span(nodes: Mapping[str, Group | Variable]) -> dict[int, str]:
    """Return FQNs by the identity of the node's span, of those whose span no other one has."""
    found: dict[int, list[str]] = {}
    for path, node in nodes.items():
        found.setdefault(id(node.span), []).append(path)
    return {span: paths[0] for span, paths in found.items() if len(paths) == 1 and span != id(NOWHERE)}


def _describe(name: str, types: Mapping[str, UserType]) -> object:
    """Return what the values of a type depend on, whatever its name and those of the types that it uses."""
    declared = types.get(name)
    if declared is None:
        return name
    parts = [_describe(part, types) for part in list_parts(declared)]
    if isinstance(declared, CompoundType):
        return parts, [(field.name, field.shape) for field in declared.fields]
    if isinstance(declared, EnumType):
        return parts, declared.base, declared.constants
    return parts, declared.kind, declared.size if isinstance(declared, OpaqueType) else None


def _find_misfit(checked: Checked, new: str, values: Checked, old: str) -> tuple[str, str] | None:
    """Return code and text of why the tree does not declare the type or shape of values; None if it does."""
    after, before = checked.variables[new], values.variables[old]
    if _describe(after.type, checked.types) != _describe(before.type, values.types):
        return "type-mismatch", f"the values of `{new}` are of type {before.type}, not {after.type}"
    if checked.shapes[new] != values.shapes[old]:
        return "shape-mismatch", f"the values of `{new}` have the shape {values.shapes[old]}, not {checked.shapes[new]}"
    return None
