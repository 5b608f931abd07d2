"""Kinds of netCDF file and their spellings (`_Format`, `--kind`)."""

from __future__ import annotations

from nczarr.ast.dataset import Kind

KIND_NAMES: dict[Kind, str] = {
    "nc3": "classic",
    "nc6": "64-bit offset",
    "nc5": "CDF-5",
    "nc4": "netCDF-4",
    "nc7": "netCDF-4 classic model",
}
"""Names of kinds in messages."""

_SPELLED: dict[Kind, str] = {
    "nc3": "classic|nc3|1",
    "nc6": "64-bit offset|64-bit-offset|nc6|2",
    "nc4": "netCDF-4|nc4|3|netCDF4|hdf5|enhanced|netcdf-4|netcdf4",
    "nc7": "netCDF-4 classic model|nc7|4|netCDF-4-classic|netCDF-4_classic|netCDF4_classic|hdf5-nc3|enhanced-nc3",
    "nc5": "5|64-bit-data|64-bit data|nc5|cdf5|cdf-5|CDF-5|CDF5",
}

KIND_SPELLINGS: dict[str, Kind] = {word: kind for kind, words in _SPELLED.items() for word in words.split("|")}
"""All accepted spellings (those of ncgen, and the output of ncdump)."""

HDF5_KINDS: tuple[Kind, ...] = ("nc4", "nc7")
"""Kinds stored as HDF5 files."""

RESERVED_ATTRIBUTES = frozenset(
    {
        *("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"),
        *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict"),
    }
)
"""Attribute names by which HDF5 files mark dimensions; the netCDF library refuses other uses."""
