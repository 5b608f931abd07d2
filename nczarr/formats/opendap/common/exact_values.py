"""Values of attributes as texts of a document, with their bytes where the texts are not exact."""

from __future__ import annotations

import base64

from nczarr.ast import ATOMIC, Constant
from nczarr.formats.opendap.common.wire import is_safe_text, number_of, shown, text_of


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
