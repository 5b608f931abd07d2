"""4.1 to 4.3 Coordinate types in space."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.pipeline.select.physical import LONGITUDE_UNITS
from nczarr.plugins.cf.coordinates import LATITUDE_UNITS, PRESSURE_UNITS, axis_of, units_axis
from nczarr.plugins.cf.rule import Breach, find_no_text
from nczarr.plugins.cf.udunits import UNJUDGED
from nczarr.plugins.cf.view import CFDataset


# ---- 4 Coordinate types: the attribute `axis` -------------------------------------------------------------------
def check_axis(dataset: CFDataset) -> Iterator[Breach]:
    """Find axes that are unknown, contradict the units, or appear twice."""
    for variable, node in dataset.having("axis"):
        yield from find_no_text(variable, "axis", "value")
        letter, implied = variable.text("axis").upper(), units_axis(variable)
        if letter not in ("X", "Y", "Z", "T"):
            yield Breach("value", f"`axis` of `{variable.path}` is `{variable.text('axis')}`", node)
        elif implied and implied != letter:
            what = f"`axis` of `{variable.path}` is `{letter}`, and its units or `positive` say `{implied}`"
            yield Breach("units", what, node)
        if not (dataset.holds_coordinates(variable) or dataset.is_boundary(variable)):
            yield Breach("place", f"`{variable.path}` has `axis`, and is not a coordinate", node)
    for variable in dataset.data:
        letters: dict[str, str] = {}
        for coordinate in dataset.coordinates_of(variable):
            letter = coordinate.text("axis").upper()
            other = letters.setdefault(letter, coordinate.path) if letter else coordinate.path
            if other != coordinate.path:
                what = (
                    f"`{variable.path}` has two coordinates with the axis {letter}: `{other}` and `{coordinate.path}`"
                )
                yield Breach("duplicate", what, variable.node)


# ---- 4.1 Latitude coordinate, and 4.2 Longitude coordinate ------------------------------------------------------
ACCEPTED = {"latitude": LATITUDE_UNITS, "longitude": LONGITUDE_UNITS}


def check_latitude(dataset: CFDataset) -> Iterator[Breach]:
    """Find units by which readers do not recognise a latitude or longitude."""
    for variable in dataset.variables.values():
        name, units = variable.text("standard_name"), variable.text("units")
        if name in ACCEPTED and units and units not in ACCEPTED[name] and dataset.holds_coordinates(variable):
            what = f"the units of `{variable.path}`, which is a {name}, are `{units}`"
            yield Breach(name, what, variable.attributes["units"])


# ---- 4.3 Vertical coordinate: the attribute `positive` ----------------------------------------------------------
DIRECTIONS = {"depth": "down", "height": "up", "altitude": "up"}


def check_vertical(dataset: CFDataset) -> Iterator[Breach]:
    """Find directions that are unknown, or contradict the standard name."""
    for variable in dataset.variables.values():
        node = variable.attributes.get("positive")
        if node is None:
            units = variable.text("units")
            is_vertical = dataset.holds_coordinates(variable) and axis_of(variable) == "Z" and variable.is_numeric
            if is_vertical and units not in ("", "1", *UNJUDGED) and not PRESSURE_UNITS.fullmatch(units):
                what = f"the vertical coordinate `{variable.path}` in `{units}` has no `positive`"
                yield Breach("required", what, variable.node)
            continue
        direction, name = variable.text("positive").lower(), variable.standard_name
        expected = DIRECTIONS.get(name.split("_")[0]) if name.split("_")[1:2] in ([], ["above"], ["below"]) else None
        if direction not in ("up", "down"):
            yield Breach("positive", f"`positive` of `{variable.path}` is `{variable.text('positive')}`", node)
        elif expected is not None and direction != expected:
            yield Breach("direction", f"`{variable.path}` is a `{name}`, and its `positive` is `{direction}`", node)
