"""Constants of DAP4 documents: namespaces and types; the texts of numbers and names; lines of XML."""

from __future__ import annotations

import re
import struct

from nczarr import names
from nczarr.ast import ATOMIC
from nczarr.ast.values import shortest

DAP4 = "http://xml.opendap.org/ns/DAP/4.0#"
DMRPP = "http://xml.opendap.org/dap/dmrpp/1.0.0#"
OURS = "urn:nczarr:dmrpp"
"""Namespace of attributes beyond DAP4. Other readers ignore them."""

PREFIXES = {
    DAP4: "", DAP4.replace("http", "https", 1): "", DMRPP: "dmrpp:", DMRPP.replace("http", "https", 1): "dmrpp:",
    OURS: "nczarr:",
}  # fmt: skip
"""Name prefixes in parsed documents, by namespace."""

ATOMIC_OF = {
    "Byte": "ubyte", "UByte": "ubyte", "UInt8": "ubyte", "Int8": "byte", "Char": "char", "Int16": "short",
    "UInt16": "ushort", "Int32": "int", "UInt32": "uint", "Int64": "int64", "UInt64": "uint64", "Float32": "float",
    "Float64": "double", "String": "string", "URL": "string", "Url": "string", "URI": "string",
}  # fmt: skip
"""Atomic types of the model by their DAP4 names."""

DAP4_OF = {
    "ubyte": "Byte", "byte": "Int8", "short": "Int16", "ushort": "UInt16", "int": "Int32", "uint": "UInt32",
    "int64": "Int64", "uint64": "UInt64", "float": "Float32", "double": "Float64", "char": "String", "string": "String",
}  # fmt: skip
"""DAP4 names by atomic type. Hyrax represents chars as strings of one byte."""

LEFT_OUT = "_nczarr_left_out"
"""Global attribute with a message for everything that a document lacks."""

VARIABLES = frozenset({*ATOMIC_OF, "Enum", "Structure", "Sequence", "Opaque"})
"""Elements that declare a variable."""

_UNSAFE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters invalid in XML 1.0."""

_TEXT = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("\r"): "&#13;"}
_VALUE = {**_TEXT, ord('"'): "&quot;", ord("\n"): "&#10;", ord("\t"): "&#9;"}


def number_of(text: str, type_name: str) -> bytes | None:
    """Return a number's little-endian bytes, None for invalid text."""
    atomic, text = ATOMIC[type_name], text.strip()
    try:
        value = float(text) if atomic.is_float else int(text) if len(text) < 24 else None
        return None if value is None or "_" in text else struct.pack("<" + atomic.code, value)
    except (ValueError, OverflowError, struct.error):
        return None


def text_of(data: bytes, type_name: str) -> str:
    """Return the shortest text of a little-endian number."""
    (value,) = struct.unpack("<" + ATOMIC[type_name].code, data)
    return shortest(value, type_name) if ATOMIC[type_name].is_float else str(value)


def dap4_name(fqn: str) -> str:
    """Return a FQN in DAP4 notation."""
    return "".join("/" + part.replace("\\", "\\\\") for part in names.split(fqn))


def is_safe_text(text: str) -> bool:
    """Return whether a text contains only characters valid in XML."""
    return _UNSAFE.search(text) is None


def shown(data: bytes) -> str:
    """Decode bytes to text valid in XML; other characters become U+FFFD."""
    return _UNSAFE.sub("\ufffd", data.decode("utf-8", "replace"))


def escaped(text: str) -> str:
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
