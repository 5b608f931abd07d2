"""Metadata of netCDF-C's draft of NCZarr on Zarr v3 (pull request 3068) → those of released NCZarr.

The draft's code and documentation differ. Both are read, also mixed:

| | code | documentation |
|---|---|---|
| dimensions | `{name: {"size", "unlimited"}}` or `{name: size}` | list of `{"name", "size", "unlimited"}` |
| child groups | `groups` | `subgroups` |
| type of an array | `nczarr_type` | `type_alias` |
| `_nczarr_attrs.attribute_types` | `{attribute: type}` | list of `{"name", "configuration": {"type"}}` |

Types have Zarr names. `char` is stored as `uint8`, `json` is text, and `string`
is stored as raw bytes of the longest length. A `fill_value` of null stands for
"no fill".

A root is of the draft if its superblock lacks our `nczarr` member. A group or
array without a superblock, opened alone, is of the draft if its metadata have a
form that only the draft has.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast.plain import HIDDEN, encoded
from nczarr.formats.common.documents import DocumentCache, Json
from nczarr.formats.zarr.core.fill_values import shown
from nczarr.formats.zarr.nczarr import unread_draft
from nczarr.formats.zarr.v3 import DOCUMENT, dtypes
from nczarr.syntax.json.positions import pointer

ATTRIBUTE_TYPES = "_nczarr_attrs"
_GROUP_MEMBERS = frozenset({"dimensions", "arrays", "groups", "subgroups", "nczarr"})
_ARRAY_MEMBERS = frozenset({"dimension_references", "scalar", "storage", "nczarr_type", "type_alias", "nczarr"})
_ALIASES = ("nczarr_type", "type_alias")
_OWN_TYPES = {"char": ">S1", "json": "|J0", "string": "|S1"}
"""Types of the draft alone, as released NCZarr names them in its map of attribute types."""


def is_draft(document: Json) -> bool:
    """Return whether a root's `zarr.json` is of the draft."""
    attributes = _object(document.get("attributes"))
    superblock = attributes.get("_nczarr_superblock")
    if isinstance(superblock, dict):
        return "nczarr" not in superblock
    if isinstance(_object(attributes.get(ATTRIBUTE_TYPES)).get("attribute_types"), dict | list):
        return True
    group, array = (_object(attributes.get(f"_nczarr_{what}")) for what in ("group", "array"))
    return (
        "subgroups" in group or isinstance(group.get("dimensions"), list) or any(alias in array for alias in _ALIASES)
    )


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


class DraftMetadata:
    """Hidden attributes of a draft's nodes, by prefix, in the form of released NCZarr.

    `node` returns the document of a prefix. Each contradiction is reported once.
    """

    def __init__(self, documents: DocumentCache, node: Callable[[str], Json]) -> None:
        self.documents = documents
        self.node = node
        self._known: dict[str, dict[str, Json]] = {}

    def hidden(self, prefix: str, what: str) -> Json | None:
        """Return the `superblock`, `group`, `array` or `attr` of a node, or None."""
        documents = self._known.get(prefix)
        if documents is None:
            documents = self._known[prefix] = self._released(prefix)
        return documents.get(what)

    def attributes(self, attributes: Json) -> Json:
        """Return a node's attributes without the draft's types."""
        return {name: value for name, value in attributes.items() if name != ATTRIBUTE_TYPES}

    def dtype(self, prefix: str, stored: Descr) -> Descr:
        """Return the dtype of an array's elements: `|S1` for characters, `|Sn` for strings."""
        attributes = self._attributes(prefix)
        kind = self._alias(attributes)
        written = self.node(prefix).get("data_type")
        if kind in ("char", "json") and stored in ("|u1", "|S1"):
            return "|S1"
        raw = isinstance(stored, str) and stored[1] == "V"
        bare = kind is None and isinstance(written, str) and "nczarr" not in _object(attributes.get("_nczarr_array"))
        if raw and (bare or kind == "string"):
            return f"|S{stored[2:]}"
        text = isinstance(stored, str) and stored[1] in "SOU"
        if kind is not None and kind != written and not (kind == "string" and text):
            where = next(alias for alias in _ALIASES if alias in _object(attributes["_nczarr_array"]))
            message = f"type {_quoted(kind)} does not suit data type {_quoted(written)}, which is read"
            self._conflict(message, prefix, pointer("_nczarr_array", where))
        return stored

    @staticmethod
    def is_text(document: Json, dtype: Descr) -> bool:
        """Return whether elements read as this dtype are the draft's characters or strings."""
        return isinstance(dtype, str) and dtype[1] == "S" and isinstance(document.get("data_type"), str)

    @staticmethod
    def fill_bytes(dtype: Descr, written: Any) -> bytes:
        """Return the fill value of characters or strings that a text or number gives. Raises ValueError."""
        size = itemsize(dtype)
        if dtype == "|S1" and type(written) is int and 0 <= written <= 255:
            return bytes([written])
        if isinstance(written, list) and all(type(code) is int and 0 <= code <= 255 for code in written):
            data = bytes(written)
        elif isinstance(written, str):
            data = encoded(written)
        else:
            raise ValueError(f"{_quoted(written)} is not a text")
        if len(data) > size:
            raise ValueError(f"{_quoted(written)} is longer than {size} bytes")
        return data.ljust(size, b"\0")

    # ---- one node --------------------------------------------------------------------------------------------------
    def _attributes(self, prefix: str) -> Json:
        return _object(self.node(prefix).get("attributes"))

    def _conflict(self, message: str, prefix: str, where: str) -> None:
        self.documents.warn("draft-conflict", message, prefix + DOCUMENT, "/attributes" + where)

    def _bad(self, message: str, prefix: str, where: str) -> None:
        self.documents.lost("bad-metadata", message, prefix + DOCUMENT, "/attributes" + where)

    def _released(self, prefix: str) -> dict[str, Json]:
        document, attributes = self.node(prefix), self._attributes(prefix)
        for message, where in unread_draft.members(document):
            self.documents.lost("draft-layout", message, prefix + DOCUMENT, where)
        documents: dict[str, Json] = {"attr": self._types(prefix, attributes)}
        if not prefix and isinstance(attributes.get("_nczarr_superblock"), dict):
            documents["superblock"] = self._superblock(attributes["_nczarr_superblock"])
        for what in ("group", "array"):
            name = f"_nczarr_{what}"
            if not isinstance(attributes.get(name, {}), dict):
                self._bad(f"`{name}` is not an object", prefix, pointer(name))
        if document.get("node_type") == "array":
            documents["array"] = self._array(prefix, _object(attributes.get("_nczarr_array")), document)
        else:
            documents["group"] = self._group(prefix, attributes.get("_nczarr_group"))
        return documents

    def _superblock(self, superblock: Json) -> Json:
        for member, value in superblock.items():
            fits = (isinstance(value, str) and value.startswith("3.")) if member == "version" else value == 3
            if member not in ("version", "format") or not fits:
                text = f"`{member}`: {_quoted(value)} is not of the draft, which has version 3 and format 3"
                self._conflict(text, "", pointer("_nczarr_superblock", member))
        return superblock

    # ---- types of attributes ---------------------------------------------------------------------------------------
    def _types(self, prefix: str, attributes: Json) -> Json:
        """Return `_nczarr_attr` with the declared types."""
        document = dict(_object(attributes.get("_nczarr_attr")))
        declared = {**_object(document.get("types"))}
        if ATTRIBUTE_TYPES in attributes:
            kinds = self._declared(prefix, attributes[ATTRIBUTE_TYPES])
            for name, (kind, where) in kinds.items():
                type_name = self._attribute_type(prefix, name, kind, where, attributes)
                if type_name is not None:
                    declared[name] = type_name
            for name in attributes:
                if name not in {*kinds, *declared, *HIDDEN, ATTRIBUTE_TYPES}:
                    self._conflict(f"attribute {_quoted(name)} has no type", prefix, pointer(name))
        return {**document, "types": declared}

    def _declared(self, prefix: str, written: Any) -> dict[str, tuple[Any, str]]:
        """Return each attribute's type with its pointer, of either form."""
        types, where = written, pointer(ATTRIBUTE_TYPES)
        if isinstance(written, dict):
            for member in written.keys() - {"attribute_types"}:
                self._unknown(prefix, where, member)
            types, where = written.get("attribute_types"), where + pointer("attribute_types")
        kinds: dict[str, tuple[Any, str]] = {}
        if isinstance(types, dict):
            return {name: (kind, where + pointer(name)) for name, kind in types.items()}
        if not isinstance(types, list):
            self._bad("the types of attributes are neither an object nor a list", prefix, where)
            return kinds
        for number, entry in enumerate(types):
            place = where + pointer(number)
            name = _object(entry).get("name")
            kind = _object(_object(entry).get("configuration")).get("type")
            if not isinstance(name, str) or kind is None:
                self._bad("an item of the attribute types lacks a name or a type", prefix, place)
            elif name in kinds and kinds[name][0] != kind:
                text = f"attribute {_quoted(name)} has two types: {_quoted(kinds[name][0])} is read"
                self._conflict(text, prefix, place)
            else:
                kinds.setdefault(name, (kind, place))
        return kinds

    def _attribute_type(self, prefix: str, name: str, kind: Any, where: str, attributes: Json) -> str | None:
        """Return released NCZarr's name of an attribute's type; None for an unusable type."""
        if name not in attributes:
            self._conflict(f"attribute {_quoted(name)} has a type, but does not exist", prefix, where)
            return None
        if kind in ("char", "string") and not _is_text(attributes[name], several=kind == "string"):
            self._conflict(f"attribute {_quoted(name)} of type {kind} is not a text", prefix, where)
            return None if kind == "string" else ">S1"
        if name == "_FillValue":
            self._fill_type(prefix, kind, where)
        type_name = _OWN_TYPES.get(kind) if isinstance(kind, str) else None
        if type_name is None:
            with suppress(ValueError, TypeError):
                type_name = str(dtypes.descr(kind))
            type_name = (
                {"V": "|S1", "b": "|u1"}.get(type_name[1], type_name)
                if type_name is not None and len(type_name) > 1
                else None
            )
        if type_name is None or type_name[1] not in "SJiuf" or type_name[1:] == "f2":
            text = f"attribute {_quoted(name)} has unknown type {_quoted(kind)}: its type is that of its value"
            self._conflict(text, prefix, where)
            return None
        return type_name

    def _fill_type(self, prefix: str, kind: Any, where: str) -> None:
        """Report a `_FillValue` of another type than its array."""
        document = self.node(prefix)
        stored = document.get("data_type")
        expected = self._alias(self._attributes(prefix)) or ("string" if _is_raw(stored) else stored)
        if document.get("node_type") == "array" and kind not in (expected, stored):
            self._conflict(f"`_FillValue` has type {_quoted(kind)}, but its array {_quoted(expected)}", prefix, where)

    # ---- groups ----------------------------------------------------------------------------------------------------
    def _group(self, prefix: str, written: Any) -> Json:
        """Return `_nczarr_group`; without one, or where it misses nodes, with the nodes of the store."""
        document, where = _object(written), pointer("_nczarr_group")
        for member in document.keys() - _GROUP_MEMBERS:
            self._unknown(prefix, where, member)
        arrays, groups = self._names(prefix, document, "arrays"), self._names(prefix, document, "groups")
        documented = self._names(prefix, document, "subgroups")
        if "groups" in document and "subgroups" in document and set(groups) != set(documented):
            text = "`groups` and `subgroups` name different groups: all are read"
            self._conflict(text, prefix, where + pointer("subgroups"))
        groups = list(dict.fromkeys([*groups, *documented]))
        for name in self._unlisted(prefix, {*arrays, *groups}):
            kind = self.node(f"{prefix}{name}/").get("node_type")
            if isinstance(written, dict):
                self._conflict(f"{kind} {_quoted(name)} is not listed by its group", prefix, where)
            (arrays if kind == "array" else groups).append(name)
        dimensions = self._dimensions(prefix, document.get("dimensions", {}), where + pointer("dimensions"))
        released = {"dimensions": dimensions, "arrays": arrays, "groups": groups}
        return {**released, "nczarr": document["nczarr"]} if "nczarr" in document else released

    def _names(self, prefix: str, document: Json, member: str) -> list[str]:
        listed = document.get(member, [])
        if isinstance(listed, list) and all(isinstance(name, str) for name in listed):
            return list(dict.fromkeys(listed))
        self._bad(f"`{member}` is not a list of names", prefix, pointer("_nczarr_group", member))
        return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []

    def _unlisted(self, prefix: str, listed: set[str]) -> list[str]:
        """Return the nodes below a group that its lists miss, if the store can be listed."""
        if not self.documents.store.listed and not self.documents.extra:
            return []
        below = [child for child in self.documents.children(prefix) if child not in listed]
        self.documents.expect((f"{prefix}{child}/" for child in below), (DOCUMENT,))
        return [child for child in below if self.node(f"{prefix}{child}/").get("node_type") in ("array", "group")]

    def _dimensions(self, prefix: str, written: Any, where: str) -> Json:
        """Return the dimensions of either form as an object."""
        dimensions: Json = {}
        if isinstance(written, list):
            for number, item in enumerate(written):
                place = where + pointer(number)
                name = _object(item).get("name")
                if not isinstance(name, str):
                    self._bad("an item of the dimensions has no name", prefix, place)
                elif name in dimensions:
                    text = f"dimension {_quoted(name)} is declared twice: the first one is read"
                    self.documents.lost("duplicate-name", text, prefix + DOCUMENT, "/attributes" + place)
                else:
                    self._dimension(prefix, name, {key: item[key] for key in item if key != "name"}, place, dimensions)
        elif isinstance(written, dict):
            for name, item in written.items():
                self._dimension(prefix, name, item, where + pointer(name), dimensions)
        else:
            self._bad("the dimensions are neither an object nor a list", prefix, where)
        return dimensions

    def _dimension(self, prefix: str, name: str, written: Any, where: str, dimensions: Json) -> None:
        """Add one dimension."""
        item = written if isinstance(written, dict) else {"size": written}
        for member in item.keys() - {"size", "unlimited"}:
            self._unknown(prefix, where, member)
        size, unlimited = item.get("size"), item.get("unlimited", 0)
        if type(size) is not int or size < 0:
            self._bad(f"dimension {_quoted(name)} has no length", prefix, where)
            return
        if not isinstance(unlimited, int) or unlimited not in (0, 1):
            text = f"`unlimited` of dimension {_quoted(name)} is {_quoted(unlimited)}: it is read as 0"
            self._conflict(text, prefix, where + pointer("unlimited"))
            unlimited = 0
        dimensions[name] = {"size": size, "unlimited": int(unlimited)}

    # ---- arrays ----------------------------------------------------------------------------------------------------
    def _alias(self, attributes: Json) -> Any:
        """Return the declared type of an array, or None."""
        array = _object(attributes.get("_nczarr_array"))
        return next((array[alias] for alias in _ALIASES if alias in array), None)

    def _array(self, prefix: str, array: Json, document: Json) -> Json:
        """Return `_nczarr_array`, with fill mode and layout in our extension."""
        where = pointer("_nczarr_array")
        for member in array.keys() - _ARRAY_MEMBERS:
            self._unknown(prefix, where, member)
        if all(alias in array for alias in _ALIASES) and array["nczarr_type"] != array["type_alias"]:
            text = f"`type_alias` {_quoted(array['type_alias'])} differs from `nczarr_type`, which is read"
            self._conflict(text, prefix, where + pointer("type_alias"))
        extension: Json = {}
        if "fill_value" in document and document["fill_value"] is None:
            extension["fill_mode"] = "nofill"
        if array.get("storage") in ("contiguous", "compact"):
            extension |= {"layout": array["storage"], "chunks": []}
        elif array.get("storage", "chunked") not in ("chunked", "scalar"):
            text = f"storage {_quoted(array['storage'])} is unknown and is not read"
            self._conflict(text, prefix, where + pointer("storage"))
        released: Json = {key: array[key] for key in ("dimension_references", "scalar") if key in array}
        shape = document.get("shape")
        if released.get("scalar", 0) not in (0, 1) or (released.get("scalar") == 1 and shape not in ([], [1])):
            text = f"`scalar` is {_quoted(released['scalar'])}, and the shape {_quoted(shape)}: the shape is read"
            self._conflict(text, prefix, where + pointer("scalar"))
            del released["scalar"]
        if "dimension_references" not in released:
            references = self._references(prefix, document.get("dimension_names"), shape)
            released |= {} if references is None else {"dimension_references": references}
        inner = _object(array.get("nczarr"))
        return {**released, "nczarr": {**extension, **inner}} if extension or inner else released

    def _references(self, prefix: str, names: Any, shape: Any) -> list[str] | None:
        """Return the dimensions of the nearest groups that have an array's dimension names."""
        if not isinstance(names, list) or not isinstance(shape, list) or len(names) != len(shape):
            return None
        references: list[str] = []
        for name in names:
            if not isinstance(name, str):
                return None
            group = self._parent(prefix)
            while group and name not in (self.hidden(group, "group") or {}).get("dimensions", {}):
                group = self._parent(group)
            references.append(f"/{group}{name}")
        return references

    @staticmethod
    def _parent(prefix: str) -> str:
        """Return the prefix of the group that holds a node."""
        above = prefix.removesuffix("/").rpartition("/")[0]
        return above + "/" if above else ""

    def _unknown(self, prefix: str, where: str, member: str) -> None:
        self._conflict(f"member {_quoted(member)} is unknown and is not read", prefix, where + pointer(member))


def _quoted(value: Any) -> str:
    """Return a name, or another JSON value, as messages quote it."""
    return f"`{value[:60]}`" if isinstance(value, str) else shown(value)


def _is_raw(data_type: Any) -> bool:
    """Return whether a data type is that of strings, raw bytes."""
    return isinstance(data_type, str) and data_type.startswith("r") and data_type[1:].isdecimal()


def _is_text(value: Any, *, several: bool) -> bool:
    """Return whether a JSON value is a text, or perhaps several."""
    return isinstance(value, str) or (
        several and isinstance(value, list) and all(isinstance(text, str) for text in value)
    )
