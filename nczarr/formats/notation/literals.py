"""Constants of the notation: literals → `Constant` of a declared type, exactly or not at all.

Literals stay as written until all types are known, which may be declared later.
Numbers must fit their type. A text is char data, a string, or an enum
constant's name; `0x…` is an integer, a float's bits, or opaque bytes; braces
enclose a compound's fields, an array field, or a vlen.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from nczarr.arrays.values.parts import Types, is_fixed
from nczarr.ast import ATOMIC, CompoundType, Constant, EnumType, OpaqueType, UserType, VlenType
from nczarr.ast.types import Atomic
from nczarr.diagnostics.report import Report, Span, suggest
from nczarr.formats.notation.tokens import WORDS, EscapeError, read_name, read_text
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P

Number: TypeAlias = "int | float"


@dataclass(frozen=True, slots=True)
class WrittenConstant:
    """A constant as written."""

    kind: int
    """Token type."""
    text: bytes
    """Text of the token."""
    span: Span
    """Position of the token."""
    items: tuple[WrittenConstant, ...] = ()
    """Constants within braces."""


class _LiteralError(Exception):
    """A literal that is invalid for its type."""

    def __init__(self, code: str, message: str, span: Span, help_: str = "") -> None:
        self.code = code
        self.message = message
        self.span = span
        self.helps = [help_] if help_ else []
        super().__init__(message)


def read(
    type_name: str, literals: Sequence[WrittenConstant], types: Types, report: Report, span: Span
) -> Constant | None:
    """Return the constant of an attribute; None (one report) if a literal is invalid for the type.

    `type_name` is atomic or a key of `types`, which must not be circular.
    Reports `type-mismatch`, `value-range`, `bad-escape`, `opaque-length`,
    `undefined-enum-constant`, `too-many-values`, `missing-braces`, `inexact`.
    """
    try:
        return _constant(type_name, literals, types, span)
    except _LiteralError as fault:
        report.error(fault.code, fault.message, fault.span, helps=fault.helps)
        return None


def _constant(type_name: str, literals: Sequence[WrittenConstant], types: Types, span: Span) -> Constant:
    if type_name == "char":
        data = b"".join(_read_string(literal, "char") for literal in literals)
        return Constant(type="char", count=len(data), data=data, span=span)
    declared = types.get(type_name)
    count = len(literals)
    if declared is None:
        return Constant(type=type_name, count=count, data=_atomic(ATOMIC[type_name], literals), span=span)
    if is_fixed(type_name, types):
        packed = b"".join(_pack(type_name, declared, literal, types) for literal in literals)
        return Constant(type=type_name, count=count, data=packed, span=span)
    nested: list[Constant] = []
    for literal in literals:
        items = _list_items(literal, type_name)
        if isinstance(declared, VlenType):
            nested.append(_constant(declared.base, items, types, literal.span))
        elif isinstance(declared, CompoundType):
            nested += _fields(type_name, declared, literal, types)
    return Constant(type=type_name, count=count, data=tuple(nested), span=span)


def _fields(type_name: str, declared: CompoundType, literal: WrittenConstant, types: Types) -> list[Constant]:
    """Return one constant for each field of a compound value in braces."""
    items = _list_items(literal, type_name)
    if len(items) != len(declared.fields):
        raise _count_fault(f"a value of type `{type_name}`", len(declared.fields), len(items), "field", literal)
    constants = []
    for field, item in zip(declared.fields, items, strict=True):
        size = math.prod(field.shape)
        bare = not field.shape or (field.type == "char" and item.kind == P.STRING)
        inside = (item,) if bare else _list_items(item, f"array field {field.name}")
        value = _constant(field.type, inside, types, item.span)
        if value.count != size:
            raise _count_fault(f"field `{field.name}`", size, value.count, "value", item)
        constants.append(value)
    return constants


def _count_fault(what: str, expected: int, actual: int, unit: str, literal: WrittenConstant) -> _LiteralError:
    code = "too-many-values" if actual > expected else "type-mismatch"
    plural = "" if expected == 1 else "s"
    return _LiteralError(code, f"{what} has {expected} {unit}{plural}, but {actual} are given", literal.span)


def _pack(type_name: str, declared: UserType, literal: WrittenConstant, types: Types) -> bytes:
    """Return the packed bytes of one value of a fixed-size user type."""
    match declared:
        case EnumType():
            return _spell_enum(type_name, declared, literal)
        case OpaqueType():
            return _pack_opaque(type_name, declared, literal)
        case CompoundType():
            fields = _fields(type_name, declared, literal, types)
            return b"".join(field.data for field in fields if isinstance(field.data, bytes))
        case VlenType():
            raise AssertionError("a vlen has no fixed size")
        case _:
            assert_never(declared)


def _list_items(literal: WrittenConstant, what: str) -> tuple[WrittenConstant, ...]:
    if literal.kind != P.LBRACE:
        raise _LiteralError("missing-braces", f"write a value of `{what}` in braces", literal.span, "write `{ … }`")
    return literal.items


def _atomic(atomic: Atomic, literals: Sequence[WrittenConstant]) -> bytes | tuple[bytes | None, ...]:
    """Return the data of numbers or strings."""
    if atomic.name == "string":
        return tuple(None if item.kind == P.NIL else _read_string(item, "string") for item in literals)
    convert = _pack_integer if atomic.is_integer else _pack_float
    return b"".join(convert(atomic, item) for item in literals)


def _read_string(literal: WrittenConstant, type_name: str) -> bytes:
    """Return the bytes of a quoted string, escapes replaced."""
    if literal.kind != P.STRING:
        raise _mismatch(literal, type_name, 'write a string: `"…"`')
    try:
        return read_text(literal.text[1:-1])
    except EscapeError as fault:
        source, start = literal.span.source, literal.span.start + 1 + fault.at
        where = Span(source, start, start + len(fault.escape.encode("utf-8")))
        help_ = 'escapes are `\\"`, `\\\\`, `\\n`, `\\t`, `\\r`, `\\b`, `\\f`, `\\v`, `\\a` and `\\xHH`'
        raise _LiteralError("bad-escape", f"unknown escape `{fault.escape}` in a string", where, help_) from None


def _pack_integer(atomic: Atomic, literal: WrittenConstant) -> bytes:
    if literal.kind in (P.SIZE, P.INTEGER):
        value = _decimal(literal)
    elif literal.kind == P.HEX:
        value = int(literal.text, 0)
    elif literal.kind == P.FLOAT:
        raise _LiteralError("inexact", f"`{_show(literal)}` is not an integer", literal.span)
    else:
        raise _mismatch(literal, atomic.name)
    if not atomic.low <= value <= atomic.high:
        text = f"{_show(literal)} does not fit type {atomic.name} ({atomic.low} to {atomic.high})"
        raise _LiteralError("value-range", text, literal.span)
    return struct.pack(f"<{atomic.code}", value)


def _decimal(literal: WrittenConstant) -> int:
    if len(literal.text) > 40:  # no type holds so many digits; int() on hostile lengths is slow
        raise _LiteralError("value-range", f"{_show(literal)} does not fit any type", literal.span)
    return int(literal.text)


def _pack_float(atomic: Atomic, literal: WrittenConstant) -> bytes:
    code = f"<{atomic.code}"
    if literal.kind == P.NAN:
        return struct.pack(code, math.nan)
    if literal.kind == P.INFINITY:
        return struct.pack(code, -math.inf if literal.text[:1] == b"-" else math.inf)
    if literal.kind == P.HEX:
        if len(literal.text) != 2 + 2 * atomic.size:
            text = f"the bits of a {atomic.name} need {2 * atomic.size} hex digits"
            raise _LiteralError("type-mismatch", text, literal.span)
        return bytes.fromhex(literal.text[2:].decode("ascii"))[::-1]
    if literal.kind not in (P.SIZE, P.INTEGER, P.FLOAT):
        raise _mismatch(literal, atomic.name)
    try:
        packed = struct.pack(code, float(literal.text))
    except OverflowError:
        packed = struct.pack(code, math.inf)
    if math.isinf(struct.unpack(code, packed)[0]):
        text = f"{_show(literal)} is too large for type {atomic.name}"
        raise _LiteralError("value-range", text, literal.span, "write `Infinity` if infinity is intended")
    return packed


def _spell_enum(type_name: str, declared: EnumType, literal: WrittenConstant) -> bytes:
    """Return an enum value from the name of a constant, quoted or not, or an integer."""
    if literal.kind not in (P.NAME, P.STRING):
        return _pack_integer(ATOMIC[declared.base], literal)
    if literal.kind == P.NAME:
        try:
            name = read_name(literal.text.decode("utf-8", "replace"))
        except EscapeError as fault:
            raise _LiteralError("bad-escape", f"unknown escape `{fault.escape}` in a name", literal.span) from None
    else:
        name = _read_string(literal, type_name).decode("utf-8", "replace")
    for constant in declared.constants:
        if constant.name == name:
            return struct.pack(f"<{ATOMIC[declared.base].code}", constant.value)
    text = f"enum `{type_name}` has no constant `{name}`"
    help_ = suggest(name, (constant.name for constant in declared.constants))
    raise _LiteralError("undefined-enum-constant", text, literal.span, *help_)


def _pack_opaque(type_name: str, declared: OpaqueType, literal: WrittenConstant) -> bytes:
    if literal.kind != P.HEX:
        raise _mismatch(literal, type_name, "write the bytes in hexadecimal: `0x…`")
    digits = literal.text[2:].decode("ascii")
    if len(digits) != 2 * declared.size:
        text = f"a value of `{type_name}` has {2 * declared.size} hex digits, but {len(digits)} are given"
        raise _LiteralError("opaque-length", text, literal.span)
    return bytes.fromhex(digits)


def _mismatch(literal: WrittenConstant, type_name: str, help_: str = "") -> _LiteralError:
    what = "a braced value" if literal.kind == P.LBRACE else f"`{_show(literal)}`"
    if literal.kind == P.NAME:  # where constants may stand, so may the word that ends them
        [help_] = suggest(_show(literal), (word.decode("ascii") for word in WORDS)) or [help_]
    return _LiteralError("type-mismatch", f"{what} is not a value of type {type_name}", literal.span, help_)


def _show(literal: WrittenConstant) -> str:
    text = literal.text.decode("utf-8", "replace")
    return text if len(text) <= 40 else text[:39] + "…"
