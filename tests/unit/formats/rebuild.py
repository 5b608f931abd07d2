"""The tree behind the metadata of an `nczarr` store: proof that plain keys and extension say all of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nczarr import names
from nczarr.ast import (
    ATOMIC,
    Attribute,
    Codec,
    Constant,
    Dataset,
    Dimension,
    Group,
    Storage,
    Variable,
)
from nczarr.ast.values import SPECIAL_FLOATS
from nczarr.data.codecs import from_configs
from nczarr.data.parts import NUMPY
from nczarr.extension.model import ArrayExtension, AttributeExtension, GroupExtension, Superblock

HIDDEN = {"_ARRAY_DIMENSIONS", "_nczarr_array", "_nczarr_attr", "_nczarr_group", "_nczarr_superblock"}
Content = Mapping[str, bytes]


def rebuild(content: Content) -> Dataset:
    """The dataset of a store."""
    superblock = json.loads(content[".zattrs"])["_nczarr_superblock"]
    extension = Superblock.from_json(superblock["nczarr"])
    root = _group(content, "", extension.name or "x")
    members = {key: getattr(root, key) for key in ("types", "dimensions", "variables", "attributes", "groups")}
    return Dataset(name=extension.name, kind=extension.kind, version=extension.model or "2.0.0", **members)


def _group(content: Content, prefix: str, name: str) -> Group:
    attributes = json.loads(content[prefix + ".zattrs"])
    group = attributes["_nczarr_group"]
    extension = GroupExtension.from_json(group.get("nczarr", {}))
    variables, groups = [], []
    for member in extension.members if extension.members is not None else (*group["arrays"], *group["groups"]):
        inside = f"{prefix}{member}/"
        if inside + ".zarray" in content:
            variables.append(_array(content, inside, member))
            continue
        below = json.loads(content[inside + ".zattrs"])
        found = GroupExtension.from_json(below["_nczarr_group"].get("nczarr", {})).variable
        if found is None:
            groups.append(_group(content, inside, member))
        else:
            storage = _storage(Storage(), found)
            variables.append(_variable(member, found, found.type, [], storage, below))
    return Group(
        name=name,
        types=extension.types,
        dimensions=tuple(
            Dimension(name=key, size=size["size"], unlimited=True)
            if isinstance(size, dict)
            else Dimension(name=key, size=size)
            for key, size in group["dimensions"].items()
            if key not in extension.anonymous
        ),
        variables=tuple(variables),
        attributes=_attributes(attributes),
        groups=tuple(groups),
    )


def _array(content: Content, prefix: str, name: str) -> Variable:
    document = json.loads(content[prefix + ".zarray"])
    attributes = json.loads(content[prefix + ".zattrs"])
    hidden = attributes["_nczarr_array"]
    extension = ArrayExtension.from_json(hidden.get("nczarr", {}))
    dtype = document["dtype"]
    number = isinstance(dtype, str) and dtype[1] in "iuf"
    said_type = next((key for key, known in NUMPY.items() if number and known == dtype.replace(">", "<")), "string")
    configs = [*(document["filters"] or ()), *([document["compressor"]] if document["compressor"] else ())]
    said = Storage(
        chunks=None if hidden.get("scalar") else tuple(document["chunks"]),
        codecs=from_configs([config for config in configs if not config["id"].startswith("vlen")]) or (),
        endian="big" if number and dtype[0] == ">" else None,
        no_fill=number and document["fill_value"] is None,
    )
    references = hidden["dimension_references"]
    return _variable(name, extension, extension.type or said_type, references, _storage(said, extension), attributes)


def _variable(
    name: str,
    extension: ArrayExtension,
    type_name: str | None,
    plain: list[str],
    storage: Storage,
    attributes: dict[str, Any],
) -> Variable:
    references = plain if extension.dimensions is None else extension.dimensions
    assert type_name is not None
    return Variable(
        name=name,
        type=type_name,
        dimensions=tuple(names.fqn(ref[1:].split("/")) if isinstance(ref, str) else ref for ref in references),
        attributes=_attributes(attributes),
        storage=storage,
    )


def _storage(said: Storage, extension: ArrayExtension) -> Storage:
    filters = extension.filters
    return Storage(
        layout=extension.layout,
        chunks=said.chunks if extension.chunks is None else extension.chunks or None,
        codecs=said.codecs if filters is None else tuple(Codec(id=item[0], parameters=item[1:]) for item in filters),
        endian=said.endian if extension.endian is None else {"native": None}.get(extension.endian, extension.endian),
        no_fill=said.no_fill if extension.fill_mode is None else extension.fill_mode == "nofill",
        quantize=extension.quantize,
    )


def _attributes(document: dict[str, Any]) -> tuple[Attribute, ...]:
    types = document["_nczarr_attr"]["types"]
    extensions = {
        key: AttributeExtension.from_json(item) for key, item in document["_nczarr_attr"].get("nczarr", {}).items()
    }
    found = []
    for key, value in document.items():
        if key in HIDDEN:
            continue
        constant = extensions[key].value if key in extensions else _constant(types[key], value)
        found.append(Attribute(name=key, value=constant))
    for key, item in sorted(extensions.items(), key=lambda pair: -1 if pair[1].at is None else pair[1].at):
        if item.at is not None:
            found.insert(item.at, Attribute(name=key, value=item.value))
    return tuple(found)


def _constant(dtype: str, value: Any) -> Constant:
    if dtype == ">S1":
        return Constant.text(value.encode())
    values = value if isinstance(value, list) else [value]
    if dtype[1] == "S":
        return Constant.strings([text.encode() for text in values])
    name = next(key for key, known in NUMPY.items() if known == dtype)
    plain = [SPECIAL_FLOATS[item] if isinstance(item, str) else item for item in values]
    return Constant.numbers(name, [float(item) for item in plain] if ATOMIC[name].is_float else plain)
