"""Topics of the conformance document: a module and a TOML file each; `load_topics` returns them in its order."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nczarr.operations.cf.rule import Topic

MODULES = (
    "conventions",
    "description",
    "external_variables",
    "data_types",
    "naming",
    "dimensions",
    "missing_data",
    "groups",
    "aggregation",
    "units",
    "long_name",
    "standard_name",
    "ancillary_data",
    "flags",
    "axis",
    "latitude",
    "vertical",
    "formula_terms",
    "time_units",
    "calendar",
    "coordinates",
    "grid_mapping",
    "domain",
    "labels",
    "bounds",
    "cell_measures",
    "cell_methods",
    "climatology",
    "anomaly",
    "geometries",
    "packed_data",
    "gathering",
    "subsampling",
    "quantization",
    "sampling",
    "attributes",
)


@cache
def load_topics() -> tuple[Topic, ...]:
    """Return all topics."""
    return tuple(import_module(f"{__name__}.{name}").TOPIC for name in MODULES)
