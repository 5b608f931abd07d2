"""Declarations of the Zarr conventions CF, `proj:` and `spatial:` in the attributes of documents.

What is declared of a node is given; its entries of `zarr_conventions` say in their description that it was added, so
that a reader takes it away again. The specification allows no member `version` in an entry, which the text of the
convention CF has; it is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nczarr.ast.plain_json import JsonText
from nczarr.formats.common.documents import Json

LIST = "zarr_conventions"
_ADDED = "; declared by nczarr"

_RAW, _PAGES = "https://raw.githubusercontent.com/zarr-conventions", "https://github.com/zarr-conventions"
ENTRIES: Mapping[str, Json] = {
    "CF": {
        "schema_url": f"{_RAW}/CF/refs/tags/v1/schema.json",
        "spec_url": "https://cfconventions.org/Data/cf-conventions/cf-conventions-1.11/cf-conventions.html",
        "uuid": "77c308c7-4db2-4774-8b2d-aa37e9997db6",
        "name": "CF",
        "description": f"Climate and Forecast conventions, in the attributes of CF{_ADDED}",
    },
    "proj:": {
        "schema_url": f"{_RAW}/geo-proj/refs/tags/v1/schema.json",
        "spec_url": f"{_PAGES}/geo-proj/blob/v1/README.md",
        "uuid": "f17cb550-5864-4468-aeb7-f3180cfb622f",
        "name": "proj:",
        "description": f"Coordinate reference system{_ADDED}",
    },
    "spatial:": {
        "schema_url": f"{_RAW}/spatial/refs/tags/v1/schema.json",
        "spec_url": f"{_PAGES}/spatial/blob/v1/README.md",
        "uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
        "name": "spatial:",
        "description": f"Places of cells in the coordinate system{_ADDED}",
    },
}
"""Entries of `zarr_conventions` by name."""


def declare(attributes: Json, declared: Json | None, is_group: bool) -> Json:
    """Return the attributes of a node with those that are declared, and the entries of their conventions."""
    if not declared:
        return attributes
    members = {name: value for name, value in declared.items() if name != LIST}
    entries = [ENTRIES[name] for name in declared[LIST]]
    others = attributes.get(LIST)
    if isinstance(others, JsonText):
        others = json.loads(others.text)
    return {**attributes, **members, LIST: [*(others if isinstance(others, list) else ()), *entries]}


def undeclare(attributes: Json) -> Json:
    """Invert `declare`; attributes without our declarations are unchanged."""
    entries = attributes.get(LIST)
    ours = [entry for entry in entries if _is_ours(entry)] if isinstance(entries, list) else []
    if not isinstance(entries, list) or not ours:
        return attributes
    prefixes = tuple(entry["name"] for entry in ours if entry["name"].endswith(":"))
    remaining = {name: value for name, value in attributes.items() if not (prefixes and name.startswith(prefixes))}
    others = [entry for entry in entries if not _is_ours(entry)]
    if others:
        return {**remaining, LIST: others}
    del remaining[LIST]
    return remaining


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and entry in ENTRIES.values()
