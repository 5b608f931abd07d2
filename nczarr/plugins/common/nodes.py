"""Nodes for plugins: their places in diagnostics, attributes of texts, constants as values of Python, exchange."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Group, Variable
from nczarr.ast.dataset import map_groups
from nczarr.ast.node import Node
from nczarr.diagnostics.report import Label


def label_of(node: Node, text: str = "") -> Label:
    """Return the place of a node; for a store's attribute, the member of its document."""
    source = node.span.source
    key = source.key if source is not None else None
    pointer = None
    if key is not None and isinstance(node, Attribute):
        home = "/attributes/" if key.endswith(".json") else "/"
        pointer = home + node.name.replace("~", "~0").replace("/", "~1")
    offset = node.span.start if source is not None and source.binary else None
    return Label(node.span, text, key=key, pointer=pointer, offset=offset)


def text_attribute(name: str, text: str) -> Attribute:
    """Return an attribute with a text."""
    return Attribute(name=name, value=Constant.text(text.encode()))


def replace_variables(dataset: Dataset, new: Mapping[str, Variable]) -> Dataset:
    """Return a tree with other variables in the place of those with their FQNs."""

    def change(path: str, group: Group) -> dict[str, Any]:
        return {"variables": tuple(new.get(names.join(path, one.name), one) for one in group.variables)}

    return map_groups(dataset, change)


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
