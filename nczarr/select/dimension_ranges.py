"""Cuts of dimensions by indices, and by values of their coordinates.

A coordinate is a variable of one dimension; where several fit a name, the
coordinate variable (of the dimension's name, in its group) counts. Only
coordinates are read, in blocks, as far as they are stored.

Reports: unmatched-name, unmatched-selection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nczarr import names
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Span
from nczarr.options import CoordinateRange, DimensionRange, Subset
from nczarr.select.coordinate_values import indices_of
from nczarr.select.names import dimensions_named, hint, meant


def dimension_ranges(choice: Subset, dimensions: Iterable[str], checked: Checked, report: Report) -> dict[str, range]:
    """Return the selected indices by FQN of a dimension, one of `dimensions`. Raises OSError, CompileError."""
    selected: dict[str, range] = {}
    available = {fqn: checked.dimensions[fqn] for fqn in dimensions}

    def put(fqn: str, indices: range | None, span: Span) -> None:
        if fqn in selected:
            report.error("unmatched-selection", f"the dimension `{fqn}` is cut twice", span)
        elif indices is not None:
            selected[fqn] = indices

    for cut in choice.dimensions:
        for fqn in dimensions_named(cut.name, available, cut.span, report):
            put(fqn, _indices(cut, fqn, available[fqn].size, report), cut.span)
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
    matches = meant(values.name, checked.variables)
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
    elif meant(values.name, available):
        text = f"the dimension `{values.name}` has no coordinate variable"
        helps = [f"cut it by indices: `--dim {values.name}=0:9`"]
        report.error("unmatched-selection", text, values.span, helps=helps)
    else:
        text = f"the dataset has no coordinate `{values.name}`"
        report.error("unmatched-name", text, values.span, helps=hint(values.name, available))
    return []
