"""Element types of DAP2, and their layout in XDR (RFC 4506)."""

from __future__ import annotations

from typing import NamedTuple


class ElementType(NamedTuple):
    """One type of elements."""

    word: str
    """Name in declarations."""
    scalar: str
    """NumPy dtype of a single value; empty for texts."""
    array: str
    """NumPy dtype of an element of an array; empty for texts."""


BYTE = ElementType("Byte", ">u4", "|u1")
INT16 = ElementType("Int16", ">i4", ">i4")
UINT16 = ElementType("UInt16", ">u4", ">u4")
INT32 = ElementType("Int32", ">i4", ">i4")
UINT32 = ElementType("UInt32", ">u4", ">u4")
FLOAT32 = ElementType("Float32", ">f4", ">f4")
FLOAT64 = ElementType("Float64", ">f8", ">f8")
STRING = ElementType("String", "", "")

ELEMENTS = {
    "ubyte": BYTE, "byte": INT16, "short": INT16, "ushort": UINT16, "int": INT32, "uint": UINT32,
    "int64": FLOAT64, "uint64": FLOAT64, "float": FLOAT32, "double": FLOAT64, "char": STRING, "string": STRING,
}  # fmt: skip
"""Element types by atomic type of the model.

`Byte` has no sign, so a signed byte is an `Int16`. The 64-bit integers are
`Float64`, which is exact up to 2**53; larger values are refused.
"""

ATOMIC_OF = {
    "byte": "ubyte", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint", "float32": "float",
    "float64": "double", "string": "string", "url": "string",
}  # fmt: skip
"""Atomic types of the model by the protocol's words, in lower case."""

EXACT = 1 << 53
"""Largest magnitude up to which all integers are doubles."""

WIDE = frozenset({"int64", "uint64"})
"""Atomic types whose values may not be exact."""

UNSIGNED = frozenset({"ubyte", "ushort", "uint"})
"""Atomic types that libnetcdf reads as signed ones of the same size."""
