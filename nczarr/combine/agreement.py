"""Differences of a source's model from the first: groups, types, dimensions, variables, attributes.

Attributes that change computed values or their interpretation must be equal; others may differ. All
attributes of variables named by `grid_mapping` must be equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nczarr import names
from nczarr.ast import Attribute, Variable
from nczarr.check.checked import Checked
from nczarr.combine.spec import Way
from nczarr.compare.difference import shown_constant
from nczarr.compare.model import definition

DECISIVE = frozenset({
    "_FillValue", "_Unsigned", "missing_value", "scale_factor", "add_offset", "valid_range", "valid_min", "valid_max",
    "units", "calendar", "month_lengths", "leap_year", "leap_month", "positive", "formula_terms", "flag_values",
    "flag_masks", "flag_meanings", "grid_mapping", "_Encoding", "compress", "dtype", "signedness",
})  # fmt: skip
"""Variable attributes that change what a reader computes."""


class Finding(NamedTuple):
    """One difference: its FQN, its subject, and the text of each side; None: absent. `decisive`: it is not allowed."""

    path: str
    what: str
    one: str | None
    other: str | None
    decisive: bool = True


def findings(one: Checked, other: Checked, way: Way) -> Iterator[Finding]:
    """Yield the differences; lengths of the way's dimensions may differ."""
    yield from _missing("group", one.groups, other.groups)
    yield from _missing("type", one.types, other.types)
    yield from _missing("dimension", one.dimensions, other.dimensions)
    yield from _missing("variable", one.variables, other.variables)
    for path, declared in one.types.items():
        if path in other.types and other.types[path] != declared:
            here, there = (definition(each.types[path], storage=True) for each in (one, other))
            yield Finding(path, "the definition", here, there)
    for path, dimension in one.dimensions.items():
        if path in other.dimensions and path not in way.dimensions and other.dimensions[path].size != dimension.size:
            yield Finding(path, "the length", str(dimension.size), str(other.dimensions[path].size))
    grids = _grid_mappings(one) | _grid_mappings(other)
    for path, variable in one.variables.items():
        if path in other.variables:
            yield from _variable(path, variable, other.variables[path], grids)
    for path, group in one.groups.items():
        if path in other.groups:
            yield from _attributes(path, group.attributes, other.groups[path].attributes, frozenset())


def _missing(what: str, one: Mapping[str, object], other: Mapping[str, object]) -> Iterator[Finding]:
    for here, there in ((one, other), (other, one)):
        for path in here:
            if path not in there:
                yield Finding(path, what, what if here is one else None, what if here is other else None)


def _variable(path: str, one: Variable, other: Variable, grids: set[str]) -> Iterator[Finding]:
    if one.type != other.type:
        yield Finding(path, "the type", one.type, other.type)
    if one.dimensions != other.dimensions:
        here, there = (f"({', '.join(map(str, each.dimensions))})" for each in (one, other))
        yield Finding(path, "the dimensions", here, there)
    decisive = None if names.last(path) in grids else DECISIVE
    yield from _attributes(path, one.attributes, other.attributes, decisive)


def _attributes(
    path: str, one: tuple[Attribute, ...], other: tuple[Attribute, ...], decisive: frozenset[str] | None
) -> Iterator[Finding]:
    """Yield differing attributes; all are decisive if `decisive` is None."""
    here, there = ({each.name: each.value for each in given} for given in (one, other))
    for name in dict.fromkeys([*here, *there]):
        first, second = here.get(name), there.get(name)
        if first == second:
            continue
        texts = [None if value is None else shown_constant(value) for value in (first, second)]
        if first is not None and second is not None and (first.type != second.type or texts[0] == texts[1]):
            pairs = zip(texts, (first, second), strict=True)
            texts = [f"{text} ({value.type}, {value.count})" for text, value in pairs]
        yield Finding(path, f"attribute `{name}`", texts[0], texts[1], decisive is None or name in decisive)


def _grid_mappings(checked: Checked) -> set[str]:
    """Return simple names in the variables' `grid_mapping` attributes."""
    found: set[str] = set()
    for variable in checked.variables.values():
        for attribute in variable.attributes:
            if attribute.name == "grid_mapping":
                data = attribute.value.data
                texts = [data] if isinstance(data, bytes) else [text for text in data if isinstance(text, bytes)]
                for text in texts:
                    found.update(text.decode("utf-8", "replace").replace(":", " ").split())
    return found
