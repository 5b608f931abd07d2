"""Queries of `griddap`: `sst[(2010-01-01):1:(last)][0:2:10][(-30)]`, variables with a range for each dimension.

    0  last  last-2            an index
    (12.5)  (last)  (last-10)  the cell whose coordinate is nearest
    (2010-01-01T12:00:00Z)     the cell whose time is nearest; a number is seconds since 1970
    (now-3days)                the time of the request, less a number of seconds, minutes, hours, days or weeks

Brackets hold one index, `start:stop` or `start:stride:stop`; empty ones are the whole dimension, and a variable without
brackets is whole. All variables of one query have the same ranges; coordinate variables have one range each. Bounds in
descending order are swapped.
"""

from __future__ import annotations

import re
import time
from typing import NamedTuple
from urllib.parse import unquote

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.values.time_units import GREGORIAN, date, parse_unit
from nczarr.diagnostics.report import hint
from nczarr.plugins.serve.answers import RefusedRequestError
from nczarr.plugins.serve.protocols.erddap.grid import Grid, GridAxis

_CLAUSE = re.compile(r"([^\[\],]+)((?:\[[^\[\]]{0,200}\])*)")
_BOUND = re.compile(r"\s*(?:\((?P<value>[^()]*)\)|(?P<index>[0-9]{1,18})|last(?:\s*-\s*(?P<back>[0-9]{1,18}))?)\s*")
_LAST = re.compile(r"last\s*(?:([+-])\s*([0-9.eE+-]+))?")  # `(last-10)` subtracts units, `last-10` indices
_NOW = re.compile(r"now\s*(?:([+-])\s*([0-9]{1,9})\s*([a-z]+))?")  # ERDDAP: `now-7days`

NO_RESULTS = "Your query produced no matching results."
"""Words of ERDDAP by which its clients know that a range has no values."""


class GridQuery(NamedTuple):
    """Requested part of a grid."""

    variables: tuple[str, ...]
    """Requested variables; empty if coordinates alone are requested."""
    coordinates: tuple[str, ...]
    """Requested coordinate variables; all dimensions, if variables are."""
    ranges: tuple[range, ...]
    """Indices of each dimension of the grid."""


def parse_query(grid: Grid, query: str) -> GridQuery:
    """Return the requested part: everything for an empty query. Raises RefusedRequestError.

    `query`: the part of the URL after `?`, percent-encoded. What follows `&.` belongs to graphs, and is ignored.
    """
    text, *commands = (part.strip() for part in unquote(query).split("&"))
    for command in commands:
        if not command.startswith("."):  # ERDDAP: `&.` begins a command for graphs
            shown = f"`&{names.readable(command[:40])}`: "
            raise _refuse(f"{shown}a grid is cut by brackets, such as `sst[(2010-01-01):(last)]`; `&` is for tables")
    whole = tuple(range(len(axis.values)) for axis in grid.axes)
    every_axis = tuple(axis.name for axis in grid.axes)
    if not text:
        return GridQuery(grid.variables, every_axis, whole)
    variables: list[str] = []
    coordinates: dict[str, range] = {}
    ranges: tuple[range, ...] | None = None
    for name, brackets in _split(text):
        number = grid.find_axis(name)
        if number is not None:
            if len(brackets) > 1:
                raise _refuse(f"`{name}` has one dimension, and {len(brackets)} brackets")
            axis = grid.axes[number]
            coordinates[name] = parse_range(brackets[0], axis) if brackets else whole[number]
            continue
        if name not in grid.variables:
            known = [*grid.variables, *every_axis]
            end = hint(name, known, f"it has {', '.join(known)}")
            raise _refuse(f"the grid has no variable `{names.readable(name)}`{end}", 404)
        if brackets and len(brackets) != len(grid.axes):
            raise _refuse(f"`{name}` has {len(grid.axes)} dimensions ({', '.join(every_axis)}): give brackets for each")
        pairs = zip(brackets, grid.axes, strict=True) if brackets else ()
        chosen = tuple(parse_range(bracket, axis) for bracket, axis in pairs) if brackets else whole
        if ranges is not None and chosen != ranges:
            raise _refuse("all variables of a query must have the same ranges")
        ranges = chosen
        variables.append(name)
    if ranges is not None and coordinates:
        raise _refuse("a query has variables, or coordinates alone: variables bring their coordinates")
    if ranges is not None:
        return GridQuery(tuple(dict.fromkeys(variables)), every_axis, ranges)
    cuts = (coordinates.get(axis.name, all_of) for axis, all_of in zip(grid.axes, whole, strict=True))
    return GridQuery((), tuple(coordinates), tuple(cuts))


def _split(text: str) -> list[tuple[str, list[str]]]:
    """Return the names of a query, each with the contents of its brackets."""
    clauses: list[tuple[str, list[str]]] = []
    at = 0
    while at < len(text):
        match = _CLAUSE.match(text, at)
        if match is None or text[match.end() : match.end() + 1] not in ("", ","):
            shown = names.readable(text[at : at + 40])
            raise _refuse(f"`{shown}` is not a variable with brackets, such as `sst[(2010-01-01):1:(last)][0:10]`")
        clauses.append((match[1].strip(), match[2][1:-1].split("][") if match[2] else []))
        at = match.end() + 1
    return clauses


def parse_range(text: str, axis: GridAxis) -> range:
    """Return the indices that the content of brackets selects. Raises RefusedRequestError."""
    if not text.strip():
        return range(len(axis.values))
    bounds: list[re.Match[str]] = []
    at = 0
    while at <= len(text):
        match = _BOUND.match(text, at)
        if match is None or text[match.end() : match.end() + 1] not in ("", ":"):
            break
        bounds.append(match)
        at = match.end() + 1
    # ERDDAP: start, stride, stop; the stop is included
    if at <= len(text) or len(bounds) > 3 or (len(bounds) == 3 and not bounds[1]["index"]):
        raise _refuse(f"`[{names.readable(text)}]`: brackets have a bound, `start:stop` or `start:stride:stop`")
    first, last = (_find_index(bound, axis) for bound in (bounds[0], bounds[-1]))
    stride = int(bounds[1]["index"]) if len(bounds) == 3 else 1
    if not stride:
        raise _refuse(f"`[{text}]`: a stride is at least 1")
    return range(min(first, last), max(first, last) + 1, stride)


def _find_index(bound: re.Match[str], axis: GridAxis) -> int:
    """Return the index that a bound means. Raises RefusedRequestError."""
    size = len(axis.values)
    if not size:
        raise _refuse(f"`{bound[0]}`: `{axis.name}` is empty", 404)
    if bound["value"] is not None:
        return _find_nearest(_value(bound["value"].strip(), axis), bound["value"], axis)
    index = int(bound["index"]) if bound["index"] is not None else size - 1 - int(bound["back"] or 0)
    if not 0 <= index < size:
        raise _refuse(f"`{bound[0]}`: the indices of `{axis.name}` are 0 to {size - 1}")
    return index


def _value(text: str, axis: GridAxis) -> float:
    """Return the coordinate that a text means. Raises RefusedRequestError."""
    latest, now = _LAST.fullmatch(text), _NOW.fullmatch(text)
    try:
        if latest is not None:
            shift = float(latest[2] or 0)
            return float(axis.values[-1]) + (-shift if latest[1] == "-" else shift)
        if now is not None and axis.is_time:
            unit = parse_unit(now[3] or "second")
            if unit is None:
                raise ValueError
            shift = float(now[2] or 0) * float(unit[0])
            return time.time() + (-shift if now[1] == "-" else shift)
        if axis.is_time and re.match(r"[+-]?[0-9]+-", text):  # ERDDAP takes ISO 8601 or seconds since 1970
            return float(date(_complete(text), GREGORIAN))
        return float(text)
    except (ValueError, OverflowError):
        wanted = "a date such as 2010-01-31T12:00:00Z, or seconds since 1970" if axis.is_time else "a number"
        raise _refuse(f"`({names.readable(text[:40])})` is not {wanted}, along `{axis.name}`") from None


def _complete(text: str) -> str:
    """Return a date with its day and minutes; a plus that stands for a blank becomes one."""
    text = re.sub(r"^([+-]?\d+-\d+(?:-\d+)?)\+(?=\d+:)", r"\1 ", text)
    text = re.sub(r"([T ]\d+)(?=Z?$)", r"\1:00", text)
    return text if re.match(r"[+-]?\d+-\d+-\d", text) else f"{text}-01"


def _find_nearest(value: float, text: str, axis: GridAxis) -> int:
    """Return the index of the nearest coordinate, of two the larger one. Raises RefusedRequestError beyond the ends.

    A value may lie beyond an end by half the distance of the two cells there.
    """
    values = axis.values.astype("f8")
    if value != value or np.isnan(values).any():
        raise _refuse(f"`({text})`: `{axis.name}` has a missing coordinate, or the value is no number; give an index")
    lowest, highest = float(values.min()), float(values.max())
    order = np.sort(values)
    low, high = (float(order[1] - order[0]), float(order[-1] - order[-2])) if len(order) > 1 else (0.0, 0.0)
    slack = 1e-9 * max(abs(lowest), abs(highest))
    if not lowest - low / 2 - slack <= value <= highest + high / 2 + slack:
        ends = (lowest, highest) if not axis.is_time else (np.datetime64(int(end), "s") for end in (lowest, highest))
        shown = f"`({names.readable(text)})` is outside of `{axis.name}`: {' to '.join(map(str, ends))}"
        raise _refuse(f"{NO_RESULTS} ({shown})", 404)
    distance = np.abs(values - value)
    nearest = np.flatnonzero(distance == distance.min())
    return int(nearest[np.argmax(values[nearest])])


def _refuse(text: str, status: int = 400) -> RefusedRequestError:
    return RefusedRequestError(status, text)
