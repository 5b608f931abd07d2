"""4.3 Vertical coordinate: the attribute `positive`."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.axes import PRESSURE_UNITS, axis_of
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.udunits import UNJUDGED
from nczarr.operations.cf.view import CFDataset

DIRECTIONS = {"depth": "down", "height": "up", "altitude": "up"}


def find(dataset: CFDataset) -> Iterator[Breach]:
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


TOPIC = Topic(load_rules("vertical"), find)
