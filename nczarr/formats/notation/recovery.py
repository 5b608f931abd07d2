"""Messages and recovery of the parser at unexpected tokens.

Nothing is inserted, and braced blocks are skipped whole: a mistake in a heading
suppresses no messages about the body or later text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from antlr4.atn.ATNState import ATNState
from antlr4.error.Errors import InputMismatchException

from nczarr import names
from nczarr.diagnostics.source import Source
from nczarr.formats.notation.tokens import WORDS
from nczarr.syntax import recovery
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P
from nczarr.syntax.recovery import FaultAnswer, SyntaxFault
from nczarr.syntax.tokens import ListStream, Token

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


class NotationRecovery(recovery.Recovery):
    """Recovery strategy of all parsers here, restricted to deleting and skipping."""

    UNITS = (
        P.DimensionContext, P.VariableContext, P.AttributeContext, P.CompoundContext, P.OpaqueContext, P.EnumContext,
        P.VlenContext, P.FieldContext, P.PropertyContext,
    )  # fmt: skip
    NAME = P.NAME

    def follows(self, recognizer: Any, found: Token, finding: FaultAnswer) -> bool:
        """Also treat text after the last brace as consequence of a fault that consumed a brace."""
        return super().follows(recognizer, found, finding) or (finding.code == "trailing-text" and self.count > 1)

    def finish(self, stream: ListStream) -> set[str]:
        """Silence the contents of faulty statements and return the names in them."""
        written = super().finish(stream)
        return {names.normal(names.unescape_cdl(name)) for name in written}

    def recoverInline(self, recognizer: Any) -> Token:  # noqa: N802
        """Drop one token if the next is expected, else raise InputMismatchException.

        Braces are never dropped: they structure the text.
        """
        brace = recognizer.getTokenStream().LA(1) in (P.LBRACE, P.RBRACE)
        expected: Token | None = None if brace else self.singleTokenDeletion(recognizer)
        if expected is not None:
            recognizer.consume()
            return expected
        raise InputMismatchException(recognizer)

    def sync(self, recognizer: Any) -> None:
        """Skip tokens at a loop's first iteration too, as the runtime does later, instead of ending the rule."""
        state = recognizer._interp.atn.states[recognizer.state]
        entering = state.stateType == ATNState.STAR_LOOP_ENTRY and not self.inErrorRecoveryMode(recognizer)
        if entering and self.unwanted(recognizer, state):
            self.skip(recognizer)
        else:
            super().sync(recognizer)

    def consumeUntil(self, recognizer: Any, set_: Iterable[int]) -> None:  # noqa: N802
        """Skip to a token of the set; skip braced blocks whole."""
        depth = 0
        stream = recognizer.getTokenStream()
        while (kind := stream.LA(1)) != P.EOF and (depth > 0 or kind == P.LBRACE or kind not in set_):
            depth += (kind == P.LBRACE) - (kind == P.RBRACE)
            if depth < 0:
                return
            recognizer.consume()


class NotationExplainer:
    """Messages and help for faults."""

    def __init__(self, source: Source, stream: ListStream) -> None:
        self._source = source
        self._stream = stream

    def __call__(self, fault: SyntaxFault) -> FaultAnswer:
        """Return `expected-token` with expected and found tokens, or `trailing-text`."""
        wrong = fault.found
        text = self._source.text(wrong.start, min(wrong.end, wrong.start + 60))
        shown = "the end of the text" if wrong.type == P.EOF else f"`{text.encode('utf-8', 'replace').decode()}`"
        if fault.expected == {P.EOF}:
            return FaultAnswer("trailing-text", f"{shown} follows the dataset's closing brace")
        message = f"expected {spoken(set(fault.expected))}, found {shown}"
        return FaultAnswer("expected-token", message, helps=tuple(self._helps(fault, text)))

    def _helps(self, fault: SyntaxFault, text: str) -> Iterable[str]:
        if fault.found.type == P.NAME and self._heading(fault.found) == P.VARIABLE:
            yield f"write the path of a dimension: `/{text}` if the root declares it"
        elif fault.found.type == P.NAME and P.NAME not in fault.expected:
            near = names.closest(text.lower(), (_SPELT[kind] for kind in fault.expected if kind in _SPELT))
            if near is not None:
                yield f"did you mean `{near}`?"
        elif fault.found.type == P.SIZE and P.NAME in fault.expected:
            yield f"write a name that starts with a digit as `\\{text}`"

    def _heading(self, token: Token) -> int:
        """Return the keyword of the declaration heading around a token; 0 after a brace."""
        for index in range(token.tokenIndex - 1, max(token.tokenIndex - 64, -1), -1):
            kind = self._stream.get(index).type
            if kind in _DECLARATIONS:
                return kind
            if kind in (P.LBRACE, P.RBRACE):
                break
        return 0


def spoken(expected: set[int]) -> str:
    """Describe a set of token types: known classes by their meaning, the rest one by one."""
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
