"""3 and 3.2: names that describe variables."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import CFDataset

R = Rules("cf-long-name", "3.2")

RULES = (
    R.should("described", "Variables have `long_name` or `standard_name`.",
        'float t ; «|t:long_name = "temperature" ;»', "write a `standard_name` of the table, or a `long_name`"),
)  # fmt: skip


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find data variables and coordinates without a description."""
    for variable in dataset.variables.values():
        if "long_name" in variable.attributes or "standard_name" in variable.attributes:
            continue
        if dataset.is_boundary(variable) or dataset.is_container(variable) or dataset.is_structure(variable):
            continue
        yield Breach("described", f"`{variable.path}` has neither `long_name` nor `standard_name`", variable.node)


TOPIC = Topic(RULES, find)
