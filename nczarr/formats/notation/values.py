"""Constants → text of the notation, inverting `literals.py`."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator

from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast import ATOMIC, CompoundType, Constant, EnumType, OpaqueType, VlenType
from nczarr.ast.values import shortest
from nczarr.formats.notation.spelling import write_text
from nczarr.formats.notation.tokens import WORDS

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.+-]*")
_SPELT_WORDS = frozenset(word.decode("ascii") for word in WORDS)


class ConstantWriter:
    """Writer of constants; `types` are the user types by FQN."""

    def __init__(self, types: Types) -> None:
        self._types = types

    def spelt(self, constant: Constant) -> str:
        """Return the values of a constant, each after a blank."""
        return "".join(" " + word for word in self._words(constant))

    def _words(self, constant: Constant) -> Iterator[str]:
        declared = self._types.get(constant.type)
        data = constant.data
        if isinstance(data, bytes):
            yield from self._packed(constant.type, data, constant.count)
        elif constant.type == "string":
            for value in data:
                yield "NIL" if not isinstance(value, bytes) else write_text(value)
        elif isinstance(declared, CompoundType):
            width = len(declared.fields)
            for start in range(0, len(data), width or 1):
                yield self._braced(
                    self._member(field.shape, data[start + at]) for at, field in enumerate(declared.fields)
                )
        else:
            for element in data:
                yield self._braced(self._words(element) if isinstance(element, Constant) else ())

    def _member(self, shape: tuple[int, ...], value: object) -> str:
        """Return one field of a variable-size compound."""
        words = self._words(value) if isinstance(value, Constant) else iter(())
        return self._braced(words) if shape else " ".join(words)

    def _packed(self, type_name: str, data: bytes, count: int) -> Iterator[str]:
        """Yield values of a fixed-size type from their packed bytes."""
        declared = self._types.get(type_name)
        if type_name == "char":
            if data:
                yield write_text(data)
        elif declared is None:
            yield from numbers(type_name, data)
        elif isinstance(declared, EnumType):
            labels = {constant.value: constant.name for constant in reversed(declared.constants)}
            code = ATOMIC[declared.base].code
            yield from (_enumerated(value, labels) for value in struct.unpack(f"<{count}{code}", data))
        elif isinstance(declared, OpaqueType):
            yield from (f"0x{data[at : at + declared.size].hex()}" for at in range(0, len(data), declared.size))
        elif isinstance(declared, CompoundType):
            width = size(type_name, self._types)
            for start in range(0, len(data), width or 1):
                yield self._record(declared, data[start : start + width])
        elif isinstance(declared, VlenType) or not is_fixed(type_name, self._types):
            raise ValueError(f"constant of type {type_name} holds packed bytes")

    def _record(self, declared: CompoundType, data: bytes) -> str:
        """Return one packed compound value in braces."""
        fields, at = [], 0
        for field in declared.fields:
            count = math.prod(field.shape)
            end = at + count * size(field.type, self._types)
            words = self._packed(field.type, data[at:end], count)
            fields.append(self._braced(words) if field.shape else " ".join(words))
            at = end
        return self._braced(fields)

    @staticmethod
    def _braced(words: Iterator[str] | list[str] | tuple[str, ...]) -> str:
        inside = " ".join(words)
        return f"{{ {inside} }}" if inside else "{}"


def numbers(type_name: str, data: bytes) -> Iterator[str]:
    """Yield numbers of an atomic type from packed bytes; an unusual NaN by its bits."""
    atomic = ATOMIC[type_name]
    values = struct.unpack(f"<{len(data) // atomic.size}{atomic.code}", data)
    if not atomic.is_float:
        yield from map(str, values)
        return
    usual = struct.pack(f"<{atomic.code}", math.nan)
    for number, value in enumerate(values):
        if math.isnan(value):
            bits = data[number * atomic.size : (number + 1) * atomic.size]
            yield "NaN" if bits == usual else f"0x{bits[::-1].hex()}"
        elif math.isinf(value):
            yield "Infinity" if value > 0 else "-Infinity"
        else:
            yield shortest(value, type_name)


def _enumerated(value: int, labels: dict[int, str]) -> str:
    """Return an enum value's name, quoted unless a plain word; the number without name."""
    name = labels.get(value)
    if name is None:
        return str(value)
    if _WORD.fullmatch(name) and name not in _SPELT_WORDS:
        return name
    return write_text(name.encode("utf-8"))
