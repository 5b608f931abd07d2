"""7.3 Cell methods, and Appendix E."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nczarr.names import suggest
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.standard_name_table import area_types, find_standard_name
from nczarr.operations.cf.view import CFDataset, CFVariable

R = Rules("cf-cell-methods", "7.3")

OLD_METHODS = (
    "point",
    "sum",
    "maximum",
    "median",
    "mid_range",
    "minimum",
    "mean",
    "mode",
    "standard_deviation",
    "variance",
)
METHODS = (*OLD_METHODS, "maximum_absolute_value", "minimum_absolute_value", "mean_absolute_value",
           "mean_of_upper_decile", "range", "root_mean_square", "sum_of_squares")  # fmt: skip
"""Methods since CF 1.7; `anomaly_wrt` is one since 1.13."""

_V = (
    'dimensions: time = 2 ; n = 2 ; variables: double time(time) ; time:units = "days since 2000-01-01" ; '
    'time:bounds = "b" ; double b(time, n) ; float v(time) ; v:cell_methods = '
)

RULES = (
    R.must("form", "`cell_methods` is a text of entries `name: method`.", _V + '"«mean|time: mean»" ;',
        "write `name: method [where type [over type]] [within|over days|years] [(comment)]`"),
    R.must("name", "The names are dimensions, scalar coordinates, standard names, or `area`.", _V
        + '"«tiem|time»: mean" ;', "write a dimension of the variable"),
    R.must("method", "The methods are those of Appendix E.", _V + '"time: «average|mean»" ;',
        "write a method of Appendix E"),
    R.must("type",
        "The word behind `where` or `over` is an area type, or a variable with the standard name `area_type`.", _V
        + '"time: mean area: mean where «lnad|land»" ;', "write a word of the table of area types"),
    R.must("once", "Each dimension has one entry.", _V + '"time: mean« time: maximum|»" ;', "join the entries"),
    R.must("interval", "An interval in a comment is a number and a unit; an entry has no, one, or one for each name.",
        _V + '"time: mean (interval: «one hour|1 hour»)" ;',
        "write `(interval: 1 hour)`, and `comment:` before other text"),
    R.must("climatology", "Entries with `within` and `over` are about a climatological time.",
        _V.replace('time:bounds = "b"', 'time:«bounds|climatology» = "b"')
        + '"time: mean within days time: mean over days" ;',
        "write `climatology` instead of `bounds` at the time coordinate"),
    R.should("bounds", "Coordinates with a method other than `point` have bounds.",
        _V.replace('time:bounds = "b" ; ', '«|time:bounds = "b" ; »') + '"time: mean" ;',
        "write bounds of the coordinate"),
)  # fmt: skip


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
    stripped, position, methods = text.strip(), 0, []
    while position < len(stripped):
        match = _ENTRY.match(stripped, position)
        if match is None:
            return None
        types = tuple(word for word in (match["where"], match["over"]) if word)
        words = tuple(word.rstrip(":") for word in match["names"].split())
        is_climatological = bool(match["climatology"])
        methods.append(
            Method(words, match["method"], match["norm"] or "", types, is_climatological, match["comment"] or "")
        )
        position = match.end()
    return methods or None


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find entries of an invalid form, and unknown names and methods in them."""
    allowed = OLD_METHODS if dataset.version < (1, 7) else METHODS
    if dataset.version >= (1, 13):
        allowed = (*allowed, "anomaly_wrt")
    for variable in dataset.variables.values():
        node = variable.attributes.get("cell_methods")
        if node is None:
            continue
        methods = parse_methods(variable.text("cell_methods"))
        if methods is None:
            yield Breach("form", f"`cell_methods` of `{variable.path}` has no form `name: method`", node)
            continue
        counted: dict[str, Method] = {}
        for method in methods:
            if method.method not in allowed:
                what = f"`cell_methods` of `{variable.path}` has the method `{method.method}`"
                yield Breach("method", what, node, method.method, tuple(suggest(method.method, allowed)))
            yield from _find_names(dataset, variable, method, counted)
            if method.is_climatological:
                yield from _find_climatology(dataset, variable, method)
            yield from _find_types(dataset, variable, method)
            yield from _find_intervals(dataset, variable, method)


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


def _find_names(
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


def _find_types(dataset: CFDataset, variable: CFVariable, method: Method) -> Iterator[Breach]:
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


def _find_intervals(dataset: CFDataset, variable: CFVariable, method: Method) -> Iterator[Breach]:
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


TOPIC = Topic(RULES, find)
