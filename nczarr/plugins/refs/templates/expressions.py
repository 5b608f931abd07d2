"""Texts with expressions: `http://{{u}}/{{'%03d'|format(i)}}` → literals and small trees.

    hole       := '{{' condition '}}'
    condition  := compare [ 'if' compare 'else' condition ]
    compare    := sum { ('==' | '!=' | '<' | '<=' | '>' | '>=') sum }
    sum        := product { ('+' | '-') product }
    product    := power { ('*' | '/' | '//' | '%') power }
    power      := filtered { '**' filtered }                            left-associative, as in jinja2
    filtered   := unary { '|' filter [ '(' [ condition { ',' condition } ] ')' ] }
    unary      := ('-' | '+') unary | primary
    primary    := integer | text | name | name '(' [ name '=' condition { ',' … } ] ')' | '(' condition ')'

Output: trees of named tuples, evaluated only by `evaluation.py`. Attributes,
indices, methods, loops and statements do not exist. Text outside the grammar is
a RefusedTextError that quotes the expression.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.formats.reference.limits import Limits, shorten

if TYPE_CHECKING:
    from lark import Lark

INTEGER_BITS = 4096
"""Maximum size of integers in expressions, in bits."""

TEXTS = 16
"""Limit of all jinja2 texts together, as a multiple of the maximum text length."""

STEPS = 10_000_000
"""Maximum jinja2 steps for a document: about ten seconds."""


@dataclass(slots=True, eq=False)
class Account:
    """Resources that jinja2 used for a document."""

    characters: int = 0
    """Characters of all texts."""
    steps: int = 0
    """Steps of all texts."""

    def compile(self, characters: int, limits: Limits) -> None:
        """Count a text to compile. Raises RefusedTextError."""
        self.characters += characters
        if self.characters > TEXTS * limits.text:
            text = f"the strings for jinja2 have more than {TEXTS * limits.text} characters in all"
            raise RefusedTextError("oversized-expansion", text)

    def spend(self, steps: int) -> None:
        """Count steps. Raises RefusedTextError."""
        self.steps += steps
        if self.steps > STEPS:
            raise RefusedTextError("oversized-expansion", f"the strings for jinja2 need more than {STEPS} steps in all")


class RefusedTextError(ValueError):
    """An invalid or unrenderable text; `code` is that of its diagnostic, `place` its path in the document if known."""

    def __init__(self, code: str, message: str, place: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place


def check_length(length: int, limits: Limits) -> None:
    """Check the length of a text. Raises RefusedTextError."""
    if length > limits.text:
        raise RefusedTextError(
            "oversized-expansion", f"a string of {length} characters is longer than the limit, {limits.text}"
        )


GRAMMAR = r"""
?start: condition
?condition: compare | compare "if" compare "else" condition -> conditional
?compare: sum (COMPARISON sum)*
?sum: product | sum SIGN product -> binary
?product: power | product FACTOR power -> binary
?power: filtered | power POWER filtered -> binary
?filtered: unary | filtered "|" NAME ["(" [condition ("," condition)*] ")"] -> filter
?unary: primary | SIGN unary -> sign
?primary: INTEGER -> integer | TEXT -> text | NAME -> name | call | "(" condition ")"
call: NAME "(" [argument ("," argument)* [","]] ")"
argument: [NAME "="] condition
COMPARISON: "==" | "!=" | "<=" | ">=" | "<" | ">"
SIGN: "+" | "-"
POWER.2: "**"
FACTOR: "*" | "//" | "/" | "%"
INTEGER: /[0-9]+(_[0-9]+)*(?![\w.])/
TEXT: /'(\\.|[^'\\])*'|"(\\.|[^"\\])*"/s
NAME: /(?!(if|else|and|or|not|in|is|true|false|none|True|False|None)\b)[A-Za-z_]\w*/
%ignore /\s+/
"""

FILTERS = {"format": (0, 99), "upper": (0, 0), "lower": (0, 0), "string": (0, 0), "int": (0, 1)}
"""Filters with their minimum and maximum number of arguments."""

_HOLE = re.compile(r"\{\{([-+]?)((?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|(?!-?\}\})[^'\"])*)(-?)\}\}", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r")


class LiteralExpression(NamedTuple):
    """An integer or text."""

    value: int | str
    depth: int = 1
    """Nesting of the expression."""


class Name(NamedTuple):
    """A dimension, a template or an argument."""

    text: str
    depth: int = 1
    """Nesting of the expression."""


class Operation(NamedTuple):
    """An operator with operands."""

    operator: str
    """One of `+ - * / // % **`, `neg`, `pos`, `if` (test, then, else) and `|filter`."""
    operands: tuple[Expression, ...]
    depth: int
    """Nesting of the expression."""


class Comparison(NamedTuple):
    """A chain of comparisons, true if all are."""

    operators: tuple[str, ...]
    operands: tuple[Expression, ...]
    """The operands, one more than operators."""
    depth: int
    """Nesting of the expression."""


class TemplateCall(NamedTuple):
    """A template with its arguments."""

    name: str
    arguments: tuple[tuple[str, Expression], ...]
    """Arguments by name."""
    depth: int
    """Nesting of the expression."""


class Beyond(NamedTuple):
    """A whole text outside the grammar."""

    text: str
    names: frozenset[str]
    """Names that it may use."""
    render: Callable[[Any], str]
    """Returns the rendered text."""
    depth: int = 1
    """Nesting of the expression."""


Expression = LiteralExpression | Name | Operation | Comparison | TemplateCall | Beyond


class Hole(NamedTuple):
    """An expression and its source text."""

    written: str
    """Source text."""
    expression: Expression


Pieces = tuple[str | Hole, ...]
"""Parts of a text."""


def pieces(text: str, limits: Limits) -> Pieces:
    r"""Split a text of the grammar into parts. Raises RefusedTextError.

    As in jinja2, line ends become `\\n`, a final one is dropped, and `-` in
    braces strips outer blanks.
    """
    check_length(len(text), limits)
    text = _LINE_END.sub("\n", text).removesuffix("\n")
    parts: list[str | Hole] = []
    at, strip = 0, False
    while True:
        start = text.find("{{", at)
        before = text[at:] if start < 0 else text[at:start]
        for statement in ("{%", "{#"):
            if statement in before:
                raise RefusedTextError("bad-expression", f"`{statement}` begins a jinja2 statement or comment")
        match = _HOLE.match(text, start) if start >= 0 else None
        before = before.lstrip() if strip else before
        if match is not None and match[1] == "-":
            before = before.rstrip()
        if before:
            parts.append(before)
        if start < 0:
            return tuple(parts)
        if match is None:
            raise RefusedTextError("bad-expression", f"`{shorten(text[start:])}` has braces that are not closed")
        written = match[2].strip()
        parts.append(Hole(written, parse(written, limits.depth)))
        at, strip = match.end(), match[3] == "-"


def quote_text(text: str) -> str:
    """Return a text that renders as this one, with expressions for special characters."""
    return re.sub(r"[{\r]|\n\Z", lambda match: "{{'" + repr(match[0])[1:-1] + "'}}", text)


@functools.lru_cache(maxsize=4096)
def parse(written: str, depth: int) -> Expression:
    """Return the tree of one expression. Raises RefusedTextError, which quotes it."""
    from lark.exceptions import UnexpectedInput, VisitError

    try:
        tree: Any = _parser().parse(written)
    except UnexpectedInput as error:
        raise RefusedTextError("bad-expression", _complaint(written, error.pos_in_stream)) from None
    except VisitError as error:
        if isinstance(error.orig_exc, RefusedTextError):
            raise error.orig_exc from None
        raise
    except RefusedTextError as error:
        raise RefusedTextError(error.code, f"{error.message} in `{shorten(written)}`") from None
    if tree.depth > depth:
        raise RefusedTextError("bad-expression", f"`{shorten(written)}` is nested more than {depth} deep")
    return tree  # type: ignore[no-any-return]


def _complaint(written: str, at: int | None) -> str:
    """Return the message about an expression's fault at a position."""
    at = len(written) if at is None or at < 0 else at
    left, here = written[:at].rstrip(), written[at : at + 1]
    shown = f"`{shorten(written)}`"
    if here == "." and not left[-1:].isdigit():
        return f"{shown}: attribute access is not allowed"
    if here == "[":
        return f"{shown}: index access is not allowed"
    if here == "(":
        return f"{shown}: only templates and filters can be called"
    if not written:
        return "an expression is empty"
    return f"{shown} is not an expression of the grammar, from character {at + 1}"


@functools.cache
def _parser() -> Lark:
    """Return the parser of expressions, built once, which makes trees without recursion."""
    from lark import Lark, Transformer, v_args

    @v_args(inline=True)
    class Builder(Transformer[Any, Any]):
        """Builds the tree from the leaves up, without recursion."""

        def integer(self, token: str) -> LiteralExpression:
            if len(token) > 1000:
                raise RefusedTextError("oversized-expansion", "an integer has more than 1000 digits")
            return LiteralExpression(int(token))

        def text(self, token: str) -> LiteralExpression:
            try:
                value = token[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape")
            except UnicodeDecodeError:
                raise RefusedTextError("bad-expression", "a string has an invalid escape") from None
            return LiteralExpression(value)

        def name(self, token: str) -> Name:
            return Name(str(token))

        def binary(self, left: Expression, operator: str, right: Expression) -> Operation:
            return _operation(str(operator), left, right)

        def sign(self, sign: str, operand: Expression) -> Operation:
            return _operation("neg" if sign == "-" else "pos", operand)

        def conditional(self, then: Expression, test: Expression, other: Expression) -> Operation:
            return _operation("if", test, then, other)

        def compare(self, *parts: Any) -> Comparison:
            operands = tuple(parts[::2])
            return Comparison(tuple(map(str, parts[1::2])), operands, _depth(operands))

        def filter(self, operand: Expression, name: str, *arguments: Expression | None) -> Operation:
            present = [argument for argument in arguments if argument is not None]
            if name not in FILTERS:
                raise RefusedTextError("bad-expression", f"there is no filter `{name}`")
            least, most = FILTERS[name]
            if not least <= len(present) <= most:
                raise RefusedTextError("bad-expression", f"the filter `{name}` does not take {len(present)} arguments")
            return _operation(f"|{name}", operand, *present)

        def argument(self, name: str | None, value: Expression) -> tuple[str, Expression]:
            if name is None:
                raise RefusedTextError("bad-expression", "positional arguments are not allowed")
            return str(name), value

        def call(self, name: str, *arguments: tuple[str, Expression] | None) -> TemplateCall:
            present = tuple(argument for argument in arguments if argument is not None)
            if len(dict(present)) < len(present):
                raise RefusedTextError("bad-expression", f"`{name}` gets an argument twice")
            return TemplateCall(str(name), present, _depth(tuple(value for _, value in present)))

    return Lark(GRAMMAR, parser="lalr", transformer=Builder(), maybe_placeholders=True)


def _operation(operator: str, *operands: Expression) -> Operation:
    return Operation(operator, operands, _depth(operands))


def _depth(operands: tuple[Expression, ...]) -> int:
    return 1 + max((operand.depth for operand in operands), default=0)


def names_of(expression: Expression) -> frozenset[str]:
    """Return the names in an expression, without those inside templates that it calls."""
    match expression:
        case LiteralExpression():
            return frozenset()
        case Name(text):
            return frozenset({text})
        case Beyond(names=names):
            return names
        case TemplateCall(arguments=arguments):
            return frozenset().union(*(names_of(value) for _, value in arguments))
        case Operation(operands=operands) | Comparison(operands=operands):
            return frozenset().union(*map(names_of, operands))
