"""Appendix A: types of attributes."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset

TEXTS = ("axis", "calendar", "cf_role", "computed_standard_name", "formula_terms", "geometry_type",
         "instance_dimension", "interior_ring", "long_name", "node_coordinates", "node_count", "nodes",
         "part_node_count", "positive", "sample_dimension", "featureType")  # fmt: skip
"""Texts whose type no other topic checks."""

NUMBERS = ("actual_range", "add_offset", "leap_month", "leap_year", "month_lengths", "scale_factor",
           "standard_error_multiplier", "valid_max", "valid_min", "valid_range")  # fmt: skip


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find texts that are numbers, and numbers that are texts."""
    for owner in dataset.owners:
        for name, attribute in owner.attributes.items():
            kind = owner.kind(name)
            if name in TEXTS and kind != "text":
                yield Breach("text", f"`{name}` of `{owner.path}` is not a text", attribute)
            if name in NUMBERS and kind == "text":
                yield Breach("number", f"`{name}` of `{owner.path}` is a text, not a number", attribute)


TOPIC = Topic(load_rules("attributes"), find)
