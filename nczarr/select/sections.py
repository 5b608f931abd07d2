"""Effect of variable sections on dimensions.

A section gives its variable new lengths. A dimension is cut whole, and retains
its name, if all its variables agree: each has the same section there. Some
variables follow without a vote, unless they have a section themselves: the
coordinate variable (of the dimension's name, in its group), the variables that
it or the sectioned variable names as related (`BELONGING`), and those that
these name in turn.

If the others disagree, the dimension is unchanged, and each section of it gets
its own fixed dimension, `time_2`. The warning split-dimension is reported,
because the coordinates stay with the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from nczarr import names
from nczarr.ast import Dimension, DimensionRef, VlenType
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.options import Extents, Section

Ranges = tuple[range, ...]

BELONGING = frozenset(
    ("coordinates", "bounds", "climatology", "formula_terms", "cell_measures", "ancillary_variables"),
)
"""Attributes that name related variables (CF conventions)."""


class Cuts(NamedTuple):
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
    found: dict[str, Ranges] = {}
    for fqn, section in sections:
        shape = checked.shapes[fqn]
        if fqn in found:
            report.error("unmatched-section", f"`{fqn}` has two sections", section.span)
        found[fqn] = tuple(map(range, shape))
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
        found[fqn] = tuple(taken)
    return found


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


def settle(variables: list[str], sections: Mapping[str, Ranges], checked: Checked, report: Report) -> Cuts:
    """Return the effect of sections on the dimensions of these variables."""
    followers = _followers(checked, sections)
    opinions: dict[str, set[range]] = {}
    for fqn in variables:
        for reference, indices in zip(checked.variables[fqn].dimensions, _ranges(fqn, sections, checked), strict=True):
            if isinstance(reference, str) and (fqn, reference) not in followers:
                opinions.setdefault(reference, set()).add(indices)
    agreed: dict[str, range] = {}
    split: dict[str, dict[range, str]] = {}
    dimensions: dict[str, Dimension] = {}
    taken = {names.last(fqn) for fqn in (*checked.dimensions, *checked.variables)}
    for fqn, given in opinions.items():
        whole = range(checked.dimensions[fqn].size)
        if len(given) == 1:
            agreed[fqn] = next(iter(given))
            if agreed[fqn] != whole:
                dimensions[fqn] = checked.dimensions[fqn].model_copy(update={"size": len(agreed[fqn])})
            continue
        agreed[fqn] = whole
        for indices in sorted(given - {whole}, key=lambda each: (each.start, len(each), each.step)):
            name = names.free(checked.dimensions[fqn].name, taken.__contains__)
            taken.add(name)
            own = names.join(names.parent(fqn), name)
            split.setdefault(fqn, {})[indices] = own
            dimensions[own] = Dimension(name=name, size=len(indices))
    references: dict[str, tuple[DimensionRef, ...]] = {}
    ranges: dict[str, Ranges] = {}
    for fqn in variables:
        new: list[DimensionRef] = []
        kept: list[range] = []
        for reference, indices in zip(checked.variables[fqn].dimensions, _ranges(fqn, sections, checked), strict=True):
            if (fqn, reference) in followers:
                indices = agreed.get(str(reference), indices)
            own_name = split.get(str(reference), {}).get(indices)
            new.append(len(indices) if isinstance(reference, int) else own_name or reference)
            kept.append(indices)
        if tuple(kept) != tuple(map(range, checked.shapes[fqn])):
            references[fqn], ranges[fqn] = tuple(new), tuple(kept)
    _warn(split, dimensions, references, checked, report)
    return Cuts(dimensions, {fqn: list(each.values()) for fqn, each in split.items()}, references, ranges)


def _ranges(fqn: str, sections: Mapping[str, Ranges], checked: Checked) -> Ranges:
    return sections.get(fqn) or tuple(map(range, checked.shapes[fqn]))


def _followers(checked: Checked, sections: Mapping[str, Ranges]) -> set[tuple[str, str]]:
    """Return (variable FQN, dimension FQN) pairs of variables that follow without a vote."""
    pending = [(fqn, fqn) for fqn in checked.dimensions if fqn in checked.variables]
    pending += [(fqn, str(reference)) for fqn in sections for reference in checked.variables[fqn].dimensions]
    found: set[tuple[str, str]] = set()
    while pending:
        fqn, dimension = pending.pop()
        if (fqn, dimension) not in found and dimension in checked.variables[fqn].dimensions:
            found.add((fqn, dimension))
            pending += [(path, dimension) for path in _mentioned(fqn, checked)]
    return {(fqn, dimension) for fqn, dimension in found if fqn not in sections}


def _mentioned(fqn: str, checked: Checked) -> Iterator[str]:
    """Yield the variables that a variable names as related: in its group, else the nearest enclosing one."""
    for attribute in checked.variables[fqn].attributes:
        value = attribute.value
        if attribute.name not in BELONGING or value.type not in ("char", "string"):
            continue
        texts = [value.data] if isinstance(value.data, bytes) else value.data
        for word in b" ".join(text for text in texts if isinstance(text, bytes)).replace(b"\0", b" ").split():
            name, group = names.normal(word.decode("utf-8", "surrogateescape")), fqn
            while group != "/":
                group = names.parent(group)
                path = names.join(group, name)
                if path in checked.variables:
                    yield path
                    break


def _warn(
    split: Mapping[str, Mapping[range, str]],
    dimensions: Mapping[str, Dimension],
    references: Mapping[str, tuple[DimensionRef, ...]],
    checked: Checked,
    report: Report,
) -> None:
    for fqn, each in split.items():
        for own in each.values():
            users = [path for path, given in references.items() if own in given]
            text = (
                f"{', '.join(f'`{path}`' for path in users)} {'has' if len(users) == 1 else 'have'} the dimension "
                f"`{own}` of length {dimensions[own].size} instead of `{fqn}`, which others use whole or cut otherwise"
            )
            helps = ["give the same section to all variables of the dimension, or choose variables with `--var`"]
            report.warning("split-dimension", text, checked.variables[users[0]].span, helps=helps)
