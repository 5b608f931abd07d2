"""The scanner of DDS and DAS makes the tokens of the grammar's own lexer."""

from __future__ import annotations

import pytest
from antlr4 import InputStream
from antlr4.Token import Token

from nczarr.diagnostics.report import Source
from nczarr.plugins.opendap._generated.DAP2Lexer import DAP2Lexer
from nczarr.plugins.opendap.dap2.parser import TextFaultError, scan

TEXTS = [
    "Dataset { Grid { ARRAY: Int32 a[x = 2]; Maps :\n Byte x[2]; } g; } n;",
    'Attributes { a { String b "x \\" ; {", y-1.5e3; } array maps:x Array:y } # comment {\n;',
    "arraymaps: grid Grid: a:b %20 a.b/c (d) é",
]


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_those_of_the_grammar(text: str) -> None:
    lexer = DAP2Lexer(InputStream(text))
    wanted = []
    while (token := lexer.nextToken()).type != Token.EOF:
        wanted.append((token.type, token.text))
    source = Source("x", text.encode())
    found = scan(source, 0, len(source.data))
    assert [(each.type, source.text(each.start, each.end)) for each in found[:-1]] == wanted


def test_an_open_text_is_a_fault() -> None:
    source = Source("x", b'Attributes { String a "b')
    with pytest.raises(TextFaultError, match="not closed") as fault:
        scan(source, 0, len(source.data))
    assert fault.value.start == 22
