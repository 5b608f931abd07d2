"""Constants of the classic formats: magic numbers, list tags, type numbers.

Source: the netCDF file format specifications (classic, 64-bit offset, CDF-5).
All numbers are big-endian.
"""

from nczarr.ast import Kind

MAGIC: dict[Kind, bytes] = {"nc3": b"CDF\x01", "nc6": b"CDF\x02", "nc5": b"CDF\x05"}

ABSENT = 0
DIMENSION = 10
VARIABLE = 11
ATTRIBUTE = 12
"""Tags of the three header lists (NC_DIMENSION, NC_VARIABLE, NC_ATTRIBUTE); empty ones have ABSENT."""

TYPES: dict[str, int] = {
    "byte": 1, "char": 2, "short": 3, "int": 4, "float": 5, "double": 6,
    "ubyte": 7, "ushort": 8, "uint": 9, "int64": 10, "uint64": 11,
}  # fmt: skip
"""Type numbers; those from 7 on are CDF-5 only."""

TYPE_NAMES: dict[int, str] = {number: name for name, number in TYPES.items()}

LARGEST_VSIZE = 2**32 - 4
TOO_LARGE_VSIZE = 2**32 - 1
"""Written instead of a `vsize` above LARGEST_VSIZE in four bytes; readers compute it."""
