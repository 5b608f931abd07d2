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

A root is of the draft (`formats/zarr/v3/draft_marks.py`) if its superblock lacks our `nczarr` member. A group or
array without a superblock, opened alone, is of the draft if its metadata have a
form that only the draft has. Nodes of a draft below another root are read as
that root's dialect, and their own metadata are reported (`unread_members`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.ast.plain_json import HIDDEN, encode
from nczarr.formats.common.documents import DocumentCache, Json
from nczarr.formats.zarr.core.fill_values import show
from nczarr.formats.zarr.core.reader import name_list
from nczarr.formats.zarr.v3 import DOCUMENT, dtypes
from nczarr.formats.zarr.v3.draft_marks import ALIASES, ATTRIBUTE_TYPES, find_misplaced
from nczarr.syntax.json.positions import pointer

_Values = tuple[object, ...] | str | None

_MEMBERS: dict[str, dict[str, _Values]] = {
    # the code has `version`, the documentation `format` as well
    "_nczarr_superblock": {"version": "3.", "format": (3,)},
    "_nczarr_group": dict.fromkeys(("dimensions", "arrays", "groups", "subgroups", "nczarr")),
    "_nczarr_array": {
        **dict.fromkeys(("dimension_references", "nczarr", *ALIASES)),
        "scalar": (0, 1),
        "storage": ("chunked", "contiguous", "compact", "scalar"),
    },
    ATTRIBUTE_TYPES: {"attribute_types": None},
}
"""Members of each hidden attribute, and their values: some, texts with a prefix, or all (None)."""

_DIMENSION: dict[str, _Values] = {"size": None, "unlimited": (0, 1)}

_OWN_TYPES = {"char": ">S1", "json": "|J0", "string": "|S1"}  # as `_nczarr_attr` names them
"""Types of the draft alone, as released NCZarr names them in its map of attribute types."""

_LIKE = {"V": "|S1", "b": "|u1"}
"""Names in released NCZarr of types that it does not have, by NumPy kind."""


class DraftMetadata:
    """Hidden attributes of a draft's nodes, by prefix, in the form of released NCZarr.

    `node` returns the document of a prefix. Each contradiction is reported once.
    """

    def __init__(self, documents: DocumentCache, node: Callable[[str], Json]) -> None:
        self.documents = documents
        self.node = node
        self._known: dict[str, dict[str, Json]] = {}

    def read_hidden(self, prefix: str, what: str) -> Json | None:
        """Return the `superblock`, `group`, `array` or `attr` of a node, or None."""
        documents = self._known.get(prefix)
        if documents is None:
            documents = self._known[prefix] = self._read_released(prefix)
        return documents.get(what)

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
            where = next(alias for alias in ALIASES if alias in _object(attributes["_nczarr_array"]))
            message = f"type {show(kind)} does not suit data type {show(written)}, which is read"
            self._conflict(message, prefix, pointer("_nczarr_array", where))
        return stored

    @staticmethod
    def is_text(document: Json, dtype: Descr) -> bool:
        """Return whether elements read as this dtype are the draft's characters or strings."""
        return isinstance(dtype, str) and dtype[1] == "S" and isinstance(document.get("data_type"), str)

    @staticmethod
    def fill_bytes(dtype: Descr, written: Any) -> bytes:
        """Return the fill value of characters or strings that a text or number gives. Raises ValueError."""
        codes = [written] if dtype == "|S1" and type(written) is int else written
        if isinstance(codes, list) and all(type(code) is int and 0 <= code <= 255 for code in codes):
            data = bytes(codes)
        elif isinstance(written, str):
            data = encode(written)
        else:
            raise ValueError(f"{show(written)} is not a text")
        if len(data) > itemsize(dtype):
            raise ValueError(f"{show(written)} is longer than {itemsize(dtype)} bytes")
        return data.ljust(itemsize(dtype), b"\0")

    # ---- one node --------------------------------------------------------------------------------------------------
    def _attributes(self, prefix: str) -> Json:
        return _object(self.node(prefix).get("attributes"))

    def _conflict(self, message: str, prefix: str, where: str) -> None:
        self.documents.warn("draft-conflict", message, prefix + DOCUMENT, "/attributes" + where)

    def _bad(self, message: str, prefix: str, where: str, code: str = "bad-metadata") -> None:
        self.documents.report_lost(code, message, prefix + DOCUMENT, "/attributes" + where)

    def _fitting(self, members: Json, table: Mapping[str, _Values], prefix: str, where: str) -> Json:
        """Return the members that the draft has; report others."""
        fitting = {}
        for member, value in members.items():
            allowed = table.get(member, ())
            is_text = isinstance(allowed, str) and isinstance(value, str) and value.startswith(allowed)
            if allowed is None or is_text or (isinstance(allowed, tuple) and value in allowed):
                fitting[member] = value
            else:
                self._conflict(f"the draft has no `{member}` {show(value)}", prefix, where + pointer(member))
        return fitting

    def _take_members(self, prefix: str, name: str) -> Json:
        """Return the members of a hidden attribute that the draft has; report others, and what is no object."""
        written = self._attributes(prefix).get(name, {})
        if not isinstance(written, dict):
            self._bad(f"`{name}` is not an object", prefix, pointer(name))
        return self._fitting(_object(written), _MEMBERS[name], prefix, pointer(name))

    def _entries(self, written: Any, prefix: str, where: str) -> Iterator[tuple[str, Any, str]]:
        """Yield name, content and pointer of the entries of a list or object; report those without a name."""
        if isinstance(written, dict):
            yield from ((name, item, where + pointer(name)) for name, item in written.items())
        elif not isinstance(written, list):
            self._bad("the value is neither an object nor a list", prefix, where)
        for number, item in enumerate(written if isinstance(written, list) else ()):
            name, place = _object(item).get("name"), where + pointer(number)
            if isinstance(name, str):
                yield name, {key: value for key, value in item.items() if key != "name"}, place
            else:
                self._bad("an item of the list has no name", prefix, place)

    def _read_released(self, prefix: str) -> dict[str, Json]:
        """Return the hidden attributes of a node in the form of released NCZarr, by name without `_nczarr_`."""
        document, attributes = self.node(prefix), self._attributes(prefix)
        for message, where in find_misplaced(document):
            self.documents.report_lost("draft-layout", message, prefix + DOCUMENT, where)
        documents: dict[str, Json] = {"attr": self._read_types(prefix, attributes)}
        if not prefix and isinstance(attributes.get("_nczarr_superblock"), dict):
            documents["superblock"] = self._take_members(prefix, "_nczarr_superblock")
        if document.get("node_type") == "array":
            documents["array"] = self._read_array(prefix, document)
        else:
            documents["group"] = self._read_group(prefix, "_nczarr_group" in attributes)
        return documents

    # ---- types of attributes ---------------------------------------------------------------------------------------
    def _read_types(self, prefix: str, attributes: Json) -> Json:
        """Return `_nczarr_attr` with the declared types."""
        document = dict(_object(attributes.get("_nczarr_attr")))
        declared = dict(_object(document.get("types")))
        if ATTRIBUTE_TYPES in attributes:
            kinds: dict[str, Any] = {}
            written, where = attributes[ATTRIBUTE_TYPES], pointer(ATTRIBUTE_TYPES)
            if isinstance(written, dict):
                written = self._take_members(prefix, ATTRIBUTE_TYPES).get("attribute_types")
                where += pointer("attribute_types")
            for name, item, place in self._entries(written, prefix, where):
                kind = item if isinstance(written, dict) else _object(item.get("configuration")).get("type")
                if kind is None:
                    self._bad(f"attribute {show(name)} has no type here", prefix, place)
                elif kinds.setdefault(name, kind) != kind:
                    text = f"attribute {show(name)} has two types: {show(kinds[name])} is read"
                    self._conflict(text, prefix, place)
                else:
                    type_name = self._attribute_type(prefix, name, kind, place, attributes)
                    declared |= {} if type_name is None else {name: type_name}
            for name in attributes.keys() - {*kinds, *declared, *HIDDEN, ATTRIBUTE_TYPES}:
                self._conflict(f"attribute {show(name)} has no type", prefix, pointer(name))
        return {**document, "types": declared}

    def _attribute_type(self, prefix: str, name: str, kind: Any, where: str, attributes: Json) -> str | None:
        """Return released NCZarr's name of an attribute's type; None for an unusable type."""
        type_name = _OWN_TYPES.get(kind) if isinstance(kind, str) else None
        if name not in attributes:
            self._conflict(f"attribute {show(name)} has a type, but does not exist", prefix, where)
            return None
        if kind in ("char", "string") and not _is_text(attributes[name], several=kind == "string"):
            self._conflict(f"attribute {show(name)} of type {kind} is not a text", prefix, where)
            return None if kind == "string" else type_name
        stored = self.node(prefix).get("data_type")
        alias = self._alias(self._attributes(prefix)) or ("string" if _is_raw(stored) else stored)
        is_array = self.node(prefix).get("node_type") == "array"
        if name == "_FillValue" and is_array and kind not in (alias, stored):
            self._conflict(f"`_FillValue` has type {show(kind)}, but its array {show(alias)}", prefix, where)
        if type_name is None:
            with suppress(ValueError, TypeError):
                type_name = str(dtypes.descr(kind))
                type_name = _LIKE.get(type_name[1], type_name)
        if type_name is None or type_name[1] not in "SJiuf" or type_name[1:] == "f2":
            text = f"attribute {show(name)} has unknown type {show(kind)}: its type is that of its value"
            self._conflict(text, prefix, where)
            return None
        return type_name

    # ---- groups ----------------------------------------------------------------------------------------------------
    def _read_group(self, prefix: str, is_listed: bool) -> Json:
        """Return `_nczarr_group`; without one, or where it misses nodes, with the nodes of the store."""
        document, where = self._take_members(prefix, "_nczarr_group"), pointer("_nczarr_group")
        arrays, groups, documented = (
            name_list(self.documents, document, member, prefix + DOCUMENT, "/attributes" + where + pointer(member))
            for member in ("arrays", "groups", "subgroups")
        )
        if "groups" in document and "subgroups" in document and set(groups) != set(documented):
            text = "`groups` and `subgroups` name different groups: all are read"
            self._conflict(text, prefix, where + pointer("subgroups"))
        groups = list(dict.fromkeys([*groups, *documented]))
        for name in self._find_unlisted(prefix, {*arrays, *groups}):
            kind = self.node(f"{prefix}{name}/").get("node_type")
            if is_listed:
                self._conflict(f"{kind} {show(name)} is not listed by its group", prefix, where)
            (arrays if kind == "array" else groups).append(name)
        dimensions = self._read_dimensions(prefix, document.get("dimensions", {}), where + pointer("dimensions"))
        released = {name: document[name] for name in document if name != "subgroups"}
        return {**released, "dimensions": dimensions, "arrays": arrays, "groups": groups}

    def _find_unlisted(self, prefix: str, listed: set[str]) -> list[str]:
        """Return the nodes below a group that its lists miss, if the store can be listed."""
        if not self.documents.store.listed and not self.documents.extra:
            return []
        below = [child for child in self.documents.children(prefix) if child not in listed]
        self.documents.expect((f"{prefix}{child}/" for child in below), (DOCUMENT,))
        return [child for child in below if self.node(f"{prefix}{child}/").get("node_type") in ("array", "group")]

    def _read_dimensions(self, prefix: str, written: Any, where: str) -> Json:
        """Return the dimensions of either form as an object."""
        dimensions: Json = {}
        for name, item, place in self._entries(written, prefix, where):
            members = item if isinstance(item, dict) else {"size": item}
            dimension = {"unlimited": 0, **self._fitting(members, _DIMENSION, prefix, place)}
            size = dimension.get("size")
            if name in dimensions:
                text = f"dimension {show(name)} is declared twice: the first one is read"
                self._bad(text, prefix, place, "duplicate-name")
            elif type(size) is not int or size < 0:
                self._bad(f"dimension {show(name)} has no length", prefix, place)
            else:
                dimensions[name] = {"size": size, "unlimited": int(dimension["unlimited"])}
        return dimensions

    # ---- arrays ----------------------------------------------------------------------------------------------------
    def _alias(self, attributes: Json) -> Any:
        """Return the declared type of an array, or None."""
        array = _object(attributes.get("_nczarr_array"))
        return next((array[alias] for alias in ALIASES if alias in array), None)

    def _read_array(self, prefix: str, document: Json) -> Json:
        """Return `_nczarr_array`, with fill mode and layout in our extension."""
        array, where, shape = (
            self._take_members(prefix, "_nczarr_array"),
            pointer("_nczarr_array"),
            document.get("shape"),
        )
        if len({repr(array[alias]) for alias in ALIASES if alias in array}) > 1:
            text = f"`type_alias` {show(array['type_alias'])} differs from `nczarr_type`, which is read"
            self._conflict(text, prefix, where + pointer("type_alias"))
        extension: Json = {}
        if "fill_value" in document and document["fill_value"] is None:
            extension["fill_mode"] = "nofill"
        if array.get("storage") in ("contiguous", "compact"):
            extension |= {"layout": array["storage"], "chunks": []}
        released: Json = {key: array[key] for key in ("dimension_references", "scalar") if key in array}
        if released.get("scalar") == 1 and shape not in ([], [1]):
            self._conflict(f"the array is no scalar: its shape is {show(shape)}", prefix, where + pointer("scalar"))
            del released["scalar"]
        if "dimension_references" not in released:
            references = self._find_dimensions(prefix, document.get("dimension_names"), shape)
            released |= {} if references is None else {"dimension_references": references}
        extension |= _object(array.get("nczarr"))
        return {**released, "nczarr": extension} if extension else released

    def _find_dimensions(self, prefix: str, names: Any, shape: Any) -> list[str] | None:
        """Return the dimensions of the nearest groups that have an array's dimension names."""
        if not isinstance(names, list) or not isinstance(shape, list) or len(names) != len(shape):
            return None
        references: list[str] = []
        for name in names:
            if not isinstance(name, str):
                return None
            group = _parent(prefix)
            while group and name not in (self.read_hidden(group, "group") or {}).get("dimensions", {}):
                group = _parent(group)
            references.append(f"/{group}{name}")
        return references


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _parent(prefix: str) -> str:
    """Return the prefix of the group that holds a node."""
    above = prefix.removesuffix("/").rpartition("/")[0]
    return above + "/" if above else ""


def _is_raw(data_type: Any) -> bool:
    """Return whether a data type is that of strings, raw bytes."""
    return isinstance(data_type, str) and data_type.startswith("r") and data_type[1:].isdecimal()


def _is_text(value: Any, *, several: bool) -> bool:
    """Return whether a JSON value is a text, or perhaps several."""
    return isinstance(value, str) or (
        several and isinstance(value, list) and all(isinstance(text, str) for text in value)
    )
