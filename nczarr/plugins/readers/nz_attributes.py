"""Declarations of the convention NZ-1.0 in the attributes of Zarr v3 documents.

The text of NZ and its schema disagree. What both accept is written: an entry of
`zarr_conventions` on every node, and `conventions` on every group. The
description of the entry says what was added to `conventions`, so that a reader
takes it away again.
"""

from __future__ import annotations

from typing import Any

from nczarr.formats.common.documents import Json

NAME = "NZ-1.0"
LIST, TEXT, USUAL_TEXT = "zarr_conventions", "conventions", "Conventions"
_ENTRY = {
    "schema_url": "https://raw.githubusercontent.com/zarr-conventions/nz/refs/tags/v1/schema.json",
    "spec_url": "https://github.com/zarr-conventions/nz/blob/v1/README.md",
    "uuid": "d0a980b5-c644-4dcc-85a1-283799a58f40",
    "name": NAME,
}
_ADDED = "Structural interoperability layer for scientific array conventions on Zarr v3; declared by nczarr"
_EXTENDED = f"{_ADDED} before the conventions of the dataset"


def declare(attributes: Json, declared: Json | None, is_group: bool) -> Json:
    """Return the attributes of a node with the declarations.

    A group's own `conventions` are extended. Without them, those of
    `Conventions` are repeated.
    """
    declared_attributes = dict(attributes)
    description = _ADDED
    if is_group and TEXT in declared_attributes:
        declared_attributes[TEXT], description = f"{NAME} {declared_attributes[TEXT]}", _EXTENDED
    elif is_group:
        declared_attributes[TEXT] = _text(declared_attributes)
    declared_attributes[LIST] = [{**_ENTRY, "description": description}]
    return declared_attributes


def undeclare(attributes: Json) -> Json:
    """Invert `declare`; attributes that do not have our declarations are unchanged."""
    conventions = attributes.get(LIST)
    ours = [convention for convention in conventions if _is_ours(convention)] if isinstance(conventions, list) else []
    if not isinstance(conventions, list) or not ours:
        return attributes
    foreign = dict(attributes)
    others = [convention for convention in conventions if not _is_ours(convention)]
    if others:
        foreign[LIST] = others
    else:
        del foreign[LIST]
    text = foreign.get(TEXT)
    if ours[0]["description"] == _EXTENDED and isinstance(text, str):
        foreign[TEXT] = text.removeprefix(f"{NAME} ")
    elif ours[0]["description"] == _ADDED and text is not None and text in (NAME, _text(foreign)):
        del foreign[TEXT]
    return foreign


def _text(attributes: Json) -> str:
    """Return the `conventions` of a group without its own: NZ, and those of `Conventions`, separated by blanks."""
    usual = attributes.get(USUAL_TEXT)
    return f"{NAME} {' '.join(usual.replace(',', ' ').split())}".rstrip() if isinstance(usual, str) else NAME


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and any(
        entry == {**_ENTRY, "description": description} for description in (_ADDED, _EXTENDED)
    )
