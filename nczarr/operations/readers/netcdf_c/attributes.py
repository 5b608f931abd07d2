"""Faults of netCDF-C with attributes: values and stored types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.formats.common.documents import Json
from nczarr.operations.readers.documents import StoreNode, Word, step
from nczarr.operations.readers.netcdf_c.view import (
    BOTH,
    DATASET,
    DTYPE,
    HIDDEN,
    NOW,
    RANGES,
    RESERVED,
    NetcdfView,
    hidden,
    short,
)
from nczarr.operations.readers.rule import FindingPlace, Rules

RULES = Rules(NOW)

_SPECIAL = re.compile(r"-?(?:nan|infinity)f?", re.IGNORECASE)
_UINT, _INT = 1 << 32, 1 << 31


class SeenAttribute(NamedTuple):
    """One attribute that the library sees."""

    node: StoreNode
    """Its node."""
    name: str
    """Name of the attribute."""
    value: Any
    """JSON value."""
    type: Any
    """Type as stored, or None."""
    place: tuple[str, str]
    """Key and JSON pointer."""

    @property
    def items(self) -> list[Any]:
        """Values of the attribute."""
        return self.value if isinstance(self.value, list) else [self.value]

    def at(self, what: str, does: str = "", instead: str = "") -> FindingPlace:
        """Return a finding at the attribute."""
        shown = json.dumps(self.value, ensure_ascii=False) if not isinstance(self.value, Word) else self.value
        return FindingPlace(
            *self.place, f"attribute `{self.name}` of `{self.node.path}`, `{short(shown)}`, {what}", does, instead
        )


def types_of(node: StoreNode) -> Json:
    """Return the attribute types of a node by name."""
    described, _, _ = hidden(node, "attr")
    types = described.get("types") if isinstance(described, dict) else None
    return types if isinstance(types, dict) else {}


def attributes(view: NetcdfView) -> Iterator[SeenAttribute]:
    """Yield all attributes that are read as such."""
    for node in view.nodes():
        types = types_of(node)
        for name, value in node.attrs.items():
            if (
                name not in HIDDEN
                and name not in RESERVED
                and name not in ("_ARRAY_DIMENSIONS", "_NCProperties", "_NCZARR_ATTR")
            ):
                yield SeenAttribute(node, name, value, types.get(name), (node.attrs_key, f"/{step(name)}"))


def _number(attribute: SeenAttribute) -> str | None:
    """Return the type of a numeric attribute without byte order."""
    is_dtype = isinstance(attribute.type, str) and DTYPE.fullmatch(attribute.type)
    kind = attribute.type.lstrip("<>|") if is_dtype else None
    return kind if kind and kind[0] != "S" else None


@RULES.add(
    "unknown-attribute-type",
    "refuses the dataset (-137)",
    "write `<i4` and the like, `>S1` for char, `|Sn` for strings",
    seen=BOTH,
)
def unknown_types(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find unknown types."""
    for attribute in attributes(view):
        if attribute.type is not None and not (isinstance(attribute.type, str) and DTYPE.fullmatch(attribute.type)):
            yield attribute.at(f"has the type {json.dumps(attribute.type, ensure_ascii=False)}")
    for node in view.nodes():
        described, key, pointer = hidden(node, "attr")
        if described is not None and not isinstance(described, dict):
            yield FindingPlace(key, pointer, f"`_nczarr_attr` of `{node.path}` is not an object")


@RULES.add("quoted-number", "aborts", 'write numbers as numbers; `"NaN"`, `"Infinity"`, `"-Infinity"`', seen=BOTH)
def quoted_numbers(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find texts with a numeric type."""
    for attribute in attributes(view):
        kind = _number(attribute)
        if kind is None or _as_text(attribute.value):
            continue
        for item in attribute.items:
            if isinstance(item, str) and not (kind[0] == "f" and _SPECIAL.fullmatch(item)):
                yield attribute.at(f"is of the type `{attribute.type}`")
                break


def _as_text(value: Any) -> bool:
    """Return whether the library reads a value as JSON text: it contains more than numbers and texts."""
    if isinstance(value, list):
        return any(item is None or isinstance(item, dict | list) for item in value)
    return value is None or isinstance(value, dict)


@RULES.add("large-number", "refuses the dataset (-60)", "write a wider type", seen=BOTH)
def large_numbers(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find integers outside their type."""
    for attribute in attributes(view):
        kind = _number(attribute)
        if kind in RANGES and not _as_text(attribute.value):
            low, high = RANGES[kind]
            if any(
                isinstance(item, int) and not (low <= item <= high or (kind == "u8" and item > high))
                for item in attribute.items
            ):
                yield attribute.at(f"is out of range for the type `{attribute.type}`")


@RULES.add(
    "bare-text",
    "reads only the first letter, or refuses the dataset (-36)",
    "write every string in quotes",
    seen=BOTH,
)
def bare_texts(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find unquoted texts."""
    for attribute in attributes(view):
        kind = (
            attribute.type.lstrip("<>|") if isinstance(attribute.type, str) and DTYPE.fullmatch(attribute.type) else ""
        )
        if not kind.startswith("S") or isinstance(attribute.value, list | dict) or attribute.value is None:
            continue
        if isinstance(attribute.value, Word) or not isinstance(attribute.value, str):
            is_char = attribute.type == ">S1" and view.nczarr
            if is_char and type(attribute.value) is int and 0 <= attribute.value <= 9:
                continue  # its first letter is all of it
            does = "reads only the first letter" if is_char else "refuses the dataset (-36)"
            yield attribute.at(f"of the type `{attribute.type}`, is not a JSON string", does=does)


@RULES.add(
    "empty-list", "refuses the dataset (-45)", "write a type in `_nczarr_attr`, or remove the attribute", seen=BOTH
)
def empty_lists(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find empty lists without a type."""
    for attribute in attributes(view):
        if attribute.type is None and attribute.value == []:
            yield attribute.at("has no type")


@RULES.add(
    "mixed-list",
    "aborts, refuses the dataset (-60), or truncates numbers to integers",
    "write numbers of one type, or a type in `_nczarr_attr`",
    seen=BOTH,
)
def mixed_lists(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find lists whose first element has a type that does not fit the others."""
    for attribute in attributes(view):
        if (
            attribute.type is not None
            or not isinstance(attribute.value, list)
            or len(attribute.value) < 2
            or _as_text(attribute.value)
        ):
            continue
        first, rest = attribute.value[0], attribute.value[1:]
        if isinstance(first, str):
            continue
        texts = [item for item in rest if isinstance(item, str)]
        if any(not (isinstance(first, float) and _SPECIAL.fullmatch(text)) for text in texts):
            yield attribute.at("has numbers and strings", does="aborts")
        elif isinstance(first, int) and not isinstance(first, bool):
            low, high = _range(first)
            if any(isinstance(item, int) and not low <= item <= high for item in rest):
                yield attribute.at("does not suit the type of its first element", does="refuses the dataset (-60)")
            elif any(isinstance(item, float) for item in rest):
                yield attribute.at("begins with an integer", does="truncates the others to integers")


def _range(first: int) -> tuple[int, int]:
    """Return the type that the library infers for an integer."""
    if -_INT <= first < _INT:
        return RANGES["i4"]
    if 0 <= first < _UINT:
        return RANGES["u4"]
    return RANGES["i8"] if first < 1 << 63 else RANGES["u8"]


@RULES.add(
    "structured-attribute",
    "shows its JSON as a string",
    "write strings and numbers; lists of strings need a type in `_nczarr_attr`",
    seen=BOTH,
)
def structured(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find values that become JSON text."""
    for attribute in attributes(view):
        kind = _number(attribute)
        strings = (
            attribute.type is None
            and isinstance(attribute.value, list)
            and bool(attribute.value)
            and isinstance(attribute.value[0], str)
        )
        if (attribute.type is None or kind) and (_as_text(attribute.value) or strings):
            yield attribute.at("is not a list of numbers or a string")


@RULES.add("hidden-attribute", "hides it", "write another name")
def hidden_names(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find attributes with names that the library reserves."""
    for node in view.nodes():
        for name in node.attrs:
            if name in RESERVED or (name == "_ARRAY_DIMENSIONS" and not node.is_array):
                yield FindingPlace(node.attrs_key, f"/{step(name)}", f"an attribute of `{node.path}` is named `{name}`")


@RULES.add("odd-provenance", DATASET, "write a string, or remove the attribute")
def provenance(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find an `_NCProperties` that is no text."""
    properties = view.root.attrs.get("_NCProperties")
    if properties is not None and not isinstance(properties, str):
        yield FindingPlace(view.root.attrs_key, "/_NCProperties", "`_NCProperties` is not a string")
