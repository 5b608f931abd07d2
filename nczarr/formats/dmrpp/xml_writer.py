"""XML lines: tags with attributes, and escaped texts."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters invalid in XML 1.0."""

_TEXT = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("\r"): "&#13;"}
_VALUE = {**_TEXT, ord('"'): "&quot;", ord("\n"): "&#10;", ord("\t"): "&#9;"}


def is_safe_text(text: str) -> bool:
    """Return whether a text contains only characters valid in XML."""
    return _UNSAFE.search(text) is None


def shown(data: bytes) -> str:
    """Decode bytes to text valid in XML; other characters become U+FFFD."""
    return _UNSAFE.sub("\ufffd", data.decode("utf-8", "replace"))


def escaped(text: str) -> str:
    """Escape a text for element content."""
    return text.translate(_TEXT)


def tag(name: str, /, *, closed: bool = True, **given: str | int | None) -> str:
    """Return a tag with the attributes that are not None; `__` in a name becomes a colon."""
    written = (
        f' {key.replace("__", ":")}="{str(value).translate(_VALUE)}"'
        for key, value in given.items()
        if value is not None
    )
    return f"<{name}{''.join(written)}{'/' * closed}>"
