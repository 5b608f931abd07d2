"""The hidden attributes of a node of Zarr v3 as one attribute `_nczarr`, a JSON text.

xarray carries the attributes of a store into every file that it writes. netCDF
files hold texts, but no objects, and libnetcdf refuses the names `_nczarr_attr`
and the like. zarr-python refuses unknown members of a group's `zarr.json`.
"""

from __future__ import annotations

import functools
from typing import Any

from nczarr.ast.plain import CARRIED as NAME
from nczarr.syntax.json.tolerant import NotJsonError, parse

Json = dict[str, Any]

_HIDDEN = {f"{NAME}_{what}": what for what in ("superblock", "group", "array", "attr")}
"""Member of the text by name of the attribute that it stands for."""


def packed(attributes: Json, encode: Any) -> Json:
    """Return attributes with the hidden ones as one text. `encode`: JSON encoder to bytes."""
    hidden = {what: attributes[name] for name, what in _HIDDEN.items() if name in attributes}
    rest = {name: value for name, value in attributes.items() if name not in _HIDDEN}
    return {**rest, NAME: encode(hidden).decode("utf-8", "surrogateescape")} if hidden else rest


def unpacked(attributes: Json) -> Json:
    """Invert `packed`; attributes without a valid text are returned as they are."""
    text = attributes.get(NAME)
    hidden = _parsed(text) if isinstance(text, str) else None
    if hidden is None:
        return attributes
    shown = {name: hidden[what] for name, what in _HIDDEN.items() if isinstance(hidden.get(what), dict)}
    return {name: value for name, value in attributes.items() if name != NAME} | shown


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> Json | None:
    """Return the object in a text; None if it is not one."""
    try:
        value = parse(text.encode("utf-8", "surrogateescape")).value
    except (NotJsonError, UnicodeEncodeError):
        return None
    return value if isinstance(value, dict) else None
