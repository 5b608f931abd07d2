"""Grid of one source where it differs from that of the first: coordinates, and variables that the first lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of
from nczarr.ast import Constant, Dimension, Variable
from nczarr.ast.types import is_number
from nczarr.plugins.cf.cell_bounds import BOUNDS, text_of
from nczarr.plugins.combine.join.agreement import Aspect, CombineSpec, SourceDifference, Way, find_axes
from nczarr.plugins.combine.join.packing import VariablePacking, is_packing, list_packings
from nczarr.semantics.checked import Checked, whole_parts

Coordinates = Mapping[str, "NDArray[Any]"]
"""Values of coordinates by FQN, shape (length,), in native byte order."""


class DeclaredVariable(NamedTuple):
    """Variable that the first source lacks."""

    variable: Variable
    fill: Constant | None
    """Value of unwritten cells."""
    dimensions: Mapping[str, Dimension]
    """Its dimensions by FQN."""


class SourceGrid(NamedTuple):
    """Properties of a source that the first does not have, or not in this form."""

    coordinates: Coordinates = MappingProxyType({})
    """Coordinates of joined dimensions, and those of others that differ from the first source's."""
    declared: Mapping[str, DeclaredVariable] = MappingProxyType({})
    """Variables that the first source lacks."""
    values: Coordinates = MappingProxyType({})
    """Values of variables that are not joined, and cannot be compared with those of the first source."""
    packings: Mapping[str, VariablePacking] = MappingProxyType({})
    """Packings of joined variables that differ from those of the first source."""


SAME_GRID = SourceGrid()
"""Grid of a source like the first."""


def read_values(checked: Checked, path: str) -> NDArray[Any]:
    """Return all values of a variable of numbers or texts, in native byte order. Raises OSError, CompileError."""
    source = whole_parts(checked, path)[""]
    values = source.read(all_of(source.layout.shape))
    if values.dtype.hasobject:
        values = np.array([text or b"" for text in values.reshape(-1).tolist()], object).reshape(values.shape)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def is_index(path: str, checked: Checked) -> bool:
    """Return whether a dimension has a coordinate of numbers or texts."""
    variable = checked.variables.get(path)
    if variable is None or variable.dimensions != (path,):
        return False
    return is_number(variable.type) or variable.type == "string"


def list_overridden(checked: Checked, way: Way) -> frozenset[str]:
    """Return the coordinates of the first source that stand for those of all, with their cell bounds."""
    paths = {path for path in checked.dimensions if path not in way.dimensions and is_index(path, checked)}
    bounds = (text_of(checked.variables[path], name) for path in paths for name in BOUNDS)
    named = {names.join(names.parent(path), text.strip()) for path in paths for text in bounds if text}
    return frozenset(paths | {path for path in named if path in checked.variables})


def is_shuffled(path: str, one: Checked, other: Checked) -> bool:
    """Return whether a coordinate has the same values in another order. Raises OSError, CompileError."""
    if not is_index(path, one) or not is_index(path, other):
        return False
    here, there = read_values(one, path), read_values(other, path)
    return not np.array_equal(here, there) and np.array_equal(np.sort(here), np.sort(there))


def grid_of_source(
    checked: Checked, first: Checked, coordinates: Coordinates, ordered: Collection[str], way: Way, spec: CombineSpec
) -> SourceGrid:
    """Return the grid of a source. Raises OSError, CompileError.

    `coordinates`: those of the first source that are not joined; `ordered`: joined coordinates.
    """
    along = {path for path in ordered if is_index(path, checked)}
    own = {path: read_values(checked, path) for path in along}
    grown = way.dimensions
    joined = [path for path, one in checked.variables.items() if find_axes(one, grown) and path not in grown]
    packings = list_packings(checked, joined, first) if spec.repack else {}
    if spec.join != "outer" or checked is first:
        return SourceGrid(own, {}, {}, packings)
    for path in checked.dimensions:
        if path in way.dimensions or not is_index(path, checked):
            continue
        if path in coordinates:
            values = read_values(checked, path)
            if not _is_equal(values, coordinates[path]):
                own[path] = values
        elif path not in first.dimensions:
            own[path] = read_values(checked, path)
    declared, sizes = {}, checked.dimensions
    for path, variable in checked.variables.items():
        if path not in first.variables:
            dimensions = {str(name): sizes[str(name)] for name in variable.dimensions if not isinstance(name, int)}
            declared[path] = DeclaredVariable(variable, checked.fills[path], dimensions)
    return SourceGrid(own, declared, {}, packings)


def _is_equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())


def list_faults(
    differences: Iterable[SourceDifference], grid: SourceGrid, first: Checked, spec: CombineSpec
) -> Iterator[SourceDifference]:
    """Yield the differences from the first source that remain if the request is met."""
    for difference in differences:
        path, aspect = difference.path, difference.aspect
        if is_packing(difference, grid.packings, first.variables):
            continue
        if spec.join == "outer":
            if aspect in (Aspect.VARIABLE, Aspect.DIMENSION) or (aspect is Aspect.TYPE and difference.other is None):
                continue
            if aspect is Aspect.LENGTH and path in grid.coordinates and is_index(path, first):
                continue
        yield difference
