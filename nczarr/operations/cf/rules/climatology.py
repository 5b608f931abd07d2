"""7.4 Climatological statistics."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.axes import is_time_coordinate, is_time_reference
from nczarr.operations.cf.breaches import find_missing, find_no_text
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset, CFVariable


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find climatological bounds that do not suit their time coordinate."""
    for variable in dataset.variables.values():
        node = variable.attributes.get("climatology")
        if node is None:
            continue
        text = variable.text("climatology")
        if not (is_time_coordinate(dataset, variable) or (variable.is_coordinate and is_time_reference(variable))):
            yield Breach("place", f"`{variable.path}` has `climatology`, and is not a time coordinate", node)
        yield from find_no_text(variable, "climatology")
        yield from find_missing(dataset, variable, "climatology", [text] if text else [])
        bounds = dataset.resolve(text, variable.group) if text else None
        if bounds is not None:
            yield from _find_bounds(variable, bounds)


def _find_bounds(variable: CFVariable, bounds: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["climatology"]
    if not bounds.is_numeric:
        yield Breach("numeric", f"the bounds `{bounds.path}` have the type `{bounds.type}`", node)
    if bounds.dimensions[:-1] != variable.dimensions or bounds.shape[-1:] != (2,):
        what = f"the dimensions of `{bounds.path}` are not those of `{variable.path}` and one of length 2"
        yield Breach("dimensions", what, node)
    for name in ("units", "standard_name", "calendar"):
        if name in bounds.attributes and bounds.value(name) != variable.value(name):
            what = f"`{name}` of `{bounds.path}` is not that of `{variable.path}`"
            yield Breach("agree", what, bounds.attributes[name])
    for name in ("_FillValue", "missing_value"):
        if name in bounds.attributes:
            yield Breach("fill", f"the bounds `{bounds.path}` have `{name}`", bounds.attributes[name])


TOPIC = Topic(load_rules("climatology"), find)
