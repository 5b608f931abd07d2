"""Faults of netCDF-C with attributes: values and stored types."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.plugins.readers.documents import StoreNode, Word, step
from nczarr.plugins.readers.netcdf_c.stores import (
    BOTH,
    DATASET,
    HIDDEN,
    NOW,
    RANGES,
    RESERVED,
    SPECIAL,
    NetcdfView,
    element,
    short,
)
from nczarr.plugins.readers.rule import Finding, faults

FAULTS = faults(
    NOW,
    ("unknown-attribute-type", "refuses the dataset (-137)",
     "write `<i4` and the like, `>S1` for char, `|Sn` for strings", BOTH),
    ("quoted-number", "aborts", 'write numbers as numbers; `"NaN"`, `"Infinity"`, `"-Infinity"`', BOTH),
    ("large-number", "refuses the dataset (-60)", "write a wider type", BOTH),
    ("bare-text", "reads only the first letter, or refuses the dataset (-36)", "write every string in quotes", BOTH),
    ("empty-list", "refuses the dataset (-45)", "write a type in `_nczarr_attr`, or remove the attribute", BOTH),
    ("mixed-list", "aborts, refuses the dataset (-60), or truncates numbers to integers",
     "write numbers of one type, or a type in `_nczarr_attr`", BOTH),
    ("structured-attribute", "shows its JSON as a string",
     "write strings and numbers; lists of strings need a type in `_nczarr_attr`", BOTH),
    ("hidden-attribute", "hides it", "write another name"),
    ("odd-provenance", DATASET, "write a string, or remove the attribute"),
)  # fmt: skip

_UNREAD = HIDDEN | RESERVED | {"_ARRAY_DIMENSIONS", "_NCProperties", "_NCZARR_ATTR"}
"""Names of attributes that are not read as such."""

_UINT, _INT = 1 << 32, 1 << 31


class SeenAttribute(NamedTuple):
    """One attribute that the library sees."""

    node: StoreNode
    name: str
    value: Any
    """JSON value."""
    type: Any
    """Type as stored, or None."""

    @property
    def items(self) -> list[Any]:
        """Values of the attribute."""
        return self.value if isinstance(self.value, list) else [self.value]

    @property
    def is_text(self) -> bool:
        """True if the library reads the value as JSON text: it contains more than numbers and texts."""
        if isinstance(self.value, list):
            return any(item is None or isinstance(item, dict | list) for item in self.value)
        return self.value is None or isinstance(self.value, dict)

    def at(self, fault: str, what: str, does: str = "") -> Finding:
        """Return a finding at the attribute."""
        shown = json.dumps(self.value, ensure_ascii=False) if not isinstance(self.value, Word) else self.value
        text = f"attribute `{self.name}` of `{self.node.path}`, `{short(shown)}`, {what}"
        return self.node.at_attribute(fault, step(self.name), text, does=does)


def attributes(view: NetcdfView) -> Iterator[SeenAttribute]:
    """Yield all attributes that are read as such."""
    for node in view.nodes():
        described, _, _ = node.read_hidden("attr")
        types = described.get("types") if isinstance(described, dict) else None
        types = types if isinstance(types, dict) else {}
        for name, value in node.attrs.items():
            if name not in _UNREAD:
                yield SeenAttribute(node, name, value, types.get(name))


def find_types(view: NetcdfView) -> Iterator[Finding]:
    """Find types that the library does not know."""
    for attribute in attributes(view):
        if attribute.type is not None and element(attribute.type) is None:
            yield attribute.at(
                "unknown-attribute-type", f"has the type {json.dumps(attribute.type, ensure_ascii=False)}"
            )
    for node in view.nodes():
        described, key, pointer = node.read_hidden("attr")
        if described is not None and not isinstance(described, dict):
            yield Finding("unknown-attribute-type", key, pointer, f"`_nczarr_attr` of `{node.path}` is not an object")


def find_values(view: NetcdfView) -> Iterator[Finding]:
    """Find values that do not suit their type."""
    for attribute in attributes(view):
        kind = element(attribute.type)
        if kind is None:
            yield from _find_untyped(attribute)
        elif kind[0] == "S":
            yield from _find_bare_text(attribute, is_char=attribute.type == ">S1" and view.nczarr)
        elif attribute.is_text:
            yield attribute.at("structured-attribute", "is not a list of numbers or a string")
        else:
            texts = [item for item in attribute.items if isinstance(item, str)]
            if any(not (kind[0] == "f" and SPECIAL.fullmatch(text)) for text in texts):
                yield attribute.at("quoted-number", f"is of the type `{attribute.type}`")
            low, high = RANGES.get(kind, (-math.inf, math.inf))
            numbers = [item for item in attribute.items if isinstance(item, int)]
            if any(not (low <= number <= high or (kind == "u8" and number > high)) for number in numbers):
                yield attribute.at("large-number", f"is out of range for the type `{attribute.type}`")


def _find_bare_text(attribute: SeenAttribute, *, is_char: bool) -> Iterator[Finding]:
    """Find an unquoted text, or a number in its place."""
    value = attribute.value
    if isinstance(value, list | dict) or value is None or (isinstance(value, str) and not isinstance(value, Word)):
        return
    if is_char and type(value) is int and 0 <= value <= 9:
        return  # its first letter is all of it
    does = "reads only the first letter" if is_char else "refuses the dataset (-36)"
    yield attribute.at("bare-text", f"of the type `{attribute.type}`, is not a JSON string", does)


def _find_untyped(attribute: SeenAttribute) -> Iterator[Finding]:
    """Find a value without a type that the library reads as something else."""
    value = attribute.value
    if attribute.type is not None:
        return
    if value == []:
        yield attribute.at("empty-list", "has no type")
    if attribute.is_text or (isinstance(value, list) and value and isinstance(value[0], str)):
        yield attribute.at("structured-attribute", "is not a list of numbers or a string")
    elif isinstance(value, list) and len(value) > 1:
        first, rest = value[0], value[1:]
        texts = [item for item in rest if isinstance(item, str)]
        if any(not (isinstance(first, float) and SPECIAL.fullmatch(text)) for text in texts):
            yield attribute.at("mixed-list", "has numbers and strings", "aborts")
        elif isinstance(first, int) and not isinstance(first, bool):
            low, high = _range(first)
            if any(isinstance(item, int) and not low <= item <= high for item in rest):
                text = "does not suit the type of its first element"
                yield attribute.at("mixed-list", text, "refuses the dataset (-60)")
            elif any(isinstance(item, float) for item in rest):
                yield attribute.at("mixed-list", "begins with an integer", "truncates the others to integers")


def _range(first: int) -> tuple[int, int]:
    """Return the type that the library infers for an integer."""
    if -_INT <= first < _INT:
        return RANGES["i4"]
    if 0 <= first < _UINT:
        return RANGES["u4"]
    return RANGES["i8"] if first < 1 << 63 else RANGES["u8"]


def find_names(view: NetcdfView) -> Iterator[Finding]:
    """Find attributes with names that the library reserves, and an `_NCProperties` that is no text."""
    for node in view.nodes():
        for name in node.attrs:
            if name in RESERVED or (name == "_ARRAY_DIMENSIONS" and not node.is_array):
                text = f"an attribute of `{node.path}` is named `{name}`"
                yield node.at_attribute("hidden-attribute", step(name), text)
    properties = view.root.attrs.get("_NCProperties")
    if properties is not None and not isinstance(properties, str):
        yield view.root.at_attribute("odd-provenance", "_NCProperties", "`_NCProperties` is not a string")


FIND = (find_types, find_values, find_names)
