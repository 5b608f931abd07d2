"""Types and names of DAP2: atomic types by their words, escapes of names."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from nczarr import names

ATOMIC_OF = {
    "byte": "ubyte", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint", "float32": "float",
    "float64": "double", "string": "string", "url": "string",
}  # fmt: skip
"""Atomic types of the model by the protocol's words, in lower case."""

_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f/]")


def decoded_name(written: str) -> str:
    """Return a name without `%xx`, as netCDF allows it.

    Characters that netCDF does not allow stay `%xx`, a slash `%2f`. An
    underscore precedes other first characters than letters, digits and
    underscores.
    """
    name = unquote(written, errors="surrogateescape") if "%" in written else written
    if names.problem(name) is None:
        return names.normal(name)
    name = _FORBIDDEN.sub(lambda match: f"%{ord(match[0]):02x}", name)
    name = name[:-1] + "%20" if name.endswith(" ") else name
    return names.normal(name if names.problem(name) is None else f"_{name}")


def encoded_name(name: str) -> str:
    """Return a name with `%xx` for all bytes that are not letters, digits or one of `_.~-`."""
    return quote(name.encode("utf-8", "surrogateescape"), safe="")
