"""Data as the text of a document, and back."""

from __future__ import annotations

import binascii
import re

TEXT = "base64:"
"""How a text begins that stands for bytes."""

_PRINTABLE = re.compile(rb"[\t\n\r\x20-\x7e]*")


def data_of(text: str) -> bytes:
    """The bytes that a text stands for; base64 is read leniently. Raises binascii.Error: it is broken."""
    if not text.startswith(TEXT):
        return text.encode()
    return binascii.a2b_base64(text[len(TEXT) :].encode("utf-8", "surrogatepass"))


def text_of(data: bytes) -> str:
    """A text that stands for some bytes: themselves where they are printable ASCII, else base64."""
    if _PRINTABLE.fullmatch(data) and not data.startswith(TEXT.encode()):
        return data.decode("ascii")
    return TEXT + binascii.b2a_base64(data, newline=False).decode("ascii")
