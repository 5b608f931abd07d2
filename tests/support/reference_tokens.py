"""Reference token source of CDL: the lexer that ANTLR generates from the grammar, token by token.

Ten times slower than `FastTokens`, it proves that both give one tree. The bytes go in as Latin-1, so that offsets stay
offsets of bytes; the grammar's names admit every character above ASCII.
"""

from __future__ import annotations

from typing import Any

from antlr4 import InputStream

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.read.patterns import check_bytes, scan_header
from nczarr.syntax._generated.CDLLexer import CDLLexer
from nczarr.syntax.tokens import Token


def plain_tokens(source: Source, report: Report) -> list[Token]:
    """All tokens of a CDL text, EOF last; what the lexer cannot read is skipped in silence."""
    tokens: list[Token] = []
    check_bytes(source, report)
    start = scan_header(source, report, tokens)
    if start is not None:
        lexer: Any = CDLLexer(InputStream(bytes(source.data[start:]).decode("latin-1")))
        lexer.removeErrorListeners()
        while (token := lexer.nextToken()).type != -1:
            tokens.append(Token(token.type, start + token.start, start + token.stop))
    tokens.append(Token(-1, len(source.data), len(source.data) - 1))
    for number, token in enumerate(tokens):
        token.tokenIndex = number
    return tokens
