"""Codes of classic netCDF files (the netCDF file format specifications)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

_ZERO = "\0\0\0\0"
_HEAD = "CDF\x01" + _ZERO * 5 + "\0\0\0\x0b\0\0\0\x01" + "\0\0\0\x01x\0\0\0" + _ZERO * 3 + "\0\0\0\x01"
"""A header up to the size of its one variable, a byte `x`; it goes on with that size and an offset."""

CODES = (
    Code(
        "bad-header",
        ERROR,
        "The header of a classic netCDF file breaks a rule of the format: an unknown version, tag or type, a negative "
        "number, a dimension that there is not, a second record dimension.",
        "CDF\x01" + _ZERO + "\0\0\0\x07" + _ZERO * 5,
        "The file is damaged, or was written by a faulty program: fetch or write it again.",
    ),
    Code(
        "truncated-header",
        ERROR,
        "A classic netCDF file ends within its header, or the header counts more than the file can hold.",
        "CDF\x01" + _ZERO + "\0\0",
        "The file was not copied to its end, or a count is damaged: fetch it again.",
    ),
    Code(
        "misplaced-values",
        ERROR,
        "The values of a variable begin within the header of a classic netCDF file, or within the values of another "
        "variable.",
        _HEAD + "\0\0\0\x04" + "\0\0\0\x10" + _ZERO,
        "An offset is damaged, or was written by a faulty program: fetch or write the file again.",
    ),
    Code(
        "missing-values",
        WARNING,
        "A classic netCDF file is shorter than its data. What it does not hold reads as zeros, as with the netCDF "
        "library. Where that is more than 1 MiB and more than the whole file, records are left out instead, and other "
        "values read as fill values.",
        _HEAD + "\0\0\0\x04" + "\0\0\0\x40",
        "The file was not copied or written to its end: fetch it again.",
    ),
    Code(
        "ignored-vsize",
        WARNING,
        "The size that a classic netCDF file gives a variable is not what its dimensions and type make. The "
        "dimensions count.",
        _HEAD + "\0\0\0\x09" + "\0\0\0\x40" + _ZERO,
        "Write the file again, with any netCDF library.",
    ),
)
