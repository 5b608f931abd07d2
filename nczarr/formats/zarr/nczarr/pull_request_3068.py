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

from nczarr.arrays.source import Descr, itemsize
from nczarr.ast.plain import HIDDEN, encoded
from nczarr.formats.zarr.core.fill_values import shown
from nczarr.formats.zarr.nczarr import unread_draft
from nczarr.formats.zarr.v3 import DOCUMENT, dtypes
from nczarr.json.documents import DocumentCache, Json
from nczarr.json.positions import pointer

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
    group, array = (_object(attributes.get(f"_nczarr_{each}")) for each in ("group", "array"))
    return "subgroups" in group or isinstance(group.get("dimensions"), list) or any(each in array for each in _ALIASES)


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
        found = self._known.get(prefix)
        if found is None:
            found = self._known[prefix] = self._released(prefix)
        return found.get(what)

    def attributes(self, given: Json) -> Json:
        """Return a node's attributes without the draft's types."""
        return {name: value for name, value in given.items() if name != ATTRIBUTE_TYPES}

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
            where = next(each for each in _ALIASES if each in _object(attributes["_nczarr_array"]))
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
        if isinstance(written, list) and all(type(each) is int and 0 <= each <= 255 for each in written):
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
        found: dict[str, Json] = {"attr": self._types(prefix, attributes)}
        if not prefix and isinstance(attributes.get("_nczarr_superblock"), dict):
            found["superblock"] = self._superblock(attributes["_nczarr_superblock"])
        for what in ("group", "array"):
            name = f"_nczarr_{what}"
            if not isinstance(attributes.get(name, {}), dict):
                self._bad(f"`{name}` is not an object", prefix, pointer(name))
        if document.get("node_type") == "array":
            found["array"] = self._array(prefix, _object(attributes.get("_nczarr_array")), document)
        else:
            found["group"] = self._group(prefix, attributes.get("_nczarr_group"))
        return found

    def _superblock(self, given: Json) -> Json:
        for member, value in given.items():
            fits = (isinstance(value, str) and value.startswith("3.")) if member == "version" else value == 3
            if member not in ("version", "format") or not fits:
                text = f"`{member}`: {_quoted(value)} is not of the draft, which has version 3 and format 3"
                self._conflict(text, "", pointer("_nczarr_superblock", member))
        return given

    # ---- types of attributes ---------------------------------------------------------------------------------------
    def _types(self, prefix: str, attributes: Json) -> Json:
        """Return `_nczarr_attr` with the declared types."""
        found = dict(_object(attributes.get("_nczarr_attr")))
        declared = {**_object(found.get("types"))}
        if ATTRIBUTE_TYPES in attributes:
            kinds = self._declared(prefix, attributes[ATTRIBUTE_TYPES])
            for name, (kind, where) in kinds.items():
                made = self._attribute_type(prefix, name, kind, where, attributes)
                if made is not None:
                    declared[name] = made
            for name in attributes:
                if name not in {*kinds, *declared, *HIDDEN, ATTRIBUTE_TYPES}:
                    self._conflict(f"attribute {_quoted(name)} has no type", prefix, pointer(name))
        return {**found, "types": declared}

    def _declared(self, prefix: str, given: Any) -> dict[str, tuple[Any, str]]:
        """Return each attribute's type with its pointer, of either form."""
        types, where = given, pointer(ATTRIBUTE_TYPES)
        if isinstance(given, dict):
            for member in given.keys() - {"attribute_types"}:
                self._unknown(prefix, where, member)
            types, where = given.get("attribute_types"), where + pointer("attribute_types")
        found: dict[str, tuple[Any, str]] = {}
        if isinstance(types, dict):
            return {name: (kind, where + pointer(name)) for name, kind in types.items()}
        if not isinstance(types, list):
            self._bad("the types of attributes are neither an object nor a list", prefix, where)
            return found
        for number, each in enumerate(types):
            place = where + pointer(number)
            name = _object(each).get("name")
            kind = _object(_object(each).get("configuration")).get("type")
            if not isinstance(name, str) or kind is None:
                self._bad("an item of the attribute types lacks a name or a type", prefix, place)
            elif name in found and found[name][0] != kind:
                text = f"attribute {_quoted(name)} has two types: {_quoted(found[name][0])} is read"
                self._conflict(text, prefix, place)
            else:
                found.setdefault(name, (kind, place))
        return found

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
        made = _OWN_TYPES.get(kind) if isinstance(kind, str) else None
        if made is None:
            with suppress(ValueError, TypeError):
                made = str(dtypes.descr(kind))
            made = {"V": "|S1", "b": "|u1"}.get(made[1], made) if made is not None and len(made) > 1 else None
        if made is None or made[1] not in "SJiuf" or made[1:] == "f2":
            text = f"attribute {_quoted(name)} has unknown type {_quoted(kind)}: its type is that of its value"
            self._conflict(text, prefix, where)
            return None
        return made

    def _fill_type(self, prefix: str, kind: Any, where: str) -> None:
        """Report a `_FillValue` of another type than its array."""
        document = self.node(prefix)
        stored = document.get("data_type")
        wanted = self._alias(self._attributes(prefix)) or ("string" if _is_raw(stored) else stored)
        if document.get("node_type") == "array" and kind not in (wanted, stored):
            self._conflict(f"`_FillValue` has type {_quoted(kind)}, but its array {_quoted(wanted)}", prefix, where)

    # ---- groups ----------------------------------------------------------------------------------------------------
    def _group(self, prefix: str, given: Any) -> Json:
        """Return `_nczarr_group`; without one, or where it misses nodes, with the nodes of the store."""
        document, where = _object(given), pointer("_nczarr_group")
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
            if isinstance(given, dict):
                self._conflict(f"{kind} {_quoted(name)} is not listed by its group", prefix, where)
            (arrays if kind == "array" else groups).append(name)
        dimensions = self._dimensions(prefix, document.get("dimensions", {}), where + pointer("dimensions"))
        found = {"dimensions": dimensions, "arrays": arrays, "groups": groups}
        return {**found, "nczarr": document["nczarr"]} if "nczarr" in document else found

    def _names(self, prefix: str, document: Json, member: str) -> list[str]:
        given = document.get(member, [])
        if isinstance(given, list) and all(isinstance(each, str) for each in given):
            return list(dict.fromkeys(given))
        self._bad(f"`{member}` is not a list of names", prefix, pointer("_nczarr_group", member))
        return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []

    def _unlisted(self, prefix: str, listed: set[str]) -> list[str]:
        """Return the nodes below a group that its lists miss, if the store can be listed."""
        if not self.documents.store.listed and not self.documents.extra:
            return []
        below = [each for each in self.documents.children(prefix) if each not in listed]
        self.documents.expect((f"{prefix}{each}/" for each in below), (DOCUMENT,))
        return [each for each in below if self.node(f"{prefix}{each}/").get("node_type") in ("array", "group")]

    def _dimensions(self, prefix: str, given: Any, where: str) -> Json:
        """Return the dimensions of either form as an object."""
        found: Json = {}
        if isinstance(given, list):
            for number, item in enumerate(given):
                place = where + pointer(number)
                name = _object(item).get("name")
                if not isinstance(name, str):
                    self._bad("an item of the dimensions has no name", prefix, place)
                elif name in found:
                    text = f"dimension {_quoted(name)} is declared twice: the first one is read"
                    self.documents.lost("duplicate-name", text, prefix + DOCUMENT, "/attributes" + place)
                else:
                    self._dimension(prefix, name, {key: item[key] for key in item if key != "name"}, place, found)
        elif isinstance(given, dict):
            for name, item in given.items():
                self._dimension(prefix, name, item, where + pointer(name), found)
        else:
            self._bad("the dimensions are neither an object nor a list", prefix, where)
        return found

    def _dimension(self, prefix: str, name: str, given: Any, where: str, found: Json) -> None:
        """Add one dimension."""
        item = given if isinstance(given, dict) else {"size": given}
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
        found[name] = {"size": size, "unlimited": int(unlimited)}

    # ---- arrays ----------------------------------------------------------------------------------------------------
    def _alias(self, attributes: Json) -> Any:
        """Return the declared type of an array, or None."""
        array = _object(attributes.get("_nczarr_array"))
        return next((array[each] for each in _ALIASES if each in array), None)

    def _array(self, prefix: str, given: Json, document: Json) -> Json:
        """Return `_nczarr_array`, with fill mode and layout in our extension."""
        where = pointer("_nczarr_array")
        for member in given.keys() - _ARRAY_MEMBERS:
            self._unknown(prefix, where, member)
        if all(each in given for each in _ALIASES) and given["nczarr_type"] != given["type_alias"]:
            text = f"`type_alias` {_quoted(given['type_alias'])} differs from `nczarr_type`, which is read"
            self._conflict(text, prefix, where + pointer("type_alias"))
        extension: Json = {}
        if "fill_value" in document and document["fill_value"] is None:
            extension["fill_mode"] = "nofill"
        if given.get("storage") in ("contiguous", "compact"):
            extension |= {"layout": given["storage"], "chunks": []}
        elif given.get("storage", "chunked") not in ("chunked", "scalar"):
            text = f"storage {_quoted(given['storage'])} is unknown and is not read"
            self._conflict(text, prefix, where + pointer("storage"))
        found: Json = {key: given[key] for key in ("dimension_references", "scalar") if key in given}
        shape = document.get("shape")
        if found.get("scalar", 0) not in (0, 1) or (found.get("scalar") == 1 and shape not in ([], [1])):
            text = f"`scalar` is {_quoted(found['scalar'])}, and the shape {_quoted(shape)}: the shape is read"
            self._conflict(text, prefix, where + pointer("scalar"))
            del found["scalar"]
        if "dimension_references" not in found:
            references = self._references(prefix, document.get("dimension_names"), shape)
            found |= {} if references is None else {"dimension_references": references}
        own = _object(given.get("nczarr"))
        return {**found, "nczarr": {**extension, **own}} if extension or own else found

    def _references(self, prefix: str, names: Any, shape: Any) -> list[str] | None:
        """Return the dimensions of the nearest groups that have an array's dimension names."""
        if not isinstance(names, list) or not isinstance(shape, list) or len(names) != len(shape):
            return None
        found: list[str] = []
        for name in names:
            if not isinstance(name, str):
                return None
            group = self._parent(prefix)
            while group and name not in (self.hidden(group, "group") or {}).get("dimensions", {}):
                group = self._parent(group)
            found.append(f"/{group}{name}")
        return found

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
        several and isinstance(value, list) and all(isinstance(each, str) for each in value)
    )
