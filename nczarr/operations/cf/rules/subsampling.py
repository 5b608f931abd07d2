"""8.3 Lossy compression by coordinate subsampling, and Appendix J.

The conformance document calls the attributes `tie_points` and
`tie_point_dimensions`; the text, whose names these rules use,
`coordinate_interpolation` and `tie_point_mapping`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import np
from nczarr.names import suggest
from nczarr.operations.cf.breaches import find_missing, find_missing_dimensions
from nczarr.operations.cf.references import parse_pairs
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.values import has_values, read_numbers
from nczarr.operations.cf.view import INTEGERS, CFDataset, CFVariable

METHODS = ("linear", "bi_linear", "quadratic", "quadratic_latitude_longitude", "bi_quadratic_latitude_longitude")


_GROUP = re.compile(r"\s*((?:[^\s:]+:\s+)+)([^\s:]+)(?=\s|$)")
_MAPPING = re.compile(r"\s*([^\s:]+):\s+([^\s:]+)\s+([^\s:]+)(?!:)(?:\s+([^\s:]+)(?!\S))?(?=\s|$)")


def _parse(pattern: re.Pattern[str], text: str) -> list[tuple[str, ...]] | None:
    """Return the groups of repeated matches that make up a text; None for another form."""
    position, matches, stripped = 0, [], text.strip()
    while position < len(stripped):
        match = pattern.match(stripped, position)
        if match is None:
            return None
        matches.append(tuple(group or "" for group in match.groups()))
        position = match.end()
    return matches or None


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find tie points and interpolations that are incomplete."""
    for variable in dataset.variables.values():
        if "coordinate_interpolation" in variable.attributes:
            yield from _find_ties(dataset, variable)
        if {"interpolation_name", "interpolation_description", "tie_point_mapping"} & variable.attributes.keys():
            yield from _find_interpolation(dataset, variable)
        if "bounds_tie_points" in variable.attributes:
            node, name = variable.attributes["bounds_tie_points"], variable.text("bounds_tie_points")
            yield from find_missing(dataset, variable, "bounds_tie_points", [name])
            other = dataset.resolve(name, variable.group)
            if other is not None and not (other.is_numeric and other.dimensions == variable.dimensions):
                yield Breach("bounds", f"`{other.path}` has not the dimensions of `{variable.path}`", node)
            if other is not None and {"_FillValue", "missing_value"} & other.attributes.keys():
                yield Breach("bounds", f"the bounds tie points `{other.path}` have a fill value", other.node)


def _find_ties(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["coordinate_interpolation"]
    groups = _parse(_GROUP, variable.text("coordinate_interpolation"))
    if groups is None:
        yield Breach("form", f"`coordinate_interpolation` of `{variable.path}` has no valid form", node)
        return
    for ties, name in groups:
        words = [word.rstrip(":") for word in ties.split()]
        yield from find_missing(dataset, variable, "coordinate_interpolation", (*words, name))
        interpolation = dataset.resolve(name, variable.group)
        if interpolation is None:
            continue
        for interpolated, _, subsampled, _ in _parse(_MAPPING, interpolation.text("tie_point_mapping")) or ():
            for word in words:
                tie = dataset.resolve(word, variable.group)
                axes = [] if tie is None else [dataset.label(axis) for axis in tie.dimensions]
                if tie is not None and (interpolated in axes or subsampled not in axes):
                    what = f"`{tie.path}` has not the subsampled dimension `{subsampled}`"
                    yield Breach("dimensions", what, node, word)


def _find_interpolation(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    path, name = variable.path, variable.text("interpolation_name")
    if bool(name) == bool(variable.text("interpolation_description")) or (name and name not in METHODS):
        what = f"`interpolation_name` of `{path}` is `{name}`" if name else f"`{path}` has no `interpolation_name`"
        yield Breach("method", what, variable.attributes.get("interpolation_name", variable.node), "",
                     tuple(suggest(name, METHODS)))  # fmt: skip
    if variable.text("computational_precision") not in ("32", "64"):
        node = variable.attributes.get("computational_precision", variable.node)
        yield Breach("precision", f"`{path}` has no valid `computational_precision`", node)
    if variable.dimensions:
        yield Breach("scalar", f"the interpolation variable `{path}` has dimensions", variable.node)
    pairs = parse_pairs(variable.text("interpolation_parameters")) or []
    yield from find_missing(dataset, variable, "interpolation_parameters", [other for _, other in pairs])
    mappings = _parse(_MAPPING, variable.text("tie_point_mapping"))
    if mappings is None:
        node = variable.attributes.get("tie_point_mapping", variable.node)
        yield Breach("mapping", f"`{path}` has no valid `tie_point_mapping`", node)
        return
    for interpolated, name, subsampled, subarea in mappings:
        axes = [axis for axis in (interpolated, subsampled, subarea) if axis]
        yield from find_missing_dimensions(dataset, variable, "tie_point_mapping", axes)
        yield from find_missing(dataset, variable, "tie_point_mapping", [name])
        index = dataset.resolve(name, variable.group)
        if index is not None:
            yield from _find_index(dataset, variable, index, subsampled, subarea)


def _find_index(
    dataset: CFDataset, variable: CFVariable, index: CFVariable, subsampled: str, subarea: str
) -> Iterator[Breach]:
    node = variable.attributes["tie_point_mapping"]
    if index.type not in INTEGERS or [dataset.label(axis) for axis in index.dimensions] != [subsampled]:
        what = f"`{index.path}` is no list of integers of the dimension `{subsampled}`"
        yield Breach("index", what, node, index.name)
        return
    if not has_values(dataset, index):
        return
    steps = np.diff(read_numbers(dataset, index)[0].astype("i8"), prepend=0)
    close = steps[1:] <= 1
    if steps[0] != 0 or (steps < 0).any() or (close[1:] & close[:-1]).any():
        yield Breach("values", f"the indices of `{index.path}` do not begin with 0 and increase", node, index.name)
        return
    axis = dataset.resolve_dimension(subarea, variable.group) if subarea else None
    expected = len(steps) - 1 - int(close.sum())
    if axis is not None and dataset.length(axis) != expected:
        what = f"the dimension `{subarea}` has {dataset.length(axis)} cells, not {expected}"
        yield Breach("areas", what, node, subarea)


TOPIC = Topic(load_rules("subsampling"), find)
