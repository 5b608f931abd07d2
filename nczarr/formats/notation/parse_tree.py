"""Source text of parse tree nodes: spans, names, paths and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.notation import spelling
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P

_LARGEST = 2**63 - 1


class Written:
    """Source and report of one run. Contexts may be incomplete after a syntax error."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report

    def span(self, context: Any) -> Span:
        """Return the span of a rule."""
        stop = context.stop or context.start
        return Span(self.source, context.start.start, max(stop.end, context.start.start))

    def spelt(self, context: Any) -> str:
        """Return the text of a rule or terminal; invalid UTF-8 becomes U+FFFD."""
        first = context.symbol if hasattr(context, "symbol") else context.start
        last = context.symbol if hasattr(context, "symbol") else context.stop or first
        return bytes(self.source.data[first.start : last.end]).decode("utf-8", "replace")

    def name(self, context: Any) -> str | None:
        """Return the name in a rule `name`; None if missing or invalid (the latter reported)."""
        if context is None or not context.getChildCount():
            return None
        return self._unescaped(self.spelt(context), self.span(context), spelling.read_name)

    def path(self, text: str, span: Span) -> str | None:
        """Return the FQN of a token; None (reported) if invalid."""
        return self._unescaped(text, span, spelling.read_fqn)

    def _unescaped(self, text: str, span: Span, read_: Callable[[str], str]) -> str | None:
        try:
            return read_(text)
        except spelling.EscapeError as fault:
            helps = ["write a backslash before `/`, `\\`, a blank, other punctuation or a first digit, or as `\\xHH`"]
            self.report.error("bad-escape", f"unknown escape `{fault.escape}` in a name", span, helps=helps)
            return None

    def size(self, terminal: Any, code: str = "bad-dimension-size") -> int | None:
        """Return the number of a SIZE token; None (reported) if no file can have it."""
        text = self.spelt(terminal).lstrip("@")
        if not text.isdecimal():
            return None  # a bad number: the token source has reported it
        if len(text) > 30 or int(text) > _LARGEST:
            token = terminal.symbol
            where = Span(self.source, token.start, token.end)
            self.report.error(code, f"size {text[:30]} is larger than {_LARGEST}", where)
            return None
        return int(text)

    def sizes(self, context: Any, code: str = "bad-dimension-size") -> tuple[int, ...]:
        """Return the valid SIZE tokens directly below a rule."""
        sizes = (self.size(terminal, code) for terminal in context.getTokens(P.SIZE))
        return tuple(size for size in sizes if size is not None)


def declarations(context: Any) -> Iterator[Any]:
    """Yield the declaration rules directly in a group or dataset."""
    for child in context.getTypedRuleContexts(P.DeclarationContext):
        if child.getChildCount():
            yield child.getChild(0)
