"""Base class of the readers of Zarr versions."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from nczarr.ast import Constant
from nczarr.ast.plain_json import JsonConstant, plain
from nczarr.diagnostics.report import Severity
from nczarr.formats.common.documents import DocumentCache, Json
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata
from nczarr.formats.zarr.core.fill_values import FAULTS, INVALID, show
from nczarr.names import list_first
from nczarr.names.plugin_index import find_place, load_part
from nczarr.syntax.json.positions import pointer


class BadDocumentError(ValueError):
    """Invalid or unsupported `member` of a document."""

    def __init__(self, message: str, member: str, code: str = "bad-metadata") -> None:
        super().__init__(message)
        self.member = member
        self.code = code


Masking: TypeAlias = Literal["", "stated", "every"]
"""Numbers that stand for a `_FillValue` as fill value of an array: none, all but netCDF's defaults, or all."""


class NodeReader:
    """Documents of one Zarr version by node; each fault is reported once.

    A node is the prefix of its keys: `foo/bar/`, empty for the root.
    """

    axes_member = ""
    """Member that names the dimensions of an array; empty if the version has none."""
    texts_are_strings = False
    """True if a text of one byte is a string unless declared as char."""
    is_exact = False
    """True if documents state the whole model, as those of the draft of 2019 do.

    A name differs from its key segment (`arrays/chunks/key_segments.py`), no
    dataset is named after its file, no fill value stands for a `_FillValue`, and
    an array may have no fill value, as in netCDF's mode `nofill`.
    """
    names: tuple[str, ...]
    """Documents of a node."""
    consolidated_key = ""
    """Key of the root document with consolidated metadata."""

    def find_masking(self, described: ArrayMetadata) -> Masking:
        """Return which numbers stand for a `_FillValue` as fill value of this array."""
        return ""

    def __init__(self, documents: DocumentCache) -> None:
        self.documents = documents

    def name(self, prefix: str) -> str:
        """Return the name of an array or group, which may differ from its key segment."""
        return prefix[:-1].rpartition("/")[2]

    def is_array(self, prefix: str) -> bool:
        """Return whether the node is an array, readable or not."""
        raise NotImplementedError

    def is_group(self, prefix: str) -> bool:
        """Return whether the node is a group, readable or not."""
        raise NotImplementedError

    def find_fault(self, prefix: str) -> tuple[str, str] | None:
        """Return why a node with documents is neither array nor group, and a JSON pointer; None without documents."""
        return None

    def key(self, prefix: str) -> str:
        """Return the key of the document with the attributes, for diagnostics."""
        raise NotImplementedError

    def array_key(self, prefix: str) -> str:
        """Return the key of the document that describes an array."""
        return self.key(prefix)

    def attributes(self, prefix: str) -> Json:
        """Return the attributes of an array or group; empty without any."""
        raise NotImplementedError

    def array(self, prefix: str) -> ArrayMetadata | None:
        """Return the metadata of an array; None (reported) if it cannot be read."""
        try:
            return self.describe(prefix)
        except BadDocumentError as fault:
            self.documents.report_lost(fault.code, str(fault), self.array_key(prefix), pointer(fault.member))
            return None

    def describe(self, prefix: str) -> ArrayMetadata | None:
        """Return the metadata of an array, or None (reported). Raises BadDocumentError."""
        raise NotImplementedError

    def fill(self, key: str, decoded: Callable[[], bytes | None]) -> bytes | None:
        """Return the `decoded` fill value; None (reported) if it is invalid."""
        try:
            return decoded()
        except FAULTS as fault:
            self.documents.report_lost("bad-metadata", f"{INVALID}: {fault}", key, "/fill_value")
            return None

    def read_hidden(self, prefix: str, what: str) -> tuple[Json | None, str]:
        """Return netCDF-C's hidden `superblock`, `group`, `array` or `attr`, and its document key."""
        document = self.attributes(prefix).get(f"_nczarr_{what}")
        return (document if isinstance(document, dict) else None), self.key(prefix)

    def read_declared_types(self, prefix: str) -> Json | None:
        """Return the hidden `attr` that types the attributes of a store without netCDF-C's other metadata."""
        return None

    def own_fill(self, type_name: str, value: Any) -> Constant | None:
        """Decode a `_FillValue` attribute with an encoding of its own; None if it has none."""
        return None

    def show_fill(self, constant: Constant) -> JsonConstant:
        """Return the plain form of a `_FillValue` attribute."""
        return plain(constant)


def adapt(documents: DocumentCache, key: str, document: Json, name: str = "name") -> Json:
    """Return an array's document with what plugins read for its data type and chunk grid; itself without such plugins.

    `name`: member of both with the name by which plugins have them. Raises BadDocumentError.
    """
    for member in ("data_type", "chunk_grid"):
        point = document.get(member)
        asked = str(point.get(name) if isinstance(point, dict) else point)
        if place := find_place(member, asked):
            try:
                document = {**document, **load_part(place)(document)}
                text = f"a plugin reads `{asked}` as {show(document.get(member))}, which targets get"
            except Exception as fault:  # of another distribution
                text = f"the plugin of `{asked}` fails: {type(fault).__name__}: {fault}"
                raise BadDocumentError(text, member, "unreadable-array") from fault
            documents.warn("adapted-form", text, key, pointer(member), Severity.NOTE)
    return document


def unread_message(what: str, listed: Any) -> str:
    """Return the message about metadata of netCDF-C's draft in a node of another dialect, which names some of them."""
    items = list(listed) if isinstance(listed, list | dict) else [listed]
    shown = list_first((str(item.get("name") if isinstance(item, dict) else item)[:60] for item in items), 20)
    return f"{what} in the layout of a netCDF-C draft, below a root of another dialect, not read: {shown}"


def name_list(documents: DocumentCache, document: Json, member: str, key: str, where: str = "") -> list[str]:
    """Return the names that a member lists, each once; report one that is no list of names."""
    listed = document.get(member, [])
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        documents.report_lost("bad-metadata", f"`{member}` is not a list of names", key, where)
        listed = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    return list(dict.fromkeys(listed))


def axes_of(written: Any) -> tuple[str | None, ...] | None:
    """Return the dimension names that a document lists; None if it has no list."""
    if not isinstance(written, list):
        return None
    return tuple([name if isinstance(name, str) else None for name in written])
