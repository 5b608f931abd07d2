"""5.8 Domain variables."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.breaches import find_missing_dimensions, find_no_text, name_dimensions
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset

DATA_ONLY = ("ancillary_variables", "cell_methods", "flag_masks", "flag_meanings", "flag_values", "standard_name",
             "units", "valid_range", "valid_min", "valid_max", "_FillValue", "missing_value")  # fmt: skip
"""Attributes of data variables that domain variables do not have."""


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find domains whose dimensions and coordinates do not agree."""
    for variable in dataset.variables.values():
        if not dataset.is_domain(variable):
            continue
        names_of = variable.text("dimensions").split()
        yield from find_no_text(variable, "dimensions")
        yield from find_missing_dimensions(dataset, variable, "dimensions", names_of)
        axes: set[object] = {dataset.resolve_dimension(name, variable.group) for name in names_of}
        axes |= {dataset.sampled.get(axis) for axis in axes}
        for attribute in ("coordinates", "cell_measures"):
            for other in dataset.list_named(variable, attribute):
                if not set(other.axes) <= axes:
                    what = f"`{other.name}` of the domain `{variable.path}` has the dimensions"
                    what = f"{what} {name_dimensions(dataset, other.axes)}"
                    yield Breach("coordinates", what, variable.attributes[attribute], other.name)
        if "long_name" not in variable.attributes:
            yield Breach("described", f"the domain `{variable.path}` has no `long_name`", variable.node)
        for name in DATA_ONLY:
            if name in variable.attributes:
                what = f"the domain `{variable.path}` has the attribute `{name}`"
                yield Breach("attributes", what, variable.attributes[name])


TOPIC = Topic(load_rules("domain"), find)
