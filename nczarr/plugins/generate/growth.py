"""Lengths of unlimited dimensions: a file has them by what is written, and a schema may have them without values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from nczarr.plugins.generate.model import Schema, SchemaDimension, SchemaVariable
from nczarr.sdk import ATOMIC, names

Suits = Callable[[SchemaVariable], bool]
"""Function that says whether a language can write the fill value of a variable."""


class LastRecord(NamedTuple):
    """A cell to which a program writes the fill value, so that a dimension has its length."""

    variable: SchemaVariable
    start: tuple[int, ...]
    """Indices of the cell."""


def list_last_records(schema: Schema, suits: Suits) -> list[LastRecord]:
    """Return the cells that give unlimited dimensions the lengths that no values give them."""
    found = [_find_cell(schema, dimension, suits) for dimension in _list_growing(schema)]
    return [cell for cell in found if cell is not None]


def find_unrecorded(schema: Schema, suits: Suits) -> Iterator[tuple[str, str]]:
    """Yield the unlimited dimensions whose length a program cannot record: FQN and reason."""
    for dimension in _list_growing(schema):
        if _find_cell(schema, dimension, suits) is None:
            yield dimension.path, f"no variable along it records its length {dimension.size}"


def _list_growing(schema: Schema) -> Iterator[SchemaDimension]:
    """Yield the dimensions whose length does not follow from values."""
    for dimension in schema.dimensions.values():
        written = (one for one in _list_measuring(schema, dimension) if one.has_values)
        if dimension.unlimited and dimension.size and not any(written):
            yield dimension


def _list_measuring(schema: Schema, dimension: SchemaDimension) -> Iterator[SchemaVariable]:
    """Yield the variables by which libnetcdf measures a dimension: those of its group, and below."""
    home = names.join(names.parent(dimension.path), "")
    for variable in schema.variables:
        if dimension in variable.dimensions and variable.path.startswith(home) and 0 not in variable.shape:
            yield variable


def _find_cell(schema: Schema, dimension: SchemaDimension, suits: Suits) -> LastRecord | None:
    """Return the cell to write so that the dimension gets its length, of the simplest suitable variable, if any."""
    usable = [one for one in _list_measuring(schema, dimension) if suits(one)]
    variable = min(usable, key=lambda one: (one.type not in ATOMIC, one.type in ("char", "string")), default=None)
    if variable is None:
        return None
    start = tuple(dimension.size - 1 if one is dimension else 0 for one in variable.dimensions)
    return LastRecord(variable, start)
