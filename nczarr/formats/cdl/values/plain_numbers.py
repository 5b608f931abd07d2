"""The commonest attribute values, read at once: decimal numbers of one type, without suffixes that need thought.

Comes in: the text between `=` and `;`. Goes out: the constant that `literals` and `convert` would make of it, or None
where the text is anything else, a fault included: those two then read it, and say what there is to say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from nczarr.ast import ATOMIC, Constant
from nczarr.ast.values import single
from nczarr.formats.cdl.values.convert import pack

_NUMBER = re.compile(
    rb"[+-]?(?:(?P<int>0|[1-9][0-9]{0,8})"  # nine digits always fit an int; a leading zero would be octal
    rb"|(?:[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)|[0-9]++\.[0-9]*+|\.[0-9]++(?:[eE][+-]?[0-9]++)?)(?P<float>[fF])?)"
)


def plain_numbers(text: bytes, declared: str | None = None) -> Constant | None:
    """The constant of plain ints, doubles or floats, of their own type or a declared one; None: read it with care."""
    items = [item.strip(b" \t") for item in text.split(b",")]
    kinds = {match.lastgroup or "double" if match else None for match in map(_NUMBER.fullmatch, items)}
    own = kinds.pop()
    if own is None or kinds:
        return None
    atomic = ATOMIC[declared or own]
    if own == "int":
        values: Sequence[int | float] = list(map(int, items))
    else:
        values = [float(item.rstrip(b"fF")) for item in items]
        if own == "float":
            values = [single(value) for value in values]
    if atomic.is_integer:
        if own != "int" or not atomic.low <= min(values) <= max(values) <= atomic.high:
            return None
    elif atomic.is_float:
        values = [single(float(value)) if atomic.name == "float" else float(value) for value in values]
        if not all(map(math.isfinite, values)):
            return None
    else:
        return None
    return Constant(type=atomic.name, count=len(values), data=pack(atomic.name, values))
