"""Interpretation of CDL statements, one function per production of syntax/grammars/CDLParser.g4.

Syntax errors are already reported; what precedes them counts if meaningful.
Types are in `typedefs.py`. Simple statements come as single tokens (`patterns.py`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.ast import Attribute
from nczarr.diagnostics.report import Fix, Label, Span, did_you_mean
from nczarr.formats.cdl.read.patterns import PRIMITIVES, STATEMENT
from nczarr.formats.cdl.read.scope import GroupScope
from nczarr.formats.cdl.read.typedefs import read_integer, read_typedef
from nczarr.formats.cdl.spelling import RESERVED
from nczarr.semantics.check_names import number_group
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token, token_of, words_of

if TYPE_CHECKING:
    from nczarr.formats.cdl.read.assembler import Assembler


_RESERVED_BYTES = frozenset(word.encode() for word in RESERVED)


def read_simple_statements(assembler: Assembler, run: Token) -> None:
    """Process a run of statements that match STATEMENT: attributes, variables, dimensions with plain names."""
    source = assembler.source
    for match in STATEMENT.finditer(source.data, run.start, run.end):
        which = match.lastindex
        if match.start("attribute") >= 0:
            _read_simple_attribute(assembler, match)
        elif match.start("variable") >= 0:
            name = match["variable"].decode()
            start, end = match.span("variable")
            if match["variable"] in _RESERVED_BYTES:
                name = assembler.words.declare(start, end, "variable")
            raw = match["type"]
            uses = [Span(source, *match.span("type"))]
            dimensions: list[str] = []
            if match["dims"] is not None:
                dimensions = _read_simple_references(assembler, match, uses)
            type_name = PRIMITIVES.get(raw) or raw.decode()
            assembler.declare(type_name, name, dimensions, Span(source, start, end), uses)
        elif which is not None:
            _read_simple_dimension(assembler, match)


def _read_simple_references(assembler: Assembler, match: re.Match[bytes], uses: list[Span]) -> list[str]:
    """Return the dimension names of a variable that a regular expression matched; add their places to `uses`."""
    at = match.start("dims")
    dimensions: list[str] = []
    for piece in match["dims"].split(b","):
        text = piece.strip(b" \t\r\n\f")
        start = at + piece.find(text)
        at += len(piece) + 1
        dimensions.append(text.decode())
        uses.append(Span(assembler.source, start, start + len(text)))
    return dimensions


def _read_simple_dimension(assembler: Assembler, match: re.Match[bytes]) -> None:
    """Add a dimension, such as `x = 3`, that a regular expression matched."""
    source = assembler.source
    start, end = match.span("dimension")
    name = match["dimension"].decode()
    if match["dimension"] in _RESERVED_BYTES:
        name = assembler.words.declare(start, end, "dimension")
    size: bytes = match["size"]
    unlimited = size in (b"UNLIMITED", b"unlimited")
    place, size_place = Span(source, start, end), Span(source, *match.span("size"))
    assembler.add_dimension(name, None if unlimited else int(size), place, size_place, unlimited=unlimited)


def _read_simple_attribute(assembler: Assembler, match: re.Match[bytes]) -> None:
    """Process an attribute with plain names; a fast path handles a text or one number of a variable or the group."""
    word1, word2, raw_name, text, other = match.group("word1", "word2", "attribute", "text", "other")
    name = raw_name.decode()
    place = Span(assembler.source, *match.span("attribute"))
    variable = assembler.scope.variable_by_name.get(word1.decode()) if word1 is not None and word2 is None else None
    if (variable is not None or word1 is None) and not name.startswith("_"):
        constant = assembler.text(text) if text is not None else assembler.plain(other, None)
        if constant is not None:
            attributes = variable.attributes if variable is not None else assembler.scope.attributes
            attributes.append(Attribute(name=name, value=constant, span=place))
            return
    low, high = match.span("text") if text is not None else match.span("other")
    values = (low - 1, high + 1) if text is not None else (low, high)
    if variable is not None:
        assembler.add_attribute(assembler.scope, variable, None, [], name, place, Span(assembler.source, *values))
        return
    words = [Token(P.NAME, *match.span(group)) for group in ("word1", "word2") if match[group] is not None]
    for word in words:
        word.stop -= 1
    assembler.attribute(words, Token(P.NAME, place.start, place.end - 1), *values)


_RANK = {P.TYPES: 1, P.DIMENSIONS: 2, P.VARIABLES: 3, P.DATA: 4, P.GROUP: 5}
_SECTION_NAMES = {1: "types:", 2: "dimensions:", 3: "variables:", 4: "data:", 5: "group:"}


def read_body(assembler: Assembler, scope: GroupScope, context: Any) -> None:
    """Process the content of a group."""
    outer, assembler.scope = assembler.scope, scope
    for child in context.children or ():
        if isinstance(child, P.SectionContext):
            read_section(assembler, child)
        else:
            read_attribute_statement(assembler, child)
    assembler.scope = outer


def read_section(assembler: Assembler, context: Any) -> None:
    """Check a section's order and process its statements."""
    children = context.children or ()
    if not children:
        return
    head: Token = children[0].symbol
    _check_order(assembler, head)
    if head.type == P.GROUP:
        read_group(assembler, context)
        return
    for child in children[1:]:
        statement = _STATEMENTS.get(type(child))
        if statement is not None:
            statement(assembler, child)


def _check_order(assembler: Assembler, head: Token) -> None:
    """Report a section, such as `variables:`, that comes twice, or after one that must follow it."""
    rank = _RANK.get(head.type, 0)
    seen = assembler.scope.sections
    if rank != 5 and rank in seen:
        line, column = assembler.source.position(seen[rank].start)
        message = f"second {_SECTION_NAMES[rank]} section (first at {line}:{column})"
        first = Label(assembler.span(seen[rank]), "first here")
        assembler.report.error(
            "duplicate-section", message, assembler.span(head), others=[first], helps=["join the two sections"]
        )
        return
    later = [other for other in seen if other > rank]
    if later:
        message = f"{_SECTION_NAMES[rank]} must come before {_SECTION_NAMES[min(later)]}"
        first = Label(assembler.span(seen[min(later)]), "this came first")
        assembler.report.error("section-order", message, assembler.span(head), others=[first])
    seen.setdefault(rank, head)


def read_group(assembler: Assembler, context: Any) -> None:
    """Process `group: name { … }`, and the attributes after it, which belong to the enclosing group."""
    name_token = token_of(context.name())
    if name_token is None:
        return
    scope = assembler.scope
    name = assembler.words.declare(name_token.start, name_token.end, "group") or "_"
    child = GroupScope(name, names.join(scope.path, name), assembler.span(name_token), scope)
    if scope.child(name) is not None:  # checked again by the pass; here only so that both do not share lists by name
        child.path = number_group(scope.path, name, len(scope.groups))
    scope.groups.append(child)
    if context.body() is not None:
        read_body(assembler, child, context.body())
    for attribute in context.attstatement():
        read_attribute_statement(assembler, attribute)


def read_attribute_statement(assembler: Assembler, context: Any) -> bool:
    """Process a run of simple statements or an attribute; return whether the statement is one of these.

    What precedes a fault (often just a missing `;`) still counts, but no attribute.
    """
    children: Any = context.children or ()
    token = getattr(children[0], "symbol", None) if len(children) == 1 else None
    if token is not None and token.type == P.SIMPLE:
        read_simple_statements(assembler, token)
        return True
    declared = None if context.exception is not None else context.attdecl()
    if declared is None:
        return False
    name, equals = token_of(declared.name()), declared.EQUALS()
    if declared.exception is None and name is not None and equals is not None and equals.symbol.tokenIndex >= 0:
        assembler.attribute(words_of(context), name, *_find_value_range(context, equals.symbol))
    return True


def _find_value_range(context: Any, equals: Token) -> tuple[int, int]:
    """Return start and end of the values of a statement."""
    semicolon = context.SEMICOLON()
    return equals.end, equals.end if semicolon is None else max(semicolon.symbol.start, equals.end)


# ---- types ------------------------------------------------------------------------------------------------------
def read_type_statement(assembler: Assembler, context: Any) -> None:
    """Process a type definition, or an attribute among them."""
    if not read_attribute_statement(assembler, context) and context.exception is None:
        read_typedef(assembler, context)


# ---- dimensions ---------------------------------------------------------------------------------------------------
def read_dimension_statement(assembler: Assembler, context: Any) -> None:
    """Process `a = 2, b = UNLIMITED`, or an attribute among the dimensions."""
    if read_attribute_statement(assembler, context):
        return
    words, size = words_of(context), context.size()
    if len(words) == 1 and size is not None:
        read_dimension(assembler, words[0], size)
    for rule in context.dimdef():
        name = token_of(rule.name())
        if rule.exception is None and len(rule.children) == 3 and name is not None:
            read_dimension(assembler, name, rule.size())


def read_dimension(assembler: Assembler, name: Token, size: Any) -> None:
    """Declare one dimension."""
    declared = assembler.words.declare(name.start, name.end, "dimension")
    token = token_of(size)
    if token is None:
        return
    if token.type == P.UNLIMITED:
        assembler.add_dimension(declared, None, assembler.span(name), assembler.span(token), unlimited=True)
        return
    word = assembler.source.text(token.start, token.end)
    if token.type == P.NAME and names.closest(word.upper(), ["UNLIMITED"]):
        helps = [did_you_mean("UNLIMITED", word)]
        assembler.report.error("bad-dimension-size", f"`{word}` is not a size", assembler.span(token), helps=helps)
        assembler.add_dimension(declared, None, assembler.span(name), assembler.span(token), unlimited=True)
        return
    what = "a dimension size must be an integer"
    length = read_integer(assembler, size, "bad-dimension-size", what, 0, "a dimension size cannot be negative")
    assembler.add_dimension(declared, length, assembler.span(name), assembler.span(token))


# ---- variables ----------------------------------------------------------------------------------------------------
def read_variable_statement(assembler: Assembler, context: Any) -> None:
    """Process `T a, b(d)`, or an attribute among the variables."""
    if read_attribute_statement(assembler, context):
        return
    words, shape = words_of(context), context.shape()
    if len(words) != 2 or (shape is not None and shape.exception is not None):
        return
    read_variable(assembler, words[0], words[1], shape)
    for rule in context.varspec():
        name = token_of(rule.name())
        if rule.exception is None and name is not None:
            read_variable(assembler, words[0], name, rule.shape())


def read_variable(assembler: Assembler, type_word: Token, name: Token, shape: Any) -> None:
    """Declare one variable."""
    declared = assembler.words.declare(name.start, name.end, "variable")
    dimensions: list[str] = []
    uses = [assembler.span(type_word)]
    if shape is not None and shape.exception is None:
        references = list(map(token_of, shape.dimref()))
        if not references:
            opening, close = shape.children[0].symbol, shape.children[-1].symbol
            message = "empty parentheses: a scalar has no parentheses, an array names its dimensions"
            helps = [Fix("remove `()`", extent=(opening.start, close.end))]
            assembler.report.error("anonymous-dimension", message, assembler.span(close), helps=helps)
        for token in references:
            if token is None:
                continue
            if token.type not in (P.NAME, P.PATH, P.PRIMITIVE, P.UNLIMITED, P.NETCDF):
                _report_anonymous_dimension(assembler, token)
                assembler.report.hush(assembler.span(name))
                continue
            dimensions.append(assembler.words.reference(token.start, token.end))
            uses.append(assembler.span(token))
    assembler.declare(assembler.type_word(type_word), declared, dimensions, assembler.span(name), uses)


def _report_anonymous_dimension(assembler: Assembler, token: Token) -> None:
    text = assembler.source.text(token.start, token.end)
    help_ = f"declare a dimension in `dimensions:` and name it here, as in `n = {text} ;` and `(n)`"
    if text.isdigit() is False:
        help_ = "name a dimension that is declared in `dimensions:`"
    message = f"`{text}` is not the name of a dimension: CDL dimensions have names"
    assembler.report.error("anonymous-dimension", message, assembler.span(token), helps=[help_])


# ---- data ---------------------------------------------------------------------------------------------------------
def read_data_statement(assembler: Assembler, context: Any) -> None:
    """Process `x = values`; report misplaced attributes."""
    words, declared = words_of(context), context.attdecl()
    if context.exception is None and declared is not None:
        start = assembler.span(words[0] if words else declared.start)
        message = "attributes must come before `data:`"
        assembler.report.error("section-order", message, start, helps=["move it to `variables:`"])
    if read_attribute_statement(assembler, context) or context.exception is not None:
        return
    equals = context.EQUALS()
    if words and equals is not None and equals.symbol.tokenIndex >= 0:
        assembler.values(words[0], *_find_value_range(context, equals.symbol))


_STATEMENTS = {
    P.TypestatementContext: read_type_statement,
    P.DimstatementContext: read_dimension_statement,
    P.VarstatementContext: read_variable_statement,
    P.DatastatementContext: read_data_statement,
}
