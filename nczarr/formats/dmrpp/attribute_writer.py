"""Attributes of the model → elements of a document."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from nczarr.arrays.parts import Types
from nczarr.ast import ATOMIC, Attribute, Constant, EnumType
from nczarr.formats.dmrpp.wire import DAP4_OF, dap4_name, number_of, text_of
from nczarr.formats.dmrpp.xml_writer import escaped, is_safe_text, shown, tag


def attribute_lines(attributes: tuple[Attribute, ...], types: Types, step: str) -> Iterator[str]:
    """Yield the lines of attributes, except those of compound, vlen and opaque types."""
    for attribute in attributes:
        value, declared = attribute.value, types.get(attribute.value.type)
        base = declared.base if isinstance(declared, EnumType) else value.type
        if base not in ATOMIC:
            continue
        ours = dap4_name(value.type) if declared is not None else None
        if value.type in ("char", "string"):
            texts, ours, data = _texts(value)
        else:
            texts, data = _numbers(value, base)
        yield step + tag(
            "Attribute", name=attribute.name, type=DAP4_OF[base], nczarr__type=ours, nczarr__data=data, closed=False
        )
        yield from (f"{step}    <Value>{escaped(text)}</Value>" for text in texts)
        yield f"{step}</Attribute>"


def _texts(value: Constant) -> tuple[list[str], str | None, str | None]:
    """Return the texts of a value, our type name unless implied, and its bytes if inexact."""
    items = (value.data,) if isinstance(value.data, bytes) else value.data
    texts = [shown(item) if isinstance(item, bytes) else "" for item in items]
    exact = all(text.encode() == item and is_safe_text(text) for text, item in zip(texts, items, strict=True))
    words = ["-" if not isinstance(item, bytes) else base64.b64encode(item).decode() for item in items]
    ours = "string" if value.type == "string" and (len(items) < 2 or not exact) else None
    return texts, ours, None if exact else " ".join(words)


def _numbers(value: Constant, base: str) -> tuple[list[str], str | None]:
    """Return the texts of numbers, and their bytes if the texts are not exact."""
    assert isinstance(value.data, bytes)
    width = ATOMIC[base].size
    numbers = [value.data[at : at + width] for at in range(0, len(value.data), width)]
    texts = [text_of(number, base) for number in numbers]
    exact = all(number_of(text, base) == number for text, number in zip(texts, numbers, strict=True))
    return texts, None if exact else base64.b64encode(value.data).decode()
