"""Where the CDL parser goes on after a fault: behind the faulty statement, not at the next word of it.

The runtime would go on at any token that may begin a statement, and nearly every word may. So a word counts only
where a statement is likely to begin: on a new line, outside braces that the faulty statement opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nczarr.syntax import recovery
from nczarr.syntax._generated.CDLParser import CDLParser as P
from nczarr.syntax.tokens import Token

_WORDS = frozenset({P.NAME, P.PATH, P.PRIMITIVE, P.UNLIMITED, P.NETCDF, P.OPAQUE, P.COMPOUND, P.COLON, P.SIMPLE})
_SECTIONS = frozenset({P.TYPES, P.DIMENSIONS, P.VARIABLES, P.DATA, P.GROUP})
_STRUCTURE = _SECTIONS | {P.LBRACE, P.RBRACE, P.SEMICOLON}
_STATEMENTS = (
    P.AttstatementContext, P.TypestatementContext, P.DimstatementContext, P.VarstatementContext, P.DatastatementContext,
)  # fmt: skip


class Recovery(recovery.Recovery):
    """The strategy of all our parsers, but it skips to the end of a statement, over whole braced blocks."""

    def singleTokenDeletion(self, recognizer: Any) -> Token | None:  # noqa: N802
        """Drop a token that is too many, but never one that holds statements and blocks together."""
        if recognizer.getTokenStream().LA(1) in _STRUCTURE:
            return None
        token: Token | None = super().singleTokenDeletion(recognizer)
        return token

    def recover(self, recognizer: Any, e: Any) -> None:
        """Leave a rule that holds a fault, behind the block that it has opened itself."""
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
        """Skip to a token of the set that may end the faulty statement, or begin the next."""
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
        """Whether a token belongs to the statement that is skipped."""
        if kind not in _WORDS:
            return False
        before: Token = stream.LT(-1)
        if before is None or before.type in (P.SEMICOLON, P.COMMA):
            return False
        between = bytes(self.source.data[before.end : stream.LT(1).start])
        return inside > 0 or (b"\n" not in between and b"\r" not in between)

    def _open_braces(self, recognizer: Any) -> int:
        """How many braces the faulty statement has opened so far."""
        context = recognizer._ctx
        while context is not None and not isinstance(context, _STATEMENTS):
            context = context.parentCtx
        if context is None:
            return 0
        stream = recognizer.getTokenStream()
        kinds = [stream.get(index).type for index in range(context.start.tokenIndex, stream.index)]
        return kinds.count(P.LBRACE) - kinds.count(P.RBRACE)
