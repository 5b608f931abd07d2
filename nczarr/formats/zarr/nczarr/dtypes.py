"""Which arrays the netCDF library knows, and as what (nczarr-storage §4)."""

from __future__ import annotations

from nczarr.arrays.parts import NUMPY
from nczarr.arrays.source import Layout


def known_to_netcdf(layout: Layout) -> bool:
    """Whether the library can read an array: numbers, and texts of fixed length whose fill value it understands."""
    if not isinstance(layout.dtype, str) or layout.dtype[1] in "VO":
        return False
    if layout.dtype[1] == "S" and layout.dtype[0] == "|":
        return layout.fill is None or not layout.fill.strip(b"\0")
    return True


def said_type(layout: Layout) -> str:
    """The atomic type that the dtype says to a reader who finds nothing else."""
    dtype = layout.dtype
    if not isinstance(dtype, str) or dtype[1] == "V":
        return ""
    if dtype[1] in "SO":
        return "char" if dtype == ">S1" else "string"
    little = dtype.replace(">", "<")
    return next((name for name, known in NUMPY.items() if known == little), "")
