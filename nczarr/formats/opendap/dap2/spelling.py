"""Spelling of names and texts in the documents of DAP2."""

from __future__ import annotations

import re
from urllib.parse import unquote

from nczarr import names

NAMES = "_nczarr_names"
"""Attribute with the FQNs of a variable and its dimensions, or of a group: what their identifiers do not tell."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_\-+]")
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f/]")
_SPECIAL = re.compile('[\x00-\x08\x0b-\x1f\x7f"\\\\\udc80-\udcff]')


def wire_name(path: tuple[str, ...]) -> str:
    """Return a path of names as one identifier: underscores between the names, special characters as `%XX`.

    libnetcdf keeps the escapes and refuses names that begin with `%`: these
    get an underscore before it.
    """
    text = "_".join(_UNSAFE.sub(_percent, name) for name in path)
    return "_" + text if text.startswith("%") else text


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


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def quoted(text: bytes) -> str:
    r"""Return a text between quotes.

    libnetcdf reads `\"`, `\\` and `\xHH`; a backslash at the end is `\x5c`,
    because other readers take `\\"` for a quote inside the text. Bytes that are
    not UTF-8 are `\xHH`.
    """
    made = _SPECIAL.sub(_escape, text.decode("utf-8", "surrogateescape"))
    return f'"{made[:-1]}x5c"' if made.endswith("\\\\") else f'"{made}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    return "\\" + char if char in '"\\' else f"\\x{ord(char) & 0xFF:02x}"
