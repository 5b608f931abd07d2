"""Raw JSON documents of a store by key, for faults of readers.

Documents are not judged: invalid JSON is one kind of fault, JSON that only
strict parsers refuse another. Invariant: each document is read once, and of
chunks at most names and lengths.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nczarr.formats.common.documents import Json
from nczarr.plugins.readers.rule import Finding
from nczarr.stores.base import Store, UnsafeKeyError, is_safe
from nczarr.syntax.json.tolerant import NotJsonError, parse, too_deep

DEEPEST = 64
"""Maximum depth of groups; deeper ones are ignored."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+\w.]+', re.DOTALL)
_MARK = "\ue000"
_CHUNK = re.compile(r"[0-9]+(?:\.[0-9]+)*|c")
_ESCAPES = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


class Word(str):
    """A bare word or number that is invalid JSON: `TRUE`, `007`."""


@dataclass(frozen=True, slots=True)
class StoreDocument:
    """One JSON document of a store."""

    key: str
    value: Any = None
    """Value by a tolerant parser, or None."""
    broken: str | None = None
    """Reason why it is invalid even for a tolerant parser, or has trailing text."""
    unstrict: str | None = None
    """Reason why a strict parser refuses it."""
    escaped: Any = None
    """Value for a parser that drops the backslash of a Unicode escape; None without such escapes."""
    repeated: tuple[str, ...] = ()
    """Pointers of duplicate members."""

    @property
    def members(self) -> Json:
        """Members of an object; empty for other values."""
        return self.value if isinstance(self.value, dict) else {}


@dataclass(slots=True)
class StoreNode:
    """An array or group of a store."""

    prefix: str
    """Prefix of its keys."""
    is_array: bool
    """True for an array."""
    document: StoreDocument | None
    """`.zarray`, `.zgroup` or `zarr.json`, or None."""
    attributes: StoreDocument | None
    """`.zattrs`; in Zarr v3 the same document."""
    version: int
    """Version of Zarr."""
    members: list[StoreNode] = field(default_factory=list)
    """Child nodes."""

    @property
    def path(self) -> str:
        """Path in messages."""
        return "/" + self.prefix.rstrip("/")

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.prefix.rstrip("/").rpartition("/")[2]

    @property
    def key(self) -> str:
        """Key of its document, which may be missing."""
        return self.prefix + ("zarr.json" if self.version == 3 else ".zarray" if self.is_array else ".zgroup")

    @property
    def meta(self) -> Json:
        """Members of its document."""
        return self.document.members if self.document else {}

    @property
    def attrs(self) -> Json:
        """Attributes."""
        members = self.attributes.members if self.attributes else {}
        if self.version == 3:
            members = members.get("attributes", {})
        return members if isinstance(members, dict) else {}

    @property
    def attrs_key(self) -> str:
        """Key of the document with the attributes, which may be missing."""
        return self.prefix + ("zarr.json" if self.version == 3 else ".zattrs")

    @property
    def attrs_pointer(self) -> str:
        """JSON pointer to the attributes in that document."""
        return "/attributes" if self.version == 3 else ""

    @property
    def shape(self) -> list[int] | None:
        """Shape of an array as stored; None if it is not a list of integers."""
        return integers(self.meta.get("shape"))

    @property
    def has_arrays(self) -> bool:
        """True if there is an array at or below the node."""
        return any(node.is_array for node in self.walk())

    def read_hidden(self, what: str) -> tuple[Any, str, str]:
        """Return an attribute of NCZarr, its key and pointer; before netCDF-C 4.9.3 it was in the other document."""
        name = f"_nczarr_{what}"
        if name in self.attrs:
            return self.attrs[name], self.attrs_key, f"{self.attrs_pointer}/{name}"
        if name in self.meta:
            return self.meta[name], self.key, f"/{name}"
        return None, self.attrs_key, ""

    def at(self, fault: str, pointer: str, what: str, **more: Any) -> Finding:
        """Return a finding in the document of the node."""
        return Finding(fault, self.key, pointer, what)._replace(**more)

    def at_attribute(self, fault: str, name: str, what: str, **more: Any) -> Finding:
        """Return a finding at an attribute, whose name is a step of a JSON pointer."""
        return Finding(fault, self.attrs_key, f"{self.attrs_pointer}/{name}", what)._replace(**more)

    def walk(self) -> Iterator[StoreNode]:
        """Yield the node and its descendants."""
        yield self
        for member in self.members:
            yield from member.walk()


class StoreDocuments:
    """All documents of a store. `root`: tree of one version; a member without a document is possible."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, StoreDocument | None] = {}

    def get(self, key: str) -> StoreDocument | None:
        """Return a document, or None. Raises OSError."""
        if key not in self._known:
            try:
                data = self.store.get(key)
            except UnsafeKeyError:
                data = None
            self._known[key] = None if data is None else document(key, data)
        return self._known[key]

    @property
    def version(self) -> int:
        """Zarr version of the root for readers of both: 3 if both exist."""
        return 3 if self.get("zarr.json") else 2

    def tree(self, version: int) -> StoreNode:
        """Return the root with all groups and arrays of a version, even without documents. Raises OSError."""
        array = self._read_node("", version)
        return array if array and array.is_array else self._read_group("", version, 0)

    def _read_group(self, prefix: str, version: int, depth: int) -> StoreNode:
        """Read a group with all its members; a folder is a member if it, or anything below it, has a document."""
        node = self._read_node(prefix, version) or StoreNode(
            prefix, False, None, self._attributes(prefix, version), version
        )
        if depth >= DEEPEST:
            return node
        names = self._children(prefix, is_described=node.document is not None)
        keys = ("zarr.json",) if version == 3 else (".zarray", ".zgroup", ".zattrs")
        expected = (f"{prefix}{name}/{key}" for name in names for key in keys)
        self.store.expect(key for key in expected if is_safe(key))
        for name in names:
            inside = f"{prefix}{name}/"
            member = self._read_node(inside, version)
            if member is None or not member.is_array:
                group = self._read_group(inside, version, depth + 1)
                if group.document is None and not group.members and group.attributes is None:
                    continue
                member = group
            node.members.append(member)
        return node

    def _children(self, prefix: str, *, is_described: bool) -> list[str]:
        """Return the names of folders below a prefix, without those like chunks if the prefix has no document."""
        names = self.store.children(prefix) if self.store.listed else self._list_names(prefix)
        return [
            name
            for name in names
            if not name.startswith(".") and name != "zarr.json" and (is_described or not _CHUNK.fullmatch(name))
        ]

    def _list_names(self, prefix: str) -> list[str]:
        """Return names that the documents list, for stores that cannot list keys."""
        document = self.get(".zmetadata")
        keys = document.members.get("metadata") if document else None
        names = {key[len(prefix) :].split("/", 1)[0] for key in keys or () if key.startswith(prefix)}
        attributes = self._attributes(prefix, 2)
        lists = attributes.members.get("_nczarr_group") if attributes else None
        for member in ("arrays", "groups"):
            listed = lists.get(member) if isinstance(lists, dict) else None
            names.update(name for name in listed or () if isinstance(name, str) and "/" not in name)
        return sorted(names - {""})

    def _attributes(self, prefix: str, version: int) -> StoreDocument | None:
        return self.get(prefix + ".zattrs") if version == 2 else None

    def _read_node(self, prefix: str, version: int) -> StoreNode | None:
        if version == 3:
            document = self.get(prefix + "zarr.json")
            is_array = document is not None and document.members.get("node_type") == "array"
            return None if document is None else StoreNode(prefix, is_array, document, document, 3)
        for name in (".zarray", ".zgroup"):
            document = self.get(prefix + name)
            if document is not None:
                return StoreNode(prefix, name == ".zarray", document, self._attributes(prefix, 2), 2)
        return None

    def chunks(self, node: StoreNode) -> Iterator[tuple[str, int]]:
        """Yield the chunk keys of an array with lengths; nothing for a distant store. Raises OSError."""
        if self.store.distant:
            return
        for key in self.store.keys(node.prefix):
            inside = key[len(node.prefix) :]
            if inside.rpartition("/")[2].startswith(".z") or inside == "zarr.json":
                continue
            place = self.store.locate(key)
            yield key, place.length if place is not None else len(self.store.get(key) or b"")

    def find_odd_chunk(self, array: StoreNode, itemsize: int, *, short: bool = False) -> Iterator[Finding]:
        """Find the first chunk of a wrong length, or the first `short` one, of an array of Zarr v2 without codecs.

        Raises OSError.
        """
        chunks, shape = array.meta.get("chunks"), array.meta.get("shape")
        if array.version != 2 or array.meta.get("compressor") or array.meta.get("filters"):
            return
        if not isinstance(chunks, list) or not isinstance(shape, list) or len(shape) != len(chunks):
            return
        if not all(type(length) is int and length > 0 for length in chunks):
            return
        expected = itemsize * math.prod(chunks)
        for key, length in self.chunks(array):
            if length < expected or (length > expected and not short):
                text = f"a chunk of `{array.path}` has {length} bytes, but chunks of its array have {expected}"
                yield Finding("odd-chunk", key, "", text)
                return


def document(key: str, data: bytes) -> StoreDocument:
    """Parse a document."""
    unstrict = None
    try:
        strict = json.loads(data, object_pairs_hook=_Pairs)
        if too_deep(strict):
            return StoreDocument(key, None, "it is nested too deeply")
    except RecursionError:
        return StoreDocument(key, None, "it is nested too deeply")
    except (ValueError, UnicodeDecodeError) as error:
        unstrict = str(error)
        strict = None
    try:
        parsed = parse(_mark_bytes(data) if unstrict is not None else data)
    except NotJsonError as error:
        return StoreDocument(key, None, str(error), unstrict or str(error))
    value = _spell_words(parsed.value) if unstrict is not None else parsed.value
    behind = next((remark for remark in parsed.remarks if "after its end" in remark), None)
    return StoreDocument(key, value, behind, unstrict, _unescape(data), tuple(_list_repeated(strict, "")))


def _unescape(data: bytes) -> Any:
    r"""Return the value for a parser that reads `\u00e9` as `u00e9`; None without such escapes."""
    text = data.decode("utf-8", "surrogateescape")
    if not any(escape[1] for escape in _ESCAPES.finditer(text)):
        return None
    without = _ESCAPES.sub(lambda escape: "u" + escape[1] if escape[1] else escape[0], text)
    try:
        return parse(without.encode("utf-8", "surrogateescape")).value
    except NotJsonError:
        return None


def _mark_bytes(data: bytes) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    return _TOKEN.sub(_mark, text).encode("utf-8", "surrogateescape")


def _mark(token_match: re.Match[str]) -> str:
    """Return a token of JSON text unless it is invalid JSON, such as `nan`: that is made a string with a mark."""
    token = token_match[0]
    if token[0] == '"' or token in ("true", "false", "null", "NaN", "Infinity", "-Infinity"):
        return token
    try:
        json.loads(token)
    except ValueError:
        return json.dumps(_MARK + token, ensure_ascii=False)
    return token


def _spell_words(value: Any) -> Any:
    """Return a parsed value in which marked strings are `Word`s, which stand for invalid tokens."""
    if isinstance(value, dict):
        return {key.removeprefix(_MARK): _spell_words(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_spell_words(item) for item in value]
    if isinstance(value, str) and value.startswith(_MARK):
        return Word(value.removeprefix(_MARK))
    return value


class _Pairs(dict[str, Any]):
    """Object that records duplicate names."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.twice = [name for name, _ in pairs if name in seen or seen.add(name)]  # type: ignore[func-returns-value]


def _list_repeated(value: Any, pointer: str) -> Iterator[str]:
    """Yield JSON pointers to members whose name occurs twice in their object."""
    if isinstance(value, _Pairs):
        for name in dict.fromkeys(value.twice):
            yield f"{pointer}/{step(name)}"
    members = dict(enumerate(value)) if isinstance(value, list) else value
    for name, item in members.items() if isinstance(members, dict) else ():
        yield from _list_repeated(item, f"{pointer}/{step(str(name))}")


def integers(value: Any) -> list[int] | None:
    """Return a list of integers, or None."""
    return value if isinstance(value, list) and all(type(number) is int for number in value) else None


def find_shape(array: StoreNode) -> Iterator[Finding]:
    """Find a shape that is not one."""
    shape = integers(array.meta.get("shape", []))
    if shape is None or any(length < 0 for length in shape):
        yield array.at("bad-shape", "/shape", f"the shape of `{array.path}` is not a list of lengths")


def step(name: str) -> str:
    """Return one step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


class ZarrView:
    """A store as zarr-python sees it.

    `nodes`: reached groups and arrays; `lost`: the first missing document on each
    path.
    """

    def __init__(self, documents: StoreDocuments) -> None:
        self.documents = documents
        self.version = documents.version
        self.root = documents.tree(self.version)
        self.nodes: list[StoreNode] = []
        self.lost: list[StoreNode] = []
        self._enter(self.root)

    def _enter(self, node: StoreNode) -> None:
        if node.document is None:
            self.lost.append(node)
            return
        self.nodes.append(node)
        for member in node.members:
            self._enter(member)

    @property
    def arrays(self) -> Iterator[StoreNode]:
        """Arrays whose document is an object."""
        return (
            node for node in self.nodes if node.is_array and node.document and isinstance(node.document.value, dict)
        )

    def read(self) -> Iterator[StoreDocument]:
        """Yield all documents that it reads."""
        for node in self.nodes:
            for document in (node.document, node.attributes if node.version == 2 else None):
                if document is not None:
                    yield document
        consolidated = self.documents.get(".zmetadata") if self.version == 2 else None
        if consolidated is not None:
            yield consolidated
