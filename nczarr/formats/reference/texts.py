"""Inline data ↔ text of a document."""

from __future__ import annotations

import binascii
import re

TEXT = "base64:"
"""Prefix of base64 texts."""

_PRINTABLE = re.compile(rb"[\t\n\r\x20-\x7e]*")


def data_of(text: str) -> bytes:
    """Return the bytes of a text; base64 is parsed leniently. Raises binascii.Error."""
    if not text.startswith(TEXT):
        return text.encode()
    return binascii.a2b_base64(text[len(TEXT) :].encode("utf-8", "surrogatepass"))


def text_of(data: bytes) -> str:
    """Return the text of bytes: unchanged if printable ASCII, else base64."""
    if _PRINTABLE.fullmatch(data) and not data.startswith(TEXT.encode()):
        return data.decode("ascii")
    return TEXT + binascii.b2a_base64(data, newline=False).decode("ascii")
