"""The kinds of netCDF file and how people spell them (`_Format`, `--kind`)."""

from __future__ import annotations

from nczarr.ast.dataset import Kind

KIND_NAMES: dict[Kind, str] = {
    "nc3": "classic",
    "nc6": "64-bit offset",
    "nc5": "CDF-5",
    "nc4": "netCDF-4",
    "nc7": "netCDF-4 classic model",
}
"""What messages call each kind."""

_SPELLED: dict[Kind, str] = {
    "nc3": "classic|nc3|1",
    "nc6": "64-bit offset|64-bit-offset|nc6|2",
    "nc4": "netCDF-4|nc4|3|netCDF4|hdf5|enhanced|netcdf-4|netcdf4",
    "nc7": "netCDF-4 classic model|nc7|4|netCDF-4-classic|netCDF-4_classic|netCDF4_classic|hdf5-nc3|enhanced-nc3",
    "nc5": "5|64-bit-data|64-bit data|nc5|cdf5|cdf-5|CDF-5|CDF5",
}

KIND_SPELLINGS: dict[str, Kind] = {word: kind for kind, words in _SPELLED.items() for word in words.split("|")}
"""Every accepted spelling (those of ncgen, and what ncdump prints)."""

HDF5_KINDS: tuple[Kind, ...] = ("nc4", "nc7")
"""The kinds that lie in HDF5 files."""

RESERVED_ATTRIBUTES = frozenset(
    {
        *("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"),
        *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict"),
    }
)
"""Names of attributes by which an HDF5 file says what is a dimension: the netCDF library refuses them as others."""
