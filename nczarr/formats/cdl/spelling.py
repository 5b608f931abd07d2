r"""CDL spelling of names, texts and single numbers: Python values → text.

Spellings are ncdump's if exact, else the nearest exact ones: more digits for
floats, `-0.` with its point, `\013` for a vertical tab.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Collection

from nczarr import names
from nczarr.ast import ATOMIC
from nczarr.ast.types import Atomic
from nczarr.formats.cdl.words import RESERVED

TYPE_WORDS = frozenset(ATOMIC) | {"long", "integer", "real", "ulong", "uinteger"}
"""Names of primitive types."""

SECTIONS = frozenset(("types", "dimensions", "variables", "data", "group"))
"""Words that begin a section if a colon follows."""

_CONTROL = re.compile("[\\\\\"'\x00-\x1f\x7f\udc80-\udcff]")
_SHORT = {
    "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"', "'": "\\'",
}  # fmt: skip
_SUFFIXES = {
    "byte": "b",
    "ubyte": "UB",
    "short": "s",
    "ushort": "US",
    "int": "",
    "uint": "U",
    "int64": "LL",
    "uint64": "ULL",
}


def identifier(name: str) -> str:
    """Return a name as an identifier. Reserved words, bare in ncdump, get a backslash that our reader accepts."""
    return "\\" + name if name in RESERVED else names.escape_cdl(name)


def attribute_owner(name: str) -> str:
    """Return a variable's name before the colon of an attribute; section words need a blank (`data :units`)."""
    return name + " " if name in SECTIONS else identifier(name)


def path(fqn: str) -> str:
    """Return a FQN as a path of identifiers."""
    return "".join("/" + names.escape_cdl(part) for part in names.split(fqn))


def reference(fqn: str, scope: str, declared: Collection[str], *, words: Collection[str] = ()) -> str:
    """Return the name of an item inside the group `scope`: bare if that resolves to it, else its path.

    `declared`: FQNs of all items of its kind; names in `words` are never bare.
    """
    name = names.last(fqn)
    while (resolved := names.join(scope, name)) not in declared and scope != "/":
        scope = names.parent(scope)
    return identifier(name) if resolved == fqn and resolved in declared and name not in words else path(fqn)


def quoted(data: bytes) -> str:
    """Return bytes as a string constant: UTF-8 unchanged, control characters and other bytes escaped."""
    text = data.decode("utf-8", "surrogateescape")
    return f'"{_CONTROL.sub(_escape, text)}"' if _CONTROL.search(text) else f'"{text}"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT.get(character) or f"\\{ord(character) & 0xFF:03o}"


def plain_float(value: float, atomic: Atomic) -> str:
    """Return a float or double as data: ncdump's `%.7g` or `%.15g`, with more digits if these are inexact."""
    if not math.isfinite(value):
        suffix = "f" if atomic.code == "f" else ""
        return ("NaN" if value != value else "Infinity" if value > 0 else "-Infinity") + suffix
    if value == 0:
        return "-0." if math.copysign(1, value) < 0 else "0"
    if atomic.code == "f":
        for digits in (7, 8):
            text = f"{value:.{digits}g}"
            if _single(text) == value:
                return text
        return f"{value:.9g}"
    text = f"{value:.15g}"
    if float(text) == value:
        return text
    text = repr(value)
    return text.removesuffix(".0")


def _single(text: str) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", float(text)))[0]
    except OverflowError:  # the largest float, rounded up
        return math.inf
    return rounded


def suffixed(value: int | float, atomic: Atomic) -> str:
    """Return a number as an attribute value with type suffix; floats always have a point or exponent."""
    if isinstance(value, int):
        return f"{value}{_SUFFIXES[atomic.name]}"
    text = plain_float(value, atomic)
    if not math.isfinite(value):
        return text
    if "." not in text:
        mantissa, mark, exponent = text.partition("e")
        text = f"{mantissa}.{mark}{exponent}"
    return text + ("f" if atomic.code == "f" else "")
