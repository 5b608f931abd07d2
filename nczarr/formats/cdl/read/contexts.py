"""Decomposition of parse tree contexts into words, rules, tokens and integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
