"""Tables of a grid: its values, and its dimensions, variables and attributes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast import ATOMIC, Attribute
from nczarr.pipeline.select.indexing import read_outer
from nczarr.pipeline.select.physical import attributes_of, is_numeric, physical, text_of
from nczarr.plugins.serve.pages.markup import plain_text
from nczarr.plugins.serve.protocols.erddap.grid import Grid, GridAxis
from nczarr.plugins.serve.protocols.erddap.query import GridQuery
from nczarr.plugins.serve.protocols.erddap.tables import TIME, Cell, TableColumn, TextTable
from nczarr.plugins.serve.value_streams import chunk_size
from nczarr.semantics.checked import Checked

JAVA = {"string": "String", "int64": "long", "uint64": "ulong"}
"""Words for types where they differ from the model's."""

SPECIAL = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""Words for special numbers of attributes."""

BLOCK = 1 << 14
"""Rows of a table that are made at once, unless a chunk has more."""

DESCRIBED = ("Row Type", "Variable Name", "Attribute Name", "Data Type", "Value")
"""Columns of a description."""


def make_value_table(grid: Grid, query: GridQuery) -> TextTable:
    """Return the requested values: a row for each cell, or the coordinates alone."""
    return _make_table(grid, query) if query.variables else _make_axis_table(grid, query)


def describe_grid(grid: Grid) -> TextTable:
    """Return the dimensions, variables and attributes."""
    return TextTable(tuple(TableColumn(title, "String") for title in DESCRIBED), [list(_describe_rows(grid))])


def _make_table(grid: Grid, query: GridQuery) -> TextTable:
    """Return a table with a row for each cell: its coordinates, and the value of each variable."""
    checked, paths = grid.checked, [names.join("/", name) for name in query.variables]
    columns = [_axis_column(grid, axis) for axis in grid.axes]
    for path in paths:
        is_number = is_numeric(checked, path)
        conversion = physical(checked, path) if is_number else None
        is_packed = conversion is not None and (conversion.scale is not None or conversion.offset is not None)
        kind = checked.variables[path].type
        units = conversion.units if conversion is not None else text_of(attributes_of(checked, path), "units")
        word = "double" if is_packed else "String" if not is_number else JAVA.get(kind, kind)
        columns.append(TableColumn(checked.variables[path].name, word, units))
    return TextTable(tuple(columns), _rows(grid, query.ranges, paths), with_units=True)


def _rows(grid: Grid, ranges: tuple[range, ...], paths: Sequence[str]) -> Iterator[list[Sequence[Cell]]]:
    """Yield the rows of cells, some at once."""
    checked = grid.checked
    coordinates = [_axis_texts(axis, part) for axis, part in zip(grid.axes, ranges, strict=True)]
    inner = list(itertools.product(*coordinates[1:]))
    parts = (part for path in paths for part in checked.parts.get(path, {}).values())
    heights = (int(part.layout.chunks[0]) for part in parts if chunk_size(part))
    step = max(1, BLOCK // max(1, len(inner)), *heights)
    for start in range(0, len(ranges[0]), step):
        part = (ranges[0][start : start + step], *ranges[1:])
        columns = [_texts(checked, path, part) for path in paths]
        places = ((outer, *place) for outer in coordinates[0][start : start + step] for place in inner)
        yield [(*place, *values) for place, values in zip(places, zip(*columns, strict=True), strict=True)]


def _make_axis_table(grid: Grid, query: GridQuery) -> TextTable:
    """Return a table of coordinates alone; those of shorter dimensions end with missing ones."""
    axes = [number for name in query.coordinates if (number := grid.find_axis(name)) is not None]
    columns = tuple(_axis_column(grid, grid.axes[number]) for number in axes)
    texts = [_axis_texts(grid.axes[number], query.ranges[number]) for number in axes]
    return TextTable(columns, [list(itertools.zip_longest(*texts))], with_units=True)


def _axis_column(grid: Grid, axis: GridAxis) -> TableColumn:
    kind = grid.checked.variables[names.join("/", axis.name)].type
    units = TIME if axis.is_time else text_of(attributes_of(grid.checked, names.join("/", axis.name)), "units")
    return TableColumn(axis.name, "String" if axis.is_time else JAVA.get(kind, kind), units)


def _axis_texts(axis: GridAxis, part: range) -> list[Cell]:
    """Return coordinates as texts, times in ISO 8601."""
    values = axis.values[part.start : part.stop : part.step]
    if not axis.is_time:
        return _number_texts(values, np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, np.bool_))
    return [None if text == "NaT" else text + "Z" for text in _iso(values)]


def _iso(seconds: NDArray[Any]) -> list[str]:
    """Return times as texts without their zone, to the millisecond where they are no whole seconds."""
    thousandths = np.where(np.isnan(seconds), -(2**63), np.round(np.nan_to_num(seconds) * 1000)).astype("i8")
    is_whole = (thousandths % 1000 == 0)[~np.isnan(seconds)].all()
    texts: list[str] = thousandths.astype("M8[ms]").astype("M8[s]" if is_whole else "M8[ms]").astype("U").tolist()
    return texts


def _number_texts(values: NDArray[Any], absent: NDArray[np.bool_]) -> list[Cell]:
    """Return numbers as texts, floats in the digits of doubles: clients make doubles of them."""
    kind = values.dtype.kind
    if kind in "iu":
        texts = list(map(str, values.reshape(-1).tolist()))
    else:
        absent = absent | ~np.isfinite(values)
        texts = list(map(repr, values.reshape(-1).tolist()))
    return [None if gone else text for text, gone in zip(texts, absent.reshape(-1).tolist(), strict=True)]


def _texts(checked: Checked, path: str, part: Sequence[range]) -> list[Cell]:
    """Return the values of a section as texts, unpacked, None where they are missing."""
    stored = read_outer(checked, path, [slice(each.start, each.stop, each.step) for each in part])
    if not is_numeric(checked, path):
        return [plain_text(value, absent="", errors="replace") for value in stored.reshape(-1)]
    return _number_texts(*physical(checked, path).mask(stored))


def _describe_rows(grid: Grid) -> Iterator[Sequence[Cell]]:
    """Yield the rows about a grid."""
    checked = grid.checked
    yield from _attribute_rows("NC_GLOBAL", checked.dataset.attributes)
    for axis in grid.axes:
        variable = checked.variables[names.join("/", axis.name)]
        steps = np.diff(axis.values.astype("f8"))
        is_even = bool(len(steps)) and bool(np.allclose(steps, steps[0], rtol=1e-4, atol=0))
        words = f"nValues={len(axis.values)}"
        if len(steps):
            mean = float(steps.mean())
            spacing = f"{mean / 86400:g} days" if axis.is_time and mean % 86400 == 0 else f"{mean:g}"
            words += f", evenlySpaced={str(is_even).lower()}, averageSpacing={spacing}"
        yield "dimension", axis.name, "", JAVA.get(variable.type, variable.type), words
        yield from _attribute_rows(axis.name, variable.attributes)
    axes = ", ".join(axis.name for axis in grid.axes)
    for name in grid.variables:
        variable = checked.variables[names.join("/", name)]
        yield "variable", name, "", JAVA.get(variable.type, variable.type), axes
        yield from _attribute_rows(name, variable.attributes)


def _attribute_rows(owner: str, attributes: Sequence[Attribute]) -> Iterator[Sequence[Cell]]:
    """Yield ("attribute", owner, name, Java type, value) for each attribute of an atomic type."""
    for attribute in attributes:
        value = attribute.value
        if value.type not in ATOMIC:
            continue
        if value.type in ("char", "string"):
            data = value.data if isinstance(value.data, tuple) else (value.data,)
            text = "\n".join(one.decode("utf-8", "replace").rstrip("\0") for one in data if isinstance(one, bytes))
            yield "attribute", owner, attribute.name, "String", text
            continue
        texts = map(repr, value.as_numbers())
        numbers = (SPECIAL.get(text, text) for text in texts)
        yield "attribute", owner, attribute.name, JAVA.get(value.type, value.type), ", ".join(numbers)
