"""5.8 Domain variables."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.breaches import find_missing_dimensions, find_no_text, name_dimensions
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import CFDataset

R = Rules("cf-domain", "5.8")

DATA_ONLY = ("ancillary_variables", "cell_methods", "flag_masks", "flag_meanings", "flag_values", "standard_name",
             "units", "valid_range", "valid_min", "valid_max", "_FillValue", "missing_value")  # fmt: skip
"""Attributes of data variables that domain variables do not have."""

_AXES = 'dimensions: x = 2 ; y = 2 ; variables: char d ; d:long_name = "domain" ; '

RULES = (
    R.must("text", "`dimensions` is a text with names of dimensions; it may be empty.", _AXES
        + 'd:dimensions = «1|"x"» ;', "write the names in one text", since=(1, 9)),
    R.must("exists", "The dimensions of a domain exist.", _AXES + 'd:dimensions = "«z|x»" ;', "correct the name",
        since=(1, 9)),
    R.must("coordinates", "Coordinates and cell measures of a domain have only its dimensions.", _AXES
        + 'd:dimensions = "x" ; d:coordinates = "c" ; float c(«y|x») ;', "add the dimension to `dimensions`",
        since=(1, 9)),
    R.should("described", "A domain variable has `long_name`.",
        'dimensions: x = 2 ; variables: char d ; d:dimensions = "x" ; «|d:long_name = "domain" ;»',
        "describe the domain", since=(1, 9)),
    R.should("attributes", "A domain variable has no attributes of data variables.", _AXES
        + 'd:dimensions = "x" ; «d:units = "m" ;|»', "remove the attribute", since=(1, 9)),
)  # fmt: skip


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


TOPIC = Topic(RULES, find)
