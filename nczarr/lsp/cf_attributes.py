"""Attributes of the CF conventions and of netCDF with a line about each, and words that their values may have."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.values.time_units import CALENDARS
from nczarr.operations.cf.rule import VERSIONS, show_version
from nczarr.operations.cf.rules.cell_methods import METHODS
from nczarr.operations.cf.rules.coordinate_systems import MAPPINGS
from nczarr.operations.cf.rules.geometries import LEAST
from nczarr.operations.cf.rules.sampling import FEATURES, ROLES
from nczarr.operations.cf.rules.time_coordinates import ATOMIC


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


_A = AttributeDocument
_CONVENTIONS = tuple(f"CF-{show_version(version)}" for version in reversed(VERSIONS))
UNITS = (
    "1", "K", "degC", "degree", "degrees_north", "degrees_east", "radian", "m", "cm", "mm", "km", "m2", "m3", "s", "h",
    "day", "days since 1970-01-01", "hours since 1900-01-01", "seconds since 1970-01-01 00:00:00", "m s-1", "m s-2",
    "m2 s-2", "Pa", "hPa", "dbar", "kg", "g", "kg m-2", "kg m-3", "kg m-2 s-1", "kg kg-1", "g kg-1", "W m-2", "J m-2",
    "J kg-1", "N m-2", "mol m-3", "mol m-2 s-1", "mol mol-1", "1e-3", "1e-6", "percent", "%", "s-1", "Hz", "V", "dBZ",
)  # fmt: skip
"""Usual units; those of standard names are added."""

ATTRIBUTES: dict[str, AttributeDocument] = {
    "Conventions": _A("Conventions that the dataset follows.", "g", _CONVENTIONS),
    "title": _A("A short description of the dataset.", "g"),
    "institution": _A("Where the data were produced.", "vg"),
    "source": _A("How the data were produced: model and version, or instrument.", "vg"),
    "history": _A("Changes of the data, with times and commands.", "g"),
    "references": _A("Publications or pages that describe the data.", "vg"),
    "comment": _A("Other information.", "vg"),
    "featureType": _A("Kind of discrete sampling geometry.", "g", FEATURES),
    "external_variables": _A("Names of variables in other files.", "g"),
    "units": _A("Units of the values, as UDUNITS understands them; `1` for numbers without a dimension."),
    "standard_name": _A("Name of the quantity from CF's table of standard names."),
    "long_name": _A("Description of the variable for people and plots."),
    "axis": _A("Axis of a coordinate variable.", words=("X", "Y", "Z", "T")),
    "positive": _A("Direction in which values of a vertical coordinate increase.", words=("up", "down")),
    "calendar": _A("Calendar of a time coordinate.", words=(*CALENDARS, *ATOMIC, "none")),
    "units_metadata": _A(
        "How units of temperature or of time are meant.",
        words=(
            "temperature: on_scale", "temperature: difference", "temperature: unknown", "leap_seconds: none",
            "leap_seconds: utc", "leap_seconds: unknown",
        ),
    ),
    "coordinates": _A("Names of auxiliary coordinate variables, between blanks.", mentions=True),
    "bounds": _A("Name of the variable with the limits of the cells.", mentions=True),
    "climatology": _A("Name of the variable with the limits of climatological cells.", mentions=True),
    "ancillary_variables": _A("Names of variables with data about the values, such as quality.", mentions=True),
    "cell_measures": _A(
        "Names of variables with areas or volumes: `area: areacella`.", words=("area:", "volume:"), mentions=True
    ),
    "cell_methods": _A("How a value represents its cell: `time: mean`.", words=METHODS),
    "grid_mapping": _A("Name of the variable with the map projection.", mentions=True),
    "grid_mapping_name": _A("Name of the map projection.", words=tuple(MAPPINGS)),
    "formula_terms": _A("Variables of the formula of a vertical coordinate: `a: a b: b ps: ps`.", mentions=True),
    "computed_standard_name": _A("Standard name of what `formula_terms` computes."),
    "compress": _A("Names of the dimensions that are compressed by gathering."),
    "geometry": _A("Name of the variable that contains the geometries.", mentions=True),
    "geometry_type": _A("Kind of geometry.", words=tuple(LEAST)),
    "node_coordinates": _A("Names of the coordinates of nodes.", mentions=True),
    "node_count": _A("Name of the variable with the number of nodes of each geometry.", mentions=True),
    "part_node_count": _A("Name of the variable with the number of nodes of each part.", mentions=True),
    "interior_ring": _A("Name of the variable that marks interior rings.", mentions=True),
    "nodes": _A("Name of the variable with the nodes of a coordinate.", mentions=True),
    "instance_dimension": _A("Name of the dimension whose index each element has."),
    "sample_dimension": _A("Name of the dimension along which the elements are counted."),
    "cf_role": _A("Role in a discrete sampling geometry.", words=ROLES),
    "flag_values": _A("Values of flags, in the type of the variable."),
    "flag_masks": _A("Bits of flags, in the type of the variable."),
    "flag_meanings": _A("A word for each of `flag_values` or `flag_masks`."),
    "valid_range": _A("Smallest and largest valid value."),
    "valid_min": _A("Smallest valid value."),
    "valid_max": _A("Largest valid value."),
    "actual_range": _A("Smallest and largest value that occurs."),
    "_FillValue": _A("Value of cells without data, one value of the variable's type."),
    "missing_value": _A("Value of missing data; prefer `_FillValue`."),
    "scale_factor": _A("Packed values are multiplied by it."),
    "add_offset": _A("It is added to packed values after the multiplication."),
    "leap_month": _A("Month with the additional day in leap years."),
    "leap_year": _A("A leap year of the calendar."),
    "month_lengths": _A("Days of each month in a calendar of its own."),
    "standard_error_multiplier": _A("Multiple of the standard error that the values are."),
    "_Storage": _A("Layout in an HDF5 file.", words=("contiguous", "compact", "chunked")),
    "_ChunkSizes": _A("Chunk length of each dimension."),
    "_DeflateLevel": _A("Level of deflate, 0 to 9."),
    "_Shuffle": _A("Whether bytes are shuffled before compression.", words=("true", "false")),
    "_Fletcher32": _A("Whether chunks have checksums.", words=("true", "false")),
    "_Endianness": _A("Byte order of stored values.", words=("little", "big")),
    "_NoFill": _A("Whether cells that were never written are undefined.", words=("true", "false")),
    "_Filter": _A("Numbers and parameters of HDF5 filters: `32015,5`."),
    "_Format": _A("Kind of netCDF file.", "g", ("classic", "64-bit offset", "netCDF-4", "netCDF-4 classic model")),
}  # fmt: skip
"""Attributes by name."""
