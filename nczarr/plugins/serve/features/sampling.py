"""Discrete sampling geometries of CF: which variables say when and where each sample was taken.

The samples are the cells of the dimensions that data have with their coordinates.
A coordinate has these dimensions, some of them, or the dimension of the instances
to which the samples belong by counts (`sample_dimension`) or by indices
(`instance_dimension`), on one level or two. So one rule covers all kinds of
features in all forms of arrays (CF, chapter 9 and appendix H).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import np
from nczarr.ast import EnumType
from nczarr.ast.types import ATOMIC
from nczarr.pipeline.select.physical import LONGITUDE_UNITS, NUMBERS, Physical, physical
from nczarr.pipeline.select.reader import dtype_of
from nczarr.plugins.cf.coordinates import LATITUDE_UNITS, axis_of
from nczarr.plugins.cf.view import NEWEST, CFDataset, CFVariable
from nczarr.semantics.checked import Checked

KINDS = {
    "point": "POINT",
    "timeseries": "STATION",
    "profile": "PROFILE",
    "trajectory": "TRAJECTORY",
    "timeseriesprofile": "STATION_PROFILE",
    "trajectoryprofile": "SECTION",
}
"""Kinds of features in netCDF-Java's words, by CF's in lower case."""

ROLES = ("timeseries_id", "trajectory_id", "profile_id")
"""Roles of variables that name instances."""

LONGEST = 1 << 16
"""Maximum bytes of one variable in a row."""

TYPES = {np.dtype(atomic.code).str[1:]: name for name, atomic in ATOMIC.items() if name in NUMBERS}
"""Types of numbers by NumPy's names."""


class InstanceLink(NamedTuple):
    """Dimension of instances, to which the elements of another dimension belong."""

    child: str
    """Dimension of the elements."""
    path: str
    """Variable with the counts of elements, or with the index of the instance of each element."""
    counts: bool
    """True for counts."""


class SampledColumn(NamedTuple):
    """A variable as a member of a row."""

    path: str
    """Path of the variable."""
    type: str
    """Atomic type of the sent values."""
    axes: tuple[str, ...]
    """Dimensions that the sample chooses."""
    shape: tuple[int, ...]
    """Shape of the values of one sample."""
    conversion: Physical | None
    """Conversion of stored numbers; None for texts."""

    @property
    def name(self) -> str:
        """Name in queries and messages."""
        return self.path.removeprefix("/")


class Sampling(NamedTuple):
    """Samples of a dataset."""

    checked: Checked
    """The dataset."""
    kind: str
    """Kind of feature in netCDF-Java's words."""
    axes: tuple[str, ...]
    """Dimensions of the samples."""
    links: dict[str, InstanceLink]
    """Elements by dimension of instances."""
    places: tuple[SampledColumn | None, ...]
    """Time, latitude, longitude and altitude; only the last may be missing."""
    columns: dict[str, SampledColumn]
    """Variables that rows can have, by name."""
    usual: tuple[str, ...]
    """Names of those that rows have unless others are requested: the names of instances, and data."""
    identity: SampledColumn | None
    """Names of the instances."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths of the dimensions of the samples."""
        return tuple(self.checked.dimensions[axis].size for axis in self.axes)

    @property
    def instances(self) -> str | None:
        """Dimension of the instances that have names; None without any."""
        return self.identity.axes[0] if self.identity is not None and len(self.identity.axes) == 1 else None


class UnsuitedFeaturesError(Exception):
    """A dataset states a kind of feature, but has no variables for it."""


def find_kind(checked: Checked) -> str | None:
    """Return the kind of feature that a dataset states, in netCDF-Java's words; None for none or an unknown one."""
    return KINDS.get(CFDataset(checked, NEWEST).root.text("featureType").lower())


def find_samples(checked: Checked) -> Sampling | None:
    """Return the samples of a dataset; None if it states no kind of feature. Raises UnsuitedFeaturesError."""
    dataset, kind = CFDataset(checked, NEWEST), find_kind(checked)
    if kind is None:
        return None
    links = dict(_list_links(dataset))
    choices: Counter[tuple[str, ...]] = Counter()
    places: dict[tuple[str, ...], tuple[CFVariable | None, ...]] = {}
    times = [one for one in dataset.variables.values() if one.is_numeric and axis_of(one) == "T"]
    for variable in dataset.data:
        _count_axes(dataset, variable, links, choices, places)
    for variable in () if choices else times:  # coordinates without data
        _count_axes(dataset, variable, links, choices, places)
    if not choices:
        raise UnsuitedFeaturesError(
            f"`featureType` states {kind}, but no variable has coordinates of time, latitude and longitude"
        )
    axes = max(choices, key=lambda one: (choices[one], len(one)))
    reached = _reach(axes, links)
    columns = {one.name: one for one in _list_columns(dataset, reached)}
    where = tuple(None if one is None else columns.get(one.path.removeprefix("/")) for one in places[axes])
    if None in where[:3]:
        raise UnsuitedFeaturesError(f"`featureType` states {kind}, but its coordinates are no numbers for each sample")
    roles = [variable for variable in dataset.variables.values() if variable.text("cf_role") in ROLES]
    roles.sort(key=lambda one: ROLES.index(one.text("cf_role")))
    named = [columns[one.path.removeprefix("/")] for one in roles if one.path.removeprefix("/") in columns]
    data = [columns[name] for one in dataset.data if (name := one.path.removeprefix("/")) in columns]
    usual = [*named, *(one for one in data if one.axes == axes and one not in named and one not in where)]
    identity = named[0] if named else None
    return Sampling(checked, kind, axes, links, where, columns, tuple(one.name for one in usual), identity)


def _count_axes(
    dataset: CFDataset,
    variable: CFVariable,
    links: dict[str, InstanceLink],
    choices: Counter[tuple[str, ...]],
    places: dict[tuple[str, ...], tuple[CFVariable | None, ...]],
) -> None:
    """Count the dimensions of a variable as those of samples if its coordinates suit; note these coordinates."""
    coordinates = _find_places(dataset, variable)
    known = {axis for one in coordinates if one is not None for axis in one.dimensions}
    axes = _cut_axes(variable, known | {link.child for link in links.values()})
    reached = _reach(axes, links)
    needed = {str(axis) for one in coordinates if one is not None for axis in one.dimensions}
    if axes and None not in coordinates[:3] and needed <= reached:
        choices[axes] += 1
        if axes not in places or (places[axes][3] is None and coordinates[3] is not None):
            places[axes] = coordinates


def _list_links(dataset: CFDataset) -> Iterator[tuple[str, InstanceLink]]:
    """Yield the dimensions of instances of ragged arrays with their elements."""
    for variable in dataset.variables.values():
        if len(variable.dimensions) != 1 or not variable.is_numeric or not isinstance(variable.dimensions[0], str):
            continue
        own = variable.dimensions[0]
        sample = dataset.resolve_dimension(variable.text("sample_dimension"), variable.group)
        instance = dataset.resolve_dimension(variable.text("instance_dimension"), variable.group)
        if sample is not None and sample != own:
            yield own, InstanceLink(sample, variable.path, True)
        if instance is not None and instance != own:
            yield instance, InstanceLink(own, variable.path, False)


def _reach(axes: Iterable[str], links: dict[str, InstanceLink]) -> set[str]:
    """Return dimensions, and those of the instances to which their elements belong."""
    reached = set(axes)
    for _ in links:  # each round reaches one level
        reached |= {parent for parent, link in links.items() if link.child in reached}
    return reached


def _find_places(dataset: CFDataset, variable: CFVariable) -> tuple[CFVariable | None, ...]:
    """Return the coordinates of time, latitude, longitude and altitude of a variable; None for missing ones."""
    own = [one for one in dataset.coordinates_of(variable) if one.is_numeric]
    every = [one for one in dataset.variables.values() if one.is_numeric]
    tests = (
        (lambda one: axis_of(one) == "T", "time"),
        (lambda one: one.text("units") in LATITUDE_UNITS, "latitude"),
        (lambda one: one.text("units") in LONGITUDE_UNITS, "longitude"),
        (lambda one: axis_of(one) == "Z", ""),
    )
    places: list[CFVariable | None] = []
    for is_meant, name in tests:
        choices: list[Any] = [one for one in own if one.standard_name == name] if name else []
        choices += filter(is_meant, own)
        if name and not choices:
            choices = [one for one in every if one.standard_name == name]
        places.append(next(iter(choices), None))
    return tuple(places)


def _cut_axes(variable: CFVariable, known: set[Any]) -> tuple[str, ...]:
    """Return the first dimensions of a variable that are among known ones."""
    axes = variable.dimensions
    count = next((number for number, axis in enumerate(axes) if axis not in known), len(axes))
    return tuple(map(str, axes[:count]))


def _list_columns(dataset: CFDataset, reached: set[str]) -> Iterator[SampledColumn]:
    """Yield the variables of which a sample has a value, a text or a small array."""
    for variable in dataset.variables.values():
        if dataset.is_container(variable) or dataset.is_structure(variable) or dataset.is_boundary(variable):
            continue
        column = _make_column(dataset.checked, variable.path, _cut_axes(variable, reached))
        if column is not None:
            yield column


def _make_column(checked: Checked, path: str, axes: tuple[str, ...]) -> SampledColumn | None:
    """Return a variable as a member of rows; None if its type or size does not fit."""
    declared, shape = checked.variables[path].type, checked.shapes[path][len(axes) :]
    base = checked.types.get(declared)
    word = base.base if isinstance(base, EnumType) else declared
    if word not in ATOMIC or not all(shape) or math.prod(shape) * 8 > LONGEST:
        return None
    if word in ("char", "string"):
        return SampledColumn(path, word, axes, shape, None)
    conversion = physical(checked, path)
    values, _ = conversion.mask(np.empty(0, dtype_of(declared, checked.types)))
    return SampledColumn(path, TYPES[values.dtype.str[1:]], axes, shape, conversion)


def units_of(column: SampledColumn | None) -> str:
    """Return the units of a coordinate."""
    return "" if column is None or column.conversion is None else column.conversion.units


def time_units(sampling: Sampling) -> str:
    """Return the units of times."""
    return units_of(sampling.places[0])
