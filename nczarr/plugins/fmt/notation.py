"""Formatter of the notation: one declaration a line, as `backend.py` writes them.

Line breaks between the constants of an attribute, and between chunk lengths,
stay where the author put them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.notation.frontend import parse
from nczarr.formats.notation.tokens import scan
from nczarr.plugins.fmt.reformat import TextComposer, TextLayout, TokenPlace
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P
from nczarr.syntax.tokens import Token

INDENT = b"  "

_LINES = (P.DeclarationContext, P.PropertyContext, P.FieldContext, P.EnumeratorContext)
"""Productions that begin a line."""

_BLOCKS = (P.DatasetContext, P.GroupContext, P.CompoundContext, P.EnumContext, P.VariableContext)
"""Productions whose braces hold lines."""


def reformat(source: Source, report: Report) -> TextLayout | None:
    """Return a text in the one style of the notation; None after reported faults of its syntax."""
    tokens = scan(source, report)
    tree = parse(source, tokens, report)[0]
    if report.errors:
        return None
    digest = hashlib.sha256()
    data = bytes(source.data)
    for token in tokens:
        digest.update(b"%d %s\0" % (token.type, data[token.start : token.end]))
    composer = TextComposer(data)
    text = composer.compose(_arrange(data, tokens, tree))
    return TextLayout(text, digest.digest(), tuple(composer.comments))


class _LineTable:
    """Positions of a parse tree by number of a token."""

    def __init__(self, tree: Any) -> None:
        self.first: dict[int, int] = {0: 0}
        """Depth of tokens that begin a line."""
        self.last: set[int] = set()
        """Those of them that close a block."""
        self.values: set[int] = set()
        """Tokens before which line breaks stay."""
        self.lengths: set[int] = set()
        """Tokens of runs of chunk lengths, whose braces take no blanks."""
        self._visit(tree, 0)

    def _visit(self, context: Any, depth: int) -> None:
        """Note the first tokens of lines with their depths, and those of constants and chunk lengths, of a tree."""
        for child in context.children or ():
            symbol = getattr(child, "symbol", None)
            if symbol is not None:
                if symbol.type == P.RBRACE and isinstance(context, _BLOCKS):
                    self.first[symbol.tokenIndex] = depth
                    self.last.add(symbol.tokenIndex)
                continue
            start, end = child.start.tokenIndex, child.stop.tokenIndex + 1
            if isinstance(child, P.ConstantContext):
                self.values.update(range(start, end))
            elif isinstance(child, P.LengthsContext):
                self.values.add(start)
                self.lengths.update(range(start, end))
            elif isinstance(child, _LINES):
                self.first[start] = depth + 1
                self._visit(child, depth + 1)
            else:
                self._visit(child, depth)


def _arrange(data: bytes, tokens: list[Token], tree: Any) -> Iterator[TokenPlace]:
    """Yield the place of each token."""
    table = _LineTable(tree)
    depth, before = 0, tokens[0]
    for number, token in enumerate(tokens[:-1]):
        line = table.first.get(number)
        depth = depth if line is None else line
        opened, closes = before.type == P.LBRACE, token.type == P.RBRACE
        tight = (opened and closes) or (number in table.lengths and number - 1 in table.lengths and (opened or closes))
        yield TokenPlace(
            token.start,
            token.end,
            data[token.start : token.end],
            indent=None if line is None else INDENT * line,
            margin=INDENT * (depth + 2),
            blank=not tight,
            keeps_break=number in table.values,
            inner=INDENT * (depth + 1) if number in table.last else None,
        )
        before = token
