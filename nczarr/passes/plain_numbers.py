"""The commonest attribute values, read at once: decimal numbers of one type, without suffixes that need thought.

Comes in: the text between `=` and `;`. Goes out: the constant that `literals` and `convert` would make of it, or None
where the text is anything else, a fault included: those two then read it, and say what there is to say.
"""

from __future__ import annotations

import math
import re

from nczarr.ast import Constant
from nczarr.passes.convert import pack

_NUMBER = re.compile(
    rb"[+-]?(?:(?P<int>0|[1-9][0-9]{0,8})"  # nine digits always fit; a leading zero would be octal
    rb"|(?:[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)|[0-9]++\.[0-9]*+|\.[0-9]++(?:[eE][+-]?[0-9]++)?)(?P<float>[fF])?)"
)


def plain_numbers(text: bytes) -> Constant | None:
    """The constant of a list of plain ints, doubles or floats; None: not such a list, or one out of range."""
    items = [item.strip(b" \t") for item in text.split(b",")]
    kinds = {match.lastgroup or "double" if match else None for match in map(_NUMBER.fullmatch, items)}
    type_name = kinds.pop()
    if type_name is None or kinds:
        return None
    if type_name == "int":
        return Constant(type="int", count=len(items), data=pack("int", list(map(int, items))))
    values = [float(item.rstrip(b"fF")) for item in items]
    if any(map(math.isinf, values)):
        return None
    try:
        return Constant(type=type_name, count=len(items), data=pack(type_name, values))
    except OverflowError:  # infinite as a float
        return None
