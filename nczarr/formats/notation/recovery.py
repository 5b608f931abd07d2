"""What the generated parser does at a token it did not expect: one message, then on to the next declaration.

The runtime's strategy invents tokens and stops at the first brace; ours never invents, and steps over whole braced
blocks, so that one mistake in a heading costs neither the body's messages nor those that follow.
"""

from __future__ import annotations

from collections.abc import Iterable

from antlr4.error.Errors import InputMismatchException, RecognitionException
from antlr4.error.ErrorStrategy import DefaultErrorStrategy
from antlr4.Parser import Parser

from nczarr import names
from nczarr.diagnostics import Report
from nczarr.formats.notation.tokens import WORDS
from nczarr.source import Source, Span
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P
from nczarr.syntax.tokens import Token

_SPOKEN = {
    P.NAME: "a name", P.SIZE: "a size", P.FQN: "a path such as `/time`", P.ZARRVERSION: "a version such as `2.0.0`",
    P.LBRACE: "`{`", P.RBRACE: "`}`", P.EOF: "the end of the text", P.STRING: "a text", P.INTEGER: "an integer",
}  # fmt: skip
_SPELT = {kind: word.decode("ascii") for word, kind in WORDS.items()}
_ATOMIC = frozenset(range(P.BYTE_T, P.DOUBLE_T + 1))
_DECLARATIONS = frozenset(
    (P.DIMENSION, P.VARIABLE, P.ATTRIBUTE, P.GROUP, P.COMPOUND, P.OPAQUE, P.ENUM, P.VLEN),
)
_CONSTANTS = frozenset((P.FLOAT, P.HEX, P.STRING, P.NIL))


class Recovery(DefaultErrorStrategy):  # type: ignore[misc]
    """Reports `expected-token` once a place and skips to where the enclosing rule can go on."""

    def __init__(self, source: Source, report: Report) -> None:
        super().__init__()
        self._source = source
        self._report = report

    def reportError(self, recognizer: Parser, e: RecognitionException) -> None:  # noqa: N802
        """Say what was expected and what stands there instead."""
        if not self.inErrorRecoveryMode(recognizer):
            self.beginErrorCondition(recognizer)
            self._say(recognizer, e.offendingToken or recognizer.getCurrentToken())

    def reportUnwantedToken(self, recognizer: Parser) -> None:  # noqa: N802
        """The same for a token that is one too many."""
        if not self.inErrorRecoveryMode(recognizer):
            self.beginErrorCondition(recognizer)
            self._say(recognizer, recognizer.getCurrentToken())

    def recoverInline(self, recognizer: Parser) -> Token:  # noqa: N802
        """Drop one token if the next is the one wanted; else give the rule up. Raises InputMismatchException."""
        wanted: Token | None = self.singleTokenDeletion(recognizer)
        if wanted is not None:
            recognizer.consume()
            return wanted
        raise InputMismatchException(recognizer)

    def consumeUntil(self, recognizer: Parser, set_: Iterable[int]) -> None:  # noqa: N802
        """Skip to a token of the set; a braced block is skipped whole."""
        depth = 0
        stream = recognizer.getTokenStream()
        while (kind := stream.LA(1)) != P.EOF and (depth > 0 or kind == P.LBRACE or kind not in set_):
            depth += (kind == P.LBRACE) - (kind == P.RBRACE)
            if depth < 0:
                return
            recognizer.consume()

    def _say(self, recognizer: Parser, token: Token) -> None:
        expected = set(recognizer.getExpectedTokens())
        found = self._shown(token)
        helps = []
        text = self._source.text(token.start, token.end)
        if token.type == P.NAME:
            near = names.closest(text, (_SPELT[kind] for kind in expected if kind in _SPELT))
            if P.FQN in expected and P.SIZE in expected:
                helps.append(f"a dimension is named by its path: `/{text}` if the root declares it")
            elif near is not None and P.NAME not in expected:
                helps.append(f"did you mean `{near}`?")
        elif token.type == P.BAD:
            return  # the token source has said what is wrong
        message = f"expected {spoken(expected)}, found {found}"
        self._report.error("expected-token", message, Span(self._source, token.start, token.end), helps=helps)

    def _shown(self, token: Token) -> str:
        if token.type == P.EOF:
            return "the end of the text"
        text = self._source.text(token.start, min(token.end, token.start + 60))
        return f"`{text.encode('utf-8', 'replace').decode('utf-8')}`"


def spoken(expected: set[int]) -> str:
    """A set of token types in words: classes of them by what they mean, the rest one by one."""
    parts: list[str] = []
    rest = set(expected)
    if P.NAME in rest and P.DATASET in rest:  # the rule `name`: every word is in it
        parts.append("a name")
        rest &= {P.RBRACE, P.LBRACE, P.SIZE, P.ZARRVERSION, P.OFFSET}
    if rest >= _CONSTANTS:
        parts.append("a constant")
        rest -= _CONSTANTS | {P.SIZE, P.INTEGER, P.NAN, P.INFINITY, P.LBRACE, P.NAME}
    if rest >= _ATOMIC:
        parts.append("a type")
        rest -= _ATOMIC | {P.NAME, P.FQN}
    if rest >= _DECLARATIONS:
        parts.append("a declaration")
        rest -= _DECLARATIONS
    if P.CHUNKS in rest and P.CODEC in rest:
        parts.append("an attribute or a property")
        rest -= {P.ATTRIBUTE, P.FILL, P.CHUNKS, P.CODEC, P.LAYOUT, P.ENDIAN, P.QUANTIZE}
    parts += [_SPOKEN.get(kind) or f"`{_SPELT.get(kind, '@')}`" for kind in sorted(rest)]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}" if parts else "something else"
