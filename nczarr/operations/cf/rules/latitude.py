"""4.1 Latitude coordinate, and 4.2 Longitude coordinate."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.axes import LATITUDE_UNITS, LONGITUDE_UNITS
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import CFDataset

ACCEPTED = {"latitude": LATITUDE_UNITS, "longitude": LONGITUDE_UNITS}

RULES = (
    Rules("cf-latitude-longitude", "4.1").should("latitude",
        "The units of latitude are `degrees_north`, or another spelling of it.",
        'dimensions: y = 2 ; variables: float y(y) ; y:standard_name = "latitude" ; '
        'y:units = "«degrees|degrees_north»" ;', "write `degrees_north`"),
    Rules("cf-latitude-longitude", "4.2").should("longitude",
        "The units of longitude are `degrees_east`, or another spelling of it.",
        'dimensions: x = 2 ; variables: float x(x) ; x:standard_name = "longitude" ; '
        'x:units = "«degrees|degrees_east»" ;', "write `degrees_east`"),
)  # fmt: skip


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find units by which readers do not recognise a latitude or longitude."""
    for variable in dataset.variables.values():
        name, units = variable.text("standard_name"), variable.text("units")
        if name in ACCEPTED and units and units not in ACCEPTED[name] and dataset.holds_coordinates(variable):
            what = f"the units of `{variable.path}`, which is a {name}, are `{units}`"
            yield Breach(name, what, variable.attributes["units"])


TOPIC = Topic(RULES, find)
