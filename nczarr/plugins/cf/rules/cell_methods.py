"""7.3 to 7.5: methods of cells, and Appendix E."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nczarr.ast.dataset import MISSING_MARKS
from nczarr.diagnostics.report import suggest
from nczarr.plugins.cf.coordinates import is_time_coordinate, is_time_reference
from nczarr.plugins.cf.references import match_all
from nczarr.plugins.cf.rule import Breach, find_missing, find_no_text, load_table
from nczarr.plugins.cf.standard_name_table import area_types, find_standard_name
from nczarr.plugins.cf.view import CFDataset, CFVariable

# ---- 7.3 Cell methods, and Appendix E ---------------------------------------------------------------------------
OLD_METHODS: list[str] = load_table("cell_methods")["methods"]
METHODS = (*OLD_METHODS, *load_table("cell_methods")["later_methods"])
"""Methods since CF 1.7; `anomaly_wrt` is one since 1.13."""


class Method(NamedTuple):
    """One entry of `cell_methods`."""

    names: tuple[str, ...]
    """Names before the method."""
    method: str
    """Name of the method."""
    norm: str
    """Name behind `anomaly_wrt`; else empty."""
    types: tuple[str, ...]
    """Words behind `where` and `over`."""
    is_climatological: bool
    """True with `within` or `over` days or years."""
    comment: str
    """Text in parentheses."""


_ENTRY = re.compile(
    r"\s*(?P<names>(?:[^\s:()]+:\s+)+)(?P<method>[^\s:()]+)(?:(?<=anomaly_wrt)\s+(?P<norm>[^\s:()]+)(?=\s|$))?"
    r"(?:\s+where\s+(?P<where>[^\s:()]+)(?:\s+over\s+(?!(?:days|years)\b)(?P<over>[^\s:()]+)(?!:))?)?"
    r"(?P<climatology>(?:\s+(?:within|over)\s+(?:days|years))*)(?:\s*\((?P<comment>[^()]*(?:\([^()]*\)[^()]*)*)\))?"
    r"(?=\s|$)"
)
_INTERVAL = re.compile(r"interval:\s*(?P<value>\S+)\s+(?P<unit>\S.*?)\s*(?=interval:|comment:|$)")


def parse_methods(text: str) -> list[Method] | None:
    """Return the entries of `cell_methods`; None for another form.

    Examples
    --------
    >>> parse_methods("time: lat: mean where land (interval: 1 hour)")[0].names
    ('time', 'lat')
    >>> parse_methods("mean") is None
    True
    """
    methods = []
    for match in match_all(_ENTRY, text) or ():
        types = tuple(word for word in (match["where"], match["over"]) if word)
        words = tuple(word.rstrip(":") for word in match["names"].split())
        is_climatological = bool(match["climatology"])
        methods.append(
            Method(words, match["method"], match["norm"] or "", types, is_climatological, match["comment"] or "")
        )
    return methods or None


def check_cell_methods(dataset: CFDataset) -> Iterator[Breach]:
    """Find entries of an invalid form, and unknown names and methods in them."""
    allowed = OLD_METHODS if dataset.version < (1, 7) else [*METHODS, *["anomaly_wrt"] * (dataset.version >= (1, 13))]
    for variable, node in dataset.having("cell_methods"):
        methods = parse_methods(variable.text("cell_methods"))
        if methods is None:
            yield Breach("form", f"`cell_methods` of `{variable.path}` has no form `name: method`", node)
            continue
        counted: dict[str, Method] = {}
        for method in methods:
            if method.method not in allowed:
                what = f"`cell_methods` of `{variable.path}` has the method `{method.method}`"
                yield Breach("method", what, node, method.method, tuple(suggest(method.method, allowed)))
            yield from _find_cell_methods_names(dataset, variable, method, counted)
            if method.is_climatological:
                yield from _find_climatology(dataset, variable, method)
            yield from _check_area_types(dataset, variable, method)
            yield from _check_intervals(dataset, variable, method)


def _coordinates(dataset: CFDataset, variable: CFVariable) -> dict[str, CFVariable | None]:
    """Return the names that entries may have, with their coordinates."""
    allowed: dict[str, CFVariable | None] = {}
    for axis in (*variable.dimensions, *(dataset.find_spanned(variable) - set(variable.dimensions))):
        allowed[dataset.label(axis)] = dataset.coordinate_of(axis, variable.group)
    for name in variable.text("coordinates").split():
        other = dataset.resolve(name, variable.group)
        if other is not None and not other.axes:
            allowed[name] = other
    return allowed


def _find_cell_methods_names(
    dataset: CFDataset, variable: CFVariable, method: Method, counted: dict[str, Method]
) -> Iterator[Breach]:
    node, allowed = variable.attributes["cell_methods"], _coordinates(dataset, variable)
    for name in method.names:
        if name not in allowed and name != "area" and find_standard_name(name) is None:
            what = (
                f"`cell_methods` of `{variable.path}` names `{name}`, which is no dimension or scalar coordinate of it"
            )
            yield Breach("name", what, node, name, tuple(suggest(name, [*allowed, "area"])))
        before = counted.setdefault(name, method)
        is_repeatable = before.is_climatological or method.is_climatological or method.norm
        if before is not method and name in allowed and not is_repeatable:
            yield Breach("once", f"`cell_methods` of `{variable.path}` has `{name}` twice", node, name)
        coordinate = allowed.get(name)
        if method.method in ("point", "anomaly_wrt") or coordinate is None or not coordinate.is_numeric:
            continue
        if not {"bounds", "climatology"} & coordinate.attributes.keys():
            what = f"`{coordinate.path}` has no bounds, and `cell_methods` of `{variable.path}` its `{method.method}`"
            yield Breach("bounds", what, node, name)


def _find_climatology(dataset: CFDataset, variable: CFVariable, method: Method) -> Iterator[Breach]:
    coordinates = _coordinates(dataset, variable)
    named = [coordinate for name in method.names if (coordinate := coordinates.get(name)) is not None]
    if named and not any("climatology" in coordinate.attributes for coordinate in named):
        what = f"`cell_methods` of `{variable.path}` has `within` or `over`, and `{named[0].path}` no `climatology`"
        yield Breach("climatology", what, variable.attributes["cell_methods"], named[0].name)


def _check_area_types(dataset: CFDataset, variable: CFVariable, method: Method) -> Iterator[Breach]:
    for word in method.types:
        other = dataset.resolve(word, variable.group)
        if other is not None and other.standard_name == "area_type":
            if word in method.types[1:] and not set(other.shape[: len(other.axes)]) <= {1}:
                what = f"`{word}` behind `over` in `cell_methods` of `{variable.path}` has several values"
                yield Breach("type", what, variable.attributes["cell_methods"], word)
            continue
        if word not in area_types():
            what = f"`{word}` in `cell_methods` of `{variable.path}` is not an area type"
            yield Breach("type", what, variable.attributes["cell_methods"], word, tuple(suggest(word, area_types())))


def _check_intervals(dataset: CFDataset, variable: CFVariable, method: Method) -> Iterator[Breach]:
    node, comment = variable.attributes["cell_methods"], method.comment
    intervals = list(_INTERVAL.finditer(comment))
    if comment.count("interval:") not in (0, 1, len(method.names)):
        what = f"`cell_methods` of `{variable.path}` has {len(intervals)} intervals for {len(method.names)} names"
        yield Breach("interval", what, node)
    if "interval:" in comment and not intervals:
        yield Breach("interval", f"`({comment})` in `cell_methods` of `{variable.path}` has no interval", node)
    for match in intervals:
        try:
            float(match["value"])
        except ValueError:
            what = f"the interval `{match['value']}` in `cell_methods` of `{variable.path}` is not a number"
            yield Breach("interval", what, node, match["value"])
            continue
        if dataset.units is not None and not dataset.units.is_valid(match["unit"]):
            what = f"UDUNITS does not know the unit `{match['unit']}` in `cell_methods` of `{variable.path}`"
            yield Breach("interval", what, node, match["unit"])


# ---- 7.4 Climatological statistics ------------------------------------------------------------------------------
def check_climatology(dataset: CFDataset) -> Iterator[Breach]:
    """Find climatological bounds that do not suit their time coordinate."""
    for variable, node in dataset.having("climatology"):
        text = variable.text("climatology")
        if not (is_time_coordinate(dataset, variable) or (variable.is_coordinate and is_time_reference(variable))):
            yield Breach("place", f"`{variable.path}` has `climatology`, and is not a time coordinate", node)
        yield from find_no_text(variable, "climatology")
        yield from find_missing(dataset, variable, "climatology", [text] if text else [])
        bounds = dataset.resolve(text, variable.group) if text else None
        if bounds is not None:
            yield from _check_climatology_bounds(variable, bounds)


def _check_climatology_bounds(variable: CFVariable, bounds: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["climatology"]
    if not bounds.is_numeric:
        yield Breach("numeric", f"the bounds `{bounds.path}` have the type `{bounds.type}`", node)
    if bounds.dimensions[:-1] != variable.dimensions or bounds.shape[-1:] != (2,):
        what = f"the dimensions of `{bounds.path}` are not those of `{variable.path}` and one of length 2"
        yield Breach("dimensions", what, node)
    for name in ("units", "standard_name", "calendar"):
        if name in bounds.attributes and bounds.value(name) != variable.value(name):
            what = f"`{name}` of `{bounds.path}` is not that of `{variable.path}`"
            yield Breach("agree", what, bounds.attributes[name])
    for name in MISSING_MARKS:
        if name in bounds.attributes:
            yield Breach("fill", f"the bounds `{bounds.path}` have `{name}`", bounds.attributes[name])


# ---- 7.5 Anomaly data -------------------------------------------------------------------------------------------
def check_anomaly(dataset: CFDataset) -> Iterator[Breach]:
    """Find anomalies whose norm does not suit them."""
    for variable in dataset.variables.values():
        if "anomaly_wrt" in variable.text("cell_methods"):
            for method in parse_methods(variable.text("cell_methods")) or ():
                if method.method == "anomaly_wrt":
                    yield from _check_norm(dataset, variable, method)


def _check_norm(dataset: CFDataset, variable: CFVariable, method: Method) -> Iterator[Breach]:
    """Find faults of the variable that `norm:` names: it has the anomaly's other dimensions, not its coordinates."""
    node, norm = variable.attributes["cell_methods"], dataset.resolve(method.norm, variable.group)
    if norm is None or norm.path not in {other.path for other in dataset.list_named(variable, "ancillary_variables")}:
        what = f"the norm `{method.norm}` of `{variable.path}` is not one of its `ancillary_variables`"
        yield Breach("norm", what, node, method.norm)
        return
    coordinates = {other.name: other for other in dataset.coordinates_of(variable)}
    anomalous = [coordinates[name] for name in method.names if name in coordinates]
    yield from _find_anomaly_names(variable, norm, anomalous)
    mine = {other.path for other in dataset.coordinates_of(norm)}
    axes = {axis for other in anomalous for axis in other.dimensions}
    shared = [other for other in anomalous if other.path in mine]
    if shared or axes & set(norm.dimensions):
        shown = shared[0].path if shared else method.names[0]
        yield Breach("coordinates", f"the norm `{norm.path}` has the coordinate `{shown}` of the anomaly", node)
        return
    others = set(variable.dimensions) - axes
    own_axes = {axis for axis in norm.dimensions if dataset.length(axis) != 1}
    if any("climatology" in other.attributes for other in dataset.coordinates_of(norm)):
        return  # a norm along a climatology, whose coordinate has `select`
    if method.names != ("area",) and own_axes & others and not others <= set(norm.dimensions):
        yield Breach("dimensions", f"the norm `{norm.path}` has not all other dimensions of `{variable.path}`", node)
        return
    if own_axes - others:
        yield Breach("dimensions", f"the norm `{norm.path}` has dimensions that `{variable.path}` has not", node)
        return
    yield from _find_coordinates(dataset, variable, norm, anomalous)


def _find_anomaly_names(variable: CFVariable, norm: CFVariable, anomalous: list[CFVariable]) -> Iterator[Breach]:
    for other in anomalous:
        if not other.standard_name:
            yield Breach("named", f"`{other.path}` has no standard name", other.node)
    first, second = variable.standard_name, norm.standard_name
    for owner, name in ((variable, first), (norm, second)):
        if name.endswith("_anomaly"):
            what = f"the standard name of `{owner.path}`, `{name}`, is that of an anomaly"
            yield Breach("standard-name", what, owner.attributes["standard_name"])
    if first and second and first != second:
        what = f"`{variable.path}` is `{first}`, and its norm `{norm.path}` is `{second}`"
        yield Breach("standard-name", what, norm.attributes["standard_name"])


def _find_coordinates(
    dataset: CFDataset, variable: CFVariable, norm: CFVariable, anomalous: list[CFVariable]
) -> Iterator[Breach]:
    """Compare the coordinates of one value, and the cell methods, of a norm with those of the anomaly."""
    single = [other for other in dataset.coordinates_of(norm) if set(other.shape) <= {1}]
    methods = parse_methods(norm.text("cell_methods")) or []
    for other in anomalous:
        same = [one for one in single if one.standard_name == other.standard_name]
        if not same or not {"bounds", "climatology"} & same[0].attributes.keys():
            what = f"the norm `{norm.path}` has no coordinate `{other.standard_name}` of one value with bounds"
            yield Breach("norm-coordinates", what, norm.node)
        elif not any({same[0].name, same[0].standard_name} & set(method.names) for method in methods):
            what = f"`cell_methods` of the norm `{norm.path}` does not name `{same[0].name}`"
            yield Breach("norm-methods", what, norm.attributes.get("cell_methods", norm.node))
