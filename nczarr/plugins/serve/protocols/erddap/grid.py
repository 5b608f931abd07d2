"""Grids: variables of a dataset with the same dimensions, in the form in which ERDDAP serves them.

A dataset of ERDDAP has one grid; each dimension has a coordinate variable. Variables of other dimensions are grids of
their own. A grid is an ordinary dataset without groups:

- times of real dates are seconds since 1970, as clients expect; other calendars keep their units;
- a dimension without coordinates has its indices;
- each coordinate variable has the attribute `actual_range`, that of the values in the answer.

Variables of chars, whose last dimension is the length of a text, and of user-defined types have no grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout, Parts
from nczarr.arrays.values.parts import NUMPY
from nczarr.arrays.values.time_units import CALENDARS, GREGORIAN, date
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Dimension, Variable
from nczarr.ast.dataset import building
from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import NUMBERS, physical
from nczarr.plugins.serve.answers import RefusedRequestError
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked

EPOCH = "seconds since 1970-01-01T00:00:00Z"  # ERDDAP gives all times so
"""Units of all times."""

SERVED = NUMBERS | {"string"}
"""Types of variables of grids."""

MOST_COORDINATES = 10_000_000
"""Maximum length of a dimension whose coordinates are read."""

PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "valid_min", "valid_max", "valid_range")
"""Attributes with stored values, which coordinates in other units lose."""

ACTUAL = "actual_range"

REFORM = float(date("1582-10-15", "standard"))
"""First second of the Gregorian calendar."""


class GridAxis(NamedTuple):
    """One dimension of a grid."""

    name: str
    """Name of the dimension and its coordinate variable."""
    values: NDArray[Any]
    """Coordinates; times in seconds since 1970."""
    is_time: bool
    """True for times of real dates."""


class Grid(NamedTuple):
    """One grid."""

    checked: Checked
    """The dataset: the coordinate variables, then the variables."""
    axes: tuple[GridAxis, ...]
    """Dimensions in order."""
    variables: tuple[str, ...]
    """Names of the variables."""

    def find_axis(self, name: str) -> int | None:
        """Return the number of a dimension; None for other names."""
        return next((number for number, axis in enumerate(self.axes) if axis.name == name), None)


def list_grids(checked: Checked) -> list[tuple[str, ...]]:
    """Return the dimensions of all grids, by FQN: that with most dimensions, and then most variables, is first."""
    members: dict[tuple[str, ...], int] = {}
    for path, variable in checked.variables.items():
        axes = variable.dimensions
        if axes and variable.type in SERVED and all(isinstance(axis, str) for axis in axes) and axes != (path,):
            key = tuple(str(axis) for axis in axes)
            members[key] = members.get(key, 0) + 1
    return sorted((key for key in members if len(set(key)) == len(key)), key=lambda key: (-len(key), -members[key]))


def make_grid(checked: Checked, axes: tuple[str, ...], name: str) -> Grid:
    """Return the grid of dimensions, given by FQN. Raises RefusedRequestError, OSError, CompileError."""
    paths = [
        path
        for path, variable in checked.variables.items()
        if variable.dimensions == axes and variable.type in SERVED and path not in axes
    ]
    short = _shorten([*axes, *paths])
    grid_axes, variables, dimensions = [], [], []
    parts: dict[str, Parts] = {}
    for path in axes:
        declared = checked.dimensions[path]
        dimensions.append(Dimension(name=short[path], size=declared.size, unlimited=declared.unlimited))
        axis, variable = _make_axis(checked, path, short[path])
        grid_axes.append(axis)
        variables.append(variable)
        layout = Layout(NUMPY[variable.type], axis.values.shape, axis.values.shape)
        parts[names.join("/", axis.name)] = {"": ArrayInMemory(layout, axis.values)}
    references = tuple(names.join("/", short[path]) for path in axes)
    for path in paths:
        changes = {"name": short[path], "dimensions": references}
        variables.append(checked.variables[path].model_copy(update=changes))
        if path in checked.parts:
            parts[names.join("/", short[path])] = checked.parts[path]
    with building():
        tree = Dataset(
            name=name,
            dimensions=tuple(dimensions),
            variables=tuple(variables),
            attributes=tuple(one for one in checked.groups["/"].attributes if one.value.type in ATOMIC),
        )
    report = Report()
    grid = check(Unchecked(tree, parts=parts), report)
    if grid is None:
        raise RefusedRequestError(400, report.list_sorted()[0].message)
    return Grid(grid, tuple(grid_axes), tuple(short[path] for path in paths))


def _shorten(paths: list[str]) -> dict[str, str]:
    """Return a name without groups for each path: its last part, where that is unique."""
    short: dict[str, str] = {}
    for path in paths:
        parts = names.split(path)
        choices = ("_".join(parts[-count:]) for count in range(1, len(parts) + 1))
        taken = set(short.values())
        free = next((choice for choice in choices if choice not in taken), None)
        short[path] = free or names.free("_".join(parts), taken.__contains__)
    return short


def _make_axis(checked: Checked, path: str, name: str) -> tuple[GridAxis, Variable]:
    """Return a dimension with its coordinates, and the declaration of these."""
    size = checked.dimensions[path].size
    if size > MOST_COORDINATES:
        raise RefusedRequestError(413, f"`{name}` has {size} coordinates; at most {MOST_COORDINATES} are served")
    declared = checked.variables.get(path)
    values: NDArray[Any] = np.arange(size, dtype="i4")
    kind, attributes, is_time = "int", tuple[Attribute, ...](), False
    if declared is not None and declared.dimensions == (path,) and declared.type in NUMBERS:
        values, kind, attributes, is_time = _read_coordinates(checked, path)
    attributes = _state_range(attributes, values, kind)
    variable = Variable(name=name, type=kind, dimensions=(names.join("/", name),), attributes=attributes)
    return GridAxis(name, values, is_time), variable


def _state_range(attributes: tuple[Attribute, ...], values: NDArray[Any] | None, kind: str) -> tuple[Attribute, ...]:
    """Return attributes with the `actual_range` of values of a type; without one if no value is known."""
    others = tuple(one for one in attributes if one.name != ACTUAL)
    present = values if values is None else values[~np.isnan(values)]
    if present is None or not len(present):
        return others
    ends = np.array([present.min(), present.max()], present.dtype)
    return (Attribute(name=ACTUAL, value=Constant(type=kind, count=2, data=ends.tobytes())), *others)


def state_ranges(grid: Grid, cuts: Mapping[str, range]) -> Checked:
    """Return the dataset of a grid as it describes a part of it. `cuts`: indices of the part by dimension.

    Each `actual_range` of coordinates is that of the part. That of variables is left
    out, because their values would have to be read first.
    """
    axes = {axis.name: axis for axis in grid.axes if len(cuts[axis.name]) < len(axis.values)}
    if not axes:
        return grid.checked
    variables = []
    for variable in grid.checked.dataset.variables:
        axis = axes.get(variable.name)
        values = (
            None if axis is None else axis.values[cuts[axis.name].start : cuts[axis.name].stop : cuts[axis.name].step]
        )
        if axis is not None or variable.name in grid.variables:
            changes = {"attributes": _state_range(variable.attributes, values, variable.type)}
            variable = variable.model_copy(update=changes)
        variables.append(variable)
    with building():
        tree = grid.checked.dataset.model_copy(update={"variables": tuple(variables)})
    part = check(Unchecked(tree, parts=dict(grid.checked.parts)), Report())
    assert part is not None, "attributes that are left out cannot be wrong"
    return part


def _read_coordinates(checked: Checked, path: str) -> tuple[NDArray[Any], str, tuple[Attribute, ...], bool]:
    """Return the values, type and attributes of a coordinate variable, and whether they are times of real dates."""
    declared = checked.variables[path]
    conversion = physical(checked, path)._replace(lowest=None, highest=None)  # invalid coordinates keep their places
    stored, kind = np.asarray(read_outer(checked, path, [slice(None)])), declared.type
    values, absent = conversion.mask(stored)
    dropped: tuple[str, ...] = ()
    if conversion.scale is not None or conversion.offset is not None:
        kind, dropped = "double", PACKING
    if values.dtype.kind == "f":
        values = np.where(absent, values.dtype.type(np.nan), values)
    times = conversion.times
    calendar = CALENDARS[(times.calendar or "standard").lower()] if times is not None else ""
    is_time = False
    attributes: tuple[Attribute, ...] = ()
    if times is not None and calendar in ("standard", GREGORIAN):
        seconds = np.where(absent, np.nan, float(times.start) + values.astype("f8") * float(times.unit))
        is_time = calendar == GREGORIAN or bool((seconds[~np.isnan(seconds)] >= REFORM).all())
        if is_time:
            values, kind, dropped = seconds, "double", ("units", "calendar", *PACKING)
            attributes = (Attribute(name="units", value=Constant.text(EPOCH.encode())),)
    kept = (one for one in declared.attributes if one.value.type in ATOMIC and one.name not in dropped)
    return values.astype(NUMPY[kind]), kind, (*attributes, *kept), is_time
