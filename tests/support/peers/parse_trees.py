"""Parse trees of our own token sources and parsers, as lines of text that parsers in other languages print too.

`(RULE CHILD …)` is a rule, and `TOKEN"text"` a token. A text with faults of syntax has the line `refused`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from antlr4 import InputStream
from antlr4.error.Errors import ParseCancellationException
from antlr4.error.ErrorStrategy import BailErrorStrategy

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.read.tokens import FastTokens
from nczarr.formats.notation.tokens import scan as scan_notation
from nczarr.syntax._generated.CDLLexer import CDLLexer
from nczarr.syntax._generated.CDLParser import CDLParser
from nczarr.syntax._generated.NCZarrParser import NCZarrParser
from nczarr.syntax.tokens import EOF, ListStream, Token

REFUSED = "refused"
_SPELT = {ord(character): f"\\u{ord(character):04x}" for character in '\\"\n\r'}


def quote(text: str) -> str:
    """A text as the other languages print it, without what could end a line."""
    return f'"{text.translate(_SPELT)}"'


class FirstErrorStrategy(BailErrorStrategy):
    """Error strategy that ends the parser at the first error, without a message."""

    def reportError(self, recognizer: Any, e: Any) -> None:  # noqa: N802
        raise ParseCancellationException(e)


def tree_of(parser_type: Any, rule: str, source: Source, tokens: list[Token]) -> str:
    """The tree that a generated parser makes of tokens, or that it refuses them."""
    for number, token in enumerate(tokens):
        token.tokenIndex = number
    parser = parser_type(ListStream(tokens))
    parser._errHandler = FirstErrorStrategy()
    try:
        tree = getattr(parser, rule)()
    except (ParseCancellationException, RecursionError):
        return REFUSED
    return "".join(_show(tree, parser, source))


def _show(tree: Any, parser: Any, source: Source) -> Iterator[str]:
    token = getattr(tree, "symbol", None)
    if token is not None:
        text = (
            "EOF" if token.type < 0 else parser.symbolicNames[token.type] + quote(source.text(token.start, token.end))
        )
        yield text
        return
    yield f"({parser.ruleNames[tree.getRuleIndex()]}"
    for child in tree.children or ():
        yield " "
        yield from _show(child, parser, source)
    yield ")"


def cdl_tree(data: bytes) -> str:
    """The tree of a CDL text. A value list, one token of the fast source, is taken apart by the grammar's lexer."""
    source, report = Source("t.cdl", data), Report()
    tokens = FastTokens(source, report, simple=False).scan()
    if report.errors:
        return REFUSED
    return tree_of(CDLParser, "ncdesc", source, list(_expand(source, tokens)))


def _expand(source: Source, tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type == CDLParser.VALUES:
            yield from _value_tokens(source, token)
        elif token.type != CDLParser.DATASET_NAME or token.stop >= token.start:
            yield token


def _value_tokens(source: Source, values: Token) -> Iterator[Token]:
    text = bytes(source.data[values.start : values.end]).decode("utf-8", "surrogateescape")
    widths = (len(character.encode("utf-8", "surrogateescape")) for character in text)
    offsets = list(accumulate(widths, initial=values.start))
    lexer: Any = CDLLexer(InputStream(text))
    lexer.mode(CDLLexer.BODY)
    while (token := lexer.nextToken()).type != EOF:
        yield Token(token.type, offsets[token.start], offsets[token.stop + 1] - 1)


def notation_tree(data: bytes) -> str:
    """The tree of a text in the NCZarr notation."""
    source, report = Source("t.ncz", data), Report()
    tokens = scan_notation(source, report)
    return REFUSED if report.errors else tree_of(NCZarrParser, "dataset", source, tokens)


def dap2_tree(data: bytes, rule: str) -> str:
    """The tree of a DDS or DAS: rule `dds` or `das`."""
    from nczarr.plugins.opendap._generated.DAP2Parser import DAP2Parser
    from nczarr.plugins.opendap.dap2.parser import TextFaultError, scan

    source = Source("t", data)
    try:
        tokens = scan(source, 0, len(data))
    except TextFaultError:
        return REFUSED
    return tree_of(DAP2Parser, rule, source, tokens)
