r"""How CDL spells names, texts and single numbers: Python values → text.

What ncdump prints, where that reads back to the same value; else the nearest spelling that does: floats get as many
digits as they need, `-0.` keeps its point, `\013` stands for a vertical tab.
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
"""Words that name a primitive type wherever a type is meant."""

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
    """A name as an identifier; reserved words, which ncdump prints bare, get a backslash that our reader knows."""
    return "\\" + name if name in RESERVED else names.escape_cdl(name)


def attribute_owner(name: str) -> str:
    """A variable's name before the colon of an attribute: section words keep their distance (`data :units`)."""
    return name + " " if name in SECTIONS else identifier(name)


def path(fqn: str) -> str:
    """A FQN as a path of identifiers."""
    return "".join("/" + names.escape_cdl(part) for part in names.split(fqn))


def reference(fqn: str, scope: str, declared: Collection[str], *, words: Collection[str] = ()) -> str:
    """The thing of this FQN as it is named inside the group `scope`: bare where that finds it, else by its path.

    `declared` has the FQNs of all things of its kind; a name among `words` is never bare.
    """
    name = names.last(fqn)
    if name not in words:
        while True:
            found = names.join(scope, name)
            if found in declared:
                if found == fqn:
                    return identifier(name)
                break
            if scope == "/":
                break
            scope = names.parent(scope)
    return path(fqn)


def quoted(data: bytes) -> str:
    """Bytes as a string: UTF-8 as it stands, control characters and other bytes escaped."""
    text = data.decode("utf-8", "surrogateescape")
    return f'"{_CONTROL.sub(_escape, text)}"' if _CONTROL.search(text) else f'"{text}"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT.get(character) or f"\\{ord(character) & 0xFF:03o}"


def plain_float(value: float, atomic: Atomic) -> str:
    """A float or double as data: ncdump's `%.7g` or `%.15g`, with more digits where those are not exact."""
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
        found: float = struct.unpack("<f", struct.pack("<f", float(text)))[0]
    except OverflowError:  # the largest float, rounded up
        return math.inf
    return found


def suffixed(value: int | float, atomic: Atomic) -> str:
    """A number as an attribute's value: its suffix tells the type, and a float always has a point or exponent."""
    if isinstance(value, int):
        return f"{value}{_SUFFIXES[atomic.name]}"
    text = plain_float(value, atomic)
    if not math.isfinite(value):
        return text
    if "." not in text:
        mantissa, mark, exponent = text.partition("e")
        text = f"{mantissa}.{mark}{exponent}"
    return text + ("f" if atomic.code == "f" else "")
