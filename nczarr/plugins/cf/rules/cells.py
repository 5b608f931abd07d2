"""7.1 and 7.2: bounds and measures of cells."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import np
from nczarr.ast.dataset import MISSING_MARKS
from nczarr.diagnostics.report import suggest
from nczarr.pipeline.select.physical import LONGITUDE_UNITS
from nczarr.plugins.cf.coordinates import has_values, read_numbers
from nczarr.plugins.cf.references import parse_pairs
from nczarr.plugins.cf.rule import Breach, find_missing, find_no_text, name_dimensions
from nczarr.plugins.cf.view import CFDataset, CFVariable

# ---- 7.1 Cell boundaries ----------------------------------------------------------------------------------------
AGREEING = ("units", "standard_name", "axis", "positive", "calendar", "leap_month", "leap_year", "month_lengths")
INHERITABLE = (*AGREEING, "cf_role", "computed_standard_name", "long_name", "units_metadata")
"""Attributes that bounds take from their coordinate, marked BI in Appendix A."""


def check_bounds(dataset: CFDataset) -> Iterator[Breach]:
    """Find bounds that do not suit their coordinate."""
    for variable in dataset.variables.values():
        if "bounds" not in variable.attributes:
            continue
        text = variable.text("bounds")
        yield from find_no_text(variable, "bounds")
        if len(text.split()) > 1:
            yield Breach("text", f"`bounds` of `{variable.path}` has several words", variable.attributes["bounds"])
            continue
        yield from find_missing(dataset, variable, "bounds", text.split())
        bounds = dataset.resolve(text, variable.group) if text else None
        if bounds is not None:
            yield from _check_bounds_shape(dataset, variable, bounds)
            yield from _check_bounds_attributes(
                variable, bounds, INHERITABLE if dataset.version >= (1, 11) else AGREEING
            )
            yield from _find_formula(dataset, variable, bounds)


def _check_bounds_shape(dataset: CFDataset, variable: CFVariable, bounds: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["bounds"]
    if not bounds.is_numeric:  # 7.1 demands a numeric type
        yield Breach("numeric", f"the bounds `{bounds.path}` have the type `{bounds.type}`", node)
        return
    if bounds.dimensions[:-1] != variable.dimensions or not bounds.dimensions:
        ours, theirs = (name_dimensions(dataset, one.dimensions) for one in (variable, bounds))
        what = f"the bounds `{bounds.path}` have the dimensions {theirs}, and `{variable.path}` has {ours}"
        yield Breach("dimensions", what, node)
        return
    rank, vertices = len(variable.dimensions), bounds.shape[-1]
    if (variable.is_coordinate and vertices != 2) or (rank > 1 and vertices < 3):
        shown = "1 vertex" if vertices == 1 else f"{vertices} vertices"
        yield Breach("vertices", f"the bounds `{bounds.path}` have {shown}", node)
    if variable.is_numeric and has_values(dataset, variable) and has_values(dataset, bounds):
        yield from _check_bounds_values(dataset, variable, bounds)


def _check_bounds_values(dataset: CFDataset, variable: CFVariable, bounds: CFVariable) -> Iterator[Breach]:
    """Find bounds that are missing, do not enclose the value of their cell, or are in descending order."""
    node = variable.attributes["bounds"]
    (values, missing), (edges, absent) = read_numbers(dataset, variable), read_numbers(dataset, bounds)
    if absent.any() and (np.diff(absent.astype("i1"), axis=-1) < 0).any():  # 7.1: fill values at the end alone
        yield Breach("fill", f"the bounds `{bounds.path}` have fill values between vertices", node)
    if edges.dtype.kind != "f":
        edges = edges.astype("f8")
    edges = np.ma.masked_array(edges, absent)
    boundless = absent.all(axis=-1) & ~missing
    if boundless.any():
        cell = int(boundless.reshape(-1).argmax())
        yield Breach("enclose", f"the bounds of cell {cell} of `{variable.path}` are missing", node)
        return
    if missing.any():
        return
    lowest, highest = edges.min(axis=-1), edges.max(axis=-1)
    slack = np.ma.maximum(abs(lowest), abs(highest)) * 1e-6
    inside = (values >= lowest - slack) & (values <= highest + slack)
    if variable.standard_name == "longitude" or variable.text("units") in LONGITUDE_UNITS:
        half = 180.0 if variable.text("units").startswith("deg") else np.pi
        inside |= (highest - lowest > half) | (abs(values - lowest) > half)  # cells across the end of the circle
    if not inside.all():
        place = np.unravel_index(int((~inside).argmax()), inside.shape)
        shown = ", ".join(str(int(index)) for index in place)
        what = f"the value {values[place]:g} of `{variable.path}` at ({shown}) is not within its bounds"
        yield Breach("enclose", f"{what}, {lowest[place]:g} to {highest[place]:g}", node)
    if len(variable.dimensions) == 1 and len(values) > 1 and edges.shape[-1] == 2:
        ascends = values[-1] > values[0]
        wrong = edges[:, 0] > edges[:, 1] if ascends else edges[:, 0] < edges[:, 1]
        if wrong.any():
            direction = "increases" if ascends else "decreases"
            what = f"`{variable.path}` {direction}, and its bounds at index {int(wrong.argmax())} do not"
            yield Breach("order", what, node)


def _check_bounds_attributes(
    variable: CFVariable, bounds: CFVariable, inheritable: tuple[str, ...]
) -> Iterator[Breach]:
    """Find attributes of bounds that the variable lacks, has with another value, or repeats without need."""
    for name in inheritable:
        node = bounds.attributes.get(name)
        if node is None:
            continue
        ours = variable.attributes.get(name)
        if ours is None:
            yield Breach("inherit", f"`{bounds.path}` has `{name}`, and `{variable.path}` does not", node)
        elif bounds.value(name) != variable.value(name) or bounds.kind(name) != variable.kind(name):
            yield Breach("agree", f"`{name}` of `{bounds.path}` is not that of `{variable.path}`", node)
        else:
            # 7.1 recommends to leave them out
            yield Breach("repeat", f"`{bounds.path}` has the attribute `{name}` of `{variable.path}`", node)
    for name in MISSING_MARKS:
        if name in bounds.attributes:
            yield Breach("missing", f"the bounds `{bounds.path}` have `{name}`", bounds.attributes[name])


def _find_formula(dataset: CFDataset, variable: CFVariable, bounds: CFVariable) -> Iterator[Breach]:
    """Compare the terms of a parametric coordinate with those of its bounds."""
    if "formula_terms" not in variable.attributes:
        return
    node = bounds.attributes.get("formula_terms")
    if node is None:  # 7.1 demands it since CF 1.7
        what = f"the bounds `{bounds.path}` of a coordinate with `formula_terms` have no `formula_terms`"
        yield Breach("formula", what, variable.attributes["bounds"])
        return
    ours, theirs = (dict(parse_pairs(one.text("formula_terms")) or ()) for one in (variable, bounds))
    for term in sorted(ours.keys() ^ theirs.keys()):
        where = variable if term in ours else bounds
        yield Breach("formula", f"only `{where.path}` has the term `{term}`", node)
    for term in ours.keys() & theirs.keys():
        first, second = (dataset.resolve(one[term], variable.group) for one in (ours, theirs))
        is_vertical = first is not None and bool(set(first.dimensions) & set(variable.dimensions))
        if not is_vertical and ours[term] != theirs[term]:
            what = f"the term `{term}` of `{bounds.path}` is `{theirs[term]}`, and of `{variable.path}` `{ours[term]}`"
            yield Breach("formula", what, node, theirs[term])
        elif is_vertical and ours[term] == theirs[term]:
            what = f"the term `{term}` of `{bounds.path}` is `{ours[term]}`, which has no bounds"
            yield Breach("formula", what, node, theirs[term])
        elif is_vertical and first is not None and second is not None and second.dimensions[:-1] != first.dimensions:
            what = f"the dimensions of `{second.path}` are not those of `{first.path}` and the vertices"
            yield Breach("formula", what, node, theirs[term])


# ---- 7.2 Cell measures ------------------------------------------------------------------------------------------
UNITS = {"area": "m2", "volume": "m3"}  # 7.2 knows these two alone


def check_cell_measures(dataset: CFDataset) -> Iterator[Breach]:
    """Find measures that do not exist or do not suit their variable."""
    for variable, node in dataset.having("cell_measures"):
        pairs = parse_pairs(variable.text("cell_measures"))
        if pairs is None:
            yield from find_no_text(variable, "cell_measures", "form")
            yield Breach("form", f"`cell_measures` of `{variable.path}` has no form `measure: variable`", node)
            continue
        for measure, name in pairs:
            if measure not in UNITS:
                what = f"`cell_measures` of `{variable.path}` has the measure `{measure}`"
                yield Breach("measure", what, node, measure, tuple(suggest(measure, UNITS)))
            other = dataset.resolve(name, variable.group)
            if other is not None:
                yield from _find_measure(dataset, variable, measure, other)
            elif name not in dataset.external:  # 7.2: or a variable of `external_variables`
                what = f"`cell_measures` of `{variable.path}` names `{name}`, which does not exist"
                yield Breach("exists", what, node, name, dataset.suggest(name, variable.group))


def _find_measure(dataset: CFDataset, variable: CFVariable, measure: str, other: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["cell_measures"]
    if not set(other.dimensions) <= dataset.find_spanned(variable) and not dataset.is_domain(variable):
        ours, theirs = (name_dimensions(dataset, one.dimensions) for one in (variable, other))
        what = f"the measure `{other.path}` has the dimensions {theirs}, and `{variable.path}` has {ours}"
        yield Breach("dimensions", what, node, other.name)
    units, expected = other.text("units"), UNITS.get(measure)
    if expected is None:
        return
    if "units" not in other.attributes or (dataset.units and not dataset.units.is_equivalent(units, expected)):
        what = (
            f"the {measure} `{other.path}` of `{variable.path}` has {f'the units `{units}`' if units else 'no units'}"
        )
        yield Breach("units", what, node, other.name, (f"write units that are equivalent to `{expected}`",))
