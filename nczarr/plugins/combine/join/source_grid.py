"""Grid of one source where it differs from that of the first, and variables with cells that no source has."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of
from nczarr.ast import Attribute, Constant, Dimension, Group, Variable
from nczarr.ast.dataset import MISSING_MARKS, building, map_groups
from nczarr.ast.types import ATOMIC, is_number
from nczarr.plugins.cf.cell_bounds import BOUNDS, text_of
from nczarr.plugins.combine.join.agreement import SMALL, Aspect, CombineSpec, SourceDifference, Way, find_axes
from nczarr.plugins.combine.join.packing import VariablePacking, is_packing, list_packings, packing_of
from nczarr.semantics.check_types import DEFAULT
from nczarr.semantics.checked import Checked, resize, whole_parts

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


class FillRule(NamedTuple):
    """Value of cells that no source has."""

    constant: Constant | None
    """The value."""
    attribute: Constant | None = None
    """The attribute `_FillValue` that the variable gets; None if it stays as it is."""
    may_occur: bool = False
    """True if cells of the sources may have the value, and would be read as missing."""

    @property
    def data(self) -> bytes | None:
        """The value of one cell, little-endian or as text; None for zeros."""
        data = None if self.constant is None else self.constant.data
        if isinstance(data, bytes):
            return data
        return data[0] if data and isinstance(data[0], bytes) else None

    @property
    def shown(self) -> str:
        """Displayable value."""
        from nczarr.pipeline.compare.difference import show_constant

        return "zeros" if self.constant is None else show_constant(self.constant)

    def declare(self, variable: Variable) -> Variable:
        """Return a variable with the attribute."""
        if self.attribute is None:
            return variable
        fill = Attribute(name="_FillValue", value=self.attribute)
        storage = variable.storage.model_copy(update={"no_fill": False})
        return variable.model_copy(update={"attributes": (*variable.attributes, fill), "storage": storage})


def fill_gaps(variable: Variable, fill: Constant | None) -> FillRule:
    """Return the value of cells without a source. `fill`: value of unwritten cells.

    It is `_FillValue`, else `missing_value`. Floats get NaN, as in xarray, and
    integers netCDF's default fill value, both as `_FillValue`. Texts and records
    keep the value of unwritten cells.
    """
    attributes = {attribute.name: attribute.value for attribute in variable.attributes}
    if "_FillValue" in attributes or not is_number(variable.type):
        return FillRule(fill)
    missing = attributes.get("missing_value")
    if missing is not None and missing.type == variable.type and isinstance(missing.data, bytes) and missing.count:
        value = Constant(type=missing.type, count=1, data=missing.data[: ATOMIC[missing.type].size])
        return FillRule(value, value)
    is_float = ATOMIC[variable.type].is_float
    value = Constant.numbers(variable.type, [math.nan if is_float else DEFAULT[variable.type]])
    return FillRule(value, value, not is_float)


def is_assigned(difference: SourceDifference, first: Checked, checked: Checked) -> bool:
    """Return whether only the first source has a `_FillValue`, the one that an earlier run gave it because of gaps."""
    path, aspect, attribute, one, other, _ = difference
    if (aspect, attribute) != (Aspect.ATTRIBUTE, "_FillValue") or one is None or other is not None:
        return False
    rule = fill_gaps(checked.variables[path], checked.fills[path])
    values = (each.value for each in first.variables[path].attributes if each.name == "_FillValue")
    return rule.attribute is not None and rule.attribute == next(values)


def is_idle(difference: SourceDifference, first: Checked, checked: Checked, *, joined: bool) -> bool:
    """Return whether a difference is one of marks for missing values that no cell of both sources has.

    Writers such as xarray give each coordinate a `_FillValue`. `joined`: the cells of both become one array;
    otherwise they are equal, and NaN needs no mark. Only small arrays are read. Raises OSError, CompileError.
    """
    path, aspect, attribute, *_ = difference
    sides = first, checked
    if aspect is not Aspect.ATTRIBUTE or attribute not in MISSING_MARKS or path not in checked.variables:
        return False
    one, other = (side.variables[path] for side in sides)
    parts = [whole_parts(side, path) for side in sides]
    if one.type != other.type or not is_number(one.type) or any(part.keys() != {""} for part in parts):
        return False
    if any(math.prod(side.shapes[path]) * ATOMIC[one.type].size > SMALL for side in sides):
        return False
    packings = [packing_of(side, None).numbers for side in (one, other)]
    is_coordinate = one.dimensions == (path,)
    if joined and not is_coordinate and any(mark == mark for packing in packings for mark in packing.marks):
        return False  # a number marks cells of other sources, and is a value in this one
    for part in parts:
        values = part[""].read(all_of(part[""].layout.shape))
        missing = np.logical_or(*(packing.find_missing(values) for packing in packings))
        if not joined and values.dtype.kind == "f":
            missing &= ~np.isnan(values)
        if missing.any():
            return False
    return True


def extend_tree(
    checked: Checked,
    declared: Mapping[str, DeclaredVariable],
    packings: Mapping[str, VariablePacking],
    size: Callable[[str, Dimension], int],
) -> Checked:
    """Return a dataset with more variables, other packings and lengths of dimensions, without arrays for these.

    `size`: returns the length of a dimension by its FQN.
    """
    dimensions = {path: one for variable in declared.values() for path, one in variable.dimensions.items()}

    def change(path: str, group: Group) -> dict[str, Any]:
        """Return the dimensions and variables of a group."""
        listed = {names.join(path, dimension.name): dimension for dimension in group.dimensions}
        listed.update({fqn: one for fqn, one in dimensions.items() if names.parent(fqn) == path and fqn not in listed})
        variables = {names.join(path, variable.name): variable for variable in group.variables}
        variables.update({fqn: one.variable for fqn, one in declared.items() if names.parent(fqn) == path})
        return {
            "dimensions": tuple(one.model_copy(update={"size": size(fqn, one)}) for fqn, one in listed.items()),
            "variables": tuple(
                packings[fqn].apply(variable) if fqn in packings else variable for fqn, variable in variables.items()
            ),
        }

    with building():
        tree = map_groups(checked.dataset, change)
        fills = {**checked.fills, **{path: one.fill for path, one in declared.items()}}
        fills |= {path: packing.fill for path, packing in packings.items()}
        shapes: dict[str, tuple[int, ...]] = {**checked.shapes, **dict.fromkeys(declared, ())}
        return resize(checked._replace(fills=fills, shapes=shapes), tree)
