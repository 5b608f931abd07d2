"""Marks of netCDF-C's draft of NCZarr on Zarr v3 (pull request 3068), and what of it another dialect does not read.

A plugin reads the draft; without it, a root is read as that of released NCZarr.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from nczarr import registry
from nczarr.arrays.sources.source import Descr
from nczarr.formats.common.documents import DocumentCache, Json
from nczarr.formats.zarr.core.reader import unread_message
from nczarr.names import plugin_index
from nczarr.syntax.json.positions import pointer

ATTRIBUTE_TYPES = "_nczarr_attrs"
"""Hidden attribute with the types of the others."""

ALIASES = ("nczarr_type", "type_alias")
"""Members with the type of an array, in the code and in the documentation of the draft."""

DIALECT = "pull_request_3068"


class DialectMetadata(Protocol):
    """Hidden attributes of a dialect's nodes, by prefix, in the form of released NCZarr."""

    def read_hidden(self, prefix: str, what: str) -> Json | None:
        """Return the `superblock`, `group`, `array` or `attr` of a node, or None."""

    def dtype(self, prefix: str, stored: Descr) -> Descr:
        """Return the dtype of an array's elements."""

    def is_text(self, document: Json, dtype: Descr) -> bool:
        """Return whether elements read as this dtype are characters or strings of the dialect."""

    def fill_bytes(self, dtype: Descr, written: Any) -> bytes:
        """Return the fill value of such elements. Raises ValueError."""


def find_dialect(documents: DocumentCache, node: Callable[[str], Json]) -> DialectMetadata | None:
    """Return the metadata of a store whose root is of the draft; None for others, and without their reader.

    `node` returns the document of a prefix.
    """
    place = plugin_index.find_place("dialect", DIALECT) if is_draft(node("")) else None
    dialect: DialectMetadata | None = None if place is None else registry.load(place)(documents, node)
    return dialect


def is_draft(document: Json) -> bool:
    """Return whether a root's `zarr.json` is of the draft."""
    attributes = _object(document.get("attributes"))
    superblock = attributes.get("_nczarr_superblock")
    if isinstance(superblock, dict):
        return "nczarr" not in superblock
    if has_types(attributes):
        return True
    group, array = (_object(attributes.get(f"_nczarr_{what}")) for what in ("group", "array"))
    return "subgroups" in group or isinstance(group.get("dimensions"), list) or any(alias in array for alias in ALIASES)


def has_types(attributes: Json) -> bool:
    """Return whether `_nczarr_attrs` has the draft's form, not a user's value."""
    return isinstance(_object(attributes.get(ATTRIBUTE_TYPES)).get("attribute_types"), dict | list)


def without_types(attributes: Json) -> Json:
    """Return a node's attributes without the draft's types."""
    return {name: value for name, value in attributes.items() if name != ATTRIBUTE_TYPES}


def unread_members(document: Json, attributes: Json) -> Iterator[tuple[str, str]]:
    """Yield (message, pointer) for metadata of the draft in a node of another dialect."""
    yield from find_misplaced(document)
    if has_types(attributes):
        types = attributes[ATTRIBUTE_TYPES]["attribute_types"]
        yield unread_message("types of attributes", types), pointer("attributes", ATTRIBUTE_TYPES)
    array = _object(attributes.get("_nczarr_array"))
    for alias in ALIASES:
        if array.get(alias, document.get("data_type")) not in (None, document.get("data_type")):
            yield unread_message("a type", array[alias]), pointer("attributes", "_nczarr_array", alias)


def find_misplaced(document: Json) -> Iterator[tuple[str, str]]:
    """Yield (message, pointer) for netCDF-C's members outside of the attributes."""
    for name in document:
        if name.startswith("_nczarr_"):
            yield f"member `{name}` is outside `attributes` and is not read", pointer(name)


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
