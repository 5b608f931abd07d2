"""Programs in Python for xarray: a function that returns the dataset, or a tree of datasets."""

from __future__ import annotations

import builtins
import keyword
import math
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.plugins.generate.model import (
    MOST_VALUES,
    Schema,
    SchemaAttribute,
    SchemaDimension,
    SchemaGroup,
    SchemaType,
    SchemaVariable,
)
from nczarr.plugins.generate.python_netcdf4 import (
    CODES,
    FORMATS,
    has_unnamed,
    list_arguments,
    list_attribute_obstacles,
    list_compression_obstacles,
    list_layout_obstacles,
    list_string_obstacles,
)
from nczarr.plugins.generate.render import array_of, literal, render
from nczarr.sdk import ATOMIC, CLASSIC_ATOMIC, Checked, Report, names

BOUNDARY_ATTRIBUTES = frozenset(
    "units standard_name axis positive calendar long_name leap_month leap_year month_lengths".split()
)
WORDS = "np xr sys make_variable make_text create make_schemas main filled target arrays coordinates schemas UNLIMITED"
RESERVED = frozenset({*keyword.kwlist, *dir(builtins), *WORDS.split()})


def find_obstacles(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield what xarray cannot express: FQN and reason."""
    yield from schema.find_large()
    yield from schema.find_reserved()
    for declared in schema.types.values():
        if declared.kind != "enum":
            yield declared.path, f"xarray has no {declared.kind} types"
        elif not any(one.type == declared.path for one in schema.variables):
            yield declared.path, "xarray has types by their variables, and this one has none"
    yield from list_attribute_obstacles(schema)
    yield from _find_converted(schema)
    for place, attribute in schema.attributes:
        if not attribute.count or _is_written_as_chars(attribute):
            yield place, "xarray writes no empty attribute, and a single string of ASCII as chars"
    for group in schema.groups:
        yield from _find_repeated(group)
        for dimension in group.dimensions:
            yield from _find_obstacles_of_dimension(group, dimension)
    for variable in schema.variables:
        yield from _find_obstacles_of_variable(variable)


def _find_converted(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield what xarray converts to types of the classic model, because the file is not netCDF-4: FQN and reason."""
    if FORMATS[schema.kind] == "NETCDF4":
        return
    typed = [(one.path, one.type) for one in schema.variables]
    for place, type_name in [*typed, *((place, one.type) for place, one in schema.attributes)]:
        if type_name not in CLASSIC_ATOMIC:
            yield place, f"xarray writes no {type_name} to a file of this kind"


def _find_repeated(group: SchemaGroup) -> Iterator[tuple[str, str]]:
    """Yield the attributes of cell boundaries that repeat those of their coordinates: FQN and reason."""
    by_name = {variable.name: variable for variable in group.variables}
    for variable in group.variables:
        own = {one.name: one for one in variable.attributes}
        bounds = by_name.get(own["bounds"].text.decode("utf-8", "replace")) if "bounds" in own else None
        if bounds is None:
            continue
        for one in bounds.attributes:
            if one.name in BOUNDARY_ATTRIBUTES and one.name in own and own[one.name].constant == one.constant:
                yield f"{bounds.path}@{one.name}", "xarray drops what boundaries repeat of coordinates"


def _find_obstacles_of_dimension(group: SchemaGroup, dimension: SchemaDimension) -> Iterator[tuple[str, str]]:
    """Yield (path, reason) where xarray cannot have the dimension."""
    if not any(dimension in variable.dimensions for variable in group.variables):
        yield dimension.path, "xarray has dimensions by the variables of their group, and this one has none"
    outer = group.parent
    while outer is not None:
        if any(one.name == dimension.name for one in outer.dimensions):
            yield dimension.path, "it hides a dimension of a group around it, which trees of xarray must agree with"
        outer = outer.parent


def _find_obstacles_of_variable(variable: SchemaVariable) -> Iterator[tuple[str, str]]:
    """Yield (path, reason) where xarray cannot have or write the variable."""
    dimensions = [one for one in variable.dimensions if isinstance(one, SchemaDimension)]
    named = [one.name for one in dimensions]
    if len(named) < variable.rank or len({*named}) < len(named):
        yield variable.path, "dimensions of xarray have names, each of its own"
    if any(variable.find_hidden()):
        yield variable.path, "its dimensions must be those of the groups around it, by their names"
    if variable.name in _list_dimension_names(variable.group) and named != [variable.name]:
        yield variable.path, "it has the name of a dimension, so that it must have that one alone"
    if variable.type == "char" and (not variable.rank or not variable.shape[-1] or variable.name in named):
        yield variable.path, "chars of xarray are texts along a dimension that is not theirs alone"
    if variable.type == "char" and any(one.name == "_FillValue" for one in variable.attributes):
        yield variable.path, "texts of xarray have no fill value"
    yield from list_string_obstacles(variable, "xarray")
    if variable.type == "string" and 0 in variable.shape:
        yield variable.path, "xarray writes no array without strings"
    if variable.type in variable.schema.types and names.parent(variable.type) != variable.group.path:
        yield variable.path, "xarray declares the type of a variable in its own group"
    if has_unnamed(variable):
        yield variable.path, "netCDF4-python writes only those values of an enum that have names"
    if variable.storage.endian:
        yield variable.path, "xarray writes numbers in the byte order of the machine"
    if math.prod(variable.shape) > 100 * MOST_VALUES:
        yield variable.path, "xarray has all values in memory"
    if variable.storage.no_fill:
        yield variable.path, "xarray cannot leave cells undefined"
    yield from list_compression_obstacles(variable)
    yield from list_layout_obstacles(variable)
    for codec in variable.storage.codecs:
        if codec.id not in (1, 2, 3) and codec.name not in ("zstd", "bzip2"):
            yield variable.path, f"xarray has no encoding for the filter {codec.id}"


def _list_dimension_names(group: SchemaGroup) -> set[str]:
    """Return the names of the dimensions that variables of a group have."""
    return {one.name for variable in group.variables for one in variable.dimensions if isinstance(one, SchemaDimension)}


class XarrayProgram:
    """Expressions of one program."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def dtype_of(self, type_name: str) -> str:
        """Return the expression of a type."""
        if type_name in self.schema.types:
            return self.schema.types[type_name].identifier
        return "object" if type_name == "string" else literal(CODES[type_name])

    def _base_of(self, variable: SchemaVariable) -> str:
        declared: SchemaType | None = self.schema.types.get(variable.type)
        return declared.base if declared is not None else variable.type

    def array(self, variable: SchemaVariable) -> str:
        """Return the expression of all values."""
        return array_of(variable.values, self._base_of(variable), variable.shape)

    def attributes(self, owner: SchemaGroup | SchemaVariable) -> str:
        """Return the expression of all attributes."""
        items = []
        for one in owner.attributes:
            if one.type == "char":
                value = literal(one.text.decode("utf-8", "surrogateescape"))
            elif one.type == "string":
                value = literal(one.value if isinstance(one.value, str) else list(one.value))
            else:
                base = one.type if one.type in ATOMIC else self.schema.types[one.type].base
                value = array_of(one.value, base, [one.count] if one.count > 1 else [])
            items.append(f"{literal(one.name)}: {value}")
        return "{" + ", ".join(items) + "}"

    def schema_dtype(self, variable: SchemaVariable) -> str:
        """Return the type that a schema demands."""
        if variable.type in ("char", "string"):
            return "np.generic"
        return literal(CODES[self._base_of(variable)])


def _is_lengthwise(variable: SchemaVariable) -> bool:
    """Return whether the last dimension is that of chars."""
    return variable.type == "char"


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the files of a program by name."""
    schema = Schema(checked, name, RESERVED)
    if schema.refuse(find_obstacles(schema), "program for xarray", report):
        return {}
    program = XarrayProgram(schema)

    def list_names(variable: SchemaVariable) -> list[str]:
        return [one.name for one in variable.dimensions if isinstance(one, SchemaDimension)]

    def list_lengths(variable: SchemaVariable) -> tuple[int | None, ...]:
        found = [one for one in variable.dimensions if isinstance(one, SchemaDimension)]
        lengths = tuple(None if one.unlimited else one.size for one in found)
        return lengths[:-1] if _is_lengthwise(variable) else lengths

    context: dict[str, Any] = {
        "schema": schema,
        "format": FORMATS[schema.kind],
        "unlimited": {
            f"/{group.key}": [one.name for one in group.dimensions if one.unlimited] for group in schema.groups
        },
        "literal": literal,
        "dtype_of": program.dtype_of,
        "array": program.array,
        "fill": lambda one: literal(one.fill),
        "attributes": program.attributes,
        "schema_dtype": program.schema_dtype,
        "encoding": lambda one: [item for item in list_arguments(one) if not item.startswith("fill_value")],
        "dimensions_of": list_names,
        "schema_dimensions": lambda one: list_names(one)[:-1] if _is_lengthwise(one) else list_names(one),
        "schema_shape": list_lengths,
        "coordinates": lambda group: [one.name for one in group.variables if list_names(one) == [one.name]],
    }
    return {f"{schema.name}.py": render("python/xarray.py.j2", context)}


def _is_written_as_chars(attribute: SchemaAttribute) -> bool:
    """Return whether xarray writes a string as chars: one of ASCII alone."""
    if attribute.type != "string" or attribute.count != 1:
        return False
    data = attribute.constant.data
    text = data[0] if isinstance(data, tuple) else data
    return not isinstance(text, bytes) or text.isascii()
