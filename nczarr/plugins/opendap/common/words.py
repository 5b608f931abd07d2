"""Words of OPeNDAP documents: types with their layout in XDR (RFC 4506), names, numbers, texts, XML tags, requests."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterable
from typing import NamedTuple

from nczarr import names
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import ATOMIC, Constant
from nczarr.diagnostics.report import suggest


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


DAP4 = "http://xml.opendap.org/ns/DAP/4.0#"
DMRPP = "http://xml.opendap.org/dap/dmrpp/1.0.0#"
OURS = "urn:nczarr:dmrpp"
"""Namespace of attributes beyond DAP4. Other readers ignore them."""

PREFIXES = {
    DAP4: "", DAP4.replace("http", "https", 1): "", DMRPP: "dmrpp:", DMRPP.replace("http", "https", 1): "dmrpp:",
    OURS: "nczarr:",
}  # fmt: skip
"""Name prefixes in parsed documents, by namespace."""

LEFT_OUT = "_nczarr_left_out"
"""Global attribute with a message for everything that a document lacks."""

_UNSAFE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2
"""Characters invalid in XML 1.0."""

# XML 1.0, 2.11: a reader makes a line feed of a bare carriage return
_TEXT = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("\r"): "&#13;"}
# XML 1.0, 3.3.3: a reader makes blanks of line feeds and tabs in attributes
_VALUE = {**_TEXT, ord('"'): "&quot;", ord("\n"): "&#10;", ord("\t"): "&#9;"}


def number_bytes(text: str, type_name: str) -> bytes | None:
    """Return a number's little-endian bytes, None for invalid text."""
    atomic, text = ATOMIC[type_name], text.strip()
    try:
        value = float(text) if atomic.is_float else int(text) if len(text) < 24 else None
        return None if value is None or "_" in text else struct.pack("<" + atomic.code, value)
    except (ValueError, OverflowError, struct.error):
        return None


def text_of(data: bytes, type_name: str) -> str:
    """Return the text of a little-endian number; a float in the digits of a double: clients compare it as one."""
    (value,) = struct.unpack("<" + ATOMIC[type_name].code, data)
    return repr(value)


def dap4_name(fqn: str) -> str:
    """Return a FQN in DAP4 notation."""
    return "".join("/" + part.replace("\\", "\\\\") for part in names.split(fqn))


def is_safe_text(text: str) -> bool:
    """Return whether a text contains only characters valid in XML."""
    return _UNSAFE.search(text) is None


def show(data: bytes) -> str:
    """Decode bytes to text valid in XML; other characters become U+FFFD."""
    return _UNSAFE.sub("\ufffd", data.decode("utf-8", "replace"))


def escape(text: str) -> str:
    """Escape a text for element content."""
    return text.translate(_TEXT)


def tag(name: str, /, *, closed: bool = True, **members: str | int | None) -> str:
    """Return a tag with the attributes that are not None; `__` in a name becomes a colon."""
    written = (
        f' {key.replace("__", ":")}="{str(value).translate(_VALUE)}"'
        for key, value in members.items()
        if value is not None
    )
    return f"<{name}{''.join(written)}{'/' * closed}>"


def texts_of(value: Constant) -> tuple[list[str], str | None, str | None]:
    """Return the texts of a value, our type name unless implied, and its bytes if inexact."""
    items = (value.data,) if isinstance(value.data, bytes) else value.data
    texts = [show(item) if isinstance(item, bytes) else "" for item in items]
    exact = all(text.encode() == item and is_safe_text(text) for text, item in zip(texts, items, strict=True))
    words = ["-" if not isinstance(item, bytes) else base64.b64encode(item).decode() for item in items]
    ours = "string" if value.type == "string" and (len(items) < 2 or not exact) else None
    return texts, ours, None if exact else " ".join(words)


def numbers_of(value: Constant, base: str) -> tuple[list[str], str | None]:
    """Return the texts of numbers, and their bytes if the texts are not exact."""
    assert isinstance(value.data, bytes)
    width = ATOMIC[base].size
    numbers = [value.data[at : at + width] for at in range(0, len(value.data), width)]
    texts = [text_of(number, base) for number in numbers]
    exact = all(number_bytes(text, base) == number for text, number in zip(texts, numbers, strict=True))
    return texts, None if exact else base64.b64encode(value.data).decode()


MOST_CLAUSES = 1000
"""Maximum clauses of one expression."""


class ConstraintError(ValueError):
    """An invalid constraint expression; the text says why."""


def missing(kind: str, written: str, name: str, others: Iterable[str]) -> ConstraintError:
    """Return the error of a written name that the dataset lacks. `others`: names that are like `name`, perhaps."""
    return ConstraintError("; ".join((f"there is no {kind} `{written[:80]}`", *suggest(name[:80], others))))
