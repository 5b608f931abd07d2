"""Integers of statements, and type definitions: from contexts of the parse tree to nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.ast import ATOMIC, CompoundType, EnumConstant, EnumType, Field, OpaqueType, VlenType
from nczarr.diagnostics.report import Span
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token, token_of, words_of

if TYPE_CHECKING:
    from nczarr.formats.cdl.read.assembler import Assembler


def read_integer(
    assembler: Assembler, context: Any, code: str, message: str, low: int | None, below: str | None = None
) -> int | None:
    """Return an integer of at least `low` from a `size` context. Returns None, and reports `code`, on a fault."""
    token = token_of(context)
    if token is None:
        return None
    span = assembler.span(token)
    if token.type != P.INT:
        assembler.report.error(code, message, span)
        return None
    literals = assembler.lists.read(token.start, token.end)
    if not literals:
        return None
    literal = literals[0]
    if literal.type in ("byte", "short", "ubyte", "ushort"):
        assembler.report.error(code, message, span, helps=["write it without a suffix"])
        return None
    value: int = literal.value
    if low is not None and value < low:
        assembler.report.error(code, below or message, span)
        return None
    return value


def read_typedef(assembler: Assembler, context: Any) -> None:
    """Declare a type; a definition with an (already reported) syntax error declares nothing."""
    words, enum, vlen = words_of(context), context.enumdef(), context.vlendef()
    if context.OPAQUE() is not None:
        _read_opaque(assembler, context)
    elif context.COMPOUND() is not None:
        _read_compound(assembler, context)
    elif words and enum is not None and enum.exception is None:
        _read_enum(assembler, words[0], enum)
    elif words and vlen is not None and vlen.exception is None and (name := token_of(vlen.name())) is not None:
        base = assembler.type_word(words[0])
        declared = assembler.words.declare(name.start, name.end, "type")
        assembler.uses[names.join(assembler.scope.path, declared)] = (assembler.span(words[0]),)
        assembler.scope.types.append(VlenType(name=declared, base=base, span=assembler.span(name)))


def _read_opaque(assembler: Assembler, context: Any) -> None:
    """Add an opaque type; in `uses`, PATH= is the place of its keyword."""
    name = token_of(context.name())
    if context.size() is None or name is None:
        return
    path = names.join(assembler.scope.path, assembler.words.name(name.start, name.end))
    assembler.uses[path + "="] = (assembler.span(context.OPAQUE().symbol),)
    no_integer = "the size of an opaque type must be an integer"
    too_small = "an opaque type must have at least one byte"
    size = read_integer(assembler, context.size(), "bad-opaque-size", no_integer, 1, too_small)
    declared = assembler.words.declare(name.start, name.end, "type")
    assembler.scope.types.append(OpaqueType(name=declared, size=size or 1, span=assembler.span(name)))


def _read_enum(assembler: Assembler, base_word: Token, context: Any) -> None:
    name = token_of(context.name())
    if name is None:
        return
    base = assembler.type_word(base_word)
    declared = assembler.words.declare(name.start, name.end, "type")
    assembler.uses[names.join(assembler.scope.path, declared)] = (assembler.span(base_word),)
    if base not in ATOMIC or not ATOMIC[base].is_integer:
        message = f"the base type of an enum must be an integer type, not {base}"
        helps = ["use byte, int, … as the base"]
        assembler.report.error("bad-enum-base", message, assembler.span(base_word), helps=helps)
        base = "int64"
    if not context.enumconst():
        message = f"the enum type `{declared}` has no constants; it needs at least one"
        assembler.report.error("empty-type", message, assembler.span(context.children[-1].symbol))
    constants: list[EnumConstant] = []
    taken: set[int] = set()
    for child in context.enumconst():
        if child.exception is None:
            constants += _read_enum_constant(assembler, base, child, taken)
            taken.update(constant.value for constant in constants[-1:])
    if not constants:
        constants.append(EnumConstant(name="_", value=0))
    assembler.scope.types.append(
        EnumType(name=declared, base=base, constants=tuple(constants), span=assembler.span(name))  # type: ignore[arg-type]
    )


def _read_enum_constant(assembler: Assembler, base: str, context: Any, taken: set[int]) -> list[EnumConstant]:
    """Return the constant of a context, none after a syntax error; a bad value is replaced by a free one."""
    name, size = token_of(context.name()), context.size()
    if name is None or size is None:
        return []
    value = read_integer(assembler, size, "bad-number", "the value of an enum constant must be an integer", None)
    atomic = ATOMIC[base]
    if value is not None and not atomic.low <= value <= atomic.high:
        message = f"{value} does not fit the base type {base} ({atomic.low} .. {atomic.high})"
        assembler.report.error("value-range", message, assembler.span(size.children[0].symbol))
        value = None
    if value is None:
        value = next((free for free in range(len(taken) + 1) if free not in taken and free <= atomic.high), 0)
    constant_name = assembler.words.name(name.start, name.end)
    return [EnumConstant(name=constant_name, value=value, span=assembler.span(name))]


def _read_compound(assembler: Assembler, context: Any) -> None:
    """Add a compound type; in `uses`, PATH has the places of its fields' types, PATH= that of its keyword."""
    name = token_of(context.name())
    if name is None:
        return
    declared = assembler.words.declare(name.start, name.end, "type")
    fields: list[Field] = []
    uses: list[Span] = []
    for child in context.field():
        if child.exception is None:
            _read_field(assembler, child, fields, uses)
    if not context.field():
        brace = context.RBRACE() or context.LBRACE()
        message, helps = f"the compound type `{declared}` needs at least one field", ["write `compound c { int x ; }`"]
        place = assembler.span(name if brace is None else brace.symbol)
        assembler.report.error("empty-type", message, place, helps=helps)
    path = names.join(assembler.scope.path, declared)
    assembler.uses[path] = tuple(uses)
    assembler.uses[path + "="] = (assembler.span(context.COMPOUND().symbol),)
    members = tuple(fields) or (Field(name="_", type="byte"),)
    assembler.scope.types.append(CompoundType(name=declared, fields=members, span=assembler.span(name)))


def _read_field(assembler: Assembler, context: Any, fields: list[Field], uses: list[Span]) -> None:
    """Append the fields of a declaration, such as `int a, b(2) ;`, and the places of their type."""
    word = token_of(context.word())
    if word is None:
        return
    type_name, what = assembler.type_word(word), "a field dimension must be an integer of at least 1"
    for spec in context.fieldspec():
        name = token_of(spec.name())
        if spec.exception is None and name is not None:
            shape = tuple(read_integer(assembler, size, "bad-field-size", what, 1) or 1 for size in spec.size())
            field_name = assembler.words.name(name.start, name.end)
            fields.append(Field(name=field_name, type=type_name, shape=shape, span=assembler.span(name)))
            uses.append(assembler.span(word))
