"""2.4 Dimensions: different names, and their order."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.axes import axis_of
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset


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


TOPIC = Topic(load_rules("dimensions"), find)
