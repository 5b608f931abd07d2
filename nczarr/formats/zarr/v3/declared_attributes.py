"""Declarations of conventions in the attributes of documents, whose forms plugins know."""

from nczarr import registry
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.names import plugin_index

LIST = "zarr_conventions"
"""Attribute in which every convention of Zarr is declared."""


def declare(word: str, attributes: Json, declared: Json | None, *, is_group: bool) -> Json:
    """Return the attributes of a node with its declarations of the convention of a word."""
    row = plugin_index.find_row("declaration", word)
    declared_attributes: Json = registry.load(row.declare)(attributes, declared, is_group)
    return declared_attributes


def undeclare(attributes: Json) -> Json:
    """Invert `declare`; attributes without declarations of a known convention are unchanged."""
    if LIST in attributes:
        for row in plugin_index.list_own("declaration").values():
            attributes = registry.load(row.undeclare)(attributes)
    return attributes
