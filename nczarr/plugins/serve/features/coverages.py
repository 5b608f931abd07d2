"""Coverages: variables over a horizontal grid, all of whose dimensions have coordinates; and parts of them.

The grid has coordinate variables of latitude and longitude or of a projection, or
latitudes and longitudes of two dimensions (a curvilinear grid). A part is cut
along each dimension by values of coordinates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.time_units import CALENDARS, Units, period
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import LONGITUDE_UNITS, Physical, physical
from nczarr.pipeline.select.reader import dtype_of
from nczarr.plugins.cf.coordinates import LATITUDE_UNITS, PRESSURE_UNITS, axis_of
from nczarr.plugins.cf.view import NEWEST, CFDataset, CFVariable
from nczarr.plugins.serve.features.sample_reader import Box
from nczarr.plugins.serve.features.sampling import TYPES
from nczarr.semantics.checked import Checked

MOST_COORDINATES = 4_000_000
"""Maximum values of a coordinate; variables with more have no coverage."""

HEIGHT_UNITS = re.compile(r"(?:k|kilo|c|centi)?m(?:et(?:er|re)s?)?|f(?:ee|oo)?t", re.IGNORECASE)

RUN_TIME, ENSEMBLE, TIME, GEO_X, GEO_Y, GEO_Z, LATITUDE, LONGITUDE, HEIGHT, PRESSURE = range(10)
"""Types of axes, as numbers of the protocol."""


class CoverageAxis(NamedTuple):
    """A coordinate of coverages."""

    path: str
    """Path of the variable."""
    type: str
    """Atomic type of the values."""
    role: str
    """X, Y, Z, T, or E for members of an ensemble."""
    kind: int
    """Type of axis, as a number of the protocol."""
    dimensions: tuple[str, ...]
    """Its dimension, or the two of a curvilinear grid."""
    values: NDArray[np.float64]
    """Coordinates."""
    conversion: Physical
    """Conversion of the stored coordinates."""

    @property
    def name(self) -> str:
        """Name in queries and messages."""
        return self.path.removeprefix("/")


class GridCoverage(NamedTuple):
    """A variable over a grid."""

    path: str
    """Path of the variable."""
    type: str
    """Atomic type of the sent values."""
    dimensions: tuple[str, ...]
    """Dimensions of the variable."""
    axes: tuple[CoverageAxis, ...]
    """Coordinates, in the order of the dimensions; those of a curvilinear grid are last: latitude, longitude."""
    mapping: str | None
    """Path of the variable with the projection."""
    conversion: Physical
    """Conversion of the stored values."""

    @property
    def name(self) -> str:
        """Name in queries and messages."""
        return self.path.removeprefix("/")

    @property
    def is_curvilinear(self) -> bool:
        """True if latitudes and longitudes have two dimensions."""
        return self.axes[-1].values.ndim == 2

    @property
    def system(self) -> str:
        """Name of the coordinate system."""
        return " ".join(axis.name for axis in self.axes)

    def find(self, role: str) -> CoverageAxis | None:
        """Return the axis of a role."""
        return next((axis for axis in self.axes if axis.role == role), None)


class TimeRequest(NamedTuple):
    """Requested times: ISO 8601 dates, empty where they are not stated."""

    start: str = ""
    end: str = ""
    instant: str = ""

    def within(self, units: Units) -> tuple[float, float]:
        """Return the first and last time in units. Raises ValueError for wrong texts."""
        first = _parse_time(self.start, units) if self.start else -np.inf
        last = _parse_time(self.end, units) if self.end else np.inf
        if first > last:
            raise ValueError("`time_start` is behind `time_end`")
        slack = 1e-3 / float(units.unit)  # a millisecond
        return first - slack, last + slack

    def nearest(self, units: Units) -> float:
        """Return the requested instant in units. Raises ValueError for a wrong text."""
        return _parse_time(self.instant, units)


class CoverageQuery(NamedTuple):
    """Requested part of coverages; by default all of them."""

    box: Box | None = None
    """Longitudes and latitudes."""
    rectangle: Mapping[str, tuple[float, float]] = {}
    """First and last coordinate of the axes X and Y."""
    point: tuple[float, float] | None = None
    """Latitude and longitude, of which the nearest cell is taken."""
    times: TimeRequest = TimeRequest()
    level: float | None = None
    """Vertical coordinate, of which the nearest is taken."""
    strides: Mapping[str, int] = {}
    """Steps of indices by role of an axis."""


def _parse_time(text: str, units: Units) -> float:
    """Return a date in units. Raises ValueError."""
    first, _ = period(text, CALENDARS[(units.calendar or "standard").lower()])
    return float((first - units.start) / units.unit)


def find_coverages(checked: Checked) -> dict[str, GridCoverage]:
    """Return the coverages of a dataset by name. Raises OSError, CompileError."""
    dataset = CFDataset(checked, NEWEST)
    axes: dict[str, CoverageAxis | None] = {}
    coverages = (_make_coverage(dataset, variable, axes) for variable in dataset.data if variable.is_numeric)
    return {one.name: one for one in coverages if one is not None}


def _make_coverage(
    dataset: CFDataset, variable: CFVariable, axes: dict[str, CoverageAxis | None]
) -> GridCoverage | None:
    """Return a variable as a coverage; None if it is no grid. `axes`: those of other variables, by path."""
    dimensions = variable.dimensions
    if len(dimensions) < 2 or len(set(dimensions)) < len(dimensions) or not all(variable.shape):
        return None
    own = [dataset.coordinate_of(dimension, variable.group) for dimension in dimensions]
    roles = ["" if one is None else axis_of(one) for one in own]
    if not {"X", "Y"} <= set(roles):
        pair = _find_curvilinear(dataset, variable)
        if pair is None:
            return None
        own = [*own[:-2], *pair]
    made: list[CoverageAxis] = []
    for one in own:
        axis = None if one is None else _make_axis(dataset.checked, one, axes)
        if axis is None:
            return None
        made.append(axis)
    if len({axis.role for axis in made if axis.role in "XYZ"}) < sum(axis.role in "XYZ" for axis in made):
        return None
    mappings = dataset.list_named(variable, "grid_mapping")
    conversion = physical(dataset.checked, variable.path)
    values, _ = conversion.mask(np.empty(0, dtype_of(variable.type, dataset.checked.types)))
    return GridCoverage(
        variable.path,
        TYPES[values.dtype.str[1:]],
        tuple(map(str, dimensions)),
        tuple(made),
        mappings[0].path if mappings else None,
        conversion,
    )


def _find_curvilinear(dataset: CFDataset, variable: CFVariable) -> tuple[CFVariable, CFVariable] | None:
    """Return the latitudes and longitudes that have the last two dimensions of a variable."""
    pair = []
    for units in (LATITUDE_UNITS, LONGITUDE_UNITS):
        choices = (one for one in dataset.list_named(variable, "coordinates") if one.text("units") in units)
        pair.append(next((one for one in choices if one.dimensions == variable.dimensions[-2:]), None))
    latitude, longitude = pair
    return None if latitude is None or longitude is None else (latitude, longitude)


def _make_axis(checked: Checked, variable: CFVariable, axes: dict[str, CoverageAxis | None]) -> CoverageAxis | None:
    """Return a coordinate variable as an axis; None if its meaning or a coordinate is missing."""
    path = variable.path
    if path not in axes:
        axes[path] = None
        kind = _find_kind(variable)
        if kind is None or not variable.is_numeric or int(np.prod(variable.shape)) > MOST_COORDINATES:
            return None
        conversion = physical(checked, path)
        stored = read_outer(checked, path, [slice(None)] * len(variable.shape))
        values, _ = conversion.mask(stored)
        numbers = conversion.floats(stored)
        if np.isfinite(numbers).all():
            word, dimensions = TYPES[values.dtype.str[1:]], tuple(map(str, variable.dimensions))
            axes[path] = CoverageAxis(path, word, *kind, dimensions, numbers, conversion)
    return axes[path]


def _find_kind(variable: CFVariable) -> tuple[str, int] | None:
    """Return the role of a coordinate variable, and its type as a number of the protocol."""
    units, name, role = variable.text("units"), variable.standard_name, axis_of(variable)
    if role == "X":
        return role, LONGITUDE if units in LONGITUDE_UNITS or name == "longitude" else GEO_X
    if role == "Y":
        return role, LATITUDE if units in LATITUDE_UNITS or name == "latitude" else GEO_Y
    if role == "T":
        return role, RUN_TIME if name == "forecast_reference_time" else TIME
    if role == "Z":
        is_height = HEIGHT_UNITS.fullmatch(units) is not None
        return role, PRESSURE if PRESSURE_UNITS.fullmatch(units) else HEIGHT if is_height else GEO_Z
    return ("E", ENSEMBLE) if name == "realization" else None


# ---- parts -----------------------------------------------------------------------------------------------------------


def cut(coverages: Sequence[GridCoverage], query: CoverageQuery) -> dict[str, NDArray[np.int64]]:
    """Return the requested indices of each dimension of coverages. Raises ValueError if a part is empty or unclear."""
    cuts: dict[str, NDArray[np.int64]] = {}
    for coverage in coverages:
        for axis in coverage.axes:
            for dimension, length in zip(axis.dimensions, axis.values.shape, strict=True):
                cuts.setdefault(dimension, np.arange(length))
    for coverage in coverages:
        _cut_horizontally(coverage, query, cuts)
        time, level = coverage.find("T"), coverage.find("Z")
        if time is not None:
            _cut_times(time, query.times, cuts)
        if level is not None and query.level is not None:
            cuts[level.dimensions[0]] = np.array([np.abs(level.values - query.level).argmin()])
    steps = {
        dimension: query.strides.get(axis.role, 1)
        for coverage in coverages
        for axis in coverage.axes
        for dimension in axis.dimensions
    }
    for dimension, indices in cuts.items():
        if not len(indices):
            raise ValueError(f"no coordinate of `{dimension.removeprefix('/')}` is in the requested part")
        cuts[dimension] = indices[:: steps[dimension]]
    return cuts


def _cut_times(axis: CoverageAxis, times: TimeRequest, cuts: dict[str, NDArray[np.int64]]) -> None:
    """Cut the dimension of times."""
    units = axis.conversion.times
    if units is None:
        if any(times):
            raise ValueError(f"`{axis.name}` has no units of time")
        return
    if times.instant:
        cuts[axis.dimensions[0]] = np.array([np.abs(axis.values - times.nearest(units)).argmin()])
        return
    first, last = times.within(units)
    cuts[axis.dimensions[0]] = np.flatnonzero((axis.values >= first) & (axis.values <= last))


def _cut_horizontally(coverage: GridCoverage, query: CoverageQuery, cuts: dict[str, NDArray[np.int64]]) -> None:
    """Cut the horizontal dimensions."""
    x, y = coverage.find("X"), coverage.find("Y")
    assert x is not None
    assert y is not None
    for axis in (x, y):
        if axis.role in query.rectangle:
            if coverage.is_curvilinear:
                raise ValueError("a curvilinear grid is cut by `north`, `south`, `east` and `west`")
            low, high = query.rectangle[axis.role]
            cuts[axis.dimensions[0]] = np.flatnonzero((axis.values >= low) & (axis.values <= high))
    if query.box is None and query.point is None:
        return
    if x.kind != LONGITUDE or y.kind != LATITUDE:
        raise ValueError(f"`{coverage.name}` is on a projection: cut it by `minx`, `maxx`, `miny` and `maxy`")
    if coverage.is_curvilinear:
        rows, columns = _cut_curvilinear(y.values, x.values, query)
        cuts.update(zip(y.dimensions, (rows, columns), strict=True))
    elif query.box is not None:
        inside = query.box.holds(y.values, np.full(y.values.shape, query.box.west))
        cuts[y.dimensions[0]] = np.flatnonzero(inside)
        cuts[x.dimensions[0]] = order_longitudes(x.values, query.box)
    elif query.point is not None:
        cuts[y.dimensions[0]] = np.array([np.abs(y.values - query.point[0]).argmin()])
        cuts[x.dimensions[0]] = np.array([np.abs(_difference(x.values, query.point[1])).argmin()])


def order_longitudes(values: NDArray[np.float64], box: Box) -> NDArray[np.int64]:
    """Return the indices of longitudes in a box; from west to east if they are apart."""
    indices = np.flatnonzero(box.holds(np.full(values.shape, box.south), values))
    if len(indices) < 2 or (np.diff(indices) == 1).all():
        return indices
    return indices[np.argsort((values[indices] - box.west) % 360, kind="stable")]


def _difference(longitudes: NDArray[np.float64], longitude: float) -> NDArray[np.float64]:
    """Return how far longitudes are from another, at most 180 degrees."""
    return (longitudes - longitude + 180) % 360 - 180


def _cut_curvilinear(
    latitudes: NDArray[np.float64], longitudes: NDArray[np.float64], query: CoverageQuery
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and columns between the first and last cell in a box, or those of the nearest cell."""
    if query.point is not None:
        latitude, longitude = query.point
        east = _difference(longitudes, longitude) * np.cos(np.radians(latitude))
        row, column = np.unravel_index(np.argmin(east**2 + (latitudes - latitude) ** 2), latitudes.shape)
        return np.array([row]), np.array([column])
    assert query.box is not None
    rows, columns = np.nonzero(query.box.holds(latitudes, longitudes))
    if not len(rows):
        return rows, columns
    return np.arange(rows.min(), rows.max() + 1), np.arange(columns.min(), columns.max() + 1)


def coordinates_in(
    axis: CoverageAxis, cuts: Mapping[str, NDArray[np.int64]], query: CoverageQuery
) -> NDArray[np.float64]:
    """Return the coordinates of a part; longitudes that cross an end of the grid continue beyond it."""
    values: Any = axis.values[np.ix_(*(cuts[dimension] for dimension in axis.dimensions))]
    steps = np.diff(cuts[axis.dimensions[0]])
    if axis.kind == LONGITUDE and values.ndim == 1 and query.box is not None and (steps < 0).any():
        values = query.box.west + (values - query.box.west) % 360
    return np.asarray(values)
