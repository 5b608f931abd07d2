"""Topics of the conformance document: a TOML file with rules, and a function `check_TOPIC` in the chapter's module."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nczarr.plugins.cf.rule import Topic, load_rules

CHAPTERS = (
    ("netcdf_files", "conventions", "description", "external_variables", "data_types", "naming", "dimensions"),
    ("netcdf_files", "missing_data", "groups"),
    ("aggregation", "aggregation"),
    ("data_description", "units", "long_name", "standard_name", "ancillary_data", "flags"),
    ("coordinate_types", "axis", "latitude", "vertical"),
    ("formula_terms", "formula_terms"),
    ("time_coordinates", "time_units", "calendar"),
    ("coordinate_systems", "coordinates", "grid_mapping", "domain", "labels"),
    ("cells", "bounds", "cell_measures"),
    ("cell_methods", "cell_methods", "climatology", "anomaly"),
    ("geometries", "geometries"),
    ("dataset_size", "packed_data", "gathering", "subsampling", "quantization"),
    ("sampling", "sampling"),
    ("data_description", "attributes"),
)
"""Modules with their topics, in the order of the document."""


@cache
def load_topics() -> tuple[Topic, ...]:
    """Return all topics."""
    return tuple(
        Topic(load_rules(topic), getattr(import_module(f"{__name__}.{module}"), f"check_{topic}"))
        for module, *topics in CHAPTERS
        for topic in topics
    )
