"""Coordinate types: latitude, longitude, vertical and time, told by units, `positive`, `axis` and standard names."""

from __future__ import annotations

import re

from nczarr.pipeline.select.physical import LONGITUDE_UNITS
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
