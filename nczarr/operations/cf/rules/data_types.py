"""2.2 Data types, and 2.5: a text is no coordinate variable."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from nczarr.ast import Attribute
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import AttributeOwner, CFDataset

R = Rules("cf-data-type", "2.2")

CLASSIC = frozenset(("char", "byte", "short", "int", "float", "double"))
LATER = CLASSIC | {"ubyte", "ushort", "uint", "int64", "uint64", "string"}

RULES = (
    R.must("type", "The type of a variable is one of those of CF.",
        "types: int «enum e|(*) l» «{a = 1};|;» variables: «e|int» v ;", "write a variable of an atomic type"),
    R.must("unsigned", "Before CF 1.9, variables have the types of classic netCDF files, or `string`.",
        "«uint|int» v ;", "use a signed type, or conform to CF 1.9", until=(1, 8)),
    R.must("utf8", "Text is in Unicode Normalization Form C and encoded in UTF-8.",
        'float v ; v:long_name = "«e\u0301lan|élan»" ;', "write the text in Normalization Form C", since=(1, 12)),
    R.must("scalar", "A text attribute is one text, not an array of strings.",
        'float v ; string v:comment = "a"«, "b"|» ;', "join the strings"),
    R.must("label", "A one-dimensional string-valued variable does not have the name of its dimension.",
        "dimensions: x = 1 ; variables: string «x|label»(x) ;",
        "give the variable another name, and name it in `coordinates`", since=(1, 12)),
)  # fmt: skip


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


TOPIC = Topic(RULES, find)
