"""A tree that takes the place of another one, with the values of its dataset.

A variable has the values of the one with its path. One with a new path has those that the caller names, or those of
the variable with its span: renamed nodes keep it.
"""

from collections.abc import Mapping

from nczarr.arrays.sources.source import Parts
from nczarr.ast import CompoundType, Dataset, EnumType, OpaqueType, UserType, Variable
from nczarr.ast.types import list_parts
from nczarr.diagnostics.report import Report, Span
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Foreign, Unchecked


def change_tree(
    values: Checked, tree: Dataset, report: Report, renamed: Mapping[str, str] | None = None
) -> Checked | None:
    """Return a dataset with another tree; None after an error.

    `renamed`: new FQNs of variables by the FQN of their values. Reports invalid
    trees, values of another type or shape, and values whose variable is unknown.
    """
    before = report.errors
    bare = check(Unchecked(tree), Report())
    sources: dict[str, str] = {} if bare is None else _find_sources(bare, values, renamed or {}, report)
    if report.errors > before:
        return None
    parts: dict[str, Parts] = {new: values.parts[old] for new, old in sources.items() if old in values.parts}
    foreign: dict[str, Foreign] = {new: values.foreign[old] for new, old in sources.items() if old in values.foreign}
    if bare is not None:
        foreign |= {path: beyond for path, beyond in values.foreign.items() if path in bare.groups}
    checked = check(Unchecked(tree, parts=parts, foreign=foreign, omitted=list(values.omitted)), report)
    if checked is None:
        return None
    for new, old in sources.items():
        _check_fit(checked, new, values, old, report)
    return checked if report.errors == before else None


def _find_sources(bare: Checked, values: Checked, renamed: Mapping[str, str], report: Report) -> dict[str, str]:
    """Return the FQN of the values of each variable; report where it is unknown."""
    for old, new in renamed.items():
        for path, known, what in ((old, values.variables, "dataset"), (new, bare.variables, "tree")):
            if path not in known:
                report.error("undefined-variable", f"`renamed` names `{path}`, which the {what} does not have")
    given = {new: old for old, new in renamed.items()}
    sources = {path: given.get(path, path) for path in bare.variables}
    sources = {
        new: old for new, old in sources.items() if old in values.variables and (new in given or old not in renamed)
    }
    missing = [path for path in bare.variables if path not in sources]
    gone = [path for path in values.variables if path not in sources.values()]
    by_place = _by_unique_place({path: values.variables[path] for path in gone})
    for place, new in _by_unique_place({path: bare.variables[path] for path in missing}).items():
        if place in by_place:
            sources[new] = by_place[place]
    unknown = [path for path in missing if path not in sources]
    lost = [path for path in gone if path not in sources.values() and path in values.parts]
    if unknown and lost:
        text = f"it is unknown whether `{unknown[0]}` has the values of `{lost[0]}`"
        helps = ["give `renamed={old: new}`, or remove the old variable and add the new one in two steps"]
        report.error("undefined-variable", text, bare.variables[unknown[0]].span, helps=helps)
    return sources


def _by_unique_place(variables: Mapping[str, Variable]) -> dict[tuple[int, int, int], str]:
    """Return FQNs by the span of the variable, of those whose span no other one has."""
    found: dict[tuple[int, int, int], list[str]] = {}
    for path, variable in variables.items():
        if variable.span.source is not None:
            found.setdefault(_place(variable.span), []).append(path)
    return {place: paths[0] for place, paths in found.items() if len(paths) == 1}


def _place(span: Span) -> tuple[int, int, int]:
    return id(span.source), span.start, span.end


def _is_alike(new: str, new_types: Mapping[str, UserType], old: str, old_types: Mapping[str, UserType]) -> bool:
    """Return whether two types have the same values, whatever their names."""
    after, before = new_types.get(new), old_types.get(old)
    if after is None or before is None:
        return new == old
    if _describe(after) != _describe(before):
        return False
    used = zip(list_parts(after), list_parts(before), strict=True)  # as many, for the descriptions are equal
    return all(_is_alike(one, new_types, other, old_types) for one, other in used)


def _describe(declared: UserType) -> tuple[object, ...]:
    """Return what values of a type depend on, but for the types that it uses."""
    if isinstance(declared, CompoundType):
        return "compound", [(field.name, field.shape) for field in declared.fields]
    if isinstance(declared, EnumType):
        return "enum", declared.base, declared.constants
    return declared.kind, declared.size if isinstance(declared, OpaqueType) else None


def _check_fit(checked: Checked, new: str, values: Checked, old: str, report: Report) -> None:
    """Report values whose type or shape the tree does not declare."""
    if old not in values.parts:
        return
    after, before = checked.variables[new], values.variables[old]
    if not _is_alike(after.type, checked.types, before.type, values.types):
        text = f"the values of `{new}` are of type {before.type}, not {after.type}"
        report.error("type-mismatch", text, after.span, helps=["remove the variable, and add one of the new type"])
    elif checked.shapes[new] != values.shapes[old]:
        text = f"the values of `{new}` have the shape {values.shapes[old]}, not {checked.shapes[new]}"
        report.error("shape-mismatch", text, after.span)
