"""Texts of DAP4 documents: namespaces, numbers, names, values of attributes, tags."""

from __future__ import annotations

import base64
import re
import struct

from nczarr import names
from nczarr.ast import ATOMIC, Constant
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

LEFT_OUT = "_nczarr_left_out"
"""Global attribute with a message for everything that a document lacks."""

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


def texts_of(value: Constant) -> tuple[list[str], str | None, str | None]:
    """Return the texts of a value, our type name unless implied, and its bytes if inexact."""
    items = (value.data,) if isinstance(value.data, bytes) else value.data
    texts = [shown(item) if isinstance(item, bytes) else "" for item in items]
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
    exact = all(number_of(text, base) == number for text, number in zip(texts, numbers, strict=True))
    return texts, None if exact else base64.b64encode(value.data).decode()
