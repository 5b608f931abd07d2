"""4.1 Latitude coordinate, and 4.2 Longitude coordinate."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.axes import LATITUDE_UNITS, LONGITUDE_UNITS
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset

ACCEPTED = {"latitude": LATITUDE_UNITS, "longitude": LONGITUDE_UNITS}


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find units by which readers do not recognise a latitude or longitude."""
    for variable in dataset.variables.values():
        name, units = variable.text("standard_name"), variable.text("units")
        if name in ACCEPTED and units and units not in ACCEPTED[name] and dataset.holds_coordinates(variable):
            what = f"the units of `{variable.path}`, which is a {name}, are `{units}`"
            yield Breach(name, what, variable.attributes["units"])


TOPIC = Topic(load_rules("latitude"), find)
