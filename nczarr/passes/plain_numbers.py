"""The commonest attribute values, read at once: decimal numbers of one type, without suffixes that need thought.

Comes in: the text between `=` and `;`. Goes out: the constant that `literals` and `convert` would make of it, or None
where the text is anything else, a fault included: those two then read it, and say what there is to say.
"""

from __future__ import annotations

import math
import re

from nczarr.ast import Constant
from nczarr.passes.convert import pack


def _list_of(item: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"[ \t]*+%s[ \t]*+(?:,[ \t]*+%s[ \t]*+)*" % (item, item))


_REAL = rb"[+-]?(?:[0-9]++\.[0-9]*+(?:[eE][+-]?[0-9]++)?|[0-9]++[eE][+-]?[0-9]++|\.[0-9]++(?:[eE][+-]?[0-9]++)?)"
_INTS = _list_of(rb"[+-]?(?:0|[1-9][0-9]{0,8})(?![0-9])")  # int holds nine digits; a leading zero would be octal
_DOUBLES = _list_of(_REAL)
_FLOATS = _list_of(_REAL + rb"[fF]")


def plain_numbers(text: bytes) -> Constant | None:
    """The constant of a list of plain ints, doubles or floats; None: not such a list, or one out of range."""
    items = text.split(b",")
    if _INTS.fullmatch(text):
        return Constant(type="int", count=len(items), data=pack("int", list(map(int, items))))
    type_name = "double" if _DOUBLES.fullmatch(text) else "float" if _FLOATS.fullmatch(text) else None
    if type_name is None:
        return None
    values = [float(item.strip(b" \tfF")) for item in items]
    if any(map(math.isinf, values)):
        return None
    try:
        return Constant(type=type_name, count=len(items), data=pack(type_name, values))
    except OverflowError:  # infinite as a float
        return None
