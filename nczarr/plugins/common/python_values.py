"""Constants of attributes as values of Python."""

from typing import Any

from nczarr.ast import ATOMIC, Constant


def python_value(constant: Constant) -> Any:
    """Return a constant as a Python text, number or list of these; None for user-defined types.

    Texts lose NULs at their end; bytes that are not UTF-8 become U+FFFD.
    """
    if constant.type == "char" and isinstance(constant.data, bytes):
        return constant.data.rstrip(b"\0").decode("utf-8", "replace")
    if constant.type == "string":
        texts = [text.decode("utf-8", "replace") if isinstance(text, bytes) else "" for text in constant.data]
        return texts[0] if len(texts) == 1 else texts
    if not isinstance(constant.data, bytes) or constant.type not in ATOMIC:
        return None
    numbers = list(constant.as_numbers())
    return numbers[0] if len(numbers) == 1 else numbers
