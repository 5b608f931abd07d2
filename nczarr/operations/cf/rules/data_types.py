"""2.2 Data types, and 2.5: a text is no coordinate variable."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from nczarr.ast import Attribute
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import AttributeOwner, CFDataset

CLASSIC = frozenset(("char", "byte", "short", "int", "float", "double"))
LATER = CLASSIC | {"ubyte", "ushort", "uint", "int64", "uint64", "string"}


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find types of variables and attributes that CF does not have."""
    for variable in dataset.variables.values():
        if variable.type not in LATER:
            yield Breach("type", f"`{variable.path}` has the type `{variable.type}`", variable.node)
        elif variable.type not in CLASSIC | {"string"}:
            yield Breach("unsigned", f"`{variable.path}` has the type `{variable.type}`", variable.node)
        if variable.type == "string" and [dataset.label(axis) for axis in variable.dimensions] == [variable.name]:
            text = f"`{variable.path}` holds texts and has the name of its dimension"
            yield Breach("label", text, variable.node)
    for owner in dataset.owners:
        for attribute in owner.attributes.values():
            yield from _find_in(attribute, owner)


def _find_in(attribute: Attribute, owner: AttributeOwner) -> Iterator[Breach]:
    constant = attribute.value
    is_text = owner.kind(attribute.name) == "text"
    if constant.type == "string" and constant.count > 1 and is_text and attribute.name != "flag_values":
        text = f"attribute `{attribute.name}` of `{owner.path}` is an array of {constant.count} strings"
        yield Breach("scalar", text, attribute)
    value = owner.value(attribute.name)
    if isinstance(value, str) and not value.isascii() and unicodedata.normalize("NFC", value) != value:
        text = f"attribute `{attribute.name}` of `{owner.path}` is not in Normalization Form C"
        yield Breach("utf8", text, attribute)
    elif isinstance(value, str) and "\ufffd" in value:
        yield Breach("utf8", f"attribute `{attribute.name}` of `{owner.path}` is not encoded in UTF-8", attribute)


TOPIC = Topic(load_rules("data_types"), find)
