"""Table of the type words of DAP2, DAP4 and DMR++, with the layout of values in XDR (RFC 4506)."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import ATOMIC


class TypeWords(NamedTuple):
    """Names and XDR of one atomic type, as they are written."""

    dap2: str
    """Name in a DDS and DAS."""
    dap4: str
    """Name in a DMR of our server."""
    dmrpp: str
    """Name in a DMR++ document. Hyrax represents chars as strings of one byte."""
    scalar: str
    """NumPy dtype of a single value in XDR; empty for texts."""
    array: str
    """NumPy dtype of an element of an array in XDR; empty for texts."""


WORDS = {
    "ubyte": TypeWords("Byte", "UInt8", "Byte", ">u4", "|u1"),
    "byte": TypeWords("Int16", "Int8", "Int8", ">i4", ">i4"),
    "short": TypeWords("Int16", "Int16", "Int16", ">i4", ">i4"),
    "ushort": TypeWords("UInt16", "UInt16", "UInt16", ">u4", ">u4"),
    "int": TypeWords("Int32", "Int32", "Int32", ">i4", ">i4"),
    "uint": TypeWords("UInt32", "UInt32", "UInt32", ">u4", ">u4"),
    "int64": TypeWords("Float64", "Int64", "Int64", ">f8", ">f8"),
    "uint64": TypeWords("Float64", "UInt64", "UInt64", ">f8", ">f8"),
    "float": TypeWords("Float32", "Float32", "Float32", ">f4", ">f4"),
    "double": TypeWords("Float64", "Float64", "Float64", ">f8", ">f8"),
    "char": TypeWords("String", "Char", "String", "", ""),
    "string": TypeWords("String", "String", "String", "", ""),
}
"""Words by atomic type of the model.

`Byte` of DAP2 has no sign, so a signed byte is an `Int16`. Its 64-bit integers
are `Float64`, which is exact up to `EXACT`; larger values are refused.
"""

ATOMIC_OF_DAP2 = {
    "byte": "ubyte", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint", "float32": "float",
    "float64": "double", "string": "string", "url": "string",
}  # fmt: skip
"""Atomic types by the words of a DDS or DAS, in lower case."""

ATOMIC_OF_DAP4 = {words.dap4: name for name, words in WORDS.items()} | {
    "Byte": "ubyte", "UByte": "ubyte", "URL": "string", "Url": "string", "URI": "string",
}  # fmt: skip
"""Atomic types by the words of a DMR or DMR++ document."""

VARIABLES = frozenset({*ATOMIC_OF_DAP4, "Enum", "Structure", "Sequence", "Opaque"})
"""Elements that declare a variable in a DMR or DMR++ document."""

NUMBERS = frozenset(ATOMIC_OF_DAP2.values()) - {"string"}
"""Atomic types of numbers that DAP2 sends."""

NARROW = {name: 8 * ATOMIC[name].size for name in NUMBERS if ATOMIC[name].size < 4}
"""Bits of types whose single values take four bytes in XDR."""

FULL = {name: NUMPY[name].replace("<", ">") for name in NUMBERS - NARROW.keys()}
"""XDR dtypes of types that arrays and single values have alike."""

EXACT = 1 << 53
"""Largest magnitude up to which all integers are doubles."""

WIDE = frozenset({"int64", "uint64"})
"""Atomic types whose values may not be exact in DAP2."""

UNSIGNED = frozenset({"ubyte", "ushort", "uint"})
"""Atomic types that libnetcdf reads by DAP2 as signed ones of the same size."""


def xdr_padding(count: int) -> int:
    """Return the number of bytes that fill the last unit of four bytes."""
    return -count % 4
