"""Coordinates: axes, told by units, `positive`, `axis` and standard names, and values, read in bounded memory."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import linear_pieces
from nczarr.pipeline.select.physical import BLOCK, LONGITUDE_UNITS, physical
from nczarr.pipeline.select.reader import reader_of
from nczarr.plugins.cf.udunits import REFERENCE, UNJUDGED
from nczarr.plugins.cf.view import CFDataset, CFVariable

LATITUDE_UNITS = frozenset(("degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN"))

PRESSURE_UNITS = re.compile(r"(?:bar|millibar|decibar|dbar|mb|mbar|atmosphere|atm|pascal|[hk]?Pa|hectopascal)s?")

VERTICAL_NAMES = re.compile(
    r"altitude|height|depth|air_pressure|sea_water_pressure|geopotential_height|model_level_number"
    r"|(?:height|depth|altitude)_(?:above|below)_\w+|(?:atmosphere|ocean)_\w+_coordinate(?:_g[12])?"
)


def is_time_reference(variable: CFVariable) -> bool:
    """Return whether the units of a variable count time since a datetime."""
    return REFERENCE.match(variable.text("units").lstrip()) is not None


def is_time_coordinate(dataset: CFDataset, variable: CFVariable) -> bool:
    """Return whether a variable contains coordinates of time."""
    if not variable.is_numeric or not dataset.holds_coordinates(variable):
        return False
    return is_time_reference(variable) or variable.standard_name == "time" or variable.text("axis").upper() == "T"


def units_axis(variable: CFVariable) -> str:
    """Return the axis that units and `positive` imply: X, Y, Z, T, or an empty text."""
    units = variable.text("units")
    if units in LATITUDE_UNITS:
        return "Y"
    if units in LONGITUDE_UNITS:
        return "X"
    if is_time_reference(variable):
        return "T"
    if "positive" in variable.attributes or units in UNJUDGED or PRESSURE_UNITS.fullmatch(units):
        return "Z"
    return ""


def axis_of(variable: CFVariable) -> str:
    """Return the axis of a coordinate variable: X, Y, Z, T, or an empty text."""
    declared = variable.text("axis").upper()
    if declared in ("X", "Y", "Z", "T"):
        return declared
    implied = units_axis(variable)
    if implied:
        return implied
    name = variable.standard_name
    if name in ("latitude", "projection_y_coordinate", "grid_latitude", "projection_y_angular_coordinate"):
        return "Y"
    if name in ("longitude", "projection_x_coordinate", "grid_longitude", "projection_x_angular_coordinate"):
        return "X"
    if name == "time":
        return "T"
    return "Z" if VERTICAL_NAMES.fullmatch(name) else ""


LARGEST = 1 << 24
"""Cells above which the values of a variable are not read."""


def has_values(dataset: CFDataset, variable: CFVariable) -> bool:
    """Return whether a variable has values that may be read: a schema has no values, and long arrays are not read."""
    return variable.path in dataset.checked.parts and 0 < math.prod(variable.shape) <= LARGEST


def read_pieces(dataset: CFDataset, variable: CFVariable) -> Iterator[tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Yield physical values of numbers in C order, flat, and where they are missing. Raises OSError, CompileError."""
    reader, conversion = reader_of(dataset.checked, variable.path), physical(dataset.checked, variable.path)
    for region in linear_pieces(tuple(slice(0, length) for length in variable.shape), BLOCK):
        ranges = [range(part.start, part.stop) for part in region]
        values, missing = conversion.mask(reader.outer(variable.type, ranges))
        yield values.reshape(-1), missing.reshape(-1)


def read_numbers(dataset: CFDataset, variable: CFVariable) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return all physical values of a variable, and where they are missing, in its shape."""
    pieces = list(read_pieces(dataset, variable))
    values, missing = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    return values.reshape(variable.shape), missing.reshape(variable.shape)


def read_texts(dataset: CFDataset, variable: CFVariable) -> list[str]:
    """Return the texts of a variable of type char or string, without NULs and blanks at their ends."""
    reader = reader_of(dataset.checked, variable.path)
    values = reader.outer(variable.type, [range(length) for length in variable.shape])
    if variable.type == "char":
        rows = values.reshape(-1, variable.shape[-1]) if variable.shape else values.reshape(1, 1)
        texts = [row.tobytes().decode("utf-8", "replace") for row in np.ascontiguousarray(rows)]
    else:
        texts = [
            text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
            for text in values.reshape(-1).tolist()
        ]
    return [text.rstrip("\0 ") for text in texts]
