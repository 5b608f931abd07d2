"""Messages about metadata of netCDF-C's draft in a store that is not of the draft.

`pull_request_3068.py` reads stores of the draft. Nodes of a draft below another
root are read as that root's dialect, and their own metadata are reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.formats.common.documents import Json
from nczarr.syntax.json.positions import pointer

ATTRIBUTE_TYPES = "_nczarr_attrs"
_SHOWN = 20
_LAYOUT = "in the layout of a netCDF-C draft, below a root of another dialect,"


def attribute_types(attributes: Json) -> Iterator[tuple[str, str]]:
    """Yield (message, pointer) for the draft's attribute types."""
    written = attributes.get(ATTRIBUTE_TYPES)
    types = written.get("attribute_types") if isinstance(written, dict) else written
    if isinstance(types, dict):
        entries = [f"`{name}` ({_text(kind)})" for name, kind in types.items()]
    elif isinstance(types, list):
        entries = [f"`{_name(entry)}` ({_text(_configured(entry))})" for entry in types if isinstance(entry, dict)]
    else:
        return
    text = f"types of attributes are written {_LAYOUT} and not read: {_listed(entries)}"
    yield text, pointer("attributes", ATTRIBUTE_TYPES)


def is_attribute_types(value: Any) -> bool:
    """Return whether `_nczarr_attrs` has the draft's form, not a user's value."""
    return any(True for _ in attribute_types({ATTRIBUTE_TYPES: value}))


def array_type(attributes: Json, data_type: Any) -> Iterator[tuple[str, str]]:
    """Yield (message, pointer) for a draft type that differs from the data type."""
    hidden = attributes.get("_nczarr_array")
    if not isinstance(hidden, dict):
        return
    for member in ("nczarr_type", "type_alias"):
        kind = hidden.get(member)
        if kind is not None and kind != data_type:
            stored = data_type if isinstance(data_type, str) else _name(data_type)
            text = f"type `{_text(kind)}` is written {_LAYOUT} and not read: the values are read as `{_text(stored)}`"
            yield text, pointer("attributes", "_nczarr_array", member)


def subgroups(group: Json) -> Iterator[tuple[str, str]]:
    """Yield (message, pointer) for groups under the draft's name, which are omitted."""
    listed = group.get("subgroups")
    if listed:
        entries = (
            [f"`{_text(group_name)}`" for group_name in listed] if isinstance(listed, list) else [f"`{_text(listed)}`"]
        )
        text = f"groups are listed {_LAYOUT} and not read: {_listed(entries)}"
        yield text, pointer("attributes", "_nczarr_group", "subgroups")


def dimensions(group: Json) -> Iterator[tuple[str, str]]:
    """Yield (message, pointer) for dimensions in the draft's list, which are omitted."""
    listed = group.get("dimensions")
    if isinstance(listed, list):
        entries = [f"`{_name(entry)}`" for entry in listed]
        text = f"dimensions are listed {_LAYOUT} and not read: {_listed(entries)}"
        yield text, pointer("attributes", "_nczarr_group", "dimensions")


def members(document: Json) -> Iterator[tuple[str, str]]:
    """Yield (message, pointer) for netCDF-C's members outside of the attributes."""
    for name in document:
        if name.startswith("_nczarr_"):
            yield f"member `{name}` is outside `attributes` and is not read", pointer(name)


def _listed(entries: list[str]) -> str:
    more = f" and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else ""
    return ", ".join(entries[:_SHOWN]) + more if entries else "none"


def _configured(item: Json) -> Any:
    configuration = item.get("configuration")
    return configuration.get("type") if isinstance(configuration, dict) else None


def _name(item: Any) -> str:
    return _text(item.get("name") if isinstance(item, dict) else item)


def _text(value: Any) -> str:
    return value[:60] if isinstance(value, str) else str(value)[:60]
