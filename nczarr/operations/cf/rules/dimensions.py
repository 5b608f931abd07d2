"""2.4 Dimensions: different names, and their order."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.axes import axis_of
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import CFDataset

R = Rules("cf-dimension", "2.4")

RULES = (
    R.must("distinct", "The dimensions of a variable have different names.",
        "dimensions: x = 2 ; y = 2 ; variables: float v(x, «x|y») ;", "define a second dimension of the same length"),
    R.should("order", "Dimensions of time, height, latitude and longitude stand in the order T, Z, Y, X.",
        'dimensions: lat = 2 ; lon = 2 ; variables: float lat(lat) ; lat:units = "degrees_north" ; '
        'float lon(lon) ; lon:units = "degrees_east" ; float v(«lon, lat|lat, lon») ;', "transpose the variable"),
)  # fmt: skip


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find repeated dimensions, and dimensions in another order."""
    for variable in dataset.variables.values():
        named = [dimension for dimension in variable.dimensions if isinstance(dimension, str)]
        repeated = next((dimension for dimension in named if named.count(dimension) > 1), None)
        if repeated is not None:
            text = f"`{variable.path}` has the dimension `{dataset.label(repeated)}` twice"
            yield Breach("distinct", text, variable.node)
    for variable in dataset.variables.values():
        axes = []
        for dimension in variable.dimensions:
            coordinate = dataset.coordinate_of(dimension, variable.group)
            axes.append("" if coordinate is None else axis_of(coordinate))
        spatial = [axis for axis in axes if axis]
        if spatial != sorted(spatial, key="TZYX".index):
            names_of = ", ".join(map(dataset.label, variable.dimensions))
            text = f"the dimensions of `{variable.path}` ({names_of}) are in the order {' '.join(spatial)}"
            yield Breach("order", text, variable.node)


TOPIC = Topic(RULES, find)
