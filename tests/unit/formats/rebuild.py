"""The tree behind the metadata of an `nczarr` or `nczarr3` store: proof that plain keys and extension say all of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

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
from nczarr.formats.zarr3 import dtypes
from nczarr.formats.zarr3.codecs import read_chain

HIDDEN = {"_ARRAY_DIMENSIONS", "_nczarr_array", "_nczarr_attr", "_nczarr_group", "_nczarr_superblock"}
Content = Mapping[str, bytes]
Attributes = dict[str, Any]


class Said(NamedTuple):
    """What the plain document of an array says."""

    type: str
    storage: Storage


class Version2:
    """Reads the keys of Zarr v2."""

    def __init__(self, content: Content) -> None:
        self.content = content

    def attributes(self, prefix: str) -> Attributes:
        found: Attributes = json.loads(self.content[prefix + ".zattrs"])
        return found

    def is_array(self, prefix: str) -> bool:
        return prefix + ".zarray" in self.content

    def said(self, prefix: str) -> Said:
        document = json.loads(self.content[prefix + ".zarray"])
        dtype = document["dtype"]
        number = isinstance(dtype, str) and dtype[1] in "iuf"
        type_name = next((key for key, known in NUMPY.items() if number and known == dtype.replace(">", "<")), "string")
        configs = [*(document["filters"] or ()), *([document["compressor"]] if document["compressor"] else ())]
        storage = Storage(
            chunks=None if self.attributes(prefix)["_nczarr_array"].get("scalar") else tuple(document["chunks"]),
            codecs=from_configs([config for config in configs if not config["id"].startswith("vlen")]) or (),
            endian="big" if number and dtype[0] == ">" else None,
            no_fill=number and document["fill_value"] is None,
        )
        return Said(type_name, storage)

    def own_fill(self, type_name: str, value: Any) -> Constant | None:
        return None


class Version3:
    """Reads the keys of Zarr v3."""

    def __init__(self, content: Content) -> None:
        self.content = content

    def document(self, prefix: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.content[prefix + "zarr.json"])
        return found

    def attributes(self, prefix: str) -> Attributes:
        found: Attributes = self.document(prefix)["attributes"]
        return found

    def is_array(self, prefix: str) -> bool:
        return bool(self.document(prefix)["node_type"] == "array")

    def said(self, prefix: str) -> Said:
        document = self.document(prefix)
        inner, codecs, endian = read_chain(document["codecs"])
        descr = dtypes.descr(document["data_type"])
        chunks = inner or tuple(document["chunk_grid"]["configuration"]["chunk_shape"])
        number = isinstance(descr, str) and descr[1] in "iuf"
        storage = Storage(
            chunks=chunks or None, codecs=codecs or (), endian="big" if number and endian == "big" else None
        )
        return Said(next((key for key, known in NUMPY.items() if known == descr), ""), storage)

    def own_fill(self, type_name: str, value: Any) -> Constant | None:
        return dtypes.fill_of_attribute(type_name, value)


Store = Version2 | Version3


def rebuild(content: Content) -> Dataset:
    """The dataset of a store."""
    store: Store = Version3(content) if "zarr.json" in content else Version2(content)
    superblock = store.attributes("")["_nczarr_superblock"]
    extension = Superblock.from_json(superblock["nczarr"])
    root = _group(store, "", extension.name or "x")
    members = {key: getattr(root, key) for key in ("types", "dimensions", "variables", "attributes", "groups")}
    return Dataset(name=extension.name, kind=extension.kind, version=extension.model or "2.0.0", **members)


def _group(store: Store, prefix: str, name: str) -> Group:
    attributes = store.attributes(prefix)
    group = attributes["_nczarr_group"]
    extension = GroupExtension.from_json(group.get("nczarr", {}))
    variables, groups = [], []
    for member in extension.members if extension.members is not None else (*group["arrays"], *group["groups"]):
        inside = f"{prefix}{member}/"
        if store.is_array(inside):
            variables.append(_array(store, inside, member))
            continue
        below = store.attributes(inside)
        found = GroupExtension.from_json(below["_nczarr_group"].get("nczarr", {})).variable
        if found is None:
            groups.append(_group(store, inside, member))
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


def _array(store: Store, prefix: str, name: str) -> Variable:
    attributes = store.attributes(prefix)
    hidden = attributes["_nczarr_array"]
    extension = ArrayExtension.from_json(hidden.get("nczarr", {}))
    said = store.said(prefix)
    storage = _storage(said.storage, extension)
    type_name = extension.type or said.type
    made = _variable(name, extension, type_name, hidden["dimension_references"], storage, attributes)
    fill = store.own_fill(type_name, attributes["_FillValue"]) if "_FillValue" in attributes else None
    if fill is None or "_FillValue" in attributes["_nczarr_attr"].get("nczarr", {}):
        return made
    changed = [item if item.name != "_FillValue" else Attribute(name=item.name, value=fill) for item in made.attributes]
    return made.model_copy(update={"attributes": tuple(changed)})


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
    if isinstance(values[0], str) and values[0] not in SPECIAL_FLOATS:
        return Constant.numbers(name, [0.0])  # an own fill value in xarray's code: the caller has it
    plain = [SPECIAL_FLOATS[item] if isinstance(item, str) else item for item in values]
    return Constant.numbers(name, [float(item) for item in plain] if ATOMIC[name].is_float else plain)
