"""Parts of statements, and type definitions: from contexts of the parse tree to nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.ast import ATOMIC, CompoundType, EnumConstant, EnumType, Field, OpaqueType, VlenType
from nczarr.diagnostics.source import Span
from nczarr.formats.cdl.read.scope import GroupScope
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token

if TYPE_CHECKING:
    from nczarr.formats.cdl.read.assembler import Assembler


class Parts:
    """Parts of a statement: leading words, its attribute or other rules, and its semicolon."""

    __slots__ = ("attribute", "end", "rules", "tokens", "words")

    def __init__(self, children: list[Any]) -> None:
        self.words: list[Token] = []
        self.rules: list[Any] = []
        self.tokens: list[Token] = []
        self.attribute: Any = None
        self.end = 0
        for child in children:
            if isinstance(child, P.WordContext):
                token = token_of(child)
                if token is not None:
                    self.words.append(token)
            elif isinstance(child, P.AttdeclContext):
                self.attribute = child
            elif hasattr(child, "symbol"):
                self.tokens.append(child.symbol)
            else:
                self.rules.append(child)
        if self.tokens and self.tokens[-1].type == P.SEMICOLON:
            self.end = self.tokens[-1].start


def token_of(context: Any) -> Token | None:
    """Return the only token of a `name`, `word`, `size` or `dimref` context, None if it has an error."""
    if context is None or getattr(context, "exception", None) is not None:
        return None
    while context.getChildCount():
        context = context.children[0]
    token: Token | None = getattr(context, "symbol", None)
    return token if token is not None and token.tokenIndex >= 0 else None


def integer(
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


def typedef(assembler: Assembler, scope: GroupScope, parts: Parts) -> None:
    """Declare a type; a definition with an (already reported) syntax error declares nothing."""
    if parts.tokens and parts.tokens[0].type == P.OPAQUE:
        _opaque(assembler, scope, parts)
    elif parts.tokens and parts.tokens[0].type == P.COMPOUND:
        _compound(assembler, scope, parts)
    elif parts.words and parts.rules:
        definition = parts.rules[0]
        if definition.exception is None and isinstance(definition, P.EnumdefContext):
            _enum(assembler, scope, parts.words[0], definition)
        elif definition.exception is None and isinstance(definition, P.VlendefContext):
            name = token_of(next(child for child in definition.children if isinstance(child, P.NameContext)))
            if name is not None:
                base = assembler.type_word(parts.words[0])
                declared = assembler.words.declared(name.start, name.end, "type")
                assembler.uses[names.join(scope.path, declared)] = (assembler.span(parts.words[0]),)
                scope.types.append(VlenType(name=declared, base=base, span=assembler.span(name)))


def _opaque(assembler: Assembler, scope: GroupScope, parts: Parts) -> None:
    size_context = next((rule for rule in parts.rules if isinstance(rule, P.SizeContext)), None)
    name = next((token_of(rule) for rule in parts.rules if isinstance(rule, P.NameContext)), None)
    if size_context is None or name is None:
        return
    assembler.uses[names.join(scope.path, assembler.words.name(name.start, name.end)) + "="] = (
        assembler.span(parts.tokens[0]),
    )
    what, below = "the size of an opaque type must be an integer", "an opaque type must have at least one byte"
    size = integer(assembler, size_context, "bad-opaque-size", what, 1, below)
    declared = assembler.words.declared(name.start, name.end, "type")
    scope.types.append(OpaqueType(name=declared, size=size or 1, span=assembler.span(name)))


def _enum(assembler: Assembler, scope: GroupScope, base_word: Token, context: Any) -> None:
    name = token_of(next(child for child in context.children if isinstance(child, P.NameContext)))
    if name is None:
        return
    base = assembler.type_word(base_word)
    declared = assembler.words.declared(name.start, name.end, "type")
    assembler.uses[names.join(scope.path, declared)] = (assembler.span(base_word),)
    if base not in ATOMIC or not ATOMIC[base].is_integer:
        message = f"the base type of an enum must be an integer type, not {base}"
        assembler.report.error(
            "bad-enum-base", message, assembler.span(base_word), helps=["use byte, int, … as the base"]
        )
        base = "int64"
    contexts = [child for child in context.children if isinstance(child, P.EnumconstContext)]
    if not contexts:
        close = context.children[-1].symbol
        message = f"the enum type `{declared}` has no constants; it needs at least one"
        assembler.report.error("empty-type", message, assembler.span(close))
    constants: list[EnumConstant] = []
    for child in contexts:
        if child.exception is None:
            constants += _enum_constant(assembler, base, child, {constant.value for constant in constants})
    if not constants:
        constants.append(EnumConstant(name="_", value=0))
    scope.types.append(
        EnumType(name=declared, base=base, constants=tuple(constants), span=assembler.span(name))  # type: ignore[arg-type]
    )


def _enum_constant(assembler: Assembler, base: str, context: Any, taken: set[int]) -> list[EnumConstant]:
    """Return the constant of a context, none after a syntax error; a bad value is replaced by a free one."""
    name = next((token_of(child) for child in context.children if isinstance(child, P.NameContext)), None)
    size = next((child for child in context.children if isinstance(child, P.SizeContext)), None)
    if name is None or size is None:
        return []
    value = integer(assembler, size, "bad-number", "the value of an enum constant must be an integer", None)
    atomic = ATOMIC[base]
    if value is not None and not atomic.low <= value <= atomic.high:
        message = f"{value} does not fit the base type {base} ({atomic.low} .. {atomic.high})"
        assembler.report.error("value-range", message, assembler.span(size.children[0].symbol))
        value = None
    if value is None:
        value = next((free for free in range(len(taken) + 1) if free not in taken and free <= atomic.high), 0)
    constant_name = assembler.words.name(name.start, name.end)
    return [EnumConstant(name=constant_name, value=value, span=assembler.span(name))]


def _compound(assembler: Assembler, scope: GroupScope, parts: Parts) -> None:
    name = next((token_of(rule) for rule in parts.rules if isinstance(rule, P.NameContext)), None)
    if name is None:
        return
    declared = assembler.words.declared(name.start, name.end, "type")
    fields: list[Field] = []
    uses: list[Span] = []
    contexts = [rule for rule in parts.rules if isinstance(rule, P.FieldContext)]
    for context in contexts:
        if context.exception is None:
            _field(assembler, context, fields, uses)
    if not contexts:
        opening = next((token for token in parts.tokens if token.type == P.LBRACE), None)
        close = next((token for token in parts.tokens if token.type == P.RBRACE), None)
        message = f"the compound type `{declared}` needs at least one field"
        where = close if close is not None else opening
        assembler.report.error(
            "empty-type", message, assembler.span(where or name), helps=["write `compound c { int x ; }`"]
        )
    path = names.join(scope.path, declared)
    assembler.uses[path] = tuple(uses)
    assembler.uses[path + "="] = (assembler.span(parts.tokens[0]),)
    members = tuple(fields) or (Field(name="_", type="byte"),)
    scope.types.append(CompoundType(name=declared, fields=members, span=assembler.span(name)))


def _field(assembler: Assembler, context: Any, fields: list[Field], uses: list[Span]) -> None:
    word = token_of(context.children[0])
    if word is None:
        return
    type_name = assembler.type_word(word)
    for spec in context.children:
        if not isinstance(spec, P.FieldspecContext) or spec.exception is not None:
            continue
        name = token_of(spec.children[0])
        if name is None:
            continue
        shape = [
            integer(assembler, size, "bad-field-size", "a field dimension must be an integer of at least 1", 1)
            for size in spec.children
            if isinstance(size, P.SizeContext)
        ]
        field_name = assembler.words.name(name.start, name.end)
        fields.append(
            Field(name=field_name, type=type_name, shape=tuple(size or 1 for size in shape), span=assembler.span(name))
        )
        uses.append(assembler.span(word))
