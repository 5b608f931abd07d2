"""Type definitions in the extension: one JSON object for each type, without default members.

::

    {"name": "colour", "kind": "enum", "base": "byte", "constants": [["red", 0], ["green", 1]]}
    {"name": "key", "kind": "opaque", "size": 16}          {"name": "seq", "kind": "vlen", "base": "int"}
    {"name": "obs", "kind": "compound", "fields": [{"name": "t", "type": "int64"},
                                                   {"name": "v", "type": "float", "shape": [3], "offset": 8}]}

`offset` and `size` are a file's own layout, given only if unusual.
"""

from __future__ import annotations

from typing import Any

from nczarr.ast import CompoundType, EnumConstant, EnumType, Field, OpaqueType, UserType, VlenType

Json = dict[str, Any]


def type_to_json(declared: UserType) -> Json:
    """Return a type as a JSON object."""
    document: Json = {"name": declared.name, "kind": declared.kind}
    document |= declared.model_dump(mode="json", exclude_defaults=True, exclude={"name", "kind"})
    if isinstance(declared, EnumType):
        document["constants"] = [[item.name, item.value] for item in declared.constants]
    return document


def type_from_json(document: Json) -> UserType:
    """Invert `type_to_json`. Raises KeyError, ValueError or ValidationError."""
    name = document["name"]
    match document["kind"]:
        case "enum":
            constants = tuple(EnumConstant(name=key, value=value) for key, value in document["constants"])
            return EnumType(name=name, base=document["base"], constants=constants)
        case "opaque":
            return OpaqueType(name=name, size=document["size"])
        case "vlen":
            return VlenType(name=name, base=document["base"])
        case "compound":
            fields = tuple(
                Field(
                    name=item["name"], type=item["type"], shape=tuple(item.get("shape", ())), offset=item.get("offset")
                )
                for item in document["fields"]
            )
            return CompoundType(name=name, fields=fields, size=document.get("size"))
        case other:
            raise ValueError(f"no kind of type: {other!r}")
