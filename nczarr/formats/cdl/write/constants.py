"""Constants → the values of an attribute in CDL (cdl-language §10.3)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from nczarr.arrays.parts import Types, descr
from nczarr.arrays.source import numpy_dtype
from nczarr.ast import ATOMIC, CompoundType, Constant, VlenType
from nczarr.formats.cdl.spelling import quoted, suffixed
from nczarr.formats.cdl.write.texts import char_texts, grouped, string_texts, value_texts


def needs_type(value: Constant) -> bool:
    """Whether an attribute names its type: user-defined types, strings, and constants without values."""
    return value.type not in ATOMIC or value.type == "string" or value.count == 0


def attribute_texts(value: Constant, types: Types) -> list[str]:
    """The values of an attribute, suffixed so that they tell their type; char data are one string."""
    if value.type == "char":
        return [quoted(value.data)] if isinstance(value.data, bytes) and value.data else []
    atomic = ATOMIC.get(value.type)
    if atomic is not None and isinstance(value.data, bytes):
        numbers = struct.unpack(f"<{value.count}{atomic.code}", value.data)
        return [suffixed(number, atomic) for number in numbers]
    return _texts(value, types)


def _texts(value: Constant, types: Types) -> list[str]:
    """The values of a constant as data spell them: without suffixes, nested ones in braces."""
    data = value.data
    if value.type == "char":
        return [quoted(data)] if isinstance(data, bytes) and data else []
    if isinstance(data, bytes):
        import numpy as np

        packed = np.frombuffer(data, numpy_dtype(descr(value.type, types)))
        return value_texts(packed, value.type, types)
    if value.type == "string":
        return string_texts([item if isinstance(item, bytes) else None for item in data])
    nested = [item for item in data if isinstance(item, Constant)]
    declared = types[value.type]
    if isinstance(declared, VlenType):
        return [f"{{{', '.join(_texts(item, types))}}}" for item in nested]
    assert isinstance(declared, CompoundType)  # checked trees have tuples of constants in no other type
    return [
        _record(declared, nested[at : at + len(declared.fields)], types)
        for at in range(0, len(nested), len(declared.fields) or 1)
    ]


def _record(declared: CompoundType, fields: Sequence[Constant], types: Types) -> str:
    texts = []
    for field, value in zip(declared.fields, fields, strict=True):
        if field.type == "char" and isinstance(value.data, bytes):
            texts += char_texts(value.data, field.shape, 1)
        else:
            texts += grouped(_texts(value, types), field.shape, 1)
    return f"{{{', '.join(texts)}}}"
