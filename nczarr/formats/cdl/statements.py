"""Statements of CDL: what each context of the parse tree declares.

One function a production of grammar/CDL.g4. A context that holds a syntax error has been reported and is passed
over. Runs of simple statements (SIMPLE tokens) are taken apart here by the regular expressions they were made with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Constant, Dimension, EnumConstant, EnumType, Field, OpaqueType, VlenType
from nczarr.ast.types import CompoundType
from nczarr.diagnostics import Label
from nczarr.formats.cdl.scope import Scope, VariableDraft
from nczarr.formats.cdl.words import RESERVED
from nczarr.passes.literals import Literal
from nczarr.source import Span
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.cdl_tokens import PRIMITIVES, STATEMENT
from nczarr.syntax.tokens import Token

if TYPE_CHECKING:
    from nczarr.formats.cdl.frontend import Assembler

_RANK = {P.TYPES: 1, P.DIMENSIONS: 2, P.VARIABLES: 3, P.DATA: 4, P.GROUP: 5}
_SECTION_NAMES = {1: "types:", 2: "dimensions:", 3: "variables:", 4: "data:", 5: "group:"}
_RESERVED_BYTES = frozenset(word.encode() for word in RESERVED)
MAX_RANK = 1024


def body(assembler: Assembler, scope: Scope, context: Any) -> None:
    """The content of a group."""
    for child in context.children or ():
        if isinstance(child, P.SectionContext):
            section(assembler, scope, child)
        else:
            attstatement(assembler, scope, child)


def section(assembler: Assembler, scope: Scope, context: Any) -> None:
    """One section: its place among the others, then its statements."""
    children = context.children or ()
    if not children:
        return
    head: Token = children[0].symbol
    _check_order(assembler, scope, head)
    if head.type == P.GROUP:
        group(assembler, scope, context)
        return
    for child in children[1:]:
        kind = type(child)
        if kind is P.TypestatementContext:
            typestatement(assembler, scope, child)
        elif kind is P.DimstatementContext:
            dimstatement(assembler, scope, child)
        elif kind is P.VarstatementContext:
            varstatement(assembler, scope, child)
        elif kind is P.DatastatementContext:
            datastatement(assembler, scope, child)


def _check_order(assembler: Assembler, scope: Scope, head: Token) -> None:
    rank = _RANK.get(head.type, 0)
    seen = scope.sections
    if rank != 5 and rank in seen:
        line, column = assembler.source.position(seen[rank].start)
        message = f"second {_SECTION_NAMES[rank]} section (first at {line}:{column})"
        first = Label(assembler.span(seen[rank]), "first here")
        assembler.report.error(
            "duplicate-section", message, assembler.span(head), others=[first], helps=["join the two"]
        )
        return
    later = [other for other in seen if other > rank]
    if later:
        after = _SECTION_NAMES[min(later)]
        message = f"{_SECTION_NAMES[rank]} must come before {after}"
        first = Label(assembler.span(seen[min(later)]), "this came first")
        assembler.report.error("section-order", message, assembler.span(head), others=[first])
    seen.setdefault(rank, head)


def group(assembler: Assembler, scope: Scope, context: Any) -> None:
    """`group: name { … }` and the attributes after it, which belong to the enclosing group."""
    name_token = _token(context.children[1]) if len(context.children) > 1 else None
    if name_token is None:
        return
    name = assembler.words.declared(name_token.start, name_token.end, "group") or "_"
    child = Scope(name, names.join(scope.path, name), assembler.span(name_token), scope)
    first = scope.child(name)
    if first is not None:  # checked again by the pass; here only so that both do not share lists by name
        child.path = names.join(scope.path, f"{name} {len(scope.groups)}")
    scope.groups.append(child)
    for part in context.children[2:]:
        if isinstance(part, P.BodyContext):
            body(assembler, child, part)
        elif isinstance(part, P.AttstatementContext):
            attstatement(assembler, scope, part)


def attstatement(assembler: Assembler, scope: Scope, context: Any) -> None:
    """An attribute before or after the sections."""
    parts = _parts(assembler, scope, context)
    if parts is not None and parts.attribute is not None:
        _attribute(assembler, scope, parts)


class _Parts:
    """A statement taken apart: leading words, its attribute or other rules, and its semicolon."""

    __slots__ = ("attribute", "end", "rules", "tokens", "words")

    def __init__(self, children: list[Any]) -> None:
        self.words: list[Token] = []
        self.rules: list[Any] = []
        self.tokens: list[Token] = []
        self.attribute: Any = None
        self.end = 0
        for child in children:
            if isinstance(child, P.WordContext):
                token = _token(child)
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


def _parts(assembler: Assembler, scope: Scope, context: Any) -> _Parts | None:
    """The parts of a statement; None if it was a run of simple ones (done here) or holds a syntax error."""
    children = context.children or []
    if len(children) == 1 and getattr(children[0], "symbol", None) is not None:
        token = children[0].symbol
        if token.type == P.SIMPLE:
            simple(assembler, scope, token)
            return None
    parts = _Parts(children)
    if context.exception is not None:  # what was read before the fault (often just a missing `;`) still counts
        parts.attribute = None
        parts.end = 0
    return parts


def _attribute(assembler: Assembler, scope: Scope, parts: _Parts) -> None:
    context = parts.attribute
    if context.exception is not None or not context.children:
        return
    name = equals = None
    for child in context.children:
        if isinstance(child, P.NameContext):
            name = _token(child)
        elif hasattr(child, "symbol") and child.symbol.type == P.EQUALS:
            equals = child.symbol
    if name is not None and equals is not None and equals.tokenIndex >= 0:
        assembler.attribute(scope, parts.words, name, equals.end, max(parts.end, equals.end))


# ---- types ------------------------------------------------------------------------------------------------------
def typestatement(assembler: Assembler, scope: Scope, context: Any) -> None:
    """A type definition, or an attribute among them."""
    parts = _parts(assembler, scope, context)
    if parts is None or context.exception is not None:
        return
    if parts.attribute is not None:
        _attribute(assembler, scope, parts)
    elif parts.tokens and parts.tokens[0].type == P.OPAQUE:
        _opaque(assembler, scope, parts)
    elif parts.tokens and parts.tokens[0].type == P.COMPOUND:
        _compound(assembler, scope, parts)
    elif parts.words and parts.rules:
        definition = parts.rules[0]
        if definition.exception is None and isinstance(definition, P.EnumdefContext):
            _enum(assembler, scope, parts.words[0], definition)
        elif definition.exception is None and isinstance(definition, P.VlendefContext):
            name = _token(next(child for child in definition.children if isinstance(child, P.NameContext)))
            if name is not None:
                base = assembler.type_word(parts.words[0])
                declared = assembler.words.declared(name.start, name.end, "type")
                assembler.uses[names.join(scope.path, declared)] = (assembler.span(parts.words[0]),)
                scope.types.append(VlenType(name=declared, base=base, span=assembler.span(name)))


def _opaque(assembler: Assembler, scope: Scope, parts: _Parts) -> None:
    size_context = next((rule for rule in parts.rules if isinstance(rule, P.SizeContext)), None)
    name = next((_token(rule) for rule in parts.rules if isinstance(rule, P.NameContext)), None)
    if size_context is None or name is None:
        return
    assembler.uses[names.join(scope.path, assembler.words.name(name.start, name.end)) + "="] = (
        assembler.span(parts.tokens[0]),
    )
    size = _integer(assembler, size_context, "bad-opaque-size", "an opaque type has at least one byte", 1)
    declared = assembler.words.declared(name.start, name.end, "type")
    scope.types.append(OpaqueType(name=declared, size=size or 1, span=assembler.span(name)))


def _enum(assembler: Assembler, scope: Scope, base_word: Token, context: Any) -> None:
    name = _token(next(child for child in context.children if isinstance(child, P.NameContext)))
    if name is None:
        return
    base = assembler.type_word(base_word)
    declared = assembler.words.declared(name.start, name.end, "type")
    assembler.uses[names.join(scope.path, declared)] = (assembler.span(base_word),)
    if base not in ATOMIC or not ATOMIC[base].is_integer:
        message = f"the base type of an enum is an integer type, not {base}"
        assembler.report.error("bad-enum-base", message, assembler.span(base_word), helps=["use byte, int, … as base"])
        base = "int64"
    constants: list[EnumConstant] = []
    for child in context.children:
        if isinstance(child, P.EnumconstContext) and child.exception is None:
            constant = _enum_constant(assembler, base, child)
            if constant is not None:
                constants.append(constant)
    if not any(isinstance(child, P.EnumconstContext) for child in context.children):
        close = context.children[-1].symbol
        message = f"the enum type `{declared}` has no constants; it needs at least one"
        assembler.report.error("empty-type", message, assembler.span(close))
        constants.append(EnumConstant(name="_", value=0))
    if not constants:
        constants.append(EnumConstant(name="_", value=0))
    scope.types.append(
        EnumType(name=declared, base=base, constants=tuple(constants), span=assembler.span(name))  # type: ignore[arg-type]
    )


def _enum_constant(assembler: Assembler, base: str, context: Any) -> EnumConstant | None:
    name = next((_token(child) for child in context.children if isinstance(child, P.NameContext)), None)
    size = next((child for child in context.children if isinstance(child, P.SizeContext)), None)
    if name is None or size is None:
        return None
    constant_name = assembler.words.name(name.start, name.end)
    value = _integer(assembler, size, "bad-number", "the value of an enum constant is an integer", None)
    if value is None:
        return EnumConstant(name=constant_name, value=0, span=assembler.span(name))
    atomic = ATOMIC[base]
    if not atomic.low <= value <= atomic.high:
        message = f"{value} does not fit the base type {base} ({atomic.low} .. {atomic.high})"
        assembler.report.error("value-range", message, assembler.span(size.children[0].symbol))
        value = atomic.low
    return EnumConstant(name=constant_name, value=value, span=assembler.span(name))


def _compound(assembler: Assembler, scope: Scope, parts: _Parts) -> None:
    name = next((_token(rule) for rule in parts.rules if isinstance(rule, P.NameContext)), None)
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
    if fields:
        scope.types.append(CompoundType(name=declared, fields=tuple(fields), span=assembler.span(name)))
    else:
        placeholder = (Field(name="_", type="byte"),)
        scope.types.append(CompoundType(name=declared, fields=placeholder, span=assembler.span(name)))


def _field(assembler: Assembler, context: Any, fields: list[Field], uses: list[Span]) -> None:
    word = _token(context.children[0])
    if word is None:
        return
    type_name = assembler.type_word(word)
    for spec in context.children:
        if not isinstance(spec, P.FieldspecContext) or spec.exception is not None:
            continue
        name = _token(spec.children[0])
        if name is None:
            continue
        shape = [
            _integer(assembler, size, "bad-field-size", "a field dimension is an integer of at least 1", 1)
            for size in spec.children
            if isinstance(size, P.SizeContext)
        ]
        field_name = assembler.words.name(name.start, name.end)
        fields.append(
            Field(name=field_name, type=type_name, shape=tuple(size or 1 for size in shape), span=assembler.span(name))
        )
        uses.append(assembler.span(word))


# ---- dimensions ---------------------------------------------------------------------------------------------------
def dimstatement(assembler: Assembler, scope: Scope, context: Any) -> None:
    """`a = 2, b = UNLIMITED`, or an attribute among the dimensions."""
    parts = _parts(assembler, scope, context)
    if parts is None:
        return
    if parts.attribute is not None:
        _attribute(assembler, scope, parts)
        return
    sizes = [rule for rule in parts.rules if isinstance(rule, P.SizeContext)]
    if len(parts.words) == 1 and sizes:
        dimension(assembler, scope, parts.words[0], sizes[0])
    for rule in parts.rules:
        if isinstance(rule, P.DimdefContext) and rule.exception is None and len(rule.children) == 3:
            name = _token(rule.children[0])
            if name is not None:
                dimension(assembler, scope, name, rule.children[2])


def dimension(assembler: Assembler, scope: Scope, name: Token, size: Any) -> None:
    """One dimension."""
    declared = assembler.words.declared(name.start, name.end, "dimension")
    token = _token(size)
    if token is None:
        return
    if token.type == P.UNLIMITED:
        assembler.uses[names.join(scope.path, declared) + "="] = (assembler.span(token),)
        scope.dimensions.append(Dimension(name=declared, size=0, unlimited=True, span=assembler.span(name)))
        return
    what = "a dimension size is an integer"
    length = _integer(assembler, size, "bad-dimension-size", what, 0, "a dimension size cannot be negative")
    _add_dimension(assembler, scope, declared, length, assembler.span(name), assembler.span(token))


def _add_dimension(
    assembler: Assembler, scope: Scope, name: str, length: int | None, place: Span, size_place: Span
) -> None:
    if length is not None and length >= 2**63:
        message = f"a dimension has at most 2^63 - 1 elements, not {length}"
        assembler.report.error("bad-dimension-size", message, size_place)
        length = None
    if length == 0:
        message = f'size 0 means "unlimited" to the netCDF library: `{name}` becomes an unlimited dimension'
        help_ = "write UNLIMITED, or a positive size"
        assembler.report.warning("zero-dimension", message, size_place, helps=[help_])
    assembler.uses[names.join(scope.path, name) + "="] = (size_place,)
    scope.dimensions.append(Dimension(name=name, size=length or 0, unlimited=length == 0, span=place))


# ---- variables ----------------------------------------------------------------------------------------------------
def varstatement(assembler: Assembler, scope: Scope, context: Any) -> None:
    """`T a, b(d)`, or an attribute among the variables."""
    parts = _parts(assembler, scope, context)
    if parts is None:
        return
    if parts.attribute is not None:
        _attribute(assembler, scope, parts)
        return
    if len(parts.words) != 2:
        return
    type_word, first = parts.words
    shape = next((rule for rule in parts.rules if isinstance(rule, P.ShapeContext)), None)
    if shape is not None and shape.exception is not None:
        return
    variable(assembler, scope, type_word, first, shape)
    for rule in parts.rules:
        if isinstance(rule, P.VarspecContext) and rule.exception is None:
            name = _token(rule.children[0])
            if name is not None:
                variable(assembler, scope, type_word, name, rule.children[1] if len(rule.children) > 1 else None)


def variable(assembler: Assembler, scope: Scope, type_word: Token, name: Token, shape: Any) -> None:
    """One variable."""
    declared = assembler.words.declared(name.start, name.end, "variable")
    dimensions: list[str] = []
    uses = [assembler.span(type_word)]
    if shape is not None and shape.exception is None:
        references = [_token(child) for child in shape.children if isinstance(child, P.DimrefContext)]
        if not references:
            close = shape.children[-1].symbol
            message = "empty parentheses: a scalar has none, an array names its dimensions"
            assembler.report.error("anonymous-dimension", message, assembler.span(close), helps=["remove `()`"])
        for token in references:
            if token is None:
                continue
            if token.type not in (P.NAME, P.PATH, P.PRIMITIVE, P.UNLIMITED, P.NETCDF):
                _anonymous(assembler, token)
                continue
            dimensions.append(assembler.words.reference(token.start, token.end))
            uses.append(assembler.span(token))
    _declare(assembler, scope, assembler.type_word(type_word), declared, dimensions, assembler.span(name), uses)


def _anonymous(assembler: Assembler, token: Token) -> None:
    text = assembler.source.text(token.start, token.end)
    help_ = f"declare a dimension in dimensions: and name it here, as in `n = {text} ;` and `(n)`"
    if text.isdigit() is False:
        help_ = "name a dimension that is declared in dimensions:"
    message = f"`{text}` is not the name of a dimension: CDL dimensions are named"
    assembler.report.error("anonymous-dimension", message, assembler.span(token), helps=[help_])


def _declare(
    assembler: Assembler, scope: Scope, type_name: str, name: str, dimensions: list[str], place: Span, uses: list[Span]
) -> None:
    if len(dimensions) > MAX_RANK:
        message = f"`{name}` has {len(dimensions)} dimensions; the limit is {MAX_RANK}"
        assembler.report.error("rank-limit", message, place)
        dimensions = dimensions[:1]
    path = scope.variable_path(name)
    assembler.uses.setdefault(path, tuple(uses))
    scope.declare(VariableDraft(name, type_name, tuple(dimensions), place))


# ---- data ---------------------------------------------------------------------------------------------------------
def datastatement(assembler: Assembler, scope: Scope, context: Any) -> None:
    """`x = values`; an attribute here is in the wrong section."""
    parts = _parts(assembler, scope, context)
    if parts is None or context.exception is not None:
        return
    if parts.attribute is not None:
        start = parts.words[0] if parts.words else parts.attribute.start
        message = "attributes must come before data:"
        assembler.report.error("section-order", message, assembler.span(start), helps=["move it to variables:"])
        _attribute(assembler, scope, parts)
        return
    equals = next((token for token in parts.tokens if token.type == P.EQUALS), None)
    if parts.words and equals is not None and equals.tokenIndex >= 0:
        assembler.values(scope, parts.words[0], equals.end, max(parts.end, equals.end))


# ---- simple statements ----------------------------------------------------------------------------------------------
def simple(assembler: Assembler, scope: Scope, run: Token) -> None:
    """A run of statements that the pattern STATEMENT takes apart: attributes, variables, dimensions of plain names."""
    source = assembler.source
    for match in STATEMENT.finditer(source.data, run.start, run.end):
        which = match.lastindex
        if match.start("attribute") >= 0:
            _simple_attribute(assembler, scope, match)
        elif match.start("variable") >= 0:
            name = match["variable"].decode()
            start, end = match.span("variable")
            if match["variable"] in _RESERVED_BYTES:
                name = assembler.words.declared(start, end, "variable")
            raw = match["type"]
            uses = [Span(source, *match.span("type"))]
            dimensions: list[str] = []
            if match["dims"] is not None:
                dimensions = _simple_dimensions(assembler, match, uses)
            type_name = PRIMITIVES.get(raw) or raw.decode()
            _declare(assembler, scope, type_name, name, dimensions, Span(source, start, end), uses)
        elif which is not None:
            _simple_dimension(assembler, scope, match)


def _simple_dimensions(assembler: Assembler, match: Any, uses: list[Span]) -> list[str]:
    at = match.start("dims")
    found: list[str] = []
    for piece in match["dims"].split(b","):
        text = piece.strip(b" \t\r\n\f")
        start = at + piece.find(text)
        at += len(piece) + 1
        found.append(text.decode())
        uses.append(Span(assembler.source, start, start + len(text)))
    return found


def _simple_dimension(assembler: Assembler, scope: Scope, match: Any) -> None:
    source = assembler.source
    start, end = match.span("dimension")
    name = match["dimension"].decode()
    if match["dimension"] in _RESERVED_BYTES:
        name = assembler.words.declared(start, end, "dimension")
    size: bytes = match["size"]
    place = Span(source, start, end)
    if size in (b"UNLIMITED", b"unlimited"):
        assembler.uses[names.join(scope.path, name) + "="] = (Span(source, *match.span("size")),)
        scope.dimensions.append(Dimension(name=name, size=0, unlimited=True, span=place))
        return
    size_place = Span(source, *match.span("size"))
    _add_dimension(assembler, scope, name, int(size), place, size_place)


def _simple_attribute(assembler: Assembler, scope: Scope, match: Any) -> None:
    source = assembler.source
    name = match["attribute"].decode()
    place = Span(source, *match.span("attribute"))
    word1, word2 = match.span("word1"), match.span("word2")
    words = [Token(P.NAME, start, end - 1) for start, end in (word1, word2) if start >= 0]
    text: bytes | None = match["text"]
    variable = scope.variable_by_name.get(match["word1"].decode()) if len(words) == 1 else None
    if text is not None and not name.startswith("_") and (not words or variable is not None):
        attributes = variable.attributes if variable is not None else scope.attributes
        constant = Constant(type="char", count=len(text) or 1, data=text or b"\0")
        attributes.append(Attribute(name=name, value=constant, span=place))
        return
    low, high = match.span("text") if text is not None else match.span("other")
    values = (low - 1, high + 1) if text is not None else (low, high)
    if variable is not None:
        span = Span(source, *values)
        assembler.add_attribute(scope, variable, None, words, name, place, span)
        return
    token = Token(P.NAME, place.start, place.end - 1)
    assembler.attribute(scope, words, token, *values)


# ---- tokens and integers --------------------------------------------------------------------------------------------
def _token(context: Any) -> Token | None:
    """The one token of a `name`, `word`, `size` or `dimref` context; None if it holds an error."""
    if context is None or getattr(context, "exception", None) is not None:
        return None
    while context.getChildCount():
        context = context.children[0]
    token: Token | None = getattr(context, "symbol", None)
    return token if token is not None and token.tokenIndex >= 0 else None


def _integer(
    assembler: Assembler, context: Any, code: str, message: str, low: int | None, below: str | None = None
) -> int | None:
    """An integer of at least `low` from a `size` context; None after a fault, which is reported as `code`."""
    token = _token(context)
    if token is None:
        return None
    span = assembler.span(token)
    if token.type != P.INT:
        assembler.report.error(code, message, span)
        return None
    literals: list[Literal] | None = assembler.lists.read(token.start, token.end)
    if not literals:
        return None
    literal = literals[0]
    if literal.type in ("byte", "short", "ubyte", "ushort") and low is None:
        assembler.report.error(code, message, span, helps=["write it without a suffix"])
        return None
    value: int = literal.value
    if low is not None and value < low:
        assembler.report.error(code, below or message, span)
        return None
    return value
