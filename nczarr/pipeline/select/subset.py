"""Subsets of a dataset: variables, groups, sections. From `Checked` to `Checked`.

Selected variables include their dimensions, types and enclosing groups with
attributes, and with `Subset.related` their coordinates and other variables that
they need; selected groups include their content and what it uses of other
groups. A section cuts its variable, and selects it if anything is selected. For
the effect on shared dimensions see `sections.py`. A cut of a dimension, by
indices or by values of a coordinate (`selection_syntax.py`), is one of all its
variables.

Expects: a checked dataset. Ensures: a checked dataset; only coordinates that
select values are read.
Reports: unmatched-name, unmatched-section, unmatched-selection, split-dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nczarr import names
from nczarr.arrays.sources.sliced import slice_parts
from nczarr.ast import ATOMIC, Attribute, Dimension, Group, Variable
from nczarr.ast.dataset import G, building, map_groups
from nczarr.ast.rectilinear import largest, varies, within
from nczarr.ast.types import list_parts
from nczarr.diagnostics.report import Report, Span
from nczarr.pipeline.select.physical import indices_of
from nczarr.pipeline.select.sections import SectionChanges, ranges_of, settle, with_related
from nczarr.pipeline.select.selection import (
    CoordinateRange,
    DimensionRange,
    Subset,
    find_named,
    hint,
    match_names,
    place_of,
)
from nczarr.semantics.checked import Checked, Omission, remaining, resize, with_storage


def dimension_ranges(choice: Subset, dimensions: Iterable[str], checked: Checked, report: Report) -> dict[str, range]:
    """Return the selected indices by FQN of a dimension, one of `dimensions`. Raises OSError, CompileError."""
    selected: dict[str, range] = {}
    available = {fqn: checked.dimensions[fqn] for fqn in dimensions}

    def put(fqn: str, indices: range | None, span: Span) -> None:
        if fqn in selected:
            report.error("unmatched-selection", f"the dimension `{fqn}` is cut twice", span)
        elif indices is not None:
            selected[fqn] = indices

    for dimension in choice.dimensions:
        matches = match_names(dimension.name, available)
        if not matches:
            text, helps = f"no selected variable has the dimension `{dimension.name}`", hint(dimension.name, available)
            report.error("unmatched-name", text, dimension.span, helps=helps)
        for fqn in matches:
            put(fqn, _indices(dimension, fqn, available[fqn].size, report), dimension.span)
    for values in choice.labels:
        for fqn, path in _coordinates(values, available, checked, report):
            put(fqn, indices_of(values, path, checked, report), values.span)
    return selected


def _indices(cut: DimensionRange, fqn: str, length: int, report: Report) -> range | None:
    """Return the indices of a cut; None after an error."""
    if cut.strict:
        last = None if cut.indices.stop is None else cut.indices.stop - 1
        for index in (cut.indices.start, last):
            if index is not None and not -length <= index < length:
                text = f"index {index} is outside dimension `{fqn}` of length {length}"
                helps = [f"the last index is {length - 1}"] if length else []
                report.error("unmatched-selection", text, cut.span, helps=helps)
                return None
    indices = range(length)[cut.indices]
    if not indices:
        text = f"the cut selects nothing of dimension `{fqn}` of length {length}"
        report.error("unmatched-selection", text, cut.span, helps=["write the first index, then the last one"])
        return None
    return indices


def _coordinates(
    values: CoordinateRange, available: Mapping[str, object], checked: Checked, report: Report
) -> list[tuple[str, str]]:
    """Return pairs of dimension and coordinate that a name matches; an empty list after an error."""
    matches = match_names(values.name, checked.variables)
    usable = [
        (str(dimensions[0]), path)
        for path in matches
        if len(dimensions := checked.variables[path].dimensions) == 1 and dimensions[0] in available
    ]
    usable = [(dimension, path) for dimension, path in usable if dimension == path] or usable
    if usable:
        return usable
    if matches:
        path = matches[0]
        rank = len(checked.variables[path].dimensions)
        text = f"`{path}` has {rank} dimensions; values of a coordinate with one dimension select"
        if rank == 1:
            text = f"no selected variable has the dimension of `{path}`"
        axes = [names.last(reference) for reference in checked.variables[path].dimensions if isinstance(reference, str)]
        helps = [f"cut its dimensions by indices: `--dim {axes[0]}=0:9`"] if rank > 1 and axes else []
        report.error("unmatched-selection", text, values.span, helps=helps)
    elif match_names(values.name, available):
        text = f"the dimension `{values.name}` has no coordinate variable"
        helps = [f"cut it by indices: `--dim {values.name}=0:9`"]
        report.error("unmatched-selection", text, values.span, helps=helps)
    else:
        text = f"the dataset has no coordinate `{values.name}`"
        report.error("unmatched-name", text, values.span, helps=hint(values.name, available))
    return []


def subset(checked: Checked, choice: Subset, report: Report) -> Checked | None:
    """Return the wanted part of a dataset; None after an error. Raises OSError, CompileError."""
    if not choice:
        return checked
    before = report.errors
    variables = [fqn for word in choice.variables for fqn in find_named(word, "variable", checked.variables, report)]
    groups = [fqn for word in choice.groups for fqn in find_named(word, "group", checked.groups, report)]
    excluded = {fqn for word in choice.excluded for fqn in find_named(word, "variable", checked.variables, report)}
    sections = [(place_of(section, checked, report), section) for section in choice.sections]
    ranges = ranges_of([(fqn, section) for fqn, section in sections if fqn is not None], checked, report)
    if report.errors > before:
        return None
    retained = _everything(checked)
    if choice.variables or choice.groups:
        chosen = [*variables, *ranges]
        retained = _close_over(with_related(chosen, checked) if choice.related else chosen, groups, checked)
        checked = checked._replace(omitted=_select_omissions(checked, retained, groups))
    chosen = [fqn for fqn in checked.variables if fqn in retained["variables"]]
    cut: dict[str, range] = {}
    if choice.dimensions or choice.labels:
        cut = dimension_ranges(
            choice, [fqn for fqn in checked.dimensions if fqn in retained["dimensions"]], checked, report
        )
    if report.errors > before:
        return None
    cuts = settle(chosen, ranges, checked, report, cut)
    if report.errors > before:
        return None
    part = _remove(excluded, retained, cuts, checked)
    for word in {*choice.fixed} & {*choice.unlimited}:
        report.error("unmatched-selection", f"the dimension `{word}` cannot be both unlimited and fixed")
    growth = {
        fqn: grows
        for words, grows in ((choice.fixed, False), (choice.unlimited, True))
        for word in words
        for fqn in (part.dimensions if word == "*" else find_named(word, "dimension", part.dimensions, report))
    }
    if report.errors > before:
        return None
    return set_growth(part, growth) if growth else part


def exclude(checked: Checked, variables: Iterable[str]) -> Checked:
    """Return the dataset without some variables by FQN, and without the dimensions that these alone use."""
    return _remove(set(variables).intersection(checked.variables), _everything(checked), SectionChanges(), checked)


def _remove(excluded: set[str], retained: _Kept, cuts: SectionChanges, checked: Checked) -> Checked:
    """Return the retained items with the cuts applied, without excluded variables and what they alone use."""
    if excluded:
        variables = retained["variables"] - excluded
        used, still_used = (
            {reference for fqn in fqns for reference in checked.variables[fqn].dimensions}
            for fqns in (retained["variables"], variables)
        )
        retained = retained | {"variables": variables, "dimensions": retained["dimensions"] - (used - still_used)}
        checked = checked._replace(omitted=tuple(one for one in checked.omitted if one.path not in excluded))
    with building():
        return _make_subset(checked, retained, cuts)


def _select_omissions(checked: Checked, retained: _Kept, groups: list[str]) -> tuple[Omission, ...]:
    """Return the omissions of attributes of what is retained, and of all else in the selected groups."""
    owners = {*retained["variables"], *retained["groups"], *retained["types"]}
    inside = tuple(names.join(group, "") for group in groups)
    return tuple(one for one in checked.omitted if one.path in owners or one.path.startswith(inside))


def set_growth(checked: Checked, unlimited: Mapping[str, bool]) -> Checked:
    """Return the dataset with dimensions by FQN that are unlimited or fixed, of the same lengths."""
    changed = {fqn: checked.dimensions[fqn].model_copy(update={"unlimited": grows}) for fqn, grows in unlimited.items()}
    with building():
        return _make_subset(checked, _everything(checked), SectionChanges(changed))


def restrict(checked: Checked, variables: Iterable[str], groups: list[str], homes: Iterable[str] = ()) -> Checked:
    """Return these variables and groups by FQN; drop other groups' attributes; retain `homes` even if empty."""
    retained = _close_over(variables, groups, checked)
    checked = checked._replace(omitted=_select_omissions(checked, retained, groups))
    for path in homes:
        while path not in retained["groups"]:
            retained["groups"].add(path)
            path = names.parent(path)
    with building():
        reduced = _make_subset(checked, retained, SectionChanges())
        tops = [names.split(path) for path in groups]

        def bare(path: str, group: Group) -> dict[str, Any]:
            """Remove the attributes of a group outside of `tops`."""
            here = names.split(path)
            return {} if any(here[: len(top)] == top for top in tops) else {"attributes": ()}

        return remaining(reduced, map_groups(reduced.dataset, bare))


_Kept = dict[str, set[str]]
"""Retained FQNs by kind: groups, types, dimensions, variables."""


def _everything(checked: Checked) -> _Kept:
    return {kind: set(getattr(checked, kind)) for kind in ("groups", "types", "dimensions", "variables")}


def _close_over(variables: Iterable[str], groups: Iterable[str], checked: Checked) -> _Kept:
    """Return the variables and groups, and everything that they use or that encloses them."""
    retained: _Kept = {"groups": set(), "types": set(), "dimensions": set(), "variables": set()}

    def home(path: str) -> None:
        """Retain the enclosing groups."""
        while path not in retained["groups"]:
            retained["groups"].add(path)
            path = names.parent(path) if path != "/" else path

    for top in groups:
        inside = "/" if top == "/" else top + "/"
        for path in checked.groups:
            if path == top or path.startswith(inside):
                home(path)
        for kind in ("types", "dimensions", "variables"):
            retained[kind].update(path for path in getattr(checked, kind) if path.startswith(inside))
    retained["variables"].update(variables)
    for path in retained["variables"]:
        home(names.parent(path))
        retained["dimensions"].update(
            reference for reference in checked.variables[path].dimensions if isinstance(reference, str)
        )
    home("/")
    for path in retained["dimensions"]:
        home(names.parent(path))
    waiting = [*retained["types"], *(checked.variables[path].type for path in retained["variables"])]
    for path in retained["variables"]:
        waiting += _types_of(checked.variables[path].attributes)
    seen: set[str] = set()
    described: set[str] = set()
    while waiting or described != retained["groups"]:
        # Attributes of groups may be of user types, which lie in further groups.
        for path in retained["groups"] - described:
            described.add(path)
            waiting += _types_of(checked.groups[path].attributes)
        while waiting:
            name = waiting.pop()
            if name in ATOMIC or name in seen:
                continue
            seen.add(name)
            retained["types"].add(name)
            home(names.parent(name))
            waiting += list_parts(checked.types[name])
    return retained


def _types_of(attributes: tuple[Attribute, ...]) -> list[str]:
    """Return the types of attribute values, without their parts."""
    return [attribute.value.type for attribute in attributes]


def _make_subset(checked: Checked, retained: _Kept, cuts: SectionChanges) -> Checked:
    """Return the dataset of retained items with the cuts applied."""
    subset = resize(checked, _cut_group("/", checked.dataset, retained, cuts, checked))
    parts = dict(subset.parts)
    for path, ranges in cuts.ranges.items():
        if path in parts:
            parts[path] = slice_parts(subset.variables[path].type, ranges, parts[path], checked.types)
    return _with_lengths(subset._replace(parts=parts))


def _with_lengths(checked: Checked) -> Checked:
    """Return the dataset with the chunk lengths of parts of rectilinear grids, which begin anywhere."""
    storage = {}
    for path, parts in checked.parts.items():
        declared = checked.variables[path].storage
        if "" in parts and varies(declared.chunks or ()):
            lengths = parts[""].layout.chunks
            chunks = largest(lengths) if parts[""].stored is None else lengths
            storage[path] = declared.model_copy(update={"chunks": chunks})
    if not storage:
        return checked
    with building():
        return with_storage(checked, storage)


def _cut_group(path: str, group: G, retained: _Kept, cuts: SectionChanges, checked: Checked) -> G:
    """Return a group with the retained nodes, by kind and FQN, cut to the sections."""
    variables = tuple(
        _cut_variable(fqn, variable, cuts, checked)
        for variable in group.variables
        if (fqn := names.join(path, variable.name)) in retained["variables"]
    )
    groups = tuple(
        _cut_group(fqn, child, retained, cuts, checked)
        for child in group.groups
        if (fqn := names.join(path, child.name)) in retained["groups"]
    )
    return group.model_copy(
        update={
            "types": tuple(node for node in group.types if names.join(path, node.name) in retained["types"]),
            "dimensions": tuple(_cut_dimensions(path, group, retained, cuts)),
            "variables": variables,
            "groups": groups,
        }
    )


def _cut_dimensions(path: str, group: Group, retained: _Kept, cuts: SectionChanges) -> Iterator[Dimension]:
    """Yield a group's retained dimensions, each followed by those made of it."""
    for dimension in group.dimensions:
        fqn = names.join(path, dimension.name)
        if fqn in retained["dimensions"]:
            yield cuts.dimensions.get(fqn, dimension)
            yield from (cuts.dimensions[part] for part in cuts.made.get(fqn, ()))


def _cut_variable(fqn: str, variable: Variable, cuts: SectionChanges, checked: Checked) -> Variable:
    """Return the variable with its new dimensions, and chunks not longer than these."""
    references = cuts.references.get(fqn, variable.dimensions)
    storage = variable.storage
    if storage.chunks is not None:
        chunks = []
        for length, reference in zip(storage.chunks, references, strict=True):
            node = Dimension(name="_", size=reference) if isinstance(reference, int) else cuts.dimensions.get(reference)
            node = node or checked.dimensions[str(reference)]
            chunks.append(length if node.unlimited else within(length, node.size))
        if tuple(chunks) != storage.chunks:
            storage = storage.model_copy(update={"chunks": tuple(chunks)})
    if storage.layout not in (None, "chunked") and any(
        one in cuts.dimensions and cuts.dimensions[one].unlimited for one in references if isinstance(one, str)
    ):
        storage = storage.model_copy(update={"layout": None})  # what grows is stored in chunks
    if references == variable.dimensions and storage is variable.storage:
        return variable
    return variable.model_copy(update={"dimensions": references, "storage": storage})
