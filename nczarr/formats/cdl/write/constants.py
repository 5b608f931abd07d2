"""Attribute values in CDL."""

from __future__ import annotations

import struct

from nczarr.arrays.parts import Types, part_tree
from nczarr.arrays.value_lists import constant_parts
from nczarr.ast import ATOMIC, Constant
from nczarr.formats.cdl.spelling import quoted, suffixed
from nczarr.formats.cdl.write.value_streams import column


def needs_type(value: Constant) -> bool:
    """Return whether an attribute declares its type: user-defined types, strings, and empty constants."""
    return value.type not in ATOMIC or value.type == "string" or value.count == 0


def attribute_texts(value: Constant, types: Types) -> list[str]:
    """Return the values of an attribute with type suffixes; char data are one string."""
    if value.type == "char":
        return [quoted(value.data)] if isinstance(value.data, bytes) and value.data else []
    atomic = ATOMIC.get(value.type)
    if atomic is not None and isinstance(value.data, bytes):
        numbers = struct.unpack(f"<{value.count}{atomic.code}", value.data)
        return [suffixed(number, atomic) for number in numbers]
    parts = constant_parts(value, (value.count,), types)
    return column(parts, part_tree(value.type, types), types).take(value.count)
