"""Error recovery of the CDL parser: continue after the faulty statement.

The runtime would continue at any token that can begin a statement, and almost
every word can. Here a word counts only on a new line, outside braces opened by
the faulty statement. Faults after a refused character are consequences.
Misordered but clear tokens are reordered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nczarr import names
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.syntax import recovery
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import ListStream, Token

_WORDS = frozenset({P.NAME, P.PATH, P.PRIMITIVE, P.UNLIMITED, P.NETCDF, P.OPAQUE, P.COMPOUND, P.COLON, P.SIMPLE})
_SECTIONS = frozenset({P.TYPES, P.DIMENSIONS, P.VARIABLES, P.DATA, P.GROUP})
_STRUCTURE = _SECTIONS | {P.LBRACE, P.RBRACE, P.SEMICOLON}
_STATEMENTS = (
    P.AttstatementContext, P.TypestatementContext, P.DimstatementContext, P.VarstatementContext, P.DatastatementContext,
)  # fmt: skip


class CdlRecovery(recovery.Recovery):
    """Shared recovery strategy, extended to skip whole statements with their braced blocks.

    `refused`: ascending offsets of characters that the token source dropped.
    """

    UNITS = (*_STATEMENTS, P.FieldContext)
    NAME = P.NAME

    def __init__(
        self,
        source: Source,
        report: Report,
        explain: Callable[[recovery.SyntaxFault], recovery.FaultAnswer],
        sound: int | None = None,
        refused: Sequence[int] = (),
    ) -> None:
        super().__init__(source, report, explain, sound)
        self._unsure: list[Span] = []  # names of types that lack a field
        self._refused = refused

    def goes_on(self, context: Any, before: Token, first: Token, found: Token) -> bool:
        """Return whether the fault only continues a faulty statement, or follows a refused character."""
        if bisect_left(self._refused, before.end) < bisect_left(self._refused, found.start):
            return True
        if not self.faulty or self.faulty[-1][1] != first.tokenIndex:
            return False
        if isinstance(context, P.FieldContext):
            return True
        between = bytes(self.source.data[before.end : first.start])
        return before.type not in (P.SEMICOLON, P.RBRACE, P.SIMPLE) and b"\n" not in between and b"\r" not in between

    def damaged(self, context: Any) -> None:
        """Remember types that lack a field."""
        if isinstance(context, P.FieldContext):
            name = context.parentCtx.children[1].start
            self._unsure.append(Span(self.source, name.start, name.end))

    def recoverInline(self, recognizer: Any) -> Token:  # noqa: N802
        """Reorder clear but misordered tokens with one report; leave other faults to the runtime."""
        finding = None if self.inErrorRecoveryMode(recognizer) else self._disorder(recognizer)
        if finding is None:
            token: Token = super().recoverInline(recognizer)
            return token
        assert finding.place is not None
        self.report.error(finding.code, finding.message, finding.place, helps=finding.helps)
        self.count += 1
        moved: Token = recognizer.getCurrentToken()
        recognizer.consume()
        return moved

    def _disorder(self, recognizer: Any) -> recovery.FaultAnswer | None:
        """Reorder tokens (name after its definition, parentheses for braces). None: another fault."""
        stream = recognizer.getTokenStream()
        tokens, at = stream.tokens, stream.index
        kinds = [token.type for token in tokens[at : at + 4]]
        opening: Token = tokens[at - 1]
        if isinstance(recognizer._ctx, P.NameContext) and kinds[0] == P.LBRACE and opening.type in (P.COMPOUND, P.ENUM):
            end = _block_end(tokens, at, P.LBRACE, P.RBRACE) + 1
            if [token.type for token in tokens[end : end + 2]] != [P.NAME, P.SEMICOLON]:
                return None
            stream.move(end, at)
            word = self.source.text(opening.start, opening.end)
            return self._finding(tokens[at], f"write the name of a type before the braces: `{word} name {{ … }}`")
        if opening.type == P.OPAQUE and kinds[:2] == [P.NAME, P.LPAREN] and kinds[3:] == [P.RPAREN]:
            stream.move(at, at + 3)
            return self._finding(tokens[at + 3], "write the size of an opaque type before its name: `opaque(3) name`")
        if kinds[0] == P.LPAREN and P.LBRACE in recognizer.getExpectedTokens():
            end = _block_end(tokens, at, P.LPAREN, P.RPAREN)
            if tokens[end].type != P.RPAREN:
                return None
            tokens[at].type, tokens[end].type = P.LBRACE, P.RBRACE
            return self._finding(tokens[at], "expected `{`, found `(`", "write the content in braces")
        return None

    def _finding(self, token: Token, message: str, *helps: str) -> recovery.FaultAnswer:
        return recovery.FaultAnswer(
            "expected-token", message, helps=helps, place=Span(self.source, token.start, token.end)
        )

    def finish(self, stream: ListStream) -> set[str]:
        """Hush the content of faulty statements and types that lack a field; return the names in the former."""
        for span in self._unsure:
            self.report.hush(span)
        return {names.normal(names.unescape_cdl(name)) for name in super().finish(stream)}

    def singleTokenDeletion(self, recognizer: Any) -> Token | None:  # noqa: N802
        """Drop a superfluous token, but never one that structures statements and blocks."""
        if recognizer.getTokenStream().LA(1) in _STRUCTURE:
            return None
        token: Token | None = super().singleTokenDeletion(recognizer)
        return token

    def recover(self, recognizer: Any, e: Any) -> None:
        """Leave a faulty rule after the block that it opened."""
        context, stream = recognizer._ctx, recognizer.getTokenStream()
        opened = [child for child in context.children or () if getattr(child, "symbol", None) is not None]
        depth = sum((child.symbol.type == P.LBRACE) - (child.symbol.type == P.RBRACE) for child in opened)
        if isinstance(context, P.NcdescContext):
            depth = 0
        while depth > 0 and (kind := stream.LA(1)) != P.EOF and kind not in _SECTIONS:
            depth += (kind == P.LBRACE) - (kind == P.RBRACE)
            recognizer.consume()
        super().recover(recognizer, e)

    def consumeUntil(self, recognizer: Any, set_: Iterable[int]) -> None:  # noqa: N802
        """Skip to a token of the set that can end the faulty statement or begin the next."""
        stream = recognizer.getTokenStream()
        inside = self._open_braces(recognizer)
        depth = 0
        while (kind := stream.LA(1)) != P.EOF:
            if depth == 0 and kind != P.LBRACE and kind in set_ and not self._continues(stream, kind, inside):
                return
            depth += (kind == P.LBRACE) - (kind == P.RBRACE)
            if depth < 0:
                return
            recognizer.consume()

    def _continues(self, stream: Any, kind: int, inside: int) -> bool:
        """Return whether a token belongs to the skipped statement."""
        if kind not in _WORDS:
            return False
        before: Token = stream.LT(-1)
        if before is None or before.type in (P.SEMICOLON, P.COMMA):
            return False
        between = bytes(self.source.data[before.end : stream.LT(1).start])
        return inside > 0 or (b"\n" not in between and b"\r" not in between)

    def _open_braces(self, recognizer: Any) -> int:
        """Return the number of open braces of the faulty statement."""
        context = recognizer._ctx
        while context is not None and not isinstance(context, _STATEMENTS):
            context = context.parentCtx
        if context is None:
            return 0
        stream = recognizer.getTokenStream()
        kinds = [stream.get(index).type for index in range(context.start.tokenIndex, stream.index)]
        return kinds.count(P.LBRACE) - kinds.count(P.RBRACE)


def _block_end(tokens: Sequence[Token], at: int, opening: int, closing: int) -> int:
    """Return the index of the token that closes the block at `at`, the last one if none does."""
    depth = 0
    for number in range(at, len(tokens)):
        depth += (tokens[number].type == opening) - (tokens[number].type == closing)
        if not depth:
            return number
    return len(tokens) - 1
