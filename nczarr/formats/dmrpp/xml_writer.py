"""Lines of XML: tags with their attributes, and texts that are safe in them."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document has."""

_TEXT = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("\r"): "&#13;"}
_VALUE = {**_TEXT, ord('"'): "&quot;", ord("\n"): "&#10;", ord("\t"): "&#9;"}


def is_safe_text(text: str) -> bool:
    """Return whether a text can stand in a document."""
    return _UNSAFE.search(text) is None


def shown(data: bytes) -> str:
    """Return bytes as a text that can stand in a document; what cannot becomes U+FFFD."""
    return _UNSAFE.sub("\ufffd", data.decode("utf-8", "replace"))


def escaped(text: str) -> str:
    """Return a text as it is written between tags."""
    return text.translate(_TEXT)


def tag(name: str, /, *, closed: bool = True, **given: str | int | None) -> str:
    """Return a tag, with the attributes that have a value; `__` in the name of one is a colon."""
    written = (
        f' {key.replace("__", ":")}="{str(value).translate(_VALUE)}"'
        for key, value in given.items()
        if value is not None
    )
    return f"<{name}{''.join(written)}{'/' * closed}>"
