"""4 Coordinate types: the attribute `axis`."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.axes import units_axis
from nczarr.operations.cf.breaches import find_no_text
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find axes that are unknown, contradict the units, or appear twice."""
    for variable in dataset.variables.values():
        node = variable.attributes.get("axis")
        if node is None:
            continue
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


TOPIC = Topic(load_rules("axis"), find)
