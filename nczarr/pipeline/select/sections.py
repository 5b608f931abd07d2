"""Effect of variable sections on dimensions, and variables that belong to others.

A section gives its variable new lengths. A dimension is cut whole, and retains
its name, if all its variables agree: each has the same section there. Some
variables follow without a vote, unless they have a section themselves: the
coordinate variable (of the dimension's name, in its group), the variables that
it or the sectioned variable names as related (`CELLS`), and those that
these name in turn.

If the others disagree, the dimension is unchanged, and each section of it gets
its own fixed dimension, `time_2`. The warning split-dimension is reported,
because the coordinates stay with the old one.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from types import MappingProxyType
from typing import NamedTuple

from nczarr import names
from nczarr.ast import Dimension, DimensionRef, VlenType
from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.selection import Extents, Section
from nczarr.semantics.checked import Checked

CELLS = frozenset(("coordinates", "bounds", "climatology", "formula_terms", "cell_measures", "ancillary_variables"))
"""Attributes that name variables with a value for each cell."""

RELATED = CELLS | {
    *("grid_mapping", "geometry", "node_coordinates", "node_count", "part_node_count", "interior_ring", "nodes"),
    *("mesh", "node_coordinates", "edge_coordinates", "face_coordinates", "volume_coordinates"),
    *("edge_node_connectivity", "face_node_connectivity", "face_edge_connectivity", "face_face_connectivity"),
    *("edge_face_connectivity", "boundary_node_connectivity", "volume_node_connectivity", "quantization"),
}
"""Attributes that name variables without which a variable cannot be interpreted (CF and UGRID conventions)."""

_WITH_KEYS = frozenset(("grid_mapping",))
"""Attributes with a colon behind names of variables; in others it ends words that are no variables."""


def with_related(variables: Iterable[str], checked: Checked) -> list[str]:
    """Return variables, with the coordinate variables of their dimensions and those that they name, and so on."""
    waiting = list(variables)
    related = dict.fromkeys(waiting)
    while waiting:
        path = waiting.pop()
        axes = [axis for axis in checked.variables[path].dimensions if axis in checked.variables]
        for other in (*map(str, axes), *list_mentioned(checked, path, RELATED)):
            if other not in related:
                related[other] = None
                waiting.append(other)
    return list(related)


def list_mentioned(checked: Checked, path: str, attributes: Set[str]) -> Iterator[str]:
    """Yield the variables that these attributes name: in the group of `path`, else the nearest enclosing one."""
    for attribute in checked.variables[path].attributes:
        value = attribute.value
        if attribute.name not in attributes or value.type not in ("char", "string"):
            continue
        texts = [value.data] if isinstance(value.data, bytes) else value.data
        for word in b" ".join(text for text in texts if isinstance(text, bytes)).replace(b"\0", b" ").split():
            if attribute.name in _WITH_KEYS:
                word = word.removesuffix(b":")
            name, group = names.normal(word.decode("utf-8", "surrogateescape")), path
            while group != "/":
                group = names.parent(group)
                candidate = names.join(group, name)
                if candidate in checked.variables:
                    yield candidate
                    break


Ranges = tuple[range, ...]


class SectionChanges(NamedTuple):
    """Changes that sections make to a tree."""

    dimensions: Mapping[str, Dimension] = MappingProxyType({})
    """New dimensions by FQN, which replace old ones or follow the one that they were made of."""
    made: Mapping[str, list[str]] = MappingProxyType({})
    """Names of new dimensions by FQN of the old one."""
    references: Mapping[str, tuple[DimensionRef, ...]] = MappingProxyType({})
    """Dimensions of each changed variable by FQN."""
    ranges: Mapping[str, Ranges] = MappingProxyType({})
    """Selected indices of each changed variable by FQN."""


def ranges_of(sections: Iterable[tuple[str, Section]], checked: Checked, report: Report) -> dict[str, Ranges]:
    """Return the section indices by variable FQN. Reports sections that do not fit."""
    ranges_by_variable: dict[str, Ranges] = {}
    for fqn, section in sections:
        shape = checked.shapes[fqn]
        if fqn in ranges_by_variable:
            report.error("unmatched-section", f"`{fqn}` has two sections", section.span)
        ranges_by_variable[fqn] = tuple(map(range, shape))
        extents = _of_cells(section, fqn, checked)
        if extents is None:
            continue
        if len(extents) != len(shape):
            text = f"the section gives {len(extents)} extents; `{fqn}` has {len(shape)} dimensions"
            lengths = ", ".join(map(str, shape))
            helps = [f"their lengths are {lengths}; `:` selects a whole dimension"] if shape else ["leave them out"]
            report.error("unmatched-section", text, section.span, helps=helps)
            continue
        taken = []
        for extent, length, reference in zip(extents, shape, checked.variables[fqn].dimensions, strict=True):
            if extent is None:
                taken.append(range(length))
                continue
            taken.append(range(extent.first, extent.last + 1, extent.stride))
            if extent.last >= length:
                what = f"dimension `{reference}`" if isinstance(reference, str) else "the dimension"
                text = f"index {extent.last} is outside {what} of length {length}"
                helps = [f"the last index is {length - 1}"] if length else []
                report.error("unmatched-section", text, extent.span, helps=helps)
        ranges_by_variable[fqn] = tuple(taken)
    return ranges_by_variable


def _of_cells(section: Section, fqn: str, checked: Checked) -> Extents:
    """Return a section's extents without trailing `:` for ragged dimensions."""
    extents, rank = section.extents, len(checked.shapes[fqn])
    if extents is None:
        return None
    declared = checked.types.get(checked.variables[fqn].type)
    ragged = 0
    while isinstance(declared, VlenType):
        ragged, declared = ragged + 1, checked.types.get(declared.base)
    behind = extents[rank:]
    return extents[:rank] if 0 < len(behind) <= ragged and not any(behind) else extents


def _with_dimensions(
    variables: Iterable[str], sections: Mapping[str, Ranges], cut: Mapping[str, range], checked: Checked, report: Report
) -> dict[str, Ranges]:
    """Return the indices of these variables with the dimensions `cut`. Reports a section of a cut dimension."""
    ranges_by_variable = dict(sections)
    for fqn in variables:
        ranges = list(_ranges(fqn, sections, checked))
        for axis, reference in enumerate(checked.variables[fqn].dimensions):
            if not isinstance(reference, str) or reference not in cut:
                continue
            if ranges[axis] != range(checked.shapes[fqn][axis]):
                text = f"the section of `{fqn}` and another option cut the dimension `{reference}`"
                report.error("unmatched-section", text, helps=["write `:` for it in the section"])
            ranges[axis] = cut[reference]
        if any(reference in cut for reference in checked.variables[fqn].dimensions):
            ranges_by_variable[fqn] = tuple(ranges)
    return ranges_by_variable


def settle(
    variables: list[str], sections: Mapping[str, Ranges], checked: Checked, report: Report, cut: Mapping[str, range]
) -> SectionChanges:
    """Return the effect of sections, and of dimensions `cut` in all variables, on the dimensions of these variables."""
    followers = _followers(checked, sections)
    sections = _with_dimensions(variables, sections, cut, checked, report)
    opinions: dict[str, set[range]] = {}
    for fqn in variables:
        for reference, indices in zip(checked.variables[fqn].dimensions, _ranges(fqn, sections, checked), strict=True):
            if isinstance(reference, str) and (fqn, reference) not in followers:
                opinions.setdefault(reference, set()).add(indices)
    agreed = dict(cut)
    split: dict[str, dict[range, str]] = {}
    dimensions: dict[str, Dimension] = {
        fqn: checked.dimensions[fqn].model_copy(update={"size": len(indices)}) for fqn, indices in cut.items()
    }
    taken = {names.last(fqn) for fqn in (*checked.dimensions, *checked.variables)}
    for fqn, voted in opinions.items():
        whole = range(checked.dimensions[fqn].size)
        if len(voted) == 1:
            agreed[fqn] = next(iter(voted))
            if agreed[fqn] != whole:
                dimensions[fqn] = checked.dimensions[fqn].model_copy(update={"size": len(agreed[fqn])})
            continue
        agreed[fqn] = whole
        for indices in sorted(voted - {whole}, key=lambda votes: (votes.start, len(votes), votes.step)):
            name = names.free(checked.dimensions[fqn].name, taken.__contains__)
            taken.add(name)
            fqn_of_part = names.join(names.parent(fqn), name)
            split.setdefault(fqn, {})[indices] = fqn_of_part
            dimensions[fqn_of_part] = Dimension(name=name, size=len(indices))
    references: dict[str, tuple[DimensionRef, ...]] = {}
    ranges: dict[str, Ranges] = {}
    for fqn in variables:
        new: list[DimensionRef] = []
        retained: list[range] = []
        for reference, indices in zip(checked.variables[fqn].dimensions, _ranges(fqn, sections, checked), strict=True):
            if (fqn, reference) in followers:
                indices = agreed.get(str(reference), indices)
            own_name = split.get(str(reference), {}).get(indices)
            new.append(len(indices) if isinstance(reference, int) else own_name or reference)
            retained.append(indices)
        if tuple(retained) != tuple(map(range, checked.shapes[fqn])):
            references[fqn], ranges[fqn] = tuple(new), tuple(retained)
    _warn_of_split_dimensions(split, dimensions, references, checked, report)
    return SectionChanges(dimensions, {fqn: list(parts.values()) for fqn, parts in split.items()}, references, ranges)


def _ranges(fqn: str, sections: Mapping[str, Ranges], checked: Checked) -> Ranges:
    return sections.get(fqn) or tuple(map(range, checked.shapes[fqn]))


def _followers(checked: Checked, sections: Mapping[str, Ranges]) -> set[tuple[str, str]]:
    """Return (variable FQN, dimension FQN) pairs of variables that follow without a vote."""
    pending = [(fqn, fqn) for fqn in checked.dimensions if fqn in checked.variables]
    pending += [(fqn, str(reference)) for fqn in sections for reference in checked.variables[fqn].dimensions]
    pairs: set[tuple[str, str]] = set()
    while pending:
        fqn, dimension = pending.pop()
        if (fqn, dimension) not in pairs and dimension in checked.variables[fqn].dimensions:
            pairs.add((fqn, dimension))
            pending += [(path, dimension) for path in list_mentioned(checked, fqn, CELLS)]
    return {(fqn, dimension) for fqn, dimension in pairs if fqn not in sections}


def _warn_of_split_dimensions(
    split: Mapping[str, Mapping[range, str]],
    dimensions: Mapping[str, Dimension],
    references: Mapping[str, tuple[DimensionRef, ...]],
    checked: Checked,
    report: Report,
) -> None:
    """Warn of dimensions that got a second one, because variables cut them differently."""
    for fqn, parts in split.items():
        for indices, part in parts.items():
            users = [path for path, variable_references in references.items() if part in variable_references]
            text = (
                f"{', '.join(f'`{path}`' for path in users)} {'has' if len(users) == 1 else 'have'} the dimension "
                f"`{part}` of length {dimensions[part].size} instead of `{fqn}`, "
                "which others use whole or cut otherwise"
            )
            helps = [
                "give the same section to all variables of the dimension, or choose variables with `--var`",
                f"`--dim {names.last(fqn)}={_indices_text(indices)}` cuts the dimension in all variables",
            ]
            report.warning("split-dimension", text, checked.variables[users[0]].span, helps=helps)


def _indices_text(indices: range) -> str:
    """Return indices in the syntax of `--dim`, the last one included."""
    if len(indices) == 1:
        return str(indices.start)
    step = f":{indices.step}" if indices.step > 1 else ""
    return f"{indices.start}:{indices[-1]}{step}"
