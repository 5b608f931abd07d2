"""Attributes of the CF conventions and of netCDF with a line about each, and words that their values may have."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from nczarr.arrays.values.time_units import CF_CALENDARS
from nczarr.plugins.cf.rule import VERSIONS, show_version
from nczarr.plugins.cf.rules.cell_methods import METHODS
from nczarr.plugins.cf.rules.coordinate_systems import MAPPINGS
from nczarr.plugins.cf.rules.geometries import LEAST
from nczarr.plugins.cf.rules.sampling import FEATURES, ROLES
from nczarr.plugins.cf.rules.time_coordinates import ATOMIC


class AttributeDocument(NamedTuple):
    """Meaning of an attribute."""

    text: str
    """One sentence."""
    owners: str = "v"
    """`v` for variables, `g` for groups, `vg` for both."""
    words: tuple[str, ...] = ()
    """Words that the value may have."""
    mentions: bool = False
    """True if the value names variables."""


_CONVENTIONS = tuple(f"CF-{show_version(version)}" for version in reversed(VERSIONS))
UNITS = (
    "1", "K", "degC", "degree", "degrees_north", "degrees_east", "radian", "m", "cm", "mm", "km", "m2", "m3", "s", "h",
    "day", "days since 1970-01-01", "hours since 1900-01-01", "seconds since 1970-01-01 00:00:00", "m s-1", "m s-2",
    "m2 s-2", "Pa", "hPa", "dbar", "kg", "g", "kg m-2", "kg m-3", "kg m-2 s-1", "kg kg-1", "g kg-1", "W m-2", "J m-2",
    "J kg-1", "N m-2", "mol m-3", "mol m-2 s-1", "mol mol-1", "1e-3", "1e-6", "percent", "%", "s-1", "Hz", "V", "dBZ",
)  # fmt: skip
"""Usual units; those of standard names are added."""

_WORDS: dict[str, Iterable[str]] = {
    "Conventions": _CONVENTIONS,
    "featureType": FEATURES,
    "calendar": (*CF_CALENDARS, *ATOMIC, "none"),
    "cell_methods": METHODS,
    "grid_mapping_name": MAPPINGS,
    "geometry_type": LEAST,
    "cf_role": ROLES,
}
"""Words of the values that the rules of CF list."""

ATTRIBUTES: dict[str, AttributeDocument] = {
    name: AttributeDocument(words=tuple(row.pop("words", _WORDS.get(name, ()))), **row)
    for name, row in tomllib.loads(Path(__file__).with_name("attributes.toml").read_text(encoding="utf-8")).items()
}
"""Attributes by name."""
