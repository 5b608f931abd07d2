"""Reference token source of CDL: the lexer that ANTLR generates from the grammar, token by token.

Ten times slower than `FastTokens`, it proves that both give one tree. Code points go in, as in every other language,
and bytes that are not UTF-8 as surrogates; tokens have offsets of bytes.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from antlr4 import InputStream

from nczarr.diagnostics.report import Report, Source
from nczarr.formats.cdl.read.patterns import check_bytes
from nczarr.syntax._generated.CDLLexer import CDLLexer
from nczarr.syntax.tokens import Token


def plain_tokens(source: Source, report: Report) -> list[Token]:
    """All tokens of a CDL text, EOF last; what the lexer cannot read is skipped in silence."""
    check_bytes(source, report)
    text = bytes(source.data).decode("utf-8", "surrogateescape")
    widths = (len(character.encode("utf-8", "surrogateescape")) for character in text)
    offsets = list(accumulate(widths, initial=0))
    lexer: Any = CDLLexer(InputStream(text))
    tokens: list[Token] = []
    while (token := lexer.nextToken()).type != -1:
        if token.type != CDLLexer.BAD:
            tokens.append(Token(token.type, offsets[token.start], offsets[token.stop + 1] - 1))
    if [token.type for token in tokens[:2]] == [CDLLexer.NETCDF, CDLLexer.LBRACE]:
        name = Token(CDLLexer.DATASET_NAME, tokens[0].end, tokens[0].stop)  # the front end counts on three tokens
        tokens.insert(1, name)
    if [token.type for token in tokens[:3]] != [CDLLexer.NETCDF, CDLLexer.DATASET_NAME, CDLLexer.LBRACE]:
        tokens.clear()
    tokens.append(Token(-1, len(source.data), len(source.data) - 1))
    for number, token in enumerate(tokens):
        token.tokenIndex = number
    return tokens
