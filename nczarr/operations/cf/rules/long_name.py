"""3 and 3.2: names that describe variables."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find data variables and coordinates without a description."""
    for variable in dataset.variables.values():
        if "long_name" in variable.attributes or "standard_name" in variable.attributes:
            continue
        if dataset.is_boundary(variable) or dataset.is_container(variable) or dataset.is_structure(variable):
            continue
        yield Breach("described", f"`{variable.path}` has neither `long_name` nor `standard_name`", variable.node)


TOPIC = Topic(load_rules("long_name"), find)
