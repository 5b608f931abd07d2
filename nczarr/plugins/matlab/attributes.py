"""Attributes of MATLAB's objects: their classes, numbers and names of fields."""

from __future__ import annotations

from collections.abc import Iterable

from nczarr.ast.plain_json import plain
from nczarr.sdk import Attribute, Constant


def text_attribute(name: str, text: str) -> Attribute:
    """Return an attribute with a text."""
    return Attribute(name=name, value=Constant.text(text.encode()))


def find_text(attributes: Iterable[Attribute], name: str) -> str | None:
    """Return the text of an attribute; None without one."""
    value = next((plain(one.value).value for one in attributes if one.name == name), None)
    return value if isinstance(value, str) else None


def find_number(attributes: Iterable[Attribute], name: str) -> int:
    """Return the number of an attribute; 0 without one."""
    value = next((plain(one.value).value for one in attributes if one.name == name), 0)
    return value if isinstance(value, int) else 0


def list_fields(attributes: Iterable[Attribute]) -> list[str]:
    """Return the names of the fields of a struct, in MATLAB's order; empty if the file does not have them."""
    constant = next((one.value for one in attributes if one.name == "MATLAB_fields"), None)
    items = constant.data if constant is not None and isinstance(constant.data, tuple) else ()
    return [
        item.data.decode("utf-8", "replace")
        for item in items
        if isinstance(item, Constant) and isinstance(item.data, bytes)
    ]


def fields_attribute(fields: list[str]) -> list[Attribute]:
    """Return the attribute with the names of fields, in their order."""
    return (
        [Attribute(name="MATLAB_fields", value=Constant.strings(field.encode() for field in fields))] if fields else []
    )


def size_attribute(shape: Iterable[int]) -> Attribute:
    """Return the attribute with the size of an array of cells or structs."""
    return Attribute(name="MATLAB_size", value=Constant.numbers("int64", shape))
